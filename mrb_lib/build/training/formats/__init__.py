"""How do labels become rows that another program trains on? One file a program's formats, listed by `mrb export`."""
