"""How do the replies of judges become something to export? One file a format, listed by `mrb export`."""
