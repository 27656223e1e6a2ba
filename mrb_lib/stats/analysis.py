"""The data and options that tables are made from."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Final, cast

import pandas as pd

from mrb_lib.benchmarks.benchmark import Benchmark, empty_annotations
from mrb_lib.benchmarks.meta import BenchmarkMeta
from mrb_lib.benchmarks.votes import GOLD_RULES, GoldRule
from mrb_lib.benchmarks.votes import gold as gold_labels
from mrb_lib.stats.clusters import resampling_unit
from mrb_lib.stats.estimation import IntArray, Sampling
from mrb_lib.stats.options import check_choice, pick_dimensions
from mrb_lib.stats.panel import Panel, as_panel, panels
from mrb_lib.stats.scoring import Scores, score
from mrb_lib.stats.subfields import By, Group, groups
from mrb_lib.stats.verdicts import ANSWERS, Verdicts, label_rows, labels_of, names_of
from mrb_lib.tables.errors import InputError
from mrb_lib.tables.schema import CHOICES, KEYS, NO_PROBE, are_numbers

_ORDERED_PREFERENCE = ("A", "tie", "B")
POSTERIOR: Final = "posterior"
RULES: Final = (*GOLD_RULES, POSTERIOR)
ADJUDICATED: Final = "adjudicated"
MOST_AT_ONCE: Final = 2**22
"""Tables work on so many values at once, one per case and judge or pair of judges: in about 2 GB."""


GivenVerdicts = pd.DataFrame | Mapping[str, Panel] | None


@dataclass(frozen=True)
class Analysis:
    """The data and options of a table; nothing is made before a table asks for it.

    Attributes
    ----------
    probes : the verdicts of every probe
    probe : the one that `verdicts` is of
    adjudications : what reviewers said; None where nobody was asked
    groups, training, records, pairs, prompts, marks : see `analyze`
    others : the options of `analyze`
    """

    benchmark: Benchmark
    probes: Mapping[str, Panel]
    level: str
    dimensions: Sequence[str]
    probe: str = NO_PROBE
    rule: str = "majority"
    by: By = None
    cluster: str | None = None
    policy: str = "balanced"
    correction: str | None = None
    family: str = "dimension"
    resamples: int = 2000
    seed: int = 0
    adjudications: pd.DataFrame | None = None
    groups: pd.DataFrame | None = None
    training: pd.DataFrame | None = None
    records: pd.DataFrame | None = None
    pairs: Sequence[tuple[str, str]] | None = None
    prompts: pd.DataFrame | None = None
    marks: pd.DataFrame | None = None
    stated_gold: pd.DataFrame | None = None
    versus: str | None = None

    @classmethod
    def from_frames(
        cls,
        cases: pd.DataFrame,
        verdicts: pd.DataFrame | None = None,
        gold: pd.DataFrame | None = None,
        annotations: pd.DataFrame | None = None,
        *,
        dimensions: Sequence[str] | None = None,
        meta: BenchmarkMeta | None = None,
        training: pd.DataFrame | None = None,
        **options: Any,
    ) -> Analysis:
        """Make the analysis of tables in memory, without a benchmark folder.

        Parameters
        ----------
        cases, verdicts, annotations : tables as on disk
        gold : `case_id, dimension, choice`; None takes the majority of the annotations
        dimensions : the dimensions to report, in order; None takes all that are judged, labelled or annotated
        meta : task, categories and level of the labels; None is a preference
        options : as in `mrb_lib.analyze`
        """
        frames = [frame for frame in (verdicts, gold, annotations) if frame is not None]
        every = [str(name) for frame in frames for name in frame["dimension"].dropna().unique()]
        found = pick_dimensions(every, dimensions)
        known = BenchmarkMeta("tables", "general") if meta is None else meta
        about = replace(known, dimensions=tuple(dict.fromkeys((*known.dimensions, *every) if meta else every)))
        annotations = empty_annotations() if annotations is None else annotations
        if "images" not in cases:
            cases = cases.assign(images=cases["case_id"].map(lambda _: []))
        benchmark = Benchmark(about, cases.reset_index(drop=True), annotations)
        probes = {} if verdicts is None else read_panels(benchmark, [verdicts], training)
        given = {"level": about.level, "training": training, "stated_gold": gold, **options}
        return cls(benchmark=benchmark, probes=probes, dimensions=found, **given)

    @property
    def panel(self) -> Panel | None:
        """The verdicts of the probe as an array; None where there are none."""
        return self.probes.get(self.probe)

    @cached_property
    def verdicts(self) -> Verdicts:
        """The verdicts of the probe as codes."""
        return self.of_probe(self.probe)

    def of_probe(self, probe: str) -> Verdicts:
        """The verdicts of any probe as codes; without entries where there are none."""
        categories = self.meta.categories if self.meta.is_rating else CHOICES
        none = pd.DataFrame(columns=[*KEYS["verdicts"], "choice"])
        return Verdicts.of(as_panel(self.probes.get(probe, none), self.cases["case_id"], self.names, categories))

    @property
    def names(self) -> list[str]:
        """The dimensions of one choice, in order."""
        return [name for name in self.dimensions if name not in self.meta.labels]

    def in_turn(self) -> Iterator[Analysis]:
        """Yield analyses of a few dimensions each, of all where there are few verdicts, so that memory is enough."""
        judges = len(self.panel.judges) if self.panel else 1
        several = max(MOST_AT_ONCE // max(judges * len(self.cases), 1), 1)
        for first in range(0, max(len(self.names), 1), several):
            own = replace(self, dimensions=self.names[first : first + several])
            vars(own).update({name: getattr(self, name) for name in ("cases", "gold", "parts", "sampling")})  # cached
            yield own

    @cached_property
    def parts(self) -> list[Group]:
        """All cases, then the cases of each subfield."""
        return groups(self.cases, self.by)

    @cached_property
    def sampling(self) -> Sampling:
        """The clusters of the cases, and their draws."""
        return Sampling.of(self.cases, self.cluster, self.resamples, self.seed)

    @cached_property
    def unit(self) -> str:
        """The name of what is resampled."""
        return resampling_unit(self.cases, self.cluster).name

    @cached_property
    def labels(self) -> IntArray:
        """The gold labels as codes, shape (cases, dimensions); -1 where there is none."""
        return labels_of(self.gold, self.cases["case_id"], self.names, self.verdicts.categories)

    @cached_property
    def scores(self) -> Scores:
        """The scores of the verdicts by the policy."""
        return score(self.verdicts, self.labels, self.policy)

    @cached_property
    def judge_groups(self) -> pd.DataFrame:
        """The group of each judge; where nobody says, what their names do."""
        if self.groups is not None:
            return self.groups
        from mrb_lib.judges.roster.groups import judge_groups  # only two tables ask for them

        return judge_groups(self.panel.judges if self.panel is not None else [])

    @property
    def meta(self) -> BenchmarkMeta:
        """The metadata of the benchmark: its task, categories and dimensions."""
        return self.benchmark.meta

    @cached_property
    def cases(self) -> pd.DataFrame:
        """The cases table, in which copies of an image have one name."""
        return self.benchmark.cases_by_image

    @property
    def annotations(self) -> pd.DataFrame:
        """The annotations table."""
        return self.benchmark.annotations

    @property
    def categories(self) -> tuple[str, ...]:
        """The labels in their order of measurement: a tie lies between A and B, and numbers rise.

        Raises
        ------
        InputError
            The level has an order, and nothing says in which order the labels are.
        """
        meta, declared = self.meta, self.meta.categories
        if self.level == "nominal":
            return declared
        if meta.is_preference:
            return tuple(name for name in _ORDERED_PREFERENCE if name in declared)
        if are_numbers(declared):
            return tuple(sorted(declared, key=float))
        if meta.level == "nominal" and not meta.is_rating:
            raise InputError(
                f"level {self.level!r}: the order of the labels of {meta.name} ({', '.join(declared)}) is not known; "
                f'write them from the lowest as categories = ["...", "..."], and level = "{self.level}", in its '
                "benchmark.toml."
            )
        return declared

    @property
    def label_sets(self) -> Mapping[str, Sequence[str]]:
        """The labels of each dimension in which several may apply."""
        return {name: own for name, own in self.meta.labels.items() if name in self.dimensions}

    @property
    def annotated_gold(self) -> pd.DataFrame:
        """The gold labels that the annotators' votes give, before any reviewer looked at them."""
        if self.stated_gold is not None:
            return self.stated_gold
        return labels(self.benchmark, "majority" if self.rule == ADJUDICATED else self.rule)

    @cached_property
    def gold(self) -> pd.DataFrame:
        """The gold labels by the rule asked for; "adjudicated" is the majority as reviewers corrected it."""
        if self.stated_gold is not None or self.rule != ADJUDICATED or self.adjudications is None:
            return self.annotated_gold
        from mrb_lib.stats.annotators import adjudicated_gold  # only this rule asks reviewers

        return adjudicated_gold(labels(self.benchmark), self.adjudications)


def read_panels(
    benchmark: Benchmark, frames: Iterable[pd.DataFrame], training: pd.DataFrame | None = None
) -> dict[str, Panel]:
    """Lay out the verdicts about a benchmark, a frame at a time, such as `mrb_lib.verdicts.store.iter_verdicts` yields.

    Parameters
    ----------
    training : `judge`, `case_id`, see `mrb_lib.verdicts.training.training_cases`: verdicts of a judge on cases that
        it was trained on are laid aside in the panels' `seen`, and no table scores them; None lays none aside

    Raises
    ------
    InputError
        A verdict is on a dimension that the benchmark does not have, or as in `mrb_lib.stats.panel.panels`.
    """
    meta, case_ids, several = benchmark.meta, benchmark.cases["case_id"], list[pd.DataFrame]()

    def of_one_choice() -> Iterable[pd.DataFrame]:
        for frame in frames:
            unknown = sorted(set(map(str, frame["dimension"].dropna().unique())) - set(meta.dimensions))
            if unknown:
                raise InputError(
                    f"verdicts are on dimension {unknown[0]!r}, which benchmark {meta.name} does not have; "
                    "declare it in benchmark.toml or remove the run."
                )
            has_labels = frame["dimension"].isin(list(meta.labels))
            if meta.labels:
                several.append(label_rows(frame[has_labels], meta.labels))
            yield frame[~has_labels] if meta.labels else frame

    categories = meta.categories if meta.is_rating else CHOICES
    by_probe = panels(of_one_choice(), case_ids, meta.one_choice, categories)
    for probe, panel in panels(several, case_ids, names_of(meta.labels), ANSWERS).items():
        own = by_probe.get(probe) or as_panel(several[0].iloc[:0], case_ids, meta.one_choice, categories)
        by_probe[probe] = replace(own, labels=panel)
    return {probe: panel.without_seen(training, case_ids) for probe, panel in by_probe.items()}


def labels(benchmark: Benchmark, rule: str = "majority") -> pd.DataFrame:
    """The gold labels by any rule: those of `mrb_lib.benchmarks.votes.gold`, or "posterior" by Dawid and Skene's model.

    Raises
    ------
    InputError
        The rule is unknown.
    """
    check_choice("gold rule", rule, RULES)
    benchmark = benchmark.of_one_choice
    if rule != POSTERIOR:
        return gold_labels(benchmark, cast(GoldRule, rule))
    from mrb_lib.stats.annotators import posterior  # only this rule fits a model

    return posterior(benchmark)


def rule_in_words(benchmark: Benchmark, rule: str, dimension: str | None = None) -> str:
    """Name the gold labels at the head of an output; of the majority also say how many labels it is of.

    Parameters
    ----------
    dimension : the one that is shown; None for all
    """
    names = {POSTERIOR: "posterior (Dawid and Skene)", ADJUDICATED: "majority as reviewers corrected it"}
    if rule != "majority":
        return names.get(rule, rule)
    gold = labels(benchmark)
    return votes_behind(gold if dimension is None else gold[gold["dimension"] == dimension]) or rule


def votes_behind(gold: pd.DataFrame) -> str:
    """Describe the labels of a gold table: "majority of 2 or 3 annotators' labels", or with pluralities among them.

    Parameters
    ----------
    gold : with the votes columns of `gold`, and `n_annotators`

    Returns
    -------
    str
        A label is a plurality where it has the most votes, but not more than half of them; empty where there is none.
    """
    labelled = gold[gold["choice"].notna()]
    if labelled.empty:
        return ""
    n, top = labelled["n_annotators"], labelled.filter(regex="^votes_").max(axis=1)
    if n.max() == 1:
        return "the only label of each case"
    ends = dict.fromkeys([str(n.min()), str(n.max())])
    people = f"{(' or ' if n.max() - n.min() == 1 else ' to ').join(ends)} annotators' labels"
    pluralities = int((2 * top <= n).sum())
    if not pluralities:
        return f"majority of {people}"
    return f"majority or plurality of {people} ({pluralities:,} of {len(labelled):,} pluralities)"
