"""Writes the embedded benchmark, case by case, in bounded memory."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from mrb_lib.benchmarks.benchmark import BenchmarkWriter
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

TRUTH = pa.schema(
    [
        ("case_id", pa.string()),
        ("dimension", pa.string()),
        ("quality_a", pa.float64()),
        ("quality_b", pa.float64()),
        ("right_a", pa.int64()),
        ("wrong_a", pa.int64()),
        ("right_b", pa.int64()),
        ("wrong_b", pa.int64()),
        ("view", pa.string()),
        ("finding", pa.string()),
        ("site", pa.string()),
        ("side", pa.string()),
        ("size", pa.int64()),
        ("unit", pa.string()),
        ("count", pa.int64()),
        ("shape", pa.string()),
        ("brightness", pa.string()),
        ("bright", pa.bool_()),
        ("x", pa.list_(pa.float64())),
        ("y", pa.list_(pa.float64())),
        ("radius", pa.list_(pa.float64())),
        ("second_finding", pa.string()),
        ("second_site", pa.string()),
    ]
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
    cases : how many cases; 1,026 is the published size. Memory does not grow with it.
    seed : any whole number from 0 on
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
    if cases < 1:
        raise InputError(f"--cases {cases}: at least one case is needed; give a number from 1 on.")
    if seed < 0:
        raise InputError(f"--seed {seed}: must not be negative; give a number from 0 on.")
    meta = BenchmarkMeta(
        NAME,
        "simulated",
        description=DESCRIPTION,
        source="drawn by mrb demo",
        licence="MIT",
        extra={"seed": seed, "cases": cases},
    )
    with (
        BenchmarkWriter(folder, meta) as writer,
        pq.ParquetWriter(folder / "truth.parquet", TRUTH, compression="zstd") as truth,
    ):
        for start in range(0, cases, CHUNK):
            chunk = [simulate_case(seed, i) for i in range(start, min(start + CHUNK, cases))]
            _write_chunk(chunk, writer, truth)
            if progress is not None:
                progress(start + len(chunk))


def _write_chunk(chunk: list[SimulatedCase], writer: BenchmarkWriter, truth: pq.ParquetWriter) -> None:
    ids = [str(one.case["case_id"]) for one in chunk]
    table = pd.DataFrame([one.case for one in chunk])
    for name in ("reference", "organ", "department", "box"):
        table[name] = table[name].astype("str")
    votes = pd.DataFrame(
        [(case_id, *row) for case_id, one in zip(ids, chunk, strict=True) for row in one.votes],
        columns=["case_id", "annotator", "dimension", "choice"],
        dtype="str",
    )
    pictures = {f"{case_id}.png": one.picture for case_id, one in zip(ids, chunk, strict=True)}
    writer.add(table, votes, pictures)
    truth.write_table(pa.Table.from_pylist([row for one in chunk for row in one.truth], schema=TRUTH))


def simulate_case(seed: int, index: int) -> SimulatedCase:
    """Draw one case; it depends on nothing but `seed` and `index`.

    Four independent streams serve the facts, the picture, the texts and the votes,
    so that a change in one leaves the others as they were.
    """
    facts, drawing, text, votes = (
        np.random.Generator(np.random.Philox(np.random.SeedSequence(seed, spawn_key=(index, stream))))
        for stream in range(4)
    )
    organ = organ_of(index)
    scene = draw_scene(organ, facts)
    question = ask(scene, facts)
    pair = choose_pair(facts)
    dataset = DATASETS[int(np.searchsorted(_DATASET_EDGES, facts.random(), side="right"))]
    toss = facts.random()
    plans, answers = _two_responses(pair, scene, question, text)
    qualities = [quality(plan, scene, question, text) for plan in plans]
    difference = {d: qualities[0][d] - qualities[1][d] for d in DIMENSIONS}
    log_length = float(np.log2(len(answers[0]) / len(answers[1])))
    case_id = f"sim-{index:06d}"
    row: dict[str, object] = {
        "case_id": case_id,
        "question": question.text,
        "response_a": answers[0],
        "response_b": answers[1],
        "images": [f"{case_id}.png"],
        "organ": organ,
        "department": ORGAN_DEPARTMENT[organ],
        "modality": scene.view.modality,
        "question_type": question.type,
        "dataset": dataset,
        "model_a": pair[0].name,
        "model_b": pair[1].name,
        "reference": reference_answer(scene) if facts.random() < 0.7 else None,
        "split": next(name for edge, name in _SPLITS if toss < edge),
        "box": _box(scene.main),
    }
    truth = _truth_rows(case_id, scene, plans, qualities)
    return SimulatedCase(row, vote(difference, log_length, votes), truth, draw_picture(scene, drawing))


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
    main, second = scene.main, scene.second
    right = [sum(plan.right.values()) for plan in plans]
    common: dict[str, object] = {
        "case_id": case_id,
        "right_a": right[0],
        "wrong_a": len(plans[0].right) - right[0],
        "right_b": right[1],
        "wrong_b": len(plans[1].right) - right[1],
        "view": scene.view.name,
        "unit": scene.view.unit,
        **_named_facts(main, scene),
        "second_finding": None if second is None else second.kind.noun,
        "second_site": None if second is None else site_name(second),
    }
    return [{**common, "dimension": d, "quality_a": qualities[0][d], "quality_b": qualities[1][d]} for d in DIMENSIONS]


def _named_facts(facts: Facts, scene: Scene) -> dict[str, object]:
    return {
        "finding": facts.kind.noun,
        "site": site_name(facts),
        "side": facts.side,
        "size": facts.size,
        "count": facts.count,
        "shape": facts.shape,
        "brightness": scene.view.terms[0 if facts.kind.bright else 1],
        "bright": facts.kind.bright,
        "x": [spot.x for spot in facts.spots],
        "y": [spot.y for spot in facts.spots],
        "radius": [spot.radius for spot in facts.spots],
    }
