"""How long tests wait for what must happen at some time."""

PATIENCE = 600.0
"""Seconds. A machine that is busy with something else may stand still for minutes, which is no failure."""
