"""Benchmarks of items with several responses, compared in pairs; and rankings by what a response says of itself."""

import itertools
import json
import re
from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import cast

import numpy as np
import pandas as pd

from mrb_lib.runs.items import by_items
from mrb_lib.runs.plan import make_plan
from mrb_lib.verdicts.orders import to_shown_frame
from mrb_lib.verdicts.protocol import Judge

_RESPONSE = re.compile(r"<<<response ([A-Z]) (\w+)>>>\n(.*?)\n<<<end of response \1 \2>>>", re.DOTALL)


def item_cases(n_items: int, k: int, *, named: bool = True, seed: int = 0) -> pd.DataFrame:
    """All pairs of `k` responses to each item, the better one as often first as second; its quality is in its text."""
    generator = np.random.default_rng(seed)
    rows = []
    for item in range(n_items):
        quality = generator.permutation(k)
        texts = [f"finding {item} of worth {worth}" for worth in quality]
        for a, b in itertools.combinations(range(k), 2):
            rows.append((f"i{item}-{a}{b}", f"What is seen in {item}?", texts[a], texts[b], f"item {item}"))
    cases = pd.DataFrame(rows, columns=["case_id", "question", "response_a", "response_b", "item"])
    return cases if named else cases.drop(columns="item")


def worth(text: str) -> int:
    return int(text.rsplit(" ", 1)[1])


def better_of(cases: pd.DataFrame) -> list[str]:
    """Return which response of each case is worth more."""
    a, b = (cases[name].map(worth) for name in ("response_a", "response_b"))
    return list(np.where(a > b, "A", np.where(a < b, "B", "tie")))


def shown_to_batch(
    cases: pd.DataFrame, dimensions: Sequence[str], *, repeats: int = 1, every: pd.DataFrame | None = None
) -> pd.DataFrame:
    """The rows that a judge of whole items is shown about these cases; `every` has the other cases of the benchmark."""
    judge = cast("Judge", SimpleNamespace(name="x+batch", ranks_items=True))
    plan = by_items(make_plan(cases, dimensions, repeats=repeats), judge, cases if every is None else every)
    return to_shown_frame(plan.rows(plan.all_numbers))


def responses_in(prompt: str) -> dict[str, str]:
    """The responses that a prompt shows, by letter."""
    return {letter: text for letter, _, text in _RESPONSE.findall(prompt)}


def ranking_by(score: Callable[[str, int], float], dimensions: Sequence[str]) -> Callable[[str], str]:
    """A judge's reply to a prompt: the responses by a score of their text and their place in the list."""

    def reply(prompt: str) -> str:
        shown = responses_in(prompt)
        value = {letter: score(text, place) for place, (letter, text) in enumerate(shown.items())}
        return json.dumps(dict.fromkeys(dimensions, sorted(shown, key=lambda letter: -value[letter])))

    return reply


def by_worth(text: str, place: int) -> float:
    return worth(text)
