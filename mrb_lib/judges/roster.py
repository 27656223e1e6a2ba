"""The roster: which judges there are, and how a name becomes a judge."""

from __future__ import annotations

import tomllib
from importlib import resources
from pathlib import Path

import pandas as pd

from mrb_lib.errors import InputError
from mrb_lib.judges.base import Judge
from mrb_lib.judges.heuristic import heuristics
from mrb_lib.judges.jury import NAME as JURY
from mrb_lib.judges.jury import ConsensusJudge

ROSTER_COLUMNS = ("name", "access", "family", "size", "engine", "needs", "about")


def roster() -> pd.DataFrame:
    """The judges that can be named, one row each, in the roster's order.

    Returns
    -------
    DataFrame
        `name, access, family, size, engine, needs, about`; null where nothing is stated.
    """
    text = resources.files("mrb_lib.judges").joinpath("roster.toml").read_text(encoding="utf-8")
    return pd.DataFrame(tomllib.loads(text)["judge"]).reindex(columns=list(ROSTER_COLUMNS)).astype("str")


def resolve(name: str, *, runs: Path, seed: int) -> Judge:
    """The judge of a given name.

    Parameters
    ----------
    name : a name of the roster, or `consensus-of:NAME,NAME,...`
    runs : the folder of runs, where a jury finds its members' verdicts
    seed : the seed of judges that draw at random

    Raises
    ------
    InputError
        No judge has that name, or a jury lacks its members.
    """
    if name == JURY or name.startswith(f"{JURY}:"):
        members = name.removeprefix(JURY).removeprefix(":")
        if name.endswith(":") or len(set(members.split(","))) != len(members.split(",")):
            raise InputError(f"judge {name!r}: name each member once, as in {JURY}:first,longer,lexical.")
        return ConsensusJudge(members.split(",") if members else [], runs)
    judges: dict[str, Judge] = {judge.name: judge for judge in heuristics(seed)}
    if name not in judges:
        raise InputError(f"judge {name!r} is not in the roster; `mrb judges` lists those there are.")
    return judges[name]
