"""Stochastic computation graphs, the paper's own among them."""
