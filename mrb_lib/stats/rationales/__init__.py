"""Are judges right for the right reasons? On a benchmark of their reasons (`mrb export rationales`): `table`."""
