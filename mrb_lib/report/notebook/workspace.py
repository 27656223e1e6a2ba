"""What a notebook works on: a benchmark and the verdicts about it, analysed with one set of options."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, partial
from inspect import signature
from typing import Any, Final

import numpy as np
import pandas as pd

from mrb_lib.benchmarks.benchmark import Benchmark
from mrb_lib.benchmarks.meta import BenchmarkMeta
from mrb_lib.benchmarks.votes import vote_columns
from mrb_lib.figures.registry import FIGURES
from mrb_lib.figures.style import Paper
from mrb_lib.judges.roster.group_file import GroupFile
from mrb_lib.judges.roster.groups import chosen_judges, group_notes, judge_groups
from mrb_lib.report.links import cells_behind, with_queries
from mrb_lib.report.notebook.absent import Absent, Frame, missing, reason_of
from mrb_lib.report.notebook.conclusions import Conclusion
from mrb_lib.report.places import simulated_note
from mrb_lib.report.publish import Counts, PublishedTable, Publisher, blind_judges, check_id
from mrb_lib.report.tabular import Best, table_text
from mrb_lib.review.failures.lists import failing_cases
from mrb_lib.review.records.reviewed import Reviewed, reviewed
from mrb_lib.stats import analyze as tables
from mrb_lib.stats.analysis import ADJUDICATED, labels, read_panels, rule_in_words
from mrb_lib.stats.annotators import adjudicated_gold
from mrb_lib.stats.bootstrap import Estimates, bootstrap
from mrb_lib.stats.clusters import resampling_unit
from mrb_lib.stats.columns import TABLES
from mrb_lib.stats.panel import Panel
from mrb_lib.stats.scoring import correctness
from mrb_lib.stats.tables.accuracy import AVERAGE
from mrb_lib.stats.tables.composition import lengths
from mrb_lib.stats.tables.significance import LETTERS, PAIR
from mrb_lib.tables.schema import NO_PROBE
from mrb_lib.verdicts.manifest import Manifest
from mrb_lib.verdicts.prompts import run_prompts
from mrb_lib.verdicts.training import seen_notes, training_records

COLUMNS: Final = ("organ", "department", "modality", "dataset", "model_pair")
_COMPARES: Final = ("significance", "power", "jury", "dif", "difficulty", "gains", "groups")
_OF_ANNOTATORS: Final = ("agreement", "gold_rules")


@dataclass(frozen=True)
class Workspace:
    """A benchmark with the verdicts about it, and the options of everything that is made of them.

    Attributes
    ----------
    verdicts : the verdicts table of the judges that are shown, without replies; no rows where there are no runs
    manifests : one a run, in the order of the runs' names
    dimension : the one that single-dimension figures show
    by : the column of the cases to break down by; empty leaves it to the notebook
    where : the filter that chose the benchmark's cases; empty where they are all there
    policy, gold, cluster, resamples, seed : as for `mrb_lib.analyze`
    out : the folder to publish in; empty publishes nothing
    compared : what it is compared with; None where it stands alone
    group_file : groups of judges that go before those that are told from names and roster; None for none
    training : the cases that judges were trained on, see `mrb_lib.verdicts.training.training_cases`, whose verdicts
        are marked in `verdicts`; None where nobody knows
    """

    benchmark: Benchmark
    verdicts: pd.DataFrame
    manifests: list[Manifest]
    dimension: str
    by: str = ""
    where: str = ""
    policy: str = "balanced"
    gold: str = "majority"
    cluster: str = ""
    resamples: int = 2000
    seed: int = 0
    out: str = ""
    compared: BenchmarkMeta | None = None
    group_file: GroupFile | None = None
    training: pd.DataFrame | None = None

    @cached_property
    def _panels(self) -> pd.DataFrame | Mapping[str, Panel]:
        """The verdicts as tables read them, laid out once for all of a notebook's."""
        readable = self.benchmark.meta.is_judged and len(self.verdicts)
        return read_panels(self.benchmark, [self.verdicts]) if readable else self.verdicts

    @property
    def simulated(self) -> bool:
        """Whether everything shown has to say so: the benchmark, or what it is compared with, is simulated."""
        return bool(self._simulated_names)

    @property
    def note(self) -> str:
        """The sentence to show with everything; empty where no data are simulated."""
        return simulated_note(" and ".join(self._simulated_names)) if self.simulated else ""

    @property
    def _simulated_names(self) -> list[str]:
        metas = [self.benchmark.meta, *([self.compared] if self.compared else [])]
        return list(dict.fromkeys(meta.name for meta in metas if meta.kind == "simulated"))

    @property
    def judges(self) -> list[str]:
        """The judges that are shown."""
        return sorted(self.verdicts["judge"].unique())

    @property
    def summary(self) -> str:
        """What is worked on and with which options, for the top of a notebook."""
        meta, gold = self.benchmark.meta, rule_in_words(self.benchmark, self.gold, self.dimension)
        lines = [
            self.note or f"{meta.name}: {meta.kind} data.",
            f"{len(self.benchmark.cases):,} cases{self._only_where}, {len(self.benchmark.annotations):,} annotations, "
            f"{len(self.verdicts):,} verdicts of {len(self.judges)} judges.",
            f"Dimension {self.dimension}; policy {self.policy}; gold: {gold}; resamples {self.resamples}; "
            f"seed {self.seed}.",
            f"Cases are {resampling_unit(self.benchmark.cases_by_image, self.cluster or None).statement}.",
            *(f"{note}." for note in self.seen_notes),
        ]
        return "\n".join(lines)

    @property
    def seen_notes(self) -> list[str]:
        """A line for each judge that was trained on cases shown here, which no quantity counts; mostly none."""
        if self.training is None:
            return []
        here = self.training[self.training["case_id"].isin(self.benchmark.cases["case_id"])]
        return seen_notes(here, self.judges, len(self.benchmark.cases))

    def missing(self, *needs: str) -> str:
        """Why something that takes `needs` cannot be shown; see `mrb_lib.report.notebook.absent.missing`."""
        return missing(self.benchmark, self.verdicts, *needs)

    def column(self, name: str) -> str | None:
        """The name of a column of the cases that is filled in somewhere; else None, for no subfields."""
        return None if self.missing(name) else name

    def groups(self) -> pd.DataFrame:
        """The group of each judge that is shown; see `mrb_lib.judges.roster.groups.judge_groups`."""
        # A file may state groups of judges that are not shown.
        runs = (name for m in self.manifests for name in (m.judge, f"{m.judge}@{m.run_id}"))
        groups = judge_groups([*self.judges, *runs], self.manifests, override=self.group_file)
        return groups[groups["judge"].isin(self.judges)].reset_index(drop=True)

    def group_notes(self) -> str:
        """How the groups were told, as far as names and files alone do not say; empty where there is nothing to say."""
        return "\n".join(group_notes(self.groups()))

    def labels(self) -> pd.DataFrame:
        """The gold table by the workspace's gold rule."""
        if self.gold == ADJUDICATED:
            return adjudicated_gold(labels(self.benchmark), self.reviews().adjudications)
        return labels(self.benchmark, self.gold)

    def scores(self) -> Frame:
        """What the verdicts on each case are worth by the workspace's policy, on its dimension, for `bootstrap`.

        Returns
        -------
        DataFrame
            One row a judge and case that is scored: `judge`, `case_id`, `score` (0 to 1), `gold`, `votes_gold` (how
            many annotators chose it), `n_annotators`, and the columns of the cases. `Absent` where nothing can be
            scored.
        """
        reason = self.missing("preferences", "annotations", "verdicts")
        if reason:
            return Absent(reason)
        gold, verdicts = self.labels(), self.verdicts
        gold = gold[gold["dimension"] == self.dimension].reset_index(drop=True)
        verdicts = verdicts[(verdicts["dimension"] == self.dimension) & (verdicts["probe"] == NO_PROBE)]
        scored = correctness(verdicts, gold, self.policy).dropna(subset="score")[["judge", "case_id", "score"]]
        votes = vote_columns(self.benchmark.meta.categories)
        chosen = pd.Series([row.get(votes.get(row["choice"], "")) for row in gold.to_dict("records")], gold.index)
        stated = (
            gold[["case_id", "choice", "n_annotators"]].assign(votes_gold=chosen).rename(columns={"choice": "gold"})
        )
        frame: pd.DataFrame = scored.merge(stated, on="case_id", validate="m:1").merge(
            self.benchmark.cases, on="case_id"
        )
        frame.attrs = {"policy": self.policy, "gold": self.gold}
        return frame

    def bootstrap(
        self,
        frame: Frame,
        statistic: Callable[[pd.DataFrame], Estimates],
        *,
        by: str | None = None,
        scored: bool = False,
    ) -> Frame:
        """`mrb_lib.bootstrap` with the workspace's clusters, resamples and seed; `Absent` where the frame is.

        Parameters
        ----------
        by : may be a column of the cases, too, where the frame has `case_id`
        scored : whether the frame was made of `scores`, so that captions name the policy and the gold rule. pandas
            forgets them where a frame is grouped, merged or turned.
        """
        if isinstance(frame, Absent):
            return frame
        cases = self.benchmark.cases.set_index("case_id")
        added = {name: frame["case_id"].map(cases[name]) for name in (by, self.cluster) if name and name not in frame}
        clusters: str | pd.DataFrame = self.cluster or self.benchmark.cases_by_image
        resampled = {"cluster": clusters, "resamples": self.resamples, "seed": self.seed}
        made = bootstrap(frame.assign(**added), statistic, by=by, **resampled)  # type: ignore[arg-type]  # as declared
        made.attrs = {"policy": self.policy, "gold": self.gold} if scored else frame.attrs
        return made

    def apply(
        self, function: Callable[..., Any], *args: Any, needs: Collection[str] = (), unless: str = "", **options: Any
    ) -> Any:
        """What a function makes of its arguments; `Absent` where one of these is, or where the data lack something.

        Parameters
        ----------
        needs : what it takes, see `mrb_lib.report.notebook.absent.missing`
        unless : a reason not to; empty for none
        """
        lists = [item for arg in args if isinstance(arg, list) for item in arg]
        reason = self.missing(*needs) or unless or _first_reason(*args, *lists, *options.values())
        if reason:
            return Absent(reason)
        made = function(*args, **options)
        if isinstance(made, pd.DataFrame) and not made.attrs:
            frames = [item for item in (getattr(function, "__self__", None), *args, *lists)
                      if isinstance(item, pd.DataFrame) and item.attrs]  # fmt: skip
            made.attrs = dict(frames[0].attrs) if frames else {}
            made.attrs.update({name: options[name] for name in ("policy", "gold") if name in options})
        return made

    def longer(self) -> pd.Series:
        """The response of each case that has more words, "A" or "B", or "tie", by `case_id`."""
        counts = lengths(self.benchmark.cases).pivot(index="case_id", columns="side", values="words")
        side = np.select([counts["A"] > counts["B"], counts["A"] < counts["B"]], ["A", "B"], "tie")
        return pd.Series(side, counts.index, dtype="str", name="longer")

    def on(self, verdicts: Frame) -> Workspace:
        """The same workspace with other verdicts; those of `Absent` verdicts has none."""
        return replace(self, verdicts=self.verdicts.head(0) if isinstance(verdicts, Absent) else verdicts)

    def only(self, judges: str) -> Workspace:
        """The same workspace with some of its judges, see `mrb_lib.judges.roster.groups.chosen_judges`.

        Raises
        ------
        InputError
            A judge has no verdicts, or a group no judge.
        """
        if not judges.strip():
            return self
        names = chosen_judges(judges, self.groups())
        return self.on(self.verdicts[self.verdicts["judge"].isin(names)].reset_index(drop=True))

    def best_judge(self) -> str:
        """The judge of rank 1 on the dimension, see the table `accuracy`; empty without verdicts."""
        accuracy = self.analyze("accuracy", dimension=self.dimension, resamples=0, references=0)
        return next(iter(accuracy["judge"].tolist()), "")

    def reviews(self) -> Reviewed:
        """What reviewers said of the benchmark; see `mrb_lib.review.records.reviewed.reviewed`."""
        return reviewed(self.benchmark, self.judges, seed=self.seed)

    def analyze(
        self, table: str, *, needs: Collection[str] = (), unless: str = "", average: bool = False, **options: Any
    ) -> Frame:
        """A table of `mrb_lib.analyze` with the workspace's options; those named in the call go before them.

        Parameters
        ----------
        table : its name
        needs : what it takes besides what the table does, see `mrb_lib.report.notebook.absent.missing`
        unless : a reason not to make it; empty for none
        average : keep the rows of the dimension `average`
        options : see `mrb_lib.analyze`; `verdicts=None` leaves the verdicts out

        Returns
        -------
        DataFrame
            With the policy and the gold rule that it was made by in `attrs`, where it reads them. `Absent` where the
            data lack something that the table takes.

        Raises
        ------
        InputError
            An option is wrong.
        """
        by = options.get("by") or ()
        needed = _needs_of(table, rates=self.benchmark.meta.is_rating)
        reason = unless or self.missing(*needed, *([by] if isinstance(by, str) else by), *needs)
        dimension = options.get("dimension")
        if not reason and TABLES[table].needs_verdicts and dimension not in {None, *self.verdicts["dimension"]}:
            reason = f"no verdict is on the dimension {dimension}"
        if reason:
            return Absent(reason)
        chosen: dict[str, Any] = {
            "policy": self.policy, "gold": self.gold, "cluster": self.cluster or None, "resamples": self.resamples,
            "seed": self.seed, **options,
        }  # fmt: skip
        has_marks = options.get("marks") is not None
        if "groups" in TABLES[table].parameters_read(has_marks=has_marks):
            chosen.setdefault("groups", self.groups())
            chosen.setdefault("training", self.training)
        if "records" in TABLES[table].parameters:
            chosen.setdefault("records", training_records(self.manifests))
        if "prompts" in TABLES[table].parameters:
            chosen.setdefault("prompts", run_prompts(self.manifests))
        if chosen["gold"] == ADJUDICATED:
            chosen.setdefault("adjudications", self.reviews().adjudications)
        frame = tables.analyze(self.benchmark, chosen.pop("verdicts", self._panels), table, **chosen)
        if table in ("accuracy", "significance") and not average:
            frame = frame[frame["dimension"] != AVERAGE].reset_index(drop=True)
        unread = tables.unread(table, ("policy", "gold"), has_marks=has_marks)
        frame.attrs = {name: chosen[name] for name in ("policy", "gold") if name not in unread}
        return frame

    def letters(self, dimension: str | None = None) -> Frame:
        """The judges of each dimension in order, with their accuracy and the letters of the table `significance`."""
        tests = self.analyze("significance", dimension=dimension)
        accuracy = self.analyze("accuracy", dimension=dimension, references=0)
        if isinstance(tests, Absent) or isinstance(accuracy, Absent):
            return tests if isinstance(tests, Absent) else accuracy
        marked = tests[tests["part"] == LETTERS].rename(columns={"judge_1": "judge"})
        test = tests[tests["part"] == PAIR].groupby("dimension")["test"].first()
        marked = marked.assign(test=marked["dimension"].map(test))
        own = ["judge", "dimension", "letters", "with_best", "test", "correction", "family", "reason"]
        known = accuracy.drop(columns=["reason"])
        frame = marked[own].merge(known[known["subfield"].isna()], on=["judge", "dimension"])
        frame.attrs = dict(accuracy.attrs)
        return frame

    def failing(self, by: str | None = None, *, dimension: str | None = None) -> Frame:
        """The cases that each judge gets wrong, see `behind.with_queries`; for `behind` of a figure.

        Parameters
        ----------
        by : a column of the cases; None for all cases together only
        dimension : None for all
        """
        reason = self.missing("preferences", "annotations", "verdicts", *([by] if by else []))
        if reason:
            return Absent(reason)
        frame = failing_cases(
            self.verdicts[self.verdicts["probe"] == NO_PROBE], self.labels(), self.benchmark.cases, by=by,
            dimensions=None if dimension is None else [dimension], policy=self.policy,
        )  # fmt: skip
        return with_queries(frame, self.benchmark.cases, policy=self.policy, gold=self.gold, where=self.where)

    def figure(
        self,
        name: str,
        data: Frame,
        *,
        needs: Collection[str] = (),
        applies: bool = True,
        otherwise: str = "",
        n: Counts = None,
        words: Mapping[str, object] | None = None,
        title: str = "",
        publish_as: str = "",
        csv: Frame | None = None,
        behind: Frame | None = None,
        scored: bool = True,
        **options: Any,
    ) -> Paper | Absent:
        """Draw a figure and publish it, or say why it does not apply to these data: what the notebook shows.

        Parameters
        ----------
        name : of a figure that is registered in `mrb_lib.figures`, whose words and needs are used
        data, options : what it is drawn from; the workspace's dimension goes without saying
        needs : what it takes besides, see `mrb_lib.report.notebook.absent.missing`
        applies : whether the data hold what it is about
        otherwise : why the figure does not apply, where the column `reason` of `data` does not say so
        n : the number of cases, or several
        words : what its texts have in braces, besides `dimension`. A column in `by` takes the place of the one that
            the figure needs
        title : another one; empty for the figure's own
        publish_as : another id to publish it under
        csv : every number drawn, for the CSV beside the figure; None is `data`
        behind : the cases that its marks lead to, see `failing` or `notebook.case_lists`; None where they
            lead nowhere
        scored : whether the caption names the policy and the gold rule that `data` were made by

        Raises
        ------
        InputError
            There is no such figure, or an id is not plain.
        """
        spec, words = FIGURES[name], {"dimension": self.dimension, **(words or {})}
        taken = [words["by"] if need in COLUMNS and "by" in words else need for need in spec.needs]
        reason = self.missing(*map(str, taken), *needs) or _first_reason(
            data, *options.values(), *words.values(), csv, n
        )
        if not reason and not (applies and len(data)):
            stated = data["reason"].dropna() if "reason" in data.columns else ()
            reason = otherwise or next(iter(stated), "these data hold nothing to show")
        id, title = publish_as or name, title or spec.title
        if reason or isinstance(data, Absent) or isinstance(csv, Absent):
            return self._publisher.absent(id, title=title, reason=reason)
        for option in {"dimension", "order_by"} & set(signature(spec.draw).parameters):
            options.setdefault(option, self.dimension)
        facts = {name: data.attrs.get(name) for name in ("policy", "gold") if scored}
        return self._publisher.figure(
            spec.draw(data, **options),
            id,
            title=title,
            caption=spec.caption.format_map(words),
            reading=spec.reading.format_map(words),
            data=data if csv is None else csv,
            n=n,
            behind=None if behind is None or isinstance(behind, Absent) else partial(self._behind, behind),
            **facts,
        )

    def _behind(self, frame: pd.DataFrame, drawn: Paper) -> dict[str, object]:
        return cells_behind(frame, drawn, self.dimension)

    def table(
        self,
        id: str,  # the name of the column in index.json
        data: Frame,
        *,
        title: str,
        caption: str,
        best: Mapping[str, Best] | None = None,
        marked: Mapping[str, Collection[str]] | None = None,
        reference_rows: Collection[str] = (),
        parts: str = "",
        underline: bool = False,
        n: Counts = None,
        digits: int = 3,
        beside: str = "",
    ) -> PublishedTable | Absent:
        """Publish a table: full precision in the CSV, rounded with the best in bold in LaTeX and in the notebook.

        Parameters
        ----------
        id : lower-case words joined by hyphens, stable for ever
        data : its rows; a column `x` with `x_low` and `x_high` is shown as one, see
            `mrb_lib.report.tabular.table_text`
        best : for each column named, whether the largest or the smallest value is the best
        marked : for each column named, the values of the first column in whose rows it is marked as the best are
        reference_rows : values of the first column whose rows do not compete; below a line
        parts, underline : as for `mrb_lib.report.tabular.table_text`
        beside : a page with the cases that its rows name, of `mrb_lib.review.page`, which the report shows below it;
            empty for none

        Returns
        -------
        PublishedTable or Absent
            For the notebook to show. The sidecar holds the same cells under `shown`.
        """
        check_id(id)
        if isinstance(data, Absent):
            return Absent(reason_of(data), title)
        text = table_text(
            data, best=best, marked=marked, reference_rows=reference_rows, parts=parts, underline=underline,
            digits=digits,
        )  # fmt: skip
        facts = {name: data.attrs.get(name) for name in ("policy", "gold")}
        return self._publisher.table(data, text, id, title=title, caption=caption, n=n, beside=beside, **facts)

    def conclude(self, sentence: Callable[..., str] | str, *frames: Any, **values: Any) -> Conclusion:
        """The conclusion of a notebook: what the answer to its question is on these data.

        Parameters
        ----------
        sentence : one of `notebook.conclusions`, called with the rest; or a text with names in braces, which
            `values` replace
        """
        reason = _first_reason(*frames, *values.values())
        if reason:
            return Conclusion(f"Not applicable: {reason}.")
        said = sentence.format(**values) if isinstance(sentence, str) else sentence(*frames, **values)
        only = f"Of the cases{self._only_where}:" if self.where else ""
        return Conclusion(" ".join(filter(None, (self.note, only, said))))

    @property
    def _publisher(self) -> Publisher:
        meta = self.benchmark.meta
        kind = "simulated" if self.simulated else meta.kind
        blind = blind_judges(self.manifests)
        return Publisher(self.out, f"{meta.name}{self._only_where}", kind, self.note, blind)

    @property
    def _only_where(self) -> str:
        """What chose the cases, to follow the name of what they are of; empty for all."""
        return f" where {self.where}" if self.where else ""


def _needs_of(table: str, *, rates: bool) -> tuple[str, ...]:
    """What a table takes, in the words of `missing`."""
    spec = TABLES[table]
    needs = []
    if spec.why_no_preferences:
        needs = ["ratings"]
    elif spec.why_no_ratings or (spec.needs_verdicts and not rates):
        needs = ["preferences"]
    if spec.needs_verdicts:
        needs.append("verdicts")
    if TABLES[table].needs_verdicts and "gold" not in tables.unread(table, ("gold",)):
        needs.append("annotations")
    if table in ("ceiling", "adjudication"):
        needs.append("annotations")
    if table in _OF_ANNOTATORS:
        needs += ["annotations", "annotators"]
    if table in _COMPARES:
        needs.append("judges")
    if table == "ratings":
        needs += ["verdicts", "annotations"]
    if table in ("ranking", "ppi"):
        needs += ["preferences", "annotations", "verdicts", "model_pair"]
    return tuple(needs)


def _first_reason(*values: object) -> str:
    return next(filter(None, map(reason_of, values)), "")
