"""Verdicts on probed cases for a notebook: those of the runs, or those of judges made on the spot."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

import pandas as pd

from mrb_lib.benchmarks.benchmark import load, save
from mrb_lib.demo.probed_judges import simulated_probed_verdicts
from mrb_lib.judges.roster.engines import ENGINES
from mrb_lib.judges.roster.roster import DEFAULT_ENGINE
from mrb_lib.judges.settings import Settings
from mrb_lib.probes import PROBES, ProbedImages, ProbeId, Probing, parse_probes
from mrb_lib.probes.apply import applicable, sample
from mrb_lib.report.notebook.absent import Absent, Frame
from mrb_lib.report.notebook.live.training import BASE, one_thread
from mrb_lib.report.notebook.workspace import Workspace
from mrb_lib.runs.execute import judge
from mrb_lib.runs.plan import ProbeOptions
from mrb_lib.runs.progress import RunProgress
from mrb_lib.stats.columns import TABLES
from mrb_lib.tables.schema import NO_PROBE
from mrb_lib.verdicts.store import ANALYSIS_COLUMNS, load_verdicts

SIMULATED_WITH: Final = (
    "image/removed,image/swapped-same,image/blur,image/low-contrast,response/credentials,response/lengthened,"
    "response/markdown,response/side,response/number,question/colleague:2,question/sex,question/ethnicity"
)
TINY_WITH: Final = "image/blank,image/blur:4,prompt/labels:4"
_N_CASES: Final = 300
_N_TINY: Final = 12
_SHEET: Final = 4
"""The severity at which pictures are shown; that of a probe with fewer is its highest."""


@dataclass(frozen=True)
class ProbedVerdicts:
    """A workspace whose verdicts are on probed cases, too.

    Attributes
    ----------
    note : the sentence to show with everything they say; empty for the verdicts of the runs
    mark : the same in a few words, for the face of a figure
    """

    workspace: Workspace
    note: str = ""
    mark: str = ""

    @property
    def probes(self) -> list[ProbeId]:
        """The probes of the verdicts that this library knows."""
        names = sorted(set(self.workspace.verdicts["probe"]) - {NO_PROBE})
        return [probe for name in names if name.partition(":")[0] in PROBES for probe in parse_probes(name)]


def probed_verdicts(workspace: Workspace) -> ProbedVerdicts | Absent:
    """The verdicts of the runs, where some are on probed cases; else, on the embedded benchmark, simulated ones.

    Returns
    -------
    ProbedVerdicts or Absent
        On the spot: the judges of `mrb_lib.demo.probed_judges`, one without faults and others with a fault each,
        on 300 cases. `Absent` on another benchmark, with the command that makes such verdicts.
    """
    if len(workspace.verdicts) and workspace.verdicts["probe"].ne(NO_PROBE).any():
        return ProbedVerdicts(workspace)
    benchmark = workspace.benchmark
    truth = None if benchmark.path is None else benchmark.path / "truth.parquet"
    if truth is None or not truth.is_file():
        return Absent("no verdict is on a probed case (mrb judge BENCH RUNS --judge NAME --probe NAMES makes some)")
    cases = sample(benchmark.cases, _N_CASES, workspace.seed)
    qualities = pd.read_parquet(truth)
    verdicts = simulated_probed_verdicts(
        qualities[qualities["case_id"].isin(cases["case_id"])], cases, Probing(benchmark.cases, workspace.seed),
        parse_probes(SIMULATED_WITH), seed=workspace.seed,
        errors=[probe.name for probe in PROBES.values() if probe.expected == "flips"],
    )  # fmt: skip
    note = (
        f"The verdicts on probed cases are SIMULATED: of judges made on the spot, one without faults and others with a "
        f"fault each, on {len(cases)} cases."
    )
    return ProbedVerdicts(workspace.on(verdicts), note, "SIMULATED JUDGES")


def random_weights(
    probed: ProbedVerdicts, folder: Path, *, progress: Callable[[RunProgress], None] | None = None
) -> Frame:
    """The verdicts of a very small judge on a few cases, plain and probed, where the others are simulated.

    Parameters
    ----------
    folder : to work in
    progress : see `mrb_lib.runs.execute.judge`

    Returns
    -------
    DataFrame
        The verdicts table of a LLaVA with random weights, asked by `packed`, on 12 cases under `TINY_WITH`. `Absent`
        where the runs hold verdicts on probed cases, or packages are missing.

    Notes
    -----
    Validated by tests/report/notebook/live/test_probes.py.
    """
    if not probed.note:
        return Absent("the runs hold verdicts on probed cases, so that no judge is made on the spot")
    engine = ENGINES[DEFAULT_ENGINE]
    if missing := engine.missing_packages():
        return Absent(f"needs {engine.install}: {', '.join(missing)} not installed")
    from mrb_lib.judges.local.tiny import write_tiny  # torch is imported only here

    benchmark, seed = probed.workspace.benchmark, probed.workspace.seed
    cases = sample(benchmark.cases, _N_TINY, seed).reset_index(drop=True)
    labels = benchmark.annotations[benchmark.annotations["case_id"].isin(cases["case_id"])].reset_index(drop=True)
    images = {name: benchmark.images[name] for names in cases["images"] for name in names}
    save(replace(benchmark, cases=cases, annotations=labels, images=images), folder / "cases")
    texts = [*cases["question"], *cases["response_a"], *cases["response_b"]]
    write_tiny(folder / BASE, "llava", texts=texts, vocabulary=4000, seed=seed)
    with one_thread():
        judge(
            load(folder / "cases"), folder / "runs", [f"path:{folder / BASE}+{DEFAULT_ENGINE}"],
            probes=ProbeOptions((TINY_WITH,)), settings=Settings(seed=seed, device="cpu", dtype="float32"),
            progress=progress,
        )  # fmt: skip
    verdicts = load_verdicts(folder / "runs")
    return verdicts.assign(p_a=verdicts["p_a"].round(4))[list(ANALYSIS_COLUMNS)]


def applying(workspace: Workspace, probes: list[ProbeId], by: str | None) -> Frame:
    """To how many cases each probe applies, in all and by a column of the cases.

    Returns
    -------
    DataFrame
        `probe, subfield, n_cases, n_applies, most_usual_reason` (why it does not apply to the others).
    """
    if not probes:
        return Absent("no probe of these verdicts is in the list of probes")
    cases, probing = workspace.benchmark.cases, Probing(workspace.benchmark.cases, workspace.seed)
    rows = []
    for probe in dict.fromkeys(ProbeId(one.probe, 1, one.both) for one in probes):
        reasons = applicable(probing, list(cases["case_id"]), probe)
        reasons.index = cases.index
        groups = {None: reasons} | (dict(list(reasons.groupby(cases[by]))) if by else {})
        rows += [
            {
                "probe": probe.probe, "subfield": name, "n_cases": len(own), "n_applies": int(own.isna().sum()),
                "most_usual_reason": next(iter(own.dropna().mode()), None),
            }
            for name, own in groups.items()
        ]  # fmt: skip
    return pd.DataFrame(rows)


def pictures(workspace: Workspace) -> Frame:
    """A picture of each modality under every probe of pictures, for a contact sheet.

    Returns
    -------
    DataFrame
        `probe, severity, modality, case_id, image` (a name for `ProbedImages`); a row for each that applies.
    """
    cases = workspace.benchmark.cases
    if "modality" not in cases or "images" not in cases or not cases["images"].map(len).any():
        return Absent("the cases have no images of a known modality")
    shown = cases[cases["images"].map(len).gt(0)].drop_duplicates("modality").dropna(subset="modality")
    probing, rows = Probing(cases, workspace.seed), []
    for _, case in shown.sort_values("modality").iterrows():
        rows.append((NO_PROBE, 0, case["modality"], case["case_id"], next(iter(case["images"]))))
        for probe in PROBES.values():
            if probe.changes != "image":
                continue
            severity = min(_SHEET, probe.severities)
            changed = probing.probed(str(case["case_id"]), ProbeId(probe.name, severity))
            if not isinstance(changed, str) and changed.images:
                rows.append((probe.name, severity, case["modality"], case["case_id"], changed.images[0]))
    return pd.DataFrame(rows, columns=["probe", "severity", "modality", "case_id", "image"])


def images_of(workspace: Workspace) -> ProbedImages:
    """The images of the benchmark, and those that probes change."""
    return ProbedImages(workspace.benchmark.images, workspace.benchmark.cases)


def rows_of(table: pd.DataFrame, part: str, columns: list[str], *, absent: str) -> Frame:
    """Some columns of a part of the table `probes`; `Absent` where it has no row."""
    rows = table.loc[table["part"] == part, columns]
    return rows if len(rows) else Absent(absent)


def conclusion(table: pd.DataFrame, *, note: str) -> str:
    """What the table `probes` says, after what is to be said first."""
    return f"{note} {TABLES['probes'].says(table)}".strip()
