"""Controls of a notebook: what it shows is drawn again for a dimension, policy, column or judges chosen live."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import pandas as pd

from mrb_lib.benchmarks.benchmark import Benchmark
from mrb_lib.review.boards.leaderboard_rows import SUBFIELD_COLUMNS, default_dimension
from mrb_lib.review.plain import can_run
from mrb_lib.review.text import visible
from mrb_lib.tables.errors import InputError
from mrb_lib.tables.schema import POLICIES

CONTROLS: Final = ("dimension", "policy", "by", "judges")
_MOST_ROWS: Final = 12


def choose(
    benchmark: Benchmark,
    verdicts: pd.DataFrame | None,
    draw: Callable[..., object],
    *,
    dimension: str | None = None,
    policy: str = "balanced",
    by: str | None = None,
    judges: Sequence[str] | None = None,
) -> object:
    """Show what `draw` returns, and draw it again whenever another dimension, policy, column or judges are chosen.

    There is a control for each parameter of `draw` that is called `dimension`, `policy`, `by` or `judges`::

        def draw(dimension, judges):
            table = analyze(w.benchmark, w.verdicts, "accuracy", dimension=dimension)
            return leaderboard(table[table["judge"].isin(judges)])

        choose(w.benchmark, w.verdicts, draw, dimension=d)

    Parameters
    ----------
    benchmark : whose dimensions and filled columns of the cases can be chosen
    verdicts : the verdicts table, whose judges can be chosen; None where nobody judged
    draw : called with the chosen values by keyword: `dimension`, `policy` a string, `by` a string or None for all
        cases, `judges` a list of at least one name. It returns what a cell can show, such as a figure, a frame or a
        leaderboard, and writes no file: it is called at every change.
    dimension, policy, by, judges : chosen first. None takes "overall", or the last dimension where there is none; no
        column; all judges

    Returns
    -------
    ipywidgets.VBox, or what `draw` returns
        The controls above what is drawn. Where no page can answer, as under papermill, nbconvert or MRB_STATIC=1 (see
        `mrb_lib.review.plain.can_run`), what `draw` returns for the first choice, without any control.

    Raises
    ------
    InputError
        A first choice is not one of those on offer, `draw` takes none of the four, or it takes judges and there are
        none. What `draw` itself refuses with an InputError is shown in its place.

    Notes
    -----
    Validated by tests/review/test_controls.py.
    """
    offered = _offered(benchmark, verdicts)
    first: dict[str, Any] = {
        "dimension": dimension or default_dimension(offered["dimension"]),
        "policy": policy,
        "by": by,
        "judges": list(judges or offered["judges"]),
    }
    names = [name for name in CONTROLS if name in inspect.signature(draw).parameters]
    if not names:
        raise InputError(f"choose: the function that draws takes none of {', '.join(CONTROLS)}; give it one of them.")
    if "judges" in names and not offered["judges"]:
        raise InputError("choose: there are no verdicts, so no judge to choose; leave `judges` out of what draws.")
    for name in names:
        for value in first[name] if name == "judges" else [first[name]]:
            if value not in offered[name]:
                choices = ", ".join(option for option in offered[name] if option is not None)
                raise InputError(f"{name} {value!r} is unknown; use one of {choices}.")
    if not can_run():
        return draw(**{name: first[name] for name in names})
    return _with_controls(draw, {name: offered[name] for name in names}, first)


def _offered(benchmark: Benchmark, verdicts: pd.DataFrame | None) -> dict[str, list[Any]]:
    """What can be chosen, by the name of the control."""
    cases = benchmark.cases
    return {
        "dimension": list(benchmark.meta.dimensions),
        "policy": list(POLICIES),
        "by": [None, *(name for name in SUBFIELD_COLUMNS if name in cases.columns and cases[name].notna().any())],
        "judges": [] if verdicts is None else sorted(verdicts["judge"].astype(str).unique()),
    }


def _with_controls(draw: Callable[..., object], offered: Mapping[str, list[Any]], first: Mapping[str, Any]) -> object:
    import ipywidgets  # only needed where a page answers
    from IPython.display import display

    def redraw(**values: Any) -> None:
        if values.get("judges") == ():
            print("Choose at least one judge.")
            return
        chosen = {name: list(value) if name == "judges" else value or None for name, value in values.items()}
        try:
            display(draw(**chosen))  # type: ignore[no-untyped-call]  # IPython has no types for it
        except InputError as error:
            print(error)

    controls = {}
    for name, values in offered.items():
        # A control whose value is None shows nothing as chosen.
        options = [("all cases", "") if value is None else (visible(value), value) for value in values]
        shape = {"rows": min(len(options), _MOST_ROWS)} if name == "judges" else {}
        control = ipywidgets.SelectMultiple if name == "judges" else ipywidgets.Dropdown
        controls[name] = control(options=options, value=first[name] or "", description=name, **shape)
    row = ipywidgets.HBox(list(controls.values()), layout=ipywidgets.Layout(flex_flow="row wrap"))
    return ipywidgets.VBox([row, ipywidgets.interactive_output(redraw, controls)])
