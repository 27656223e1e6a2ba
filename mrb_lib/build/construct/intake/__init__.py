"""The intake of a source: unfit images, subfields of items, and duplicates."""
