"""Lists of cases behind the numbers of tables and figures: the cases that judges get wrong, and others worth reading.

Most functions return, for each number of a table, the ids of its cases in the order of the cases table as `listed`,
and the `n` cases that the table counts. They are validated by tests/report/test_links.py.
"""

from collections.abc import Collection, Mapping, Sequence
from itertools import combinations
from typing import Final

import numpy as np
import pandas as pd

from mrb_lib.probes.expectation import known
from mrb_lib.probes.probe import parse_id, target
from mrb_lib.review.failures.kinds import CLEAR_MAJORITY
from mrb_lib.stats.methods.forecasts import HIGH_CONFIDENCE, answers, forecasts, labelled
from mrb_lib.stats.options import BoolArray, FloatArray, IntArray
from mrb_lib.stats.panel import Panel, as_panel
from mrb_lib.stats.scoring import correctness
from mrb_lib.stats.subfields import By, groups
from mrb_lib.stats.verdicts import Verdicts, labels_of
from mrb_lib.stats.where import HALF, RIGHT, WRONG, outcomes
from mrb_lib.tables.errors import NotApplicable
from mrb_lib.tables.schema import CHOICES, CONSENSUS, NO_PROBE

NO_CHOICE: Final = "none"
_ROUNDING = 1e-12


def failing_cases(
    verdicts: pd.DataFrame | Panel, gold: pd.DataFrame, cases: pd.DataFrame, *, by: By = None,
    dimensions: Sequence[str] | None = None, policy: str = "balanced",
) -> pd.DataFrame:  # fmt: skip
    """List the cases that each judge gets wrong, for every cell of the table `accuracy`.

    Parameters
    ----------
    verdicts : the verdicts table of one probe, or its panel
    by : a column of the cases, or several; None for all cases together only
    dimensions : None for all that were judged
    policy : the scoring policy that defines an error

    Returns
    -------
    DataFrame
        One row per judge, dimension and part with a verdict: `by` and `subfield`, null for all cases; `n` cases scored,
        of which `n_right` (score above 1/2), `n_half_right` (1/2) and `n_wrong` (below); `wrong`, the ids of the wrong
        ones in the order of the cases. Validated by tests/review/failures/test_lists.py.
    """
    rows = outcomes(verdicts, gold, cases, dimensions=dimensions, policy=policy)
    position, made = rows["case_id"].cat.codes, []
    for group in groups(cases, by):
        part = rows[position.isin(group.cases)]
        for (judge, dimension), own in part.groupby(["judge", "dimension"], observed=True):
            counts = [int((own["outcome"] == name).sum()) for name in (RIGHT, HALF, WRONG)]
            wrong = tuple(own.loc[own["outcome"] == WRONG, "case_id"])
            made.append((judge, dimension, group.by, group.subfield, sum(counts), *counts, wrong))
    columns = ["judge", "dimension", "by", "subfield", "n", "n_right", "n_half_right", "n_wrong", "wrong"]
    return pd.DataFrame(made, columns=columns).astype({"by": "str", "subfield": "str"})


def turned_cases(verdicts: pd.DataFrame | Panel, cases: pd.DataFrame) -> pd.DataFrame:
    """List the cases on which a judge changes its choice with the order of the responses, in one repeat at least.

    Returns
    -------
    DataFrame
        `judge`, `dimension`; `n` cases answered in both orders, as in the table `consistency`; `listed`. With one
        repeat `listed` has n (1 - `consistency`) cases.
    """
    panel = as_panel(verdicts, cases["case_id"])
    ab, ba = panel.choice[np.nonzero(panel.takes_part())].transpose(2, 1, 0, 3)  # (cases, cells, repeats) each
    answered = (ab >= 0) & (ba >= 0)
    n, turned = answered.any(axis=2).sum(axis=0), (answered & (ab != ba)).any(axis=2)
    return _rows(Verdicts.of(panel).cells, n, turned, cases)


def surely_wrong(verdicts: pd.DataFrame | Panel, gold: pd.DataFrame, cases: pd.DataFrame) -> pd.DataFrame:
    """List the cases on which a judge gives the other response a probability of .9 or more, in one verdict at least.

    Returns
    -------
    DataFrame
        `judge`, `dimension`; `n` verdicts of that confidence on cases with a decisive gold label, `n_high_confidence`
        of the table `calibration`; `n_verdicts`, the wrong ones; `listed`, their cases.
    """
    panel = as_panel(verdicts, cases["case_id"])
    made, labels = Verdicts.of(panel), labels_of(gold, cases["case_id"], panel.dimensions, panel.categories)
    _, _, sure = forecasts(made, labels)
    high = sure.confidence >= HIGH_CONFIDENCE
    n, wrong = sure.total(high).sum(axis=0), sure.total(high & (sure.correct < 0.5))
    return _rows(made.cells.assign(n_verdicts=wrong.sum(axis=0).astype(np.int64)), n, wrong > 0, cases)


def unsure_cases(
    verdicts: pd.DataFrame | Panel, gold: pd.DataFrame, cases: pd.DataFrame, thresholds: Mapping[str, float], *,
    dimension: str,
) -> pd.DataFrame:  # fmt: skip
    """List the cases on which a judge is not confident enough to answer alone.

    Parameters
    ----------
    thresholds : by judge, the least confidence of an answer, `threshold` of the table `selective`

    Returns
    -------
    DataFrame
        `judge`, `dimension`; `n` cases that it could answer; `listed`, those below its threshold.
    """
    panel = as_panel(verdicts, cases["case_id"], [dimension])
    made = Verdicts.of(panel)
    confidence, least = answers(made)[1], made.cells["judge"].map(thresholds).to_numpy(dtype=np.float64)
    answered = np.isfinite(confidence) & labelled(gold, cases["case_id"], panel.dimensions)
    n = np.where(np.isnan(least), 0, answered.sum(axis=0))
    return _rows(made.cells, n, answered & (confidence < least - _ROUNDING), cases)


def disputed_cases(annotations: pd.DataFrame, cases: pd.DataFrame) -> pd.DataFrame:
    """List the cases on which annotators do not all choose the same.

    Returns
    -------
    DataFrame
        `dimension`; `n` cases with two annotators or more; `listed`; `split`, true if these are also the cases whose
        most frequent choice has less than 3/4 of the votes.
    """
    rows = []
    for dimension, votes in annotations[annotations["annotator"] != CONSENSUS].groupby("dimension", sort=False):
        counts = votes.groupby(["case_id", "choice"]).size().groupby("case_id").agg(["sum", "max"])
        several = counts[counts["sum"] > 1]
        listed = several.index[several["max"] < several["sum"]]
        split = several.index[several["max"] < CLEAR_MAJORITY * several["sum"]]
        rows.append((dimension, len(several), in_order(listed, cases), set(listed) == set(split)))
    return pd.DataFrame(rows, columns=["dimension", "n", "listed", "split"])


def disputed_pairs(annotations: pd.DataFrame, cases: pd.DataFrame) -> pd.DataFrame:
    """List the cases on which two annotators choose differently.

    Returns
    -------
    DataFrame
        `dimension`, `annotator_1`, `annotator_2`; `n` cases that both annotated; `listed`.
    """
    rows = []
    for dimension, votes in annotations[annotations["annotator"] != CONSENSUS].groupby("dimension", sort=False):
        wide = votes.pivot(index="case_id", columns="annotator", values="choice")
        for one, two in combinations(sorted(wide.columns), 2):
            both = wide[[one, two]].dropna()
            rows.append((dimension, one, two, len(both), in_order(both.index[both[one] != both[two]], cases)))
    return pd.DataFrame(rows, columns=["dimension", "annotator_1", "annotator_2", "n", "listed"])


def hardest_cases(
    verdicts: pd.DataFrame, gold: pd.DataFrame, *, policy: str = "balanced", seed: int = 0,
    categories: Sequence[str] = CHOICES,
) -> pd.DataFrame:  # fmt: skip
    """Order the cases from the lowest mean score to the highest.

    Parameters
    ----------
    verdicts, gold, policy, categories : of one dimension, as in `mrb_lib.stats.scoring.correctness`
    seed : of the random order of cases with equal means

    Returns
    -------
    DataFrame
        One row per case with a score: `case_id`; `score`, the mean over the `n_judges` that have one; the number of
        verdicts that chose each category, or `none`, over all judges, orders and repeats.

    Notes
    -----
    Some of many means are low by chance, or because the gold label is wrong, so these cases are examples and estimate
    nothing. Validated by tests/review/failures/test_lists.py.
    """
    if "seen" in verdicts:
        verdicts = verdicts[~verdicts["seen"].eq(True)]
    scored = correctness(verdicts, gold, policy, categories).dropna(subset="score")
    means = scored.groupby("case_id")["score"].agg(score="mean", n_judges="size").reset_index()
    shuffled = means.iloc[np.random.default_rng(seed).permutation(len(means))]
    ranked = shuffled.iloc[shuffled["score"].round(12).argsort(kind="stable")]
    counts = pd.crosstab(verdicts["case_id"], verdicts["choice"].fillna(NO_CHOICE))
    counts = counts.reindex(columns=[*categories, NO_CHOICE], fill_value=0).reset_index()
    return ranked.merge(counts, on="case_id", how="left", validate="1:1").astype({"case_id": "str"})


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
    ids = {known(text)[:2]: text for text in set(verdicts["probe"]) if parse_id(text)}
    broken = rows[rows["kept_expectation"].eq(False).fillna(False).astype(bool)]
    found = [ids.get(key) for key in zip(broken["probe"], broken["severity"], strict=True)]
    is_same, change = broken["expected"].eq("same"), broken["accuracy_change"]
    broken = broken[["judge", "expected"]].assign(
        probe=pd.Series(found, broken.index, dtype="str"),
        name=broken["probe"],
        is_other=~broken["probe"].str.startswith("image/"),
        is_unmoved=~is_same,
        size=-change.abs().where(is_same, change),
    )
    shown, is_plain = ["judge", "case_id", "order", "repeat"], verdicts["probe"] == NO_PROBE
    probed = verdicts.loc[verdicts["probe"].isin(broken["probe"]), ["probe", "choice", *shown]]
    both = verdicts.loc[is_plain, ["choice", *shown]].merge(probed, on=shown, suffixes=("", "_probed"))
    choices = both.groupby(["probe", "judge", "case_id"])[["choice", "choice_probed"]]
    firm = choices.first()[choices.nunique(dropna=False).eq(1).all(axis=1)].dropna().reset_index()
    firm["expected"] = firm["probe"].map(broken.drop_duplicates("probe").set_index("probe")["expected"])
    firm["gold"] = firm["case_id"].map(labels[labels["dimension"] == dimension].set_index("case_id")["choice"])
    right = firm["gold"].mask(firm["expected"] == "flips", firm["case_id"].map(target))
    was, stays = firm["choice"].eq(right), firm["choice_probed"].eq(right)
    firm["n_judges_moved"] = (was & ~stays).groupby([firm["probe"], firm["case_id"]]).transform("sum")
    shows = broken.merge(firm[was & stays.ne(firm["expected"] == "same")], on=["probe", "judge", "expected"])
    most = shows.sort_values(["n_judges_moved", "case_id"], ascending=[False, True])
    first = most.sort_values(["is_other", "is_unmoved", "size", "probe", "judge"], kind="stable").drop_duplicates(
        "name"
    )
    if first.empty:
        raise NotApplicable("no case shows a judge that significantly breaks what a probe expects.")
    columns = ["judge", "probe", "case_id", "expected", "choice", "choice_probed", "gold", "n_judges_moved"]
    return first.head(n)[columns].reset_index(drop=True)


def in_order(ids: Collection[str], cases: pd.DataFrame) -> tuple[str, ...]:
    """Return ids in the order of the cases table."""
    return tuple(map(str, cases.loc[cases["case_id"].isin(list(ids)), "case_id"]))


def _rows(cells: pd.DataFrame, n: IntArray | FloatArray, listed: BoolArray, cases: pd.DataFrame) -> pd.DataFrame:
    """One row per cell of judge and dimension with an `n` above 0; `n` has shape (cells,), `listed` (cases, cells)."""
    ids = np.array(cases["case_id"].tolist(), dtype=object)
    lists = pd.Series([tuple(ids[own]) for own in listed.T], cells.index, dtype=object)
    rows = cells.assign(n=n.astype(np.int64), listed=lists)[n > 0]
    return rows.filter(["judge", "dimension", "n", "listed", "n_verdicts"]).reset_index(drop=True)
