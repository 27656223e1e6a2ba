"""Which changes to a case, or to the prompt, change a judge's verdicts, and should they?"""

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from itertools import combinations
from typing import Any, Final

import numpy as np
import pandas as pd
from scipy.special import stdtr

from mrb_lib.probes.expectation import known
from mrb_lib.probes.probe import drawn_by, target
from mrb_lib.stats import intervals
from mrb_lib.stats.analysis import Analysis
from mrb_lib.stats.columns import TESTED, Column, Option, estimated, shared, table
from mrb_lib.stats.contrasts import ALPHA, paired_tests
from mrb_lib.stats.estimation import Estimate, FloatArray, divide, mean
from mrb_lib.stats.grid import Measure, grid
from mrb_lib.stats.methods.paired_verdicts import GAP, PROBE, TEMPLATE, compare, on_cells, prompt_pairs
from mrb_lib.stats.multiplicity import adjust_families
from mrb_lib.stats.phrases import main_dimension, main_rows, opening, percent, points
from mrb_lib.stats.verdicts import Verdicts
from mrb_lib.tables.schema import NO_PROBE

PAIRED: Final = (PROBE, GAP, TEMPLATE)
NO_PROBES: Final = (
    "no verdict is on a probed case or by a second prompt: `mrb judge --probe` makes verdicts on such cases"
)
NOT_PAIRED: Final = "no case is judged in all the ways compared (the change, orders, repeats)"
NOT_SCORED: Final = "accuracy is undefined: no case that is judged in both has a gold label"
NO_NOISE: Final = "noise is unknown: no case was answered twice in one order (the option noise states it)"
NO_ORDERS: Final = "shared_flips is unknown: no case was judged in both orders by both prompts"
UNDECIDED: Final = "kept_expectation is undecided: the intervals hold both, or nothing is expected"
AS_IT_IS: Final = "as it is"
_SHIFTS: Final = {
    "accuracy_change": ("p_value", intervals.difference),
    "target_shift": ("target_shift_p", intervals.difference),
    "changed_beyond_noise": ("changed_p", intervals.t),
    "shared_flips": ("shared_p", intervals.t),
}
"""The differences that are tested for 0, with the columns of their p values and the rules of their intervals.

Percentiles cover what exceeds noise in .92 of simulations, Student's t in .95.
"""
_NO_SPREAD = 1e-9
_Comparison = tuple[pd.DataFrame, dict[str, FloatArray]]
"""The names of compared cells, one row each, and their effects, one column each; see `compare`."""


def _or_score(rule: Callable[[Estimate], intervals.Interval], e: Estimate) -> intervals.Interval:
    """Return the interval by a rule; where all cases are alike, that of a score test."""
    usual, rarely = rule(e), intervals.lean(e)
    alike = ~(e.error > _NO_SPREAD) & (len(e.sampling.draws) > 0)
    low, high = (np.where(alike, rarely[i], usual[i]) for i in (0, 1))
    return intervals.Interval(low, high, usual.method)


def expectations_broken(rows: pd.DataFrame) -> str:
    """Say how many judges break what a probe expects, how groups of patients differ, and what prompts change."""
    where = opening(main_dimension(rows))
    probed, gaps, prompts = (main_rows(rows, part=part) for part in PAIRED)
    expected, said = probed.dropna(subset="expected"), list[str]()
    if len(expected):
        broken = expected[expected["kept_expectation"].eq(False).fillna(False).astype(bool)]
        kept = expected["kept_expectation"].sum()
        unclear = len(expected) - len(broken) - kept
        said.append(
            f"{where}, judges significantly break what a probe expects in {len(broken)} of {len(expected):,} pairs of "
            f"judge and probe (corrected over all). They meet it within the margin in {kept}"
            f"{f'; for the other {unclear} we cannot tell' if unclear else ''}."
        )
        for _, most in broken[broken["expected"].eq("same")].nlargest(1, "changed").iterrows():
            said.append(f"{most['probe']} changes {percent(most, 'changed')} of the verdicts of {most['judge']}.")
    if len(gaps):
        apart, alike = gaps["p_adjusted"].le(ALPHA).sum(), gaps["equivalent"].sum()
        said.append(
            f"Between groups of patients, accuracy differs significantly in {apart} of {len(gaps):,} comparisons and "
            f"is equivalent in {alike}."
        )
    if len(prompts):
        differ = prompts[prompts["p_adjusted"] <= ALPHA].sort_values("accuracy_change", key=abs)
        largest = [f" (largest: {row['judge']}, {points(row, 'accuracy_change')})" for _, row in differ.iterrows()]
        known = prompts[["changed_p_adjusted", "shared_p_adjusted"]].dropna(how="all")
        changed = known.le(ALPHA).any(axis=1).sum()
        said.append(
            f"Accuracy differs significantly in {len(differ)} of {len(prompts)} comparisons of two prompts of one judge"
            f"{''.join(largest[-1:])}. Choices change significantly beyond noise in {changed} of "
            f"the {len(known)} comparisons with repeats or both orders; for the others we cannot tell."
        )
    return " ".join(said) or f"{where}, no expectation can be checked: this library knows none of the probes."


def _tests_of(name: str, meaning: str) -> tuple[Column, Column]:
    return (
        Column(f"{name}_p", meaning, "p 0-1"),
        Column(f"{name}_p_adjusted", f"{name}_p corrected for the number of tests", "p 0-1"),
    )


@table(
    "probes",
    question="which changes to a case or to the prompt change a judge's verdicts, and should they",
    columns=[
        Column("part", "probe, gap (between groups of patients), or template (prompts)", "text"),
        shared("judge"),
        Column("judge_1", "run of the judge with prompt_1", "text"),
        Column("judge_2", "run of the judge with prompt_2", "text"),
        Column("prompt_1", "first prompt; its verdicts are taken as those without the change", "text"),
        Column("prompt_2", "second prompt", "text"),
        shared("dimension", "subfields"),
        Column("probe", "change to the case before it was judged, see `mrb probes`", "text"),
        Column("severity", "step of the probe, or number of the group; 0: no change", "count"),
        Column("group", "group of patients that the severity stands for", "text"),
        Column("group_1", "group whose verdicts are taken as those without the change", "text"),
        Column("group_2", "group whose verdicts are taken as those with the change", "text"),
        Column("expected", "a sound judge: same (verdicts), worse (accuracy), or flips (against target)", "text"),
        Column("kept_expectation", "whether the judge does as expected", "yes/no", null=UNDECIDED, parts=(PROBE, GAP)),
        Column("n", "cases answered with and without the change, same order and repeat", "cases"),
        Column("n_excluded", "other cases with a verdict with the change", "cases"),
        shared("clusters"),
        Column("coverage", "share of the verdicts with the change that have a choice", "share 0-1"),
        estimated("changed", "share of verdicts that differ from those without the change"),
        Column("noise", "share of pairs of repeats of one case that differ", "share 0-1", null=NO_NOISE),
        estimated("changed_beyond_noise", "changed minus noise, over the same cases", "difference", "Rao 1982"),
        _tests_of("changed", "probability of as much change beyond noise, if there is none"),
        shared("policy"),
        Column("n_scored", "cases scored with and without the change", "cases"),
        Column("accuracy", "mean score without the change", "share 0-1", null=NOT_SCORED),
        Column("accuracy_probed", "mean score with the change, over the same cases", "share 0-1"),
        estimated("accuracy_change", "accuracy_probed minus accuracy", "difference"),
        shared("tests"),
        estimated("target_shift", "share choosing the response changed, minus that without the change", "difference"),
        _tests_of("target_shift", "probability of as large a shift if there is none"),
        Column("order_flips", "share of verdicts that differ between the orders of one prompt", "share 0-1"),
        estimated(
            "shared_flips", "what a prompt changes alike in both orders", "difference", "", NO_ORDERS, (TEMPLATE,)
        ),
        _tests_of("shared", "probability of as many shared_flips if the prompt had no effect of its own"),
        _tests_of("unmoved", "p of losing the margin or more; small: the judge does not lose what it should"),
        _tests_of("equivalence", "p of accuracy changing by more than the margin (Schuirmann 1987)"),
        Column("equivalent", "whether accuracy changes by less than the margin (adjusted, at .05)", "yes/no"),
    ],
    sentence=expectations_broken,
    headline=("changed", "accuracy_change", "kept_expectation"),
    uses=(*TESTED, "probe", "prompts"),
    options={
        "margin": Option("changes of verdicts, accuracy or choices for a response below it count as none", 0.001, 1),
        "noise": Option("share of verdicts that repeats differ in, for judges asked once; 0: they never vary", 0, 1),
    },
    why_no_ratings="",
)
def probes(analysis: Analysis, *, margin: float = 0.05, noise: float | None = None) -> pd.DataFrame:
    """Compare each judge's verdicts with and without each probe, for one group and another, and by two prompts.

    All tests of a dimension and subfield, of all judges, probes, groups and prompts, are corrected together. Where the
    same verdicts are expected, a judge breaks that if accuracy, choices for the target, or verdicts beyond noise change
    significantly. It keeps that if their intervals lie within the margin. Where accuracy or choices should be lost, it
    breaks that if it loses significantly less than the margin, and keeps that if it loses significantly.

    Parameters
    ----------
    margin : the largest change that does not matter, as a share
    noise : the share of verdicts that differ between repeats, of judges asked once; None: not known

    Notes
    -----
    Verdicts are paired by case, order and repeat. Two verdicts of one prompt differ with probability 1 - |p|^2, those
    of two prompts with 1 - p.q, so that `changed_beyond_noise` estimates |p - q|^2 / 2 without bias (Rao 1982,
    doi:10.1016/0040-5809(82)90004-1). Simulated in tests/stats/probes/test_simulated.py.
    """
    plain = analysis.verdicts
    others = {text: analysis.of_probe(text) for text in analysis.probes if text != analysis.probe}
    judges = sorted({name for v in (plain, *others.values()) for name in v.cells["judge"]})
    sets = {text: on_cells(v, judges) for text, v in {NO_PROBE: plain, **others}.items()}
    compared = list(_compared(analysis, sets, noise))
    if not compared:
        return pd.DataFrame([{"n": 0, "reason": NO_PROBES}])
    rows = _corrected(analysis, _effects(analysis, compared), margin)
    return rows.assign(reason=rows["reason"].where(rows["n"] > 0, NOT_PAIRED))


def _compared(analysis: Analysis, sets: Mapping[str, Verdicts], noise: float | None) -> Iterator[_Comparison]:
    """Yield each probe compared with the cases as they are, every two groups of a probe, and every two prompts.

    Parameters
    ----------
    sets : the verdicts by probe, of the same cells
    """
    is_a = np.array([target(str(name)) == "A" for name in drawn_by(analysis.cases)], dtype=bool)
    groups: dict[str, list[tuple[str, str]]] = {}
    pairs: list[tuple[dict[str, Any], Verdicts, Verdicts]] = []
    about = {text: known(text) for text in sets if text != NO_PROBE}
    for text, each in sorted(about.items(), key=lambda item: (item[1].name, item[1].severity or 0)):
        pairs.append(({"part": PROBE, "probe": each.name, **each._asdict()}, sets[NO_PROBE], sets[text]))
        if each.group is not None and each.name.startswith("question/"):
            groups.setdefault(each.name, [(AS_IT_IS, NO_PROBE)]).append((each.group, text))
    for probe, own in groups.items():
        for (group_1, first), (group_2, second) in combinations(own[1:] if len(own) > 2 else own, 2):
            names = {"part": GAP, "probe": probe, "group_1": group_1, "group_2": group_2, "expected": "same"}
            pairs.append((names, sets[first], sets[second]))
    judge = analysis.verdicts.cells["judge"]
    for runs in prompt_pairs(list(dict.fromkeys(judge)), analysis.prompts):
        sides = [(run, (judge == run).to_numpy()) for run in (runs["judge_1"], runs["judge_2"])]
        one, other = (on_cells(analysis.verdicts.of_cells(cells), [run]) for run, cells in sides)
        pairs.append(({"part": TEMPLATE, "expected": None, **runs}, one, other))
    for names, one, other in pairs:
        side = is_a if names.get("has_target") and one.tie >= 0 else None
        effects = compare(one, other, analysis.labels, analysis.policy, part=names["part"], is_a=side, noise=noise)
        asked = np.flatnonzero(effects["presented"].any(axis=0))
        if len(asked):
            cells = one.cells[["judge", "dimension"]].iloc[asked].reset_index(drop=True)
            yield cells.assign(**names), {name: values[:, asked] for name, values in effects.items()}


def _effects(analysis: Analysis, compared: list[_Comparison]) -> pd.DataFrame:
    """Estimate and test the effects of all comparisons."""
    names = pd.concat([each for each, _ in compared], ignore_index=True)
    place = names.assign(part=names["part"].map(PAIRED.index), dimension=names["dimension"].map(analysis.names.index))
    order = place.sort_values(["part", "judge", "dimension"], kind="stable").index.to_numpy()
    effects = {name: np.hstack([each[name] for _, each in compared])[:, order] for name in compared[0][1]}
    unpaired = effects.pop("presented") & np.isnan(effects["changed"])
    rules = {"changed": intervals.proportion} | {name: partial(_or_score, rule) for name, (_, rule) in _SHIFTS.items()}
    measures = {name: Measure(mean(values), rules.get(name)) for name, values in effects.items()}
    tallies = {"n_excluded": unpaired, "n_scored": np.isfinite(effects["accuracy_change"])}
    rows, made = grid(analysis, names.loc[order], measures, tallies=tallies)
    for name, (p, _) in _SHIFTS.items():
        of_parts = list(zip(analysis.parts, made[name], strict=True))
        rows[p] = np.concatenate([paired_tests(effects[name][part.cases], e)["p_value"] for part, e in of_parts])
        for what in ("error", "df", "clusters"):
            rows[f"{name}_{what}"] = np.concatenate([getattr(e, what) for _, e in of_parts])
    return rows


def _corrected(analysis: Analysis, rows: pd.DataFrame, margin: float) -> pd.DataFrame:
    """Return the rows with adjusted p values, and whether each judge keeps what is expected."""

    def loss_p(value: FloatArray, error: FloatArray, df: FloatArray) -> FloatArray:
        """Return the p of losing the margin or more."""
        return np.asarray(stdtr(df, -divide(value + margin, np.where(error > _NO_SPREAD, error, np.nan))))

    accuracy, choices = (
        rows[[f"{name}{end}" for end in ("", "_error", "_df", "_clusters")]].to_numpy(np.float64).T
        for name in ("accuracy_change", "target_shift")
    )
    value, error, df, clusters = np.where(rows["expected"].eq("flips"), choices, accuracy)
    # Of so many clusters that lose nothing, this is the probability if one in 1 / margin were to lose all.
    none_lost = (value == 0) & ~(error > _NO_SPREAD) & (clusters >= 2)
    unmoved = np.where(none_lost, (1 - margin) ** clusters, loss_p(value, error, df))
    rows["unmoved_p"] = np.where(rows["expected"].isin(["flips", "worse"]), unmoved, np.nan)
    change, *spread = accuracy[:3]
    rows["equivalence_p"] = np.maximum(loss_p(change, *spread), loss_p(-change, *spread))
    number = np.asarray(rows.groupby(["by", "subfield", "dimension"], dropna=False).ngroup(), dtype=np.int64)
    family = number if analysis.family == "dimension" else np.zeros_like(number)
    for tests in (["equivalence_p"], [*(p for p, _ in _SHIFTS.values()), "unmoved_p"]):
        p = rows[tests].to_numpy(np.float64)
        adjusted, size = adjust_families(p.ravel(), np.repeat(family, len(tests)), analysis.correction or "holm")
        rows[[f"{name.removesuffix('_value')}_adjusted" for name in tests]] = adjusted.reshape(p.shape)
        rows["family"] = size[:: len(tests)]
    known = rows["equivalence_p_adjusted"].notna()
    rows["equivalent"] = rows["equivalence_p_adjusted"].le(ALPHA).astype("boolean").where(known)
    return rows.assign(kept_expectation=_kept(rows, margin))


def _kept(rows: pd.DataFrame, margin: float) -> pd.Series:
    """Tell whether each row does what is expected; null where neither is significant, or nothing is expected."""
    moved, pulled, changed, unmoved = (
        rows[f"{name}_adjusted"].le(ALPHA) for name in ("p", "target_shift_p", "changed_p", "unmoved_p")
    )
    varies = {name: rows[f"{name}_error"].gt(_NO_SPREAD) for name in _SHIFTS}

    def is_within(name: str) -> pd.Series:
        inside = varies[name] & rows[f"{name}_low"].ge(-margin) & rows[f"{name}_high"].le(margin)
        return rows[name].isna() | inside | (rows[name].eq(0) & ~varies[name])

    beyond, varies_beyond = rows["changed_beyond_noise"].gt(0), varies["changed_beyond_noise"]
    # Whatever else it is, a shift is no larger than the share of verdicts that changed.
    small = rows["changed_high"].le(margin) | (
        rows["changed_beyond_noise_high"].le(margin) & varies_beyond & is_within("target_shift")
    )
    same, worse, flips = (rows["expected"].eq(what) for what in ("same", "worse", "flips"))
    broken = same & (moved | pulled | (changed & beyond)) | ~same & unmoved
    keeps = same & small & is_within("accuracy_change") | worse & moved & rows["accuracy_change"].lt(0)
    keeps |= flips & pulled & rows["target_shift"].lt(0)
    return keeps.astype("boolean").mask(broken, False).where(rows["expected"].notna() & (broken | keeps))
