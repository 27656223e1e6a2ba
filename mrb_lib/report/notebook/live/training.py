"""Judges for a notebook about training: those of the runs that have records, or very small ones trained on the spot."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

import pandas as pd
from PIL import Image

from mrb_lib.benchmarks.benchmark import Benchmark, load, save
from mrb_lib.benchmarks.images import open_image, png
from mrb_lib.benchmarks.splits import FOLD, SPLIT, is_split, split, split_digest
from mrb_lib.judges.roster.engines import ENGINES
from mrb_lib.judges.settings import Settings
from mrb_lib.report.notebook.absent import Absent, Frame
from mrb_lib.report.notebook.workspace import Workspace
from mrb_lib.runs.execute import judge
from mrb_lib.runs.outcomes import FailedRunsError
from mrb_lib.tables.errors import InputError
from mrb_lib.tables.files import slug
from mrb_lib.tables.schema import NO_PROBE, TEST, TRAIN, VALIDATION
from mrb_lib.verdicts.manifest import read_manifest
from mrb_lib.verdicts.store import ANALYSIS_COLUMNS, COSTS, load_verdicts, run_folders
from mrb_lib.verdicts.training import training_cases, training_curves, training_records

BASE: Final = "RANDOM-WEIGHTS"
MARK: Final = "RANDOM WEIGHTS BEFORE TRAINING"
BLANK: Final = "image/blank"
"""The probe of verdicts on cases whose images are grey all over."""
BLANKED: Final = ", images blanked"
_N_CASES: Final = 192
_HALVINGS: Final = 3
_N_VALIDATION: Final = 40
_N_UNSEEN: Final = 100
_N_DOMAINS: Final = 2
_N_CASES_OF_DOMAINS: Final = 300
_N_UNSEEN_OF_DOMAINS: Final = 200
_RECIPE: Final[Mapping[str, object]] = {
    "method": "reward", "epochs": 1, "evaluations": 2, "batch": 4, "learning_rate": 1e-3
}  # fmt: skip
_GREY: Final = 128

Steps = Callable[[str, int, int], None]
"""Told what is done, how much of it, and of how much; as `mrb_lib.review.progress.live_steps` gives it."""


@dataclass(frozen=True)
class TrainedJudges:
    """Judges with records of their training.

    Attributes
    ----------
    workspace : the one that was opened, or the same with the verdicts and records of judges that were trained on the
        spot
    note : the sentence to show with everything they say; empty for the judges of the runs
    mark : the same in a few words, for the face of a figure
    """

    workspace: Workspace
    note: str = ""
    mark: str = ""

    @property
    def curves(self) -> pd.DataFrame:
        """See `mrb_lib.verdicts.training.training_curves`; of the judges shown, without the time it took, which
        no two machines share."""
        curves = training_curves(self.workspace.manifests).drop(columns="seconds")
        return curves[curves["judge"].isin(self.workspace.judges)].reset_index(drop=True)


def lacking(workspace: Workspace, *, left_out: bool = False) -> str:
    """Why there is no trained judge to show, and none can be trained; empty where there is or can.

    Parameters
    ----------
    left_out : whether it takes judges that were trained without a domain
    """
    if _recorded(workspace, left_out):
        return ""
    missing = ENGINES["reward"].missing_packages()
    if missing:
        return f"needs {ENGINES['reward'].install}: {', '.join(missing)} not installed"
    if not left_out and not is_split(workspace.benchmark):
        return (
            "no run holds a judge with a record of its training, and none can be trained: the cases of "
            f"{workspace.benchmark.meta.name} are not split (`mrb split BENCH`)"
        )
    return ""


def domain_column(workspace: Workspace) -> str:
    """The column of the domains that judges were trained without: `by`, or that of the records, or the department."""
    stated = training_records(workspace.manifests)["left_out_column"].dropna()
    return workspace.by or next(iter(stated), "department")


def trained_judges(workspace: Workspace, folder: Path, *, steps: Steps | None = None) -> TrainedJudges | Absent:
    """The judges of the runs, where some have records; else very small ones that learn from more and more cases.

    Parameters
    ----------
    folder : to work in
    steps : told how training and judging proceed

    Returns
    -------
    TrainedJudges or Absent
        On the spot: a LLaVA with random weights, asked by `packed`, and reward models trained from it on 192 of the
        training cases, a half, a quarter and an eighth of these, once through. They judge 100 test cases, the largest
        also with images blanked. Fewer where there are fewer. `Absent` where that cannot be trained, with the reason.

    Notes
    -----
    Validated by tests/report/notebook/live/test_training.py.
    """
    if _recorded(workspace, left_out=False):
        return TrainedJudges(workspace)
    live, benchmark = _Live(workspace, folder, steps or _silent), workspace.benchmark
    try:
        drawn = live.copy(benchmark, {TRAIN: _N_CASES, VALIDATION: _N_VALIDATION, TEST: _N_UNSEEN}, "drawn")
        unseen = live.copy(drawn, {TEST: _N_UNSEEN}, "unseen")
        n = int((drawn.cases[SPLIT] == TRAIN).sum())
        sizes, digits = sorted({max(1, n >> halvings) for halvings in range(_HALVINGS + 1)}), len(str(n))
        with one_thread():
            names = [live.train(drawn, f"trained-on-{size:0{digits}}", n_cases=size) for size in sizes]
            live.judge(unseen, [live.base + "+packed", *names])
            live.judge(live.copy(drawn, {TEST: _N_UNSEEN}, "blanked", of_images=grey), names[-1:], BLANK)
    except (InputError, FailedRunsError) as error:
        return Absent(str(error).rstrip("."))
    return live.shown(benchmark, "with a record of its training", f"on up to {n:,} training cases", len(unseen.cases))


def judges_without_domains(
    workspace: Workspace, folder: Path, *, column: str, steps: Steps | None = None
) -> TrainedJudges | Absent:
    """The judges of the runs, where some were trained without a domain; else two very small ones, without one each.

    Parameters
    ----------
    folder, steps : as for `trained_judges`
    column : of the cases, which names the domains

    Returns
    -------
    TrainedJudges or Absent
        On the spot: reward models trained once through 300 cases of a new split with a fold a domain, each without one
        of the two largest. They judge 200 test cases of all domains. `Absent` where that cannot be trained.

    Notes
    -----
    Validated by tests/report/notebook/live/test_training.py.
    """
    if _recorded(workspace, left_out=True):
        return TrainedJudges(workspace)
    live = _Live(workspace, folder, steps or _silent)
    try:
        made = split(workspace.benchmark, test=0.3, validation=0.06, seed=workspace.seed, folds=column).benchmark
        sizes = {TRAIN: 2 * _N_CASES_OF_DOMAINS, VALIDATION: _N_VALIDATION, TEST: _N_UNSEEN_OF_DOMAINS}
        drawn = live.copy(made, sizes, "drawn")
        unseen = live.copy(drawn, {TEST: _N_UNSEEN_OF_DOMAINS}, "unseen")
        folds = drawn.cases.loc[drawn.cases[SPLIT] == TRAIN, FOLD]
        largest = folds.value_counts().sort_index().nlargest(_N_DOMAINS).index.tolist()
        n = min(_N_CASES_OF_DOMAINS, *(int((folds != fold).sum()) for fold in largest))
        with one_thread():
            names = [live.train(drawn, f"without-{slug(fold)}", n_cases=n, left_out=[column, fold]) for fold in largest]
            live.judge(unseen, names)
    except (InputError, FailedRunsError) as error:
        return Absent(str(error).rstrip("."))
    how = f"on {n:,} cases each, without {' or '.join(largest)}"
    return live.shown(made, f"that was trained without a {column}", how, len(unseen.cases))


def without_images(workspace: Workspace, *, dimension: str | None = None) -> Frame:
    """What trained judges gain with images, and with these blanked.

    Parameters
    ----------
    dimension : None for all

    Returns
    -------
    DataFrame
        Rows of the table `gains` for each judge with a record and verdicts of the probe "image/blank": the judge over
        itself with images blanked, and both over the judge that it was trained from, where the runs hold that. `Absent`
        where there are no such verdicts.
    """
    verdicts, records = workspace.verdicts, training_records(workspace.manifests)
    blank = verdicts[(verdicts["probe"] == BLANK) & verdicts["judge"].isin(records["judge"])]
    if blank.empty:
        return Absent(f'no judge with a record of its training has verdicts with images blanked (probe "{BLANK}")')
    blind = {name: f"{name}{BLANKED}" for name in blank["judge"].unique()}
    pairs = [(other, name) for name, other in blind.items()]
    judges = set(verdicts.loc[verdicts["probe"] == NO_PROBE, "judge"])
    for name, bases in records[["judge", "bases"]].itertuples(index=False):
        if name in blind:
            pairs += [(base, tuned) for base in bases if base in judges for tuned in (name, blind[name])]
    seen = workspace.training
    if seen is not None:
        seen = pd.concat([seen, seen[seen["judge"].isin(blind)].replace({"judge": blind})], ignore_index=True)
    plain = verdicts[verdicts["probe"] == NO_PROBE]
    both = pd.concat([plain, blank.assign(judge=blank["judge"].map(blind), probe=NO_PROBE)], ignore_index=True)
    return workspace.on(both).analyze("gains", pairs=pairs, training=seen, dimension=dimension)


def grey(content: bytes, name: str) -> bytes:
    """An image of the same size that is grey all over; what is not a readable image stays as it is."""
    try:
        size = open_image(content, name).size
    except InputError:
        return content
    return png(Image.new("L", size, _GREY))


def _recorded(workspace: Workspace, left_out: bool) -> bool:
    """Whether some judges that are shown have a record of their training."""
    records = training_records(workspace.manifests)
    records = records[records["judge"].isin(workspace.judges)]
    return bool(len(records.dropna(subset="left_out") if left_out else records))


@contextmanager
def one_thread() -> Iterator[None]:
    """Small products wait for each other where cores are busy: on two busy ones they take ten times as long."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def _silent(name: str, done: int, total: int) -> None:
    """Nobody is told."""


class _Live:
    """A folder in which very small judges are trained and judge."""

    def __init__(self, workspace: Workspace, folder: Path, steps: Steps) -> None:
        self._workspace, self._folder, self._steps = workspace, folder, steps
        self._settings = Settings(seed=workspace.seed, device="cpu", dtype="float32")
        self._verdicts: list[pd.DataFrame] = []

    @property
    def base(self) -> str:
        """The name of the judge with random weights."""
        return f"path:{self._folder / BASE}"

    def copy(
        self,
        benchmark: Benchmark,
        sizes: Mapping[str, int],
        name: str,
        of_images: Callable[[bytes, str], bytes] | None = None,
    ) -> Benchmark:
        """A copy of so many cases of some parts of the split, drawn at random, in a folder of its own."""
        from mrb_lib.build.training.plan import drawn  # as training draws

        every, chosen = benchmark.cases, list[str]()
        for part, n in sizes.items():
            members = every.loc[every[SPLIT] == part, "case_id"].tolist()
            if not members:
                raise InputError(f"the split of {benchmark.meta.name} has no cases for {part}.")
            chosen += drawn(members, n, self._workspace.seed)
        cases = every[every["case_id"].isin(chosen)].reset_index(drop=True)
        images = {
            image: of_images(benchmark.images[image], image) if of_images else benchmark.images[image]
            for images in cases.get("images", ())
            for image in images
            if image in benchmark.images
        }
        extra, rule = dict(benchmark.meta.extra), benchmark.meta.extra.get(SPLIT)
        if isinstance(rule, Mapping):
            extra[SPLIT] = {**rule, "digest": split_digest(cases)}
        labels = benchmark.annotations[benchmark.annotations["case_id"].isin(chosen)].reset_index(drop=True)
        save(Benchmark(replace(benchmark.meta, extra=extra), cases, labels, images), self._folder / name)
        return load(self._folder / name)

    def train(self, benchmark: Benchmark, name: str, **recipe: object) -> str:
        """Train a judge from random weights on a copy; its name for `judge`."""
        from mrb_lib.build.training.recipe import recipe_from
        from mrb_lib.build.training.train import train
        from mrb_lib.judges.local.tiny import write_tiny  # torch is imported only here

        seed = self._workspace.seed
        if not (self._folder / BASE).exists():
            cases = benchmark.cases[benchmark.cases[SPLIT] == TRAIN]
            texts = [*cases["question"], *cases["response_a"], *cases["response_b"]]
            write_tiny(self._folder / BASE, "llava", texts=texts, vocabulary=4000, seed=seed)
        chosen = recipe_from({**_RECIPE, **recipe, "seed": seed}, name)
        train(
            benchmark, self._folder / name, self.base, chosen, settings=self._settings,
            report=lambda at: self._steps(f"training {name}", at.step, at.n_steps),
        )  # fmt: skip
        return f"path:{self._folder / name}"

    def judge(self, benchmark: Benchmark, names: Sequence[str], probe: str = NO_PROBE) -> None:
        """Have judges judge a copy, whose cases a probe may have changed."""
        runs = self._folder / f"runs-{probe}"
        judge(benchmark, runs, names, settings=self._settings)
        verdicts = load_verdicts(runs, costs=True)
        self._verdicts.append(verdicts.assign(probe=probe, p_a=verdicts["p_a"].round(4)))

    def shown(self, benchmark: Benchmark, wanted: str, how: str, n_unseen: int) -> TrainedJudges:
        """What was trained and judged, with what is to be said about it."""
        folders: Collection[Path] = run_folders(self._folder / f"runs-{NO_PROBE}")
        manifests = [read_manifest(folder) for folder in folders]
        workspace = replace(
            self._workspace, benchmark=benchmark, manifests=manifests,
            verdicts=pd.concat(self._verdicts, ignore_index=True)[[*ANALYSIS_COLUMNS, *COSTS]],
            training=training_cases(manifests, benchmark),
        )  # fmt: skip
        note = (
            f"{MARK}: no run holds a judge {wanted}, so very small reward models were trained here, from "
            f"weights drawn from a seed, {how}, and judged {n_unseen:,} others; they show how training is measured "
            "and say nothing about any model."
        )
        return TrainedJudges(workspace, note, MARK)
