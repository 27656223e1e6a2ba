"""What do people say about cases: is the gold label right, and which response is better?

`marks` says what an adjudication, an answer, a comment, a tag and a kept view are; `store` keeps them as events in a
database that many write to, and never changes them; `exchange` writes and reads files; `progress` counts what
annotators did, and lists it; `reviewed` is what reviewers said; `assignment` assigns cases.
"""
