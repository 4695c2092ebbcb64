"""What trained populations are good for: adaptation, further evolution, measures of their mutations."""
