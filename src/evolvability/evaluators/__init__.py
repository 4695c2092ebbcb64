"""Evaluators: where a population's members are run, and how a run survives what happens there."""
