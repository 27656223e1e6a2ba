"""The cases that show best what a probe reveals of a judge."""

from __future__ import annotations

from typing import Final

import pandas as pd

from mrb_lib.probes.expectation import known
from mrb_lib.probes.probe import parse_id, target
from mrb_lib.tables.errors import NotApplicable
from mrb_lib.tables.schema import NO_PROBE

_PRESENTED: Final = ["judge", "case_id", "order", "repeat"]


def illustrative_cases(
    verdicts: pd.DataFrame, labels: pd.DataFrame, rows: pd.DataFrame, *, dimension: str, n: int = 3
) -> pd.DataFrame:
    """Return the case that shows best each of the probes whose expectation is broken most.

    Rows of the table whose expectation is significantly broken are taken in turn, at most one per probe: those of
    pictures first; among these where the same verdicts are expected, by the largest change of accuracy; then where they
    should get worse or flip, by the smallest loss. Of a row, the case is one on which the judge, in every order and
    repeat, turns from right to wrong, or stays where it should not; of several the one on which most judges leave the
    right choice (for `flips` the response with the error), and of these the first by `case_id`.

    Parameters
    ----------
    verdicts, labels : the verdicts table, and the gold labels
    rows : the part "probe" of the table `probes` on the dimension
    n : how many cases at most; fewer where fewer probes are broken, or no case shows it

    Returns
    -------
    DataFrame
        `judge`, `probe` (as in the verdicts), `case_id`, `expected`, `choice` (on the plain case), `choice_probed`,
        `gold` (missing where there is none), `n_judges_moved`.

    Raises
    ------
    NotApplicable
        No case shows a broken expectation, also where the probe is none of this library, which cannot show it.

    Notes
    -----
    Validated by tests/review/failures/test_illustrative.py.
    """
    verdicts = verdicts[verdicts["dimension"] == dimension]
    gold = labels[labels["dimension"] == dimension].set_index("case_id")["choice"]
    ids = {known(text)[:2]: text for text in set(verdicts["probe"]) if parse_id(text)}
    broken = rows[rows["kept_expectation"].eq(False).fillna(False).astype(bool)]
    is_same, change = broken["expected"].eq("same"), broken["accuracy_change"]
    found = [ids.get(key) for key in zip(broken["probe"], broken["severity"], strict=True)]
    broken = broken.assign(
        id=pd.Series(found, broken.index, dtype="str"),
        is_other=~broken["probe"].str.startswith("image/"), is_unmoved=~is_same,
        size=-change.abs().where(is_same, change),
    ).dropna(subset="id").sort_values(["is_other", "is_unmoved", "size", "id", "judge"])  # fmt: skip
    made = dict[str, pd.DataFrame]()
    for row in broken.to_dict("records"):
        if row["probe"] not in made and len(made) < n:
            firm = _firm(verdicts, row["id"])
            label = firm["case_id"].map(gold)
            right = firm["case_id"].map(target) if row["expected"] == "flips" else label
            was, stays = firm["choice"].eq(right), firm["choice_probed"].eq(right)
            firm = firm.assign(probe=row["id"], expected=row["expected"], gold=label)
            firm["n_judges_moved"] = (was & ~stays).groupby(firm["case_id"]).transform("sum")
            shows = firm[was & stays.ne(row["expected"] == "same") & firm["judge"].eq(row["judge"])]
            if len(shows):
                ordered = shows.sort_values(["n_judges_moved", "case_id"], ascending=[False, True])
                made[row["probe"]] = ordered.head(1)
    if not made:
        raise NotApplicable("no case shows a judge that significantly breaks what a probe expects.")
    columns = ["judge", "probe", "case_id", "expected", "choice", "choice_probed", "gold", "n_judges_moved"]
    return pd.concat(made.values(), ignore_index=True)[columns]


def _firm(verdicts: pd.DataFrame, probe: str) -> pd.DataFrame:
    """The choice of each judge on each case, plain and probed, where it is one in every order and repeat of both."""
    plain, changed = (verdicts.loc[verdicts["probe"] == name, [*_PRESENTED, "choice"]] for name in (NO_PROBE, probe))
    both = plain.merge(changed, on=_PRESENTED, suffixes=("", "_probed")).groupby(["judge", "case_id"])
    choices = both[["choice", "choice_probed"]]
    same = choices.nunique(dropna=False).eq(1).all(axis=1)
    return choices.first()[same].dropna().reset_index()
