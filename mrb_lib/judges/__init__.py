"""Judges: what is shown to them, and how their answers come back to the case's own frame."""
