"""How do clinicians annotate without knowing whose answers they see, and how far have they come?

`annotate` and `coordinate` are the two pages of `mrb annotate`.
"""

from mrb_lib.review.annotate.answers import annotate as annotate
from mrb_lib.review.annotate.coordination import coordinate as coordinate
