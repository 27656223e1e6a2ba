"""Questions about the finding of a case; no question gives an answer away."""

from dataclasses import dataclass

import numpy as np

from mrb_lib.demo.canvas import toml_data
from mrb_lib.demo.scenes import Facts, Scene, pick

QUESTION_TYPES = ("open", "description", "location", "measurement", "diagnosis", "next_step", "closed")
_ASPECTS: dict[str, tuple[str, ...]] = {
    "open": ("finding", "site"),
    "description": ("finding", "shape", "brightness"),
    "location": ("site", "side"),
    "measurement": ("count", "size"),
    "diagnosis": ("finding", "impression"),
    "next_step": ("plan",),
}


@dataclass(frozen=True)
class SimulatedQuestion:
    """A question and the aspects that a direct answer names.

    Attributes
    ----------
    type : one of `QUESTION_TYPES`
    aspects : those that a direct answer must name
    hypothesis : what a closed question supposes of its aspect: a side, "several", or a brightness
    """

    text: str
    type: str
    aspects: tuple[str, ...]
    hypothesis: str | None = None


def ask(scene: Scene, rng: np.random.Generator) -> SimulatedQuestion:
    """Draw the question of a case; a closed question supposes what is true or what is false, by the toss of a coin."""
    kind = pick(rng, QUESTION_TYPES)
    hypothesis = None
    if kind == "closed":
        aspect = pick(rng, ("side", "count", "brightness") if scene.main.side else ("count", "brightness"))
        template = pick(rng, toml_data("phrases")["questions"][f"closed_{aspect}"])
        options = {"side": ("left", "right"), "count": ("several",), "brightness": scene.view.terms}
        hypothesis = pick(rng, options[aspect])
        aspects: tuple[str, ...] = (aspect,)
    else:
        template = pick(rng, toml_data("phrases")["questions"][kind])
        aspects = tuple(a for a in _ASPECTS[kind] if a != "side" or scene.main.side)
    text = template.format(
        picture=scene.view.picture, region=scene.view.region, tissue=scene.view.tissue, hypothesis=hypothesis
    )
    if rng.random() < 0.7:
        text = f"{_vignette(scene, rng)} {text}"
    return SimulatedQuestion(text, kind, aspects, hypothesis)


def _vignette(scene: Scene, rng: np.random.Generator) -> str:
    symptom = pick(rng, scene.view.symptoms)
    person, capital = "woman" if scene.woman else "man", symptom[0].upper() + symptom[1:]
    template = pick(rng, toml_data("phrases")["questions"]["vignette"])
    return str(template.format(age=scene.age, person=person, symptom=symptom, Symptom=capital))


def site_name(facts: Facts) -> str:
    """The true place of a finding, as a report names it."""
    return facts.site.name.format(side=facts.side)
