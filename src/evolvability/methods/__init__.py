"""Relatives and baselines: novelty, quality, evolvability search, policy gradients, MAML."""
