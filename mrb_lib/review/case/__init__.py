"""What does one case look like: its images, question, two answers, votes, gold label and verdicts?

`case_html` is the one view of a case that notebooks, the explorer, the heatmap and the site share; `probed_html` shows
it beside the case as a probe changes it.
"""

from mrb_lib.review.case.probed import probed_html as probed_html
from mrb_lib.review.case.view import SCRIPTS as SCRIPTS
from mrb_lib.review.case.view import STYLES as STYLES
from mrb_lib.review.case.view import case_html as case_html
