"""Rows of trained judges for the table `transfer`, which is `mrb_lib.stats.tables.transfer`."""
