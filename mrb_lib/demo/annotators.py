"""Simulated annotators: each votes from the latent quality, with noise, a leaning and a leniency of their own."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from mrb_lib.tables.schema import DIMENSIONS


@dataclass(frozen=True)
class SimulatedAnnotator:
    """One simulated clinician.

    Attributes
    ----------
    noise : multiplies the noise of the dimension
    leniency : differences smaller than this (in latent units) are a tie
    first : leaning to answer A, in latent units
    length : leaning to the longer answer, per doubling of its length
    """

    name: str
    noise: float
    leniency: float
    first: float
    length: float


ANNOTATORS = (
    SimulatedAnnotator("clinician_1", noise=0.85, leniency=0.22, first=0.0, length=0.0),
    SimulatedAnnotator("clinician_2", noise=1.0, leniency=0.16, first=0.03, length=0.10),
    SimulatedAnnotator("clinician_3", noise=1.2, leniency=0.28, first=-0.02, length=-0.03),
)

# Standard deviation of a vote's noise, in latent units: facts are easier to agree on than insight.
NOISE = {
    "accuracy": 0.38,
    "relevance": 0.46,
    "comprehensiveness": 0.52,
    "creativity": 0.66,
    "responsiveness": 0.42,
    "overall": 0.40,
}
MISSING = 0.005


def vote(difference: Mapping[str, float], log_length: float, rng: np.random.Generator) -> list[tuple[str, str, str]]:
    """The votes on one case.

    Parameters
    ----------
    difference : latent quality of A minus that of B, by dimension
    log_length : binary logarithm of the length of A over that of B

    Returns
    -------
    list of (annotator, dimension, choice)
        About one vote in 200 is missing, as if the annotator had skipped it.
    """
    noise = rng.normal(0.0, 1.0, (len(ANNOTATORS), len(DIMENSIONS)))
    present = rng.random(noise.shape) >= MISSING
    votes = []
    for i, annotator in enumerate(ANNOTATORS):
        leaning = annotator.first + annotator.length * log_length
        for j, dimension in enumerate(DIMENSIONS):
            if not present[i, j]:
                continue
            felt = difference[dimension] + leaning + annotator.noise * NOISE[dimension] * noise[i, j]
            choice = "tie" if abs(felt) < annotator.leniency else "A" if felt > 0 else "B"
            votes.append((annotator.name, dimension, choice))
    return votes
