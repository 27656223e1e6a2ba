"""The tables of `mrb analyze`: one file per question."""
