"""Battlesnake: snakes on a grid, the last one alive wins."""
