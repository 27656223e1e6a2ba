"""Judging by probabilities: every question of a case read in one pass over one tree of prompts.

The choice is the more probable of the letters A and B as the first token of the
reply, so nothing is generated and nothing is parsed. Both orders and all dimensions
of a case share what they have in common; see `mrb_lib.judges.local.tree`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from math import isfinite
from typing import Final, NamedTuple

import pandas as pd

from mrb_lib.judges.local.base import NO_NUMBER, Positions, Records, T
from mrb_lib.judges.local.reader import CASE, CasePrompts, TreeJudge
from mrb_lib.judges.prompts import Rendered
from mrb_lib.judges.roster.engines import JudgeRequest
from mrb_lib.judges.tasks import Record, image_names, responses_of
from mrb_lib.replies.labels import LETTERS, Labels
from mrb_lib.tables.errors import InputError
from mrb_lib.verdicts.orders import FIRST, SECOND, pick_of
from mrb_lib.verdicts.protocol import BatchAnswer, VerdictRows

VERSIONS_A_TREE: Final = 4
"""Versions of a case, as probes change its texts, that share a pass where they show the same images."""


class CaseQuestions(NamedTuple):
    """The prompts of one case, by branch and leaf, and the positions of the rows that wait for each.

    `words` has the places, in what is read, of what each prompt calls the response shown first, and the second; of a
    rating, those of the categories.
    """

    prompts: CasePrompts
    positions_of: dict[tuple[int, int], list[int]]
    words: dict[tuple[int, int], tuple[int, ...]]


def _trees(shown: pd.DataFrame, most: int) -> pd.Series:
    """Return the tree of each row: one for a case with the same images, of so many versions at most."""
    names = shown["images"] if "images" in shown else pd.Series([()] * len(shown), index=shown.index)
    cases = [(case_id, tuple(map(str, own))) for case_id, own in zip(shown["case_id"], names, strict=True)]
    texts = [
        list(shown[name]) if name in shown else [""] * len(shown)
        for name in ("question", FIRST, SECOND, "probe_labels")
    ]
    versions: dict[tuple[str, tuple[str, ...]], dict[object, int]] = {}
    trees = []
    for case, (question, first, second, labels) in zip(cases, zip(*texts, strict=True), strict=True):
        of_case = versions.setdefault(case, {})
        # The same in both orders, and under probes that change only what is asked.
        trees.append((*case, of_case.setdefault((question, frozenset((first, second)), labels), len(of_case) // most)))
    return pd.Series(trees, index=shown.index, dtype=object)


class PackedJudge(TreeJudge):
    """One pass a case; every row has `p_first`, and `answer_mass`, the probability of A and B together.

    The tokens that were read for a case stand in the first of its rows, so that sums are right.
    A model that cannot share work between prompts is asked each question alone, with a notice.

    Validated by tests/judges/local/test_packed.py against scoring each question alone.
    """

    engine = "packed"
    usual_prompt = "single"
    asks = ("one",)
    _lead = ""

    def __init__(self, request: JudgeRequest) -> None:
        super().__init__(request)
        self._words: dict[Labels, tuple[int | None, int | None]] = {LETTERS: (0, 1)}
        if request.entry.thinking == "always":
            self.notice("reasons before it replies, so its first token is not its verdict: use NAME+generative")

    def _groups(self) -> Sequence[Sequence[str]]:
        return [[letter, f" {letter}"] for letter in LETTERS]

    def prepare(self, shown: pd.DataFrame) -> BatchAnswer:
        """See `Judge.prepare`."""
        rows = VerdictRows(shown, rated=self._settings.is_rating)
        shown = shown.assign(tree=_trees(shown, VERSIONS_A_TREE))
        return partial(self._answer, rows, self.case_requests(rows, shown, self.case_questions, ("tree",)))

    def case_requests(
        self,
        rows: VerdictRows,
        shown: pd.DataFrame,
        request: Callable[[Positions, Records], T],
        keys: Sequence[str] = CASE,
    ) -> list[T]:
        """See `TreeJudge.case_requests`; from now on the labels of these rows are read, too."""
        self.load()
        stated = [name for name in ("question", "probe_labels") if name in shown]
        for row in shown[stated].drop_duplicates().to_dict("records"):
            labels = self.writer.labels({str(name): value for name, value in row.items()})
            if labels not in self._words:
                first, second = (self.reader.also_read([label, f" {label}"]) for label in labels)
                self._words[labels] = first, second
        return super().case_requests(rows, shown, request, keys)

    def case_questions(self, positions: Positions, records: Records) -> CaseQuestions:
        """The prompts of one case's rows, made ready; see `group_rows` for the parameters.

        Raises
        ------
        InputError
            An image is missing or cannot be read, the prompt needs a reference that the case lacks, or what a probe
            calls the responses is not one token of the model.
        """
        pictures = self.pictures(image_names(records[0]))
        # In each order, prompts that differ only in what they ask share a branch, and those that do not differ a leaf.
        leaves: dict[tuple[str, str], dict[str, int]] = {}
        words: dict[tuple[int, int], tuple[int, ...]] = {}
        positions_of: dict[tuple[int, int], list[int]] = {}
        prompts: dict[tuple[object, ...], tuple[int, int]] = {}
        for position, row in zip(positions, records, strict=True):
            key = row["probe"], row["order"], row["dimension"]
            if key not in prompts:
                rendered = self._rendered(row)
                branch = str(row["order"]), rendered.case + rendered.responses
                asked = leaves.setdefault(branch, {})
                leaf = asked.setdefault(self._chat(rendered, len(pictures)) + self._lead, len(asked))
                prompts[key] = list(leaves).index(branch), leaf
                words[prompts[key]] = self._read_as(self.writer.labels(row))
            positions_of.setdefault(prompts[key], []).append(position)
        texts = [list(row) for row in leaves.values()]
        return CaseQuestions(self.reader.question(texts, pictures), positions_of, words)

    def _rendered(self, row: Record) -> Rendered:
        responses = responses_of(row, rated=self._settings.is_rating)
        return self.writer.write(row, responses, str(row["dimension"]))

    def _read_as(self, labels: Labels) -> tuple[int, ...]:
        """The places of two labels in what is read."""
        first, second = self._words[labels]
        if first is None or second is None:
            label = labels[0] if first is None else labels[1]
            raise InputError(f"label {label!r}: is not one token of this model, so its probability cannot be read")
        return first, second

    def _answer(self, rows: VerdictRows, questions: Sequence[CaseQuestions]) -> pd.DataFrame:
        asked = [
            (one, one.prompts, [place for places in one.positions_of.values() for place in places]) for one in questions
        ]
        for (prompts, positions_of, words), reading in self.read_cases(rows, asked):
            at_first: int | None = prompts.n_tokens
            for (branch, leaf), positions in positions_of.items():
                shares = [reading[branch][leaf][place] for place in words[branch, leaf]]
                mass = sum(shares)
                if not isfinite(mass):  # neither more nor less than a half, which is not a tie
                    rows.fail(positions, NO_NUMBER)
                    continue
                pick, values = self._verdict([share / mass for share in shares])
                for position in positions:
                    self._note_mass(mass)
                    rows.put(position, "ok", pick, **values, answer_mass=mass, prompt_tokens=at_first)
                    at_first = None
        return rows.frame()

    def _verdict(self, shares: Sequence[float]) -> tuple[str, dict[str, object]]:
        """The pick, and further columns of the row, by the probabilities of what may be replied."""
        return pick_of(shares[0], 0.5), {"p_first": shares[0]}
