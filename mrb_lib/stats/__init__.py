"""One file a question asked of the tables: frames in, frame out, no disk, no printing, no torch."""
