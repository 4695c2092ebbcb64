"""What members are asked to do, and what counts as their behavior."""
