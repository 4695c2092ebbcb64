"""What trained populations are good for; comparisons over runs."""
