"""Verdicts as an array, and scores."""
