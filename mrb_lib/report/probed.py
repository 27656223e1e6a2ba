"""Verdicts on probed cases: those of the runs, or on the embedded benchmark those of SIMULATED judges; and cases."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

import pandas as pd

from mrb_lib.benchmarks.benchmark import Benchmark, read_table
from mrb_lib.demo.probed_judges import simulated_probed_verdicts
from mrb_lib.probes import PROBES, Probing, parse_probes
from mrb_lib.probes.apply import sample
from mrb_lib.probes.expectation import known
from mrb_lib.probes.probe import parse_id, target
from mrb_lib.review.case import STYLES
from mrb_lib.review.case.probed import probed_html
from mrb_lib.review.page import CasesBeside
from mrb_lib.tables.errors import NotApplicable
from mrb_lib.tables.schema import NO_PROBE

SIMULATED_WITH: Final = (
    "image/removed,image/swapped-same,image/blur,image/low-contrast,response/credentials,response/lengthened,"
    "response/markdown,response/side,response/number,question/colleague:2,question/sex,question/ethnicity"
)
REMARK: Final = (
    "The judges are SIMULATED here, since no run holds verdicts on probed cases: one without faults, the others with "
    "one fault each."
)
CAPTION: Final = (
    "One case for each of the probes that are broken most, chosen to show the fault, not how often it occurs. Choices "
    "of the judge at fault on {dimension}, and how many judges leave the right choice."
)
_N_CASES: Final = 300
_PRESENTED: Final = ["judge", "case_id", "order", "repeat"]


def simulated_on_probes(benchmark: Benchmark, *, seed: int) -> pd.DataFrame | None:
    """Return the verdicts of SIMULATED judges on cases of the embedded benchmark, plain and probed.

    Returns
    -------
    DataFrame or None
        Of the judges of `mrb_lib.demo.probed_judges`, one without faults and others with one fault each, on 300 cases.
        None for any other benchmark: nobody knows what its cases are like.
    """
    truth = None if benchmark.path is None else benchmark.path / "truth.parquet"
    if truth is None or not truth.is_file() or not benchmark.meta.is_preference:
        return None
    cases, qualities = sample(benchmark.cases, _N_CASES, seed), read_table(truth)
    return simulated_probed_verdicts(
        qualities[qualities["case_id"].isin(cases["case_id"])], cases, Probing(benchmark.cases, seed),
        parse_probes(SIMULATED_WITH), seed=seed,
        errors=[probe.name for probe in PROBES.values() if probe.expected == "flips"],
    )  # fmt: skip


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
    Validated by tests/report/test_probed.py.
    """
    verdicts = verdicts[verdicts["dimension"] == dimension]
    gold = labels[labels["dimension"] == dimension].set_index("case_id")["choice"]
    made: dict[str, pd.DataFrame] = {}
    for judge, text, expected in _broken(rows, verdicts):
        name = known(text).name
        if len(made) < n and name not in made:
            case = _case_of(judge, text, expected, _firm(verdicts, text), gold)
            made |= {name: case} if len(case) else {}
    if not made:
        raise NotApplicable("no case shows a judge that significantly breaks what a probe expects.")
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


def probed_pages(
    cases: pd.DataFrame,
    benchmark: Benchmark,
    verdicts: pd.DataFrame,
    labels: pd.DataFrame,
    *,
    seeds: Mapping[str, int | None],
    note: str,
) -> CasesBeside:
    """Return cases of `illustrative_cases` as pages, plain and probed side by side, with the verdicts of the judge.

    Parameters
    ----------
    verdicts : of the dimension that is shown
    seeds : by judge, with which the probes of its run were drawn; None where nobody knows
    note : what stands above them
    """
    sections = [
        probed_html(
            benchmark, case_id, probe, seed=seeds[judge], verdicts=verdicts[verdicts["judge"] == judge], gold=labels,
            style=False,
        )
        for judge, probe, case_id in zip(cases["judge"], cases["probe"], cases["case_id"], strict=True)
    ]  # fmt: skip
    return CasesBeside("Cases that show what judges get wrong", sections, note=note, styles=STYLES)
