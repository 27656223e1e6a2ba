"""Responses that may stand in a pair: those that answer, and differ from the other one."""

from collections.abc import Collection, Sequence
from itertools import combinations
from typing import Final, NamedTuple

import numpy as np
import pandas as pd

from mrb_lib.stats.options import BoolArray, FloatArray, IntArray
from mrb_lib.tables.errors import InputError

REFUSED, TRUNCATED, NEAR = "refused", "truncated", "near-identical"
RULES: Final = (REFUSED, TRUNCATED, NEAR)
ERROR, EMPTY = "error", "empty"


class Candidates(NamedTuple):
    """The responses that pairs are drawn from, with n items, r responders and p = r (r - 1) / 2 pairs of responders.

    Attributes
    ----------
    items : the items with a usable response, in the order of the table of items
    models : the responders, by name
    pairs : shape (p, 2), positions among `models`; the first is the smaller
    sample : shape (n, r), the sample drawn for each responder; -1 where it has no usable response
    length : shape (n, r), characters of that response, without spaces around it; NaN where there is none
    allowed : shape (n, p), both responders have a usable response, and the two differ
    """

    items: list[str]
    models: list[str]
    pairs: IntArray
    sample: IntArray
    length: FloatArray
    allowed: BoolArray


def candidates(
    responses: pd.DataFrame, items: Sequence[str], *, exclude: Collection[str] = RULES, seed: int = 0
) -> tuple[Candidates, pd.DataFrame]:
    """Draw one usable sample of each responder for each item, and leave out pairs that nobody could tell apart.

    Parameters
    ----------
    responses : `item_id, model, sample, answer, flag, alike`
    items : the items to pair, without repetition; responses to others do not count
    exclude : of `RULES`; a response that failed or is empty is left out always. "refused" and "truncated" go by `flag`;
        "near-identical" are two with the same number in `alike`, see `mrb_lib.build.construct.respond.alike_groups`
    seed : of the draws of samples

    Returns
    -------
    Candidates
    DataFrame
        `reason, n`: how many responses, then how many pairs of an item, each rule left out; every rule once

    Raises
    ------
    InputError
        A rule is unknown, or fewer than two responders have a usable response.

    Notes
    -----
    Validated in `tests/build/construct/pairing/test_balance.py`.
    """
    unknown = sorted(set(exclude) - set(RULES))
    if unknown:
        raise InputError(f"--exclude {unknown[0]!r}: is unknown; use some of {', '.join(RULES)}.")
    known = responses[responses["item_id"].isin(list(items))]
    known = known.assign(length=known["answer"].fillna("").str.strip().str.len())
    reason = _unusable(known, exclude)
    usable = known[reason.isna()]
    models = sorted(usable["model"].unique())
    if len(models) < 2:
        have = f"only {models[0]} has" if models else "no responder has"
        raise InputError(f"responses: {have} a usable response, and a pair takes two; ask more responders.")
    drawn = usable.iloc[np.random.default_rng(seed).permutation(len(usable))].drop_duplicates(["item_id", "model"])
    answered = set(drawn["item_id"])
    here = [item for item in items if item in answered]
    row, column = pd.Index(here).get_indexer(pd.Index(drawn["item_id"])), pd.Index(models).get_indexer(drawn["model"])
    shape = (len(here), len(models))
    sample, position = np.full(shape, -1, dtype=np.int64), np.full(shape, -1, dtype=np.int64)
    sample[row, column], position[row, column] = drawn["sample"], np.arange(len(drawn))
    length = np.full(shape, np.nan)
    length[row, column] = drawn["length"]
    pairs = np.array(list(combinations(range(len(models)), 2)), dtype=np.int64)
    both = (sample[:, pairs[:, 0]] >= 0) & (sample[:, pairs[:, 1]] >= 0)
    groups = np.append(drawn["alike"].fillna(-1).to_numpy(dtype=np.float64), -1)[position]
    first, second = groups[:, pairs[:, 0]], groups[:, pairs[:, 1]]
    alike = (first == second) & (first >= 0) & (NEAR in exclude)
    counts = [(why, int((reason == why).sum())) for why in (ERROR, EMPTY, REFUSED, TRUNCATED)]
    counts.append((f"{NEAR} pair", int(alike.sum())))
    found = Candidates(here, models, pairs, sample, length, both & ~alike)
    return found, pd.DataFrame(counts, columns=["reason", "n"])


def _unusable(responses: pd.DataFrame, exclude: Collection[str]) -> pd.Series:
    """Why each response may not be paired; null where it may."""
    is_empty = (responses["length"] == 0) | (responses["flag"] == EMPTY)
    out = pd.Series(None, index=responses.index, dtype="str").mask(is_empty, EMPTY)
    for rule in (TRUNCATED, REFUSED):
        if rule in exclude:
            out = out.mask(responses["flag"] == rule, rule)
    return out.mask(responses["flag"] == ERROR, ERROR)
