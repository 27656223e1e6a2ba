"""The plan of a training: the cases of a split and their labels, checked before anything is read or written."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final, cast

import numpy as np
import pandas as pd

from mrb_lib.benchmarks.audit.splits import check_split
from mrb_lib.benchmarks.benchmark import Benchmark
from mrb_lib.benchmarks.case_digests import case_digests
from mrb_lib.benchmarks.splits import FOLD, SPLIT
from mrb_lib.benchmarks.votes import gold
from mrb_lib.build.training.examples import Examples, examples
from mrb_lib.build.training.recipe import Recipe
from mrb_lib.judges.prompts import load_prompt
from mrb_lib.judges.roster.roster import entry_of
from mrb_lib.judges.roster.source import locate_weights, trained_as
from mrb_lib.judges.settings import Settings
from mrb_lib.tables.errors import InputError
from mrb_lib.tables.files import slug
from mrb_lib.tables.schema import TEST, TRAIN, VALIDATION
from mrb_lib.verdicts.training import records_of

MOST_VALIDATED: Final = 200
"""Validation cases that each evaluation judges, drawn at random where there are more."""


class Plan:
    """A model with the examples that it is trained on: checked, and the same whenever it is made from the same."""

    def __init__(
        self, benchmark: Benchmark, model: str, recipe: Recipe, settings: Settings, extra: Sequence[Path] = ()
    ) -> None:
        recipe.check()
        if settings.quantize is not None:
            if not recipe.lora:
                raise InputError(f"--quantize {settings.quantize}: rounded weights cannot be trained; add --lora.")
            recipe = replace(recipe, keep_adapter=True)  # merged into rounded weights, adapters would lose digits
        meta = benchmark.meta
        self.benchmark, self.recipe = benchmark, recipe
        # Small steps are lost in the rounding of bfloat16; adapters are kept in single precision by peft.
        dtype = "float32" if settings.dtype == "auto" and not recipe.lora else settings.dtype
        self.settings = replace(
            settings,
            dtype=dtype,
            dimensions=meta.dimensions,
            choices=meta.choices,
            prompt=recipe.prompt,
            seed=recipe.seed,
        )
        self.entry = entry_of(model.partition("+")[0], extra)
        self.source = locate_weights(self.entry, revision=settings.revision, download=settings.download)
        self.digests = case_digests(benchmark)
        self.started_from = trained_as(self.source.folder) or None
        parts = parts_of(benchmark, recipe)
        self.training_part = parts[TRAIN]
        learnt = examples(benchmark, _learnt_from(parts[TRAIN], recipe), recipe.examples)
        self.examples: Examples = learnt
        judged = gold(benchmark)
        self.main = "overall" if "overall" in learnt.rows["dimension"].unique() else learnt.rows["dimension"].iloc[0]
        judged = judged[(judged["dimension"] == self.main) & judged["choice"].notna()]
        with_label = [case for case in parts[VALIDATION] if case in set(judged["case_id"])]
        self.validated = drawn(with_label, MOST_VALIDATED, recipe.seed)
        self.gold = judged.set_index("case_id")["choice"]
        self._check_earlier(parts)

    def _check_earlier(self, parts: dict[str, list[str]]) -> None:
        """A judge that has learnt from cases that are now for validation or test must not be trained further here."""
        records = records_of({"training": self.started_from})
        seen = {digest for record in records for digest in cast("list[str]", record.get("digests") or [])}
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
        prompt = load_prompt(self.recipe.prompt).hash if self.recipe.prompt is not None else None
        recipe = {name: value for name, value in self.recipe.stated().items() if name != "gradient_checkpointing"}
        stated = [
            {**recipe, "prompt": prompt}, self.source.revision, settings.max_pixels, settings.dtype,
            settings.without_images,
            self.main, sorted(self.digests[self.examples.case_ids]), sorted(self.digests[self.validated]),
            settings.quantize,
        ]  # fmt: skip
        return hashlib.sha256(json.dumps(stated, sort_keys=True, default=str).encode()).hexdigest()


def parts_of(benchmark: Benchmark, recipe: Recipe) -> dict[str, list[str]]:
    """The ids of the cases of each part of the split, without the fold that is left out.

    Raises
    ------
    InputError
        There is no split that can be trusted, it has no such fold, or no case is left to train on.
    """
    check_split(benchmark)
    cases = benchmark.cases
    kept = pd.Series(True, index=cases.index)
    if recipe.left_out is not None:
        column, value = recipe.left_out
        _check_folds(benchmark, "--leave-out", column)
        if value not in set(cases[FOLD].dropna()):
            there = ", ".join(sorted(cases[FOLD].dropna().unique()))
            raise InputError(f"--leave-out {column}={value}: there is no such fold; name one of {there}.")
        kept = cases[FOLD] != value
    parts = {name: cases.loc[kept & (cases[SPLIT] == name), "case_id"].tolist() for name in (TRAIN, VALIDATION, TEST)}
    if not parts[TRAIN]:
        raise InputError(f"benchmark {benchmark.meta.name}: no case is for training; run `mrb split` again.")
    return parts


def _check_folds(benchmark: Benchmark, option: str, column: str) -> None:
    """Raise `InputError` unless the folds of the split are the values of a column."""
    rule = benchmark.meta.extra.get(SPLIT)
    if FOLD not in benchmark.cases or not isinstance(rule, Mapping) or rule.get("folds") != column:
        raise InputError(
            f"{option} {column}: the split has no folds by {column}, so cases that belong together could be on both "
            f"sides; run `mrb split {benchmark.path or 'BENCH'} --folds {column} --overwrite`."
        )


def fold_names(benchmark: Benchmark, column: str) -> dict[str, str]:
    """The folds of a split, by the names of the folders of the judges that do not learn from them.

    Raises
    ------
    InputError
        The split has no folds by that column.
    """
    _check_folds(benchmark, "--leave-one-out", column)
    folds = sorted(benchmark.cases[FOLD].dropna().unique())
    names = {f"without-{slug(fold)}": fold for fold in folds}
    return names if len(names) == len(folds) else {f"without-{i}-{slug(fold)}": fold for i, fold in enumerate(folds)}


def _learnt_from(case_ids: list[str], recipe: Recipe) -> list[str]:
    if recipe.n_cases is not None and recipe.n_cases > len(case_ids):
        raise InputError(f"--n-cases {recipe.n_cases}: there are {len(case_ids)} training cases; name fewer.")
    return drawn(case_ids, recipe.n_cases or len(case_ids), recipe.seed)


def drawn(case_ids: list[str], n: int, seed: int) -> list[str]:
    """So many of the cases, drawn at random, in their order; a smaller draw is a part of a larger one."""
    chosen = set(np.random.default_rng(seed).permutation(len(case_ids))[:n].tolist())
    return [case for i, case in enumerate(case_ids) if i in chosen]
