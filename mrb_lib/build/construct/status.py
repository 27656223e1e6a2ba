"""Where a work folder stands: which steps are done, how many items are left, and what to run next."""

import shlex
from typing import Final

import pandas as pd

from mrb_lib.benchmarks.benchmark import load
from mrb_lib.build.construct.work import BEGUN, FINISHED, REQUIRES, STEPS, Work
from mrb_lib.review.records.store import open_store
from mrb_lib.tables.files import REVIEWS

_USUAL: Final = {
    "filter": "--model NAME",
    "respond": "--responder NAME --responder NAME",
    "annotate": "--annotators NAME,NAME,NAME",
}
"""Options of the commands that the plan of a work folder says nothing of."""


def step_table(work: Work) -> pd.DataFrame:
    """The steps and what became of the items in them.

    Returns
    -------
    DataFrame, a row a step
        `step`; `state`: "finished", "begun", "stale" or "not run"; `n_in`, `n_out`: the items that entered and left it,
        null before it is finished; `why`: what made it stale, else null.
    """
    stale, funnel, rows = work.stale(), work.funnel().drop_duplicates("step").set_index("step"), []
    for step in STEPS:
        state = work.state(step)
        n_in, n_out = (
            funnel.loc[step, ["n_in", "n_out"]] if step in funnel.index and state == FINISHED else (None, None)
        )
        rows.append((step, "stale" if step in stale else state or "not run", n_in, n_out, stale.get(step)))
    table = pd.DataFrame(rows, columns=["step", "state", "n_in", "n_out", "why"])
    return table.astype({"n_in": "Int64", "n_out": "Int64", "why": "str"})


def counts_by(work: Work, column: str = "organ") -> pd.DataFrame:
    """Return how many items of each value left each finished step.

    Returns
    -------
    DataFrame, a row a value, the most frequent first
        `column`; `items`: all there are; then the finished steps by name. "not stated" are items without a value.
    """
    items = work.items()
    values = items.set_index("item_id")[column].fillna("not stated")
    counts = {"items": values.value_counts()}
    left = pd.Index(values.index)
    decisions = work.decisions()
    for step in STEPS:
        if work.state(step) != FINISHED:
            continue
        dropped = decisions.loc[(decisions["step"] == step) & ~decisions["kept"], "item_id"]
        left = left.difference(pd.Index(dropped), sort=False)
        counts[step] = values.loc[left].value_counts()
    table = pd.DataFrame(counts).fillna(0).astype("int64")
    return table.sort_values("items", ascending=False, kind="stable").rename_axis(column).reset_index()


def next_commands(work: Work) -> list[str]:
    """Return the commands that go on from here, first the one that the published construction takes; none at an end."""
    stale = work.stale()
    undone = [step for step in STEPS if work.state(step) == BEGUN or step in stale]
    if undone and undone[0] != "release":
        closing = undone[0] == "screen"  # whose form and clinicians are in the folder
        return [_command(undone[0], work, "--close" if closing else None)]
    done = [step for step in STEPS if work.state(step) is not None]
    if dead_end(work):
        return []
    if "release" in done and not undone:
        return ["mrb judge BENCH BENCH/runs --judge NAME"]
    if "pair" in done:
        release = [_command("release", work)] if _is_annotated(work) else []
        options = work.meta.plan.get("annotate", _USUAL["annotate"])
        return [*release, f"mrb annotate {shlex.quote(str(work.path))} {options}"]
    last = STEPS.index(done[-1]) if done else -1
    return [_command(step, work) for step in STEPS[last + 1 :] if set(REQUIRES[step]) <= set(done)]


def dead_end(work: Work) -> str | None:
    """Return why a work folder cannot go on, where the last finished step kept nothing; None where it can."""
    funnel = work.funnel()
    if funnel.empty or funnel["n_out"].iloc[-1]:
        return None
    step = funnel["step"].iloc[-1]
    why = "; ".join(f"{row.n:,} {row.reason}" for row in funnel[funnel["step"] == step].itertuples() if row.n)
    return f"no item is left after {step} ({why}): correct that, and run `{_command(step, work)} --again`"


def _is_annotated(work: Work) -> bool:
    if len(load(work.path).annotations):
        return True
    store = work.path / REVIEWS
    if not store.is_file():
        return False
    with open_store(store, create=False) as reviews:
        return bool(reviews.annotations(work.meta.name)["case_id"].isin(work.pairs()["case_id"]).any())


def _command(step: str, work: Work, options: str | None = None) -> str:
    source, target = ("SRC " if step == "start" else ""), (" BENCH" if step == "release" else "")
    planned = work.meta.plan.get(step, _USUAL.get(step, "")) if options is None else options
    return f"mrb construct {step} {source}{shlex.quote(str(work.path))}{target} {planned}".rstrip()
