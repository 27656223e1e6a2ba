"""A goal for the agreement of annotators: is it met, and would more annotators or more cases help?"""

import re
from math import ceil
from typing import Final, NamedTuple

import pandas as pd

from mrb_lib.tables.errors import InputError

MEASURES: Final = {"alpha": "krippendorff_alpha", "fleiss": "fleiss_kappa", "kappa": "cohen_kappa", "ac1": "gwet_ac1"}
REACHED, OUT_OF_REACH, OPEN, UNKNOWN = "reached", "out of reach", "open", "unknown"
COLUMNS: Final = ("dimension", "n_cases", "annotators_per_case", "value", "low", "high", "state", "reliability",
                  "annotators_needed", "cases_more", "advice")  # fmt: skip
_MOST_ANNOTATORS, _MOST_TIMES = 15, 20


class Target(NamedTuple):
    """A measure of `MEASURES`, and the least value that is wanted of it."""

    measure: str
    value: float


def read_target(rule: str) -> Target:
    """Read a rule such as `alpha>=0.6`.

    Raises
    ------
    InputError
        It is not one.
    """
    match = re.fullmatch(rf"\s*({'|'.join(MEASURES)})\s*>=\s*(0?\.[0-9]+)\s*", rule)
    if match is None or not float(match[2]):
        raise InputError(f"until {rule!r}: write one of {', '.join(MEASURES)} and a value from 0 to 1: alpha>=0.6.")
    return Target(match[1], float(match[2]))


def until(estimates: pd.DataFrame, target: Target) -> pd.DataFrame:
    """Compare agreement with what is wanted of it.

    Parameters
    ----------
    estimates : the overall rows of part "all" of the table `agreement`

    Returns
    -------
    DataFrame, a row a dimension
        `value` with its 95% interval `low`, `high`, of single annotators; `state`: "reached" (the whole interval is at
        or above the target), "out of reach" (it is below), "open" (it holds the target), "unknown" (there is none);
        `reliability` of the label that all annotators of a case give together, and the `annotators_needed` for that to
        be as high as the target (null: more than 15); `cases_more`, with two annotators or more, that would settle
        what is open (null: more than 20 times as many as there are); `advice` in words

    Notes
    -----
    More annotators do not raise agreement, which is of any two of them; they make its estimate narrower, and the label
    of all of them more reliable: for k annotators k a / (1 + (k - 1) a), by Spearman (1910) and Brown (1910). That is
    exact for means of scores, and a guide for a majority. The width of an interval falls with the square root of the
    number of cases. Validated in `tests/stats/test_drift.py`.
    """
    name, rows = MEASURES[target.measure], []
    numbers = estimates[[name, f"{name}_low", f"{name}_high", "annotators_per_case", "n_cases"]].to_numpy(dtype=float)
    for dimension, (value, low, high, k, n) in zip(estimates["dimension"], numbers.tolist(), strict=True):
        reliability = spearman_brown(value, k) if value > 0 and k == k else None
        needed, more = annotators_for(value, target.value), None
        if value != value or low != low:
            state, advice = UNKNOWN, "not yet: two cases or more need two annotators, who use more than one label"
        elif low >= target.value:
            state, advice = REACHED, "stop: more annotators change nothing that was asked for"
        elif high < target.value:
            state, many = OUT_OF_REACH, f"not even {_MOST_ANNOTATORS}" if needed is None else needed
            advice = "more annotators do not raise it: ask more plainly, or train them together; "
            advice += f"{many} annotators per case are as reliable together"
        else:
            distance, half = abs(value - target.value), value - low if value >= target.value else high - value
            if half**2 <= _MOST_TIMES * distance**2:  # the width falls with the square root of the number of cases
                more = ceil(n * ((half / distance) ** 2 - 1) - 1e-6)
            cases = "many more cases" if more is None else f"about {max(more, 1):,} more cases"
            state, advice = OPEN, f"go on: {cases} with two annotators will tell"
        rows.append((dimension, int(n), k, value, low, high, state, reliability, needed, more, advice))
    frame = pd.DataFrame(rows, columns=list(COLUMNS))
    return frame.astype({"reliability": "float64", "annotators_needed": "Int64", "cases_more": "Int64"})


def spearman_brown(value: float, k: float) -> float:
    """Return the reliability of k annotators together, from that of one; Spearman (1910), Brown (1910)."""
    return k * value / (1 + (k - 1) * value)


def annotators_for(value: float, target: float) -> int | None:
    """Return the fewest annotators that are together as reliable as the target; None above 15, or where none are."""
    if not value > 0:
        return None
    needed = 1 if value >= target else ceil(target * (1 - value) / (value * (1 - target)) - 1e-9)
    return needed if needed <= _MOST_ANNOTATORS else None
