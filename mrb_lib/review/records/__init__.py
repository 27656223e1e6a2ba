"""What do people say about cases: is the gold label right, and which response is better?

`marks` says what an adjudication, an answer, a comment, a tag and a kept view are; `store` keeps them as events in a
database that many write to, and never changes them; `exchange` writes and reads files; `answer_log` is all that
annotators did as one table; `assignment` assigns cases; `progress` counts what is done, and how fast.
"""

from mrb_lib.review.records.marks import Adjudication, AnnotatorAnswer, Comment, case_fingerprint, current

__all__ = ["Adjudication", "AnnotatorAnswer", "Comment", "case_fingerprint", "current"]
