"""Pairs of responses to an item that are worth an annotator's time.

Functions of frames and arrays: `candidates` says which responses may be paired, and `balance` chooses pairs. The
step that uses them is `mrb_lib.build.construct.pair`.
"""
