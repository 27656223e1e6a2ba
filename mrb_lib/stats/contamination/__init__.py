"""The difference of two unpaired means, until the last table that needs it reads `mrb_lib.stats.welch`."""
