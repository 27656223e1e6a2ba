"""Judging by probabilities: every question of a case read in one pass over one tree of prompts.

The choice is the more probable of the letters A and B as the first token of the
reply, so nothing is generated and nothing is parsed. Both orders and all dimensions
of a case share what they have in common; see `mrb_lib.judges.local.tree`.
"""

from collections.abc import Sequence
from math import isfinite

from mrb_lib.judges.context import Record, image_names
from mrb_lib.judges.local.base import NO_NUMBER, Positions, Records
from mrb_lib.judges.local.reader import Case, Probabilities, TreeJudge
from mrb_lib.judges.roster.engines import JudgeRequest
from mrb_lib.judges.tasks import responses_of
from mrb_lib.replies.labels import LETTERS, Labels, labels_of
from mrb_lib.verdicts.orders import FIRST, SECOND, pick_of
from mrb_lib.verdicts.protocol import VerdictRows


class PackedJudge(TreeJudge):
    """One pass a case; every row has `p_first`, and `answer_mass`, the probability of A and B together.

    The tokens that were read for a case stand in the first of its rows, so that sums are right.
    A model that cannot share work between prompts is asked each question alone, with a notice.

    Validated by tests/judges/local/test_packed.py against scoring each question alone.
    """

    engine = "packed"
    usual_prompt = "single"
    asks = ("one",)
    _marks: Sequence[str] = LETTERS

    def __init__(self, request: JudgeRequest) -> None:
        super().__init__(request)
        if request.entry.thinking == "always":
            self.notice("reasons before it replies, so its first token is not its verdict: use NAME+generative")

    def _shared(self, row: Record) -> tuple[object, ...]:
        """See `CaseJudge._shared`: case, images, texts and labels, whatever the order, the probe or the question."""
        texts = row["question"], frozenset((row[FIRST], row.get(SECOND)))
        return row["case_id"], *image_names(row), *texts, labels_of(row)

    def case(self, positions: Positions, records: Records) -> Case:
        """See `CaseJudge.case`."""
        pictures = self.pictures(image_names(records[0]))
        # In each order, prompts that differ only in what they ask share a branch, and those that do not differ a leaf.
        leaves: dict[tuple[str, str], dict[str, int]] = {}
        asked: dict[tuple[object, ...], tuple[int, int]] = {}
        keys = [(row["probe"], row["order"], row["dimension"]) for row in records]
        for key, row in zip(keys, records, strict=True):
            if key not in asked:
                responses = responses_of(row, rated=self._settings.is_rating)
                rendered = self.writer.write(row, responses, str(row["dimension"]))
                branch = str(row["order"]), rendered.case + rendered.responses
                own = leaves.setdefault(branch, {})
                leaf = own.setdefault(self._chat(rendered, len(pictures)) + self._lead, len(own))
                asked[key] = list(leaves).index(branch), leaf
        words = [self._read_as(self.writer.labels(row)) for row in records]
        prompts = self.reader.question([list(row) for row in leaves.values()], pictures)
        return Case(positions, records, 0, prompts.n_tokens, prompts, [asked[key] for key in keys], words)

    def _read_as(self, labels: Labels) -> tuple[int, ...]:
        """The places in what is read of the labels of the two responses; of a rating, those of the categories."""
        return tuple(map(self.reader.place_of, labels))

    def _put(self, rows: VerdictRows, case: Case, reading: Probabilities) -> None:
        of_rows = zip(case.rows(prompt_tokens=case.n_tokens), case.asked, case.words, strict=True)
        for (position, _, _, took), (branch, leaf), words in of_rows:
            shares = [reading[branch][leaf][place] for place in words]
            mass = sum(shares)
            if not isfinite(mass):  # neither more nor less than a half, which is not a tie
                rows.put(position, "error", None, error=NO_NUMBER, **took)
                continue
            self._note_mass(mass)
            pick, values = self._verdict([share / mass for share in shares])
            rows.put(position, "ok", pick, **values, answer_mass=mass, **took)

    def _verdict(self, shares: Sequence[float]) -> tuple[str, dict[str, object]]:
        """The pick, and further columns of the row, by the probabilities of what may be replied."""
        return pick_of(shares[0], 0.5), {"p_first": shares[0]}
