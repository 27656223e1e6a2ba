"""A SIMULATED work folder with every step up to the annotations done: items, answers, screenings, responses, votes.

The difficulty of items, the skill of models and responders and the habits of people are planted, and written down in
`truth.parquet`; no model, clinician or patient stands behind any of it.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final
from uuid import UUID

import numpy as np
import pandas as pd
from scipy.special import expit

from mrb_lib.build.construct.answers.difficulty import item_measures
from mrb_lib.build.construct.filter import decide_by_rule
from mrb_lib.build.construct.layouts import SourceImage, SourceItem
from mrb_lib.build.construct.pair import Plan, pair
from mrb_lib.build.construct.respond import REFUSED, TRUNCATED
from mrb_lib.build.construct.screen import close_screening, open_screening, screening_benchmark, screening_form
from mrb_lib.build.construct.start import StartOptions, start
from mrb_lib.build.construct.work import Work, begin, create_work
from mrb_lib.demo.annotators import vote
from mrb_lib.demo.pictures import draw_picture
from mrb_lib.demo.questions import SimulatedQuestion, ask
from mrb_lib.demo.responders import RESPONDERS, make_plan, quality
from mrb_lib.demo.scenes import Scene, draw_scene, organ_of
from mrb_lib.demo.wording import reference_answer, write_response
from mrb_lib.review.records.assignment import assign
from mrb_lib.review.records.marks import AnnotatorAnswer
from mrb_lib.review.records.store import Store, open_store
from mrb_lib.tables.errors import InputError
from mrb_lib.tables.files import REVIEWS
from mrb_lib.tables.schema import DIMENSIONS

NAME: Final = "Workbench construction demo"
MODELS: Final = ("Fabulist-7B", "Phantom-VL-4B", "Mock-Sight-3B", "Figment-2B", "Bogus-Eye-1B")
ABILITIES: Final = (1.2, 0.6, 0.0, -0.5, -1.1)
SAMPLES: Final = 8
KEEP: Final = "correct <= 3"
CLINICIANS: Final = ("clinician_1", "clinician_2", "clinician_3")
_LENIENCY = (0.3, 0.0, -0.3)
_EVERY_COPY, _EVERY_DAMAGED = 40, 60  # one in so many items is a copy, or cannot be read
_REFUSES, _CUT_OFF = 0.02, 0.02
_ITEMS, _SKILL, _RATINGS, _WRITING, _VOTES = range(5)
_Invented = dict[str, tuple[Scene, SimulatedQuestion]]
"""The scene and the question behind each item."""


def write_simulated_work(
    path: Path, *, items: int = 240, seed: int = 0, progress: Callable[[int], None] | None = None
) -> Work:
    """Make a SIMULATED work folder: started, filtered, screened, responded to, paired and annotated, ready to release.

    Parameters
    ----------
    path : of a folder that does not exist yet
    items : how many a source held, copies and damaged images among them
    seed : a whole number, at least 0; the same one writes the same tables
    progress : called with the number of pictures drawn so far

    Raises
    ------
    InputError
        There are too few items for anything to be left at the end, or the folder exists.

    Notes
    -----
    `truth.parquet` has of each item the planted `difficulty` and `discrimination` (a model of ability t is right with
    the logistic chance of discrimination * (t - difficulty)) and `merit`, what screening is about. The annotations are
    answers in the store of reviews. Validated by tests/build/construct/test_simulated.py.
    """
    if items < 30:
        raise InputError(f"--cases {items}: leave too few items at the end; give 30 or more.")
    work = create_work(path, NAME, "simulated")
    invented: _Invented = {}
    with begin(work, "start", {"source": "mrb demo", "items": items}, seed=seed) as step:
        sources = {"drawn by mrb demo": _source(items, seed, invented, progress)}
        start(step, sources, StartOptions(licence="invented, MIT"))
    truth = _truth(work.items()["item_id"].tolist(), seed)
    truth.to_parquet(path / "truth.parquet", index=False)
    planted = truth.set_index("item_id")
    _filter(work, planted, seed)
    with open_store(path / REVIEWS) as store:
        _screen(work, planted["merit"], store, seed)
        qualities = _respond(work, invented, seed)
        pair(work, Plan(), seed=seed)
        _annotate(work, qualities, store, seed)
    return work


def _rng(seed: int, *key: int) -> np.random.Generator:
    return np.random.Generator(np.random.Philox(np.random.SeedSequence(seed, spawn_key=(0xC0, *key))))


def _source(items: int, seed: int, invented: _Invented, progress: Callable[[int], None] | None) -> Iterator[SourceItem]:
    """Items as a hospital might have them, some of them twice and some damaged."""
    last: SourceItem | None = None
    for i in range(items):
        rng, organ, item_id = _rng(seed, _ITEMS, i), organ_of(i), f"sim-{i:06d}"
        scene = draw_scene(organ, rng)
        question, picture = ask(scene, rng), draw_picture(scene, rng)
        invented[item_id] = scene, question
        if last is not None and i % _EVERY_COPY == _EVERY_COPY - 1:
            yield replace(last, location=f"record {i + 1}", item_id=item_id)
        else:
            content = picture[: len(picture) // 3] if i % _EVERY_DAMAGED == _EVERY_DAMAGED - 2 else picture
            about = {"organ": organ, "modality": scene.view.modality, "question_type": question.type}
            last = SourceItem(
                f"record {i + 1}",
                (SourceImage(f"{item_id}.png", content=content),),
                question.text,
                reference_answer(scene),
                item_id=item_id,
                about={**about, "dataset": "simulated-archive"},
            )
            yield last
        if progress is not None:
            progress(i + 1)


def _truth(ids: Sequence[str], seed: int) -> pd.DataFrame:
    rng = _rng(seed, _SKILL)
    return pd.DataFrame(
        {
            "item_id": ids,
            "difficulty": rng.normal(0.0, 1.2, len(ids)),
            "discrimination": np.exp(rng.normal(0.3, 0.3, len(ids))),
            "merit": rng.normal(0.0, 1.0, len(ids)),
        }
    )


def _filter(work: Work, planted: pd.DataFrame, seed: int) -> None:
    """Answers of five models, right with the planted chance; a wrong one is the reference of the item before."""
    choices = {"models": list(MODELS), "samples": SAMPLES, "keep": KEEP, "marking": "exact", "drawn": True}
    with begin(work, "filter", choices, seed=seed) as step:
        items, rng = step.entering, _rng(seed, _SKILL, 1)
        own = planted.loc[items["item_id"]]
        gap = np.array(ABILITIES)[None, :] - own["difficulty"].to_numpy()[:, None]
        chance = expit(own["discrimination"].to_numpy()[:, None] * gap)
        right = rng.random((len(items), len(MODELS), SAMPLES)) < chance[:, :, None]
        item, model, sample = (axis.ravel() for axis in np.indices(right.shape))
        reference = items["reference"].to_numpy(dtype=object)
        answers = pd.DataFrame({"item_id": items["item_id"].to_numpy()[item], "model": np.array(MODELS)[model]})
        answers["sample"] = sample
        answers["answer"] = np.where(right.ravel(), reference[item], np.roll(reference, 1)[item])
        answers["correct"] = (answers["answer"].to_numpy() == reference[item]).astype(float)
        answers = answers.assign(marked_by="exact", status="ok", latency_s=rng.gamma(4.0, 0.3, len(item)))
        step.write("answers", answers)
        measures = item_measures(answers, items, MODELS)
        step.write("difficulty", measures)
        decide_by_rule(step, KEEP, measures)


def _screen(work: Work, merit: pd.Series, store: Store, seed: int) -> None:
    """Two of three clinicians rate each item; criteria share its merit, and clinicians have a leniency of their own."""
    form = screening_form(work)
    open_screening(work, form, seed=seed)
    benchmark = screening_benchmark(work, form)
    ids, rng = benchmark.cases["case_id"].tolist(), _rng(seed, _RATINGS)
    dealt = assign(ids, CLINICIANS, overlap=2, seed=seed)
    store.assign(benchmark.meta.name, dealt)
    shared = {name: 0.7 * merit.loc[ids].to_numpy() + rng.normal(0, 0.5, len(ids)) for name in form.criteria}
    place = {item: i for i, item in enumerate(ids)}
    answers = []
    for item, clinician, order in dealt[["case_id", "annotator", "order"]].to_numpy(dtype=object).tolist():
        leniency = _LENIENCY[CLINICIANS.index(clinician)]
        for name, latent in shared.items():
            felt = 3.8 + leniency + latent[place[item]] + rng.normal(0, 0.6)
            label = form.scale[int(np.clip(round(felt), 1, len(form.scale))) - 1]
            answers.append(_answer(benchmark.meta.name, item, clinician, name, label, order, rng))
    store.add(*answers)
    close_screening(work, form, store.answers(benchmark.meta.name))


def _respond(work: Work, invented: _Invented, seed: int) -> dict[tuple[str, str], tuple[dict[str, float], int]]:
    """The pool's responses; of each its latent qualities and its length in characters."""
    qualities, rows = {}, []
    with begin(
        work, "respond", {"models": [one.name for one in RESPONDERS], "samples": 1, "drawn": True}, seed=seed
    ) as step:
        for item_id in step.entering["item_id"]:
            scene, question = invented[item_id]
            for number, responder in enumerate(RESPONDERS):
                rng = _rng(seed, _WRITING, int(item_id.rpartition("-")[2]), number)
                plan = make_plan(responder, scene, question, rng)
                text = write_response(plan, scene, question, rng)
                qualities[item_id, responder.name] = (quality(plan, scene, question, rng), len(text))
                lot, flag, status = rng.random(), None, "ok"
                if lot < _REFUSES:
                    text, flag, status = "I cannot help with medical images.", REFUSED, "refused"
                elif lot < _REFUSES + _CUT_OFF:
                    text, flag = text[: len(text) // 2], TRUNCATED
                rows.append((item_id, responder.name, 0, text, status, flag, float(rng.gamma(4.0, 0.8))))
        columns = ["item_id", "model", "sample", "answer", "status", "flag", "latency_s"]
        step.write("responses", pd.DataFrame(rows, columns=columns).assign(alike=np.nan))
    return qualities


def _annotate(
    work: Work, qualities: dict[tuple[str, str], tuple[dict[str, float], int]], store: Store, seed: int
) -> None:
    """The votes of the demo's three annotators on every pair."""
    answers, name = [], work.meta.name
    columns = work.pairs()[["case_id", "item_id", "model_a", "model_b"]].to_numpy(dtype=object).tolist()
    for position, (case, item, model_a, model_b) in enumerate(columns):
        one, other = qualities[item, model_a], qualities[item, model_b]
        difference = {dimension: one[0][dimension] - other[0][dimension] for dimension in DIMENSIONS}
        rng = _rng(seed, _VOTES, position)
        for annotator, dimension, choice in vote(difference, float(np.log2(one[1] / other[1])), rng):
            order = "AB" if rng.random() < 0.5 else "BA"
            answers.append(_answer(name, case, annotator, dimension, choice, order, rng))
    store.add(*answers)


def _answer(
    benchmark: str, case: str, annotator: str, dimension: str, choice: str, order: str, rng: np.random.Generator
) -> AnnotatorAnswer:
    seconds, number = float(rng.gamma(4.0, 7.0)), UUID(int=int(rng.integers(2**62)))
    return AnnotatorAnswer(benchmark, case, annotator, dimension, choice, order, seconds=seconds, answer_id=str(number))
