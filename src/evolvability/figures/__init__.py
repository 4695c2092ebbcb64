"""Run folders to pictures."""
