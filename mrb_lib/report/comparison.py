"""A study beside another one: an earlier report, another release of the benchmark, or other runs."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np
import pandas as pd

from mrb_lib.benchmarks.benchmark import load
from mrb_lib.figures.registry import FIGURES
from mrb_lib.figures.style import Paper
from mrb_lib.report.places import DEMO, locate
from mrb_lib.report.publish import PublishedTable, Publisher
from mrb_lib.report.table import Text, draw
from mrb_lib.report.tabular import table_text
from mrb_lib.stats.analysis import ADJUDICATED, labels
from mrb_lib.stats.contrasts import ALPHA
from mrb_lib.stats.methods.changes import accuracy_changes
from mrb_lib.stats.phrases import on, opening, points, some
from mrb_lib.tables.errors import InputError, NotApplicable
from mrb_lib.tables.schema import NO_PROBE
from mrb_lib.verdicts.basis import IN_REPORT, RUN_COLUMNS, VERDICT_COLUMNS, Basis, basis_of, digests_of, read_basis
from mrb_lib.verdicts.store import run_folders

if TYPE_CHECKING:
    from mrb_lib.report.study import Study

_NAMED: Final = 5  # judges that a sentence names
_SHARES: Final = ("accuracy_then", "accuracy_now", "difference")
_COLUMNS: Final = ["judge", "n", *_SHARES, "low", "high", "gained", "lost", "p_adjusted"]
SAME: Final = "same"
CHANGES: Final = {
    SAME: "the same case with the same gold label",
    "unlabelled": "the same case, without a gold label then and now",
    "gold": "the same case with another gold label, or with one only then or only now",
    "text": "another question or another response under the same id",
    "images": "the same texts with other images",
    "added": "only now",
    "removed": "only then",
}
"""The possible changes of a case, with their meanings; a case with another text may have another label, too."""
OTHER_PROMPT: Final = "another"


def case_changes(
    then: pd.DataFrame, now: pd.DataFrame, gold_then: pd.DataFrame, gold_now: pd.DataFrame
) -> pd.DataFrame:
    """Say what became of each case on a dimension; a case that was renamed is removed and added.

    Parameters
    ----------
    then, now : one row per case: `case_id` and the digests `text` and `images`, see `mrb_lib.verdicts.basis.digests_of`
    gold_then, gold_now : the gold labels of that dimension: `case_id`, `choice`, null or absent where there is none

    Returns
    -------
    DataFrame
        One row per case of either side: `case_id`, `change` (a key of `CHANGES`). Cases in the order of `now`, then
        those that were removed.
    """
    both = now.merge(then, on="case_id", how="outer", suffixes=("", "_then"), indicator=True, validate="1:1")
    order = pd.Index([*now["case_id"], *then["case_id"]]).unique()
    both = both.set_index("case_id").loc[order]
    before, after = (gold.set_index("case_id")["choice"].reindex(order).fillna("") for gold in (gold_then, gold_now))
    conditions = {
        "added": both["_merge"] == "left_only",
        "removed": both["_merge"] == "right_only",
        "text": both["text"] != both["text_then"],
        "images": both["images"] != both["images_then"],
        "gold": before != after,
        "unlabelled": after == "",
    }
    change = np.select(list(conditions.values()), list(conditions), SAME)
    return pd.DataFrame({"case_id": order, "change": change}, dtype="str")


def judge_pairs(then: pd.DataFrame, now: pd.DataFrame) -> pd.DataFrame:
    """List every judge of either side, and pair those of both sides.

    Parameters
    ----------
    then, now : one row per judge that is shown: `judge`, its own `name` (several runs of one judge are shown as
        `name@run`), `run_id`, `prompt_id`, `prompt_hash`; empty text where there is none

    Returns
    -------
    DataFrame
        `judge` to show; `judge_then` and `judge_now`, one of them null for a judge of one side; `prompt`: "same",
        "another", "not known" (nothing says with which one a side was asked), "only then" or "only now"; `prompt_then`,
        `prompt_now`. Runs of one name are paired by their ids; those whose id is on one side only, each with each: so
        are two prompts of one judge.
    """
    then, now = (
        side.assign(
            asked=side["prompt_id"] + side["prompt_hash"],
            prompt=(side["prompt_id"] + " (" + side["prompt_hash"].str[:8] + ")").where(
                side["prompt_hash"] != "", side["prompt_id"].replace("", "none stated")
            ),
        )
        for side in (then, now)
    )
    sides: Final = ("_then", "_now")
    same = then.merge(now, on=["name", "run_id"], suffixes=sides)
    old, new = (side[~side["run_id"].isin(same["run_id"])] for side in (then, now))
    pairs = pd.concat([same, old.merge(new, on="name", how="outer", suffixes=sides)]).sort_values("name", kind="stable")
    before, after = pairs["judge_then"], pairs["judge_now"]
    conditions = {
        "only then": after.isna(),
        "only now": before.isna(),
        "same": pairs["asked_then"] == pairs["asked_now"],
        "not known": (pairs["asked_then"] == "") | (pairs["asked_now"] == ""),
    }
    prompt = np.select(list(conditions.values()), list(conditions), OTHER_PROMPT)
    renamed = before.notna() & after.notna() & (before != after)
    judge = after.fillna(before).mask(renamed, after + " (then " + before + ")")
    columns = ["judge", "judge_then", "judge_now", "prompt", "prompt_then", "prompt_now"]
    return pairs.assign(judge=judge, prompt=prompt)[columns].astype("str").reset_index(drop=True)


def other_side(benchmark: str, other: str) -> Basis:
    """The basis of what is compared with.

    Parameters
    ----------
    benchmark : the one of now
    other : the folder of an earlier report; a benchmark folder, or "demo"; or a folder of runs of `benchmark`

    Raises
    ------
    InputError
        It is none of these, or cannot be read.
    """
    folder = Path(other)
    is_benchmark = other == DEMO or (folder / "benchmark.toml").is_file()
    if not is_benchmark and (folder / IN_REPORT).is_dir():
        return read_basis(folder / IN_REPORT)
    if not is_benchmark and not (folder.is_dir() and run_folders(folder)):
        old = "this report does not hold what it was made from; make it again, then compare."
        none = "is neither an earlier report nor a benchmark nor a folder of runs; name one of these."
        raise InputError(f"{folder}: {old if (folder / IN_REPORT.parent).is_dir() else none}")
    places = locate(other) if is_benchmark else locate(benchmark, other)
    return basis_of(load(places.benchmark), places.runs)


def check_shared(then: Basis, now: Basis, named: str) -> None:
    """Raise `InputError` where no case has the same id, texts and images on both sides; `named` is what was named."""
    if len(then.digests.merge(now.digests)):
        return
    ids = int(then.digests["case_id"].isin(now.digests["case_id"]).sum())
    other = f"; {ids:,} ids occur in both, with other texts or images" if ids else ""
    raise InputError(
        f"{named}: shares no case with {now.benchmark.meta.name} ({len(then.digests):,} cases of "
        f"{then.benchmark.meta.name} there, {len(now.digests):,} here{other}); compare reports of the same cases."
    )


def compared_with(old: str | Path, benchmark: Path, runs: Path | None, out: Path) -> tuple[str, str]:
    """Find what a report is compared with.

    Parameters
    ----------
    old : an earlier report, a benchmark or a folder of runs, see `other_side`
    benchmark, runs, out : the folders of now, and that of the report

    Returns
    -------
    tuple
        For the notebook that compares, and the fingerprint of all that is compared with.

    Raises
    ------
    InputError
        It cannot be read, shares no case with the benchmark, or is the folder that is written to.
    """
    if Path(old).resolve() == out.resolve():
        raise InputError(f"--compare {old}: is the folder that is written to; name another one with --out.")
    place = DEMO if str(old) == DEMO else str(Path(old).absolute())
    then = other_side(str(benchmark), place)
    check_shared(then, basis_of(load(benchmark), runs), f"--compare {old}")
    return place, then.fingerprint()


def compare(study: Study, other: str) -> Comparison:
    """Return a study beside an earlier report, another benchmark with its runs, or other runs; see `other_side`.

    Raises
    ------
    NotApplicable
        Nothing is named.
    InputError
        It cannot be read, or shares no case with the study.
    """
    if not other:
        raise NotApplicable("nothing to compare with is named; `mrb report --compare OLD` names it.")
    rows = [
        (judge, run.judge, run.run_id, run.prompt_id, run.prompt_hash)
        for run in study.manifests for judge in (run.judge, f"{run.judge}@{run.run_id}") if judge in study.judges
    ]  # fmt: skip
    runs = pd.DataFrame(rows, columns=RUN_COLUMNS, dtype="str")
    plain = study.verdicts.loc[study.verdicts["probe"] == NO_PROBE, VERDICT_COLUMNS]
    now = Basis(study.benchmark, digests_of(study.benchmark), plain, runs)
    then = other_side(str(study.benchmark.path or ""), other)
    if study.options.where:  # what the filter asks of a case is known of those of now only
        then = replace(then, digests=then.digests[then.digests["case_id"].isin(now.digests["case_id"])])
    check_shared(then, now, other)
    return Comparison(study, then, now)


@dataclass(frozen=True)
class Comparison:
    """Two sides, then and now, and what changed between them on the main dimension of the study.

    Attributes
    ----------
    study : of now
    then, now : what each side rests on
    """

    study: Study
    then: Basis
    now: Basis

    @cached_property
    def pairs(self) -> pd.DataFrame:
        """The judges of either side; see `judge_pairs`."""
        return judge_pairs(self.then.runs, self.now.runs)

    @cached_property
    def changes(self) -> pd.DataFrame:
        """What became of each case; see `case_changes`."""
        study, rule = self.study, "majority" if self.study.options.gold == ADJUDICATED else self.study.options.gold
        if study.dimension not in self.then.benchmark.meta.dimensions:
            raise NotApplicable(f"{self.then.benchmark.meta.name} has no dimension {study.dimension}.")
        both = (labels(self.then.benchmark, rule), study.labels)
        gold = [side[side["dimension"] == study.dimension] for side in both]
        return case_changes(self.then.digests, self.now.digests, *gold)

    def moves(self, by: str | None = None) -> pd.DataFrame:
        """Return how the accuracy of each judge changed on the cases that are the same; see `accuracy_changes`."""
        study, shared = self.study, self.study.options
        if self.pairs.dropna(subset=["judge_then", "judge_now"]).empty:
            raise NotApplicable("no judge is on both sides.")
        same = study.labels["case_id"].isin(self.changes.loc[self.changes["change"] == SAME, "case_id"])
        frame = accuracy_changes(
            self.then.verdicts.assign(probe=NO_PROBE), study.verdicts, self.pairs,
            study.labels[same], study.benchmark.cases_by_image, policy=shared.policy,
            by=by, dimensions=[study.dimension], cluster=shared.cluster, resamples=shared.resamples, seed=shared.seed,
        )  # fmt: skip
        place = {name: i for i, name in enumerate(study.order)}
        return frame.sort_values("judge_now", key=lambda each: each.map(place), kind="stable", ignore_index=True)

    @property
    def _publisher(self) -> Publisher:
        meta = self.then.benchmark.meta
        return self.study.publisher.also_of(meta.name, meta.kind)

    def _table(self, frame: pd.DataFrame, name: str, title: str, caption: str) -> PublishedTable:
        text = table_text(frame, in_percent=[each for each in _SHARES if each in frame])
        return self._publisher.table(frame, text, f"comparison-{name}", title=title, caption=caption)

    def sides(self) -> PublishedTable:
        """Show what is compared: a row per property, `then` and `now`."""

        def facts(side: Basis) -> list[str]:
            counts = (len(side.digests), len(side.runs), len(side.verdicts))
            return [side.benchmark.meta.name, side.benchmark.meta.kind, *(f"{count:,}" for count in counts)]

        names = ["benchmark", "kind", "cases", "judges", "verdicts"]
        frame = pd.DataFrame({"side": names, "then": facts(self.then), "now": facts(self.now)})
        return self._table(frame, "sides", "What is compared", "The benchmark and the verdicts about it, then and now.")

    def cases(self) -> PublishedTable:
        """Show how many cases are the same, and how many changed and in what, with the first three ids of each."""
        ids = {change: self.changes.loc[self.changes["change"] == change, "case_id"] for change in CHANGES}
        named = [", ".join(each.head(3)) if change != SAME else "" for change, each in ids.items()]
        n = [len(each) for each in ids.values()]
        frame = pd.DataFrame({"change": list(CHANGES), "meaning": CHANGES.values(), "n": n, "cases": named})
        caption = f"What became of the cases {on(self.study.dimension)}; of those that changed the first three ids."
        return self._table(frame, "cases", "What became of the cases", caption)

    def judges(self) -> PublishedTable:
        """Show every judge of either side with its prompts."""
        caption = "Whether a judge was asked with the same prompt then and now; n/a where it is on one side only."
        frame = self.pairs.drop(columns=["judge_then", "judge_now"])
        return self._table(frame, "judges", "Judges and prompts", caption)

    def plot(self) -> Paper:
        """Draw the accuracy of each judge then and now on the same cases, and the difference."""
        frame, table = self.moves(), self.study.table("accuracy", by=None, dimension=self.study.dimension)
        spec = FIGURES["comparison"]
        words = {
            side: f"{basis.benchmark.meta.name}, {len(basis.digests):,} cases"
            for side, basis in (("then", self.then), ("now", self.now))
        }
        return draw(
            spec, frame[frame["subfield"].isna()], self._publisher, id=spec.id, options={},
            context={"dimension": self.study.dimension, **words}, policy=self.study.options.policy,
            behind=self.study.behind("wrong", table, self.study.dimension),
        )  # fmt: skip

    def moved(self, by: str = "") -> PublishedTable:
        """Show accuracies then and now on the same cases, over all of them or by a column."""
        frame = self.moves(by or None)
        frame, columns = frame[frame["subfield"].notna() == bool(by)], [*_COLUMNS]
        columns[1:1] = ["subfield"] if by else []
        caption = (
            f"Accuracy (%) {on(self.study.dimension)} over the n same cases, the difference with its 95% interval, "
            "cases whose score rose or fell, and Holm-adjusted p."
        )
        return self._table(frame[columns], by or "moved", f"Accuracy then and now{f' by {by}' if by else ''}", caption)

    @property
    def sentence(self) -> Text:
        """Which judges changed significantly, and how far the cases and the prompts are the same."""
        n = Counter(self.changes["change"])
        changed = ", ".join(f"{n[change]:,} {change}" for change in CHANGES if n[change] and change != SAME)
        others = f" (others: {changed})" if changed else ""
        cases = f"{n[SAME]:,} cases are the same with the same gold label{others}."
        moves = self.moves()
        beyond = moves[moves["p_adjusted"] <= ALPHA]
        beyond = beyond.sort_values("difference", key=np.abs, ascending=False, kind="stable")
        who = [f"{row['judge']} {points(row, 'difference')}" for _, row in beyond.head(_NAMED).iterrows()]
        who += [f"and {len(beyond) - _NAMED} more"] if len(beyond) > _NAMED else []
        said = f"{opening(self.study.dimension)}, {len(beyond):,} of {len(moves):,} judges changed significantly"
        prompts = int((self.pairs["prompt"] == OTHER_PROMPT).sum())
        asked = f" {some(prompts, 'judge', 'judges')} asked with another prompt." if prompts else ""
        return Text(f"{said}{' (Holm-adjusted): ' if who else ''}{'; '.join(who)}. {cases}{asked}")
