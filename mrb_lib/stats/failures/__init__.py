"""Which cases did judges get wrong, and how?

`failure_kinds` names the kind of failure of each verdict, `query` holds what a reviewer asks for, `selection` picks and
counts the cases that fit, and `case_index` keeps what that takes on disk.
"""
