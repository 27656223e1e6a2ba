"""Verdicts on probed cases: those of the runs, or on the embedded benchmark those of SIMULATED judges; and cases."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from mrb_lib.benchmarks.benchmark import read_table
from mrb_lib.demo.probed_judges import simulated_probed_verdicts
from mrb_lib.probes import PROBES, Probing, parse_probes
from mrb_lib.probes.apply import sample
from mrb_lib.report.table import Text
from mrb_lib.report.tabular import table_text
from mrb_lib.review.case import STYLES
from mrb_lib.review.case.probed import probe_seed, probed_html
from mrb_lib.review.failures.lists import illustrative_cases
from mrb_lib.review.pages import template
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


def probe_cases(study: Study, probes: Table, *, n: int = 3) -> Text:
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
    title = "Cases that show what judges get wrong"
    page = template("static").render(styles=STYLES, note=study.note, html=sections)
    caption = (
        "One case for each of the probes that are broken most, chosen to show the fault, not how often it occurs. "
        f"Choices of the judge at fault on {dimension}, and how many judges leave the right choice."
    )
    study.publisher.table(cases, table_text(cases), "probe-cases", title=title, caption=caption)
    return Text(f"{title}: {len(sections)}", page)
