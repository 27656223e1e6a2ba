"""Cases as probes change them on their way to a judge; the stored benchmark is never touched."""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final
from urllib.parse import quote, unquote

import numpy as np
import pandas as pd

from mrb_lib.benchmarks.images.pictures import open_image, png
from mrb_lib.probes.from_file import FileProbe
from mrb_lib.probes.probe import PROBES, Case, Others, ProbeId, as_case, parse_id
from mrb_lib.tables.errors import InputError
from mrb_lib.tables.schema import NO_PROBE

_OF_PROMPT: Final = "probe_"  # begins the columns that say how a prompt is put, see `mrb_lib.verdicts.orders`
_MARK: Final = "probe|"  # begins the name of a picture that is made when it is asked for; no stored image has a "|"


def generator(seed: int, probe: ProbeId, case_id: str, picture: int = 0) -> np.random.Generator:
    """The random numbers of a probe on a case: the same on every machine, and for every severity."""
    key = hashlib.sha256("\0".join((str(seed), probe.probe, case_id, str(picture))).encode()).digest()
    return np.random.Generator(np.random.Philox(int.from_bytes(key[:8], "big")))


@dataclass(frozen=True)
class Probing:
    """Applies probes to the cases of a benchmark.

    Parameters
    ----------
    cases : the cases table; a probe may borrow a picture from any of them
    seed : of everything that probes draw
    files : probes of files by name, beside `PROBES`; see `mrb_lib.probes.from_file.file_probes`
    """

    cases: pd.DataFrame
    seed: int = 0
    files: Mapping[str, FileProbe] = field(default_factory=dict)
    _by_id: dict[str, int] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_by_id", {str(name): i for i, name in enumerate(self.cases["case_id"])})

    def case(self, case_id: str) -> Case:
        """A case as it is stored; `InputError` where there is none."""
        if case_id not in self._by_id:
            raise InputError(f"case {case_id!r}: the benchmark has no such case.")
        return as_case(self.cases.iloc[self._by_id[case_id]])

    def probed(self, case_id: str, probe: ProbeId) -> Case | str:
        """A case as a probe changes it, with the names of changed pictures; or why the probe does not apply."""
        from_file = self.files.get(probe.probe)
        intervention, case = PROBES[probe.probe] if from_file is None else from_file.probe, self.case(case_id)
        rng = generator(self.seed, probe, case.drawn_by)
        changed = intervention.applied(case, probe.severity, rng, self._others, both=probe.both)
        if isinstance(changed, str) or intervention.picture is None or probe.severity == 0:
            return changed
        parts = ((str(probe), str(self.seed), case_id, str(i), name) for i, name in enumerate(changed.images))
        names = tuple(_MARK + "|".join(quote(part, safe="/") for part in one) for one in parts)
        return Case(**{**changed.__dict__, "images": names})

    def rows(self, rows: pd.DataFrame) -> pd.DataFrame:
        """Rows of a plan (see `mrb_lib.runs.plan.Plan.rows`) with each case as its `probe` changes it.

        Columns `probe_note`, `probe_labels`, `probe_wording` and `probe_instruction` are for the prompt.
        """
        if rows["probe"].eq(NO_PROBE).all():
            return rows
        out = rows.copy()
        columns: dict[str, list[Any]] = {name: list(out[name]) for name in ("question", "response_a", "response_b")}
        columns |= {f"{_OF_PROMPT}{name}": [""] * len(out) for name in ("note", "labels", "instruction")}
        columns[f"{_OF_PROMPT}wording"] = [0] * len(out)
        images = list(out["images"]) if "images" in out else [[] for _ in range(len(out))]
        made: dict[tuple[str, str], Case] = {}
        for i, key in enumerate(zip(out["case_id"], out["probe"], strict=True)):
            if key[1] == NO_PROBE:
                continue
            if key not in made:
                made[key] = self._must_apply(*key)
            case = made[key]
            images[i] = list(case.images)
            for name, values in columns.items():
                values[i] = getattr(case, name.removeprefix(_OF_PROMPT))
        out["images"] = pd.Series(images, index=out.index, dtype=object)
        kinds = dict.fromkeys(columns, "str") | {f"{_OF_PROMPT}wording": "int64"}
        return out.assign(
            **{name: pd.Series(values, index=out.index, dtype=kinds[name]) for name, values in columns.items()}
        )

    def _must_apply(self, case_id: str, text: str) -> Case:
        probe = ProbeId(text) if text in self.files else parse_id(text)
        if probe is None:
            raise InputError(f"probe {text!r}: is unknown (`mrb probes` lists all).")
        case = self.probed(case_id, probe)
        if isinstance(case, str):
            raise InputError(f"case {case_id}: {text} does not apply to it: {case}.")
        return case

    @cached_property
    def _others(self) -> Others:
        return Others(self.cases)


class ProbedImages(Mapping[str, bytes]):
    """A benchmark's images, and those that probes change, made as PNG when they are asked for.

    Parameters
    ----------
    images : the benchmark's
    cases : the cases table, for what a probe wants to know of a case
    """

    def __init__(self, images: Mapping[str, bytes], cases: pd.DataFrame) -> None:
        self._images, self._cases = images, cases

    def __getitem__(self, name: str) -> bytes:
        """The bytes of an image; `KeyError` where there is none."""
        if not name.startswith(_MARK):
            return self._images[name]
        text, seed, case_id, number, original = map(unquote, name.removeprefix(_MARK).split("|"))
        probe = parse_id(text)
        if probe is None or (edit := PROBES[probe.probe].picture) is None:
            raise KeyError(name)
        picture = open_image(self._images[original], original)
        case = Probing(self._cases, int(seed)).case(case_id)
        rng = generator(int(seed), probe, case.drawn_by, int(number))
        return png(edit(picture, probe.severity, rng, case))

    def __iter__(self) -> Iterator[str]:
        """The names of the stored images."""
        return iter(self._images)

    def __len__(self) -> int:
        """The number of stored images."""
        return len(self._images)


def applicable(probing: Probing, case_ids: Sequence[str], probe: ProbeId) -> pd.Series:
    """Why a probe does not apply, by case id; missing where it does."""
    whys = [probing.probed(case_id, probe) for case_id in case_ids]
    return pd.Series([why if isinstance(why, str) else None for why in whys], index=list(case_ids), dtype="str")


def sample(cases: pd.DataFrame, n: int | None, seed: int) -> pd.DataFrame:
    """So many cases, each organ in its share; a larger sample of the same seed holds the smaller one.

    Parameters
    ----------
    n : how many; None, or more than there are, for all
    """
    if n is None or n >= len(cases):
        return cases
    keys = [hashlib.sha256(f"sample\0{seed}\0{case_id}".encode()).digest() for case_id in cases["case_id"]]
    stratum = cases["organ"].fillna("") if "organ" in cases else pd.Series("", index=cases.index)
    frame = pd.DataFrame({"key": keys, "stratum": stratum.to_numpy()}).sort_values("key")
    groups = frame.groupby("stratum")["key"]
    # The k-th of m cases of an organ comes at (k + 1/2) / m of the way, so that all organs fill up alike.
    frame["place"] = (groups.cumcount() + 0.5) / groups.transform("size")
    first = frame.sort_values(["place", "key"]).index[:n]
    return cases.iloc[np.sort(first.to_numpy())]
