"""Replies that the labels give: what a judge learns to write, and what it learns not to prefer."""

import json
import re
from collections.abc import Hashable, Mapping, Sequence
from typing import Final, NamedTuple, cast

import pandas as pd

from mrb_lib.benchmarks.benchmark import Benchmark
from mrb_lib.build.training.examples import Examples
from mrb_lib.judges.context import Record
from mrb_lib.judges.prompts import Prompt
from mrb_lib.judges.settings import Settings
from mrb_lib.replies.labels import Labels
from mrb_lib.verdicts.orders import FIRST, SECOND, TIE, to_shown_frame

LACKS_A_LABEL: Final = "replies, for the case lacks a label on some of the dimensions that one reply holds"
SAME_REPLY: Final = "pairs, for the chosen and the rejected reply would be the same"

_MIRRORED: Final = {FIRST: SECOND, SECOND: FIRST, TIE: TIE}


class Reply(NamedTuple):
    """The wanted reply to a prompt, its opposite, and its weight."""

    chosen: str
    rejected: str
    weight: float


def reply_rows(
    benchmark: Benchmark,
    made: Examples,
    prompts: tuple[Prompt, Prompt],
    marks: re.Pattern[str] | None = None,
    *,
    sees_images: bool = True,
) -> pd.DataFrame:
    """A row a prompt and what it is to be answered.

    Parameters
    ----------
    prompts : the one without and the one with the reference answer
    marks : of the model, see `mrb_lib.judges.fences.defuse`; None for the usual ones
    sees_images : a model that reads text only is not told of images

    Returns
    -------
    DataFrame
        `case_id, order, dimension` (absent where a reply holds several), `prompt` (a user's message),
        `chosen` and `rejected` (replies; null where one would lack a dimension) and `weight`.
    """
    shown = {
        (row["case_id"], order): row
        for order in made.rows["order"].unique()
        for row in to_shown_frame(benchmark.cases.assign(order=order), planned=False).to_dict("records")
    }
    meta = benchmark.meta
    learnt = [name for name in meta.dimensions if made.rows["dimension"].eq(name).any()]
    alone = prompts[0].asks == "one"
    dimensions = meta.dimensions if alone else tuple(learnt)
    settings = Settings(dimensions=dimensions, choices=meta.choices, without_images=not sees_images)
    keys = ["case_id", "order", *(["dimension"] if alone else [])]
    rows = []
    for _, labels in made.rows.groupby(keys, sort=False, dropna=False):
        first = labels.iloc[0].to_dict()
        case = shown[first["case_id"], first["order"]]
        asked = str(first["dimension"]) if alone else ""
        prompt = prompts[int(first["shows_reference"])]
        text = prompt.render(cast("Record", case), [str(case[FIRST]), str(case[SECOND])], settings, asked, marks=marks)
        picks = dict(zip(labels["dimension"], labels["pick"], strict=True))
        weight = float(labels["weight"].mean())
        names = prompt.labels_for(str(case["question"]))
        replies = one_of_two(picks[asked], names, weight) if alone else _object(picks, learnt, names, weight)
        asks = {**label_keys(first, alone), "prompt": message("user", text.text)}
        rows += [{**asks, **reply._asdict()} for reply in replies]
    return pd.DataFrame(rows)


def learnable(rows: pd.DataFrame, *, as_pairs: bool) -> tuple[pd.DataFrame, dict[str, int]]:
    """Return the rows of `reply_rows` that can be learnt from, and how many cannot, by the reason.

    Parameters
    ----------
    as_pairs : the chosen reply is preferred to the rejected one, and must differ from it
    """
    lacks, same = rows["chosen"].isna(), (rows["chosen"] == rows["rejected"]) & as_pairs
    counts = {LACKS_A_LABEL: int(lacks.sum()), SAME_REPLY: int(same.sum())}
    return rows[~lacks & ~same], {reason: n for reason, n in counts.items() if n}


def one_of_two(pick: str, texts: Sequence[str], weight: float) -> list[Reply]:
    """Return which of two texts is preferred; a tie prefers each with half the weight."""
    forth, back = Reply(texts[0], texts[1], weight), Reply(texts[1], texts[0], weight)
    if pick == TIE:
        return [forth._replace(weight=weight / 2), back._replace(weight=weight / 2)]
    return [forth if pick == FIRST else back]


def _object(picks: Mapping[str, str], dimensions: Sequence[str], names: Labels, weight: float) -> list[Reply]:
    """A JSON object of all dimensions; its opposite exchanges the responses."""
    if set(picks) != set(dimensions):
        return [Reply(cast(str, None), cast(str, None), weight)]
    named = {FIRST: names[0], SECOND: names[1], TIE: TIE}
    chosen = {name: named[picks[name]] for name in dimensions}
    rejected = {name: named[_MIRRORED[picks[name]]] for name in dimensions}
    return [Reply(json.dumps(chosen), json.dumps(rejected), weight)]


def label_keys(label: Mapping[Hashable, object], alone: bool = True) -> dict[str, object]:
    return {name: label[name] for name in ("case_id", "order", *(["dimension"] if alone else []))}


def message(role: str, text: str) -> list[dict[str, str]]:
    return [{"role": role, "content": text}]
