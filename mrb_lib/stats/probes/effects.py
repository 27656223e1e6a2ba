"""What a change of the cases does to each judge, with tests corrected for their number."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
import pandas as pd

from mrb_lib.stats.multiplicity import adjust_families
from mrb_lib.stats.options import FloatArray, IntArray, join_reasons, with_ends
from mrb_lib.stats.probes.cells import means, shares
from mrb_lib.stats.probes.expectation import NO_NOISE, TESTS, equivalence_p, kept, unmoved_p
from mrb_lib.stats.probes.pairing import Paired, group_of, labelled
from mrb_lib.stats.resampling.resample import interval_reason
from mrb_lib.stats.significance.paired import ALPHA
from mrb_lib.stats.subfields import Group

PROBE: Final = "probe"
NO_PROBES: Final = "no verdict is of a probe: `mrb judge --probe` asks for some, and `mrb probes` lists them"
NOT_PAIRED: Final = "no case is answered with and without the probe in the same order and repeat"
NOT_SCORED: Final = "accuracy is undefined: no case that is judged in both has a gold label"
_SHIFTS: Final = {
    "changed_beyond_noise": "beyond",
    "accuracy_change": "accuracy",
    "target_shift": "target",
}
_TESTED: Final = {"accuracy_change": "p_value", "target_shift": "target_shift_p", "changed_beyond_noise": "changed_p"}
Key = tuple[int, int, str]
"""The positions of a judge and a dimension, and the id of a probe."""


def presented(paired: Paired) -> list[Key]:
    """What each judge was asked, by judge, dimension and probe."""
    return [
        (j, d, name)
        for j, d in np.ndindex(len(paired.judges), len(paired.dimensions))
        for name, each in paired.cells.items()
        if each.presented[j, d].any()
    ]


def probe_rows(paired: Paired, groups: Sequence[Group]) -> pd.DataFrame:
    """The rows of `part` "probe" before any correction; where there is no probe, rows that say so."""
    keys = presented(paired)
    if not keys:
        nothing = pd.DataFrame({**_everyone(paired), "n": 0, "reason": NO_PROBES})
        frames = [labelled(nothing, group) for group in groups]
    else:
        frames = [labelled(effect_rows(paired.of(group), keys), group) for group in groups]
    rows = pd.concat(frames, ignore_index=True)
    names = rows["id"] if keys else [""] * len(rows)
    return rows.assign(part=PROBE, group=pd.Series([group_of(name) for name in names], index=rows.index, dtype="str"))


def _everyone(paired: Paired) -> dict[str, pd.Index]:
    plain = next(iter(paired.panels.values()))
    judge, dimension = np.nonzero(plain.takes_part())
    return plain.names(judge * len(plain.dimensions) + dimension)


def effect_rows(paired: Paired, keys: Sequence[Key]) -> pd.DataFrame:
    """What changed, a row for each of `keys`, with the id of the probe in the column `id`."""
    frames = [_of_judge(paired, j, [key for key in keys if key[0] == j]) for j in dict.fromkeys(key[0] for key in keys)]
    rows = pd.concat(frames, ignore_index=True)
    return rows.assign(reason=pd.Series(_reasons(rows, paired.options.resamples), index=rows.index, dtype="str"))


def _of_judge(paired: Paired, j: int, keys: Sequence[Key]) -> pd.DataFrame:
    """The rows of one judge: probes by dimensions."""

    def values(name: str) -> FloatArray:
        return np.stack([getattr(paired.cells[probe], name)[j, d] for _, d, probe in keys])

    about, codes = [paired.known[probe] for _, _, probe in keys], paired.own_codes
    changed, asked = values("changed"), values("presented")
    columns: dict[str, object] = {
        "judge": paired.judges[j],
        "dimension": [paired.dimensions[d] for _, d, _ in keys],
        "id": [probe for _, _, probe in keys],
        "probe": [each.name for each in about],
        "severity": [each.severity for each in about],
        "expected": [each.expected for each in about],
        "reason": [each.reason for each in about],
        "n": np.isfinite(changed).sum(axis=1),
        "n_excluded": (asked & np.isnan(changed)).sum(axis=1),
        "coverage": _means(values("answered")),
        **dict(zip(with_ends("changed"), shares(changed, codes), strict=True)),
        "noise": _means(np.where(np.isfinite(changed), values("noise"), np.nan)),
        **dict(zip(with_ends("probability_shift"), means(values("probability"), codes), strict=True)),
        "n_scored": np.isfinite(values("probed")).sum(axis=1),
        "accuracy": _means(values("plain")),
        "accuracy_probed": _means(values("probed")),
        "n_clusters": [len(np.unique(codes[np.isfinite(row)])) for row in changed],
    }
    found = paired.differences(np.concatenate([values(name) for name in _SHIFTS.values()]))
    for i, name in enumerate(_SHIFTS):
        own = slice(i * len(keys), (i + 1) * len(keys))
        columns |= dict(zip(with_ends(name), (found.value[own], found.low[own], found.high[own]), strict=True))
        columns |= {f"{name}_error": found.error[own], f"{name}_df": found.df[own]}
        columns[f"{name}_clusters"] = found.clusters[own]
        columns[_TESTED[name]] = found.permutation_p[own]
    return pd.DataFrame(columns)


def _means(values: FloatArray) -> FloatArray:
    """The mean of each row over what is defined of it."""
    defined = np.isfinite(values)
    n = defined.sum(axis=1)
    return np.where(n > 0, np.where(defined, values, 0.0).sum(axis=1) / np.maximum(n, 1), np.nan)


def _reasons(frame: pd.DataFrame, resamples: int) -> list[str | None]:
    """Why values are null; `reason` already says why nothing is expected."""
    names = ["reason", "n", "n_clusters", "n_scored", "noise", "changed_low", "changed_high"]
    return [
        join_reasons(
            why,
            NOT_PAIRED if n == 0 else "",
            NO_NOISE if n and np.isnan(noise) else "",
            NOT_SCORED if n and n_scored == 0 else "",
            interval_reason(n, clusters, resamples, low, high),
        )
        for why, n, clusters, n_scored, noise, low, high in zip(*(frame[name].tolist() for name in names), strict=True)
    ]


_NUMBERS: Final = [
    *(f"{name}{end}" for name in _SHIFTS for end in ("", "_low", "_high", "_error", "_df", "_clusters")),
    *_TESTED.values(),
    *("changed", "changed_low", "changed_high"),
]


def tested(rows: pd.DataFrame, correction: str, family: str, margin: float) -> pd.DataFrame:
    """The rows with corrected p values and whether each kept what is expected.

    A family is of one judge, dimension and subfield, or ("all") of all rows.
    """
    numbers = rows.reindex(columns=_NUMBERS).astype("float64")
    out = rows.drop(columns=_NUMBERS, errors="ignore").join(numbers)
    out = out.reindex(columns=[*out.columns.union(["expected", "reason"], sort=False)])
    out = out.assign(correction=correction, family_scope=family, margin=margin)
    out["unmoved_p"], out["equivalence_p"] = unmoved_p(out, margin), equivalence_p(out, margin)
    families: IntArray = np.zeros(len(out), dtype=np.int64)
    if family == "dimension":
        grouped = out.groupby(["judge", "dimension", "by", "subfield"], dropna=False, sort=False)
        families = np.asarray(grouped.ngroup(), dtype=np.int64)
    together = out[list(TESTS)].to_numpy(np.float64)
    adjusted, size = adjust_families(together.ravel(), np.repeat(families, len(TESTS)), correction)
    for i, test in enumerate(TESTS):
        out[f"{test.removesuffix('_value')}_adjusted"] = adjusted.reshape(together.shape)[:, i]
    out["family"] = size.reshape(together.shape)[:, 0]
    out["equivalence_p_adjusted"] = adjust_families(out["equivalence_p"].to_numpy(np.float64), families, correction)[0]
    corrected = out["equivalence_p_adjusted"]
    out["equivalent"] = pd.Series(corrected <= ALPHA, dtype="boolean").mask(corrected.isna())
    out["kept_expectation"], undecided = kept(out, margin)
    told = [
        join_reasons(text if isinstance(text, str) else "", why)
        for text, why in zip(out["reason"], undecided, strict=True)
    ]
    return out.assign(reason=pd.Series(told, index=out.index, dtype="str"))
