"""How does a folder of images with questions become a benchmark? One file a step, all about one work folder.

`work` is the folder: its tables, its record of every choice, and what a changed choice makes stale.
"""
