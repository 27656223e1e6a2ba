"""What should follow from a probe, and whether a judge does what a sound one does."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Any, Final, NamedTuple

import numpy as np
import pandas as pd

from mrb_lib.probes.from_file import is_file_probe
from mrb_lib.probes.probe import PROBES, parse_id
from mrb_lib.stats.options import FloatArray, divide
from mrb_lib.stats.significance.paired import ALPHA, equivalence, noninferiority

UNKNOWN: Final = "expected is unknown: this library has no such probe"
UNDECIDED: Final = "kept_expectation is undecided: the intervals hold both"
NO_NOISE: Final = (
    "noise is unknown: no plain case was answered twice in one order, so that a changed verdict may be chance (the "
    "option noise states it: 0 for a judge that never varies)"
)
MOVED: Final = {"p_value": "accuracy_change", "target_shift_p": "target_shift", "changed_p": "changed_beyond_noise"}
"""The tests of whether verdicts moved, and what each is a test of."""
TESTS: Final = (*MOVED, "unmoved_p")


class Known(NamedTuple):
    """What is known of a probe by the id that verdicts carry.

    Attributes
    ----------
    name : without its severity, with `+both` where it has that
    severity : None of an unknown probe
    expected : None where nothing is
    has_target : whether it may pull towards one response
    reason : why nothing is expected
    """

    name: str
    severity: int | None
    expected: str | None
    has_target: bool
    reason: str


def known(text: str) -> Known:
    """What is known of a probe; an id that this library does not have expects nothing.

    The same error in both responses must not matter: `+both` of a probe that flips choices expects the same verdicts.
    A probe that came from a file, which is not asked for, expects the same verdicts. It may change both responses, and
    so has no target.
    """
    found = parse_id(text)
    if found is None and is_file_probe(text):
        return Known(text, 1, "same", False, "")
    if found is None:
        return Known(text, None, None, False, UNKNOWN)
    probe, name = PROBES[found.probe], f"{found.probe}+both" if found.both else found.probe
    has_target = probe.changes != "image" and not found.both
    if found.severity == 0:
        return Known(name, 0, "same", has_target, "")
    expected = "same" if found.both and probe.expected == "flips" else probe.expected
    return Known(name, found.severity, expected, has_target, "")


def unmoved_p(rows: pd.DataFrame, margin: float) -> FloatArray:
    """Of probes that should cost something: the p of a loss of the margin or more, small where there is none such.

    The loss is of accuracy where a judge should judge worse, of choices for the target where they should flip. Where no
    case differs, a t test has no error to go by: of so many clusters that lose nothing, (1 - margin) to their number is
    the probability if one in 1 / margin were to lose all.
    """
    flips = rows["expected"].eq("flips").to_numpy()
    value, error, df, clusters = (
        np.where(flips, rows[f"target_shift{end}"], rows[f"accuracy_change{end}"]).astype(np.float64)
        for end in ("", "_error", "_df", "_clusters")
    )
    out = noninferiority(value, error, df, margin)
    none_differs = (value == 0) & ~(error > 0) & (clusters >= 2)
    out = np.where(none_differs, (1 - margin) ** np.nan_to_num(clusters), out)
    return np.where(rows["expected"].isin(["flips", "worse"]), out, np.nan)


def equivalence_p(rows: pd.DataFrame, margin: float) -> FloatArray:
    """The p of the two one-sided tests of accuracy having changed by the margin or more."""
    value, error, df = (rows[f"accuracy_change{end}"].to_numpy(np.float64) for end in ("", "_error", "_df"))
    return equivalence(noninferiority(value, error, df, margin), noninferiority(-value, error, df, margin))


def kept(rows: pd.DataFrame, margin: float) -> tuple[pd.Series, list[str]]:
    """Whether each row kept what is expected, see `mrb_lib.stats.probes.table.probes`, and why that is open."""
    judged = [_kept(row, margin) for row in rows.to_dict("records")]
    reasons = [
        UNDECIDED if each is None and row_expected is not None and n > 0 else ""
        for each, row_expected, n in zip(judged, rows["expected"], rows["n"], strict=True)
    ]
    return pd.Series(judged, index=rows.index, dtype="boolean"), reasons


def _kept(row: dict[Hashable, Any], margin: float) -> bool | None:
    if row["expected"] == "same":
        return _kept_same(row, margin)
    if row["expected"] not in ("worse", "flips"):
        return None
    if row["unmoved_p_adjusted"] <= ALPHA:
        return False
    name, p_value = ("accuracy_change", "p") if row["expected"] == "worse" else ("target_shift", "target_shift_p")
    return True if row[name] < 0 and row[f"{p_value}_adjusted"] <= ALPHA else None


def _kept_same(row: dict[Hashable, Any], margin: float) -> bool | None:
    adjusted = {test: row[f"{test.removesuffix('_value')}_adjusted"] for test in MOVED}
    if adjusted["p_value"] <= ALPHA or adjusted["target_shift_p"] <= ALPHA:
        return False
    if adjusted["changed_p"] <= ALPHA and row["changed_beyond_noise"] > 0:
        return False
    if row["changed_high"] <= margin and _is_within(row, ["accuracy_change"], margin):
        return True  # whatever else it is, a shift is no larger than the share of verdicts that changed
    within = row["changed_beyond_noise_high"] <= margin and _varies(row, "changed_beyond_noise")
    return True if within and _is_within(row, ["accuracy_change", "target_shift"], margin) else None


def _is_within(row: dict[Hashable, Any], names: Iterable[str], margin: float) -> bool:
    """Whether each of these that is known is shown to be smaller than the margin, or is nothing in every case."""
    defined = [name for name in names if np.isfinite(row[name])]
    return all(
        (row[f"{name}_low"] >= -margin and row[f"{name}_high"] <= margin and _varies(row, name))
        or (row[name] == 0 and not row[f"{name}_error"] > 0)
        for name in defined
    )


def _varies(row: dict[Hashable, Any], name: str) -> bool:
    return bool(row[f"{name}_error"] > 0)


def per_step(severities: FloatArray) -> FloatArray:
    """What each severity weighs in the least-squares slope over them."""
    centred = severities - severities.mean()
    return divide(centred, np.asarray((centred**2).sum()))
