"""Exports of the replies of judges: one file per format, listed by `mrb export`."""
