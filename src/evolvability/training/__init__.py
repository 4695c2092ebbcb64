"""The driver: runs generations, batches seeds, keeps the run folder, resumes."""
