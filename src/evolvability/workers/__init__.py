"""Where a task with a simulator of its own is evaluated: local processes, Dask, any executor."""
