"""Relatives and baselines: novelty, quality, search, policy gradients, MAML."""
