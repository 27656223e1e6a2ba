"""Which two responses to an item are worth an annotator's time, and what a ranking from them will be worth.

Functions of frames and arrays: `candidates` says which responses may be paired, `balance` and `adaptive` choose pairs,
`design` says what the chosen ones will show. The step that uses them is `mrb_lib.build.construct.pair`.
"""
