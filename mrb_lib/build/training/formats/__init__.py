"""Labels as rows that another program trains on: one file per program, listed by `mrb export`."""
