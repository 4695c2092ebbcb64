"""The study of dependable mutations, as `results/dependable-study/RULES.md` registers it."""
