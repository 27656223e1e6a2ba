"""SIMULATED replies: what a generative judge might have written for verdicts that were drawn, some of it malformed.

No model wrote anything. They let the screens that show replies, and the reader of replies, be tried.
"""

from __future__ import annotations

import json
from itertools import groupby
from typing import Final

import numpy as np
import pandas as pd

from mrb_lib.tables.schema import DIMENSIONS
from mrb_lib.verdicts.orders import choice_to_shown

JUDGE: Final = "simulated-specialist"
LETTERS: Final = {"first": "A", "second": "B", "tie": "tie"}
_MARK: Final = "SIMULATED reasons"
_LOST: Final = "cannot be told from this picture"
_BLANK: Final = "\n" * 20
_FENCED, _CHATTY, _TRAILING, _CUT = 0.2, 0.03, 0.02, 0.02
_N_REASONS: Final = 2
# What is said of the better answer, and of two that are alike.
_SAYS: Final = {
    "accuracy": ("agrees with what the picture shows", "make the same statements about the picture"),
    "relevance": ("keeps to the question", "keep to the question equally well"),
    "comprehensiveness": ("also says what follows from the finding", "leave out the same things"),
    "creativity": ("explains the finding in words of its own", "explain it in the same way"),
    "responsiveness": ("does what was asked, in the form asked for", "answer in the form asked for"),
    "overall": ("is the one I would act on", "would lead to the same next step"),
}


def with_replies(verdicts: pd.DataFrame, *, seed: int) -> pd.DataFrame:
    """Return the simulated verdicts, for one judge with the reply that each could have been read from.

    Parameters
    ----------
    verdicts : see `mrb_lib.demo.judges.simulated_verdicts`
    seed : any whole number from 0 on

    Returns
    -------
    DataFrame
        The same choices and probabilities. Rows of `JUDGE` that answer one case in one order and repeat share a reply
        in JSON with reasons last; about one in fourteen is malformed, and `status` is what `mrb_lib.replies.parse`
        makes of it.

    Notes
    -----
    Validated by tests/verdicts/test_simulated_replies.py.
    """
    rng = np.random.Generator(np.random.Philox(np.random.SeedSequence(seed, spawn_key=(0x2E9,))))
    mine = verdicts["judge"] == JUDGE
    rows = verdicts[mine].sort_values(["case_id", "order", "repeat"], kind="stable")
    letters = choice_to_shown(rows["order"], rows["choice"]).map(LETTERS).astype(object)
    columns = [rows["case_id"], rows["order"], rows["repeat"], rows["dimension"], letters.where(letters.notna(), None)]
    written = []
    for _, group in groupby(zip(*columns, strict=True), key=lambda row: row[:3]):
        said = {dimension: shown for *_, dimension, shown in group}
        reply, is_clean = _written({name: said[name] for name in DIMENSIONS if name in said}, rng)
        read = "ok" if is_clean else "repaired"
        written += [(reply, "unparsed" if shown is None else read) for shown in said.values()]
    texts = pd.DataFrame(written, rows.index, ["reply", "status"], dtype="str").reindex(verdicts.index)
    return verdicts.assign(
        **{name: verdicts[name].astype("str").mask(mine, texts[name]) for name in ("reply", "status")}
    )


def _written(said: dict[str, str | None], rng: np.random.Generator) -> tuple[str, bool]:
    """Return a reply with these choices, in the frame of what was shown, and whether it is clean and complete."""
    chance = rng.random()
    known = [name for name, choice in said.items() if choice is not None]
    picked = [known[i] for i in rng.permutation(len(known))[:_N_REASONS]]
    if not known:
        return _BLANK, False
    reasons = "; ".join(_reason(name, str(said[name])) for name in picked)
    choices = {name: choice or _LOST for name, choice in said.items()}
    body = json.dumps({**choices, "reasons": f"{_MARK}: {reasons}."}, indent=1)
    whole = len(known) == len(said)
    if chance < _FENCED:
        return f"```json\n{body}\n```", whole
    if chance < _FENCED + _CHATTY:
        return f"Here is how I judge the two answers:\n{body}\nI hope this helps.", False
    if chance < _FENCED + _CHATTY + _TRAILING:
        return f"{body[:-2]},\n}}", False
    if chance < _FENCED + _CHATTY + _TRAILING + _CUT:
        return body[: body.index(_MARK) + len(_MARK) + 12], False
    return body, whole


def _reason(dimension: str, choice: str) -> str:
    better, alike = _SAYS[dimension]
    return f"on {dimension} both {alike}" if choice == "tie" else f"on {dimension} answer {choice} {better}"
