"""Tests of what the options of `mrb judge` reach, and what it says when it is done."""

from collections.abc import Callable, Sequence
from pathlib import Path

import pandas as pd
import pytest

from mrb_lib.judges.settings import Settings
from mrb_lib.runs.outcomes import RunSummary
from mrb_lib.runs.planned import PlannedJudge
from mrb_lib.tables.validation import conform
from mrb_lib.verdicts.manifest import Manifest, write_manifest
from mrb_lib.verdicts.store import append_part
from tests.judges.endpoint.chat_server import ChatServer, message

from .conftest import Mrb

Asked = list[tuple[list[PlannedJudge], Sequence[Path]]]
ROSTER = '[[judge]]\nname = "writer"\nengine = "generative"\nmodel = "a/b"\n'


@pytest.fixture
def bench(mrb: Mrb, tables: Path, tmp_path: Path) -> Path:
    assert mrb("import", "table", tables, tmp_path / "bench").code == 0
    return tmp_path / "bench"


@pytest.fixture
def roster(tmp_path: Path) -> Path:
    (tmp_path / "roster.toml").write_text(ROSTER, encoding="utf-8")
    return tmp_path / "roster.toml"


def _finishing(done: RunSummary) -> Callable[..., list[RunSummary]]:
    """Return what stands in for `judge_plan` and has done this."""

    def judge_plan(*_: object, finished: Callable[..., None], **__: object) -> list[RunSummary]:
        finished(PlannedJudge("first"), done)
        return [done]

    return judge_plan


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[tuple[list[PlannedJudge], Sequence[Path]]]:
    """The judges that are asked for, with their rosters; none is run."""
    calls: list[tuple[list[PlannedJudge], Sequence[Path]]] = []
    note = lambda _, __, judges, extra, **___: calls.append((judges, extra))  # noqa: E731
    monkeypatch.setattr("mrb_lib.cli.judge.judge_plan", note)
    return calls


def test_without_options_the_settings_are_the_defaults(mrb: Mrb, bench: Path, tmp_path: Path, asked: Asked) -> None:
    result = mrb("judge", bench, tmp_path / "r", "--judge", "first")
    assert (result.code, result.err) == (0, "")
    assert asked == [([PlannedJudge("first")], ())]


def test_every_option_reaches_the_judges(mrb: Mrb, bench: Path, roster: Path, tmp_path: Path, asked: Asked) -> None:
    assert mrb(
        "judge", bench, tmp_path / "r", "--judge", "writer", "first", "--orders", "BA", "--repeats", 2, "--limit", 1,
        "--retry", "unparsed, error", "--roster", roster, "--prompt", "rubric", "--seed", 3, "--temperature", 0.2,
        "--max-new-tokens", 9, "--max-pixels", 99, "--batch-size", 4, "--device", "cpu", "--dtype",
        "float32", "--revision", "v1", "--download", "--trust-remote-code", "--url", "http://127.0.0.1:1/v1",
        "--allow-remote", "--concurrency", 5, "--timeout", 7, "--price-prompt", 1.5, "--price-completion", 2.5,
        "--without-images", "--quantize", "4bit", "--budget", 3.5,
    ).ok  # fmt: skip
    settings = Settings(
        seed=3, prompt="rubric", temperature=0.2, max_new_tokens=9, max_pixels=99, batch_size=4, device="cpu",
        dtype="float32", revision="v1", download=True, trust_remote_code=True, url="http://127.0.0.1:1/v1",
        allow_remote=True, concurrency=5, timeout_s=7.0, price_prompt=1.5, price_completion=2.5,
        without_images=True, quantize="4bit", budget=3.5,
    )  # fmt: skip
    planned = [
        PlannedJudge(name, settings, orders=("BA",), repeats=2, limit=1, retry=("unparsed", "error"))
        for name in ("writer", "first")
    ]
    assert asked == [(planned, (roster,))]
    mrb("judge", bench, tmp_path, "--judge", "first", "--engine", "ray", "--workers", 2, "--gpus-per-worker", 0.5)
    assert asked[1][0] == [PlannedJudge("first", engine="ray", workers=2, gpus_per_worker=0.5)]


def test_repeats_of_a_judge_that_writes_are_sampled_and_that_is_said(
    mrb: Mrb, bench: Path, tiny: Callable[[str], Path], tmp_path: Path
) -> None:
    options = ["--repeats", 3, "--limit", 1, "--max-new-tokens", 2, "--without-images"]
    written = mrb("judge", bench, tmp_path / "r", "--judge", f"path:{tiny('llama')}+generative", *options)
    assert "temperature 0.7 for all repeats" in written.err
    assert "temperature" not in mrb("judge", bench, tmp_path / "r", "--judge", "first", *options).err


def _run(folder: Path) -> Path:
    folder.mkdir()
    write_manifest(folder, Manifest(folder.name, "writer"))
    rows = pd.DataFrame(
        {
            "judge": "writer",
            "case_id": ["1", "2", "3"],
            "dimension": "overall",
            "order": "AB",
            "choice": ["A", None, None],
            "status": ["ok", "unparsed", "error"],
            "prompt_tokens": [1000.0, 500.0, None],
            "completion_tokens": [10.0, 5.0, None],
        }
    )
    append_part(folder, conform(rows.iloc[:1].assign(cost_usd=0.25), "verdicts", "test"))
    rest = rows.iloc[1:].assign(error=[None, "image x.png is missing"])
    append_part(folder, conform(rest, "verdicts", "test"))
    return folder


def test_the_end_of_a_run_says_what_it_holds_what_it_cost_and_what_to_know(
    mrb: Mrb, bench: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = _run(tmp_path / "writer-1")
    done = RunSummary("writer", folder, 2, 1, 4, 1.5, ("prompt differs from run x",), 1, ("a notice",))
    monkeypatch.setattr("mrb_lib.cli.judge.judge_plan", _finishing(done))
    result = mrb("judge", bench, tmp_path / "r", "--judge", "first")
    assert result.out.splitlines() == [
        f"writer: 2 verdicts made (1 of them again) in 1.5 s, 1 were there, in {folder}",
        "writer: 1 ok, 1 unparsed, 1 error; 1,500 prompt and 15 reply tokens; 0.2500 USD",
    ]
    assert result.err.splitlines() == [
        "writer: most errors: image x.png is missing",
        "writer: --retry unparsed,error makes the verdicts without a choice again",
        "writer: 4 verdicts wait for members that have not judged them",
        "writer: a notice",
        "writer: prompt differs from run x",
    ]


@pytest.mark.parametrize(("budget", "sent"), [(0.0015, 3), (9.0, 6)])
def test_what_a_run_may_cost_is_said_first_and_the_budget_stops_it(
    mrb: Mrb, bench: Path, tmp_path: Path, budget: float, sent: int
) -> None:
    """A request costs .00012 USD here, and with the longest reply more than .001."""
    with ChatServer(lambda _: message('{"overall": "A"}')) as server:
        command = ["judge", bench, tmp_path / "r", "--judge", "endpoint:m", "--url", server.url]
        result = mrb(*command, "--price-prompt", 1, "--price-completion", 2, "--budget", budget)
    assert len(server.received) == sent
    assert result.code == (0 if sent == 6 else 1)
    lines = result.err.splitlines()
    [estimated] = [line for line in lines if line.startswith("endpoint:m: estimated: 6 requests, about ")]
    assert estimated.endswith(f"the budget is {budget:.4f} USD")
    if sent == 6:
        assert "0.0007 USD" in next(line for line in lines if "6 of 6 verdicts" in line)
    else:
        assert "the budget of" in lines[-1]


@pytest.mark.parametrize(("statuses", "code"), [(["error", "error"], 1), (["error", "ok"], 0), (["unparsed"] * 2, 0)])
def test_a_run_in_which_nothing_could_be_judged_has_failed(
    mrb: Mrb, bench: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, statuses: list[str], code: int
) -> None:
    folder = tmp_path / "r" / "first"
    folder.mkdir(parents=True)
    rows = {"judge": "first", "case_id": "1", "dimension": "overall", "order": ["AB", "BA"], "status": statuses}
    choices = ["A" if status == "ok" else None for status in statuses]
    append_part(folder, conform(pd.DataFrame(rows).assign(choice=choices), "verdicts", "test"))
    summary = RunSummary("first", folder, 2, 0, 0, 0.1, ())
    monkeypatch.setattr("mrb_lib.cli.judge.judge_plan", _finishing(summary))
    result = mrb("judge", bench, tmp_path / "r", "--judge", "first")
    assert result.code == code
    assert ("every verdict is an error" in result.err) == bool(code)
