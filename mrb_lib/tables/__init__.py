"""The tables that everything exchanges: their columns, checks and errors, and files that are written whole."""
