"""Core War on pMARS, the reference simulator."""
