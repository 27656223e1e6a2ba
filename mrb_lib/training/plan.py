"""What a judge is trained on: the cases of a split and their labels, checked before anything is read or written."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

import numpy as np
import pandas as pd

from mrb_lib.data.benchmark import Benchmark
from mrb_lib.data.case_digests import case_digests
from mrb_lib.data.votes import gold
from mrb_lib.errors import InputError
from mrb_lib.judges.roster.roster import entry_of
from mrb_lib.judges.roster.source import locate_weights, trained_as
from mrb_lib.judges.settings import Settings
from mrb_lib.training.examples import Examples, examples
from mrb_lib.training.recipe import Recipe
from mrb_lib.training.record import Stages

TRAIN, VALIDATION, TEST = "train", "validation", "test"
MOST_VALIDATED: Final = 200
"""Validation cases that each evaluation judges, drawn at random where there are more."""


class Plan:
    """What is trained on what: checked, and the same whenever it is made from the same."""

    def __init__(
        self, benchmark: Benchmark, model: str, recipe: Recipe, settings: Settings, extra: Sequence[Path]
    ) -> None:
        meta = benchmark.meta
        self.benchmark, self.recipe = benchmark, recipe
        self.settings = replace(
            settings, dimensions=meta.dimensions, choices=meta.choices, prompt=recipe.prompt, seed=recipe.seed
        )
        self.entry = entry_of(model.partition("+")[0], extra)
        self.source = locate_weights(self.entry, revision=settings.revision, download=settings.download)
        self.digests = case_digests(benchmark)
        self.started_from = trained_as(self.source.folder) or None
        parts = parts_of(benchmark, recipe)
        self.test = parts[TEST]
        learnt = examples(benchmark, _drawn(parts[TRAIN], recipe), recipe.examples)
        self.examples: Examples = learnt
        judged = gold(benchmark)
        self.main = "overall" if "overall" in learnt.rows["dimension"].unique() else learnt.rows["dimension"].iloc[0]
        judged = judged[(judged["dimension"] == self.main) & judged["choice"].notna()]
        with_label = [case for case in parts[VALIDATION] if case in set(judged["case_id"])]
        self.validated = _some(with_label, MOST_VALIDATED, recipe.seed)
        self.gold = judged.set_index("case_id")["choice"]
        self._check_earlier(parts)

    def _check_earlier(self, parts: dict[str, list[str]]) -> None:
        """A judge that has learnt from cases that are now for validation or test must not be trained further here."""
        seen = Stages(self.started_from).seen
        for name in (VALIDATION, TEST):
            leaked = [case for case in parts[name] if self.digests[case] in seen]
            if leaked:
                raise InputError(
                    f"{self.source.folder.name}: was trained on {len(leaked)} {name} cases of this benchmark "
                    f"({leaked[0]}); train it from the split that it was trained with, or start from its base."
                )

    @property
    def digest(self) -> str:
        """Of everything that shapes the weights."""
        settings = self.settings
        stated = [
            self.recipe.stated(), self.source.revision, settings.max_pixels, settings.dtype, self.main,
            sorted(self.digests[self.examples.case_ids]), sorted(self.digests[self.validated]),
        ]  # fmt: skip
        return hashlib.sha256(json.dumps(stated, sort_keys=True, default=str).encode()).hexdigest()


def parts_of(benchmark: Benchmark, recipe: Recipe) -> dict[str, list[str]]:
    """The ids of the cases of each part of the split, without the fold that is left out."""
    cases = benchmark.cases
    if "split" not in cases or cases["split"].isna().all():
        raise InputError(
            f"benchmark {benchmark.meta.name}: has no split, so nothing says what to train on; run `mrb split`."
        )
    kept = pd.Series(True, index=cases.index)
    if recipe.left_out is not None:
        column, value = recipe.left_out
        folds = "fold" if "fold" in cases else column
        if folds not in cases or value not in set(cases[folds].dropna()):
            raise InputError(
                f"--leave-out {column}={value}: no case has that {column}; `mrb analyze` lists what there is."
            )
        kept = cases[folds] != value
    parts = {name: cases.loc[kept & (cases["split"] == name), "case_id"].tolist() for name in (TRAIN, VALIDATION, TEST)}
    if not parts[TRAIN]:
        raise InputError(f"benchmark {benchmark.meta.name}: no case is for training; run `mrb split`.")
    return parts


def _drawn(case_ids: list[str], recipe: Recipe) -> list[str]:
    if recipe.n_cases is not None and recipe.n_cases > len(case_ids):
        raise InputError(f"--n-cases {recipe.n_cases}: there are {len(case_ids)} training cases; name fewer.")
    return _some(case_ids, recipe.n_cases or len(case_ids), recipe.seed)


def _some(case_ids: list[str], n: int, seed: int) -> list[str]:
    """So many of the cases, drawn at random, in their order; a smaller draw is a part of a larger one."""
    chosen = set(np.random.default_rng(seed).permutation(len(case_ids))[:n].tolist())
    return [case for i, case in enumerate(case_ids) if i in chosen]
