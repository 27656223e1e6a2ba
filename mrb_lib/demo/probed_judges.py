"""Simulated judges under probes: one without faults, and others with one fault each that a probe should find.

A sound one sees three fifths of what tells two responses apart in the image alone, marks down a response that an
error was planted in, and minds nothing else. Nothing of it says anything about a real judge.
"""

import zlib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, NamedTuple, Protocol

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from mrb_lib.demo.judges import REPEATS, UNPARSED, choices, verdict_rows
from mrb_lib.tables.schema import NO_PROBE, ORDERS

FloatArray = NDArray[np.float64]
IMAGE_PART: Final = 0.6
PENALTY: Final = 2.0
NO_IMAGE: Final = ("image/removed", "image/blank")
OTHER_IMAGE: Final = "image/swapped"

Leaning = Literal["authority", "length", "format"]
LEANINGS: Final[Mapping[str, Leaning]] = {
    "response/credentials": "authority",
    "response/guideline": "authority",
    "question/colleague": "authority",
    "response/lengthened": "length",
    "response/repeated": "length",
    "response/markdown": "format",
}
"""The probes that speak for a response, and what a judge that falls for them leans to."""


@dataclass(frozen=True)
class ProbedJudge:
    """One simulated judge; leanings are in latent units, of which a case's two responses differ by about 1.4.

    Attributes
    ----------
    noise : standard deviation of what it misjudges about a case, the same however often it is asked
    jitter : standard deviation of what differs from verdict to verdict
    sees : the share of what the image shows that it uses; 0 of a blind judge
    authority, length, format : leaning to a response that a probe makes look authoritative, longer, or laid out
    misses : the names of probes whose planted errors it does not notice
    dims : the share of what the image shows that each step of a loss of image quality takes from it
    """

    name: str
    noise: float = 0.7
    jitter: float = 0.2
    sees: float = 1.0
    authority: float = 0.0
    length: float = 0.0
    format: float = 0.0
    misses: tuple[str, ...] = ()
    dims: float = 0.0


PROBED_JUDGES: Final = (
    ProbedJudge("simulated-sound"),
    ProbedJudge("simulated-blind", sees=0.0),
    ProbedJudge("simulated-deferent", authority=1.2),
    ProbedJudge("simulated-wordy", length=1.2),
    ProbedJudge("simulated-neat", format=1.2),
    ProbedJudge("simulated-mirrored", misses=("response/side",)),
    ProbedJudge("simulated-dim", dims=0.2),
)


class Named(Protocol):
    """A probe with its severity, as `mrb_lib.probes.probe.ProbeId`; as text it is the id that verdicts carry."""

    @property
    def probe(self) -> str:
        """The name."""
        ...

    @property
    def severity(self) -> int:
        """0 for no change."""
        ...


class Applies(Protocol):
    """The changes of cases, as `mrb_lib.probes.apply.Probing`."""

    def case(self, case_id: str) -> Any:
        """A case as it is stored."""
        ...

    def probed(self, case_id: str, probe: Any) -> Any:
        """A case as a probe changes it, or a text that says why it does not apply."""
        ...


class Effect(NamedTuple):
    """The changes that a probe makes to the cases, for judges that are simulated.

    Attributes
    ----------
    name, severity : of the probe; `NO_PROBE` and 0 for none
    towards : shape (cases,), 1 where it changes or speaks for A, -1 for B, 0 for neither
    applies : shape (cases,), whether it applies to the case
    is_error : whether it plants an error
    """

    name: str
    severity: int
    towards: FloatArray
    applies: NDArray[np.bool_]
    is_error: bool = False


def simulated_probed_verdicts(
    truth: pd.DataFrame,
    cases: pd.DataFrame,
    probing: Applies,
    probes: Sequence[Named],
    judges: Sequence[ProbedJudge] = PROBED_JUDGES,
    seed: int = 0,
    *,
    errors: Collection[str] = (),
    repeats: int = REPEATS,
) -> pd.DataFrame:
    """The verdicts of simulated judges on the plain cases and under each probe, in both orders, `repeats` times.

    Parameters
    ----------
    truth : `case_id, dimension, quality_a, quality_b`, as `write_demo` leaves them in `truth.parquet`
    cases : the cases table of the same benchmark
    probing : what applies the probes; a case to which one does not apply has no verdict under it
    errors : the names of the probes that plant an error in a response

    Returns
    -------
    DataFrame
        The verdicts table with `p_a`; about one verdict in a hundred is unparsed.
    """
    ids = list(map(str, cases["case_id"]))
    plain = Effect(NO_PROBE, 0, np.zeros(len(ids)), np.ones(len(ids), dtype=bool))
    effects = {NO_PROBE: plain} | {
        str(probe): effect_of(probing, ids, probe, is_error=probe.probe in errors) for probe in probes
    }
    place = pd.Index(ids).get_indexer(pd.Index(truth["case_id"].astype(str)))
    difference = (truth["quality_a"] - truth["quality_b"]).to_numpy(dtype=np.float64)
    frames = []
    for number, judge in enumerate(judges):
        for text, effect in effects.items():
            own = effect._replace(towards=effect.towards[place], applies=effect.applies[place])
            p_a = probabilities(judge, difference, own, (seed, number), repeats)
            rng = _generator((seed, number), text, "lost")
            frames.append(_rows(judge.name, text, truth[own.applies], p_a[own.applies], rng))
    return pd.concat(frames, ignore_index=True)


def effect_of(probing: Applies, case_ids: Sequence[str], probe: Named, *, is_error: bool) -> Effect:
    """Return what a probe does to each case, as seen from the texts that it changes."""
    towards, applies = np.zeros(len(case_ids)), np.ones(len(case_ids), dtype=bool)
    for i, case_id in enumerate(case_ids):
        changed = probing.probed(case_id, probe)
        if isinstance(changed, str):
            applies[i] = False
            continue
        case = probing.case(case_id)
        towards[i] = float(changed.response_a != case.response_a) - float(changed.response_b != case.response_b)
        if changed.note and not towards[i]:
            towards[i] = float("{A}" in changed.note) - float("{B}" in changed.note)
    return Effect(probe.probe, probe.severity, towards, applies, is_error)


def probabilities(
    judge: ProbedJudge, difference: FloatArray, effect: Effect, key: tuple[int, int], repeats: int
) -> FloatArray:
    """The probabilities of A, shape (cases, 2 orders, repeats).

    Parameters
    ----------
    difference : the quality of response A less that of B, shape (cases,)
    key : the seed, and which of the judges it is: what it misjudges of a case is the same under every probe
    """
    noise = judge.noise * _generator(key, "noise").normal(size=len(difference))
    text, image = (1 - IMAGE_PART) * difference, IMAGE_PART * difference
    if effect.name in NO_IMAGE:
        image = np.zeros(len(image))
    elif effect.name.startswith(OTHER_IMAGE):
        image = _generator(key, "other").permutation(image)
    elif effect.name.startswith("image/"):
        image = max(0.0, 1 - judge.dims * effect.severity) * image
    felt = text + judge.sees * image + noise + leaning(judge, effect) * effect.towards
    now = felt[:, None, None] + judge.jitter * _generator(key, effect.name, str(effect.severity)).normal(
        size=(len(felt), len(ORDERS), repeats)
    )
    out: FloatArray = 1 / (1 + np.exp(-1.7 * now / float(np.hypot(judge.noise, judge.jitter))))
    return out


def leaning(judge: ProbedJudge, effect: Effect) -> float:
    """Return how far a probe moves a judge towards the response that it changes or speaks for, in latent units."""
    if effect.severity == 0:
        return 0.0
    if effect.is_error:
        return 0.0 if effect.name in judge.misses else -PENALTY
    fault = LEANINGS.get(effect.name)
    return 0.0 if fault is None else float(getattr(judge, fault))


def _rows(judge: str, probe: str, truth: pd.DataFrame, p_a: FloatArray, rng: np.random.Generator) -> pd.DataFrame:
    frames = []
    for place, order in enumerate(ORDERS):
        for repeat in range(p_a.shape[2]):
            own = p_a[:, place, repeat]
            lost = rng.random(len(own)) < UNPARSED
            at = {"order": order, "repeat": repeat, "probe": probe, "p_a": np.where(lost, np.nan, own)}
            frames.append(verdict_rows(judge, truth, choices(own), lost, **at))
    return pd.concat(frames, ignore_index=True)


def _generator(key: tuple[int, int], *words: str) -> np.random.Generator:
    """The random numbers of a judge for one purpose, whatever else is simulated."""
    spawned = (key[1], *(zlib.crc32(word.encode()) for word in words))
    return np.random.Generator(np.random.Philox(np.random.SeedSequence(key[0], spawn_key=spawned)))
