"""The step `pair`: which two responses to an item are compared, as a benchmark that is ready to be annotated."""

import hashlib
import json
from itertools import combinations
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
import pandas as pd

from mrb_lib.benchmarks.benchmark import empty_annotations
from mrb_lib.benchmarks.meta import BenchmarkMeta, write_meta
from mrb_lib.build.construct.answers.answering import asked_questions
from mrb_lib.build.construct.pairing.balance import NONE, annotation_order, balanced_pairs, first_shown, length_band
from mrb_lib.build.construct.pairing.candidates import RULES, Candidates, candidates
from mrb_lib.build.construct.tables import ABOUT
from mrb_lib.build.construct.work import RECORD, Step, Work, begin, open_work
from mrb_lib.stats.options import IntArray
from mrb_lib.tables.errors import InputError
from mrb_lib.tables.files import write_atomic

BALANCE: Final = ("model", "organ", "length")
NO_PAIR, NOT_DRAWN = "no two responses that may be paired", "not drawn"
_COLUMNS: Final = ("case_id", "item_id", "model_a", "model_b", "sample_a", "sample_b", "order", "length_a", "length_b")


class Plan(NamedTuple):
    """The rules by which pairs are chosen.

    Attributes
    ----------
    per_item : pairs an item, at least 1
    balance : of `BALANCE`, what is evened out; meetings ("model") always
    exclude : rules of `mrb_lib.build.construct.pairing.candidates.RULES`
    n_cases : cases in all; None for as many as there are items, times `per_item`
    """

    per_item: int = 1
    balance: tuple[str, ...] = BALANCE
    exclude: tuple[str, ...] = RULES
    n_cases: int | None = None


class Paired(NamedTuple):
    """The result of the step; for its frames see `mrb_lib.build.construct.tables.SCHEMAS`."""

    pairs: pd.DataFrame
    excluded: pd.DataFrame
    design: pd.DataFrame
    is_done: bool


def pair(work: Work, plan: Plan, *, seed: int = 0, again: bool = False) -> Paired:
    """Choose pairs of responses, and make the work folder a benchmark without annotations.

    Parameters
    ----------
    again : replace pairs that were chosen otherwise

    Raises
    ------
    InputError
        The plan is impossible, or `mrb_lib.build.construct.work.begin` refuses.

    Notes
    -----
    The id of a case is that of its item with a digest of the two responses: an answer that an annotator gave to other
    responses never counts for these. Validated in `tests/build/construct/test_pair.py`.
    """
    unknown = sorted(set(plan.balance) - set(BALANCE))
    if unknown:
        raise InputError(f"--balance {unknown[0]!r}: is unknown; use some of {', '.join(BALANCE)}.")
    if plan.per_item < 1:
        raise InputError(f"--pairs {plan.per_item}: an item needs at least one pair.")
    choices: dict[str, Any] = plan._asdict() | {"balance": list(plan.balance), "exclude": list(plan.exclude)}
    with begin(work, "pair", choices, seed=seed, again=again) as step:
        rng = np.random.default_rng([seed, 0])
        items, responses = step.entering, work.responses()
        made, excluded = candidates(responses, items["item_id"].tolist(), exclude=plan.exclude, seed=seed)
        if step.is_done:
            pairs = work.pairs()
        else:
            pairs = _pairs(made, _chosen(made, items, plan, rng), responses, rng)
            if pairs.empty:
                raise InputError(f"{work.path}: no two responses to an item may be paired; see --exclude.")
        announced = design(pairs)
        if not step.is_done:
            _write(step, pairs, announced, made, responses)
    return Paired(pairs, excluded, announced, step.is_done)


def annotation_blocks(folder: Path) -> dict[str, int] | None:
    """In which block each case of a work folder is annotated: in one, every pair of responders has a case, if it can.

    Returns
    -------
    dict or None
        The blocks of the cases from 0, by `pairs.order`; None where the folder is none of construction, or has no pairs
    """
    if not (folder / RECORD).is_file():
        return None
    pairs = open_work(folder).pairs()
    both = {frozenset(pair) for pair in zip(pairs["model_a"], pairs["model_b"], strict=True)}
    return dict(zip(pairs["case_id"], (pairs["order"] // max(len(both), 1)).tolist(), strict=True)) or None


def _chosen(made: Candidates, items: pd.DataFrame, plan: Plan, rng: np.random.Generator) -> IntArray:
    """Return the pairs of each item of `made`, shape (n, per_item)."""
    allowed = made.allowed.copy()
    able = rng.permutation(np.flatnonzero(allowed.any(axis=1)))
    if plan.n_cases is not None:
        allowed[able[-(-plan.n_cases // plan.per_item) :]] = False
    organs = items.set_index("item_id")["organ"].reindex(made.items)
    strata = pd.factorize(organs)[0] + 1 if "organ" in plan.balance else np.zeros(len(made.items), dtype=np.int64)
    band = length_band(made.length, made.pairs)
    band = band if "length" in plan.balance else np.ones_like(band)
    return balanced_pairs(allowed, plan.per_item, strata.astype(np.int64), band, rng)


def _pairs(made: Candidates, chosen: IntArray, responses: pd.DataFrame, rng: np.random.Generator) -> pd.DataFrame:
    """Return the table of pairs of what was chosen, in the order in which they are to be annotated."""
    item, place = np.nonzero(chosen != NONE)
    pair = chosen[item, place]
    both = made.pairs[pair]
    length = made.length[item[:, None], both]
    turned = first_shown(pair, np.sign(length[:, 1] - length[:, 0]).astype(np.int64), rng)
    sides = np.where(turned[:, None], both[:, ::-1], both)
    names, here = np.array(made.models, dtype=object), np.array(made.items, dtype=object)[item]
    frame = pd.DataFrame({"item_id": here, "order": annotation_order(pair, rng)})
    for side, column in (("a", sides[:, 0]), ("b", sides[:, 1])):
        frame[f"model_{side}"] = names[column]
        frame[f"sample_{side}"] = made.sample[item, column]
        frame[f"length_{side}"] = made.length[item, column].astype(np.int64)
    texts = (_texts(frame, side, responses) for side in "ab")
    shown = zip(frame["item_id"], frame["model_a"], frame["model_b"], *texts, strict=True)
    digests = [hashlib.sha256(json.dumps(row).encode("ascii")).hexdigest()[:10] for row in shown]
    frame["case_id"] = frame["item_id"] + "-" + pd.Series(digests, dtype=object)
    return frame.sort_values("order", ignore_index=True)[list(_COLUMNS)]


def _texts(pairs: pd.DataFrame, side: str, responses: pd.DataFrame) -> list[str]:
    """The responses of one side of pairs."""
    keys = pairs[["item_id", f"model_{side}", f"sample_{side}"]].set_axis(["item_id", "model", "sample"], axis=1)
    return list(keys.merge(responses[[*keys, "answer"]], on=list(keys), how="left", validate="m:1")["answer"])


def _write(step: Step, pairs: pd.DataFrame, announced: pd.DataFrame, made: Candidates, responses: pd.DataFrame) -> None:
    """Decide about the items, and write the pairs, their design, and the benchmark that they are."""
    work, items = step.work, step.entering
    paired = items["item_id"].isin(pairs["item_id"])
    able = items["item_id"].isin(np.array(made.items)[made.allowed.any(axis=1)])
    reason = pd.Series(NOT_DRAWN, index=items.index, dtype="str").mask(~able, NO_PAIR).mask(paired, None)
    step.decide(items[["item_id"]].assign(kept=paired, reason=reason))
    step.write("pairs", pairs)
    step.write("design", announced)
    step.write("cases", cases_of(pairs, items, responses))
    if not (work.path / "annotations.parquet").is_file():
        write_atomic(work.path / "annotations.parquet", empty_annotations().to_parquet(index=False))
    if not (work.path / "benchmark.toml").is_file():
        licence = "; ".join(sorted(items["licence"].dropna().unique()))
        write_meta(BenchmarkMeta(work.meta.name, work.meta.kind, licence=licence), work.path / "benchmark.toml")


def cases_of(pairs: pd.DataFrame, items: pd.DataFrame, responses: pd.DataFrame) -> pd.DataFrame:
    """The cases table of pairs, in their order.

    Returns
    -------
    DataFrame
        `case_id, item, question` (with its options, where it has any), `response_a, response_b, images, reference,
        model_a, model_b`, and what is known of the item (`mrb_lib.build.construct.tables.ABOUT`); `cluster` is the item
        where it has no other
    """
    about = items.set_index("item_id").loc[pairs["item_id"]].reset_index(drop=True)
    out = pairs[["case_id", "model_a", "model_b"]].reset_index(drop=True).assign(item=pairs["item_id"].to_numpy())
    out["question"] = asked_questions(about)
    for side in "ab":
        out[f"response_{side}"] = pd.Series(_texts(pairs, side, responses), dtype="str")
    for name in ("images", "reference", *ABOUT):
        out[name] = about[name].to_numpy()
    out["cluster"] = out["cluster"].where(out["cluster"].notna(), out["item"])
    known = [name for name in out.columns if out[name].notna().any()]
    return out[known]


MEANINGS: Final = {
    "n_cases": "pairs to annotate",
    "n_items": "items they are about; intervals resample these, or the clusters they are in",
    "n_responders": "responders in any pair",
    "fewest_meetings": "cases of the two responders that meet least often",
    "most_meetings": "cases of the two responders that meet most often",
    "n_parts": "groups of responders that never meet those of another group; a ranking of all needs 1",
    "longer_first": "share of the cases with unequal lengths in which response A is the longer",
}


def meetings(pairs: pd.DataFrame) -> pd.DataFrame:
    """Return how often every two responders meet, never included.

    Parameters
    ----------
    pairs : `model_a, model_b`, a row a case

    Returns
    -------
    DataFrame
        `model_1, model_2, n`, sorted by name
    """
    names = sorted({*pairs["model_a"], *pairs["model_b"]})
    sides = np.sort(pairs[["model_a", "model_b"]].to_numpy(dtype=str), axis=1)
    counts = pd.Series(list(map(tuple, sides))).value_counts()
    rows = [(one, other, int(counts.get((one, other), 0))) for one, other in combinations(names, 2)]
    return pd.DataFrame(rows, columns=["model_1", "model_2", "n"])


def design(pairs: pd.DataFrame) -> pd.DataFrame:
    """Return the design of pairs.

    Parameters
    ----------
    pairs : `item_id, model_a, model_b, length_a, length_b`

    Returns
    -------
    DataFrame
        `quantity, value, meaning`, a row each of `MEANINGS`; `longer_first` is null where all lengths are equal
    """
    # Here, because scikit-learn takes a second and 50 MB of every review app that imports this module.
    from mrb_lib.benchmarks.near_duplicates import components

    met = meetings(pairs)
    names, sides = pd.factorize(pairs[["model_a", "model_b"]].to_numpy(dtype=object).ravel())[::-1]
    one, other = sides.reshape(-1, 2).T
    unequal = pairs[pairs["length_a"] != pairs["length_b"]]
    values = {
        "n_cases": len(pairs),
        "n_items": pairs["item_id"].nunique(),
        "n_responders": len(names),
        "fewest_meetings": met["n"].min(),
        "most_meetings": met["n"].max(),
        "n_parts": 1 + components(len(names), one, other).max(initial=-1),
        "longer_first": (unequal["length_a"] > unequal["length_b"]).mean(),
    }
    rows = [(name, float(values[name]), meaning) for name, meaning in MEANINGS.items()]
    return pd.DataFrame(rows, columns=["quantity", "value", "meaning"])
