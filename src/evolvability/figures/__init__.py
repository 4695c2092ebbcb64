"""Figures: data from graphs and run folders, drawn on axes."""
