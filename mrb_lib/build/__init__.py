"""Build a benchmark from images (`construct`) and train judges on a benchmark (`training`)."""
