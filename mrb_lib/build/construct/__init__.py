"""A folder of images with questions becomes a benchmark: one file per step, all about one work folder.

`work` is the folder: its tables, its record of every choice, and what a changed choice makes stale.
"""
