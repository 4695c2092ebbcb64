"""The paper again: what is run, at which scale, how long it takes, and a report of figures, tables and verdicts."""
