"""A benchmark that has everything."""

import itertools
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from mrb_lib.benchmarks.benchmark import Benchmark, load, save
from mrb_lib.benchmarks.meta import BenchmarkMeta
from mrb_lib.review.records.marks import Adjudication
from mrb_lib.review.records.store import open_store
from mrb_lib.tables.schema import CHOICES, ORDERS, ORGAN_DEPARTMENT, ORGANS
from mrb_lib.verdicts.store import load_verdicts, run_folders, save_imported
from tests.pictures import png
from tests.rated import write_rating
from tests.several_parts import several_parts
from tests.training_records import BASE_REVISION, record_of

JUDGES = (*(f"judge_{i}" for i in range(5)), "qwen2-vl-2b", "medvlm-r1")
"""Of the full benchmark; the last was trained from the one before, by the roster."""
DIMENSIONS = ("creativity", "overall")
"""Of the full benchmark: figures of all dimensions have several, and two of the six cost a third."""


@pytest.fixture(scope="session")
def full(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Sixty simulated cases with all columns: twenty questions about an image each, three responders pair by pair.

    Three annotators; seven judges with probabilities, two of them of the roster, twice in both orders, and once more
    on each of two probes.
    """
    rng = np.random.default_rng(0)
    folder = tmp_path_factory.mktemp("full")
    ids = [f"case-{i:02d}" for i in range(60)]
    organs = rng.choice(ORGANS, 60)
    responders = ["alpha-7b", "beta-7b", "gamma_7b"]
    responses = [
        ["word " * int(k) for k in lengths] for lengths in rng.permuted(np.tile(range(1, 40), (20, 1)), axis=1)
    ]
    pairs = [(one, two) for _ in range(20) for one, two in itertools.combinations(range(3), 2)]
    picture = rng.integers(0, 255, (32, 32)).astype("uint8")
    cases = pd.DataFrame(
        {
            "case_id": ids,
            "question": "How many nodules, and is $x_1$ <b>bold</b>?",
            "response_a": [responses[i // 3][one] for i, (one, _) in enumerate(pairs)],
            "response_b": [responses[i // 3][two] for i, (_, two) in enumerate(pairs)],
            "images": [[f"{ids[i - i % 3]}.png"] for i in range(60)],
            "model_a": [responders[one] for one, _ in pairs],
            "model_b": [responders[two] for _, two in pairs],
            "organ": organs,
            "department": [ORGAN_DEPARTMENT[organ] for organ in organs],
            "modality": rng.choice(["CT", "MRI"], 60),
            "dataset": "made-up",
        }
    )
    votes = pd.DataFrame(
        itertools.product(ids, ["r1", "r2", "r3"], DIMENSIONS), columns=["case_id", "annotator", "dimension"]
    )
    said = pd.DataFrame(
        itertools.product(JUDGES, ids, DIMENSIONS, ORDERS, range(2)),
        columns=["judge", "case_id", "dimension", "order", "repeat"],
    ).assign(probe="none")
    said = pd.concat([said, said[said["repeat"] == 0].assign(probe="image/blank")], ignore_index=True)
    better = pd.MultiIndex.from_product([ids, DIMENSIONS])
    truth = pd.Series(rng.choice(CHOICES, len(better), p=(0.5, 0.35, 0.15)), better)
    ease = dict(zip(ids, rng.uniform(0, 1, 60), strict=True))
    skills = said["judge"].map({name: 0.2 + 0.1 * i for i, name in enumerate(JUDGES)}) + said["case_id"].map(ease)
    for frame, skill in ((votes, 0.7), (said, skills / 2)):
        known = truth.loc[pd.MultiIndex.from_frame(frame[["case_id", "dimension"]])].to_numpy()
        guess = rng.choice(CHOICES, len(frame), p=(0.5, 0.35, 0.15))
        frame["choice"] = np.where(rng.random(len(frame)) < skill, known, guess)
    sure = rng.uniform(0.5, 1, len(said))
    said["p_a"] = np.where(said["choice"] == "A", sure, np.where(said["choice"] == "B", 1 - sure, 0.5))
    graded = said[said["probe"] == "image/blank"]
    graded = graded.assign(
        probe=graded["order"].map({"AB": "image/blur:2", "BA": "image/blur:4"}),
        choice=np.roll(graded["choice"], 12), p_a=np.roll(graded["p_a"], 12),
    )  # fmt: skip
    said = pd.concat([said, graded], ignore_index=True)
    images = {f"{name}.png": png(np.roll(picture, i)) for i, name in enumerate(ids[::3])}
    save(Benchmark(BenchmarkMeta("full", "simulated", DIMENSIONS), cases, votes, images), folder)
    with several_parts():
        save_imported(said, folder / "runs", benchmark="full", kind="simulated", source="test")
    with open_store(folder / "reviews.sqlite") as store:
        for case, judge, (number, reviewer) in itertools.product(ids[:8], JUDGES[:2], enumerate(("Dr A", "Dr B"))):
            wrong = int(case[-1]) + number in (3, 4)
            mark = Adjudication("full", case, reviewer, "gold_wrong" if wrong else "gold_right", "B" if wrong else None)
            store.add(replace(mark, dimension="overall", judge=judge, answers={"reasons": ("missed finding",)}))
    return folder


@pytest.fixture(scope="session")
def rated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Twenty-four simulated responses that three annotators and two judges rate."""
    with several_parts():
        return write_rating(tmp_path_factory.mktemp("rated"), n=24)


@pytest.fixture(scope="session")
def trained(full: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The full benchmark with a split, and runs whose judges have records of their training.

    `judge_0` is the base, the next four learnt from more and more cases, the two of the roster each without a
    department, and `elsewhere` from another benchmark.
    """
    folder = tmp_path_factory.mktemp("trained")
    loaded = load(full)
    split = ["train"] * 18 + ["validation"] * 6 + ["test"] * 36
    cases = loaded.cases.assign(split=split, fold=loaded.cases["department"])
    benchmark = replace(loaded, cases=cases)
    save(benchmark, folder)
    said = load_verdicts(full / "runs", cases)
    said = pd.concat([said, said[said["judge"] == "judge_3"].assign(judge="elsewhere")], ignore_index=True)
    with several_parts():
        save_imported(said, folder / "runs", benchmark="full", kind="simulated", source="test")
    ids, validation = cases["case_id"][:18].tolist(), cases["case_id"][18:24].tolist()
    departments = dict(zip(JUDGES[-2:], cases["department"].value_counts().index, strict=False))
    learnt = {f"judge_{i}": ids[: 4 * i] for i in range(1, 5)}
    learnt |= {name: [case for case in ids if case_in(cases, case) != value] for name, value in departments.items()}
    points = [(0, None, 0.5, 0.4), (5, 0.7, 0.6, 0.7), (10, 0.6, 0.7, 0.8)]
    curve = [
        {"step": step, "epoch": step / 10, "loss": loss, "accuracy": accuracy, "consistency": same, "seconds": 1.0}
        for step, loss, accuracy, same in points
    ]
    records = {
        name: record_of(
            benchmark, cases_of, validation=validation, curve=curve,
            left_out={"department": departments[name]} if name in departments else None,
        )
        for name, cases_of in learnt.items()
    }  # fmt: skip
    other = {"name": "general pairs", "kind": "general", "split": None}
    records["elsewhere"] = record_of(benchmark, [], curve=curve) | {"benchmark": other}
    for run in run_folders(folder / "runs"):
        manifest = json.loads((run / "manifest.json").read_text(encoding="utf-8"))
        if manifest["judge"] == "judge_0":
            manifest["spec"] = {"revision": BASE_REVISION}
        if manifest["judge"] in records:
            manifest["provenance"] = {"training": records[manifest["judge"]]}
        (run / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")
    return folder


def case_in(cases: pd.DataFrame, case: str) -> str:
    """The department of a case."""
    return str(cases.set_index("case_id")["department"][case])


@pytest.fixture(scope="session")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Thirty cases that one consensus labels, without organs, responders or images; one judge, asked once, no p_a."""
    folder, rng = tmp_path_factory.mktemp("small"), np.random.default_rng(3)
    ids = [f"c{i}" for i in range(30)]
    cases = pd.DataFrame({"case_id": ids, "question": [f"Question {i}?" for i in range(30)]})
    cases = cases.assign(response_a="yes", response_b="no it is not", images=[[] for _ in ids])
    votes = pd.DataFrame({"case_id": ids, "annotator": "consensus", "dimension": "overall"})
    votes["choice"] = rng.choice(["A", "B"], 30)
    save(Benchmark(BenchmarkMeta("small", "general", ("overall",), ("A", "B")), cases, votes), folder)
    said = votes.drop(columns="annotator").assign(judge="only", order="AB", repeat=0, probe="none")
    said["choice"] = rng.choice(["A", "B"], 30)
    save_imported(said, folder / "runs", benchmark="small", kind="general", source="test")
    return folder
