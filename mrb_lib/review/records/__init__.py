"""What do people say about cases: is the gold label right, and which response is better?

`marks` says what an adjudication and an answer are, `store` keeps them in a database that many write to and never
changes what it holds, `tags` are short words on cases and `views` names for queries, `exchange` writes and reads
files, `answer_log` is all that annotators did as one table, `assignment` deals cases out, `progress` counts what is
done, and how fast.
"""

from mrb_lib.review.records.marks import Adjudication, AnnotatorAnswer, Comment, case_fingerprint, current

__all__ = ["Adjudication", "AnnotatorAnswer", "Comment", "case_fingerprint", "current"]
