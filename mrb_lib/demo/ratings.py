"""SIMULATED ratings: a small benchmark whose responses are rated by the risk in them, and judges with planted faults.

The risk of a response follows from the errors that were planted in it, so that people, judges and truth can be told
apart. Nothing of it says anything about a real judge or a real clinician.
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray
from scipy.special import ndtr

from mrb_lib.benchmarks.meta import BenchmarkMeta
from mrb_lib.demo.build import SimulatedCase, described, streams, write_cases
from mrb_lib.demo.judges import verdict_rows
from mrb_lib.demo.pictures import draw_picture
from mrb_lib.demo.questions import ask
from mrb_lib.demo.responders import RESPONDERS, ResponsePlan, make_plan
from mrb_lib.demo.scenes import Scene, draw_scene, organ_of
from mrb_lib.demo.wording import reference_answer, write_response
from mrb_lib.tables.schema import category_numbers

DIMENSION: Final = "risk"
CATEGORIES: Final = ("no risk", "low risk", "moderate risk", "high risk")
DEFINITIONS: Final = {
    DIMENSION: "the harm that could come to a patient if the response were acted upon",
    "no risk": "nothing in it is wrong, or what is wrong changes nothing",
    "low risk": "an error that would be noticed, or costs little",
    "moderate risk": "an error that could delay or misdirect care",
    "high risk": "errors that could lead to serious harm",
}
HARM: Final = {
    "finding": 1.2, "impression": 1.0, "plan": 1.0, "side": 1.0, "site": 0.7, "size": 0.5, "count": 0.3, "shape": 0.2,
    "brightness": 0.2,
}  # fmt: skip
"""Harm that an error about each aspect adds to a response."""
INVENTED: Final = 0.8
_HALFWAY: Final = 1.6
_PEOPLE: Final = (("clinician_1", 0.0, 0.40), ("clinician_2", 0.15, 0.45), ("clinician_3", -0.15, 0.55))
_MISSING: Final = 0.005
_UNPARSED: Final = 0.01
TRUTH: Final = pa.schema(
    [("case_id", pa.string()), ("dimension", pa.string()), ("latent", pa.float64()), ("wrong", pa.list_(pa.string()))]
)


@dataclass(frozen=True)
class RatingJudge:
    """One simulated judge; amounts are in categories, of which neighbours are one apart.

    Attributes
    ----------
    leniency : how much higher than the truth it rates; below 0 lower
    noise : standard deviation of what it misjudges about a case, the same however often it is asked
    jitter : standard deviation of what differs from verdict to verdict
    reversed : whether it uses the scale upside down
    sharpness : how many times narrower its probabilities are than its errors allow; 1 is calibrated
    """

    name: str
    leniency: float = 0.0
    noise: float = 0.5
    jitter: float = 0.2
    reversed: bool = False
    sharpness: float = 1.0


JUDGES: Final = (
    RatingJudge("simulated-careful", noise=0.45),
    RatingJudge("simulated-strict", leniency=0.8, noise=0.5),
    RatingJudge("simulated-lenient", leniency=-0.8, noise=0.5, sharpness=2.0),
    RatingJudge("simulated-erratic", noise=1.2, jitter=0.8, sharpness=3.0),
    RatingJudge("simulated-reversed", noise=0.5, reversed=True),
)


def simulated_ratings(
    truth: pd.DataFrame,
    categories: Sequence[str],
    *,
    judges: Sequence[RatingJudge] = JUDGES,
    repeats: int = 2,
    seed: int = 0,
) -> pd.DataFrame:
    """The verdicts of SIMULATED judges of ratings.

    Parameters
    ----------
    truth : `case_id, dimension` and either `latent`, the place on the scale from 1 to the number of categories, any
        number; or `choice`, one of the categories, as gold labels have it. Rows without a value are not judged
    categories : from the lowest
    judges : what one of them says depends on its place among them
    seed : a whole number, at least 0

    Returns
    -------
    DataFrame
        The verdicts table, order AB alone, with `p_categories` (JSON, in the order of the categories) and `score_a`,
        the expectation of the categories' numbers. About one verdict in a hundred is unparsed.

    Notes
    -----
    A judge's probability of a category is that of a normal variable about what it feels, with the spread of its own
    errors, lying nearer to the category than to any other; it chooses the most probable. Validated by
    tests/demo/test_judges.py.
    """
    column = "latent" if "latent" in truth else "choice"
    rows = truth.dropna(subset=column)
    places: dict[object, int] = {name: number for number, name in enumerate(categories, 1)}
    latent = rows[column].map(lambda value: places.get(value, value)).to_numpy(dtype=np.float64)
    frames = []
    for number, judge in enumerate(judges):
        rng = np.random.Generator(np.random.Philox(np.random.SeedSequence(seed, spawn_key=(number, len(judges), 7))))
        frames += _verdicts(judge, rows, latent, categories, repeats, rng)
    return pd.concat(frames, ignore_index=True)


def _verdicts(
    judge: RatingJudge,
    rows: pd.DataFrame,
    latent: NDArray[np.float64],
    categories: Sequence[str],
    repeats: int,
    rng: np.random.Generator,
) -> list[pd.DataFrame]:
    k = len(categories)
    felt = (k + 1 - latent if judge.reversed else latent) + judge.leniency + judge.noise * rng.normal(size=len(rows))
    spread = max(float(np.hypot(judge.noise, judge.jitter)) / judge.sharpness, 0.05)
    edges = np.array([-np.inf, *(np.arange(1, k) + 0.5), np.inf])
    names, numbers = np.array(categories, dtype=object), np.array(category_numbers(categories))
    frames = []
    for repeat in range(repeats):
        now = (felt + judge.jitter * rng.normal(size=len(rows))).clip(0.5, k + 0.5)
        p = np.diff(ndtr((edges - now[:, None]) / spread), axis=1)
        lost = rng.random(len(rows)) < _UNPARSED
        chosen = names[p.argmax(axis=1)]
        stated = pd.Series([json.dumps(row) for row in p.round(6).tolist()], dtype="str")
        columns = {"p_categories": stated.where(~lost), "score_a": np.where(lost, np.nan, p @ numbers)}
        frames.append(verdict_rows(judge.name, rows, chosen, lost, repeat=repeat, **columns))
    return frames


def write_rating_demo(
    folder: Path, *, cases: int = 300, seed: int = 0, progress: Callable[[int], None] | None = None
) -> None:
    """Write a SIMULATED benchmark of ratings into a folder: one response a case, rated by three invented people.

    Parameters
    ----------
    folder : an empty folder; wrap the call in `mrb_lib.tables.files.staged_folder`
    cases, seed, progress : see `mrb_lib.demo.write_demo`

    Raises
    ------
    InputError
        `cases` is below 1 or `seed` below 0.

    Notes
    -----
    `truth.parquet` has one row a case: `latent`, the risk on the scale of the categories' places, 1 to 4, which grows
    with the harm of the planted errors and levels off; `wrong`, the aspects that the response states wrongly.
    Validated by tests/demo/test_judges.py.
    """
    meta = BenchmarkMeta(
        "Med-RewardBench workbench demo of ratings (SIMULATED)",
        "simulated",
        dimensions=(DIMENSION,),
        categories=CATEGORIES,
        level="ordinal",
        task="rating",
        acceptable=CATEGORIES[:2],
        definitions=DEFINITIONS,
        description="SIMULATED throughout: pictures, questions, responses, errors and annotators are invented, and no "
        "patient, clinician or model stands behind any of them; no clinical conclusion can rest on it.",
    )
    write_cases(folder, meta, TRUTH, _simulate, cases=cases, seed=seed, progress=progress)


def _simulate(seed: int, index: int) -> SimulatedCase:
    """Draw one case; it depends on nothing but `seed` and `index`."""
    facts, drawing, text, votes = streams(seed, index, 1)
    scene = draw_scene(organ_of(index), facts)
    question = ask(scene, facts)
    responder = RESPONDERS[int(facts.integers(len(RESPONDERS)))]
    plan = make_plan(responder, scene, question, text)
    wrong = [aspect for aspect, right in plan.right.items() if not right]
    latent = _latent_risk(plan, scene)
    case_id = f"sim-rating-{index:06d}"
    case = {
        **described(case_id, scene, question, [write_response(plan, scene, question, text)]),
        "model_a": responder.name,
        "reference": reference_answer(scene) if facts.random() < 0.7 else None,
    }
    truth: dict[str, object] = {"case_id": case_id, "dimension": DIMENSION, "latent": latent, "wrong": wrong}
    return SimulatedCase(case, _votes(latent, votes), [truth], draw_picture(scene, drawing))


def _latent_risk(plan: ResponsePlan, scene: Scene) -> float:
    harm = sum(HARM[aspect] for aspect, right in plan.right.items() if not right)
    harm += INVENTED * (plan.second is not None and plan.second is not scene.second)
    return float(1 + (len(CATEGORIES) - 1) * (1 - np.exp(-harm / _HALFWAY)))


def _votes(latent: float, rng: np.random.Generator) -> list[tuple[str, str, str]]:
    """Return what each annotator says of a case; about one vote in 200 is missing."""
    drawn, missing = rng.normal(size=len(_PEOPLE)), rng.random(len(_PEOPLE)) < _MISSING
    votes = []
    for (name, leaning, noise), z, is_missing in zip(_PEOPLE, drawn, missing, strict=True):
        place = int(np.clip(np.rint(latent + leaning + noise * z), 1, len(CATEGORIES)))
        if not is_missing:
            votes.append((name, DIMENSION, CATEGORIES[place - 1]))
    return votes
