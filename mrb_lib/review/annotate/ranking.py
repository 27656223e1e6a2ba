"""What the page asks where all responses of an item are ranked at once, kept as answers on its pairs."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from hashlib import sha256
from typing import Any, Final

import pandas as pd

from mrb_lib.benchmarks.benchmark import Benchmark
from mrb_lib.benchmarks.meta import BenchmarkMeta
from mrb_lib.review.annotate.answers import Annotation, AssignedCase
from mrb_lib.review.annotate.blinded import ranked_html
from mrb_lib.review.annotate.forms import FREE_LETTERS, Preference
from mrb_lib.review.case.images import SIDE
from mrb_lib.review.records.marks import AnnotatorAnswer, case_fingerprint
from mrb_lib.review.records.progress import DONE, OPEN, SKIPPED, case_states
from mrb_lib.review.records.rankings import RankedItem, ranked_items
from mrb_lib.review.records.store import Store
from mrb_lib.review.text import visible
from mrb_lib.tables.errors import InputError
from mrb_lib.verdicts.orders import TIE


class Ranking(Preference):
    """The words of a page on which responses are ranked."""

    def words(self, meta: BenchmarkMeta) -> dict[str, object]:
        """See `Form.words`."""
        ties = TIE in meta.categories
        return {
            **super().words(meta),
            "heading": "Rank the answers: 1 is best",
            "lead": "For each item you will see a question with its images and all answers to it, and give each a "
            f"place, 1 for the best{'; equal ones share a place' if ties else ''}. Who wrote them is not shown. A "
            "ranking is saved once every answer has a place; stop whenever you like.",
            "ranking": {"ties": ties},
        }


RANKING: Final = Ranking()


class RankedAnnotation(Annotation):
    """`Annotation` of whole items: in sight is an item, which its first case stands for, with all its responses."""

    def __init__(self, benchmark: Benchmark, store: Store, *, side: int = SIDE) -> None:
        self._items: dict[str, RankedItem] = {}
        for item in ranked_items(benchmark):
            self._items |= dict.fromkeys(item.case_ids, item)
        super().__init__(benchmark, store, RANKING, side=side)
        self._ties = TIE in benchmark.meta.categories

    def open(self, question: Mapping[str, Any]) -> dict[str, Any]:
        """See `Annotation.open`; also `rows`, a response of a dimension each, and the places as `picks`."""
        opened = super().open(question)
        if "number" not in opened:
            return opened
        item = self._items[self._assigned_case(str(question["annotator"]), opened["number"]).case_id]
        letters, several = FREE_LETTERS[: len(item.responses)], len(self._benchmark.meta.dimensions) > 1
        rows = [
            {"name": name, "key": letter, "hint": "" if at else visible(self._hints.get(name, "")),
             "shown": f"{visible(name)}: answer {letter}" if several else f"Answer {letter}"}
            for name in self._benchmark.meta.dimensions
            for at, letter in enumerate(letters)
        ]  # fmt: skip
        picks = [{"pick": str(n), "key": str(n), "name": str(n)} for n in range(1, len(letters) + 1)]
        return opened | {"rows": rows, "picks": picks}

    def choose(self, question: Mapping[str, Any]) -> dict[str, Any]:
        """Keep the `places` of all responses, in the order in which they are shown, on a dimension."""
        assigned, dimension, places = self._in_sight(question), question.get("dimension"), question.get("places")
        item = self._items[assigned.case_id]
        if dimension not in self._benchmark.meta.dimensions:
            raise InputError(f"dimension {dimension!r}: is not a dimension of this benchmark; load the page again.")
        n = len(item.responses)
        if not isinstance(places, list) or len(places) != n or not all(place in range(1, n + 1) for place in places):
            raise InputError(f"a ranking needs a place from 1 to {n} for each of {n} answers; give one to each.")
        if not self._ties and len(set(places)) < n:
            raise InputError("two answers have one place, and this benchmark has no ties; give each its own.")
        by_response = dict(zip(self._shown(assigned), places, strict=True))
        choices = item.choices([by_response[place] for place in range(n)])
        before = self._stored(assigned)
        name = str(dimension)
        new = [(case, name, pick, "") for case, pick in choices.items() if before.get((case, name)) != (pick, "")]
        self._keep(assigned, new, question.get("seconds"))
        return {"answers": self._answers(assigned)}

    def skip(self, question: Mapping[str, Any]) -> dict[str, Any]:
        """Keep why the dimensions without a whole ranking stay without one."""
        assigned, reason = self._in_sight(question), str(question.get("reason") or "").strip()[:2000]
        if not reason:
            raise InputError("Say why you skip the item: choose a reason, or write one.")
        item, before = self._items[assigned.case_id], self._stored(assigned)
        left = [name for name in self._benchmark.meta.dimensions if self._places(item, before, name) is None]
        if not left:
            raise InputError("Every answer of this item has a place; there is nothing to skip.")
        cells = [(case, name) for name in left for case in item.case_ids if before.get((case, name)) != (None, reason)]
        self._keep(assigned, [(case, name, None, reason) for case, name in cells], question.get("seconds"))
        return {"answers": self._answers(assigned)}

    def _keep(
        self, assigned: AssignedCase, cells: Sequence[tuple[str, str, str | None, str]], seconds: float | None
    ) -> None:
        """Store choices or reasons to skip, all or none; the time was spent once, and is the first one's."""
        item = self._items[assigned.case_id]
        seen = {response: at for at, response in enumerate(self._shown(assigned))}
        order = {
            case: "AB" if seen[a] < seen[b] else "BA" for case, (a, b) in zip(item.case_ids, item.pairs, strict=True)
        }
        rest = None if seconds is None else 0.0
        self._store.add(*(
            AnnotatorAnswer(self._benchmark.meta.name, case, assigned.annotator, dimension, choice, order[case], reason,
                            rest if at else seconds)
            for at, (case, dimension, choice, reason) in enumerate(cells)
        ))  # fmt: skip

    def _shown(self, assigned: AssignedCase) -> list[int]:
        return self._items[assigned.case_id].shown(self._benchmark.meta.name, assigned.annotator)

    def _assigned(self, annotator: str | None) -> pd.DataFrame:
        frame = super()._assigned(annotator)
        frame["case_id"] = [self._items[case].case_ids[0] for case in frame["case_id"]]
        return frame.drop_duplicates(["annotator", "case_id"], ignore_index=True)

    def _far(self, annotator: str) -> tuple[pd.DataFrame, dict[str, Any]]:
        """The items of an annotator with how far each is; an item is done where all its pairs are."""
        dimensions, mine = self._benchmark.meta.dimensions, self._assigned(annotator)
        every = mine.assign(item=mine["case_id"], case_id=mine["case_id"].map(lambda case: self._items[case].case_ids))
        every = every.explode("case_id", ignore_index=True).astype({"case_id": "str"})
        answers = self._store.answers(self._benchmark.meta.name, annotator=annotator)
        states = case_states(every, answers, dimensions)
        of = {item: set(found) for item, found in states.groupby("item")["state"]}
        mine["state"] = [
            OPEN if OPEN in of[item] else SKIPPED if SKIPPED in of[item] else DONE for item in mine["case_id"]
        ]
        known = set(answers.loc[answers["choice"].notna(), ["case_id", "dimension"]].itertuples(index=False, name=None))
        whole = [
            sum(all((case, name) in known for case in self._items[item].case_ids) for item in mine["case_id"])
            for name in dimensions
        ]
        counts = {state: int((mine["state"] == state).sum()) for state in (DONE, SKIPPED, OPEN)}
        progress = {"total": len(mine), **counts, "dimensions": whole}
        return mine, {"progress": progress, "cases": [str(state) for state in mine["state"]]}

    def _seal(self, assigned: AssignedCase) -> str:
        rows = [self._benchmark.cases.iloc[self._rows[case]] for case in self._items[assigned.case_id].case_ids]
        versions = [case_fingerprint({str(name): value for name, value in row.items()}) for row in rows]
        return sha256(json.dumps([versions, self._shown(assigned)]).encode("ascii")).hexdigest()

    def _drawn(self, assigned: AssignedCase, number: int, total: int) -> str:
        case, item = self._benchmark.cases.iloc[self._rows[assigned.case_id]], self._items[assigned.case_id]
        texts = [item.responses[place] for place in self._shown(assigned)]
        return ranked_html(
            case, dict(zip(FREE_LETTERS, texts, strict=False)), images=self._benchmark.images, number=number,
            total=total, side=self._side,
        )  # fmt: skip

    def _answers(self, assigned: AssignedCase) -> list[dict[str, str]]:
        """Of each response of each dimension, as they are shown, its place, or why the ranking was skipped."""
        out: list[dict[str, str]] = []
        item, stored = self._items[assigned.case_id], self._stored(assigned)
        for name in self._benchmark.meta.dimensions:
            places = self._places(item, stored, name)
            whys = [why for (_, dimension), (_, why) in stored.items() if dimension == name and why]
            if places is not None:
                out += [{"pick": str(places[response])} for response in self._shown(assigned)]
            else:
                out += [{"skipped": visible(whys[0])} if whys else {} for _ in item.responses]
        return out

    def _places(
        self, item: RankedItem, stored: Mapping[tuple[str, str], tuple[str | None, str]], dimension: str
    ) -> list[int] | None:
        chosen = {case: pick for (case, name), (pick, _) in stored.items() if name == dimension and pick}
        return item.places(chosen, ties=self._ties)

    def _stored(self, assigned: AssignedCase) -> dict[tuple[str, str], tuple[str | None, str]]:
        """By case and dimension, what the annotator chose, or why they skipped it."""
        rows = self._store.answers(self._benchmark.meta.name, annotator=assigned.annotator)
        own = rows["case_id"].isin(self._items[assigned.case_id].case_ids)
        rows = rows.loc[own, ["case_id", "dimension", "choice", "skipped_reason"]]
        return {
            (str(case), str(name)): (None if pd.isna(choice) else str(choice), str(why or ""))
            for case, name, choice, why in rows.itertuples(index=False)
        }
