"""The widgets of notebooks; only where anywidget is installed, see `mrb_lib.widgets.plain.can_run`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mrb_lib.widgets.boards import heatmap as heat
from mrb_lib.widgets.boards.heatmap import Shows
from mrb_lib.widgets.boards.heatmap_rows import Axes, Heat
from mrb_lib.widgets.boards.leaderboard import STYLES as LEADERBOARD_STYLES
from mrb_lib.widgets.boards.leaderboard import chosen, hello, static_html, view
from mrb_lib.widgets.boards.leaderboard_rows import Board, Choice
from mrb_lib.widgets.shell import Shell


class Leaderboard(Shell):
    """What `mrb_lib.widgets.boards.leaderboard.leaderboard` returns."""

    def __init__(self, made: Board, start: Choice) -> None:
        def rows(question: Mapping[str, Any]) -> dict[str, Any]:
            return {"html": view(made, chosen(made, question))}

        super().__init__(
            {"hello": lambda _: hello(made, start), "rows": rows},
            scripts=("leaderboard",),
            styles=LEADERBOARD_STYLES,
            static=lambda: static_html(made, start),
        )


class Heatmap(Shell):
    """What `mrb_lib.widgets.boards.heatmap.heatmap` returns."""

    def __init__(self, made: Heat, start: Axes, explorer: Shows | None = None) -> None:
        def explore(question: Mapping[str, Any]) -> dict[str, Any]:
            if explorer is not None:
                explorer.show(heat.query_of(heat.cell_of(made, question), str(question.get("outcome"))))
            return {}

        super().__init__(
            {
                "hello": lambda _: heat.hello(made, start, explorer=explorer is not None),
                "table": lambda question: heat.table(made, question),
                "behind": lambda question: heat.behind(made, question),
                "case": lambda question: heat.case(made, question),
                "explore": explore,
            },
            scripts=("case", "heatmap"),
            styles=("case", *heat.STYLES),
            static=lambda: heat.static_html(made, start),
        )
