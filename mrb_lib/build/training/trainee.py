"""A judge whose weights are being trained, and validated by the very code that will judge with them."""

from __future__ import annotations

import shutil
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar, cast

import numpy as np
import pandas as pd
import torch
from torch.utils.data import Dataset
from transformers import PreTrainedModel, TrainingArguments

from mrb_lib.build.training.loop import CaseTrainer, CurvePoint, MakeTrainer, Report, fit
from mrb_lib.build.training.plan import Plan
from mrb_lib.judges.local.base import LocalJudge
from mrb_lib.judges.roster.engines import JudgeRequest
from mrb_lib.tables.errors import InputError
from mrb_lib.tables.schema import NO_PROBE, ORDERS
from mrb_lib.verdicts.orders import TIE, to_case_frame, to_shown_frame

T = TypeVar("T")


class Trainee(ABC):
    """A judge whose weights are being trained."""

    def __init__(self, plan: Plan, judge: LocalJudge) -> None:
        self._plan, self._recipe = plan, plan.recipe
        self.judge = judge
        self.left_out = dict(plan.examples.left_out)
        self.case_ids = plan.examples.case_ids
        self.validated = plan.validated

    @classmethod
    def arguments(cls, method: str) -> type[TrainingArguments]:
        """Return the class of the trainer's arguments."""
        return TrainingArguments

    def _adapt(self) -> None:
        """Put adapters into the model, or open all its weights for training."""
        model = self.judge.weights.model
        model.train()
        self._whole: Any = model
        if self._recipe.lora:
            self._whole = self._with_adapters(model)

    def _with_adapters(self, model: PreTrainedModel) -> Any:
        """Return the model with low-rank adapters in place, which alone are trained."""
        import peft

        values: dict[str, object] = {
            "r": 16, "lora_alpha": 32, "target_modules": "all-linear", "task_type": "CAUSAL_LM",
            "modules_to_save": self._new_modules() or None, **self._recipe.adapter,
        }  # fmt: skip
        torch.manual_seed(self._recipe.seed)  # of the new weights
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", FutureWarning)  # peft 0.21 asks transformers by names that are going
                if self._plan.settings.quantize is not None:
                    prepare: Callable[..., Any] = peft.prepare_model_for_kbit_training
                    model = prepare(model, self._recipe.gradient_checkpointing)
                return peft.get_peft_model(model, peft.LoraConfig(**cast("Any", values)))
        except (TypeError, ValueError) as error:
            raise InputError(f"the adapter's arguments are refused ({' '.join(str(error).split())[:200]}).") from error

    def _new_modules(self) -> list[str]:
        """The names of modules with new weights, which are trained whole beside adapters."""
        return []

    def _shown(self, orders: Sequence[str]) -> pd.DataFrame:
        """The rows of all prompts about the training cases, with what is to be learnt."""
        plan = self._plan
        rows = prompts_of(plan.benchmark.cases, plan.examples.case_ids, self._dimensions, orders)
        keys = ["case_id", "order", "dimension"]
        labels = plan.examples.rows
        sums = labels.assign(wanted=labels["p_first"] * labels["weight"]).groupby(keys)[["wanted", "weight"]].sum()
        sums = rows[keys].join(sums, on=keys)
        weight = sums["weight"].fillna(0.0)
        shown = to_shown_frame(rows, planned=False)
        shows = rows["case_id"].map(labels.groupby("case_id")["shows_reference"].first())
        p_first = (sums["wanted"] / sums["weight"]).fillna(0.0)
        return shown.assign(weight=weight, p_first=p_first, shows_reference=shows)

    @property
    def _dimensions(self) -> list[str]:
        learnt = set(self._plan.examples.rows["dimension"])
        return [name for name in self._plan.benchmark.meta.dimensions if name in learnt]

    def validate(self) -> tuple[float | None, float | None]:
        """Accuracy and consistency on the validation cases, by the judge as it is; None without any."""
        plan = self._plan
        if not self.validated:
            return None, None
        return accuracy_and_consistency(self.judge, plan.benchmark.cases, self.validated, plan.main, plan.gold)

    @property
    def notices(self) -> list[str]:
        """The notices about the judge, but for what its verdicts were before it was trained."""
        self.judge.forget_mass()
        return self.judge.notices

    def _note_failures(self, failures: Mapping[str, str]) -> None:
        for reason in failures.values():
            self.left_out[reason] = self.left_out.get(reason, 0) + 1
        self.case_ids = [case for case in self.case_ids if case not in failures]
        if not self.case_ids:
            raise InputError(f"no case can be trained on: {next(iter(failures.values()))}.")

    @abstractmethod
    def _trainer(self) -> tuple[MakeTrainer, int]:
        """Return what builds the trainer, and the number of its examples."""

    def fit(self, work: Path, micro_batch: int, report: Report) -> list[CurvePoint]:
        """See `mrb_lib.build.training.loop.fit`."""
        make, n_examples = self._trainer()
        return fit(
            make, self.judge.weights.model, self._recipe, work, n_examples=n_examples, validate=self.validate,
            report=report, micro_batch=micro_batch, arguments=self.arguments(self._recipe.method),
        )  # fmt: skip

    def _case_trainer(self, cases: TrainingCases[Any], loss: Callable[..., torch.Tensor]) -> tuple[MakeTrainer, int]:
        self._note_failures(cases.failures)

        def make(arguments: Any, callbacks: Any) -> CaseTrainer:
            return CaseTrainer(
                model=self._whole, case_loss=loss, train_dataset=cases, args=arguments, callbacks=list(callbacks)
            )

        return make, len(cases)

    def save(self, folder: Path) -> None:
        """Write the judge: merged weights or the adapters, and what reads text and images."""
        weights = self.judge.weights
        if self._recipe.lora and not self._recipe.keep_adapter:
            self._whole = self._whole.merge_and_unload()
        self._whole.save_pretrained(folder)
        (weights.processor or weights.tokenizer).save_pretrained(folder)
        prompt = Path(self._recipe.prompt or "")
        if prompt.is_file():
            shutil.copyfile(prompt, folder / f"{self.judge.prompt_id}.jinja")


class TrainingCases(Dataset[T]):
    """Cases that are made ready for training each time they are asked for, so that images need no memory.

    Parameters
    ----------
    build : makes the cases of some rows ready, and says why others cannot be shown, by case id
    shown : the rows of all cases
    """

    def __init__(self, build: Callable[[pd.DataFrame], tuple[list[T], Mapping[str, str]]], shown: pd.DataFrame) -> None:
        self._build, self._rows = build, list[pd.DataFrame]()
        self.failures: dict[str, str] = {}
        for _, rows in shown.groupby("case_id", sort=False):
            built, failures = build(rows.reset_index(drop=True))
            self.failures.update(failures)
            if built:
                self._rows.append(rows.reset_index(drop=True))

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, index: int) -> T:
        return self._build(self._rows[index])[0][0]


def judge_request(plan: Plan, engine: str, prompt: str | None = None) -> JudgeRequest:
    """Return what a judge of an engine is made from; `prompt` takes the place of the recipe's."""
    settings = plan.settings if prompt is None else replace(plan.settings, prompt=prompt)
    return JudgeRequest(replace(plan.entry, engine=engine), settings, plan.benchmark.images, source=plan.source)


def prompts_of(
    cases: pd.DataFrame, case_ids: Sequence[str], dimensions: Sequence[str], orders: Sequence[str]
) -> pd.DataFrame:
    """A row for every case, order and dimension, as `mrb_lib.verdicts.orders.to_shown_frame` takes them."""
    chosen = cases[cases["case_id"].isin(list(case_ids))]
    grid = chosen.merge(pd.DataFrame({"order": list(orders)}), how="cross")
    grid = grid.merge(pd.DataFrame({"dimension": list(dimensions)}), how="cross")
    return grid.assign(repeat=0, probe=NO_PROBE)


def accuracy_and_consistency(
    judge: LocalJudge, cases: pd.DataFrame, case_ids: Sequence[str], dimension: str, labels: pd.Series
) -> tuple[float, float]:
    """Return how a judge does on cases with labels, in both orders; see `CurvePoint`.

    Parameters
    ----------
    labels : the gold choice by case id
    """
    rows = prompts_of(cases, case_ids, [dimension], ORDERS)
    size = len(ORDERS) * judge.cases_per_batch
    verdicts = [
        to_case_frame(
            judge.judge(to_shown_frame(rows.iloc[start : start + size].reset_index(drop=True), planned=False))
        )
        for start in range(0, len(rows), size)
    ]
    judged = pd.concat(verdicts, ignore_index=True)
    right, choice = judged["case_id"].map(labels), judged["choice"]
    half = ((choice == TIE) != (right == TIE)) & choice.notna()
    score = np.where(choice == right, 1.0, np.where(half, 0.5, 0.0))
    same = judged.groupby("case_id")["choice"].agg(lambda both: bool(both.notna().all()) and both.nunique() == 1)
    return float(score.mean()), float(same.mean())
