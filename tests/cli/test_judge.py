"""`mrb judge`: what its options reach, what it says when it is done, and a night's work in one file."""

import os
import re
import signal
from collections.abc import Callable, Sequence
from pathlib import Path

import pandas as pd
import pytest

from mrb_lib.benchmarks.benchmark import Benchmark, load, save
from mrb_lib.benchmarks.meta import BenchmarkMeta
from mrb_lib.cli.judged import WIDTH
from mrb_lib.demo.build import write_demo
from mrb_lib.judges.engines.heuristic import FirstJudge
from mrb_lib.judges.settings import Settings
from mrb_lib.runs import preflight
from mrb_lib.runs.outcomes import RunSummary
from mrb_lib.runs.planned import PlannedJudge
from mrb_lib.tables.validation import conform
from mrb_lib.verdicts.manifest import Manifest, write_manifest
from mrb_lib.verdicts.store import append_part, load_verdicts, read_run, run_folders
from tests.judges.endpoint.chat_server import ChatServer, Received, Response, message

from .conftest import Mrb


@pytest.fixture
def bench(tmp_path: Path) -> Path:
    write_demo(tmp_path / "bench", cases=18, seed=11)
    return tmp_path / "bench"


@pytest.fixture(autouse=True)
def offline(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "empty"))
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setattr(preflight, "TIMEOUT_S", 0.2)


def _plan(folder: Path, *judges: str, common: str = "") -> Path:
    text = (f"[common]\n{common}\n" if common else "") + "".join(f"[[judge]]\n{judge}\n" for judge in judges)
    (folder / "judges.toml").write_text(text, encoding="utf-8")
    return folder / "judges.toml"


def _rows(out: str) -> dict[str, str]:
    """The rows of the table at the end, by judge."""
    lines = out.split("\n\n")[-1].rstrip().split("\n")
    head = next(number for number, line in enumerate(lines) if line.startswith("judge"))
    return {line.split()[0]: line for line in lines[head + 1 :]}


def _answers(received: Received) -> Response:
    letters = ", ".join(f'"{name}": "A"' for name in re.findall(r'"(\w+)"', received.text.rpartition("{")[2]))
    return message("{" + letters + "}")


def test_of_six_judges_two_fail_and_four_complete_and_again_nothing_is_judged_twice(
    mrb: Mrb, bench: Path, tiny: Callable[..., Path], tmp_path: Path
) -> None:
    with ChatServer(_answers) as server:
        plan = _plan(
            tmp_path, 'name = "longer"', 'name = "qwen2.5-vl-7b"', 'name = "first"\nlimit = 18',
            f'name = "path:{tiny("llama")}"\nmax_pixels = 3136',
            'name = "endpoint:silent"\nurl = "http://127.0.0.1:9/v1"',
            f'name = "endpoint:m"\nurl = "{server.url}"\nprice_prompt = 1.0\nprice_completion = 2.0\nprompt = "plain"',
            common='limit = 4\ndevice = "cpu"',
        )  # fmt: skip
        result = mrb("judge", bench, tmp_path / "runs", "--plan", plan)
        n_asked = len(server.received)
        again = mrb("judge", bench, tmp_path / "runs", "--plan", plan)
        assert len(server.received) == n_asked > 0
    assert (result.code, again.code) == (1, 1)
    rows, n = _rows(result.out), len(load(bench).meta.dimensions)
    assert list(rows) == ["longer", "qwen2.5-vl-7b", "first", "tiny-llama", "endpoint:silent", "endpoint:m"]
    assert rows["longer"].split()[1:4] == [str(4 * n * 2), str(4 * n * 2), "ok"]
    assert rows["first"].split()[1:6] == [str(18 * n * 2), str(18 * n * 2), "ok", "1.000", "0.000"]
    assert rows["qwen2.5-vl-7b"].split() == ["qwen2.5-vl-7b", "failed"]
    assert rows["endpoint:silent"].split() == ["endpoint:silent", "failed"]
    assert "110" not in rows["longer"] and f"{n_asked * 110:,}" in rows["endpoint:m"]
    assert f"{n_asked * (100 + 20) / 1e6:.4f}" in rows["endpoint:m"]
    assert "SIMULATED" in result.out
    failed = [line for line in result.err.splitlines() if "failed" in line]
    assert failed[0].startswith("qwen2.5-vl-7b: failed: ") and "--download" in failed[0]
    assert failed[1].startswith("endpoint:silent: failed: ") and "no server answers at 127.0.0.1:9" in failed[1]
    assert failed[2] == "mrb: 2 of 6 judges failed, see above; what the others did is kept."
    assert result.err.index("failed") < result.err.index("longer: 0 of"), "before the first starts"
    assert all(f"{name}: 0 SIMULATED verdicts made" in again.out for name in ("longer", "first", "endpoint:m"))
    assert list(_rows(again.out)) == list(rows)


def test_the_table_holds_what_the_tables_of_analyze_say_and_fits(mrb: Mrb, bench: Path, tmp_path: Path) -> None:
    from mrb_lib.stats import analyze as tables

    mrb("judge", bench, tmp_path / "runs", "--judge", "random", "longer")
    result = mrb("judge", bench, tmp_path / "runs", "--judge", "random", "longer", "lexical").ok
    assert max(map(len, result.out.split("\n\n")[-1].splitlines())) <= WIDTH
    benchmark = load(bench)
    verdicts = load_verdicts(tmp_path / "runs", benchmark.cases)
    accuracy = tables.analyze(benchmark, verdicts, "accuracy", resamples=0, dimension="overall", references=0)
    consistency = tables.analyze(benchmark, verdicts, "consistency", dimension="overall").set_index("judge")
    for row in accuracy.itertuples():
        name = str(row.judge)
        cells, own = _rows(result.out)[name].split(), consistency.loc[name]
        assert cells[4:7] == [f"{own[share]:.3f}" for share in ("first_rate", "consistency")] + [f"{row.accuracy:.3f}"]
        assert cells[7] == str(row.n)
    title = " ".join(result.out.split("\n\n")[1].split())
    assert title.endswith("accuracy (policy balanced), consistency and first-shown rate on overall")


def test_what_is_undefined_is_blank(mrb: Mrb, tmp_path: Path) -> None:
    cases = pd.DataFrame({"case_id": ["x", "y"], "question": "?", "response_a": "a b", "response_b": "c"})
    unlabelled = pd.DataFrame(columns=["case_id", "annotator", "dimension", "choice"], dtype="str")
    save(Benchmark(BenchmarkMeta("plain", "general", ("accuracy",)), cases, unlabelled), tmp_path / "plain")
    result = mrb("judge", tmp_path / "plain", tmp_path / "runs", "--judge", "first", "longer", "--orders", "AB").ok
    assert result.out.rstrip().split("\n\n")[-1].split("\n")[0].split() == ["judge", "verdicts", "statuses", "seconds"]
    assert "on accuracy" in " ".join(result.out.split()), "the dimension that there is"


def test_the_table_is_printed_at_ctrl_c(mrb: Mrb, bench: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    judge, batches = FirstJudge.judge, []

    def interrupting(self: FirstJudge, shown: pd.DataFrame) -> pd.DataFrame:
        batches.append(shown)
        if len(batches) == 2:
            os.kill(os.getpid(), signal.SIGINT)
        return judge(self, shown)

    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    monkeypatch.setattr(FirstJudge, "judge", interrupting)
    plan = _plan(tmp_path, 'name = "longer"', 'name = "first"\nbatch_size = 3', 'name = "random"')
    result = mrb("judge", bench, tmp_path / "runs", "--plan", plan)
    signal.signal(signal.SIGINT, before)
    assert result.code == 1
    rows, n = _rows(result.out), len(load(bench).meta.dimensions)
    assert rows["first"].split()[1:5] == [str(6 * n * 2), "interrupted;", str(6 * n * 2), "ok"]
    assert rows["random"].split() == ["random", "not", "started"]
    assert "longer" in rows and "run the same command again to go on" in result.err
    assert mrb("judge", bench, tmp_path / "runs", "--plan", plan).code == 0


def test_options_hold_where_the_plan_says_nothing_and_named_judges_come_after_it(
    mrb: Mrb, bench: Path, tmp_path: Path
) -> None:
    plan = _plan(tmp_path, 'name = "first"', 'name = "random"\nlimit = 1')
    result = mrb(
        "judge", bench, tmp_path / "runs", "--plan", plan, "--judge", "longer", "--limit", 2, "--orders", "AB"
    ).ok
    n = len(load(bench).meta.dimensions)
    assert {name: row.split()[1] for name, row in _rows(result.ok.out).items()} == {
        "first": str(2 * n), "random": str(n), "longer": str(2 * n)
    }  # fmt: skip


def test_two_runs_of_one_judge_are_two_rows(mrb: Mrb, bench: Path, tmp_path: Path) -> None:
    plan = _plan(tmp_path, 'name = "random"', 'name = "random"\nseed = 7\nlimit = 2')
    result = mrb("judge", bench, tmp_path / "runs", "--plan", plan)
    runs = {folder.name: len(read_run(folder)) for folder in run_folders(tmp_path / "runs")}
    assert len(runs) == 2
    rows = result.out.split("\n\n")[-1]
    for name, n in runs.items():
        assert re.search(rf"^random@{name} +{n} ", rows, flags=re.MULTILINE)


def test_a_server_that_is_off_by_now_fails_no_run_that_is_complete(mrb: Mrb, bench: Path, tmp_path: Path) -> None:
    with ChatServer(_answers) as server:
        judges = f'name = "endpoint:m"\nurl = "{server.url}"', 'name = "first"'
        plan = _plan(tmp_path, *judges, common="limit = 2")
        assert mrb("judge", bench, tmp_path / "runs", "--plan", plan).code == 0
    again = mrb("judge", bench, tmp_path / "runs", "--plan", plan).ok
    assert "endpoint:m: 0 SIMULATED verdicts made" in again.out
    more = mrb("judge", bench, tmp_path / "runs", "--plan", _plan(tmp_path, *judges, common="limit = 3"))
    assert more.code == 1 and "endpoint:m: failed: " in more.err and "no server answers" in more.err


def test_one_judge_has_no_table_and_its_own_exit_code(mrb: Mrb, bench: Path, tmp_path: Path) -> None:
    assert mrb("judge", bench, tmp_path / "runs", "--judge", "longer").out.count("\n") == 2
    result = mrb("judge", bench, tmp_path / "runs", "--judge", "qwen2.5-vl-7b")
    assert (result.code, result.out, len(result.err.splitlines())) == (2, "", 1)


def test_position_bias_is_said_when_it_is_seen(mrb: Mrb, bench: Path, tmp_path: Path) -> None:
    result = mrb("judge", bench, tmp_path / "runs", "--judge", "first", "longer", "random")
    said = [line for line in result.err.splitlines() if "verdicts: position" in line]
    assert said == ["first: chose the first-shown in 100% of verdicts: position decides more than the responses"]
    few = mrb("judge", bench, tmp_path / "few", "--judge", "first", "--limit", 2)
    assert "first-shown" not in few.err, "two cases show nothing"
    one = mrb("judge", bench, tmp_path / "one", "--judge", "first", "--orders", "AB")
    assert "first-shown" not in one.err, "in one order the first may be the better"


Asked = list[tuple[list[PlannedJudge], Sequence[Path]]]
ROSTER = '[[judge]]\nname = "writer"\nengine = "generative"\nmodel = "a/b"\n'


@pytest.fixture
def few(mrb: Mrb, tables: Path, tmp_path: Path) -> Path:
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

    def note(_bench: object, _runs: object, judges: list[PlannedJudge], extra: Sequence[Path], **_: object) -> None:
        calls.append((judges, extra))

    monkeypatch.setattr("mrb_lib.cli.judge.judge_plan", note)
    return calls


def test_every_option_reaches_the_judges(mrb: Mrb, few: Path, roster: Path, tmp_path: Path, asked: Asked) -> None:
    assert mrb(
        "judge", few, tmp_path / "r", "--judge", "writer", "first", "--orders", "BA", "--repeats", 2, "--limit", 1,
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
    mrb("judge", few, tmp_path, "--judge", "first", "--engine", "ray", "--workers", 2, "--gpus-per-worker", 0.5)
    assert asked[1][0] == [PlannedJudge("first", engine="ray", workers=2, gpus_per_worker=0.5)]


def _append(folder: Path, **columns: object) -> None:
    """Append verdicts of a judge, by their columns."""
    folder.mkdir(parents=True, exist_ok=True)
    rows = pd.DataFrame(columns).assign(judge="writer", dimension="overall", order="AB")
    append_part(folder, conform(rows, "verdicts", "test"))


def test_the_end_of_a_run_says_what_it_holds_what_it_cost_and_what_to_know(
    mrb: Mrb, few: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "writer-1"
    _append(folder, case_id=["1"], choice="A", status="ok", prompt_tokens=1000.0, completion_tokens=10.0, cost_usd=0.25)
    _append(folder, case_id=["2", "3"], choice=None, status=["unparsed", "error"], prompt_tokens=[500.0, None],
            completion_tokens=[5.0, None], error=[None, "image x.png is missing"])  # fmt: skip
    write_manifest(folder, Manifest(folder.name, "writer"))
    done = RunSummary("writer", folder, 2, 1, 4, 1.5, ("prompt differs from run x",), 1, ("a notice",))
    monkeypatch.setattr("mrb_lib.cli.judge.judge_plan", _finishing(done))
    result = mrb("judge", few, tmp_path / "r", "--judge", "first")
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
    mrb: Mrb, few: Path, tmp_path: Path, budget: float, sent: int
) -> None:
    """A request costs .00012 USD here, and with the longest reply more than .001."""
    with ChatServer(lambda _: message('{"overall": "A"}')) as server:
        command = ["judge", few, tmp_path / "r", "--judge", "endpoint:m", "--url", server.url]
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
    mrb: Mrb, few: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, statuses: list[str], code: int
) -> None:
    folder = tmp_path / "r" / "first"
    choices = ["A" if status == "ok" else None for status in statuses]
    _append(folder, case_id=["1", "2"], choice=choices, status=statuses)
    summary = RunSummary("first", folder, 2, 0, 0, 0.1, ())
    monkeypatch.setattr("mrb_lib.cli.judge.judge_plan", _finishing(summary))
    result = mrb("judge", few, tmp_path / "r", "--judge", "first")
    assert result.code == code
    assert ("every verdict is an error" in result.err) == bool(code)
