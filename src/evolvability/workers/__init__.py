"""Where Python simulators are evaluated: processes, Dask, any executor."""
