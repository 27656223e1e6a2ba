"""A judge marks answers that no rule can, with the reference before it; and how far marks agree with people's."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable
from pathlib import Path
from typing import Final

import numpy as np
import pandas as pd
from sklearn.metrics import cohen_kappa_score

from mrb_lib.replies.text import without_thinking
from mrb_lib.stats.intervals import wilson
from mrb_lib.tables.errors import InputError

PROMPT: Final = "mark-answer"
_SAID = re.compile(r"\b(not correct|not right|incorrect|wrong|correct|right)\b")
_RIGHT: Final = ("correct", "right")
_TRUE, _FALSE = frozenset({"1", "1.0", "true", "yes", "correct"}), frozenset({"0", "0.0", "false", "no", "incorrect"})
SHEET: Final = ("item_id", "model", "sample", "question", "reference", "answer", "correct")


def read_mark(reply: str) -> float | None:
    """The mark in a judge's reply, 1 or 0: its last word of that kind; None where there is none."""
    said = _SAID.findall(without_thinking(reply).casefold())
    return float(said[-1] in _RIGHT) if said else None


def marking_id(item_id: str, answer: str) -> str:
    """The id under which an answer is marked: the same for the same answer to an item, whichever model gave it."""
    return f"{item_id}-{hashlib.sha256(answer.encode('utf-8', 'surrogatepass')).hexdigest()[:16]}"


def to_mark(pairs: pd.DataFrame, items: pd.DataFrame) -> pd.DataFrame:
    """Distinct answers as items that a judge is asked about; see `mrb_lib.build.construct.answers.answering.ask_about`.

    Parameters
    ----------
    pairs : `position` (of the item in `items`), `item_id`, `answer`
    items : `images, question, choices, reference`
    """
    pairs = pairs.drop_duplicates(["item_id", "answer"])
    own = items.iloc[pairs["position"]].reset_index(drop=True)
    ids = [marking_id(*row) for row in zip(pairs["item_id"], pairs["answer"], strict=True)]
    return own[["images", "question", "choices", "reference"]].assign(
        item_id=ids, response_a=pairs["answer"].to_numpy(dtype=object)
    )


def marks_of(replies: pd.DataFrame) -> Callable[[str, str], float | None]:
    """What a judge said of an answer to an item, from `item_id` (see `marking_id`) and `answer`, the judge's reply."""
    replied = {
        item: read_mark(reply) if isinstance(reply, str) else None
        for item, reply in zip(replies["item_id"], replies["answer"], strict=True)
    }
    return lambda item_id, answer: replied.get(marking_id(item_id, answer))


def marking_sheet(answers: pd.DataFrame, items: pd.DataFrame, n: int, seed: int) -> pd.DataFrame:
    """Answers drawn at random for a person to mark: `SHEET`, with `correct` to fill in with 1 or 0."""
    marked = answers[answers["correct"].notna()]
    drawn = marked.sample(min(n, len(marked)), random_state=seed).sort_index()
    texts = items.set_index("item_id")[["question", "reference"]]
    sheet = drawn[["item_id", "model", "sample", "answer"]].join(texts, on="item_id")
    return sheet.assign(correct="")[list(SHEET)].reset_index(drop=True)


def read_human_marks(path: Path) -> pd.DataFrame:
    """A person's marks from a CSV file: `item_id, model, sample, correct` (1 or 0); rows left empty are skipped.

    Raises
    ------
    InputError
        It cannot be read, lacks a column, marks an answer twice, marks none, or a mark is neither 1 nor 0.
    """
    try:
        frame = pd.read_csv(path, dtype="str", keep_default_na=False, encoding="utf-8-sig")
    except (OSError, ValueError) as error:
        raise InputError(f"{path}: cannot be read as CSV ({' '.join(str(error).split())}); correct it.") from error
    absent = [name for name in ("item_id", "model", "sample", "correct") if name not in frame]
    if absent:
        raise InputError(f"{path}: has no column {absent[0]!r}; it needs item_id, model, sample and correct.")
    said = frame["correct"].str.strip().str.casefold()
    frame = frame[said != ""]
    for row, mark in said[said != ""].items():
        if mark not in _TRUE | _FALSE:
            raise InputError(f"{path}, row {int(str(row)) + 1}, column correct: {mark[:40]!r} is neither 1 nor 0.")
    try:
        sample = frame["sample"].astype("int64")
    except ValueError as error:
        raise InputError(f"{path}, column sample: {error}; write whole numbers from 0.") from error
    marks = frame[["item_id", "model"]].assign(sample=sample, human=said[frame.index].isin(_TRUE).astype(float))
    twice = marks[marks.duplicated(["item_id", "model", "sample"])]
    if len(twice):
        raise InputError(f"{path}: marks the answer of {twice.iloc[0]['model']} to {twice.iloc[0]['item_id']} twice.")
    if marks.empty:
        raise InputError(f"{path}: marks nothing; fill in the column correct with 1 or 0.")
    return marks


def marking_agreement(answers: pd.DataFrame, human: pd.DataFrame) -> pd.DataFrame:
    """How far marks agree with a person's.

    Parameters
    ----------
    answers : `item_id, model, sample, correct, marked_by`
    human : see `read_human_marks`

    Returns
    -------
    DataFrame, one row for all and one for each way of marking
        `marked_by` ("all" first), `n` answers that both marked, `n_excluded` of the person's that are not marked here,
        `agreement` with its 95% interval `low`, `high` (Wilson; answers are taken as independent), `cohen_kappa`
        (null where both marks are all alike), `too_lenient` and `too_strict`: answers that only the rule, or only the
        person, calls right.
    """
    both = human.merge(answers, on=["item_id", "model", "sample"], how="left")
    known = both[both["correct"].notna()]
    rows = []
    for name, group in [("all", known), *known.groupby("marked_by", sort=True)]:
        same = (group["correct"] == group["human"]).to_numpy()
        n = len(group)
        share = float(same.mean()) if n else np.nan
        low, high = (float(end[0]) for end in wilson(np.array([share]), np.array([float(n)])))
        varied = n > 0 and (group["correct"].nunique() > 1 or group["human"].nunique() > 1)
        kappa = float(cohen_kappa_score(group["correct"], group["human"])) if varied else np.nan
        lenient, strict = int((group["correct"] > group["human"]).sum()), int((group["correct"] < group["human"]).sum())
        excluded = len(both) - len(known) if name == "all" else 0
        rows.append((name, n, excluded, share, low, high, kappa, lenient, strict))
    columns = [
        "marked_by", "n", "n_excluded", "agreement", "low", "high", "cohen_kappa", "too_lenient", "too_strict",
    ]  # fmt: skip
    return pd.DataFrame(rows, columns=columns)
