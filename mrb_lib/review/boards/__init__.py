"""Which judges choose as the annotators do, and on which cases are they strong or weak?

`browse_leaderboard` and `browse_heatmap` show it in a notebook, or as plain HTML where no page can answer.
"""

from mrb_lib.review.boards.browse import browse_heatmap as browse_heatmap
from mrb_lib.review.boards.browse import browse_leaderboard as browse_leaderboard
