"""Where a work folder stands: which steps are done, how many items are left, and what to run next."""

from __future__ import annotations

from typing import Final

import pandas as pd

from mrb_lib.build.construct.record import BEGUN
from mrb_lib.build.construct.work import REQUIRES, STEPS, Work

_ARGUMENTS: Final = {
    "start": "SRC {work}",
    "filter": "{work} --model NAME",
    "screen": "{work}",
    "respond": "{work} --responder NAME",
    "pair": "{work}",
    "release": "{work} BENCH",
}
_UNKNOWN = "not stated"


def step_table(work: Work) -> pd.DataFrame:
    """The steps and what became of the items in them.

    Returns
    -------
    DataFrame, a row a step
        `step`; `state`: "finished", "begun", "stale" or "not run"; `n_in`, `n_out`: the items that entered and left it,
        null before it is finished; `why`: what made it stale, else null.
    """
    stale, funnel = work.stale(), work.funnel().drop_duplicates("step").set_index("step")
    rows = []
    for step in STEPS:
        state = work.state(step) or "not run"
        counts = (
            funnel.loc[step, ["n_in", "n_out"]] if step in funnel.index and state not in (BEGUN, "not run") else None
        )
        n_in, n_out = (None, None) if counts is None else map(int, counts)
        rows.append((step, "stale" if step in stale else state, n_in, n_out, stale.get(step)))
    table = pd.DataFrame(rows, columns=["step", "state", "n_in", "n_out", "why"])
    return table.astype({"n_in": "Int64", "n_out": "Int64", "why": "str"})


def counts_by(work: Work, column: str = "organ") -> pd.DataFrame:
    """How many items of each value left each finished step.

    Returns
    -------
    DataFrame, a row a value, the most frequent first
        `column`; `items`: all there are; then the finished steps by name. "not stated" are items without a value.
    """
    items = work.items()
    values = items.set_index("item_id")[column].fillna(_UNKNOWN)
    counts = {"items": values.value_counts()}
    left = pd.Index(values.index)
    decisions = work.decisions()
    for step in STEPS:
        if work.state(step) in (None, BEGUN):
            continue
        dropped = decisions.loc[(decisions["step"] == step) & ~decisions["kept"], "item_id"]
        left = left.difference(pd.Index(dropped), sort=False)
        counts[step] = values.loc[left].value_counts()
    table = pd.DataFrame(counts).fillna(0).astype("int64")
    return table.sort_values("items", ascending=False, kind="stable").rename_axis(column).reset_index()


def next_commands(work: Work) -> list[str]:
    """The commands that go on from here, the one that the published construction takes first."""
    stale = work.stale()
    undone = [step for step in STEPS if work.state(step) == BEGUN or step in stale]
    if undone:
        return [_command(undone[0], work)]
    done = [step for step in STEPS if work.state(step) is not None]
    last = STEPS.index(done[-1]) if done else -1
    possible = [step for step in STEPS[last + 1 :] if set(REQUIRES[step]) <= set(done)]
    commands = [_command(step, work) for step in possible if step != "release"]
    if "release" in possible:
        commands += [f"mrb annotate {work.path}", _command("release", work)]
    return commands


def _command(step: str, work: Work) -> str:
    return f"mrb construct {step} {_ARGUMENTS[step].format(work=work.path)}"
