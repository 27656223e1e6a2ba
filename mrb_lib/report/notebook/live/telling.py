"""The cases that show best what a probe changes, or fails to change."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import pandas as pd

from mrb_lib.probes.expectation import known
from mrb_lib.probes.probe import parse_id, target
from mrb_lib.report.notebook.absent import Absent, Frame
from mrb_lib.report.notebook.live.probes import ProbedVerdicts
from mrb_lib.tables.schema import NO_PROBE

_PRESENTED: Final = ["judge", "case_id", "order", "repeat"]


def telling_cases(probed: ProbedVerdicts, rows: pd.DataFrame, *, dimension: str, n: int = 3) -> Frame:
    """The case that best shows each probe that is most broken, those of pictures first.

    Rows of the table whose expectation is shown not to be kept are taken in turn, at most one a probe: those of
    pictures first; of these where the same verdicts are expected, by the largest change of accuracy; then where they
    should get worse or flip, by the smallest loss. Of a row, the case is one on which the judge, in every order and
    repeat, turns from right to wrong, or stays where it should not; of several the one on which most judges leave the
    right choice (for `flips` the response with the error), and of these the first by `case_id`.

    Parameters
    ----------
    rows : of the table `probes`, its `part` "probe", on the dimension
    n : how many cases at most; fewer where fewer probes are shown to be broken, or no case shows it

    Returns
    -------
    DataFrame
        `judge, probe` (as in the verdicts), `case_id, expected, choice` (on the plain case), `choice_probed, gold`
        (missing where the annotators have none), `n_judges_moved`. `Absent` where no case shows a broken expectation,
        also where the probe is none of this library, which cannot show it.

    Notes
    -----
    Validated by tests/report/notebook/live/test_telling.py.
    """
    w = probed.workspace
    verdicts = w.verdicts[w.verdicts["dimension"] == dimension]
    labels = w.labels()
    gold = labels[labels["dimension"] == dimension].set_index("case_id")["choice"]
    made: dict[str, pd.DataFrame] = {}
    for judge, text, expected in _broken(rows, verdicts):
        name = known(text).name
        if len(made) < n and name not in made:
            case = _case_of(judge, text, expected, _firm(verdicts, text), gold)
            made |= {name: case} if len(case) else {}
    if not made:
        return Absent("no case shows a judge that is shown not to do what a probe expects")
    return pd.concat(made.values(), ignore_index=True)


def _broken(rows: pd.DataFrame, verdicts: pd.DataFrame) -> Iterator[tuple[str, str, str]]:
    """The judge, the id of the probe and what is expected of each broken row, the most telling first."""
    ids = {(known(text).name, known(text).severity): text for text in set(verdicts["probe"]) if parse_id(text)}
    broken = rows[rows["kept_expectation"].eq(False).fillna(False).astype(bool)]
    texts = [ids.get(key) for key in zip(broken["probe"], broken["severity"], strict=True)]
    broken = broken.assign(text=pd.Series(texts, index=broken.index, dtype="str"))
    broken = broken.dropna(subset="text")
    is_same, change = broken["expected"].eq("same"), broken["accuracy_change"]
    broken = broken.assign(
        is_other=~broken["probe"].str.startswith("image/"),
        is_unmoved=~is_same,
        size=-change.abs().where(is_same, change),
    )
    order = ["is_other", "is_unmoved", "size", "text", "judge"]
    yield from broken.sort_values(order)[["judge", "text", "expected"]].itertuples(index=False, name=None)


def _firm(verdicts: pd.DataFrame, probe: str) -> pd.DataFrame:
    """The choice of each judge on each case, plain and probed, where it is one in every order and repeat of both."""
    keys = [*_PRESENTED, "choice"]
    plain, changed = (verdicts.loc[verdicts["probe"] == name, keys] for name in (NO_PROBE, probe))
    both = plain.merge(changed, on=_PRESENTED, suffixes=("", "_probed")).groupby(["judge", "case_id"])
    choices = both[["choice", "choice_probed"]]
    same = choices.nunique(dropna=False).eq(1).all(axis=1)
    return choices.first()[same].dropna().reset_index()


def _case_of(judge: str, probe: str, expected: str, firm: pd.DataFrame, gold: pd.Series) -> pd.DataFrame:
    """The most telling case of one broken row; no row where no case shows it."""
    labels = firm["case_id"].map(gold)
    right = firm["case_id"].map(target) if expected == "flips" else labels
    moved = firm["choice"].eq(right) & firm["choice_probed"].ne(right)
    stayed = firm["choice"].eq(right) & firm["choice_probed"].eq(right)
    n_moved = moved.groupby(firm["case_id"]).transform("sum")
    shows = firm.assign(expected=expected, gold=labels, n_judges_moved=n_moved, probe=probe)
    shows = shows[(moved if expected == "same" else stayed) & firm["judge"].eq(judge)]
    first = shows.sort_values(["n_judges_moved", "case_id"], ascending=[False, True]).head(1)
    columns = ["judge", "probe", "case_id", "expected", "choice", "choice_probed", "gold", "n_judges_moved"]
    return first[columns]
