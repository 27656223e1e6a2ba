"""A little benchmark, and judges that say what a test tells them to."""

import hashlib
from collections.abc import Callable, Mapping
from pathlib import Path

import pandas as pd
import pytest

from mrb_lib.benchmarks.benchmark import Benchmark, load, save
from mrb_lib.benchmarks.meta import BenchmarkMeta
from mrb_lib.judges.settings import Settings
from mrb_lib.runs import execute, juries
from mrb_lib.verdicts.orders import KEYS
from mrb_lib.verdicts.protocol import BatchAnswer, PromptlessJudge
from mrb_lib.verdicts.store import load_verdicts

Said = Mapping[str, object]
Use = Callable[..., None]


def little_benchmark(folder: Path, cases: int = 40, dimensions: tuple[str, ...] = ("overall", "accuracy")) -> Benchmark:
    """A benchmark on disk, with texts that every heuristic can tell apart."""
    table = pd.DataFrame(
        {
            "case_id": [f"c{i}" for i in range(cases)],
            "question": [f"what is seen in image {i}" for i in range(cases)],
            "response_a": ["image " + "x " * (i % 7) for i in range(cases)],
            "response_b": ["word " * (i % 5 + 1) for i in range(cases)],
        }
    )
    votes = [(f"c{i}", "r1", dim, "AB"[i % 2]) for i in range(cases) for dim in dimensions]
    annotations = pd.DataFrame(votes, columns=["case_id", "annotator", "dimension", "choice"])
    save(Benchmark(BenchmarkMeta("little", "general", dimensions), table, annotations), folder)
    return load(folder)


def draw(*key: object) -> int:
    """A number from 0 to 255 that follows from a key."""
    return hashlib.sha256("|".join(map(str, key)).encode()).digest()[0]


def mixed(key: tuple[object, ...]) -> Said:
    """Every pick and every status, with all that may come with them."""
    kind = draw("kind", *key) % 8
    reply = {"reply": f"I say {key}", "prompt_tokens": 10.0, "completion_tokens": float(draw(*key))}
    if kind < 3:
        return {"pick": None, "status": ("unparsed", "refused", "error")[kind], "error": "why", **reply}
    pick = ("first", "second", "tie")[draw("pick", *key) % 3]
    status = "repaired" if kind == 3 else "ok"
    return {"pick": pick, "status": status, "p_first": draw("p", *key) / 255, **reply}


class Scripted(PromptlessJudge):
    """Says what a function of the key says, which may change its mind; remembers what it was asked.

    Parameters
    ----------
    say : from `(case_id, dimension, order, repeat, probe)` to the columns of a verdict; None leaves the row out
    """

    def __init__(
        self, name: str = "scripted", say: Callable[[tuple[object, ...]], Said | None] = mixed, **spec: object
    ) -> None:
        self.name = name
        self.spec: Mapping[str, object] = spec
        self.say = say
        self.loads = 0
        self.batches: list[pd.DataFrame] = []

    def load(self) -> None:
        self.loads += 1

    def prepare(self, shown: pd.DataFrame) -> BatchAnswer:
        return lambda: self.judge(shown)

    def judge(self, shown: pd.DataFrame) -> pd.DataFrame:
        self.batches.append(shown)
        rows = []
        for key in shown[list(KEYS)].itertuples(index=False, name=None):
            said = self.say(key)
            if said is not None:
                rows.append({**dict(zip(KEYS, key, strict=True)), **said})
        columns = [*KEYS, "pick", "status"]
        return pd.DataFrame(rows, columns=None if rows else columns).astype({"pick": "str", "status": "str"})

    @property
    def asked(self) -> int:
        """Verdicts asked for so far."""
        return sum(map(len, self.batches))


def use(monkeypatch: pytest.MonkeyPatch, *judges: Scripted) -> None:
    """Let `judge` find these judges by name, besides those of the roster."""
    known = {judge.name: judge for judge in judges}
    resolve, check = execute.resolve, juries.entry_of
    monkeypatch.setattr(execute, "resolve", lambda name, **options: known.get(name) or resolve(name, **options))
    monkeypatch.setattr(juries, "entry_of", lambda name, extra: None if name in known else check(name, extra))


def comparable(verdicts: pd.DataFrame) -> pd.DataFrame:
    """Verdicts in a fixed order, without the time they took."""
    key = ["judge", *KEYS]
    return verdicts.drop(columns="latency_s", errors="ignore").sort_values(key).reset_index(drop=True)


def rows_held(runs: Path) -> pd.DataFrame:
    """The verdicts and replies of the runs in a folder, in a fixed order."""
    return comparable(load_verdicts(runs, replies=True))


def judge_alone(bench: Path, runs: Path, name: str, batch_size: int) -> None:
    """Judge in a process of its own, which may be killed."""
    use(pytest.MonkeyPatch(), Scripted())
    execute.judge(load(bench), runs, [name], settings=Settings(batch_size=batch_size))
