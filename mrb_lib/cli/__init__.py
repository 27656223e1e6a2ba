"""The command `mrb`: one file a command."""
