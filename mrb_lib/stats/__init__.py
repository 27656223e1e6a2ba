"""Do clinicians agree, does a judge agree with them, and how sure is that? One package a question.

Frames and arrays in, frames out: nothing here reads a file, prints, draws, or imports torch. `tables` makes
whatever `mrb analyze` prints.
"""
