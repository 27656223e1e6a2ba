"""Models write answers, through the machinery that runs judges: a reply is kept as it is, and not read as a verdict.

To the code that runs judges, an item is a case of one dimension (`schema.ANSWER`), a sample is a repeat, and a
model is a judge whose prompt asks for an answer. So engines, servers, Ray, resuming, retrying, progress and manifests
are those of `mrb judge`, and the runs lie in the work folder as ordinary run folders.
"""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from textwrap import shorten
from typing import Final

import pandas as pd

from mrb_lib.benchmarks.benchmark import Benchmark, FolderImages
from mrb_lib.benchmarks.meta import BenchmarkMeta
from mrb_lib.build.construct.work import Work
from mrb_lib.judges.jury import is_jury
from mrb_lib.judges.roster.engines import ENGINES
from mrb_lib.judges.roster.roster import entry_of
from mrb_lib.replies.answers import read_answer
from mrb_lib.runs.execute import judge_plan
from mrb_lib.runs.outcomes import FailedRunsError, RunSummary
from mrb_lib.runs.planned import PlannedJudge, PlannedModel
from mrb_lib.runs.progress import ReportProgress
from mrb_lib.tables.errors import InputError, RunError
from mrb_lib.tables.files import sha256_of
from mrb_lib.tables.schema import ANSWER, ANSWERED_STATUSES, Kind
from mrb_lib.verdicts.parts import part_paths, read_part
from mrb_lib.verdicts.store import totals

Ask = Callable[..., "list[ModelRun]"]
WRITES: Final = "generative"
"""The engine by which weights on this machine write."""
LETTERS: Final = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
READ: Final = (
    "case_id", "repeat", "reply", "status", "prompt_tokens", "completion_tokens", "latency_s", "finish", "error",
)  # fmt: skip
_KINDS: Final = {
    **dict.fromkeys(("item_id", "answer", "status"), "str"),
    **dict.fromkeys(("prompt_tokens", "completion_tokens", "latency_s"), "float64"),
    **dict.fromkeys(("sample", "position"), "int64"),
    **dict.fromkeys(("finish", "error"), "object"),
}
CUT_OFF: Final = "length"
"""The value of `finish` for an answer that ended because it was as long as allowed."""

_REASON: Final = 200


@dataclass(frozen=True)
class ModelRun:
    """The run that holds a model's answers.

    Attributes
    ----------
    model : its name in the tables
    """

    model: str
    summary: RunSummary


@dataclass(frozen=True)
class Answered:
    """The result of a step in which models answer.

    Attributes
    ----------
    n_in, n_out : items that entered and go on
    models : a row per model, see `difficulty.model_measures` and `respond.responder_counts`
    runs : of the models, and last of a marker, where there is one; empty where nothing was left to do
    """

    n_in: int
    n_out: int
    models: pd.DataFrame
    runs: Sequence[ModelRun]


@dataclass(frozen=True)
class Asked(Benchmark):
    """Items as cases without responses; `digest` is that of everything a model may see of any item.

    The runs of a work folder that has changed its mind about which items go on are the same runs.
    """

    digest: str = ""

    def case_fingerprint(self) -> str:
        """See `Benchmark.case_fingerprint`."""
        return self.digest


def answered_before(work: Work, step: str, models: pd.DataFrame) -> Answered:
    """Return the result of a step that was finished earlier."""
    decisions = work.decisions()
    kept = decisions.loc[decisions["step"] == step, "kept"]
    return Answered(len(kept), int(kept.sum()), models, [])


def asked_questions(items: pd.DataFrame) -> pd.Series:
    """Return what a model is asked about each item: its question, then its options by letter where it has some."""
    asked = []
    for question, choices in zip(items["question"], items["choices"], strict=True):
        options = [
            f"{letter}. {choice}" for letter, choice in zip(LETTERS, [] if choices is None else choices, strict=False)
        ]
        asked.append("\n".join([question, "", *options]) if options else question)
    return pd.Series(asked, index=items.index, dtype="str")


def ask_about(items: pd.DataFrame, images: Path, *, name: str, kind: Kind, digest: str) -> Asked:
    """Items as models are asked about them; neither the reference nor anything else of an item is shown.

    Parameters
    ----------
    items : `item_id, images, question, choices`; may also hold `response_a` and `reference`, for a model that marks
    digest : see `items_digest`
    """
    cases = pd.DataFrame(
        {
            "case_id": items["item_id"].astype("str"),
            "question": asked_questions(items),
            "response_a": items.get("response_a", ""),
            "response_b": "",
            "images": items["images"],
        }
    )
    if "response_a" in items:
        cases["reference"] = items["reference"]
    meta = BenchmarkMeta(name, kind, (ANSWER,))
    return Asked(meta, cases.reset_index(drop=True), pd.DataFrame(), FolderImages(images), None, digest)


def items_digest(table: Path, images: Path) -> str:
    """Return SHA-256 over the table of all items and the contents of the images that it names."""
    digest = hashlib.sha256(sha256_of(table).encode())
    files, named = FolderImages(images), set(pd.read_parquet(table, columns=["images"])["images"].explode())
    for name in filter(named.__contains__, files):  # a start that failed may have left others
        digest.update(name.encode("utf-8", "surrogatepass") + b"\0" + hashlib.blake2b(files[name]).digest())
    return digest.hexdigest()


def writers(answerers: Sequence[PlannedModel], extra: Sequence[Path] = ()) -> dict[str, PlannedModel]:
    """The models by their names in the tables, each with the engine that writes.

    Raises
    ------
    InputError
        There is none, a name is unknown or not that of a model that writes, or two would have one name.
    """
    by_model: dict[str, PlannedModel] = {}
    for one in answerers:
        model, name = _writing(one.name, extra)
        if model in by_model:
            raise InputError(
                f"model {one.name!r}: another is called {model!r}, too; name it once, or rename its folder."
            )
        by_model[model] = replace(one, name=name)
    if not by_model:
        raise InputError("no model is named; name one or more, or a plan that lists them.")
    return by_model


def _writing(name: str, extra: Sequence[Path]) -> tuple[str, str]:
    """The name of a model in the tables, and that of the judge that writes its answers."""
    if is_jury(name):
        raise InputError(f"model {name!r}: a jury writes no answers; name its members.")
    entry = entry_of(name, extra)
    engine = ENGINES[entry.engine]
    chats = engine.model == "weights" and engine.reads_any_model
    if chats and not engine.samples and not entry.name.endswith(f"+{engine.name}"):
        name = f"{name}+{WRITES}"
        entry = entry_of(name, extra)
        engine = ENGINES[entry.engine]
    if not engine.samples:
        raise InputError(f"model {name!r}: engine {engine.name} writes no answers; name a model that writes.")
    return entry.name.removesuffix(f"+{WRITES}"), name


def answer(
    asked: Asked,
    runs: Path,
    models: Mapping[str, PlannedModel],
    *,
    samples: int,
    extra: Sequence[Path] = (),
    retry: Sequence[str] = (),
    progress: ReportProgress | None = None,
) -> list[ModelRun]:
    """Have models answer; what is already in their runs is not asked again.

    Parameters
    ----------
    runs : the folder of runs
    models : see `writers`; one that fails does not keep others from answering, and a budget is for all
    samples : answers of each model to each item
    extra : the user's own roster files
    retry : answers of these statuses are made again: unparsed, refused, error
    progress : see `mrb_lib.runs.judge`

    Raises
    ------
    InputError, InterruptedRunError, RunError
        As `mrb_lib.runs.judge`; `RunError` also where all that a model has to say are errors, once all have answered.

    Notes
    -----
    Validated by tests/judges/test_answers.py.
    """
    if samples < 1:
        raise InputError(f"samples {samples}: at least 1 is needed.")
    judges = [PlannedJudge(**vars(one), orders=("AB",), repeats=samples, retry=tuple(retry)) for one in models.values()]
    try:
        made = judge_plan(asked, runs, judges, extra=extra, progress=progress, check_first=False)
        done = list(map(ModelRun, models, made))
    except FailedRunsError as error:
        raise next((one.error for one in error.failed if isinstance(one.error, InputError)), error) from None
    for answered in done:
        held = totals(answered.summary.folder)
        if set(held.statuses) == {"error"}:
            reason = shorten(held.usual_error or "no reason is known", _REASON)
            raise RunError(
                f"model {answered.model}: every answer is an error ({reason}); fix that, then run the same command "
                "with --retry error."
            )
    return done


def answers_to(
    work: Work, items: pd.DataFrame, folder: str, models: Mapping[str, PlannedModel], samples: int, ask: Ask
) -> tuple[list[ModelRun], pd.DataFrame]:
    """Have models answer items of a work folder; return the runs, which lie in `runs/folder`, and the answers.

    Parameters
    ----------
    items : see `ask_about`
    ask : `answer` with what it does not take from here
    """
    if items.empty:
        raise InputError(f"{work.path}: no item is left to answer; `mrb construct status {work.path}` shows why.")
    digest = items_digest(work.path / "items.parquet", work.images)
    asked = ask_about(items, work.images, name=work.meta.name, kind=work.meta.kind, digest=digest)
    runs = ask(asked, work.path / "runs" / folder, models, samples=samples)
    return runs, answers_of(runs, items["item_id"], samples)


def answers_of(runs: Sequence[ModelRun], item_ids: pd.Series, samples: int) -> pd.DataFrame:
    """Return the answers of runs by item, model and sample, whatever batches they were written in.

    Parameters
    ----------
    item_ids : those that count, in their order; answers about others are left out
    samples : further ones are left out

    Returns
    -------
    DataFrame
        `item_id, model, sample, answer` (without what was thought aloud; null where there is none), `status,
        prompt_tokens, completion_tokens, latency_s, finish` (`CUT_OFF` or null), `error`, and `position`.

    Raises
    ------
    InputError
        A part is damaged.
    """
    parts = [
        read_part(path, READ).to_pandas().reindex(columns=list(READ)).assign(model=run.model, run=place)
        for place, run in enumerate(runs)
        for path in part_paths(run.summary.folder)
    ]
    frame: pd.DataFrame = pd.concat(parts).rename(columns={"case_id": "item_id", "repeat": "sample"})
    frame["position"] = frame["item_id"].map(pd.Series(range(len(item_ids)), index=pd.Index(item_ids)))
    frame = frame[frame["position"].notna() & (frame["sample"] < samples)]
    said = frame["status"].isin([*ANSWERED_STATUSES, "refused"])
    frame["answer"] = [
        read_answer(reply).text if kept and isinstance(reply, str) else None
        for reply, kept in zip(frame["reply"].to_numpy(dtype=object), said.to_numpy(), strict=True)
    ]
    every = frame.astype(_KINDS).sort_values(["position", "run", "sample"], ignore_index=True)
    return every.drop(columns=["run", "reply"])
