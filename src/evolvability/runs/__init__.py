"""The run folder: what is written of a run, and read back."""
