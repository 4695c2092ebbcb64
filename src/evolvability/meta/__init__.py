"""Meta-learning, the gradient-based rival: MAML and ES-MAML."""
