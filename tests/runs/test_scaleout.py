"""What is promised about runs that are spread over several workers."""

from __future__ import annotations

import os
import pickle
import shutil
import signal
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from mrb_lib.benchmarks.benchmark import Benchmark, save
from mrb_lib.benchmarks.splits import split
from mrb_lib.build.construct.answers.answering import answer, answers_in, ask_about, writers
from mrb_lib.build.training.on_ray import _trial, train_on_ray
from mrb_lib.build.training.parallel import Training
from mrb_lib.build.training.recipe import Recipe
from mrb_lib.build.training.train import Trained
from mrb_lib.judges.roster.roster import resolve
from mrb_lib.judges.settings import Settings
from mrb_lib.runs import execute
from mrb_lib.runs.interruption import InterruptedRunError
from mrb_lib.runs.outcomes import Outcome
from mrb_lib.runs.plan import Plan, ProbeOptions, make_plan
from mrb_lib.runs.planned import PlannedModel
from mrb_lib.runs.progress import RunProgress
from mrb_lib.runs.ray import scaleout
from mrb_lib.runs.ray.cluster import Cluster, WorkerPool, capacity, reason_of, size_pool
from mrb_lib.runs.ray.image_server import RESTARTS, ImageServer, ServedImages
from mrb_lib.runs.ray.remote import GREETING, Assignment, Worker, assignment, batch_table, decode_frame, quick_digests
from mrb_lib.tables.errors import InputError, RunError
from mrb_lib.verdicts.manifest import read_manifest
from mrb_lib.verdicts.orders import to_shown_frame
from mrb_lib.verdicts.store import exclusive, load_verdicts

from . import scripted
from .scripted import Said, Scripted, comparable, use

ONE = WorkerPool(1, 1, 0.0)
ALONE = {"workers": 2, "gpus_per_worker": 0.0}
LONE = {"workers": 1, "gpus_per_worker": 0.0}  # where it does not matter between how many the work is shared
CASES = 9  # that the judge with weights judges: two it has judged before, and three batches for a worker


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    """A Ray on this machine, for all tests; its workers get the judges of the tests with their code."""
    from ray import cloudpickle

    for module in (scripted, sys.modules[__name__]):
        cloudpickle.register_pickle_by_value(module)
    with Cluster(2) as started:
        started.connect()
        yield started


class Here:
    """In the place of Ray's data: one worker in this process, which is given what it would be sent."""

    def __init__(self, tables: list[pa.Table]) -> None:
        self.tables = tables

    def map_batches(
        self, build: type[Worker], *, fn_constructor_args: tuple[Assignment, ImageServer], **how: object
    ) -> Here:
        assigned, server = fn_constructor_args
        self.worker = build(pickle.loads(pickle.dumps(assigned)), server)  # noqa: S301  # as Ray sends it
        return self

    def iter_batches(self, **how: object) -> Iterator[pa.Table]:
        for table in self.tables:
            yield self.worker(table)


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch) -> None:
    """What matters is what workers are given and what becomes of their answers, not that Ray carries it."""
    monkeypatch.setattr("ray.data.from_blocks", Here)
    monkeypatch.setattr(scaleout, "RemoteImageServer", ImageServer)
    monkeypatch.setattr(Cluster, "nodes", lambda cluster: [{"CPU": 2.0}])


@pytest.mark.slow
@pytest.mark.usefixtures("cluster")
def test_what_this_process_began_workers_finish_with_the_rows_of_one_go(
    pictured: Benchmark, tiny: Callable[[str], Path], tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    name, runs, cpu = f"path:{tiny('llava')}", tmp_path / "runs", Settings(device="cpu")
    for folder, limit in ((tmp_path / "whole", CASES), (runs, 2)):
        execute.judge(pictured, folder, [name], limit=limit, settings=cpu)
    [done] = scaleout.judge_on_ray(pictured, runs, [name], limit=CASES, settings=Settings(batch_size=3), **LONE)
    assert (done.before, done.made, done.waiting) == (2 * 12, 7 * 12, 0)
    found, expected = (comparable(load_verdicts(folder, replies=True)) for folder in (runs, tmp_path / "whole"))
    pd.testing.assert_frame_equal(found.drop(columns="p_a"), expected.drop(columns="p_a"), rtol=0, atol=1e-5)
    np.testing.assert_allclose(found["p_a"], expected["p_a"], rtol=0, atol=1e-5)
    assert "1 x cpu" in str(read_manifest(done.folder).resumed)
    assert capfd.readouterr() == ("", "")


@pytest.mark.usefixtures("here")
def test_workers_answer_items_as_this_process_does(
    pictured: Benchmark, tiny: Callable[[str], Path], tmp_path: Path
) -> None:
    items = pictured.cases.head(4).rename(columns={"case_id": "item_id"}).assign(choices=None)
    assert pictured.path is not None
    asked = ask_about(items, pictured.path / "images", name="w", kind="simulated", digest="d")
    one = PlannedModel(
        f"path:{tiny('llava')}", Settings(prompt="short-answer", max_new_tokens=6, device="cpu", batch_size=2)
    )
    position = pd.Series(range(4), index=items["item_id"])
    tables = []
    for name, how in (("here", one), ("spread", replace(one, engine="ray", **LONE))):
        [run] = answer(asked, tmp_path / name, writers([how]), samples=2)
        answers = pd.concat(answers_in(run, position, 2)).drop(columns="latency_s")
        tables.append(answers.sort_values(["position", "sample"], ignore_index=True))
    assert len(tables[0]) == 8 and tables[0].equals(tables[1])


@pytest.mark.slow
@pytest.mark.usefixtures("cluster")
def test_a_worker_that_is_killed_midway_loses_and_doubles_nothing(
    little: Benchmark, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    use(monkeypatch, Scripted())
    execute.judge(little, tmp_path / "here", ["scripted"])
    killed: list[int] = []

    def kill_once(status: RunProgress) -> None:
        if 0 < status.held < status.planned and not killed:
            killed.append(workers()[0])
            os.kill(killed[0], signal.SIGKILL)

    there = tmp_path / "there"
    [done] = scaleout.judge_on_ray(
        little, there, ["scripted"], settings=Settings(batch_size=4), progress=kill_once, **ALONE
    )
    assert len(killed) == 1
    assert (done.made, read_manifest(done.folder).device) == (160, "2 x cpu")
    pd.testing.assert_frame_equal(
        comparable(load_verdicts(there, replies=True)), comparable(load_verdicts(tmp_path / "here", replies=True))
    )


@pytest.mark.usefixtures("here")
def test_the_members_of_a_jury_are_spread_too_and_judge_the_texts_of_a_file_as_this_process_does(
    little: Benchmark, tmp_path: Path
) -> None:
    name = "consensus-of:random,longer"
    probes = ProbeOptions(("response/repeated",), 15, (french(tmp_path, little),))
    here, there = tmp_path / "here", tmp_path / "there"
    execute.judge(little, here, [name], probes=probes)
    execute.judge(little, there, ["random"], probes=probes)
    [jury] = scaleout.judge_on_ray(little, there, [name], probes=probes, settings=Settings(batch_size=9), **ALONE)
    [longer] = jury.members
    assert (longer.judge, 3 * longer.made) == ("longer", len(load_verdicts(here)))
    manifest = read_manifest(longer.folder)
    assert manifest.device == "2 x cpu"
    assert manifest.options["probe_files"]
    pd.testing.assert_frame_equal(
        comparable(load_verdicts(there, replies=True)), comparable(load_verdicts(here, replies=True))
    )


@pytest.mark.slow
@pytest.mark.usefixtures("cluster")
def test_an_interrupted_run_keeps_what_arrived_of_every_status_and_says_how_to_go_on(
    little: Benchmark, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    use(monkeypatch, Scripted())
    execute.judge(little, tmp_path / "here", ["scripted"])

    def interrupt(status: RunProgress) -> None:
        if 80 < status.held < 160 and not status.finished:
            os.kill(os.getpid(), signal.SIGINT)

    there = tmp_path / "there"
    with pytest.raises(InterruptedRunError, match=r"of 160 verdicts are kept in .*; run the same command again"):
        scaleout.judge_on_ray(little, there, ["scripted"], settings=Settings(batch_size=4), progress=interrupt, **LONE)
    kept = load_verdicts(there)
    assert 80 < len(kept) < 160
    assert set(kept["status"]) == {"ok", "repaired", "unparsed", "refused", "error"}
    [done] = execute.judge(little, there, ["scripted"])
    assert (done.before, done.made) == (len(kept), 160 - len(kept))
    pd.testing.assert_frame_equal(
        comparable(load_verdicts(there, replies=True)), comparable(load_verdicts(tmp_path / "here", replies=True))
    )


@pytest.mark.slow
@pytest.mark.usefixtures("cluster")
def test_ray_tune_trains_the_same_judge_and_gives_the_error_of_one_that_cannot_be_made(
    pictured: Benchmark, tiny: Callable[[str], Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    save(split(pictured, test=0.3, validation=0.2, seed=0).benchmark, tmp_path / "bench")
    recipe = Recipe(method="reward", epochs=1, batch=4, n_cases=4)
    how = (f"path:{tiny('llama')}", recipe, Settings(device="cpu", without_images=True))
    here, there = (Training(tmp_path / "bench", tmp_path / place / "judge", *how) for place in ("here", "there"))
    [done] = train_on_ray([there])
    assert isinstance(done, Trained), done
    made = [(folder / "reward_head.safetensors").read_bytes() for folder in (here.run().folder, done.folder)]
    assert made[0] == made[1]
    said: list[object] = []
    monkeypatch.setattr("ray.tune.report", lambda metrics: said.append(metrics["done_as"]))
    _trial(
        {"training": replace(there, out=tmp_path / "wrong", recipe=replace(recipe, n_cases=900)), "here": Path.cwd()}
    )
    [error] = said
    assert isinstance(error, InputError)
    assert str(error).startswith("wrong: --n-cases 900: there are ")


class Lost(Scripted):
    """Finds no weights when it is to load them."""

    def load(self) -> None:
        raise InputError("judge lost: its weights are gone; fetch them.")


@pytest.mark.usefixtures("here")
def test_what_a_worker_cannot_load_is_one_message_and_nothing_is_written(
    little: Benchmark, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    use(monkeypatch, Lost("lost"))
    with pytest.raises(InputError, match=r"^judge lost: its weights are gone; fetch them\. \(on \S+\)$"):
        scaleout.judge_on_ray(little, tmp_path / "runs", ["lost"], **LONE)
    assert list((tmp_path / "runs").iterdir()) == []


def test_weights_that_a_worker_misses_are_named(tiny: Callable[[str], Path], tmp_path: Path, little: Benchmark) -> None:
    folder = shutil.copytree(tiny("llava"), tmp_path / "moved")
    judge = resolve(f"path:{folder}", runs=tmp_path, images={}, settings=Settings(device="cpu"))
    plan = Plan(little.cases, little.meta.dimensions)
    assigned = assignment(judge, plan, ONE)
    (folder / "model.safetensors").unlink()
    row = said_by(Worker(assigned, ImageServer({})), plan, GREETING, np.array([], dtype=int))
    assert row["bad_input"]
    assert str(folder) in str(row["failure"])
    assert "safetensors" in str(row["failure"])


@pytest.mark.slow
def test_what_is_asked_of_a_cluster_must_be_there_and_means_the_same_on_its_machines(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(InputError, match="9999 workers with 1 CPUs each: this machine has room for"):
        cluster.pool(9999, 0.0, "cpu", 0.0)
    monkeypatch.setattr(cluster, "nodes", lambda: [{"CPU": 4.0}])
    with pytest.raises(InputError, match="device 'cuda': Ray has no GPU"):
        scaleout._for_workers(Settings(device="cuda"), cluster, None)
    assert scaleout._for_workers(Settings(), cluster, None).device == "cpu"
    monkeypatch.setattr(cluster, "nodes", lambda: [{"CPU": 4.0, "GPU": 1.0}])
    assert scaleout._for_workers(Settings(), cluster, 0.0).device == "cpu"
    chosen = scaleout._for_workers(Settings(device="cuda"), cluster, None)
    assert (chosen.device, chosen.dtype) == ("auto", "bfloat16")
    assert scaleout._for_workers(Settings(dtype="float32"), cluster, None).dtype == "float32"


def test_a_run_that_another_process_writes_is_refused_before_ray_is_needed(little: Benchmark, tmp_path: Path) -> None:
    [done] = execute.judge(little, tmp_path, ["random"], limit=1)
    with exclusive(done.folder), pytest.raises(RunError, match="another process is writing this run"):
        scaleout.judge_on_ray(little, tmp_path, ["random"])
    assert scaleout.judge_on_ray(little, tmp_path, ["random"], limit=1)[0].made == 0, (
        "nothing to do needs no Ray either"
    )


def test_a_judge_that_asks_a_server_stays_in_this_process_and_says_so(
    little: Benchmark, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    served = Scripted("served", engine="endpoint")
    use(monkeypatch, served)
    outcomes: list[Outcome] = []
    [done] = scaleout.judge_on_ray(little, tmp_path, ["served"], finished=outcomes.append)
    assert (done.made, served.asked) == (160, 160)
    assert "worked in this process" in done.notices[0]
    assert outcomes == [done]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"workers": 0}, "workers 0: at least 1"),
        ({"gpus_per_worker": 1.5}, "GPUs per worker 1.5: must be a share of one, or a whole number"),
        ({"settings": Settings(device="cuda:1")}, "device 'cuda:1': with engine ray, Ray chooses"),
    ],
)
def test_options_that_make_no_sense_are_refused(
    little: Benchmark, tmp_path: Path, options: dict[str, object], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        scaleout.judge_on_ray(little, tmp_path / "runs", ["random"], **options)
    assert not (tmp_path / "runs").exists()


def test_without_ray_the_message_says_what_to_install(
    little: Benchmark, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scaleout, "find_spec", lambda name: None)
    with pytest.raises(InputError, match=r"needs ray; install it with `pip install 'mrb-workbench\[scaleout\]'`"):
        scaleout.judge_on_ray(little, tmp_path, ["random"])


def test_nothing_that_no_judge_may_see_leaves_this_machine(pictured: Benchmark) -> None:
    plan = Plan(pictured.cases, pictured.meta.dimensions)
    [row] = batch_table(plan, 0, np.arange(24)).to_pylist()
    cases = decode_frame(row["cases"])
    assert {"model_a", "model_b", "dataset", "split"} <= set(plan.cases.columns)
    assert not {"model_a", "model_b", "dataset", "split"} & set(cases.columns)
    assert cases["case_id"].tolist() == plan.cases["case_id"].head(2).tolist()


def test_a_batch_means_the_same_verdicts_wherever_its_cases_stand(pictured: Benchmark) -> None:
    plan = Plan(pictured.cases, ("overall", "accuracy"), repeats=2)
    numbers = np.array([71, 64, 8, 15, 9])
    [row] = batch_table(plan, 0, numbers).to_pylist()
    there = replace(plan, cases=decode_frame(row["cases"])).rows(np.array(row["numbers"]))
    expected = plan.rows(numbers)[there.columns]
    pd.testing.assert_frame_equal(there, expected)
    assert [type(names) for names in there["images"]] == [list] * 5


def french(folder: Path, bench: Benchmark) -> Path:
    """A file with other responses of every third case."""
    path = folder / "french.csv"
    bench.cases[["case_id"]].iloc[::3].assign(response_b="le " * 40).to_csv(path, index=False)
    return path


def test_a_worker_gets_the_texts_of_a_file_with_its_work_and_no_more_of_the_cases_than_a_probe_may_see(
    pictured: Benchmark, tmp_path: Path
) -> None:
    path = french(tmp_path, pictured)
    plan = make_plan(pictured.cases, ("overall",), probes=ProbeOptions(files=(path,)))
    path.unlink()
    scripted_judge = Scripted()
    there = pickle.loads(pickle.dumps(assignment(scripted_judge, plan, ONE)))  # noqa: S301  # as Ray sends it
    assert {"model_a", "model_b", "dataset"} <= set(plan.probing.cases.columns)
    assert not {"model_a", "model_b", "dataset", "split"} & set(there.plan.probing.cases.columns)
    worker = Worker(replace(there, recipe=lambda images: scripted_judge), ImageServer({}))
    row = said_by(worker, plan, 0, np.arange(4))
    assert row["failure"] is None
    [shown] = scripted_judge.batches
    pd.testing.assert_frame_equal(
        shown[["probe", "first", "second"]],
        to_shown_frame(plan.rows(np.arange(4)))[["probe", "first", "second"]],
    )
    assert "response/file-french" in set(shown["probe"])


def job_of(judge: Scripted, bench: Benchmark) -> tuple[Plan, Assignment]:
    plan = Plan(bench.cases, bench.meta.dimensions)
    return plan, assignment(judge, plan, ONE)


def said_by(worker: Worker, plan: Plan, number: int, verdicts: np.ndarray) -> dict[str, object]:
    [row] = worker(batch_table(plan, number, verdicts)).to_pylist()
    return row


def test_a_judge_that_fails_on_a_worker_is_one_line_with_its_machine(little: Benchmark) -> None:
    def fail(key: tuple[object, ...]) -> Said:
        raise ValueError("no idea\nat all")

    plan, assigned = job_of(Scripted(say=fail), little)
    row = said_by(Worker(assigned, ImageServer({})), plan, 0, np.arange(4))
    assert row["verdicts"] is None
    assert not row["bad_input"]
    assert str(row["failure"]).startswith("judge scripted: failed on ")
    assert "(ValueError: no idea at all)" in str(row["failure"])


def test_a_batch_that_kills_its_worker_again_and_again_ends_the_run(little: Benchmark) -> None:
    plan, assigned = job_of(Scripted(), little)
    server = ImageServer({})
    for _ in range(RESTARTS + 1):
        assert said_by(Worker(assigned, server), plan, 3, np.arange(4))["failure"] is None
    assert "a batch made its worker die 5 times" in str(
        said_by(Worker(assigned, server), plan, 3, np.arange(4))["failure"]
    )


def test_workers_that_die_while_they_load_end_the_run(little: Benchmark) -> None:
    class Heavy(Scripted):
        def load(self) -> None:
            raise MemoryError("no room")

    plan, assigned = job_of(Heavy(), little)
    server = ImageServer({})
    failures = [
        str(said_by(Worker(assigned, server), plan, GREETING, np.array([], dtype=int))["failure"])
        for _ in range(RESTARTS + 2)
    ]
    assert ["(MemoryError: no room)" in text for text in failures] == [True] * (RESTARTS + 1) + [False]
    assert "the workers die while they load it" in failures[-1]


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"spec": {"dtype": "bfloat16"}}, "dtype is 'float32' there and 'bfloat16' where the run was started"),
        ({"prompt_hash": "another"}, "its prompt is another"),
        ({"pool": WorkerPool(1, 1, 1.0)}, "has a GPU that torch cannot use"),
    ],
)
def test_a_worker_whose_judge_is_not_the_same_answers_nothing(
    little: Benchmark, changed: dict[str, object], message: str
) -> None:
    plan, assigned = job_of(Scripted(dtype="float32"), little)
    worker = Worker(replace(assigned, **changed), ImageServer({}))
    assert message in str(said_by(worker, plan, 0, np.arange(4))["failure"])


def test_other_versions_on_a_worker_are_a_notice(little: Benchmark) -> None:
    plan, assigned = job_of(Scripted(), little)
    worker = Worker(replace(assigned, versions={**assigned.versions, "numpy": "1.0"}), ImageServer({}))
    [notice] = said_by(worker, plan, 0, np.arange(4))["notices"]
    assert "has numpy" in notice
    assert "(not 1.0)" in notice


def test_another_copy_of_the_weights_is_refused_by_name_and_the_same_is_not_read_through(
    tiny: Callable[[str], Path], tmp_path: Path, pictured: Benchmark, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = shutil.copytree(tiny("llava"), tmp_path / "copy")
    plan = Plan(pictured.cases, pictured.meta.dimensions)
    judge = resolve(f"path:{folder}", runs=tmp_path / "runs", images={}, settings=Settings(device="cpu"))
    assigned = assignment(judge, plan, ONE)
    monkeypatch.setattr("mrb_lib.judges.roster.source.digest", lambda folder: pytest.fail("hashed again"))
    assert assigned.recipe({}).spec == judge.spec
    weights = folder / "model.safetensors"
    content = bytearray(weights.read_bytes())
    content[-1] ^= 1
    weights.write_bytes(content)
    with pytest.raises(RunError, match=r"copy holds another model\.safetensors than where the run was started"):
        assigned.recipe({})


def test_a_glance_reads_large_weights_in_places_and_sees_that_all_of_them_changed(tmp_path: Path) -> None:
    rng = np.random.default_rng(5)
    before = rng.integers(0, 256, 3 * 2**20, dtype=np.uint8)
    weights = tmp_path / "model.safetensors"
    weights.write_bytes(before.tobytes())
    seen = quick_digests(tmp_path)
    weights.write_bytes((before ^ (rng.random(len(before)) < 1e-4)).tobytes())
    assert quick_digests(tmp_path) != seen
    weights.write_bytes(before.tobytes() + b"1")
    assert quick_digests(tmp_path) != seen
    weights.write_bytes(before.tobytes())
    (tmp_path / "README.md").write_text("about it")
    assert quick_digests(tmp_path) == seen


def test_images_from_the_desk_are_missing_or_refused_as_they_are_at_home(pictured: Benchmark) -> None:
    images = ServedImages(ImageServer(pictured.images))
    name = pictured.cases["images"][0][0]
    assert images[name] == pictured.images[name]
    with pytest.raises(KeyError):
        images["absent.png"]
    with pytest.raises(InputError) as there:
        images["../escape.png"]
    with pytest.raises(InputError) as here:
        pictured.images["../escape.png"]
    assert str(there.value) == str(here.value)


def test_answers_that_come_twice_count_once_and_those_that_do_not_come_are_missed(little: Benchmark) -> None:
    plan, assigned = job_of(Scripted(), little)
    worker = Worker(assigned, ImageServer({}))
    batches = [np.arange(4), np.arange(4, 8), np.arange(8, 12)]
    tables = [worker(batch_table(plan, number, batches[number])) for number in (0, 1, 0)]
    job = execute.Job(Scripted(), plan, batches, Scripted)

    def arriving() -> Iterator[pa.Table]:
        yield from tables[1:]

    collected = scaleout._collect(job, arriving(), tables[0], {})
    assert [plan.numbers(next(collected)).tolist() for _ in range(2)] == [[0, 1, 2, 3], [4, 5, 6, 7]]
    with pytest.raises(RunError, match="1 batches did not come back"):
        next(collected)


def test_what_workers_count_is_added_up_and_the_rest_is_said_once() -> None:
    said = {"a 1": ["reads text only", "2 of 12 verdicts rest"], "b 1": ["3 of 24 verdicts rest", "reads text only"]}
    assert scaleout._together(said) == ["reads text only", "5 of 36 verdicts rest"]


GPUS = [{"CPU": 16.0, "GPU": 8.0}, {"CPU": 16.0, "GPU": 8.0}, {"CPU": 4.0}]


@pytest.mark.parametrize(
    ("nodes", "options", "expected"),
    [
        (GPUS, (None, None), WorkerPool(16, 2, 1.0)),
        (GPUS, (None, 0.5), WorkerPool(32, 1, 0.5)),
        (GPUS, (3, None), WorkerPool(3, 2, 1.0)),
        (GPUS, (None, None, "cpu"), WorkerPool(18, 2, 0.0)),
        ([{"CPU": 2.0}], (None, None), WorkerPool(1, 2, 0.0)),
        ([{"CPU": 2.0}], (2, None), WorkerPool(2, 1, 0.0)),
        ([{"CPU": 8.0}, {"CPU": 3.0}], (3, None), WorkerPool(3, 3, 0.0)),
        ([{"CPU": 64.0, "memory": 1e11}], (None, None, "auto", 3e10), WorkerPool(3, 21, 0.0)),
        ([{"CPU": 64.0, "GPU": 1.0, "memory": 1e10}], (None, None, "auto", 3e10), WorkerPool(1, 2, 1.0)),
        ([{"CPU": 2.0}], (5, 1.0), WorkerPool(5, 1, 1.0)),
        ([], (None, None), WorkerPool(1, 1, 0.0)),
    ],
)
def test_workers_share_out_what_there_is(
    nodes: list[dict[str, float]], options: tuple[object, ...], expected: WorkerPool
) -> None:
    assert size_pool(nodes, *options) == expected


def test_shares_of_a_gpu_fill_it() -> None:
    assert capacity([{"CPU": 64.0, "GPU": 1.0}], WorkerPool(0, 1, 0.1)) == 10


@pytest.mark.parametrize(
    ("address", "error", "message"),
    [
        ("ray://somewhere:10001", InputError, "from one of its machines"),
        ("nowhere", RunError, "no Ray cluster can be used"),
        ("127.0.0.1:1", RunError, "no Ray cluster can be used there .*refused"),
    ],
)
def test_a_cluster_that_cannot_be_used_is_said_in_one_line(
    monkeypatch: pytest.MonkeyPatch, address: str, error: type[Exception], message: str
) -> None:
    """After the tests that share a Ray: it ends with the attempt to join another, and would be started anew."""
    monkeypatch.setenv("RAY_ADDRESS", address)
    monkeypatch.setattr("ray.is_initialized", lambda: False)
    with pytest.raises(error, match=message) as caught, Cluster(1) as cluster:
        cluster.connect()
    assert "\n" not in str(caught.value)


def test_what_ray_says_in_pages_becomes_its_last_line() -> None:
    pages = "\x1b[36mray::Worker()\x1b[39m (pid=1)\n  File x\nTraceback (most recent call last):\nOSError: gone\n\n"
    assert reason_of(RuntimeError(pages)) == "OSError: gone"
    assert reason_of(RuntimeError("plain.\nMore.")) == "plain."
    assert reason_of(RuntimeError()) == "RuntimeError"


def workers() -> list[int]:
    """The processes in which workers of this process's Ray judge."""
    parents: dict[int, int] = {}
    found = []
    for entry in Path("/proc").iterdir():
        try:
            pid, command = int(entry.name), (entry / "cmdline").read_bytes()
            parents[pid] = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
        except (ValueError, OSError):
            continue
        if command.startswith(b"ray::MapWorker"):
            found.append(pid)
    return [pid for pid in found if os.getpid() in ancestors(pid, parents)]


def ancestors(pid: int, parents: dict[int, int]) -> Iterator[int]:
    while pid in parents:
        pid = parents[pid]
        yield pid
