"""Thirty-two SIMULATED judges under fictitious names, in the groups that a benchmark paper has: a paper's size to try.

No model of such a name exists, and nothing is said of any that does. In each group larger numbers are better judges by
design, and judges tuned for medicine or for judging are better than what they are named after.
"""

from dataclasses import dataclass
from typing import Final

from mrb_lib.demo.judges import SimulatedJudge


@dataclass(frozen=True)
class Invented(SimulatedJudge):
    """A judge that does not exist, of a group, and what it is named after."""

    jitter: float = 0.4
    sharpness: float = 1.4
    group: str = ""
    base: str = ""


OPEN, PROPRIETARY, MEDICAL, CRITIC = "open", "proprietary", "medical", "critic"
ROSTER: Final = (
    Invented("Notreal-8B", 1.7, group=OPEN, first=0.3),
    Invented("Fable", 0.9, group=PROPRIETARY, length=0.3),
    Invented("Notreal-Med-8B", 1.3, group=MEDICAL, first=0.2, base="Notreal-8B"),
    Invented("Notreal-8B-Critic", 1.1, group=CRITIC, base="Notreal-8B"),
    Invented("Madeup-VL-12B", 1.5, group=OPEN, length=0.4),
    Invented("Nowhere-Ultra", 0.7, group=PROPRIETARY),
    Invented("Madeup-Clinic-12B", 1.2, group=MEDICAL, weak_in="Ophthalmology", base="Madeup-VL-12B"),
    Invented("Madeup-VL-12B-Critic", 1.0, group=CRITIC, base="Madeup-VL-12B"),
    Invented("Imaginary-7B", 1.9, group=OPEN, jitter=0.8, first=0.5),
    Invented("Figment-2", 0.8, group=PROPRIETARY, sharpness=2.0),
    Invented("Imaginary-Rad-7B", 1.6, group=MEDICAL, weak_in="Gynecology", base="Imaginary-7B"),
    Invented("Imaginary-7B-Judge", 1.4, group=CRITIC, first=0.2, base="Imaginary-7B"),
    Invented("Notreal-2B", 2.8, group=OPEN, jitter=1.2, first=0.9),
    Invented("Fable-Mini", 1.3, group=PROPRIETARY),
    Invented("Pretend-Doc-9B", 1.4, group=MEDICAL, base="Pretend-9B"),
    Invented("Invented-Reward-7B", 1.3, group=CRITIC, length=0.9),
    Invented("Notreal-32B", 1.2, group=OPEN),
    Invented("Fable-Pro", 0.75, group=PROPRIETARY, sharpness=1.8),
    Invented("Invented-Med-7B", 1.8, group=MEDICAL, first=0.4),
    Invented("Notreal-72B", 1.0, group=OPEN),
    Invented("Nowhere-Flash", 1.1, group=PROPRIETARY, jitter=0.6),
    Invented("Invented-Med-34B", 1.1, group=MEDICAL),
    Invented("Madeup-VL-4B", 2.2, group=OPEN, first=0.6),
    Invented("Figment-1", 1.2, group=PROPRIETARY, length=0.6),
    Invented("Notreal-Med-32B", 1.0, group=MEDICAL, base="Notreal-32B"),
    Invented("Madeup-VL-27B", 1.2, group=OPEN, length=0.3),
    Invented("Figment-2-Thinking", 0.65, group=PROPRIETARY, sharpness=2.4),
    Invented("Fable-Health", 0.8, group=MEDICAL, weak_in="Stomatology"),
    Invented("Imaginary-1B", 3.5, group=OPEN, jitter=1.8, first=1.2),
    Invented("Imaginary-40B", 1.1, group=OPEN, jitter=0.3),
    Invented("Pretend-9B", 1.7, group=OPEN),
    Invented("Pretend-34B", 1.3, group=OPEN, weak_in="Cardiology"),
)
