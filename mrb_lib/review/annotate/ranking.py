"""What the page asks where all responses of an item are ranked at once, kept as answers on its pairs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import pandas as pd

from mrb_lib.benchmarks.benchmark import Benchmark
from mrb_lib.benchmarks.meta import BenchmarkMeta
from mrb_lib.review.annotate.answers import Annotation, AssignedCase
from mrb_lib.review.annotate.forms import FREE_LETTERS, Box, Form
from mrb_lib.review.records.progress import DONE, OPEN, SKIPPED
from mrb_lib.review.records.rankings import RankedItem, ranked_items
from mrb_lib.review.records.store import Store
from mrb_lib.review.text import visible
from mrb_lib.tables.errors import InputError
from mrb_lib.verdicts.orders import TIE


class Ranking(Form):
    """The place of each response of an item."""

    asks = "ranking"

    def heading(self, meta: BenchmarkMeta) -> str:
        """See `Form.heading`."""
        return "Rank the answers: 1 is best"


RANKING: Final = Ranking()


class RankedAnnotation(Annotation):
    """`Annotation` of whole items: in sight is an item, which its first case stands for, with all its responses."""

    def __init__(self, benchmark: Benchmark, store: Store) -> None:
        self._items: dict[str, RankedItem] = {}
        for item in ranked_items(benchmark):
            self._items |= dict.fromkeys(item.case_ids, item)
        super().__init__(benchmark, store, RANKING)
        self._ties = TIE in benchmark.meta.categories

    def initial_state(self, question: Mapping[str, Any]) -> dict[str, Any]:
        """See `Annotation.initial_state`; also whether `ranking` has `ties`."""
        return super().initial_state(question) | {"ranking": {"ties": self._ties}}

    def open(self, question: Mapping[str, Any]) -> dict[str, Any]:
        """See `Annotation.open`; also `rows`, a response of a dimension each, and the places as `picks`."""
        opened = super().open(question)
        if "number" not in opened:
            return opened
        item = self._item(self._assigned_case(str(question["annotator"]), opened["number"]))
        letters, several = FREE_LETTERS[: len(item.responses)], len(self._benchmark.meta.dimensions) > 1
        rows = [
            {"name": name, "key": letter, "hint": "" if at else visible(self._hints.get(name, "")),
             "shown": f"{visible(name)}: answer {letter}" if several else f"Answer {letter}"}
            for name in self._benchmark.meta.dimensions
            for at, letter in enumerate(letters)
        ]  # fmt: skip
        picks = [{"pick": str(n), "key": str(n), "name": str(n)} for n in range(1, len(letters) + 1)]
        return opened | {"rows": rows, "picks": picks}

    def _choices(self, assigned: AssignedCase, dimension: str, question: Mapping[str, Any]) -> dict[str, str]:
        """Return what the `places` of all responses, in the order in which they are shown, mean on each pair."""
        item, places = self._item(assigned), question.get("places")
        n = len(item.responses)
        if not isinstance(places, list) or len(places) != n or not all(place in range(1, n + 1) for place in places):
            raise InputError(f"a ranking needs a place from 1 to {n} for each of {n} answers; give one to each.")
        if not self._ties and len(set(places)) < n:
            raise InputError("two answers have one place, and this benchmark has no ties; give each its own.")
        by_response = dict(zip(self._shown(assigned), places, strict=True))
        return item.choices([by_response[place] for place in range(n)])

    def _item(self, assigned: AssignedCase) -> RankedItem:
        return self._items[assigned.case_id]

    def _cases(self, assigned: AssignedCase) -> Sequence[str]:
        return self._item(assigned).case_ids

    def _orders(self, assigned: AssignedCase) -> dict[str, str]:
        item, seen = self._item(assigned), self._shown(assigned)
        first = [seen.index(a) < seen.index(b) for a, b in item.pairs]
        return dict(zip(item.case_ids, ("AB" if a_first else "BA" for a_first in first), strict=True))

    def _shown(self, assigned: AssignedCase) -> list[int]:
        return self._item(assigned).shown(self._benchmark.meta.name, assigned.annotator)

    def _assigned(self, annotator: str | None) -> pd.DataFrame:
        frame = super()._assigned(annotator)
        frame["case_id"] = [self._items[case].case_ids[0] for case in frame["case_id"]]
        return frame.drop_duplicates(["annotator", "case_id"], ignore_index=True)

    def _states(self, mine: pd.DataFrame) -> list[str]:
        """Return how far each item is: done where all its pairs are."""
        items = [self._items[case].case_ids for case in mine["case_id"]]
        pairs = mine.assign(case_id=pd.Series(items, index=mine.index)).explode("case_id", ignore_index=True)
        of = dict(zip(pairs["case_id"], super()._states(pairs.astype({"case_id": "str"})), strict=True))
        each = [{of[case] for case in cases} for cases in items]
        return [OPEN if OPEN in found else SKIPPED if SKIPPED in found else DONE for found in each]

    def _boxes(self, assigned: AssignedCase, case: pd.Series) -> list[Box]:
        responses = [self._item(assigned).responses[place] for place in self._shown(assigned)]
        return [Box(f"Answer {key}", key, text, key) for key, text in zip(FREE_LETTERS, responses, strict=False)]

    def _answers(self, assigned: AssignedCase) -> list[dict[str, str]]:
        """Of each response of each dimension, as they are shown, its place, or why the ranking was skipped."""
        out: list[dict[str, str]] = []
        item, stored = self._item(assigned), self._stored(assigned)
        for name in self._benchmark.meta.dimensions:
            own = {case: given for (case, dimension), given in stored.items() if dimension == name}
            places = item.places({case: choice for case, (choice, _) in own.items() if choice}, ties=self._ties)
            why = next((visible(reason) for _, reason in own.values() if reason), "")
            if places is not None:
                out += [{"pick": str(places[response])} for response in self._shown(assigned)]
            else:
                out += [{"skipped": why} if why else {} for _ in item.responses]
        return out
