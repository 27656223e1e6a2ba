"""All responses to an item in one prompt: in which order they stand, and what a ranking of them says of each pair.

Each item and repeat has two prompts: the responses in an order that is drawn from the seed and rotated by one place
with each repeat, and the same order backwards. Every pair so stands once in each order, and a row is answered by the
prompt in which the response that it shows first stands before the other.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

import numpy as np
import pandas as pd

from mrb_lib.judges.prompts import RANKED
from mrb_lib.replies.rankings import RankingReading
from mrb_lib.tables.errors import InputError
from mrb_lib.verdicts.orders import EVIDENCE, FIRST, ITEM_RESPONSES, SECOND, TIE, WEAK, pick_of
from mrb_lib.verdicts.protocol import VerdictRows

LINEUP: Final = "lineup"
PROMPT_KEY: Final = "prompt_key"
SAME_TEXT: Final = "its two responses are the same text, which a ranking cannot tell apart"

Pair = tuple[int, int]
"""The places in a line-up of the response that a row shows first, and of the second."""


def with_lineups(shown: pd.DataFrame, seed: int) -> pd.DataFrame:
    """Return the rows with the prompt that answers each.

    Parameters
    ----------
    shown : see `mrb_lib.verdicts.protocol.Judge.judge`; `item_responses` has all responses to the item of a row, in any
        order and more than once or not. Without it, or with fewer, the two of the row are all

    Returns
    -------
    DataFrame
        The same with `lineup`, a list of the different responses in the order in which the prompt shows them, and
        `prompt_key`, which the rows that one prompt answers share.
    """
    lineups, keys = [], []
    for row in shown.to_dict("records"):
        named = row.get(ITEM_RESPONSES)
        others = named if isinstance(named, Iterable) and not isinstance(named, str) else []
        texts = {str(text) for text in (*others, row[FIRST], row[SECOND])}
        about = _about(row)
        drawn = sorted(texts, key=lambda text: _digest(str(seed), *about, text))
        turn = int(row["repeat"]) % len(drawn)
        order = drawn[turn:] + drawn[:turn]
        if order.index(str(row[FIRST])) > order.index(str(row[SECOND])):
            order.reverse()
        lineups.append(order)
        keys.append(_digest(str(seed), *about, str(row["repeat"]), str(row["probe"]), *order))
    out = shown.copy()
    out[LINEUP], out[PROMPT_KEY] = pd.Series(lineups, index=shown.index, dtype=object), keys
    return out


def _about(row: Mapping[object, object]) -> list[str]:
    """Return what the prompts of an item show besides the responses."""
    images = row.get("images")
    named = images if isinstance(images, (list, tuple, np.ndarray)) else []
    beside = (row.get(name) for name in ("reference", WEAK, EVIDENCE))
    return [str(row["question"]), *map(str, beside), *map(str, named)]


def _digest(*texts: str) -> str:
    joined = "\0".join(texts).encode("utf-8", "surrogatepass")
    return hashlib.blake2b(joined, digest_size=16).hexdigest()


def lineup_of(row: Mapping[str, object]) -> list[str]:
    """Return the responses that the prompt of a row shows, in order.

    Raises
    ------
    InputError
        They are too few or too many to be ranked.
    """
    lineup = row[LINEUP]
    responses = [str(text) for text in lineup] if isinstance(lineup, list) else []
    if len(responses) < 2:
        raise InputError(SAME_TEXT)
    if len(responses) > len(RANKED):
        raise InputError(
            f"its item has {len(responses)} different responses, and one prompt ranks {len(RANKED)} at most; "
            "judge pairs, without +batch"
        )
    return responses


def pair_of(row: Mapping[str, object]) -> Pair:
    """Return the places of the two responses of a row in its line-up."""
    responses = lineup_of(row)
    return responses.index(str(row[FIRST])), responses.index(str(row[SECOND]))


def put_pairs(
    rows: VerdictRows,
    asked: Sequence[tuple[int, str, Pair]],
    reading: RankingReading,
    choices: Sequence[str],
    reply: str,
    took: Mapping[str, object],
) -> None:
    """Write a ranking as verdicts of pairs.

    Parameters
    ----------
    asked : of each row that the reply answers its position, dimension and pair
    choices : equal places are a tie where it is among these, and no verdict elsewhere
    took : what the reply took, for the first of the rows
    """
    for i, (position, dimension, (first, second)) in enumerate(asked):
        own = took if i == 0 else {}
        if first == second:
            rows.put(position, "error", None, error=SAME_TEXT, reply=reply, **own)
            continue
        places, status = reading.places[dimension], reading.status_of(dimension)
        pick = None if places is None else pick_of(places[second], places[first])
        if pick == TIE and TIE not in choices:
            pick, status = None, "unparsed"
        rows.put(position, status, pick, reply=reply, **own)
