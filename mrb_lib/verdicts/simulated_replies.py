"""SIMULATED replies: what a generative judge might have written for verdicts that were drawn, some of it malformed.

No model wrote anything. They let the screens that show replies, and the reader of replies, be tried.
"""

import json
from itertools import groupby
from typing import Final

import numpy as np
import pandas as pd

from mrb_lib.replies import parse
from mrb_lib.tables.schema import DIMENSIONS
from mrb_lib.verdicts.orders import choice_to_shown

JUDGE: Final = "simulated-specialist"
LETTERS: Final = {"first": "A", "second": "B", "tie": "tie"}
_MARK: Final = "SIMULATED reasons"
_LOST: Final = "cannot be told from this picture"
_BLANK: Final = "\n" * 20
_N_REASONS: Final = 2
_SAYS: Final = {"A": "answer A is better", "B": "answer B is better", "tie": "both are alike"}


def with_replies(verdicts: pd.DataFrame, *, seed: int) -> pd.DataFrame:
    """Return the simulated verdicts, for one judge with the reply that each could have been read from.

    Parameters
    ----------
    verdicts : see `mrb_lib.demo.judges.simulated_verdicts`
    seed : a whole number, at least 0

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
        reply = _written({name: said[name] for name in DIMENSIONS if name in said}, rng)
        read = parse(reply, DIMENSIONS)
        written += [(reply, read.status_of(dimension)) for dimension in said]
    texts = pd.DataFrame(written, rows.index, ["reply", "status"], dtype="str").reindex(verdicts.index)
    return verdicts.assign(
        **{name: verdicts[name].astype("str").mask(mine, texts[name]) for name in ("reply", "status")}
    )


def _written(said: dict[str, str | None], rng: np.random.Generator) -> str:
    """Return a reply with these choices, in the frame of what was shown: clean, in a fence, or malformed."""
    chance = rng.random()
    known = [name for name, choice in said.items() if choice is not None]
    picked = [known[i] for i in rng.permutation(len(known))[:_N_REASONS]]
    if not known:
        return _BLANK
    reasons = "; ".join(f"on {name} {_SAYS[str(said[name])]}" for name in picked)
    choices = {name: choice or _LOST for name, choice in said.items()}
    body = json.dumps({**choices, "reasons": f"{_MARK}: {reasons}."}, indent=1)
    forms = (
        (0.2, f"```json\n{body}\n```"),
        (0.23, f"Here is how I judge the two answers:\n{body}\nI hope this helps."),
        (0.25, f"{body[:-2]},\n}}"),
        (0.27, body[: body.index(_MARK) + len(_MARK) + 12]),
    )
    return next((form for most, form in forms if chance < most), body)
