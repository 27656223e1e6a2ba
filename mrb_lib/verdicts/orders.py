"""The order in which responses are shown, and back: the only module that flips A and B.

A judge sees `first` and `second`. The tables hold A and B, the case's own frame.
"""

import json
import re
from collections.abc import Mapping
from typing import Any, Final

import numpy as np
import pandas as pd

from mrb_lib.tables.schema import NO_PROBE, SEEN_BY_JUDGES

FIRST: Final = "first"
SECOND: Final = "second"
TIE: Final = "tie"

KEYS: Final = ("case_id", "dimension", "order", "repeat", "probe")
ITEM_RESPONSES: Final = "item_responses"
"""The column of rows shown with all responses to the item, for a judge that ranks them; see `mrb_lib.runs.items`."""
SHOWN: Final = (*KEYS, ITEM_RESPONSES, *(name for name in SEEN_BY_JUDGES if name not in ("response_a", "response_b")))
EXAMPLES: Final = "context_examples"
"""The column of worked examples, which the plan of a run adds; see `mrb_lib.judges.context`."""
OF_PLAN: Final = (ITEM_RESPONSES, EXAMPLES)
"""Columns that only the plan of a run adds; one of such a name in a source is not shown to a judge."""
_NOTE: Final = "probe_note"
_PHRASING: Final = {_NOTE: "", "probe_labels": "", "probe_wording": 0, "probe_instruction": ""}

# What a reply names: A is the response shown first, whatever it is in the case.
PICKS: Final = {"A": FIRST, "B": SECOND, TIE: TIE}

_TO_CASE = {("AB", FIRST): "A", ("AB", SECOND): "B", ("BA", FIRST): "B", ("BA", SECOND): "A"}
_OF_SHOWN: Final = (
    "p_first", "p_first_bound", "score_first", "score_second", "criteria_first", "criteria_second",
)  # fmt: skip
_EXCHANGED: Final = {"A": "B", "B": "A"}
_OPPOSITE: Final = {"at least": "at most", "at most": "at least"}
_TO_SHOWN = {(order, choice): pick for (order, pick), choice in _TO_CASE.items()}


def pick_of(first: float, second: float) -> str:
    """Return the pick of the higher of two scores; a tie where they are equal."""
    return FIRST if first > second else SECOND if first < second else TIE


def to_shown_frame(rows: pd.DataFrame, *, planned: bool = True) -> pd.DataFrame:
    """Put the responses into the order in which a judge is to see them.

    Parameters
    ----------
    rows : DataFrame with `order`, `response_a`, `response_b` and other columns of cases
    planned : the rows are of a plan, which adds `OF_PLAN`; in other cases such columns are the source's, and left out

    Returns
    -------
    DataFrame
        Columns `first` and `second` in place of the responses, and of the other
        columns only `SHOWN`: who wrote a response, and whatever else a source
        carries along (labels, for one), is not for a judge to see. `probe_note`, `probe_labels`,
        `probe_wording` and `probe_instruction` stay, and the note names the responses as they are shown. So do
        worked examples, which are shown in the same order as the case.
    """
    is_ab = (rows["order"] == "AB").to_numpy()
    if not planned:
        rows = rows.drop(columns=list(OF_PLAN), errors="ignore")
    shown = rows[[name for name in (*SHOWN, EXAMPLES) if name in rows.columns]].copy()
    shown["first"] = rows["response_a"].where(is_ab, rows["response_b"])
    shown["second"] = rows["response_b"].where(is_ab, rows["response_a"])
    if "probe" in rows.columns:  # what a plain case carries under such a name comes from its source
        probed = rows["probe"].ne(NO_PROBE)
        shown = shown.assign(
            **{name: rows[name].where(probed, usual) for name, usual in _PHRASING.items() if name in rows}
        )
    if _NOTE in shown.columns:
        notes = [_named(note, order) for note, order in zip(shown[_NOTE], shown["order"], strict=True)]
        shown[_NOTE] = pd.Series(notes, index=rows.index, dtype="str")
    if EXAMPLES in shown.columns:
        turned = {text: _turned(text) for text in shown[EXAMPLES][~is_ab].dropna().unique()}
        shown[EXAMPLES] = shown[EXAMPLES].where(is_ab, shown[EXAMPLES].map(turned))
    return shown


def exchanged(example: Mapping[str, Any]) -> dict[str, Any]:
    """Return a worked example with its two responses exchanged, and what was decided of them; a tie stays."""
    choices = {name: _EXCHANGED.get(choice, choice) for name, choice in example["choices"].items()}
    sides = {"response_a": example["response_b"], "response_b": example["response_a"]}
    return {**example, **sides, "choices": choices}


def _turned(examples: str) -> str:
    return json.dumps([exchanged(one) for one in json.loads(examples)])


def _named(note: str, order: str) -> str:
    """Return a note in which `{A}` and `{B}` are the letters that the responses have in an order."""
    letters = {"A": "A", "B": "B"} if order == "AB" else {"A": "B", "B": "A"}
    return re.sub(r"\{([AB])\}", lambda match: letters[match[1]], note)


def to_case_frame(verdicts: pd.DataFrame) -> pd.DataFrame:
    """Turn a judge's answers about first and second into answers about A and B.

    Parameters
    ----------
    verdicts : DataFrame with `order` and `pick` (`first`, `second`, `tie` or null) or, of ratings, `category`, and
        optionally `p_first` (probability that the first is better), `p_first_bound` ("at least" or "at most" where
        that is a bound), `score_first`, `score_second`, `criteria_first`, `criteria_second` (JSON lists)

    Returns
    -------
    DataFrame
        The same rows with `choice`, `p_a`, `p_a_bound`, `score_a`, `score_b`, `criteria` (JSON: the lists of `a` and
        `b`) in place of those columns; null stays null.
    """
    order = verdicts["order"]
    is_ab = (order == "AB").to_numpy()
    out = verdicts.drop(columns=["pick", *_OF_SHOWN], errors="ignore")
    if "category" in verdicts.columns:
        out = out.drop(columns="category").assign(choice=verdicts["category"].astype("str"))
    else:
        out["choice"] = _translate(order, verdicts["pick"], _TO_CASE)
    if "p_first" in verdicts.columns:
        out["p_a"] = verdicts["p_first"].where(is_ab, 1.0 - verdicts["p_first"])
    if "p_first_bound" in verdicts.columns:
        bound = verdicts["p_first_bound"]
        out["p_a_bound"] = bound.where(is_ab, bound.map(_OPPOSITE))
    if "score_first" in verdicts.columns and "category" in verdicts.columns:
        out["score_a"] = verdicts["score_first"]
    elif "score_first" in verdicts.columns:
        out["score_a"] = verdicts["score_first"].where(is_ab, verdicts["score_second"])
        out["score_b"] = verdicts["score_second"].where(is_ab, verdicts["score_first"])
    if "criteria_first" in verdicts.columns:
        a = verdicts["criteria_first"].where(is_ab, verdicts["criteria_second"])
        b = verdicts["criteria_second"].where(is_ab, verdicts["criteria_first"])
        out["criteria"] = ('{"a": ' + a + ', "b": ' + b + "}").astype("str")
    return out


def choice_to_shown(order: pd.Series, choice: pd.Series) -> pd.Series:
    """Turn choices into picks: `A` or `B` into `first` or `second`; tie and null stay."""
    return _translate(order, choice, _TO_SHOWN)


def probability_to_shown(order: pd.Series, p_a: pd.Series) -> pd.Series:
    """Turn the probability that A is better into that of the first response; null stays."""
    return p_a.where(order == "AB", 1.0 - p_a)


def _translate(order: pd.Series, value: pd.Series, table: dict[tuple[str, str], str]) -> pd.Series:
    out = pd.Series(np.nan, index=value.index, dtype="str").mask(value == TIE, TIE)
    for (shown, old), new in table.items():
        out = out.mask((order == shown) & (value == old), new)
    return out
