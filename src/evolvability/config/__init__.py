"""Every setting, and what is built from it."""
