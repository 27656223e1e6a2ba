"""The step `filter`: small models answer every item, their answers are marked, and a rule keeps what is hard."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import Final

import numpy as np
import pandas as pd

from mrb_lib.build.construct.answers.answering import Answered, answer, answered_before, answers_to, writers
from mrb_lib.build.construct.answers.difficulty import MEASURES, item_measures, model_measures
from mrb_lib.build.construct.answers.keep_rules import kept_by, rule_table, why_left_out
from mrb_lib.build.construct.answers.marking import (
    NOT_MARKED,
    PROMPT,
    MarkOptions,
    asks_judge,
    mark,
    marks_of,
    to_mark,
    why_unmarked,
    with_judged,
)
from mrb_lib.build.construct.answers.pool import recorded
from mrb_lib.build.construct.work import Step, Work, begin
from mrb_lib.judges.prompts import load_prompt
from mrb_lib.runs.planned import PlannedModel
from mrb_lib.runs.progress import ReportProgress
from mrb_lib.tables.errors import InputError

STEP: Final = "filter"


@dataclass(frozen=True)
class FilterOptions:
    """Options of `filter`.

    Attributes
    ----------
    models : who answers
    samples : answers of each model to each item
    keep : the rule, see `mrb_lib.build.construct.answers.keep_rules`; empty keeps every item, and only measures
    mark : how answers are marked
    marker : the judge that marks what no rule finds right; None marks by rule alone
    """

    models: Sequence[PlannedModel]
    samples: int = 1
    keep: str = ""
    mark: MarkOptions = field(default_factory=MarkOptions)
    marker: PlannedModel | None = None


def filter_items(
    work: Work,
    options: FilterOptions,
    *,
    seed: int = 0,
    again: bool = False,
    extra: Sequence[Path] = (),
    retry: Sequence[str] = (),
    progress: ReportProgress | None = None,
) -> Answered:
    """Have models answer the items, mark the answers, and keep those items that the rule keeps.

    Writes `answers.parquet` and `difficulty.parquet` (see `mrb_lib.build.construct.answers.difficulty.item_measures`).
    Answers stay in `runs/filter`, those of the marker in `runs/marking`: another rule asks no model again.

    Parameters
    ----------
    seed, again : see `mrb_lib.build.construct.work.begin`
    extra, retry, progress : see `mrb_lib.build.construct.answers.answering.answer`

    Raises
    ------
    InputError
        An option is out of range, a name is unknown, the rule cannot be read or keeps no item, or the work folder is
        not ready; no item is lost.
    InterruptedRunError, RunError
        As `mrb_lib.runs.judge`.

    Notes
    -----
    Validated by tests/build/construct/test_filter.py.
    """
    models = writers(options.models, extra)
    marker = writers([options.marker], extra) if options.marker is not None else {}
    if options.mark.marking == "judge" and not marker:
        raise InputError("mark judge: no judge is named; pass --marking-judge NAME, or mark by another rule.")
    for one in marker.values():
        if not (prompt := load_prompt(one.settings.prompt or "")).needs_reference:
            raise InputError(f"prompt {prompt.id}: shows no reference to mark by; use {PROMPT}, or one that does.")
    if options.keep:  # a rule that is wrong is refused before any model is asked
        nothing = pd.DataFrame(columns=[*MEASURES], dtype=float)
        kept_by(options.keep, rule_table(work.items().head(0), nothing))
    choices = {
        "models": recorded(models, options.samples),
        "samples": options.samples,
        "keep": options.keep or None,
        **asdict(options.mark),
        "marker": recorded(marker, 1) or None,
    }
    with begin(work, STEP, choices, seed=seed, again=again) as step:
        items = step.entering
        if step.is_done:
            return answered_before(work, STEP, model_measures(work.answers(), items, [*models]))
        ask = partial(answer, extra=extra, retry=retry, progress=progress)
        runs, answers = answers_to(work, items, STEP, models, options.samples, ask)
        marks = mark(answers, items, options.mark)
        unsure = answers[asks_judge(marks, options.mark)]
        if marker and len(unsure):
            marking, replies = answers_to(work, to_mark(unsure, items), "marking", marker, 1, ask)
            runs, marks = [*runs, *marking], with_judged(marks, unsure, marks_of(replies))
        answers = pd.concat([answers, marks], axis=1)
        step.write("answers", answers.drop(columns=["position", "finish", "error"]))
        measures = item_measures(answers, items, [*models])
        step.write("difficulty", measures)
        kept = decide_by_rule(step, options.keep, measures)
    return Answered(len(items), int(kept.sum()), model_measures(answers, items, [*models]), runs)


def decide_by_rule(step: Step, rule: str, measures: pd.DataFrame) -> pd.Series:
    """Keep the entering items that a rule keeps, and return which; an empty rule keeps all of them."""
    items = step.entering
    if not rule:
        return pd.Series(True, index=items.index)
    table = rule_table(items, measures)
    kept = kept_by(rule, table)
    if not kept.any():
        right = measures["correct"].dropna()
        found = f"correct is {right.min():g} to {right.max():g}, half are over {right.median():g}" if len(right) else ""
        raise InputError(
            f"keep {rule!r}: keeps none of {len(items)} items ({found or 'no answer could be marked'}); "
            "use another rule: the answers are kept."
        )
    reasons = why_left_out(rule, table, kept)
    for row in np.flatnonzero(~kept & (measures["n_models"] == 0).to_numpy()):
        reasons[row] = why_unmarked(items["reference"].iloc[row], items["choices"].iloc[row]) or NOT_MARKED
    step.decide(pd.DataFrame({"item_id": items["item_id"], "kept": kept, "reason": reasons}))
    return pd.Series(kept)
