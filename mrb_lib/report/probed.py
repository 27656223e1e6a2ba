"""Verdicts on probed cases: those of the runs, or on the embedded benchmark those of SIMULATED judges; and cases."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pandas as pd

from mrb_lib.benchmarks.benchmark import read_table
from mrb_lib.demo.probed_judges import simulated_probed_verdicts
from mrb_lib.probes import PROBES, Probing, parse_probes
from mrb_lib.probes.apply import sample
from mrb_lib.probes.expectation import known
from mrb_lib.probes.probe import parse_id, target
from mrb_lib.report.tabular import table_text
from mrb_lib.review.case import STYLES
from mrb_lib.review.case.probed import probe_seed, probed_html
from mrb_lib.review.page import CasesBeside
from mrb_lib.tables.errors import NotApplicable
from mrb_lib.tables.schema import NO_PROBE

if TYPE_CHECKING:
    from mrb_lib.report.study import Study
    from mrb_lib.report.table import Table

SIMULATED_WITH: Final = (
    "image/removed,image/swapped-same,image/blur,image/low-contrast,response/credentials,response/lengthened,"
    "response/markdown,response/side,response/number,question/colleague:2,question/sex,question/ethnicity"
)
REMARK: Final = (
    "The judges are SIMULATED here, since no run holds verdicts on probed cases: one without faults, the others with "
    "one fault each."
)
_N_CASES: Final = 300
_PRESENTED: Final = ["judge", "case_id", "order", "repeat"]


def with_probes(study: Study) -> Study:
    """Return the study with verdicts on probed cases; where the embedded benchmark has none they are SIMULATED.

    The SIMULATED judges are those of `mrb_lib.demo.probed_judges`, on 300 cases. Any other benchmark stays as it is:
    nobody knows what its cases are like.
    """
    benchmark, seed = study.benchmark, study.options.seed
    truth = benchmark.path / "truth.parquet" if benchmark.path else None
    is_embedded = truth is not None and truth.is_file() and benchmark.meta.is_preference
    if truth is None or not is_embedded or study.verdicts["probe"].ne(NO_PROBE).any():
        return study
    cases, qualities = sample(benchmark.cases, _N_CASES, seed), read_table(truth)
    made = simulated_probed_verdicts(
        qualities[qualities["case_id"].isin(cases["case_id"])], cases, Probing(benchmark.cases, seed),
        parse_probes(SIMULATED_WITH), seed=seed,
        errors=[probe.name for probe in PROBES.values() if probe.expected == "flips"],
    )  # fmt: skip
    return study.with_verdicts(made, [], REMARK)


def probe_cases(study: Study, probes: Table, *, n: int = 3) -> CasesBeside:
    """Show the cases that illustrate best what judges get wrong, plain and probed; a report publishes them.

    Parameters
    ----------
    probes : the table `probes` of the study, or some of its rows, such as those of one judge
    n : how many cases at most, one per probe

    Raises
    ------
    NotApplicable
        No judge significantly breaks what a probe expects, or no case shows it.
    """
    dimension, rows = probes.dimension, probes.frame
    rows = rows[rows["part"].eq("probe") & rows["dimension"].eq(dimension) & rows["subfield"].isna()]
    cases = illustrative_cases(study.verdicts, study.labels, rows, dimension=dimension, n=n)
    seeds = dict.fromkeys(study.judges, study.options.seed) | {run.judge: probe_seed(run) for run in study.manifests}
    here = study.verdicts[study.verdicts["dimension"] == dimension]
    sections = [
        probed_html(
            study.benchmark, case_id, probe, seed=seeds[judge], verdicts=here[here["judge"] == judge],
            gold=study.labels, style=False,
        )
        for judge, probe, case_id in zip(cases["judge"], cases["probe"], cases["case_id"], strict=True)
    ]  # fmt: skip
    pages = CasesBeside("Cases that show what judges get wrong", sections, note=study.note, styles=STYLES)
    caption = (
        "One case for each of the probes that are broken most, chosen to show the fault, not how often it occurs. "
        f"Choices of the judge at fault on {dimension}, and how many judges leave the right choice."
    )
    study.publisher.table(cases, table_text(cases), "probe-cases", title=pages.title, caption=caption)
    return pages


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
