"""The engine `heuristic`: judges that need no model, baselines that any judge worth using must beat.

They read what every judge is shown and are run the same way. `longer` and `first`
measure how far the two best known biases alone would get.
"""

import hashlib
import re
from collections.abc import Callable, Mapping
from functools import lru_cache, partial

import numpy as np
import pandas as pd

from mrb_lib.judges.roster.engines import JudgeRequest, engine
from mrb_lib.judges.settings import Settings
from mrb_lib.tables.errors import InputError
from mrb_lib.verdicts.orders import FIRST, KEYS, SECOND, TIE
from mrb_lib.verdicts.protocol import Judge, PromptlessJudge

_WORD = re.compile(r"\w+")


class RandomJudge(PromptlessJudge):
    """A fair coin for each verdict, from the seed and the verdict's key alone; of ratings, each category as likely.

    The same key always gets the same pick, whatever the batch or the order of cases. Of ratings it says nothing in
    dimensions of several labels.
    """

    name = "random"

    def __init__(self, settings: Settings) -> None:
        seed, rated = settings.seed, settings.is_rating
        self.dimensions = settings.one_choice if rated else None
        self.spec: Mapping[str, object] = {"seed": seed, **({"choices": list(settings.choices)} if rated else {})}
        self._categories = np.array(settings.choices if rated else (), dtype=object)
        self._salt = hashlib.blake2b(f"random judge {seed}".encode(), digest_size=16).digest()

    def judge(self, shown: pd.DataFrame) -> pd.DataFrame:
        """Pick at random; see `Judge.judge`."""
        n, keys = len(self._categories), zip(*(shown[name].astype("str") for name in KEYS), strict=True)
        digests = [
            hashlib.blake2b("\0".join(key).encode(), digest_size=8 if n else 1, key=self._salt).digest() for key in keys
        ]
        if not n:
            return _verdicts(shown, np.where([digest[0] < 128 for digest in digests], FIRST, SECOND))
        drawn = [int.from_bytes(digest, "big") % n for digest in digests]
        return _verdicts(shown, self._categories[drawn], "category")


class FirstJudge(PromptlessJudge):
    """Always the response shown first: pure position bias."""

    name = "first"
    spec: Mapping[str, object] = {}

    def judge(self, shown: pd.DataFrame) -> pd.DataFrame:
        """Pick the first; see `Judge.judge`."""
        return _verdicts(shown, np.full(len(shown), FIRST))


class ScoreJudge(PromptlessJudge):
    """The response with the higher score; a tie where both have the same.

    Parameters
    ----------
    scores : returns the scores of the first responses, and of the second, each of shape (rows,)
    """

    def __init__(self, name: str, spec: Mapping[str, object], scores: Callable[[pd.DataFrame], np.ndarray]) -> None:
        self.name, self.spec, self._scores = name, spec, scores

    def judge(self, shown: pd.DataFrame) -> pd.DataFrame:
        """Compare the scores; see `Judge.judge`."""
        first, second = self._scores(shown)
        pick = np.select([first > second, first < second], [FIRST, SECOND], TIE)
        return _verdicts(shown, pick).assign(score_first=first, score_second=second)


def _lengths(shown: pd.DataFrame, sign: float = 1.0) -> np.ndarray:
    """Return the number of words."""
    return np.array([sign * shown[side].astype("str").str.count(r"\S+").to_numpy(float) for side in (FIRST, SECOND)])


def _overlaps(shown: pd.DataFrame) -> np.ndarray:
    """Return how much a response shares of the content words of the question, and of the reference if there is one.

    The mean, over these texts, of the F1 overlap of their sets of words, common words left out. It rewards echoing.
    """
    texts, scores = shown.reindex(columns=["question", "reference", FIRST, SECOND]), list[list[float]]()
    for question, reference, *responses in texts.itertuples(index=False):
        targets = [_words(text) for text in (question, reference) if isinstance(text, str)]
        scores.append([_overlap(_words(response), targets) for response in responses])
    return np.array(scores).reshape(-1, 2).T


_COMMON = frozenset(
    _WORD.findall(
        "a an and are as at be by for from has have in is it its of on or that the there this to was what which "
        "with do does did can could would should how why where when who"
    )
)


@lru_cache(maxsize=1024)  # a case's rows, one per dimension and order, share their texts
def _words(text: str) -> frozenset[str]:
    return frozenset(_WORD.findall(text.casefold())) - _COMMON


def _overlap(response: frozenset[str], targets: list[frozenset[str]]) -> float:
    return float(np.mean([2 * len(response & target) / max(len(response) + len(target), 1) for target in targets]))


def _verdicts(shown: pd.DataFrame, pick: np.ndarray, column: str = "pick") -> pd.DataFrame:
    return shown[list(KEYS)].assign(**{column: pd.Series(pick, index=shown.index, dtype="str")}, status="ok")


@engine("heuristic", about="a rule without a model, as longer or random", is_internal=True)
def build_heuristic(request: JudgeRequest) -> Judge:
    """The judge of this module that the roster names.

    Raises
    ------
    InputError
        It compares two responses, and the benchmark has ratings of one.
    """
    if request.settings.is_rating and request.entry.name != "random":
        raise InputError(
            f"judge {request.entry.name}: compares two responses, and the benchmark has ratings of one; use random."
        )
    judges = (
        RandomJudge(request.settings),
        FirstJudge(),
        ScoreJudge("longer", {"unit": "words"}, _lengths),
        ScoreJudge("shorter", {"unit": "words"}, partial(_lengths, sign=-1.0)),
        ScoreJudge("lexical", {"score": "mean F1 of word sets with question and reference"}, _overlaps),
    )
    return {judge.name: judge for judge in judges}[request.entry.name]
