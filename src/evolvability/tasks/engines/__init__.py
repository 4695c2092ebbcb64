"""Engines: how a batch of episodes is stepped."""
