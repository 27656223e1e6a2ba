"""Which cases did judges get wrong, what do they look like, and what does a reviewer say of them?

`explore` opens the failure explorer in a notebook; `mrb review` serves the same as a page of its own.
"""

from mrb_lib.review.explorer.answers import explore as explore
