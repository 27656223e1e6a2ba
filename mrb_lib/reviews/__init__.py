"""What people say about cases: adjudications of the gold labels, and annotations as they are made.

`marks.py` says what one is, `store.py` keeps them in a database and never changes what it holds, `exchange.py` writes
and reads them as files, `assignment.py` deals cases out to annotators, `progress.py` counts how far they are, and
`annotations.py` makes a benchmark's annotations table of their answers.
"""
