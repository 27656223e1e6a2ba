"""Tests of what is promised about runs that are spread over several workers."""

from __future__ import annotations

import os
import pickle
import shutil
import signal
import sys
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import psutil
import pyarrow as pa
import pytest

from mrb_lib.benchmarks.benchmark import Benchmark
from mrb_lib.judges.roster.roster import resolve
from mrb_lib.judges.settings import Settings
from mrb_lib.runs import execute, scaleout
from mrb_lib.runs.interruption import InterruptedRunError
from mrb_lib.runs.local import Job
from mrb_lib.runs.plan import Plan, ProbeOptions
from mrb_lib.runs.progress import RunProgress
from mrb_lib.runs.scaleout import Answer, Cluster, Source, Worker, assignment, size_pool
from mrb_lib.tables.errors import InputError, RunError
from mrb_lib.verdicts.manifest import identity, read_manifest
from mrb_lib.verdicts.protocol import Judge
from mrb_lib.verdicts.store import exclusive, load_verdicts

from . import scripted
from .scripted import Said, Scripted, Use, rows_held

ALONE = {"engine": "ray", "workers": 2, "gpus_per_worker": 0.0}
LONE = ALONE | {"workers": 1}  # where it does not matter between how many the work is shared
CASES = 9  # that the judge with weights judges: two it has judged before, and three batches for a worker


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    """A Ray on this machine, for all tests; its workers get the judges of the tests with their code."""
    from ray import cloudpickle

    for module in (scripted, sys.modules[__name__]):
        cloudpickle.register_pickle_by_value(module)
    with Cluster() as started:
        started.nodes()
        yield started


class Here:
    """In the place of Ray: one worker in this process, which is given what it would be sent."""

    def __init__(self, rows: list[dict[str, int]], **how: object) -> None:
        self.rows = rows

    def map(self, build: type[Worker], *, fn_constructor_args: tuple[Any, ...], **how: object) -> Here:
        *assigned, source = fn_constructor_args
        self.worker = build(*sent(assigned), asked(source))
        return self

    def iter_batches(self, **how: object) -> Iterator[pa.Table]:
        for row in self.rows:
            yield pa.Table.from_pylist([self.worker(row)])


def sent(content: object) -> Any:
    """Return what arrives of something that Ray sends."""
    from ray import cloudpickle

    return pickle.loads(cloudpickle.dumps(content))  # noqa: S301  # as Ray sends it


def asked(source: Source) -> Callable[..., Any]:
    """Return how a worker asks a source that is in this process."""
    return lambda number: sent(source.batch(number))


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch) -> None:
    """The test is of what workers are given and what becomes of their answers, not of Ray, which carries it."""
    monkeypatch.setattr("ray.data.from_items", Here)
    monkeypatch.setattr(scaleout, "_shared", lambda job: Source(job.plan, job.batches, job.images))
    monkeypatch.setattr(Cluster, "nodes", lambda cluster: [{"CPU": 2.0}])


@pytest.mark.slow
@pytest.mark.usefixtures("cluster")
def test_what_this_process_began_workers_finish_with_the_rows_of_one_go_though_one_is_killed(
    pictured: Benchmark, tiny: Callable[[str], Path], tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    name, runs, cpu = f"path:{tiny('llava')}", tmp_path / "runs", Settings(device="cpu")
    for folder, limit in ((tmp_path / "whole", CASES), (runs, 2)):
        execute.judge(pictured, folder, [name], limit=limit, settings=cpu)
    printed = list[object]()

    def kill_once(status: RunProgress) -> None:
        if 2 * 12 < status.held < status.planned and not printed:
            printed.append(capfd.readouterr())
            descendants("ray::MapWorker")[0].kill()

    in_batches = Settings(batch_size=3)
    [done] = execute.judge(pictured, runs, [name], limit=CASES, settings=in_batches, progress=kill_once, **LONE)
    assert printed == [("", "")], "Ray says nothing until a worker is killed"
    assert (done.before, done.made, done.waiting) == (2 * 12, 7 * 12, 0)
    found, expected = (rows_held(folder) for folder in (runs, tmp_path / "whole"))
    pd.testing.assert_frame_equal(found.drop(columns="p_a"), expected.drop(columns="p_a"), rtol=0, atol=1e-5)
    np.testing.assert_allclose(found["p_a"], expected["p_a"], rtol=0, atol=1e-5)
    assert "1 x cpu" in str(read_manifest(done.folder).resumed)


@pytest.mark.usefixtures("here")
def test_the_members_of_a_jury_are_spread_too_and_judge_the_texts_of_a_file_as_this_process_does(
    little: Benchmark, tmp_path: Path
) -> None:
    name = "consensus-of:random,longer"
    probes = ProbeOptions(("response/repeated",), 15, (french(tmp_path, little),))
    here, there = tmp_path / "here", tmp_path / "there"
    execute.judge(little, here, [name], probes=probes)
    execute.judge(little, there, ["random"], probes=probes)
    [jury] = execute.judge(little, there, [name], probes=probes, settings=Settings(batch_size=9), **ALONE)
    [longer] = jury.members
    assert (longer.judge, 3 * longer.made) == ("longer", len(load_verdicts(here)))
    manifest = read_manifest(longer.folder)
    assert manifest.device == "2 x cpu"
    assert manifest.options["probe_files"]
    pd.testing.assert_frame_equal(rows_held(there), rows_held(here))


@pytest.mark.slow
@pytest.mark.usefixtures("cluster")
def test_an_interrupted_run_keeps_what_arrived_of_every_status_and_says_how_to_go_on(
    little: Benchmark, tmp_path: Path, use: Use
) -> None:
    use(Scripted())
    execute.judge(little, tmp_path / "here", ["scripted"])

    def interrupt(status: RunProgress) -> None:
        if 80 < status.held < 160 and not status.finished:
            os.kill(os.getpid(), signal.SIGINT)

    there = tmp_path / "there"
    with pytest.raises(InterruptedRunError, match=r"of 160 verdicts are kept in .*; run the same command again"):
        execute.judge(little, there, ["scripted"], settings=Settings(batch_size=4), progress=interrupt, **LONE)
    kept = load_verdicts(there)
    assert 80 < len(kept) < 160
    assert set(kept["status"]) == {"ok", "repaired", "unparsed", "refused", "error"}
    [done] = execute.judge(little, there, ["scripted"])
    assert (done.before, done.made) == (len(kept), 160 - len(kept))
    pd.testing.assert_frame_equal(rows_held(there), rows_held(tmp_path / "here"))


class Lost(Scripted):
    """Finds no weights when it is to load them."""

    def load(self) -> None:
        raise InputError("judge lost: its weights are gone; fetch them.")


@pytest.mark.usefixtures("here")
def test_what_a_worker_cannot_load_is_one_message_and_nothing_is_written(
    little: Benchmark, tmp_path: Path, use: Use
) -> None:
    use(Lost("lost"))
    with pytest.raises(InputError, match=r"^judge lost: its weights are gone; fetch them\. \(on \S+\)$"):
        execute.judge(little, tmp_path / "runs", ["lost"], **LONE)
    assert list((tmp_path / "runs").iterdir()) == []


def test_a_device_and_a_precision_mean_the_same_on_the_machines_of_a_cluster(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = Cluster()
    monkeypatch.setattr(cluster, "nodes", lambda: [{"CPU": 4.0}])
    with pytest.raises(InputError, match="device 'cuda': Ray has no GPU"):
        scaleout.for_workers(Settings(device="cuda"), cluster, None)
    assert scaleout.for_workers(Settings(), cluster, None).device == "cpu"
    monkeypatch.setattr(cluster, "nodes", lambda: [{"CPU": 4.0, "GPU": 1.0}])
    assert scaleout.for_workers(Settings(), cluster, 0.0).device == "cpu"
    chosen = scaleout.for_workers(Settings(device="cuda"), cluster, None)
    assert (chosen.device, chosen.dtype) == ("auto", "bfloat16")
    assert scaleout.for_workers(Settings(dtype="float32"), cluster, None).dtype == "float32"


def test_a_run_that_another_process_writes_is_refused_before_ray_is_needed(little: Benchmark, tmp_path: Path) -> None:
    [done] = execute.judge(little, tmp_path, ["random"], limit=1)
    with exclusive(done.folder), pytest.raises(RunError, match="another process is writing this run"):
        execute.judge(little, tmp_path, ["random"], engine="ray")
    assert execute.judge(little, tmp_path, ["random"], limit=1, engine="ray")[0].made == 0, (
        "nothing to do needs no Ray either"
    )


def test_a_judge_that_asks_a_server_stays_in_this_process_and_says_so(
    little: Benchmark, tmp_path: Path, use: Use
) -> None:
    served = Scripted("served", engine="endpoint")
    use(served)
    [done] = execute.judge(little, tmp_path, ["served"], engine="ray")
    assert (done.made, served.asked) == (160, 160)
    assert "worked in this process" in done.notices[0]


def test_a_gpu_that_the_user_chooses_is_refused(little: Benchmark, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="device 'cuda:1': with engine ray, Ray chooses"):
        execute.judge(little, tmp_path / "runs", ["random"], engine="ray", settings=Settings(device="cuda:1"))
    assert not (tmp_path / "runs").exists()


def french(folder: Path, bench: Benchmark) -> Path:
    """A file with other responses of every third case."""
    path = folder / "french.csv"
    bench.cases[["case_id"]].iloc[::3].assign(response_b="le " * 40).to_csv(path, index=False)
    return path


def job_of(judge: Judge, bench: Benchmark, *batches: list[int]) -> Job:
    return Job(judge, Plan(bench.cases, bench.meta.dimensions), [np.array(one) for one in batches], {})


def worker_of(job: Job, **changed: Any) -> Worker:
    known = dict(zip(("name", "make", "same", "on_gpu"), assignment(job, on_gpu=False), strict=True))
    return Worker(**known | changed, batch=asked(Source(job.plan, job.batches, job.images)))


def test_a_judge_that_fails_on_a_worker_is_one_line_with_its_machine(little: Benchmark) -> None:
    def fail(key: tuple[object, ...]) -> Said:
        raise ValueError("no idea\nat all")

    answer = worker_of(job_of(Scripted(say=fail), little, [0, 1, 2])).answer(0)
    assert answer.verdicts.empty
    assert type(answer.error) is RunError
    assert str(answer.error).startswith("judge scripted: failed on ")
    assert "(ValueError: no idea at all)" in str(answer.error)


class Deadly(Scripted):
    """Kills the process that is to load it, as a machine does whose memory does not suffice."""

    def load(self) -> None:
        os._exit(1)


@pytest.mark.slow
@pytest.mark.usefixtures("cluster")
def test_workers_that_die_again_and_again_end_the_run(
    little: Benchmark, tmp_path: Path, use: Use, monkeypatch: pytest.MonkeyPatch
) -> None:
    use(Deadly("deadly"))
    monkeypatch.setitem(scaleout._LASTING, "max_restarts", 1)
    with pytest.raises(RunError, match=r"the workers cannot go on .* memory for its workers"):
        execute.judge(little, tmp_path / "runs", ["deadly"], **LONE)
    assert list((tmp_path / "runs").iterdir()) == []


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"same": identity({"dtype": "bfloat16"}, "")}, "(dtype bfloat16 -> float32)"),
        ({"same": identity({"dtype": "float32"}, "another")}, "(prompt_hash another -> none)"),
        ({"on_gpu": True}, "has a GPU that torch cannot use"),
    ],
)
def test_a_worker_whose_judge_is_not_the_same_answers_nothing(
    little: Benchmark, changed: dict[str, Any], message: str
) -> None:
    job = job_of(Scripted(dtype="float32"), little, [0, 1])
    answer = worker_of(job, **changed).answer(0)
    assert answer.verdicts.empty
    assert message in str(answer.error)


def test_a_batch_takes_what_a_judge_may_see_and_images_fail_as_they_do_at_home(pictured: Benchmark) -> None:
    name = pictured.cases["images"][0][0]
    cases = pictured.cases.head(1).assign(images=[[name, "absent.png", "../escape.png"]])
    shown, images, *_ = sent(Source(Plan(cases, ("overall",)), [np.arange(2)], pictured.images).batch(0))
    hidden = {"model_a", "model_b", "dataset", "split"}
    assert hidden <= set(cases.columns) and not hidden & set(shown.columns)
    assert images[name] == pictured.images[name]
    assert set(images) == {name, "../escape.png"}, "no others, and the reason why one is refused"
    with pytest.raises(KeyError):
        images["absent.png"]
    with pytest.raises(InputError) as there:
        images["../escape.png"]
    with pytest.raises(InputError) as home:
        pictured.images["../escape.png"]
    assert str(there.value) == str(home.value)


def test_answers_that_come_twice_count_once_and_those_that_do_not_come_are_missed(little: Benchmark) -> None:
    job = job_of(Scripted(), little, [0, 1, 2, 3], [4, 5, 6, 7], [8, 9, 10, 11])
    worker = worker_of(job)

    def arriving() -> Generator[Answer, None, None]:
        yield from (worker.answer(number) for number in (1, 0))

    collected = scaleout._collected(job, arriving(), worker.answer(0))
    assert [job.plan.numbers(next(collected)).tolist() for _ in range(2)] == [[0, 1, 2, 3], [4, 5, 6, 7]]
    with pytest.raises(RunError, match="1 batches did not come back"):
        next(collected)


GPUS = [{"CPU": 16.0, "GPU": 8.0}, {"CPU": 16.0, "GPU": 8.0}, {"CPU": 4.0}]


@pytest.mark.parametrize(
    ("nodes", "options", "expected"),
    [
        (GPUS, (None, None), (16, {"CPU": 2, "GPU": 1.0})),
        (GPUS, (None, 0.5), (32, {"CPU": 1, "GPU": 0.5})),
        (GPUS, (3, None), (3, {"CPU": 2, "GPU": 1.0})),
        (GPUS, (None, 0.0), (18, {"CPU": 2, "GPU": 0.0})),
        (GPUS, (17, None), "17 workers with 1 GPUs each: there is room for 16"),
        ([{"CPU": 2.0}], (None, None), (1, {"CPU": 2, "GPU": 0.0})),
        ([{"CPU": 2.0}], (2, None), (2, {"CPU": 1, "GPU": 0.0})),
        ([{"CPU": 2.0}], (5, 1.0), "5 workers with 1 GPUs each: there is room for 0; use fewer --workers"),
        ([{"CPU": 8.0}, {"CPU": 3.0}], (3, None), (3, {"CPU": 3, "GPU": 0.0})),
        ([], (None, None), "1 workers with 1 CPUs each: there is room for 0"),
    ],
)
def test_workers_share_out_what_there_is_and_more_are_refused(
    nodes: list[dict[str, float]], options: tuple[object, ...], expected: object
) -> None:
    if isinstance(expected, str):
        with pytest.raises(InputError, match=expected):
            size_pool(nodes, *options)
    else:
        assert size_pool(nodes, *options) == expected


def test_a_ray_of_its_own_counts_the_processors_that_this_process_may_use(monkeypatch: pytest.MonkeyPatch) -> None:
    counted: dict[str, object] = {}
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 3, 5}, raising=False)
    for name, stand_in in {
        "is_initialized": lambda: False,
        "init": lambda _, **options: counted.update(options),
        "nodes": list,
        "shutdown": lambda: None,
    }.items():
        monkeypatch.setattr(f"ray.{name}", stand_in)
    with Cluster() as cluster:
        cluster.nodes()
    assert counted["num_cpus"] == 3


@pytest.mark.parametrize(
    ("address", "message"),
    [
        ("ray://nowhere.invalid:10001", "cannot be used at RAY_ADDRESS=ray://nowhere.invalid:10001 .* name HOST:PORT"),
        ("nowhere", "cannot be used at RAY_ADDRESS=nowhere"),
        ("127.0.0.1:1", "cannot be used at RAY_ADDRESS=127.0.0.1:1 .*refused"),
    ],
)
def test_a_cluster_that_cannot_be_used_is_said_in_one_line(
    monkeypatch: pytest.MonkeyPatch, address: str, message: str
) -> None:
    """After the tests that share a Ray: it ends with the attempt to join another, and would be started anew."""
    monkeypatch.setenv("RAY_ADDRESS", address)
    monkeypatch.setattr("ray.is_initialized", lambda: False)
    with pytest.raises(RunError, match=message) as caught, Cluster() as cluster:
        cluster.nodes()
    assert "\n" not in str(caught.value)


def descendants(command: str) -> list[psutil.Process]:
    """The processes that this one started, or they in turn, whose command holds this."""
    return [one for one in psutil.Process().children(recursive=True) if command in " ".join(one.cmdline())]


def test_another_copy_of_the_weights_is_refused(
    tiny: Callable[[str], Path], tmp_path: Path, pictured: Benchmark
) -> None:
    folder = shutil.copytree(tiny("llava"), tmp_path / "copy")
    job = job_of(resolve(f"path:{folder}", runs=tmp_path, images={}, settings=Settings(device="cpu")), pictured, [0])
    weights = folder / "model.safetensors"
    content = bytearray(weights.read_bytes())
    content[len(content) // 2] ^= 1
    weights.write_bytes(content)
    error = str(worker_of(job).answer(0).error)
    assert "is not the same there" in error
    assert "(revision sha256:" in error


def test_what_workers_count_is_added_up_and_the_rest_is_said_once() -> None:
    said = {"a 1": ["reads text only", "2 of 12 verdicts rest"], "b 1": ["3 of 24 verdicts rest", "reads text only"]}
    assert scaleout.added_up(text for texts in said.values() for text in texts) == [
        "reads text only",
        "5 of 36 verdicts rest",
    ]
