"""Robots: any MuJoCo model that networks drive, from its file to a task."""
