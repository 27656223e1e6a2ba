"""The step `pair`: which two responses to an item are compared, as a benchmark that is ready to be annotated."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Sequence
from io import BytesIO
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
import pandas as pd

from mrb_lib.benchmarks.benchmark import empty_annotations
from mrb_lib.benchmarks.meta import BenchmarkMeta, write_meta
from mrb_lib.build.construct.answers.answering import asked_question
from mrb_lib.build.construct.pairing.adaptive import adaptive_pairs
from mrb_lib.build.construct.pairing.balance import (
    NONE,
    annotation_order,
    balanced_pairs,
    first_shown,
    length_band,
    random_pairs,
)
from mrb_lib.build.construct.pairing.candidates import RULES, Candidates, candidates
from mrb_lib.build.construct.pairing.design import Assumptions, design
from mrb_lib.build.construct.record import RECORD
from mrb_lib.build.construct.tables import ABOUT
from mrb_lib.build.construct.work import Step, Work, begin, open_work
from mrb_lib.stats.methods.comparisons import from_labels, responders, tally
from mrb_lib.stats.options import BoolArray, FloatArray, IntArray
from mrb_lib.stats.verdicts import labels_of
from mrb_lib.tables.errors import InputError
from mrb_lib.tables.files import write_atomic
from mrb_lib.tables.schema import CHOICES

RANDOM, BALANCED, ADAPTIVE = "random", "balanced", "adaptive"
STRATEGIES: Final = (RANDOM, BALANCED, ADAPTIVE)
BALANCE: Final = ("model", "organ", "length")
NO_PAIR, NOT_DRAWN = "no two responses that may be paired", "not drawn"
_COLUMNS: Final = ("case_id", "item_id", "model_a", "model_b", "sample_a", "sample_b", "order", "length_a", "length_b")


class Plan(NamedTuple):
    """How pairs are chosen.

    Attributes
    ----------
    per_item : pairs an item, at least 1
    strategy : of `STRATEGIES`. "adaptive" begins balanced, and then adds cases, as `n_cases` is raised, where the
        labels so far leave the outcome most open; what is there stays
    balance : of `BALANCE`, what "balanced" evens out; meetings ("model") always
    exclude : rules of `mrb_lib.build.construct.pairing.candidates.RULES`
    n_cases : cases in all; None for as many as there are items, times `per_item`
    """

    per_item: int = 1
    strategy: str = BALANCED
    balance: tuple[str, ...] = BALANCE
    exclude: tuple[str, ...] = RULES
    n_cases: int | None = None


class Paired(NamedTuple):
    """The result of the step; for its frames see `mrb_lib.build.construct.tables.SCHEMAS`."""

    pairs: pd.DataFrame
    excluded: pd.DataFrame
    design: pd.DataFrame
    is_done: bool


def pair(
    work: Work,
    plan: Plan,
    *,
    labels: pd.DataFrame | None = None,
    assumed: Assumptions | None = None,
    seed: int = 0,
    again: bool = False,
) -> Paired:
    """Choose pairs of responses, and make the work folder a benchmark without annotations.

    Parameters
    ----------
    labels : the gold so far, `case_id, dimension, choice`, which "adaptive" goes by; each dimension counts alike
    assumed : what the design that is announced rests on; it changes no pair
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
    _check(plan)
    choices: dict[str, Any] = plan._asdict() | {"balance": list(plan.balance), "exclude": list(plan.exclude)}
    before = _rounds(work, choices, seed) if plan.strategy == ADAPTIVE else []
    earlier = work.pairs() if before else work.pairs().head(0)
    if plan.strategy == ADAPTIVE:
        wanted = plan.n_cases or 0
        if wanted > len(earlier) or not before:
            before.append({"cases": wanted, "labels": _n_labels(labels, earlier)})
        choices["rounds"] = before
    with begin(work, "pair", choices, seed=seed, again=again or len(before) > 1) as step:
        rng = np.random.default_rng([seed, len(before)])
        items = step.entering
        responses = work.responses()
        made, excluded = candidates(responses, items["item_id"].tolist(), exclude=plan.exclude, seed=seed)
        if step.is_done:
            pairs = work.pairs()
        else:
            chosen = _chosen(made, items, plan, earlier, labels, rng)
            pairs = pd.concat([earlier, _pairs(made, chosen, responses, len(earlier), rng)], ignore_index=True)
            if pairs.empty:
                raise InputError(f"{work.path}: no two responses to an item may be paired; see --exclude.")
        about = pairs.merge(items[["item_id", "cluster"]], on="item_id", how="left")
        announced = design(about, assumed, seed=seed)
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


def _check(plan: Plan) -> None:
    if plan.strategy not in STRATEGIES:
        raise InputError(f"--strategy {plan.strategy!r}: is unknown; use one of {', '.join(STRATEGIES)}.")
    unknown = sorted(set(plan.balance) - set(BALANCE))
    if unknown:
        raise InputError(f"--balance {unknown[0]!r}: is unknown; use some of {', '.join(BALANCE)}.")
    if plan.per_item < 1:
        raise InputError(f"--pairs {plan.per_item}: an item needs at least one pair.")
    if plan.strategy == ADAPTIVE and (plan.n_cases is None or plan.per_item > 1):
        raise InputError("--strategy adaptive: say how many cases there shall be in all, --cases N, one pair an item.")


def _rounds(work: Work, choices: dict[str, Any], seed: int) -> list[dict[str, int]]:
    """The finished rounds of an adaptive design; none where other choices were made, or responses have changed."""
    old = work.choices("pair")
    if old is None or work.seed("pair") != seed or "pair" in work.stale():
        return []
    alike = all(old.get(name) == choices[name] for name in ("per_item", "strategy", "balance", "exclude"))
    rounds = list(old.get("rounds", [])) if alike else []
    return rounds if work.state("pair") == "finished" else rounds[:-1]


def _n_labels(labels: pd.DataFrame | None, pairs: pd.DataFrame) -> int:
    return 0 if labels is None else int(labels.loc[labels["case_id"].isin(pairs["case_id"]), "choice"].notna().sum())


def _chosen(
    made: Candidates,
    items: pd.DataFrame,
    plan: Plan,
    earlier: pd.DataFrame,
    labels: pd.DataFrame | None,
    rng: np.random.Generator,
) -> IntArray:
    """The new pairs of each item of `made`, shape (n, per_item)."""
    allowed = made.allowed & ~np.isin(made.items, earlier["item_id"])[:, None]
    wanted = allowed.any(axis=1).sum() * plan.per_item if plan.n_cases is None else plan.n_cases - len(earlier)
    if len(earlier) and _n_labels(labels, earlier):
        wins, ties, waiting = _so_far(made, earlier, labels)
        return adaptive_pairs(allowed, made.pairs, int(wanted), wins, ties, waiting, rng)[:, None]
    n_items = -(-int(wanted) // plan.per_item)
    able = rng.permutation(np.flatnonzero(allowed.any(axis=1)))
    allowed[able[max(n_items, 0) :]] = False
    if plan.strategy == RANDOM:
        chosen = random_pairs(allowed, plan.per_item, rng)
    else:
        organs = items.set_index("item_id")["organ"].reindex(made.items)
        strata = pd.factorize(organs)[0] + 1 if "organ" in plan.balance else np.zeros(len(made.items), dtype=np.int64)
        band = length_band(made.length, made.pairs)
        band = band if "length" in plan.balance else np.ones_like(band)
        chosen = balanced_pairs(allowed, plan.per_item, strata.astype(np.int64), band, rng)
    return chosen


def _so_far(
    made: Candidates, pairs: pd.DataFrame, labels: pd.DataFrame | None
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Wins and ties, a mean over dimensions, and the cases of each pair that have no label yet."""
    named = pairs[pairs["model_a"].isin(made.models) & pairs["model_b"].isin(made.models)].reset_index(drop=True)
    gold = labels if labels is not None else pd.DataFrame(columns=["case_id", "dimension", "choice"])
    gold = gold[gold["case_id"].isin(named["case_id"])]
    dimensions = gold["dimension"].unique().tolist()
    outcomes = from_labels(labels_of(gold, named["case_id"], dimensions, CHOICES).T).mean(axis=0)
    who = responders(named)
    tables = tally(outcomes[None], who)
    place = pd.Index(made.models).get_indexer(pd.Index(who.names))
    wins, ties = np.zeros((2, len(made.models), len(made.models)))
    wins[np.ix_(place, place)], ties[np.ix_(place, place)] = tables[0][0], tables[1][0]
    pending = 1 - outcomes.sum(axis=1)
    open_cases = np.zeros_like(wins)
    np.add.at(open_cases, (place[who.a], place[who.b]), pending)
    open_cases += open_cases.T
    return wins, ties, open_cases[made.pairs[:, 0], made.pairs[:, 1]]


def _pairs(
    made: Candidates, chosen: IntArray, responses: pd.DataFrame, after: int, rng: np.random.Generator
) -> pd.DataFrame:
    """The table of pairs of what was chosen, in the order in which they are to be annotated."""
    item, place = np.nonzero(chosen != NONE)
    pair = chosen[item, place]
    both = made.pairs[pair]
    length = made.length[item[:, None], both]
    turned = first_shown(pair, np.sign(length[:, 1] - length[:, 0]).astype(np.int64), rng)
    sides = np.where(turned[:, None], both[:, ::-1], both)
    names, here = np.array(made.models, dtype=object), np.array(made.items, dtype=object)[item]
    frame = pd.DataFrame({"item_id": here, "order": after + annotation_order(pair, rng)})
    for side, column in (("a", sides[:, 0]), ("b", sides[:, 1])):
        frame[f"model_{side}"] = names[column]
        frame[f"sample_{side}"] = made.sample[item, column]
        frame[f"length_{side}"] = made.length[item, column].astype(np.int64)
    texts = (_texts(frame, side, responses) for side in "ab")
    shown = zip(frame["item_id"], frame["model_a"], frame["model_b"], *texts, strict=True)
    frame["case_id"] = [f"{row[0]}-{_digest(row)}" for row in shown]
    return frame.sort_values("order", ignore_index=True)[list(_COLUMNS)]


def _texts(pairs: pd.DataFrame, side: str, responses: pd.DataFrame) -> list[str]:
    """The responses of one side of pairs."""
    keys = pairs[["item_id", f"model_{side}", f"sample_{side}"]].set_axis(["item_id", "model", "sample"], axis=1)
    return list(keys.merge(responses[[*keys, "answer"]], on=list(keys), how="left", validate="m:1")["answer"])


def _digest(shown: Sequence[str]) -> str:
    return hashlib.sha256(json.dumps(shown).encode("ascii")).hexdigest()[:10]


def _write(step: Step, pairs: pd.DataFrame, announced: pd.DataFrame, made: Candidates, responses: pd.DataFrame) -> None:
    """Decide about the items, and write the pairs, their design, and the benchmark that they are."""
    work, items = step.work, step.entering
    paired = items["item_id"].isin(pairs["item_id"])
    able = items["item_id"].isin(_with_a_pair(made.items, made.allowed))
    reason = pd.Series(NOT_DRAWN, index=items.index, dtype="str").mask(~able, NO_PAIR).mask(paired, None)
    step.decide(items[["item_id"]].assign(kept=paired, reason=reason))
    step.write("pairs", pairs)
    step.write("design", announced)
    step.write("cases", cases_of(pairs, items, responses))
    if not (work.path / "annotations.parquet").is_file():
        content = BytesIO()
        empty_annotations().to_parquet(content, index=False)
        write_atomic(work.path / "annotations.parquet", content.getvalue())
    if not (work.path / "benchmark.toml").is_file():
        licence = "; ".join(sorted(items["licence"].dropna().unique()))
        write_meta(BenchmarkMeta(work.meta.name, work.meta.kind, licence=licence), work.path / "benchmark.toml")


def _with_a_pair(items: Sequence[str], allowed: BoolArray) -> Collection[str]:
    return {items[i] for i in np.flatnonzero(allowed.any(axis=1)).tolist()}


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
    questions = [asked_question(*row) for row in zip(about["question"], about["choices"], strict=True)]
    out["question"] = pd.Series(questions, dtype="str")
    for side in "ab":
        out[f"response_{side}"] = pd.Series(_texts(pairs, side, responses), dtype="str")
    for name in ("images", "reference", *ABOUT):
        out[name] = about[name].to_numpy()
    out["cluster"] = out["cluster"].where(out["cluster"].notna(), out["item"])
    known = [name for name in out.columns if out[name].notna().any()]
    return out[known]
