"""Worked examples for prompts: training cases with what annotators decided, none of them too like the case judged."""

import hashlib
import json
from typing import Any, Final, NamedTuple, cast

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from mrb_lib.benchmarks.benchmark import Benchmark
from mrb_lib.benchmarks.splits import ITEM, split_units
from mrb_lib.benchmarks.votes import gold
from mrb_lib.tables.errors import InputError
from mrb_lib.tables.schema import TRAIN
from mrb_lib.verdicts.orders import exchanged

SPLIT: Final = "split"
_TEXTS: Final = ("question", "response_a", "response_b")


class DrawnExamples(NamedTuple):
    """The examples of each case that is judged.

    Attributes
    ----------
    column : by the row of the case in the cases table, from 0, what `mrb_lib.judges.context.context_of` reads; null
        where too few training cases are of other units than the case
    sha256 : of all training cases that may be drawn, with what was decided of them, and of what was drawn
    """

    column: pd.Series
    sha256: str


def draw_examples(benchmark: Benchmark, k: int, seed: int) -> DrawnExamples:
    """Draw worked examples for each case outside the training split, from those in it.

    A training case may be drawn if annotators' majority decides it on every dimension, and not for nothing but ties. It
    is not drawn for a case of its own unit: the same item, cluster or image, nearly the same texts or image, or linked
    by a chain of these (see `mrb_lib.benchmarks.splits.split_units`), so that no example tells what is asked.

    Parameters
    ----------
    k : examples a case
    seed : of what is drawn, with the id of the case: the same for a case whatever others there are

    Returns
    -------
    DrawnExamples
        The two responses of an example are in an order drawn by a coin, since a judge follows the more frequent letter
        (Zhao et al. 2021, arXiv:2102.09690); the other order of the case shows them exchanged.

    Raises
    ------
    InputError
        There are fewer than `k` such training cases, or none is left to judge.

    Notes
    -----
    Validated by tests/judges/test_examples.py.
    """
    cases = benchmark.cases
    is_train = (cases[SPLIT] == TRAIN).to_numpy(dtype=bool) if SPLIT in cases else np.zeros(len(cases), dtype=bool)
    if not is_train.any():
        raise InputError(
            f"examples {k}: no case is in the split train, from which they are drawn; run `mrb split BENCH` first."
        )
    rows = np.flatnonzero(~is_train)
    if not len(rows):
        raise InputError(f"examples {k}: every case is in the split train, so that none is left to judge; split anew.")
    pool, records = _decided(benchmark, np.flatnonzero(is_train))
    if len(pool) < k:
        raise InputError(
            f"examples {k}: only {len(pool)} of {is_train.sum()} training cases are decided by annotators on every "
            "dimension, and not all as ties; annotate more, or show fewer."
        )
    units = split_units(benchmark, ITEM).codes
    ids = [str(name) for name in cases["case_id"]]
    digest = hashlib.sha256(json.dumps([[ids[row] for row in pool], records]).encode())
    column: list[str | None] = []
    for row in rows.tolist():
        order = _generator(seed, "draw", ids[row]).permutation(len(pool))
        eligible = order[units[pool[order]] != units[row]][:k]
        turns = _generator(seed, "turn", ids[row]).random(k) < 0.5
        chosen = [
            exchanged(records[place]) if turn and "response_b" in records[place] else records[place]
            for place, turn in zip(eligible, turns, strict=False)
        ]
        column.append(json.dumps(chosen) if len(eligible) == k else None)
        digest.update(json.dumps([ids[row], column[-1]]).encode())
    return DrawnExamples(pd.Series(column, index=rows, dtype="str"), digest.hexdigest())


def _decided(benchmark: Benchmark, rows: NDArray[np.int64]) -> tuple[NDArray[np.int64], list[dict[str, Any]]]:
    """Return the rows of the cases that may be examples, and the examples."""
    meta, cases = benchmark.meta, benchmark.cases
    labels = gold(benchmark).pivot(index="case_id", columns="dimension", values="choice")
    labels = labels.reindex(index=cases["case_id"].iloc[rows], columns=list(meta.dimensions))
    decided = labels.notna().all(axis=1)
    if not meta.is_rating:
        decided &= labels.isin(["A", "B"]).any(axis=1)
    names = _TEXTS[: 2 if meta.is_rating else 3]
    pool = rows[decided.to_numpy(dtype=bool)]
    texts = cases.iloc[pool][list(names)].fillna("").astype("str")
    choices = pd.Series(labels[decided].to_dict("records"), index=texts.index)
    return pool, cast("list[dict[str, Any]]", texts.assign(choices=choices).to_dict("records"))


def _generator(seed: int, what: str, case_id: str) -> np.random.Generator:
    key = hashlib.sha256("\0".join(("examples", str(seed), what, case_id)).encode("utf-8", "surrogatepass")).digest()
    return np.random.Generator(np.random.Philox(int.from_bytes(key[:8], "big")))
