"""The step `filter`: small models answer every item, their answers are marked, and a rule keeps what is hard."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import Final

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from mrb_lib.build.construct.answers.answering import (
    ModelRun,
    answer,
    answers_in,
    ask_about,
    items_digest,
    writers,
)
from mrb_lib.build.construct.answers.difficulty import (
    MEASURES,
    Tally,
    chance_of,
    item_measures,
    model_agreement,
    model_measures,
)
from mrb_lib.build.construct.answers.gathering import Chunks, gathered
from mrb_lib.build.construct.answers.keep_rules import check_rule, kept_by, rule_table, why_left_out
from mrb_lib.build.construct.answers.marking import NOT_MARKED, MarkOptions, asks_judge, mark, mark_one, why_unmarked
from mrb_lib.build.construct.answers.marking_judge import PROMPT, marking_agreement, marks_of, read_human_marks, to_mark
from mrb_lib.build.construct.answers.pool import prompt_of, recorded
from mrb_lib.build.construct.work import Step, Work, begin
from mrb_lib.runs.planned import PlannedModel
from mrb_lib.runs.progress import ReportProgress
from mrb_lib.tables.errors import InputError
from mrb_lib.tables.files import sha256_of
from mrb_lib.tables.schema import ANSWERED_STATUSES

STEP: Final = "filter"


@dataclass(frozen=True)
class FilterOptions:
    """What `filter` does.

    Attributes
    ----------
    models : who answers
    samples : answers of each model to each item
    keep : the rule, see `mrb_lib.build.construct.answers.keep_rules`; empty keeps every item, and only measures
    mark : how answers are marked
    marker : the judge that marks what no rule finds right; None marks by rule alone
    human_marks : a CSV file of a person's marks, to compare with
    """

    models: Sequence[PlannedModel]
    samples: int = 1
    keep: str = ""
    mark: MarkOptions = field(default_factory=MarkOptions)
    marker: PlannedModel | None = None
    human_marks: Path | None = None


@dataclass(frozen=True)
class Filtered:
    """What became of the items.

    Attributes
    ----------
    n_in, n_out : items that entered and were kept
    models, agreement : see `model_measures` and `model_agreement` of `mrb_lib.build.construct.answers.difficulty`
    marking : see `mrb_lib.build.construct.answers.marking_judge.marking_agreement`; without rows where no person marked
    runs : of the models, and last of the marker, where there is one; empty where nothing was left to do
    """

    n_in: int
    n_out: int
    models: pd.DataFrame
    agreement: pd.DataFrame
    marking: pd.DataFrame
    runs: Sequence[ModelRun]


def filter_items(
    work: Work,
    options: FilterOptions,
    *,
    seed: int = 0,
    again: bool = False,
    extra: Sequence[Path] = (),
    retry: Sequence[str] = (),
    progress: ReportProgress | None = None,
) -> Filtered:
    """Have models answer the items, mark the answers, and keep those items that the rule keeps.

    Writes `answers.parquet`, `difficulty.parquet` (see `mrb_lib.build.construct.answers.difficulty.item_measures`) and
    `marking.parquet`. Answers stay in `runs/filter`, those of the marker in `runs/marking`: another rule asks no model
    again.

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
        if not prompt_of(one).needs_reference:
            raise InputError(
                f"prompt {prompt_of(one).id}: shows no reference to mark by; use {PROMPT}, or one that does."
            )
    human = read_human_marks(options.human_marks) if options.human_marks is not None else None
    if options.keep:
        _check_keep(options.keep, work, list(models))
    choices = _choices(options, models, marker)
    with begin(work, STEP, choices, seed=seed, again=again) as step:
        if step.is_done:
            return _as_before(work, step, list(models))
        items = step.entering
        if items.empty:
            raise InputError(f"{work.path}: no item is left to filter; `mrb construct status {work.path}` shows why.")
        digest = items_digest(work.path / "items.parquet", work.images)
        meta = work.meta
        asked = ask_about(items, work.images, name=meta.name, kind=meta.kind, digest=digest)
        ask = partial(answer, extra=extra, retry=retry, progress=progress)
        runs = ask(asked, work.path / "runs" / STEP, models, samples=options.samples)
        with gathered(runs, list(items["item_id"]), options.samples, work.path / f".{STEP}.scratch") as chunks:
            judged = None
            if marker:
                to_ask = to_mark(_open_answers(chunks, items, options.mark), items)
                asked = ask_about(to_ask, work.images, name=meta.name, kind=meta.kind, digest=digest)
                [marking] = ask(asked, work.path / "runs" / "marking", marker, samples=1)
                runs = [*runs, marking]
                judged = _marks_in(marking, list(to_ask["item_id"]))
            tally = Tally.empty(list(models), chance_of(items))
            step.write_chunks("answers", _marked(chunks, items, options.mark, judged, tally))
        measures = item_measures(tally).assign(item_id=items["item_id"])
        step.write("difficulty", measures)
        agreement = _human_agreement(step, human)
        step.write("marking", agreement)
        kept = _decide(step, options.keep, items, measures, tally)
    return Filtered(len(items), int(kept.sum()), model_measures(tally), model_agreement(tally), agreement, runs)


def tally_of(answers: pd.DataFrame, items: pd.DataFrame, models: Sequence[str]) -> Tally:
    """The tally behind a table of answers.

    Parameters
    ----------
    answers : `item_id, model, correct`
    items : those to count, with `item_id, choices, reference`
    models : those to count, in their order
    """
    tally = Tally.empty(models, chance_of(items))
    _count(tally, answers, items)
    return tally


def _count(tally: Tally, answers: pd.DataFrame, items: pd.DataFrame) -> None:
    """Add a chunk of the answers to a tally, those of its items and models."""
    item = pd.Index(items["item_id"]).get_indexer(pd.Index(answers["item_id"]))
    model = pd.Index(tally.models).get_indexer(pd.Index(answers["model"]))
    counted = (item >= 0) & (model >= 0)
    tally.add(item[counted], model[counted], answers["correct"].to_numpy(dtype=np.float64)[counted])


def _check_keep(rule: str, work: Work, models: list[str]) -> None:
    """Raise `InputError` where a rule is wrong, before any model is asked."""
    items = work.items().head(1)
    measures = pd.DataFrame(0.0, index=range(len(items)), columns=list(MEASURES))
    check_rule(rule, rule_table(items, measures), models)


def _choices(
    options: FilterOptions, models: Mapping[str, PlannedModel], marker: Mapping[str, PlannedModel]
) -> dict[str, object]:
    return {
        "models": recorded(models, options.samples),
        "samples": options.samples,
        "keep": options.keep or None,
        **asdict(options.mark),
        "marker": recorded(marker, 1) or None,
        "human_marks": sha256_of(options.human_marks) if options.human_marks is not None else None,
    }


def _open_answers(chunks: Chunks, items: pd.DataFrame, options: MarkOptions) -> pd.DataFrame:
    """The distinct answers that a judge is asked about: `position`, `item_id`, `answer`."""
    asked: dict[tuple[int, str, str], None] = {}
    references, choices = items["reference"].tolist(), items["choices"].tolist()
    for chunk in chunks():
        said = chunk[chunk["status"].isin(ANSWERED_STATUSES)]
        for position, item_id, text in zip(said["position"], said["item_id"], said["answer"], strict=True):
            if why_unmarked(references[position], choices[position]) is not None:
                continue
            if asks_judge(*mark_one(text, references[position], choices[position], options), options):
                asked.setdefault((position, item_id, text))
    return pd.DataFrame(list(asked), columns=["position", "item_id", "answer"])


def _marks_in(run: ModelRun, item_ids: list[str]) -> Callable[[str, str], float | None]:
    position = pd.Series(np.arange(len(item_ids)), index=pd.Index(item_ids))
    parts = [part[["item_id", "answer"]] for part in answers_in(run, position, 1)]
    return marks_of(pd.concat(parts) if parts else pd.DataFrame({"item_id": [], "answer": []}))


def _marked(
    chunks: Chunks,
    items: pd.DataFrame,
    options: MarkOptions,
    judged: Callable[[str, str], float | None] | None,
    tally: Tally,
) -> Iterator[pd.DataFrame]:
    """The answers with their marks, which are counted on the way."""
    for chunk in chunks():
        marked = pd.concat([chunk, mark(chunk, items, options, judged)], axis=1)
        tally.add(
            marked["position"].to_numpy(), marked["model_position"].to_numpy(), marked["correct"].to_numpy(np.float64)
        )
        yield marked


def _human_agreement(step: Step, human: pd.DataFrame | None) -> pd.DataFrame:
    if human is None:
        return step.work.marking().head(0)
    chunks = step.staged("answers", ["item_id", "model", "sample", "correct", "marked_by"])
    return marking_agreement(pd.concat(chunk[chunk["item_id"].isin(human["item_id"])] for chunk in chunks), human)


def _decide(step: Step, rule: str, items: pd.DataFrame, measures: pd.DataFrame, tally: Tally) -> NDArray[np.bool_]:
    if not rule:
        return np.ones(len(items), dtype=bool)
    table = rule_table(items, measures)
    of_model = dict(zip(tally.models, tally.share.T, strict=True))
    kept = kept_by(rule, table, of_model)
    if not kept.any():
        right = measures["correct"].dropna()
        found = f"correct is {right.min():g} to {right.max():g}, half are over {right.median():g}" if len(right) else ""
        raise InputError(
            f"keep {rule!r}: keeps none of {len(items)} items ({found or 'no answer could be marked'}); "
            "use another rule with --again: the answers are kept."
        )
    reasons = why_left_out(rule, table, of_model, kept)
    unmarked = ~kept & (measures["n_models"] == 0).to_numpy()
    for row in np.flatnonzero(unmarked):
        reasons[row] = why_unmarked(items["reference"].iloc[row], items["choices"].iloc[row]) or NOT_MARKED
    step.decide(pd.DataFrame({"item_id": items["item_id"], "kept": kept, "reason": reasons}))
    return kept


def _as_before(work: Work, step: Step, models: list[str]) -> Filtered:
    """The result of a step that is finished."""
    tally = Tally.empty(models, chance_of(step.entering))
    for chunk in work.chunks("answers", ["item_id", "model", "correct"]):
        _count(tally, chunk, step.entering)
    decisions = work.decisions()
    kept = decisions[decisions["step"] == STEP]["kept"]
    return Filtered(len(kept), int(kept.sum()), model_measures(tally), model_agreement(tally), work.marking(), [])
