"""Where Python simulators are evaluated: processes, Dask."""
