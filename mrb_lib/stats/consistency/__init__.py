"""Order effects for the tables `gains` and `probes`; the table is `mrb_lib.stats.tables.consistency`."""
