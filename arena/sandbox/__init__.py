"""Sandboxes, and the program that runs in them."""
