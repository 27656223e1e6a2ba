"""One file a figure family: frame in, Figure out, no statistics inside."""
