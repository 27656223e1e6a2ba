"""Paired tests, for the tables that are not on the one estimator yet."""
