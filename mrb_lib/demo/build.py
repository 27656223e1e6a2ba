"""Writes the embedded benchmark, case by case, in bounded memory."""

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from mrb_lib.benchmarks.benchmark import Benchmark, save
from mrb_lib.benchmarks.meta import BenchmarkMeta
from mrb_lib.demo.annotators import vote
from mrb_lib.demo.canvas import FIELD, MARGIN, WIDTH
from mrb_lib.demo.pictures import draw_picture
from mrb_lib.demo.questions import SimulatedQuestion, ask, site_name
from mrb_lib.demo.responders import Responder, ResponsePlan, choose_pair, make_plan, quality
from mrb_lib.demo.scenes import Facts, Scene, draw_scene, organ_of
from mrb_lib.demo.wording import reference_answer, write_response
from mrb_lib.tables.errors import InputError
from mrb_lib.tables.schema import DIMENSIONS, ORGAN_DEPARTMENT

NAME = "Med-RewardBench workbench demo (SIMULATED)"
DESCRIPTION = (
    "SIMULATED throughout: the pictures are drawn, the findings, questions, responses, responders and annotators are "
    "invented, and no patient, clinician or model stands behind any of them. It has the shape of the published "
    "benchmark, for trying out the workbench and for tests with known truth; no clinical conclusion can rest on it."
)
DATASETS = ("simulated-atlas", "simulated-rounds", "simulated-screening", "simulated-teaching-files")
_DATASET_EDGES = (0.34, 0.60, 0.82)
_SPLITS = ((0.6, "train"), (0.8, "validation"), (1.01, "test"))
CHUNK = 250

_TEXTS = ("case_id", "dimension", "view", "unit", "side", "shape", "brightness")
_NAMES = ("finding", "site", "second_finding", "second_site")
_NUMBERS = ("right_a", "wrong_a", "right_b", "wrong_b", "size", "count")
TRUTH = pa.schema(
    [(name, pa.string()) for name in _TEXTS + _NAMES]
    + [(name, pa.float64()) for name in ("quality_a", "quality_b")]
    + [(name, pa.int64()) for name in _NUMBERS]
    + [("bright", pa.bool_())]
    + [(name, pa.list_(pa.float64())) for name in ("x", "y", "radius")]
)


@dataclass(frozen=True)
class SimulatedCase:
    """One case with everything that belongs to it, as table rows and the bytes of its picture."""

    case: dict[str, object]
    votes: list[tuple[str, str, str]]
    truth: list[dict[str, object]]
    picture: bytes


def write_demo(
    folder: Path, *, cases: int = 1026, seed: int = 0, progress: Callable[[int], None] | None = None
) -> None:
    """Write the embedded benchmark into a folder: tables, pictures and the truth behind them.

    Case i depends on nothing but (seed, i), so a larger benchmark starts with the
    cases of a smaller one, and the same call writes the same bytes.

    Parameters
    ----------
    folder : an empty folder; wrap the call in `mrb_lib.tables.files.staged_folder`
    cases : how many cases; 1,026 is the published size. Pictures are written one by one.
    seed : a whole number, at least 0
    progress : called with the number of cases written so far, after every chunk

    Raises
    ------
    InputError
        `cases` is below 1 or `seed` below 0.

    Notes
    -----
    `truth.parquet` has one row a case and dimension: `quality_a` and `quality_b` are
    latent qualities in units of about one standard deviation; `right_*` and `wrong_*`
    count the true and false statements of each response; `x`, `y` and `radius` are the
    lesions of the main finding in pixels; `size` is the longest diameter of the largest
    of them in `unit`; `side` is null where the site is not paired. Nothing loads it with
    the benchmark, and no judge sees it. Nor is a judge shown the column `box` of the
    cases, the rectangle around those lesions, which is for the probe that hides them.
    Validated by tests/demo.
    """
    meta = BenchmarkMeta(NAME, "simulated", description=DESCRIPTION)
    write_cases(folder, meta, TRUTH, simulate_case, cases=cases, seed=seed, progress=progress)


def write_cases(
    folder: Path,
    meta: BenchmarkMeta,
    schema: pa.Schema,
    simulate: Callable[[int, int], SimulatedCase],
    *,
    cases: int,
    seed: int,
    progress: Callable[[int], None] | None,
) -> None:
    """Write simulated cases as a benchmark with its `truth.parquet`; for the rest see `write_demo`.

    Parameters
    ----------
    meta : of the benchmark; where it comes from and its licence are filled in
    schema : of the truth
    simulate : draws one case from the seed and its index
    """
    if cases < 1:
        raise InputError(f"--cases {cases}: at least one case is needed; give a number from 1 on.")
    if seed < 0:
        raise InputError(f"--seed {seed}: must not be negative.")
    meta = replace(meta, source="drawn by mrb demo", licence="MIT", extra={"seed": seed, "cases": cases})
    (folder / "images").mkdir(parents=True)
    rows, votes = [], []
    with pq.ParquetWriter(folder / "truth.parquet", schema, compression="zstd") as truth:
        for start in range(0, cases, CHUNK):
            chunk = [simulate(seed, i) for i in range(start, min(start + CHUNK, cases))]
            rows += [one.case for one in chunk]
            votes += [(str(one.case["case_id"]), *vote) for one in chunk for vote in one.votes]
            for one in chunk:
                (folder / "images" / f"{one.case['case_id']}.png").write_bytes(one.picture)
            truth.write_table(pa.Table.from_pylist([row for one in chunk for row in one.truth], schema=schema))
            if progress is not None:
                progress(start + len(chunk))
    table = pd.DataFrame(rows).astype({"reference": "str"})
    annotations = pd.DataFrame(votes, columns=["case_id", "annotator", "dimension", "choice"], dtype="str")
    save(Benchmark(meta, table, annotations), folder)


def streams(seed: int, *key: int) -> list[np.random.Generator]:
    """Return four independent streams of random numbers: for the facts, the picture, the texts and the votes.

    A change in one leaves the others as they were.
    """
    first, *rest = key
    spawned = [np.random.SeedSequence(seed, spawn_key=(first, stream, *rest)) for stream in range(4)]
    return [np.random.Generator(np.random.Philox(sequence)) for sequence in spawned]


def simulate_case(seed: int, index: int) -> SimulatedCase:
    """Draw one case; it depends on nothing but `seed` and `index`."""
    facts, drawing, text, votes = streams(seed, index)
    scene = draw_scene(organ_of(index), facts)
    question = ask(scene, facts)
    pair = choose_pair(facts)
    dataset = DATASETS[int(np.searchsorted(_DATASET_EDGES, facts.random(), side="right"))]
    toss = facts.random()
    plans, answers = _two_responses(pair, scene, question, text)
    qualities = [quality(plan, scene, question, text) for plan in plans]
    difference = {d: qualities[0][d] - qualities[1][d] for d in DIMENSIONS}
    log_length = float(np.log2(len(answers[0]) / len(answers[1])))
    case_id = f"sim-{index:06d}"
    row = {
        **described(case_id, scene, question, answers),
        "dataset": dataset,
        "model_a": pair[0].name,
        "model_b": pair[1].name,
        "reference": reference_answer(scene) if facts.random() < 0.7 else None,
        "split": next(name for edge, name in _SPLITS if toss < edge),
        "box": _box(scene.main),
    }
    truth = _truth_rows(case_id, scene, plans, qualities)
    return SimulatedCase(row, vote(difference, log_length, votes), truth, draw_picture(scene, drawing))


def described(case_id: str, scene: Scene, question: SimulatedQuestion, answers: list[str]) -> dict[str, object]:
    """Return the columns that the cases of every simulated benchmark have."""
    organ = scene.view.organ
    return {
        "case_id": case_id,
        "question": question.text,
        **dict(zip(("response_a", "response_b"), answers, strict=False)),
        "images": [f"{case_id}.png"],
        "organ": organ,
        "department": ORGAN_DEPARTMENT[organ],
        "modality": scene.view.modality,
        "question_type": question.type,
    }


def _two_responses(
    pair: tuple[Responder, Responder], scene: Scene, question: SimulatedQuestion, rng: np.random.Generator
) -> tuple[list[ResponsePlan], list[str]]:
    """Two responses that are never the same text."""
    while True:
        plans = [make_plan(responder, scene, question, rng) for responder in pair]
        answers = [write_response(plan, scene, question, rng) for plan in plans]
        if answers[0] != answers[1]:
            return plans, answers


def _box(facts: Facts) -> str:
    """The smallest rectangle around the lesions: left, top, right and bottom as shares of the picture, in JSON."""
    x, y, radius = (np.array([getattr(spot, name) for spot in facts.spots]) for name in ("x", "y", "radius"))
    edges = np.array([min(x - radius), min(y - radius), max(x + radius), max(y + radius)])
    shares = (edges / np.array([WIDTH, FIELD + MARGIN] * 2)).clip(0, 1)
    return json.dumps(shares.round(4).tolist())


def _truth_rows(
    case_id: str, scene: Scene, plans: list[ResponsePlan], qualities: list[dict[str, float]]
) -> list[dict[str, object]]:
    main, second, view = scene.main, scene.second, scene.view
    right = [sum(plan.right.values()) for plan in plans]
    common: dict[str, object] = {
        "case_id": case_id,
        "right_a": right[0],
        "wrong_a": len(plans[0].right) - right[0],
        "right_b": right[1],
        "wrong_b": len(plans[1].right) - right[1],
        "view": view.name,
        "unit": view.unit,
        "finding": main.kind.noun,
        "site": site_name(main),
        **{name: getattr(main, name) for name in ("side", "size", "count", "shape")},
        "brightness": view.terms[0 if main.kind.bright else 1],
        "bright": main.kind.bright,
        **{name: [getattr(spot, name) for spot in main.spots] for name in ("x", "y", "radius")},
        "second_finding": None if second is None else second.kind.noun,
        "second_site": None if second is None else site_name(second),
    }
    return [{**common, "dimension": d, "quality_a": qualities[0][d], "quality_b": qualities[1][d]} for d in DIMENSIONS]
