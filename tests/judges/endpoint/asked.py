"""Shared by the tests of served judges: rows and benchmarks of a few words, and judges that wait for nothing."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

import pandas as pd

from mrb_lib.benchmarks.benchmark import Benchmark, load, save
from mrb_lib.benchmarks.meta import BenchmarkMeta
from mrb_lib.judges.endpoint.judge import EndpointJudge
from mrb_lib.judges.roster.engines import JudgeRequest
from mrb_lib.judges.roster.entry import Entry
from mrb_lib.judges.settings import Settings
from mrb_lib.tables.schema import ORDERS
from tests.judges.endpoint.clock import Clock

DIMENSIONS = ("accuracy", "overall")
Kind = TypeVar("Kind", bound=EndpointJudge)


def rows_of(
    cases: Iterable[str],
    dimensions: Sequence[str] = DIMENSIONS,
    orders: Sequence[str] = ORDERS,
    *,
    question: str = "Where is the nodule?",
    responses: tuple[str, str] = ("{}: left apex", "{}: nowhere"),
    **more: object,
) -> pd.DataFrame:
    """Rows as a judge is shown them; "{}" in the texts stands for the case."""
    rows = []
    for case in cases:
        texts = [text.replace("{}", case) for text in responses]
        for order in orders:
            first, second = texts if order == "AB" else texts[::-1]
            shown = {"question": question.replace("{}", case), "first": first, "second": second}
            key = {"case_id": case, "order": order, "repeat": 0, "probe": "none"}
            rows += [{**key, "dimension": name, **shown} for name in dimensions]
    return pd.DataFrame(rows).assign(**more)


def judge_of(
    url: str,
    kind: type[Kind] = EndpointJudge,
    *,
    entry: Entry | None = None,
    images: Mapping[str, bytes] | None = None,
    runs: Path | None = None,
    fingerprint: str = "",
    clock: Clock | None = None,
    **settings: object,
) -> Kind:
    """A judge behind a server, for which time passes where it waits; `dimensions` are two unless given."""
    usual = {"url": url, "concurrency": 4, "dimensions": DIMENSIONS}
    given, clock = Settings(**{**usual, **settings}), clock or Clock()
    entry = entry or Entry("served", kind.engine, model="m")
    request = JudgeRequest(entry, given, images or {}, runs=runs, fingerprint=fingerprint)
    return kind(request, sleep=clock.sleep, clock=clock)


def benchmark_of(
    folder: Path, questions: Mapping[str, str], dimensions: Sequence[str] = DIMENSIONS, **columns: object
) -> Benchmark:
    """A benchmark with these questions by case, in which A is always better, and further columns."""
    cases = pd.DataFrame(questions.items(), columns=["case_id", "question"])
    cases = cases.assign(**{"response_a": "left apex", "response_b": "right base", **columns})
    votes = [(case, "r1", name, "A") for case in questions for name in dimensions]
    annotations = pd.DataFrame(votes, columns=["case_id", "annotator", "dimension", "choice"])
    save(Benchmark(BenchmarkMeta("served", "general", tuple(dimensions)), cases, annotations), folder)
    return load(folder)
