"""Which changes of a case change a judge's verdicts, and whether they should."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

import numpy as np
import pandas as pd

from mrb_lib.probes.probe import target
from mrb_lib.schema import NO_PROBE
from mrb_lib.stats.core.multiplicity import CORRECTIONS, FAMILIES, adjust_families
from mrb_lib.stats.core.options import (
    FloatArray,
    IntArray,
    check_choice,
    check_policy,
    join_reasons,
    typed,
    with_ends,
)
from mrb_lib.stats.core.panel import Panel, as_panel
from mrb_lib.stats.core.scoring import encode_gold
from mrb_lib.stats.core.table import Option, register_table
from mrb_lib.stats.probes import reading
from mrb_lib.stats.probes.cells import Cells, cells, differences, means, of_judges, shares
from mrb_lib.stats.probes.expectation import NO_NOISE, TESTS, Known, equivalence_p, kept, known, per_step, unmoved_p
from mrb_lib.stats.resampling.resample import cluster_codes, interval_reason
from mrb_lib.stats.significance.paired import ALPHA, MARGIN, check_margin

PROBE, SLOPE, IMAGE = "probe", "slope", "image"
NO_PROBES: Final = "no verdict is of a probe: `mrb judge --probe` asks for some, and `mrb probes` lists them"
NOT_PAIRED: Final = "no case is answered with and without the probe in the same order and repeat"
NOT_SCORED: Final = "accuracy is undefined: no case that is judged in both has a gold label"
NO_CASE_AT_ALL: Final = "no case has verdicts at every severity"
NO_CASE_OF_ALL: Final = "no case is scored with the image, without it and with another"
REMOVED: Final = ("image/removed", "image/blank")
SWAPPED: Final = "image/swapped"
_SHIFTS: Final = {
    "changed_beyond_noise": "beyond",
    "accuracy_change": "accuracy",
    "target_shift": "target",
}
_TESTED: Final = {"accuracy_change": "p_value", "target_shift": "target_shift_p", "changed_beyond_noise": "changed_p"}
COLUMNS = [
    "part", "judge", "dimension", "probe", "severity", "expected", "kept_expectation", "n", "n_excluded", "n_clusters",
    "coverage", *with_ends("changed"), "noise", *with_ends("changed_beyond_noise"), "changed_p", "changed_p_adjusted",
    "policy", "n_scored", "accuracy", "accuracy_probed", *with_ends("accuracy_change"), "p_value", "p_adjusted",
    *with_ends("target_shift"), "target_shift_p", "target_shift_p_adjusted", *with_ends("probability_shift"), "margin",
    "unmoved_p", "unmoved_p_adjusted", "equivalence_p", "equivalence_p_adjusted", "equivalent", "correction", "family",
    "family_scope", "n_severities", *with_ends("changed_slope", "accuracy_slope"), "accuracy_low", "accuracy_high",
    *with_ends("accuracy_without", "accuracy_swapped", "image_gain"), "reason",
]  # fmt: skip
MORE = [
    "changed_p", "changed_p_adjusted", "target_shift_p", "unmoved_p", "equivalence_p", "accuracy_low", "accuracy_high",
    "accuracy_without_low", "accuracy_without_high", "accuracy_swapped_low", "accuracy_swapped_high",
]  # fmt: skip


class _Made(NamedTuple):
    """What the rows are made from.

    Attributes
    ----------
    cells : by the id of each probe
    known : the same
    """

    judges: list[str]
    dimensions: list[str]
    cells: Mapping[str, Cells]
    known: Mapping[str, Known]
    codes: IntArray
    resamples: int
    seed: int


@register_table(
    "probes",
    question="which changes of a case change a judge's verdicts, and should they",
    columns=[name for name in COLUMNS if name not in MORE],
    more=MORE,
    reads=("p_a",),
    options={
        "margin": Option("changes of verdicts, accuracy or choices for a response below it count as none", 0, 1),
        "noise": Option("share of verdicts that repeats differ in, for judges asked once; 0: they never vary", 0, 1),
    },
    meanings=reading.MEANINGS,
    headline=("changed", "accuracy_change", "kept_expectation"),
    sentence=reading.sentence,
)
def probes(
    verdicts: pd.DataFrame | Panel,
    gold: pd.DataFrame,
    cases: pd.DataFrame,
    *,
    probes: Mapping[str, Panel] | None = None,
    probe: str = NO_PROBE,
    policy: str = "balanced",
    correction: str = "holm",
    family: str = "dimension",
    margin: float = MARGIN,
    noise: float | None = None,
    dimensions: Sequence[str] | None = None,
    cluster: str | None = None,
    resamples: int = 2000,
    seed: int = 0,
) -> pd.DataFrame:
    """Compare the verdicts under each probe with those on the plain cases.

    A cell is an order and a repeat of a case. A verdict under a probe is compared with the plain one in the same cell
    only, so that what the order does is not taken for what the probe does.

    Parameters
    ----------
    verdicts : the plain verdicts
    gold : `case_id, dimension, choice`; without labels accuracies are null, and the rest is there
    probes : the verdicts of every probe by its id
    probe : the one that `verdicts` are of, which has no row
    policy : how verdicts become a score, see `mrb_lib.stats.core.scoring.score`
    correction : for the number of tests, see `mrb_lib.stats.core.multiplicity.adjust`
    family : which tests are corrected together: all that are made of a judge on a dimension, over all probes
        ("dimension"), or all of the table ("all")
    margin : the largest share of verdicts, or change of accuracy or of choices for a response, that does not matter
    noise : the share of verdicts that differ between repeats, of judges without any repeat; None: not known
    dimensions, cluster, resamples, seed : as in `mrb_lib.stats.accuracy.accuracy`

    Returns
    -------
    DataFrame
        `part` "probe", one row a judge, dimension, `probe` and `severity`:

        - `n` cases with a cell answered both with and without the probe, in `n_clusters` clusters; `n_excluded` other
          cases with a verdict under the probe; `coverage` share of the verdicts under the probe that have a choice
        - `changed` mean over cases of the share of such cells in which the choice differs; `noise` the share of pairs
          of plain repeats, in one order, that differ; `changed_beyond_noise` what is left of the one without the other
        - `accuracy_change` the score under the probe less the plain one, over the `n_scored` cases that have a label,
          by the cells that have both verdicts; `p_value` is of it, and of nothing else
        - `target_shift` share choosing the response that the probe changes or speaks for (`mrb_lib.probes.target`), a
          tie half, under the probe less without; null of probes of images and of both responses. `probability_shift`
          the same of the probability; of probes of a question that speak for no response both are 0 in truth
        - `changed_p`, `p_value`, `target_shift_p`: sign flips of clusters, of the three named quantities. Where a loss
          is expected, `unmoved_p`: small where accuracy (the target's choices) is shown to lose less than `margin`
        - `equivalence_p` of two one-sided tests of `accuracy_change` against `margin`; `equivalent` at .05, adjusted

        Adjusted p-values are corrected together over all four kinds of tests and all probes (`family` tests);
        equivalence apart. `expected` is what a sound judge does, and `kept_expectation`:

        - `same`: False where an adjusted test finds that accuracy or the choices for the target moved, or that more
          changed than noise does. Else True where all of these lie within `margin` by their 95% intervals
          (`changed_beyond_noise` by its upper end; where `changed` itself is below, nothing else can be larger)
        - `worse`: False where `unmoved_p`, adjusted, shows that less than `margin` of accuracy is lost; else True where
          accuracy is lost, adjusted. `flips`: the same of choices for the target
        - null where neither is shown, or nothing is expected

        `part` "slope", one row a judge, dimension and probe of two severities or more: what a step of severity adds to
        `changed` and to accuracy, by least squares over the `n` cases that have them all.

        `part` "image", where the image was removed or blanked: over the same `n` cases `accuracy` with the image,
        `accuracy_without` it, `accuracy_swapped` with another, and `image_gain`, the first less the second.

        `_low` and `_high` bound 95% intervals, of shares Wilson's, of differences those of the paired cluster
        bootstrap, by t with few clusters and of `probability_shift`. `reason` says why a value is null.

    Raises
    ------
    InputError
        An option is unknown, `cluster` cannot be used, or a verdict is about an unknown case.

    Notes
    -----
    With Holm's correction a judge without faults is accused in at most 5% of analyses on a dimension, whatever the
    number of probes; `tests/stats/probes/test_simulated.py` simulates that, what is found of planted faults, and
    coverage. A verdict that changed is no fault where repeats differ as often: without repeats (or `noise`), and with
    `same` expected, only the direction of changes can accuse.
    """
    check_policy(policy)
    check_choice("correction", correction, CORRECTIONS)
    check_choice("family", family, FAMILIES)
    check_margin(margin)
    plain = as_panel(verdicts, cases["case_id"], dimensions)
    others = {
        name: as_panel(panel, cases["case_id"], plain.dimensions)
        for name, panel in (probes or {}).items()
        if name != probe and panel is not verdicts
    }
    made = _made(plain, others, gold, cases, policy, noise, cluster, resamples, seed)
    rows = _tested(_probe_rows(made, plain), correction, family, margin)
    frames = [rows.assign(part=PROBE, policy=policy), _slope_rows(made), _image_rows(made).assign(policy=policy)]
    return _typed(pd.concat([frame for frame in frames if len(frame)] or [rows], ignore_index=True))


def _made(
    plain: Panel,
    others: Mapping[str, Panel],
    gold: pd.DataFrame,
    cases: pd.DataFrame,
    policy: str,
    noise: float | None,
    cluster: str | None,
    resamples: int,
    seed: int,
) -> _Made:
    """Pair every probe with the plain verdicts."""
    judges = sorted({name for panel in (plain, *others.values()) for name in panel.judges})
    labels = encode_gold(gold, cases["case_id"], plain.dimensions)
    is_a = np.array([target(str(name)) == "A" for name in cases["case_id"]], dtype=bool)
    about = {
        name: known(name) for name in sorted(others, key=lambda name: (known(name).name, known(name).severity or 0))
    }
    first = of_judges(plain, judges)
    paired = {
        name: cells(first, of_judges(others[name], judges), labels, policy, is_a if each.has_target else None, noise)
        for name, each in about.items()
    }
    return _Made(judges, plain.dimensions, paired, about, cluster_codes(cases, cluster), resamples, seed)


def _probe_rows(made: _Made, plain: Panel) -> pd.DataFrame:
    """The rows of `part` "probe" before any correction; where there is no probe, rows that say so."""
    frames = []
    for j, judge in enumerate(made.judges):
        keys = [
            (name, d)
            for d in range(len(made.dimensions))
            for name, each in made.cells.items()
            if each.presented[j, d].any()
        ]
        if keys:
            frames.append(_of_judge(made, j, keys).assign(judge=judge))
    if not frames:
        judge_, dimension = np.nonzero(plain.takes_part())
        names = plain.names(judge_ * len(plain.dimensions) + dimension)
        return pd.DataFrame({**names, "n": 0, "reason": NO_PROBES}).reindex(columns=_WORKING)
    rows = pd.concat(frames, ignore_index=True).reindex(columns=_WORKING)
    return rows.assign(reason=pd.Series(_reasons(rows, made.resamples), index=rows.index, dtype="str"))


_WORKING: Final = list(
    dict.fromkeys([*COLUMNS, *(f"{name}{end}" for name in _SHIFTS for end in ("_error", "_df", "_clusters"))])
)


def _of_judge(made: _Made, j: int, keys: Sequence[tuple[str, int]]) -> pd.DataFrame:
    """The rows of one judge: probes by dimensions."""

    def values(name: str) -> FloatArray:
        return np.stack([getattr(made.cells[probe], name)[j, d] for probe, d in keys])

    about = [made.known[probe] for probe, _ in keys]
    changed, presented = values("changed"), values("presented")
    columns: dict[str, object] = {
        "dimension": [made.dimensions[d] for _, d in keys],
        "probe": [each.name for each in about],
        "severity": [each.severity for each in about],
        "expected": [each.expected for each in about],
        "reason": [each.reason for each in about],
        "n": np.isfinite(changed).sum(axis=1),
        "n_excluded": (presented & np.isnan(changed)).sum(axis=1),
        "coverage": _means(values("answered")),
        **dict(zip(with_ends("changed"), shares(changed, made.codes), strict=True)),
        "noise": _means(np.where(np.isfinite(changed), values("noise"), np.nan)),
        **dict(zip(with_ends("probability_shift"), means(values("probability"), made.codes), strict=True)),
        "n_scored": np.isfinite(values("probed")).sum(axis=1),
        "accuracy": _means(values("plain")),
        "accuracy_probed": _means(values("probed")),
        "n_clusters": [len(np.unique(made.codes[np.isfinite(row)])) for row in changed],
    }
    stacked = np.concatenate([values(name) for name in _SHIFTS.values()])
    found = differences(stacked, made.codes, resamples=made.resamples, seed=made.seed)
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


def _tested(rows: pd.DataFrame, correction: str, family: str, margin: float) -> pd.DataFrame:
    """The rows with corrected p values and whether each kept what is expected."""
    out = rows.assign(correction=correction, family_scope=family, margin=margin)
    out["unmoved_p"], out["equivalence_p"] = unmoved_p(out, margin), equivalence_p(out, margin)
    keys = out[["judge", "dimension"]] if family == "dimension" else out.assign(judge="", dimension="")[["judge"]]
    families = np.asarray(keys.groupby(list(keys), sort=False).ngroup(), dtype=np.int64)
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


def _slope_rows(made: _Made) -> pd.DataFrame:
    """The rows of `part` "slope"."""
    graded: dict[str, list[str]] = {}
    for text, each in made.known.items():
        if each.severity is not None:
            graded.setdefault(each.name, []).append(text)
    keys, rows = [], []
    for name, texts in graded.items():
        steps = np.array([made.known[text].severity for text in texts], dtype=np.float64)
        several = [made.cells[text] for text in texts]
        if len(texts) < 2:
            continue
        weights = per_step(steps)
        for j, d in np.ndindex(len(made.judges), len(made.dimensions)):
            if all(each.presented[j, d].any() for each in several):
                keys.append((made.judges[j], made.dimensions[d], name, made.known[texts[0]].expected, len(texts)))
                rows.append([weights @ np.stack([getattr(each, of)[j, d] for each in several])
                             for of in ("changed", "accuracy")])  # fmt: skip
    if not keys:
        return pd.DataFrame()
    frame = pd.DataFrame(keys, columns=["judge", "dimension", "probe", "expected", "n_severities"]).assign(part=SLOPE)
    for i, name in enumerate(("changed_slope", "accuracy_slope")):
        own = np.stack([each[i] for each in rows])
        found = differences(own, made.codes, resamples=made.resamples, seed=made.seed)
        columns = dict(zip(with_ends(name), (found.value, found.low, found.high), strict=True))
        frame = frame.assign(**columns, **({"n": found.n, "n_clusters": found.clusters} if i == 0 else {}))
    return frame.assign(reason=pd.Series(NO_CASE_AT_ALL, index=frame.index, dtype="str").where(frame["n"].eq(0)))


def _image_rows(made: _Made) -> pd.DataFrame:
    """The rows of `part` "image": of each judge accuracy with the image, without it, and with another."""
    without = next((name for name in REMOVED if name in made.cells), None)
    swapped = next((name for name in made.cells if name.startswith(SWAPPED)), None)
    if without is None:
        return pd.DataFrame()
    keys, rows = [], []
    for j, d in np.ndindex(len(made.judges), len(made.dimensions)):
        bare = made.cells[without]
        if not bare.presented[j, d].any():
            continue
        other = made.cells[swapped].probed[j, d] if swapped is not None else np.full(len(made.codes), np.nan)
        three = np.stack([bare.plain[j, d], bare.probed[j, d], other])
        counted = np.isfinite(three[:2] if np.isnan(other).all() else three).all(axis=0)
        keys.append((made.judges[j], made.dimensions[d], without))
        rows.append(np.where(counted, three, np.nan))
    if not keys:
        return pd.DataFrame()
    frame = pd.DataFrame(keys, columns=["judge", "dimension", "probe"]).assign(part=IMAGE)
    stacked = np.stack(rows)
    for i, name in enumerate(("accuracy", "accuracy_without", "accuracy_swapped")):
        frame = frame.assign(**dict(zip(with_ends(name), shares(stacked[:, i], made.codes), strict=True)))
    found = differences(stacked[:, 0] - stacked[:, 1], made.codes, resamples=made.resamples, seed=made.seed)
    columns = dict(zip(with_ends("image_gain"), (found.value, found.low, found.high), strict=True))
    frame = frame.assign(**columns, n=found.n, n_clusters=found.clusters)
    return frame.assign(reason=pd.Series(NO_CASE_OF_ALL, index=frame.index, dtype="str").where(frame["n"].eq(0)))


def _typed(frame: pd.DataFrame) -> pd.DataFrame:
    counts = dict.fromkeys(("severity", "n_excluded", "n_clusters", "n_scored", "family", "n_severities"), "Int64")
    texts = dict.fromkeys(("part", "expected", "family_scope"), "str")
    return typed(frame.reindex(columns=COLUMNS), COLUMNS, **counts, **texts, equivalent="boolean",
                 kept_expectation="boolean")  # fmt: skip
