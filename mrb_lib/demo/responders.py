"""Simulated responders: who they are, and what each decides to say about a case.

A plan is decided first: which facts are stated and whether they are right, how much
is covered, how directly the question is answered, what insight is offered and how
far the text drifts. `wording` then writes exactly that plan, and `quality` reads the
latent quality off the plan, so that what is written and what is good agree.
"""

from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from mrb_lib.demo.questions import SimulatedQuestion
from mrb_lib.demo.scenes import SHAPES, Facts, FindingKind, Scene, Site, pick

Style = Literal["plain", "report", "chatty"]
ASPECTS = ("finding", "site", "side", "size", "count", "shape", "brightness", "impression", "plan")


@dataclass(frozen=True)
class Responder:
    """An invented model.

    Attributes
    ----------
    accuracy, coverage, focus, insight, directness : skills on the logit scale, 0 is middling
    padding : mean number of sentences that say nothing; a habit, not a skill
    compact : chance of putting several facts into one sentence
    """

    name: str
    accuracy: float
    coverage: float
    focus: float
    insight: float
    directness: float
    padding: float
    compact: float
    style: Style


RESPONDERS = (
    Responder("Fictor-72B", 2.6, 1.3, 1.6, 1.6, 1.6, 0.2, 0.9, "plain"),
    Responder("Imaginalis-34B", 2.2, 1.6, 0.4, 1.0, 0.2, 1.2, 0.5, "report"),
    Responder("Notional-32B", 1.7, 0.4, 1.7, 0.2, 1.8, 0.1, 0.9, "plain"),
    Responder("Sham-Consult-14B", 1.5, 0.9, 0.9, 1.4, -0.4, 1.0, 0.6, "chatty"),
    Responder("Nonesuch-13B", 1.3, -0.6, 1.0, -0.9, 1.6, 0.4, 0.9, "plain"),
    Responder("Faux-Rounds-11B", 0.9, 1.1, -0.3, 0.6, 0.6, 1.6, 0.3, "report"),
    Responder("Placebo-Chat-9B", 0.5, -0.2, -0.9, 1.2, 0.2, 2.2, 0.4, "chatty"),
    Responder("Makebelieve-VL-8B", 0.6, 0.2, 0.6, -0.6, 0.9, 1.6, 0.3, "report"),
    Responder("Pretend-Med-7B", 0.2, -0.5, 0.2, -0.2, -0.6, 2.0, 0.5, "plain"),
    Responder("Hollow-Scribe-6B", -0.3, 0.7, -0.8, -1.0, -1.0, 2.6, 0.2, "report"),
    Responder("Dummy-Ward-3B", -0.4, -1.2, -0.4, -1.4, 0.9, 1.8, 0.7, "plain"),
    Responder("Mirage-Note-2B", -0.8, -0.9, -1.5, -1.2, -1.2, 2.8, 0.4, "chatty"),
)


@dataclass
class ResponsePlan:
    """The content of a response.

    Attributes
    ----------
    claims : the aspects stated, with the value given for each
    right : whether each claim is true
    directness : 2 answers first, 1 answers at the end, 0 evades the question
    insights, differential, negatives, drift, padding : how many sentences of each sort
    second : whether the smaller second finding is mentioned; True also where there is none, which is an error
    """

    responder: Responder
    claims: dict[str, object] = field(default_factory=dict)
    right: dict[str, bool] = field(default_factory=dict)
    directness: int = 2
    insights: int = 0
    differential: bool = False
    negatives: int = 0
    limitation: bool = False
    second: Facts | None = None
    drift: int = 0
    padding: int = 0
    compact: bool = True


def choose_pair(rng: np.random.Generator) -> tuple[Responder, Responder]:
    """Two different responders in random order."""
    first, second = rng.permutation(len(RESPONDERS))[:2]
    return RESPONDERS[int(first)], RESPONDERS[int(second)]


def _chance(logit: float) -> float:
    return float(1 / (1 + np.exp(-logit)))


def make_plan(
    responder: Responder, scene: Scene, question: SimulatedQuestion, rng: np.random.Generator
) -> ResponsePlan:
    """Decide what a responder says about a case; the form of the day varies about its skill."""
    form = rng.normal(0.0, 0.6, 5)
    direct = _chance(responder.directness + form[0])
    plan = ResponsePlan(responder, directness=2 if rng.random() < direct else int(rng.random() < 0.25 + 0.5 * direct))
    know = _chance(responder.accuracy + form[1])
    cover = _chance(responder.coverage + form[2])
    for aspect in ASPECTS:
        if aspect == "side" and scene.main.side is None:
            continue
        is_asked = aspect in question.aspects
        if (is_asked and plan.directness == 0) or (not is_asked and rng.random() >= cover):
            continue
        _claim(plan, aspect, scene, know, rng)
    if plan.directness == 0 and not {"finding", "site", "shape"} & plan.claims.keys():
        free = [a for a in ("finding", "site", "shape", "brightness") if a not in question.aspects]
        _claim(plan, pick(rng, free), scene, know, rng)
    if rng.random() < 0.8 * cover:
        plan.second = _second(scene, know, rng)
    plan.negatives = int(rng.binomial(2, 0.8 * cover))
    plan.limitation = bool(rng.random() < 0.6 * cover)
    spark = _chance(responder.insight + form[3])
    plan.insights = int(rng.binomial(2, spark))
    plan.differential = bool(rng.random() < spark)
    plan.drift = int(rng.binomial(4, _chance(-1.1 - responder.focus - form[4])))
    plan.padding = int(rng.poisson(responder.padding))
    plan.compact = bool(rng.random() < responder.compact)
    return plan


def _claim(plan: ResponsePlan, aspect: str, scene: Scene, know: float, rng: np.random.Generator) -> None:
    """State one aspect, rightly with the chance `know`."""
    right = bool(rng.random() < know)
    kind = plan.claims.get("finding")
    if aspect in ("impression", "plan") and isinstance(kind, FindingKind) and kind is not scene.main.kind:
        right = False
    truth = scene.main.claims[aspect]
    value = truth if right else _falsehood(aspect, scene, plan, rng)
    plan.claims[aspect] = value
    plan.right[aspect] = value == truth


def _falsehood(aspect: str, scene: Scene, plan: ResponsePlan, rng: np.random.Generator) -> object:
    """A plausible wrong value of one aspect."""
    facts, view = scene.main, scene.view
    other_kinds = [kind for kind in view.kinds if kind is not facts.kind]
    claimed = plan.claims.get("finding")
    kind = claimed if isinstance(claimed, FindingKind) and claimed is not facts.kind else pick(rng, other_kinds)
    if aspect == "size":
        size = facts.size * float(pick(rng, (0.45, 0.6, 1.6, 2.0)))
        return max(1, round(size / 10) * 10 if facts.size > 100 else round(size))
    sites: list[Site] = [site for site in view.sites if site is not facts.site and site.paired == facts.site.paired]
    values: dict[str, object] = {
        "finding": kind,
        "site": pick(rng, sites) if sites else facts.site,
        "side": "left" if facts.side == "right" else "right",
        "count": pick(rng, [n for n in (1, 2, 3, 4) if n != facts.count]),
        "shape": pick(rng, [shape for shape in SHAPES if shape != facts.shape]),
        "brightness": not facts.kind.bright,
        "impression": facts.kind.alternative if rng.random() < 0.5 else kind.impression,
        "plan": kind.next,
    }
    return values[aspect]


def _second(scene: Scene, know: float, rng: np.random.Generator) -> Facts | None:
    """The second finding as it is reported: the true one, or, from those who know little, an invented one."""
    if scene.second is not None:
        return scene.second
    if rng.random() < 0.5 * know + 0.5:
        return None
    kind = pick(rng, scene.view.kinds)
    site = pick(rng, scene.view.sites_of(kind))
    side = scene.main.side or pick(rng, ("left", "right"))
    return Facts(kind, site, side if site.paired else None, 1, pick(rng, kind.shapes), 0.0, scene.main.spots[:1])


OVERALL_WEIGHTS = {
    "accuracy": 0.42,
    "relevance": 0.13,
    "comprehensiveness": 0.18,
    "creativity": 0.09,
    "responsiveness": 0.18,
}
# Mean and standard deviation of the raw qualities over many cases, so that one latent unit means the same everywhere.
_SCALE = {
    "accuracy": (0.22, 0.53),
    "relevance": (-1.52, 1.35),
    "comprehensiveness": (6.35, 2.5),
    "creativity": (1.31, 0.95),
    "responsiveness": (1.15, 0.89),
}
_OVERALL_SPREAD = 0.70


def quality(
    plan: ResponsePlan, scene: Scene, question: SimulatedQuestion, rng: np.random.Generator
) -> dict[str, float]:
    """The latent quality of a response on every dimension, in units of about one standard deviation.

    Accuracy weighs right against wrong statements, most of all those asked for;
    relevance falls with drift; comprehensiveness counts what is covered; creativity
    counts insight; responsiveness is how directly the question is answered. A small
    shared deviation stands for what no rule describes.
    """
    weights = {aspect: 2.0 if aspect in question.aspects else 1.0 for aspect in plan.claims}
    balance = sum(w if plan.right[aspect] else -w for aspect, w in weights.items())
    if plan.second is not None:
        balance += 0.7 if plan.second is scene.second else -1.0
    answered = sum(aspect in plan.claims for aspect in question.aspects) / len(question.aspects)
    raw = {
        "accuracy": balance / (sum(weights.values()) + 1.2),
        "relevance": -1.0 * plan.drift - 0.2 * plan.padding - 0.6 * (plan.directness == 0),
        "comprehensiveness": len(plan.claims)
        + 0.8 * plan.negatives
        + 0.8 * plan.limitation
        + 1.2 * (plan.second is not None),
        "creativity": 1.0 * plan.insights + 0.6 * plan.differential,
        "responsiveness": plan.directness * (0.4 + 0.6 * answered) - 0.1 * plan.padding,
    }
    noise = rng.normal(0.0, 0.15, len(_SCALE)).tolist()
    scaled = zip(_SCALE.items(), noise, strict=True)
    latent = {d: (raw[d] - mean) / spread + extra for (d, (mean, spread)), extra in scaled}
    latent["overall"] = sum(w * latent[d] for d, w in OVERALL_WEIGHTS.items()) / _OVERALL_SPREAD
    return latent
