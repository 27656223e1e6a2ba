"""One file a format: `read(src)` gives tables, `write(tables, out)` writes them."""
