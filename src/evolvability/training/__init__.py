"""The driver: runs generations, batches seeds, writes and resumes."""
