"""Judging through a real server: llama.cpp with SmolLM2-135M, which knows little and answers like the large ones."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from mrb_lib.benchmarks.benchmark import Benchmark, load
from mrb_lib.demo import build, write_demo
from mrb_lib.judges.endpoint.judge import EndpointJudge
from mrb_lib.judges.roster.engines import JudgeRequest
from mrb_lib.judges.roster.entry import Entry
from mrb_lib.judges.settings import Settings
from mrb_lib.runs.plan import Plan
from mrb_lib.tables.schema import ORDERS
from mrb_lib.verdicts.orders import to_shown_frame
from tests.judges.endpoint.clock import Clock

DIMENSIONS = ("accuracy", "overall")


@pytest.fixture(scope="module")
def benchmark(tmp_path_factory: pytest.TempPathFactory) -> Benchmark:
    folder = tmp_path_factory.mktemp("demo")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(build, "draw_picture", lambda scene, rng: b"")
        write_demo(folder, cases=130, seed=0)
    return load(folder)


@pytest.fixture(scope="module")
def brief(benchmark: Benchmark) -> Benchmark:
    """The same, with the first sentences of the responses only: reading prompts takes most of the time."""
    names = ["response_a", "response_b"]
    cuts = {name: benchmark.cases[name].str.split(". ").str[0] for name in names}
    return replace(benchmark, cases=benchmark.cases.assign(**cuts))


def _shown(
    benchmark: Benchmark, cases: int, dimensions: tuple[str, ...], orders: tuple[str, ...] = ORDERS
) -> pd.DataFrame:
    lengths = benchmark.cases["response_a"].str.len() + benchmark.cases["response_b"].str.len()
    plan = Plan(benchmark.cases.loc[lengths.nsmallest(cases).index], dimensions, orders)
    return to_shown_frame(plan.rows(np.arange(len(plan))))


def _judge(url: str, benchmark: Benchmark, prompt: str, **settings: int) -> EndpointJudge:
    given = Settings(dimensions=DIMENSIONS, url=url, prompt=prompt, concurrency=2, without_images=True, **settings)
    entry = Entry("smollm", "endpoint", model="smollm", vision=False)
    clock = Clock()
    return EndpointJudge(JudgeRequest(entry, given, benchmark.images), sleep=clock.sleep, clock=clock)


@pytest.mark.slow
def test_a_schema_is_kept_and_every_choice_is_read(smollm_server: str, brief: Benchmark) -> None:
    shown = _shown(brief, 2, DIMENSIONS, ("AB",))
    served = _judge(smollm_server, brief, "plain")
    judged = served.judge(shown)
    assert set(judged["status"]) == {"ok"}
    assert judged["pick"].notna().all()
    assert judged["p_first"].between(0, 1, inclusive="neither").mean() > 0.5
    assert served.notices == []
