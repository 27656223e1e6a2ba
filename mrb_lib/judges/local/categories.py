"""Rating one response by the probabilities of the benchmark's categories, all dimensions in one pass.

The categories are named by one character each, and the probability of each as the first token of the reply is read.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import partial

import numpy as np
import pandas as pd

from mrb_lib.judges.local.base import NO_NUMBER
from mrb_lib.judges.local.packed import PackedJudge
from mrb_lib.judges.prompts import Asks, Rendered, category_marks
from mrb_lib.judges.settings import Settings
from mrb_lib.judges.tasks import Record, responses_of
from mrb_lib.replies.labels import Labels
from mrb_lib.tables.errors import InputError
from mrb_lib.tables.schema import category_numbers, joined_labels
from mrb_lib.verdicts.orders import KEYS
from mrb_lib.verdicts.protocol import BatchAnswer

MOST_NUMBERS = 9


class CategoriesJudge(PackedJudge):
    """The most probable category; of two that are equally probable the lower.

    `p_categories` holds the probabilities of the categories in their order, as JSON, which sum to 1; `answer_mass` that
    of all of them together. Where the categories are ordered, `score_a` is the expectation over their numbers: the
    categories themselves where all are numbers, else 1, 2, ...

    In a dimension of several labels each label is a question of its own in the same tree, whether it applies, and those
    with a probability above one half do; `p_categories` holds the probability of each label, and `answer_mass` the
    lowest probability of yes and no together.

    Validated by tests/judges/local/test_categories.py and test_labels.py.
    """

    rates = ("single-rate", ("category",))

    def prepare(self, shown: pd.DataFrame) -> BatchAnswer:
        """See `Judge.prepare`."""
        labels = self._settings.labels
        if not labels:
            return super().prepare(shown)
        own = [list(labels.get(str(name), ("",))) for name in shown["dimension"]]
        asked = shown.assign(label=pd.Series(own, shown.index, dtype=object)).explode("label")
        several = asked["label"] != ""
        # The keys of rows must differ.
        named = asked["dimension"].where(~several, asked["dimension"] + "\n" + asked["label"])
        answer = super().prepare(asked.assign(dimension=named).reset_index(drop=True))
        return partial(self._joined, shown, answer)

    def _joined(self, shown: pd.DataFrame, answer: BatchAnswer) -> pd.DataFrame:
        """The answers to each label's question put together, beside the other verdicts."""
        answers = answer()
        parts = answers["dimension"].str.partition("\n")
        several = parts[1] != ""
        answers["dimension"] = parts[0]
        keys = list(KEYS)
        joined = [
            {**dict(zip(keys, key, strict=True)), **self._of_labels(rows)}
            for key, rows in answers[several].groupby(keys, sort=False)
        ]
        out = pd.concat([answers[~several], pd.DataFrame(joined).reindex(columns=answers.columns)], ignore_index=True)
        return shown[keys].merge(out, on=keys, how="inner", sort=False)

    def _of_labels(self, rows: pd.DataFrame) -> dict[str, object]:
        """One verdict from those on each label, of which the first category was no and the second yes."""
        failed = rows["status"] == "error"
        if failed.any():
            return {"status": "error", "error": rows.loc[failed, "error"].iloc[0]}
        no, yes = np.array([json.loads(stated)[:2] for stated in rows["p_categories"]]).T
        if not (no + yes).all():
            return {"status": "error", "error": NO_NUMBER}
        shares = yes / (no + yes)
        labels = self._settings.labels[rows["dimension"].iloc[0]]
        chosen = [name for name, share in zip(labels, shares, strict=True) if share > 0.5]
        return {
            "category": joined_labels(chosen, labels),
            "status": "ok",
            "p_categories": json.dumps([float(f"{share:.9g}") for share in shares]),
            "answer_mass": float((rows["answer_mass"] * (no + yes)).min()),
            "prompt_tokens": rows["prompt_tokens"].sum(min_count=1),
        }

    def _rendered(self, row: Record) -> Rendered:
        dimension, _, label = str(row["dimension"]).partition("\n")
        return self.writer.write(row, responses_of(row, rated=True), dimension, label=label)

    def _groups(self) -> Sequence[Sequence[str]]:
        marks = category_marks(self._settings.choices, numbered=self.numbered)
        # Where a reply's first number is a space and then its digits, as in Llama 2, it is read after the space.
        self._lead = " " if marks[0].isdigit() and len(self.weights.tokens_of(marks[0])) > 1 else ""
        return [[mark, f" {mark}"] for mark in marks]

    def _read_as(self, labels: Labels) -> tuple[int, ...]:
        return tuple(range(len(self._settings.choices)))

    def _verdict(self, shares: Sequence[float]) -> tuple[str, dict[str, object]]:
        expected = float(np.dot(shares, category_numbers(self._settings.choices)))
        score = {"score_first": expected} if self._settings.is_ordered else {}
        stated = json.dumps([float(f"{share:.9g}") for share in shares])
        return self._settings.choices[self._place(shares)], {"p_categories": stated, **score}

    def _place(self, shares: Sequence[float]) -> int:
        return int(np.argmax(shares))


class NumberedCategoriesJudge(CategoriesJudge):
    """The category nearest to the expectation, where the categories are called 1, 2, ... in their order.

    As an average over the scale it is less often one of the ends than the most probable category.

    Raises
    ------
    InputError
        The categories have no order, or are more than nine.
    """

    engine = "rating"
    numbered = True

    def _prompts_for(self, settings: Settings) -> tuple[str | None, tuple[Asks, ...]]:
        if not settings.is_ordered or len(settings.choices) > MOST_NUMBERS:
            why = f"has {len(settings.choices)}" if settings.is_ordered else "says of its own that they have no order"
            raise InputError(
                f"judge {self.name}: the engine rating averages over up to {MOST_NUMBERS} categories in order, and the "
                f"benchmark {why}; use NAME+packed, or state the level in benchmark.toml."
            )
        return super()._prompts_for(settings)

    def _place(self, shares: Sequence[float]) -> int:
        return int(np.floor(np.dot(shares, np.arange(len(shares))) + 0.5))
