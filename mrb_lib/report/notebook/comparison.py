"""A benchmark and its verdicts beside others: an earlier report, another release, another prompt."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import pandas as pd

from mrb_lib.benchmarks.benchmark import load
from mrb_lib.report.notebook.absent import Absent, Frame, reason_of
from mrb_lib.report.notebook.releases import (
    ONLY_NOW,
    ONLY_THEN,
    OTHER_PROMPT,
    SAME,
    case_changes,
    judge_pairs,
    release_counts,
)
from mrb_lib.report.notebook.workspace import Workspace
from mrb_lib.report.places import DEMO, locate
from mrb_lib.stats.analysis import ADJUDICATED, labels
from mrb_lib.stats.annotators import adjudicated_gold
from mrb_lib.stats.contrasts import ALPHA
from mrb_lib.stats.methods.changes import accuracy_changes
from mrb_lib.stats.phrases import on, opening, some
from mrb_lib.tables.errors import InputError
from mrb_lib.verdicts.basis import IN_REPORT, Basis, basis_of, read_basis
from mrb_lib.verdicts.store import run_folders

NOTHING = "there is nothing to compare with; name other_benchmark or other_runs, as `mrb report --compare OLD` does"


@dataclass(frozen=True)
class Comparison:
    """Two sides, then and now, and what moved between them.

    Attributes
    ----------
    workspace : of now; what it publishes says SIMULATED where either side is
    then, now : the two sides; None where there is nothing to compare with
    pairs : see `mrb_lib.report.notebook.releases.judge_pairs`, of the judges that are shown
    changes : see `mrb_lib.report.notebook.releases.case_changes`, on the workspace's dimension
    """

    workspace: Workspace
    then: Basis | None
    now: Basis | None
    pairs: Frame
    changes: Frame

    def sides(self) -> Frame:
        """What is compared: one row a property, `then` and `now`."""
        if self.then is None or self.now is None:
            return Absent(NOTHING)
        both = (self.then, self.now)
        rows = [
            ("benchmark", *(side.benchmark.meta.name for side in both)),
            ("kind", *(side.benchmark.meta.kind for side in both)),
            ("cases", *(f"{len(side.digests):,}" for side in both)),
            ("annotations", *(f"{len(side.benchmark.annotations):,}" for side in both)),
            ("judges", *(f"{len(side.runs):,}" for side in both)),
            ("verdicts", *(f"{len(side.verdicts):,}" for side in both)),
        ]
        return pd.DataFrame(rows, columns=["side", "then", "now"])

    def words(self) -> dict[str, str | Absent]:
        """What a figure's texts call `then` and `now`."""
        if self.then is None or self.now is None:
            return dict.fromkeys(("then", "now"), Absent(NOTHING))
        sides = {"then": self.then, "now": self.now}
        return {name: f"{side.benchmark.meta.name}, {len(side.digests):,} cases" for name, side in sides.items()}

    def counts(self) -> Frame:
        """How many cases stayed the same, and what became of the others; see `release_counts`."""
        if isinstance(self.changes, Absent):
            return self.changes
        counts = release_counts(self.changes).drop(columns="dimension")
        if self.workspace.where:  # what the filter asks of a case is known of those of now only
            counts = counts[counts["change"] != "removed"]
        return counts

    def judges(self) -> Frame:
        """Every judge of either side with its prompts, and its accuracy over all its own cases then and now."""
        if isinstance(self.pairs, Absent) or self.then is None:
            return self.pairs
        w = self.workspace
        shown = self.pairs.merge(_accuracy(w, "now"), on="judge_now", how="left")
        before = replace(
            w, benchmark=self.then.benchmark, verdicts=self.then.verdicts, cluster="", where="",
            gold="majority" if w.gold == ADJUDICATED else w.gold,
        )  # fmt: skip
        return shown.merge(_accuracy(before, "then"), on="judge_then", how="left")

    def moved(self, by: str | None = None) -> Frame:
        """Return the accuracy changes of each judge on the workspace's dimension, the most accurate judge first."""
        w = self.workspace
        if isinstance(self.pairs, Absent) or isinstance(self.changes, Absent) or self.then is None:
            return Absent(reason_of(self.pairs) or reason_of(self.changes))
        reason = w.missing("preferences", "annotations", "verdicts", *([by] if by else []))
        if not reason and self.pairs.dropna(subset=["judge_then", "judge_now"]).empty:
            reason = "no judge is on both sides"
        if reason:
            return Absent(reason)
        same = self.changes.loc[self.changes["change"] == SAME, ["case_id", "dimension"]]
        labels = w.labels().merge(same, on=["case_id", "dimension"])
        frame = accuracy_changes(
            self.then.verdicts, w.verdicts, self.pairs, labels, w.benchmark.cases_by_image, policy=w.policy, by=by,
            dimensions=[w.dimension], cluster=w.cluster or None, resamples=w.resamples, seed=w.seed,
        )  # fmt: skip
        frame = frame.sort_values(["accuracy_now", "judge"], ascending=[False, True], kind="stable", ignore_index=True)
        frame.attrs = {"policy": w.policy, "gold": w.gold}
        return frame


def _accuracy(w: Workspace, side: str) -> pd.DataFrame:
    """The accuracy of each judge of one side, to add to the pairs; no rows where it is absent."""
    table = w.analyze("accuracy", dimension=w.dimension, resamples=0, references=0)
    names = {"judge": f"judge_{side}", "n": f"n_{side}", "accuracy": f"accuracy_{side}"}
    known = pd.DataFrame(columns=list(names)) if isinstance(table, Absent) else table[list(names)]
    return known.rename(columns=names).astype({f"n_{side}": "Int64", f"accuracy_{side}": "float64"})


def compare(
    w: Workspace, benchmark: str, runs: str, other_benchmark: str, other_runs: str, *, judges: str = ""
) -> Comparison:
    """Put what a notebook works on beside another benchmark, other runs, or an earlier report.

    Parameters
    ----------
    w : of now
    benchmark, runs : what it was opened from
    other_benchmark, other_runs : see `other_side`; both empty is nothing to compare with
    judges : the judges to show, separated by commas, as `w` was opened with; empty for all of either side

    Raises
    ------
    InputError
        What is named cannot be read, or shares no case with `benchmark`.
    """
    if not other_benchmark and not other_runs:
        return Comparison(w, None, None, Absent(NOTHING), Absent(NOTHING))
    now, then = this_side(benchmark, runs), other_side(benchmark, other_benchmark, other_runs)
    check_shared(then, now, other_benchmark or other_runs)
    w = replace(w, compared=then.benchmark.meta)
    pairs = judge_pairs(then.runs, now.runs)
    if judges:
        pairs = pairs[pairs["judge_now"].isin(w.judges)].reset_index(drop=True)
    d = w.dimension
    if d not in then.benchmark.meta.dimensions:
        return Comparison(w, then, now, pairs, Absent(f"{then.benchmark.meta.name} has no dimension {d}"))
    ids = w.benchmark.cases["case_id"]
    before, after = (side.digests[side.digests["case_id"].isin(ids) | (not w.where)] for side in (then, now))
    adjudicated = w.gold == ADJUDICATED
    gold_then = labels(then.benchmark, "majority" if adjudicated else w.gold)
    if adjudicated:
        gold_then = adjudicated_gold(gold_then, w.reviews().adjudications)
    return Comparison(w, then, now, pairs, case_changes(before, after, gold_then, w.labels(), dimensions=[d]))


def this_side(benchmark: str, runs: str) -> Basis:
    """The basis of what a notebook's parameters name."""
    folders = locate(benchmark, runs)
    return basis_of(load(folders.benchmark), folders.runs)


def other_side(benchmark: str, other_benchmark: str, other_runs: str) -> Basis:
    """The basis of what is compared with.

    Parameters
    ----------
    benchmark : the one of now
    other_benchmark : the folder of an earlier report; or a benchmark folder, or "demo"; or a folder of runs of
        `benchmark`; empty for `benchmark` itself
    other_runs : the runs; empty for `runs` inside the other benchmark

    Raises
    ------
    InputError
        It is none of these, or cannot be read.
    """
    other = Path(other_benchmark)
    if not other_benchmark or other_benchmark == DEMO or (other / "benchmark.toml").is_file():
        return this_side(other_benchmark or benchmark, other_runs)
    if (other / IN_REPORT).is_dir():
        if other_runs:
            raise InputError(
                f"other_runs {other_runs}: {other} is a report, which keeps its own verdicts; leave it out."
            )
        return read_basis(other / IN_REPORT)
    if other.is_dir() and run_folders(other):
        return this_side(benchmark, other_benchmark)
    if (other / IN_REPORT.parent).is_dir():
        raise InputError(f"{other}: this report does not hold what it was made from; make it again, then compare.")
    raise InputError(
        f"{other}: is neither an earlier report nor a benchmark nor a folder of runs; name one of them to compare with."
    )


def check_shared(then: Basis, now: Basis, named: str) -> None:
    """Refuse two sides that have no case in common.

    Parameters
    ----------
    named : what was named to compare with

    Raises
    ------
    InputError
        No case has the same id, texts and images on both sides.
    """
    if len(then.digests.merge(now.digests)):
        return
    ids = int(then.digests["case_id"].isin(now.digests["case_id"]).sum())
    other = f"; {ids:,} ids occur in both, with other texts or images" if ids else ""
    raise InputError(
        f"{named}: shares no case with {now.benchmark.meta.name} ({len(then.digests):,} cases of "
        f"{then.benchmark.meta.name} there, {len(now.digests):,} here{other}); compare reports of the same cases."
    )


def conclusion(moves: pd.DataFrame, counts: pd.DataFrame, pairs: pd.DataFrame, *, dimension: str) -> str:
    """Which judges moved beyond chance, and how far the cases and the prompts stayed the same."""
    n = dict(zip(counts["change"], counts["n"], strict=True))
    changed = ", ".join(f"{n[change]:,} {words}" for change, words in _CHANGED.items() if n.get(change))
    cases = f"{n[SAME]:,} cases are the same with the same gold label {on(dimension)}"
    cases += f"; not compared: {changed}." if changed else ", all there are."
    shown = moves[moves["subfield"].isna()]
    beyond = shown[shown["p_adjusted"] <= ALPHA]
    still = int((shown["difference"].eq(0) & shown["p_value"].isna()).sum())
    said = f"{opening(dimension)}, {len(beyond):,} of {len(shown):,} judges of both sides moved beyond chance"
    said += f" ({shown['correction'].iloc[0].title()}-adjusted)"
    said += "".join(
        f"{': ' if not i else '; '}{row['judge']} by {_points(row)}" for i, (_, row) in enumerate(beyond.iterrows())
    )
    said += f". {still:,} gave the same score on every case." if still else "."
    prompts = int((pairs["prompt"] == OTHER_PROMPT).sum())
    asked = f" {some(prompts, 'judge', 'judges')} asked with another prompt." if prompts else ""
    alone = "".join(
        f" {where.capitalize()}: {', '.join(names)}."
        for where in (ONLY_THEN, ONLY_NOW)
        if (names := pairs.loc[pairs["prompt"] == where, "judge"].tolist())
    )
    return f"{said}{asked}{alone} {cases}"


def _points(row: pd.Series) -> str:
    """A difference to a tenth of a point, since an interval near zero rounds to it, as "+0.3 points [+0.1, +0.6]"."""
    value, low, high = (f"{100 * row[name]:+.1f}" for name in ("difference", "low", "high"))
    return f"{value} points" + ("" if pd.isna(row["low"]) else f" [{low}, {high}]")


_CHANGED = {
    "unlabelled": "without a label",
    "gold": "with another gold label", "text": "with another text", "images": "with other images",
    "added": "only now", "removed": "only then",
}  # fmt: skip
