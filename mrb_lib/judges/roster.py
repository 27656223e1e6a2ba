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
    check_name(name)
    members = _members(name)
    if members is not None:
        return ConsensusJudge(members, runs)
    return {judge.name: judge for judge in heuristics(seed)}[name]


def check_name(name: str) -> None:
    """Raise `InputError` unless `name` is that of a judge, or of a jury that names each member once."""
    members = _members(name)
    if members is None and name not in {judge.name for judge in heuristics(0)}:
        raise InputError(f"judge {name!r} is not in the roster; `mrb judges` lists those there are.")
    if members is not None and (name.endswith(":") or len(set(members)) != len(members)):
        raise InputError(f"judge {name!r}: name each member once, as in {JURY}:first,longer,lexical.")


def _members(name: str) -> list[str] | None:
    """The members that a jury's name lists, none for a jury of all; None if the name is not a jury's."""
    if name == JURY:
        return []
    return name.removeprefix(f"{JURY}:").split(",") if name.startswith(f"{JURY}:") else None
