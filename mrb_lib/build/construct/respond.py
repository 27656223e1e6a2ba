"""The step `respond`: the pool of responders answers every item; what cannot be paired is flagged and kept."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Final

import numpy as np
import pandas as pd

from mrb_lib.build.construct.answers.answering import CUT_OFF, Answered, answer, answered_before, answers_to, writers
from mrb_lib.build.construct.answers.marking import normalised
from mrb_lib.build.construct.answers.pool import recorded
from mrb_lib.build.construct.work import Work, begin
from mrb_lib.runs.planned import PlannedModel
from mrb_lib.runs.progress import ReportProgress
from mrb_lib.tables.errors import InputError, RunError
from mrb_lib.tables.schema import ANSWERED_STATUSES

STEP: Final = "respond"
REFUSED, EMPTY, ERROR, TRUNCATED, ALIKE = "refused", "empty", "error", "truncated", "near-identical"
FLAGS: Final = (REFUSED, EMPTY, ERROR, TRUNCATED, ALIKE)
UNUSABLE: Final = (REFUSED, EMPTY, ERROR)
"""The flags of rows that hold no response to pair."""
TOO_FEW: Final = "fewer than two responders answered"
JACCARD: Final = 0.8
_SHINGLE: Final = 3
_FEWEST: Final = 2
_OF_STATUS: Final = {"refused": REFUSED, "unparsed": EMPTY, "error": ERROR}


def respond(
    work: Work,
    responders: Sequence[PlannedModel],
    *,
    samples: int = 1,
    seed: int = 0,
    again: bool = False,
    extra: Sequence[Path] = (),
    retry: Sequence[str] = (),
    progress: ReportProgress | None = None,
) -> Answered:
    """Have the pool of responders answer the items.

    Writes `responses.parquet`, a row an item, responder and sample, with `flag`: "refused", "empty", "error" (none of
    them holds a response to pair), "truncated" (cut off at its longest length), "near-identical" (to one before it of
    another responder), or null; and `alike`, a number that the near-identical responses to an item share, null for one
    like no other. Items that fewer than two responders answered are left out of what follows.

    Parameters
    ----------
    responders : two or more
    samples : responses of each to each item
    seed, again : see `mrb_lib.build.construct.work.begin`
    extra, retry, progress : see `mrb_lib.build.construct.answers.answering.answer`

    Raises
    ------
    InputError
        There are fewer than two responders, a name is unknown, or the work folder is not ready.
    RunError
        No item has two responses; they are kept in `runs/respond`. Otherwise as `mrb_lib.runs.judge`.

    Notes
    -----
    Validated by tests/build/construct/test_respond.py.
    """
    models = writers(responders, extra)
    if len(models) < _FEWEST:
        raise InputError(f"responder {next(iter(models))!r}: is alone, and pairs need two; name another --responder.")
    choices = {"models": recorded(models, samples), "samples": samples}
    with begin(work, STEP, choices, seed=seed, again=again) as step:
        if step.is_done:
            return answered_before(work, STEP, responder_counts(work.responses()))
        items = step.entering
        ask = partial(answer, extra=extra, retry=retry, progress=progress)
        runs, answers = answers_to(work, items, STEP, models, samples, ask)
        responses = _flagged(answers)
        usable = responses[responses["status"].isin(ANSWERED_STATUSES)]
        n_responders = items["item_id"].map(usable.groupby("item_id")["model"].nunique())
        kept_items = n_responders >= _FEWEST
        if not kept_items.any():
            raise RunError(
                f"respond: {TOO_FEW} on every item; name others with --again. All that came is in {work.path}/runs."
            )
        step.write("responses", responses)
        step.decide(items[["item_id"]].assign(kept=kept_items, reason=TOO_FEW))
    return Answered(len(items), int(kept_items.sum()), responder_counts(responses), runs)


def responder_counts(responses: pd.DataFrame) -> pd.DataFrame:
    """Return how many responses each responder gave, and how many have each flag.

    Parameters
    ----------
    responses : `model`, `flag`

    Returns
    -------
    DataFrame, a row a responder, in the order of the table
        `model`, `n` responses, `usable` (that can be paired, truncated and near-identical ones among them), and a
        count for each of `FLAGS`.
    """
    counts = pd.crosstab(responses["model"], responses["flag"].fillna("")).reindex(columns=["", *FLAGS], fill_value=0)
    counts = counts.loc[responses["model"].drop_duplicates()]
    n = counts.sum(axis=1)
    usable = n - counts[list(UNUSABLE)].sum(axis=1)
    table = pd.DataFrame({"model": counts.index, "n": n.to_numpy(), "usable": usable.to_numpy()})
    return pd.concat([table, counts[list(FLAGS)].reset_index(drop=True)], axis=1).rename_axis(columns=None)


def _flagged(answers: pd.DataFrame) -> pd.DataFrame:
    """Return the answers with `flag` and `alike`."""
    usable = answers["status"].isin(ANSWERED_STATUSES)
    alike, again = pd.Series(np.nan, index=answers.index), pd.Series(False, index=answers.index)
    for _, rows in answers[usable].groupby("item_id"):
        alike[rows.index] = np.array(alike_groups(rows["answer"].tolist()))
        first = rows["model"].groupby(alike[rows.index]).transform("first")
        again[rows.index] = first.notna() & (first != rows["model"])
    flag = answers["status"].map(_OF_STATUS).astype(object)
    flag = flag.mask(usable & (answers["finish"] == CUT_OFF), TRUNCATED).mask(again & flag.isna(), ALIKE)
    return answers.drop(columns=["position", "finish", "error"]).assign(
        flag=flag.where(flag.notna(), None), alike=alike
    )


def alike_groups(texts: Sequence[str]) -> list[float]:
    """Return the group of each text: those that are nearly the same share a number, from 0; NaN for one like no other.

    Parameters
    ----------
    texts : the responses to one item; a text without words is like no other

    Notes
    -----
    Two texts are nearly the same where Jaccard's index of their shingles of three words, once normalised, is at least
    `JACCARD` (Broder 1997, doi:10.1109/SEQUEN.1997.666900); a text of fewer words is one shingle, so that short ones
    must be equal. A text joins the group of the first text before it that it is like.
    """
    words = [normalised(text).split() for text in texts]
    shingles = [{tuple(own[i : i + _SHINGLE]) for i in range(max(len(own) - _SHINGLE + 1, 1))} - {()} for own in words]
    first: list[int] = []
    for i, own in enumerate(shingles):
        similar = (first[j] for j in range(i) if own and len(own & shingles[j]) >= JACCARD * len(own | shingles[j]))
        first.append(next(similar, i))
    shared = sorted({one for i, one in enumerate(first) if one != i})
    return [float(shared.index(one)) if one in shared else np.nan for one in first]
