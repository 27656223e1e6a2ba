"""Which judges choose as the annotators do, and on which cases are they strong or weak?

`leaderboard` and `heatmap` answer in a notebook, to sort, filter and open; as plain HTML where no page can answer.
"""

from mrb_lib.widgets.boards.browse import heatmap as heatmap
from mrb_lib.widgets.boards.browse import leaderboard as leaderboard
