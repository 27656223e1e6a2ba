"""A benchmark with the verdicts about it, opened once: its tables, figures and cases."""

from __future__ import annotations

import html
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache, partial
from pathlib import Path
from typing import Any, Final

import pandas as pd

from mrb_lib.benchmarks.benchmark import Benchmark, load
from mrb_lib.benchmarks.votes import vote_columns
from mrb_lib.figures.registry import FIGURES
from mrb_lib.figures.style import Paper
from mrb_lib.judges.roster.groups import JURY, MODEL_GROUPS, TUNED, chosen_judges, judge_groups, read_group_file
from mrb_lib.report.defaults import DEFAULTS, Options
from mrb_lib.report.links import cells_behind, counted, links_of
from mrb_lib.report.places import locate, simulated_note
from mrb_lib.report.publish import Behind, PublishedTable, Publisher, blind_judges
from mrb_lib.report.table import Table, Text, draw
from mrb_lib.report.tabular import table_text
from mrb_lib.review.app import can_run
from mrb_lib.review.failures.lists import hardest_cases
from mrb_lib.review.failures.query import Query
from mrb_lib.review.records.reviewed import Reviewed, reviewed, store_of, tags_of
from mrb_lib.stats import analyze as tables
from mrb_lib.stats.analysis import ADJUDICATED, RULES, labels, read_panels, rule_in_words
from mrb_lib.stats.annotators import adjudicated_gold
from mrb_lib.stats.bootstrap import Estimates, bootstrap
from mrb_lib.stats.clusters import resampling_unit
from mrb_lib.stats.columns import TABLES
from mrb_lib.stats.options import check_choice
from mrb_lib.stats.panel import Panel
from mrb_lib.stats.phrases import human_level
from mrb_lib.stats.scoring import correctness
from mrb_lib.stats.subfields import By, columns_of, subfield_values
from mrb_lib.stats.where import asks_for_tags, restricted
from mrb_lib.tables.errors import InputError, NotApplicable, nearest
from mrb_lib.tables.files import REVIEWS
from mrb_lib.tables.schema import CHOICES, CONSENSUS, NO_PROBE, ORGAN_DEPARTMENT, POLICIES, SUBFIELDS
from mrb_lib.verdicts.manifest import Manifest, read_manifest
from mrb_lib.verdicts.store import ANALYSIS_COLUMNS, COSTS, empty_verdicts, load_verdicts, run_folders, run_prompts
from mrb_lib.verdicts.training import mark_seen, seen_notes, training_cases, training_curves, training_records

_BELOW_HALF: Final = 0.5


def open(  # read as mrb.open
    benchmark: str | Path,
    runs: str | Path | None = None,
    *,
    policy: str | None = None,
    gold: str | None = None,
    by: By = None,
    cluster: str | None = None,
    where: str | None = None,
    judges: str | Sequence[str] | None = None,
    groups: str | Path | None = None,
    resamples: int | None = None,
    seed: int | None = None,
) -> Study:
    """Open a benchmark with its runs.

    None takes what `set_defaults` says, or else the default named below.

    Parameters
    ----------
    benchmark : a benchmark folder; "demo" and "demo-ratings" are the embedded (SIMULATED) benchmarks
    runs : a folder of runs; default: `runs` inside the benchmark folder, or no verdicts where there is none
    policy : the scoring policy; default: balanced
    gold : the rule that makes gold labels of annotations; default: majority
    by : the column, or columns, of the cases that tables are broken down by; default: none
    cluster : the column whose values are resampled together; default: see `mrb_lib.stats.clusters.resampling_unit`
    where : only the cases that this filter leaves, such as "organ == 'eye'"; default: all
    judges : names, in a list or separated by commas, or `group:medical` for all of a group; default: all
    groups : a file that states the groups of judges, see `mrb_lib.judges.roster.groups.read_group_file`; default: none
    resamples, seed : of the cluster bootstrap; default: 2000 and 0

    Raises
    ------
    InputError
        A folder is missing, a table breaks its contract, or an option names what is not there.
    """
    given = {"policy": policy, "gold": gold, "by": by, "cluster": cluster, "where": where, "judges": judges,
             "runs": runs, "groups": groups, "resamples": resamples, "seed": seed}  # fmt: skip
    chosen = DEFAULTS | {name: value for name, value in given.items() if value is not None}
    shared = Options(**{name: chosen[name] for name in Options.__dataclass_fields__ if name in chosen})
    check_choice("policy", shared.policy, POLICIES)
    check_choice("gold rule", shared.gold, (*RULES, ADJUDICATED))
    folder, runs_folder = locate(str(benchmark), str(chosen.get("runs") or ""))
    loaded = load(folder)
    for column in columns_of(shared.by):
        subfield_values(loaded.cases, column)
    verdicts, manifests = empty_verdicts()[[*ANALYSIS_COLUMNS, *COSTS]], list[Manifest]()
    if runs_folder is not None:
        manifests = [read_manifest(path) for path in run_folders(runs_folder)]
        verdicts = load_verdicts(runs_folder, loaded.cases, costs=True)
    training = training_cases(manifests, loaded)
    verdicts = mark_seen(verdicts, training)
    if shared.where:
        loaded, verdicts = _kept(loaded, verdicts, shared)
    names = sorted(verdicts["judge"].unique())
    runs_of = (name for m in manifests for name in (m.judge, f"{m.judge}@{m.run_id}"))
    stated = read_group_file(Path(chosen["groups"])) if chosen.get("groups") else None
    of_judges = judge_groups([*names, *runs_of], manifests, override=stated)
    of_judges = of_judges.assign(stated_base=of_judges["judge"].map(stated.bases if stated else {}).astype("str"))
    of_judges = of_judges[of_judges["judge"].isin(names)].reset_index(drop=True)
    wanted = chosen.get("judges") or ""
    if wanted := wanted if isinstance(wanted, str) else ",".join(wanted):
        of_judges = of_judges[of_judges["judge"].isin(chosen_judges(wanted, of_judges))].reset_index(drop=True)
        verdicts = verdicts[verdicts["judge"].isin(of_judges["judge"])].reset_index(drop=True)
    return Study(loaded, verdicts, manifests, shared, of_judges, training, str(chosen.get("out") or ""))


def _kept(benchmark: Benchmark, verdicts: pd.DataFrame, shared: Options) -> tuple[Benchmark, pd.DataFrame]:
    """The cases that the filter of some options leaves, with their verdicts."""
    judged = sorted(verdicts["judge"].unique())
    said = reviewed(benchmark, judged, seed=shared.seed).adjudications if "review" in shared.where else None
    tags = tags_of(benchmark) if asks_for_tags(shared.where) else None
    left, kept = restricted(benchmark, verdicts, shared.where, policy=shared.policy, adjudications=said, tags=tags)
    return left, pd.DataFrame(kept)


@dataclass(frozen=True, repr=False)
class Study:
    """A benchmark with the verdicts about it, and the options of all that is made of them; `open` makes one.

    Attributes
    ----------
    benchmark : the cases that `where` leaves, their annotations and images
    verdicts : the verdicts table of the judges shown, without replies; no rows where there are no runs
    manifests : one per run, in the order of the runs' names
    options : see `open`
    groups : `judge`, `group` (such as open, proprietary or medical) and how it was told, one row per judge shown
    training : the cases that judges were trained on; None where nobody knows
    out : the folder to publish in; empty publishes nothing
    remark : a sentence to show with everything, such as that a judge has random weights; may be empty
    """

    benchmark: Benchmark
    verdicts: pd.DataFrame
    manifests: Sequence[Manifest]
    options: Options
    groups: pd.DataFrame
    training: pd.DataFrame | None = None
    out: str = ""
    remark: str = ""
    _made: dict[str, Table] = field(default_factory=dict)

    def table(self, name: str, **options: Any) -> Table:
        """Make a table of `mrb analyze`.

        Parameters
        ----------
        name : of the table; `mrb analyze --help` lists them with their questions
        options : those of `mrb analyze --table NAME`, such as `dimension` or `by`; they go before those of the study

        Raises
        ------
        NotApplicable
            The data lack what the table is made from.
        InputError
            A name or an option is unknown.
        """
        key = f"{name} {sorted((key, repr(value)) for key, value in options.items())}"
        if key not in self._made:
            self._made[key] = self._analyze(name, options)
        return self._made[key]

    __getitem__ = table

    def _ipython_key_completions_(self) -> list[str]:
        return list(TABLES)

    def _analyze(self, name: str, options: Mapping[str, Any]) -> Table:
        spec, shared = TABLES[name], self.options
        has_marks = options.get("marks") is not None
        reads = {*spec.parameters_read(has_marks=has_marks), *spec.options}
        for option in options:
            check_choice(f"table {name}: option", option, sorted(reads))
        chosen = {each: value for each, value in vars(shared).items() if each != "where"}
        more = {"groups": self.groups, "training": self.training, "pairs": self.pairs,
                "records": training_records(self.manifests), "prompts": run_prompts(self.manifests)}  # fmt: skip
        chosen |= {each: value for each, value in more.items() if each in reads} | dict(options)
        if "adjudications" in reads or chosen["gold"] == ADJUDICATED:
            chosen.setdefault("adjudications", self.reviews.adjudications)
        frame = tables.analyze(self.benchmark, chosen.pop("verdicts", self.panels), name, **chosen)
        if why := spec.lacks(frame):
            raise NotApplicable(f"table {name}: {why}.")
        if "judge" in frame and name != "accuracy":  # which makes the order
            place = {judge: i for i, judge in enumerate(self.order)}
            ranks = frame["judge"].map(place).fillna(len(place)).where(frame["judge"].notna(), -1)
            frame = frame.iloc[ranks.argsort(kind="stable")].reset_index(drop=True)
        facts: dict[str, Any] = {each: chosen[each] for each in ("policy", "gold") if each in reads}
        if "correction" in frame and frame["correction"].notna().any():
            facts["correction"] = frame["correction"].dropna().iloc[0]
        own = {each: options.get(each, spec.default(each)) for each in spec.options}
        return Table(spec, frame, self, {**own, **options, **facts})

    @cached_property
    def panels(self) -> pd.DataFrame | Mapping[str, Panel]:
        """The verdicts as tables read them, laid out once."""
        readable = self.benchmark.meta.is_judged and len(self.verdicts)
        return read_panels(self.benchmark, [self.verdicts]) if readable else self.verdicts

    @cached_property
    def judges(self) -> list[str]:
        """The judges that are shown, by name."""
        return sorted(self.verdicts["judge"].unique())

    @property
    def dimension(self) -> str:
        """The main dimension: "overall", or the first."""
        names = self.benchmark.meta.dimensions
        return "overall" if "overall" in names else names[0]

    @cached_property
    def order(self) -> list[str]:
        """The judges by rank on the main dimension: their order in every figure and table."""
        ranked: list[str] = []
        with suppress(NotApplicable):
            board = self.table("accuracy", dimension=self.dimension, by=None, resamples=0, references=0).frame
            ranked = board["judge"].tolist()
        return list(dict.fromkeys([*ranked, *self.judges]))

    @property
    def best_judge(self) -> str:
        """The judge that ranks first on the main dimension; NotApplicable where nobody judged."""
        if not self.order:
            raise NotApplicable(f"there are no verdicts about {self.benchmark.meta.name}.")
        return self.order[0]

    @property
    def pairs(self) -> list[tuple[str, str]] | None:
        """The pairs (base, tuned) that the file of groups states; None where it states none."""
        rows = self.groups.reindex(columns=["stated_base", "judge"])
        rows = rows[rows["stated_base"].isin(self.judges)]
        return list(zip(rows["stated_base"], rows["judge"], strict=True)) or None

    @property
    def derives_departments(self) -> bool:
        """Whether every department is that of the organ of its case, so that nobody need have stated it."""
        cases = self.benchmark.cases.reindex(columns=["organ", "department"])
        return bool(cases["department"].eq(cases["organ"].map(ORGAN_DEPARTMENT)).all())

    @cached_property
    def group_of(self) -> dict[str, str]:
        """The group of each judge, in the one order of groups; a judge tuned from another by its name is "tuned"."""
        rows = self.groups.assign(group=self.groups["group"].mask(self.groups["how"] == TUNED, "tuned"))
        place = [*MODEL_GROUPS, "tuned", *sorted(set(rows["group"]) - {*MODEL_GROUPS, "tuned", JURY}), JURY]
        rows = rows.sort_values("group", key=lambda names: names.map(place.index), kind="stable")
        return dict(zip(rows["judge"], rows["group"], strict=True))

    @cached_property
    def reviews(self) -> Reviewed:
        """What reviewers said of the benchmark."""
        return reviewed(self.benchmark, self.judges, seed=self.options.seed)

    @cached_property
    def labels(self) -> pd.DataFrame:
        """The gold labels by the rule of the study: `case_id`, `dimension`, `choice` (null without one), votes."""
        if self.options.gold == ADJUDICATED:
            return adjudicated_gold(labels(self.benchmark), self.reviews.adjudications)
        return labels(self.benchmark, self.options.gold)

    def scores(self, dimension: str | None = None) -> pd.DataFrame:
        """Return what the verdicts on each case are worth by the policy of the study, for `bootstrap`.

        Parameters
        ----------
        dimension : None is the main one

        Returns
        -------
        DataFrame
            One row per judge and case that is scored: `judge`, `case_id`, `score` (0 to 1), `gold`, `votes_gold` (how
            many annotators chose it), `n_annotators`, and the columns of the cases.

        Raises
        ------
        NotApplicable
            No verdict can be scored.
        """
        verdicts, gold, stated, categories = self._of(dimension)
        scored = correctness(verdicts, gold, self.options.policy, categories).dropna(subset="score")
        frame: pd.DataFrame = scored[["judge", "case_id", "score"]].merge(stated, on="case_id")
        return frame.merge(self.benchmark.cases, on="case_id")

    def _of(self, dimension: str | None) -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame, tuple[str, ...]]:
        """The verdicts on a dimension without probes, its gold labels, and what a verdict may choose.

        The third frame is what people said of each case: `case_id`, `gold`, `votes_gold` and `n_annotators`.
        """
        dimension, meta = dimension or self.dimension, self.benchmark.meta
        check_choice("dimension", dimension, meta.dimensions)
        verdicts = self.verdicts[self.verdicts["dimension"].eq(dimension) & self.verdicts["probe"].eq(NO_PROBE)]
        gold = self.labels[self.labels["dimension"].eq(dimension)].reset_index(drop=True)
        if verdicts.empty or gold.empty or not meta.is_judged:
            raise NotApplicable(f"{meta.name} has no verdict on {dimension} that can be scored.")
        votes = vote_columns(meta.categories)
        chosen: Any = [row.get(votes.get(row["choice"], "")) for row in gold.to_dict("records")]
        stated = gold[["case_id", "choice", "n_annotators"]].rename(columns={"choice": "gold"})
        return verdicts, gold, stated.assign(votes_gold=chosen), meta.categories if meta.is_rating else CHOICES

    def bootstrap(
        self,
        frame: pd.DataFrame,
        statistic: Sequence[str] | Callable[[pd.DataFrame], Estimates],
        *,
        by: str | None = None,
    ) -> pd.DataFrame:
        """Resample rows of cases with the clusters, resamples and seed of the study; see `mrb_lib.bootstrap`.

        Parameters
        ----------
        frame : with `case_id`
        statistic : from any rows of the frame to named numbers, or the columns of which to take means
        by : a column of the frame or of the cases
        """
        of_rows = statistic if callable(statistic) else lambda rows: rows[[*statistic]].mean()
        shared, cases = self.options, self.benchmark.cases.set_index("case_id")
        added = {name: frame["case_id"].map(cases[name]) for name in (by, shared.cluster) if name and name not in frame}
        clusters: Any = shared.cluster or self.benchmark.cases_by_image
        return bootstrap(
            frame.assign(**added), of_rows, by=by, cluster=clusters, resamples=shared.resamples, seed=shared.seed
        )

    def cases(
        self, *, judge: str | None = None, dimension: str | None = None, wrong: bool | None = None
    ) -> pd.DataFrame:
        """Return the cases from the lowest score to the highest, or those that a judge gets wrong or right.

        Parameters
        ----------
        judge : None is the mean of all judges
        dimension : None is the main one
        wrong : True keeps scores below 1/2, False the others, None all

        Returns
        -------
        DataFrame
            The cases with `score`, `n_judges`, `gold`, `votes_gold` (how many annotators chose it), `n_annotators`, and
            how many verdicts chose each category, or `none`. Equal scores are in random order, by the seed. Without
            verdicts, the cases alone.
        """
        if judge is None and wrong is None and self.verdicts.empty:
            return self.benchmark.cases
        verdicts, gold, stated, categories = self._of(dimension)
        if judge is not None:
            check_choice("judge", judge, self.judges)
            verdicts = verdicts[verdicts["judge"].eq(judge)]
        shared = self.options
        ranked = hardest_cases(verdicts, gold, policy=shared.policy, seed=shared.seed, categories=categories)
        rows = ranked.merge(stated, on="case_id").merge(self.benchmark.cases, on="case_id")
        return rows if wrong is None else rows[rows["score"].lt(_BELOW_HALF) == wrong].reset_index(drop=True)

    def figure(self, name: str, frame: pd.DataFrame, *, id: str = "", **options: Any) -> Paper:
        """Draw a figure that is not of a table of `mrb analyze`, such as `case-failures`, and publish it in a report.

        Parameters
        ----------
        name : of a figure that is registered in `mrb_lib.figures`
        frame : what it is drawn from
        id : the name of its files; empty for its own
        options : of the function that draws it, and names in braces of its texts
        """
        context = {**self.context, **options}
        return draw(FIGURES[name], frame, self.publisher, id=id or name, context=context, options={})

    @property
    def context(self) -> dict[str, Any]:
        """Everything that a figure may ask of the study."""
        images = self.benchmark.images
        return {"dimension": self.dimension, "judges": self.order, "groups": self.group_of, "images": images}

    def behind(self, name: str, table: Table, dimension: str) -> Behind | None:
        """Return what finds the cases behind a figure of a table, for marks that name no dimension those of this one.

        `name` is what the figure gives as `cases`; None where there are no such lists.
        """
        links = links_of(name, table)
        return None if links is None else partial(cells_behind, links, dimension=dimension)

    def tabulate(self, frame: pd.DataFrame, *, id: str, title: str, caption: str, **looks: Any) -> PublishedTable:
        """Show any frame as a table; a report also publishes it as CSV and LaTeX.

        Parameters
        ----------
        frame : a column `x` with `x_low` and `x_high` beside it is shown as one
        id : the name of its files: lower-case words joined by hyphens
        looks : see `mrb_lib.report.tabular.table_text`
        """
        return self.publisher.table(frame, table_text(frame, **looks), id, title=title, caption=caption)

    def show(self, case_id: str = "") -> Text:
        """Show one case in full: images, question, answers, labels and verdicts.

        Parameters
        ----------
        case_id : empty shows the case with the lowest score

        Raises
        ------
        InputError
            There is no such case.
        """
        from mrb_lib.review.case import case_html  # pages are slow to import, and few notebooks show a case

        cases = self.benchmark.cases
        case_id = case_id or str(self.cases()["case_id"].iloc[0])
        if case_id not in set(cases["case_id"]):
            raise InputError(f"no case is named {case_id!r}.{nearest(case_id, cases['case_id'])}")
        page = case_html(
            cases[cases["case_id"] == case_id].iloc[0], images=self.benchmark.images, note=self.note,
            annotations=self.benchmark.annotations, gold=self.labels, verdicts=self.verdicts, meta=self.benchmark.meta,
        )  # fmt: skip
        return Text(f"case {case_id}", page)

    def controls(self, name: str, *, view: str = "", where: str = "", **options: Any) -> object:
        """Show a table below controls of its policy, dimension, subfields and cases; JupyterLab draws each choice.

        Nothing is published. Where no page can answer, as in a report, it is the plain table of the first choice.

        Parameters
        ----------
        name : of the table, see `table`
        view : "figure" or "table", the one to begin with; empty for the figure, if the table has one
        where : a filter of the study's cases to begin with, such as "organ == 'eye' and length > 700"; empty for all
        options : of the table; it begins with `policy`, `dimension` and `by`, and keeps the others

        Raises
        ------
        InputError
            A name, an option or the choice to begin with is unknown.
        NotApplicable
            No page can answer, and the data lack what the table is made from.
        """
        cases, policy = self.benchmark.cases, self.options.policy
        reads = {*TABLES[name].parameters_read(has_marks=False)} & {"policy", "dimension", "by"}
        first = {each: options.pop(each) or "" for each in reads & {*options}}
        by, *_ = [*columns_of(first.get("by", self.options.by) or None), ""]
        views = [*(["figure"] if any(each.table == name for each in FIGURES.values()) else []), "table"]
        columns = ["", *(each for each in SUBFIELDS if each in cases and cases[each].notna().any()), by]
        offered: dict[str, tuple[Sequence[str], str]] = {
            "policy": (POLICIES, first.get("policy", policy)),
            "dimension": (["", *self.benchmark.meta.dimensions], first.get("dimension", "")),
            "by": (list(dict.fromkeys(columns)), by),
            "where": ((), where),
            "view": (views, view or views[0]),
        }
        offered = {each: values for each, values in offered.items() if each in {*reads, "where", "view"}}
        for each, (values, value) in offered.items():
            if values:
                check_choice(each, value, values)
        if by:
            subfield_values(cases, by)
        part = lru_cache(maxsize=1)(self._part)

        def draw(where: str, view: str, policy: str = policy, **chosen: str) -> object:
            study = part(where.strip(), policy)
            table = study.table(name, **options, **{each: value or None for each, value in chosen.items()})
            if view == "figure":
                return table.plot()
            named = ["judge", "dimension", "subfield", "n", *table.spec.headline] if table.by else []
            return table.show(*(each for each in named if each in table))

        if can_run():
            from mrb_lib.review.controls import redrawn  # needs the extra `lab`

            return redrawn(draw, offered)
        return draw(**{each: value for each, (_, value) in offered.items()} | {"view": "table"})

    def _part(self, where: str, policy: str) -> Study:
        """The study of the cases that a further filter leaves, under a policy; it publishes nothing."""
        shared = replace(self.options, policy=policy)
        part = replace(self, options=shared, out="", _made={})
        if not where:
            return part
        benchmark, verdicts = _kept(self.benchmark, self.verdicts, replace(shared, where=where))
        groups = self.groups[self.groups["judge"].isin(verdicts["judge"])].reset_index(drop=True)
        both = replace(shared, where=f"({shared.where}) and ({where})" if shared.where else where)
        return replace(part, benchmark=benchmark, verdicts=verdicts, groups=groups, options=both)

    def explore(self, **filters: Any) -> object:
        """Open the failure explorer in JupyterLab: the cases, to filter, to read and to review.

        Where no page can answer, as in a report, it is a plain list. Reviews are kept in the store that MRB_STORE
        names, else in `reviews.sqlite` in the benchmark's folder.

        Parameters
        ----------
        filters : to begin with, such as `judge="medgemma-4b"`, `dimension` or `kind=("wrong",)`; they are the fields
            of `mrb_lib.review.failures.query.Query`
        """
        from mrb_lib.review.explorer import explore  # slow to import, seldom wanted

        if self.verdicts.empty:
            raise NotApplicable(f"the explorer needs verdicts, and {self.benchmark.meta.name} has none.")
        for name in filters:
            check_choice("filter", name, list(Query.__dataclass_fields__))
        path = self.benchmark.path
        store = store_of(self.benchmark) or (None if path is None else path / REVIEWS)
        query = Query(**filters)
        return explore(self.benchmark, self.verdicts, policy=self.options.policy, store=store, query=query)

    def judge(
        self, names: str | Sequence[str] = "", *, limit: int = 12, keep: str | Path = "", **settings: Any
    ) -> Study:
        """Run judges on the first cases, here and now, and show how they proceed; `mrb judge` runs them on all cases.

        Parameters
        ----------
        names : of the roster, or `path:DIR`, in a list or separated by commas; none runs a very small model with RANDOM
            WEIGHTS, whose verdicts are noise
        limit : how many cases
        keep : a folder of runs to keep the verdicts in, where a run that was begun goes on; empty keeps none
        settings : of `mrb_lib.judges.settings.Settings`, such as `device="cuda:1"` or `batch_size=4`

        Returns
        -------
        Study
            Of these cases and judges alone; its verdicts have a `reply`.

        Raises
        ------
        NotApplicable
            No judge is named, and the libraries that a model needs are not installed.
        InputError
            There is no such judge or setting.
        """
        from mrb_lib.report.trial import tried  # slow to import, and few notebooks run judges

        wanted = names.split(",") if isinstance(names, str) else names
        asked = [each.strip() for each in wanted if each.strip()]
        given = {"seed": self.options.seed, **settings}
        few, verdicts, manifests, remark = tried(self.benchmark, asked, limit=limit, keep=keep, settings=given)
        return replace(self, benchmark=few).with_verdicts(verdicts, manifests, remark)

    def with_verdicts(self, verdicts: pd.DataFrame, manifests: Sequence[Manifest], remark: str = "") -> Study:
        """Return the study with the verdicts of other judges, and a remark to show with everything."""
        training = training_cases(manifests, self.benchmark)
        return replace(
            self, verdicts=mark_seen(verdicts, training), manifests=manifests, training=training, remark=remark,
            groups=judge_groups(sorted(verdicts["judge"].unique()), manifests), _made={},
        )  # fmt: skip

    @property
    def training_curves(self) -> pd.DataFrame:
        """What was measured while judges were trained: `judge`, `stage`, `step`, `loss`, `accuracy`, `consistency`.

        Raises
        ------
        NotApplicable
            No record of a training holds a curve.
        """
        curves = training_curves(self.manifests).drop(columns=["epoch", "seconds"])  # no two machines take as long
        curves = curves[curves["judge"].isin(self.judges)].reset_index(drop=True)
        if curves.empty:
            raise NotApplicable("no record of a judge's training (`mrb train`) holds a curve.")
        return curves

    def conclude(self, *names: str, text: str = "", **options: Any) -> Text:
        """Return the conclusion of a notebook: the sentences of these tables, without those that do not apply.

        Parameters
        ----------
        text : a sentence of your own, after those of the tables
        options : of all these tables that read them
        """
        said = list[str]()
        for name in names:
            reads = {*TABLES[name].parameters, *TABLES[name].options}
            with suppress(NotApplicable):
                table = self.table(name, **{key: value for key, value in options.items() if key in reads})
                said.append(table.sentence.removesuffix(human_level(name)).rstrip())  # a notebook names notebooks
        found = " ".join(filter(None, [*said, text])) or "None of the tables of this notebook applies to these data."
        only = f"Of the cases where {self.options.where}:" if self.options.where else ""
        return Text(" ".join(filter(None, (self.note, only, found))), title="Conclusion")

    @property
    def note(self) -> str:
        """What to show with simulated data and with judges that stand in for others; empty for others."""
        meta = self.benchmark.meta
        return f"{simulated_note(meta.name) if meta.kind == 'simulated' else ''} {self.remark}".strip()

    @cached_property
    def publisher(self) -> Publisher:
        """Where figures and tables of the study go, and what is said with each."""
        meta, where = self.benchmark.meta, self.options.where
        name = f"{meta.name} where {where}" if where else meta.name
        return Publisher(self.out, name, meta.kind, self.note, blind_judges(self.manifests))

    def with_(self, **options: Any) -> Study:
        """Return the same study with other options of `Options`, such as `policy` or `gold`."""
        return replace(self, options=replace(self.options, **options), _made={})

    def __repr__(self) -> str:
        meta, shared, data = self.benchmark.meta, self.options, self.benchmark
        people = data.annotations.loc[data.annotations["annotator"] != CONSENSUS, "annotator"].nunique()
        is_simulated = " (SIMULATED)" if meta.kind == "simulated" and "SIMULATED" not in meta.name else ""
        unit = resampling_unit(data.cases_by_image, shared.cluster).statement
        by = f"; by {', '.join(columns_of(shared.by))}" if shared.by else ""
        where = f"; where {shared.where}" if shared.where else ""
        lines = [
            f"{meta.name}{is_simulated}: {counted(len(data.cases))}, {counted(people, 'annotator')}, "
            f"{counted(len(self.judges), 'judge')}, {counted(len(self.verdicts), 'verdict')}.",
            f"Policy {shared.policy}; gold: {rule_in_words(data, shared.gold)}; {unit}; "
            f"{shared.resamples:,} resamples, seed {shared.seed}{by}{where}.",
        ]
        if self.training is not None:  # which no table counts
            here = self.training[self.training["case_id"].isin(data.cases["case_id"])]
            lines += [f"{note}." for note in seen_notes(here, self.judges, len(data.cases))]
        return "\n".join([*lines, self.remark]).rstrip()

    def _repr_html_(self) -> str:
        first, *others = html.escape(repr(self)).split("\n")
        return f"<p><strong>{first}</strong><br>{'<br>'.join(others)}</p>"
