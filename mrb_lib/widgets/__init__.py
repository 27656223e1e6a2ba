"""Pure HTML views of a case."""
