"""Thirty-two SIMULATED judges under fictitious names, in the groups that a benchmark paper has: a paper's size to try.

No model of such a name exists, and nothing is said of any that does. In each group larger numbers are better judges by
design, and judges tuned for medicine or for judging are better than what they are named after.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from mrb_lib.demo.judges import SimulatedJudge


class Invented(NamedTuple):
    """A judge that does not exist; for `noise` and the rest see `SimulatedJudge`."""

    name: str
    group: str
    noise: float
    jitter: float = 0.4
    first: float = 0.0
    length: float = 0.0
    sharpness: float = 1.4
    weak_in: str = ""
    base: str = ""

    def judge(self) -> SimulatedJudge:
        """The judge as it is simulated."""
        return SimulatedJudge(
            self.name, self.noise, self.jitter, first=self.first, length=self.length, weak_in=self.weak_in,
            sharpness=self.sharpness,
        )  # fmt: skip


OPEN, PROPRIETARY, MEDICAL, CRITIC = "open", "proprietary", "medical", "critic"
ROSTER: Final = (
    Invented("Notreal-8B", OPEN, 1.7, first=0.3),
    Invented("Fable", PROPRIETARY, 0.9, length=0.3),
    Invented("Notreal-Med-8B", MEDICAL, 1.3, first=0.2, base="Notreal-8B"),
    Invented("Notreal-8B-Critic", CRITIC, 1.1, base="Notreal-8B"),
    Invented("Madeup-VL-12B", OPEN, 1.5, length=0.4),
    Invented("Nowhere-Ultra", PROPRIETARY, 0.7),
    Invented("Madeup-Clinic-12B", MEDICAL, 1.2, weak_in="Ophthalmology", base="Madeup-VL-12B"),
    Invented("Madeup-VL-12B-Critic", CRITIC, 1.0, base="Madeup-VL-12B"),
    Invented("Imaginary-7B", OPEN, 1.9, jitter=0.8, first=0.5),
    Invented("Figment-2", PROPRIETARY, 0.8, sharpness=2.0),
    Invented("Imaginary-Rad-7B", MEDICAL, 1.6, weak_in="Gynecology", base="Imaginary-7B"),
    Invented("Imaginary-7B-Judge", CRITIC, 1.4, first=0.2, base="Imaginary-7B"),
    Invented("Notreal-2B", OPEN, 2.8, jitter=1.2, first=0.9),
    Invented("Fable-Mini", PROPRIETARY, 1.3),
    Invented("Pretend-Doc-9B", MEDICAL, 1.4, base="Pretend-9B"),
    Invented("Invented-Reward-7B", CRITIC, 1.3, length=0.9),
    Invented("Notreal-32B", OPEN, 1.2),
    Invented("Fable-Pro", PROPRIETARY, 0.75, sharpness=1.8),
    Invented("Invented-Med-7B", MEDICAL, 1.8, first=0.4),
    Invented("Notreal-72B", OPEN, 1.0),
    Invented("Nowhere-Flash", PROPRIETARY, 1.1, jitter=0.6),
    Invented("Invented-Med-34B", MEDICAL, 1.1),
    Invented("Madeup-VL-4B", OPEN, 2.2, first=0.6),
    Invented("Figment-1", PROPRIETARY, 1.2, length=0.6),
    Invented("Notreal-Med-32B", MEDICAL, 1.0, base="Notreal-32B"),
    Invented("Madeup-VL-27B", OPEN, 1.2, length=0.3),
    Invented("Figment-2-Thinking", PROPRIETARY, 0.65, sharpness=2.4),
    Invented("Fable-Health", MEDICAL, 0.8, weak_in="Stomatology"),
    Invented("Imaginary-1B", OPEN, 3.5, jitter=1.8, first=1.2),
    Invented("Imaginary-40B", OPEN, 1.1, jitter=0.3),
    Invented("Pretend-9B", OPEN, 1.7),
    Invented("Pretend-34B", OPEN, 1.3, weak_in="Cardiology"),
)
