"""Verdicts with and without a change, paired by case, order and repeat: what the change did to each case."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any, Final

import numpy as np
import pandas as pd

from mrb_lib.stats.estimation import BoolArray, FloatArray, IntArray, average, divide
from mrb_lib.stats.scoring import score
from mrb_lib.stats.verdicts import JUDGE, Verdicts, agreeing_repeats, votes_of
from mrb_lib.tables.schema import CHOICES, ORDERS

A = CHOICES.index("A")
PROBE, GAP, TEMPLATE = "probe", "gap", "template"
UNKNOWN_PROMPTS: Final = "the prompts of the two runs are not known: something else may differ between them"
OTHER_SETTINGS: Final = "the runs differ in more than the prompt: {}"


def on_cells(verdicts: Verdicts, judges: Sequence[str]) -> Verdicts:
    """Return the verdicts with a cell for each judge and dimension, judges in this order, with verdicts or without."""
    d = len(verdicts.dimensions)
    own = pd.Index(judges).get_indexer(pd.Index(verdicts.cells["judge"])) * d + verdicts.dimension
    seen = np.zeros((verdicts.n_cases, len(judges) * d), dtype=bool)
    seen[:, own] = verdicts.seen
    names = {"judge": np.repeat(judges, d), "dimension": np.tile(verdicts.dimensions, len(judges))}
    cells = pd.DataFrame(names, dtype=object).assign(kind=JUDGE, label=None)
    dimension = np.tile(np.arange(d), len(judges))
    return replace(verdicts, cells=cells, dimension=dimension, seen=seen, cell=own[verdicts.cell])


def aligned(first: Verdicts, second: Verdicts) -> tuple[Verdicts, Verdicts]:
    """Return the verdicts of both that share the case, cell, order and repeat, one beside the other."""
    most = 1 + max(int(each.repeat.max(initial=0)) for each in (first, second))
    shape = (first.n_cases, len(first.cells), len(ORDERS), most)
    key, its = (np.ravel_multi_index((v.case, v.cell, v.order, v.repeat), shape) for v in (first, second))
    _, one, other = np.intersect1d(key, its, assume_unique=True, return_indices=True)
    return first.where(one), second.where(other)


def means(verdicts: Verdicts, values: FloatArray) -> FloatArray:
    """Return the mean over the verdicts of each case, shape (cases, cells); NaN values do not count."""
    return divide(verdicts.total(np.nan_to_num(values)), verdicts.total(np.isfinite(values)))


def compare(
    first: Verdicts,
    second: Verdicts,
    labels: IntArray,
    policy: str,
    *,
    part: str,
    is_a: BoolArray | None = None,
    noise: float | None = None,
) -> dict[str, FloatArray]:
    """Return the effects of a change on each case, from verdicts without it and with it.

    Parameters
    ----------
    labels : the gold labels, shape (cases, dimensions)
    part : `PROBE`, of which repeats without the change alone tell the noise; `GAP` or `TEMPLATE`, of which both sides
        do. Two prompts (`TEMPLATE`) are paired over all repeats and orders, and each is scored on all its verdicts
    is_a : shape (cases,), whether response A is what the change speaks for; None of a change without such a target
    noise : the noise of judges that answered no case twice; None where nobody knows

    Returns
    -------
    Arrays of shape (cases, cells), NaN where undefined, by column of the table `probes` that is their mean (`changed`
    and `target_shift` are over verdicts with a choice on both sides; a tie is half a choice for the target), and
    `presented`, whether there is a verdict

    Notes
    -----
    With probabilities p, q of the choices in one order and p', q' in the other, `shared_flips` estimates, without bias,
    (p - q).(p' - q') / 2 (Hoeffding 1948, doi:10.1214/aoms/1177730196): what a prompt changes alike in both orders.
    """
    is_probe, is_prompt = part == PROBE, part == TEMPLATE
    before, after = aligned(first, second)
    answered = (before.choice >= 0) & (after.choice >= 0)
    differs = np.where(answered, before.choice != after.choice, np.nan)
    votes = [votes_of(each) for each in ((first,) if is_probe else (first, second))]
    repeated = np.stack([1 - agreeing_repeats(each) for each in votes])
    noises = repeated.mean(axis=0) if is_prompt else average(repeated)
    if noise is not None:
        noises = np.where(np.isnan(noises).all(axis=(0, 1)), noise, noises)
    if is_prompt:
        by_order = _between_repeats(votes[0], votes[1], before, differs)
    else:
        by_order = np.stack([means(before, np.where(before.order == o, differs, np.nan)) for o in range(len(ORDERS))])
    changed = average(by_order) if is_prompt else means(before, differs)
    target = np.full(len(differs), np.nan)
    if is_a is not None:
        sides = [np.where(v.choice == v.tie, 0.5, (v.choice == A) == is_a[v.case]) for v in (before, after)]
        target = np.where(answered, sides[1] - sides[0], np.nan)
    scored = (first, second) if is_prompt else (before, after)
    plain, probed = (score(each, labels, policy).score for each in scored)
    change = probed - plain
    orders = shared = np.full(change.shape, np.nan)
    if is_prompt:
        orders, shared = _across_orders(votes[0], votes[1])
    return {
        "changed": changed,
        "accuracy_change": change,
        "target_shift": means(before, target),
        "changed_beyond_noise": average(by_order - noises),
        "shared_flips": shared,
        "noise": np.where(np.isfinite(changed), average(noises), np.nan),
        "coverage": means(second, (second.choice >= 0).astype(float)),
        "accuracy": np.where(np.isfinite(change), plain, np.nan),
        "accuracy_probed": np.where(np.isfinite(change), probed, np.nan),
        "order_flips": orders,
        "presented": (second.total() > 0) | (not is_probe and first.total() > 0),
    }


def _between_repeats(one: FloatArray, other: FloatArray, before: Verdicts, differs: FloatArray) -> FloatArray:
    """Return the share of pairs of verdicts that differ in each order, of different repeats where there are several.

    Repeats of one number may share a seed, which two repeats of one side never do.

    Parameters
    ----------
    one, other : the votes of both sides, see `votes_of`
    before, differs : the verdicts of one side that have one of the same repeat on the other, and whether they differ
    """
    pairs, agree = one.sum(axis=1) * other.sum(axis=1), (one * other).sum(axis=1)
    once, same = (
        np.stack([before.total(is_pair & (before.order == o)) for o in range(len(ORDERS))])
        for is_pair in (np.isfinite(differs), differs == 0)
    )
    apart = pairs - once
    return 1 - divide(np.where(apart > 0, agree - same, same), np.where(apart > 0, apart, once))


def _across_orders(one: FloatArray, other: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the share of pairs of verdicts in different orders that differ: of one prompt, and of both beyond that."""

    def differ(votes: FloatArray, others: FloatArray) -> FloatArray:
        return 1 - divide((votes * others).sum(axis=0), votes.sum(axis=0) * others.sum(axis=0))

    orders = (differ(one[0], one[1]) + differ(other[0], other[1])) / 2
    return orders, (differ(one[0], other[1]) + differ(one[1], other[0])) / 2 - orders


def prompt_pairs(judges: Sequence[str], prompts: pd.DataFrame | None) -> Iterator[dict[str, Any]]:
    """Yield every two runs of one judge that are not known to have the same prompt.

    Parameters
    ----------
    judges : as the verdicts name them
    prompts : see `mrb_lib.verdicts.store.run_prompts`. Without it, or for a run that it does not name, only the
        judge's own name is known, which is what stands before the last `@`

    Yields
    ------
    `judge`, its own name; `judge_1` and `judge_2`, the runs; `prompt_1` and `prompt_2`, None where unknown; `reason`,
    why a difference may not be the prompt's
    """
    stated = {} if prompts is None else {run["judge"]: run for run in prompts.fillna("").to_dict("records")}
    runs = {name: stated.get(name, {"name": name.rpartition("@")[0] or name}) for name in judges}
    for (first, one), (second, other) in combinations(runs.items(), 2):
        marks = [run.get("prompt_hash") or run.get("prompt_id") for run in (one, other)]
        if one["name"] != other["name"] or (all(marks) and marks[0] == marks[1]):
            continue
        names = [run.get("prompt_id") or None for run in (one, other)]
        if names[0] and names[0] == names[1]:
            names = [f"{names[0]} ({str(mark)[:8]})" for mark in marks]
        first_has, second_has = (json.loads(run.get("settings") or "{}") for run in (one, other))
        differ = sorted(key for key in {*first_has, *second_has} if first_has.get(key) != second_has.get(key))
        reason = OTHER_SETTINGS.format(", ".join(differ)) if differ else ""
        reason = reason if all(marks) else UNKNOWN_PROMPTS
        yield {
            "judge": one["name"],
            "judge_1": first,
            "judge_2": second,
            "prompt_1": names[0],
            "prompt_2": names[1],
            "reason": reason,
        }
