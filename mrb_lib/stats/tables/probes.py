"""Which changes to a case, or to the prompt, change a judge's verdicts, and should they?"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from itertools import combinations
from typing import Any, Final, NamedTuple

import numpy as np
import pandas as pd
from scipy.special import stdtr

from mrb_lib.probes.expectation import Known, known
from mrb_lib.probes.probe import drawn_by, target
from mrb_lib.stats import intervals
from mrb_lib.stats.analysis import Analysis
from mrb_lib.stats.columns import TESTED, Column, Option, estimated, shared, table
from mrb_lib.stats.contrasts import ALPHA, paired_tests
from mrb_lib.stats.estimation import BoolArray, Estimate, FloatArray, divide, mean
from mrb_lib.stats.grid import Measure, grid
from mrb_lib.stats.multiplicity import adjust_families
from mrb_lib.stats.paired_verdicts import Effects, aligned, compare, means_by_order, on_cells
from mrb_lib.stats.phrases import main_dimension, main_rows, opening, percent, points
from mrb_lib.stats.prompt_runs import prompt_pairs
from mrb_lib.stats.reversals import reversals
from mrb_lib.stats.verdicts import Verdicts
from mrb_lib.tables.errors import InputError
from mrb_lib.tables.schema import NO_PROBE

NO_PROBES: Final = (
    "no verdict is on a probed case, and no judge was asked by two prompts: `mrb judge --probe` makes verdicts on "
    "probed cases, and `mrb probes` lists the probes"
)
NOT_PAIRED: Final = "no case is answered with and without the change in the same order and repeat"
NOT_SCORED: Final = "accuracy is undefined: no case that is judged in both has a gold label"
NO_NOISE: Final = (
    "noise is unknown: no case was answered twice in one order, so a changed verdict may be chance (state it with the "
    "option noise; 0 is a judge that never varies)"
)
NO_ORDERS: Final = "shared_flips is unknown: no case was judged in both orders by both prompts"
UNDECIDED: Final = "kept_expectation is undecided: the intervals hold both"
AS_IT_IS: Final = "as it is"
SWAPPED: Final = "prompt/labels:4"
"""The probe under which the responses are called B and A."""
_SHIFTS: Final = {
    "accuracy_change": "p_value", "target_shift": "target_shift_p", "changed_beyond_noise": "changed_p",
    "shared_flips": "shared_p",
}  # fmt: skip
"""The differences that are tested for 0, with the columns of their p values."""
_ALL_TESTS: Final = (*_SHIFTS.values(), "unmoved_p")


def _with_width(rule: Callable[[Estimate], intervals.Interval], e: Estimate) -> intervals.Interval:
    """Return the interval by a rule; where all cases are alike, that of a score test."""
    usual = rule(e)
    rarely, alike = intervals.lean(e), ~(e.error > 1e-9) & (len(e.sampling.draws) > 0)
    low, high = (np.where(alike, rarely[i], usual[i]) for i in range(2))
    return intervals.Interval(low, high, usual.method)


_DIFFERENCE = partial(_with_width, intervals.difference)
_BY_T = partial(_with_width, intervals.t)
_INTERVALS: Final = dict(zip(_SHIFTS, (_DIFFERENCE, _DIFFERENCE, _BY_T, _BY_T), strict=True))
"""Percentiles cover what exceeds noise in .92 of simulations, Student's t in .95."""


class _Compared(NamedTuple):
    """Comparisons of verdicts side by side: the names of each, one row per column of the effects."""

    names: pd.DataFrame
    effects: Effects


def expectations_broken(rows: pd.DataFrame) -> str:
    """Say how many judges break what a probe expects, how groups of patients differ, and what prompts change."""
    where, parts = opening(main_dimension(rows)), rows.groupby("part").size()
    said = []
    probed = main_rows(rows, part="probe").dropna(subset="expected")
    if len(probed):
        broken = probed[probed["kept_expectation"].eq(False).fillna(False).astype(bool)]
        kept = int(probed["kept_expectation"].eq(True).fillna(False).sum())
        said.append(
            f"{where}, judges significantly break what a probe expects in {len(broken)} of {len(probed):,} pairs of "
            f"judge and probe (corrected over all of them). They keep it within the margin in {kept}; for the other "
            f"{len(probed) - len(broken) - kept} we cannot tell."
        )
        same = broken[broken["expected"].eq("same")]
        if len(same):
            most = same.nlargest(1, "changed").iloc[0]
            said.append(f"{most['probe']} changes {percent(most, 'changed')} of the verdicts of {most['judge']}.")
    gaps = main_rows(rows, part="gap")
    if len(gaps):
        apart, alike = gaps["p_adjusted"].le(ALPHA).sum(), gaps["equivalent"].eq(True).sum()
        said.append(
            f"Between groups of patients, accuracy differs significantly in {apart} of {len(gaps):,} comparisons and "
            f"is equivalent in {alike}."
        )
    prompts = main_rows(rows, part="template")
    if len(prompts):
        said.append(_of_prompts(prompts))
    if not said:
        return f"{where}, no expectation can be checked: " + (
            "this library knows none of the probes." if parts.get("probe", 0) else f"{NO_PROBES}."
        )
    return " ".join(said)


def _of_prompts(rows: pd.DataFrame) -> str:
    differ = rows[rows["p_adjusted"] <= ALPHA]
    said = f"Accuracy differs significantly in {len(differ)} of {len(rows)} comparisons of two prompts of one judge"
    if len(differ):
        most = differ.sort_values("accuracy_change", key=abs).iloc[-1]
        said += f" (largest: {most['judge']}, {points(most, 'accuracy_change')})"
    tests = rows[["changed_p_adjusted", "shared_p_adjusted"]]
    if not tests.notna().any(axis=None):
        return f"{said}. Without repeats or both orders, we cannot tell changed choices from noise."
    changed = int(tests.le(ALPHA).any(axis=1).sum())
    return f"{said}; in {changed}, choices change significantly beyond what repeats and orders explain."


def _tests_of(name: str, of: str) -> tuple[Column, Column]:
    return (
        Column(f"{name}_p", f"probability of data as far from no {of}, if there is none", "p 0-1"),
        Column(f"{name}_p_adjusted", f"{name}_p corrected for the number of tests", "p 0-1"),
    )


@table(
    "probes",
    question="which changes to a case or to the prompt change a judge's verdicts, and should they",
    columns=[
        Column("part", "probe, gap (between groups), template (prompts), labels (letters), or rank", "text"),
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
        Column("kept_expectation", "whether the judge does so; null: cannot tell, or nothing expected", "yes/no"),
        Column("n", "cases answered with and without the change, same order and repeat", "cases"),
        Column("n_excluded", "other cases with a verdict with the change", "cases"),
        shared("clusters"),
        Column("coverage", "share of the verdicts with the change that have a choice", "share 0-1"),
        estimated("changed", "share of verdicts that differ from those without the change"),
        Column("noise", "share of pairs of repeats of one case that differ", "share 0-1"),
        estimated("changed_beyond_noise", "changed minus noise, over the same cases", "difference", "Rao 1982"),
        _tests_of("changed", "change beyond noise"),
        shared("policy"),
        Column("n_scored", "cases scored with and without the change", "cases"),
        Column("accuracy", "mean score without the change, by the policy", "share 0-1"),
        Column("accuracy_probed", "mean score with the change, over the same cases", "share 0-1"),
        estimated("accuracy_change", "accuracy_probed minus accuracy", "difference"),
        shared("tests"),
        estimated("target_shift", "share choosing the response changed, minus that without the change", "difference"),
        _tests_of("target_shift", "shift"),
        estimated("probability_shift", "the same of the mean probability of that response", "difference"),
        Column("order_flips", "share of verdicts that differ between the orders of one prompt", "share 0-1"),
        estimated("shared_flips", "what a prompt changes alike in both orders; 0: nothing", "difference"),
        _tests_of("shared", "shared_flips"),
        Column("margin", "largest change that does not matter", "difference"),
        Column("unmoved_p", "p of losing the margin or more; small: what should be lost is not", "p 0-1"),
        Column("unmoved_p_adjusted", "unmoved_p corrected for the number of tests", "p 0-1"),
        Column("equivalence_p", "p of accuracy changing by more than the margin", "p 0-1", "Schuirmann 1987"),
        Column("equivalence_p_adjusted", "equivalence_p corrected for the number of tests", "p 0-1"),
        Column("equivalent", "whether accuracy changes by less than the margin (adjusted, at .05)", "yes/no"),
        Column("n_judges", "judges that are ranked", "count"),
        estimated("rank", "place of the judge by accuracy without the probe", "rank", "Mogstad et al. 2024"),
        estimated("rank_probed", "place of the judge with the probe, over the same cases", "rank"),
        Column("kendall_tau", "agreement of the two orders of judges", "coefficient", "Kendall 1938"),
        Column("n_reversed", "judges above it in one condition and below in the other", "count"),
        Column("n_reversed_shown", "judges of n_reversed where both differences are significant", "count"),
        Column("reversal_p_adjusted", "smallest adjusted p of changing places with another judge", "p 0-1"),
        estimated("position_bias", "share choosing the response shown first, minus the second", "difference"),
        estimated("label_bias", "share choosing the response called A, minus that called B", "difference"),
        estimated("position_probability", "position_bias of probabilities", "difference"),
        estimated("label_probability", "label_bias of probabilities", "difference"),
    ],
    sentence=expectations_broken,
    headline=("changed", "accuracy_change", "kept_expectation"),
    uses=(*TESTED, "probe", "prompts"),
    reads=("p_a",),
    options={
        "margin": Option("changes of verdicts, accuracy or choices for a response below it count as none", 0, 1),
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
    if not margin > 0:
        raise InputError(f"margin {margin}: must be above 0 and below 1; 0.05 is five percentage points of accuracy.")
    plain = analysis.verdicts
    others = {text: analysis.of_probe(text) for text in analysis.probes if text != analysis.probe}
    about = {text: known(text) for text in others}
    ids = sorted(about, key=lambda text: (about[text].name, about[text].severity or 0))
    judges = sorted({name for v in (plain, *others.values()) for name in v.cells["judge"]})
    sets = {NO_PROBE: on_cells(plain, judges)} | {text: on_cells(others[text], judges) for text in ids}
    compared = [
        *_probed(analysis, sets, {text: about[text] for text in ids}, noise),
        *_gaps(analysis, sets, {text: about[text] for text in ids}, noise),
        *_prompts(analysis, noise),
    ]
    if not compared:
        return pd.DataFrame([{"n": 0, "reason": NO_PROBES}])
    frames = [_effects(analysis, compared, margin)]
    if SWAPPED in sets and plain.tie >= 0:
        frames.append(_letters(analysis, *aligned(sets[NO_PROBE], sets[SWAPPED])))
    frames.append(_ranks(analysis, [each for each in compared if each.names["part"].iloc[0] == "probe"]))
    return pd.concat([frame for frame in frames if len(frame)], ignore_index=True)


def _compared(
    cells: pd.DataFrame, effects: Effects, part: str, expected: str | None = None, **names: Any
) -> Iterator[_Compared]:
    """Yield a comparison in the cells that were asked; none where no cell was."""
    asked: BoolArray = np.asarray(effects.presented.any(axis=0))
    if asked.any():
        rows = cells.loc[asked, ["judge", "dimension"]].reset_index(drop=True)
        yield _Compared(
            rows.assign(part=part, expected=expected, **names), Effects._make(each[:, asked] for each in effects)
        )


def _probed(
    analysis: Analysis, sets: Mapping[str, Verdicts], about: Mapping[str, Known], noise: float | None
) -> Iterator[_Compared]:
    """Yield every probe against the plain verdicts."""
    plain = sets[NO_PROBE]
    is_a = np.array([target(str(name)) == "A" for name in drawn_by(analysis.cases)], dtype=bool)
    for text, each in about.items():
        side = is_a if each.has_target and plain.tie >= 0 else None
        found = compare(plain, sets[text], analysis.labels, analysis.policy, is_a=side, noise=noise)
        names = {name: getattr(each, name) for name in ("severity", "group", "expected", "reason")}
        yield from _compared(plain.cells, found, part="probe", probe=each.name, **names)


def _gaps(
    analysis: Analysis, sets: Mapping[str, Verdicts], about: Mapping[str, Known], noise: float | None
) -> Iterator[_Compared]:
    """Yield every two groups of one probe; a probe of one group against the cases as they are."""
    groups: dict[str, list[tuple[str, str]]] = {}
    for text, each in about.items():
        if each.group is not None and each.name.startswith("question/"):
            groups.setdefault(each.name, []).append((each.group, text))
    for probe, own in groups.items():
        several = own if len(own) > 1 else [(AS_IT_IS, NO_PROBE), *own]
        for (group_1, first), (group_2, second) in combinations(several, 2):
            one, other = sets[first], sets[second]
            found = compare(one, other, analysis.labels, analysis.policy, noise=noise, noise_of_both=True)
            names = {"group_1": group_1, "group_2": group_2, "expected": "same"}
            yield from _compared(one.cells, found, part="gap", probe=probe, **names)


def _prompts(analysis: Analysis, noise: float | None) -> Iterator[_Compared]:
    """Yield every two runs of one judge by different prompts, each scored on all its own verdicts."""
    plain, scores = analysis.verdicts, analysis.scores.score
    names = plain.cells["judge"]
    for pair in prompt_pairs(list(dict.fromkeys(names)), analysis.prompts):
        sides = [(names == run).to_numpy() for run in (pair.first, pair.second)]
        one, other = (_as_judge(plain.of_cells(side), pair.judge) for side in sides)
        found = compare(one, other, analysis.labels, analysis.policy, noise=noise, noise_of_both=True, of_prompts=True)
        worth = np.full((2, *found.changed.shape), np.nan)
        for side, own in zip(sides, worth, strict=True):
            own[:, plain.dimension[side]] = scores[:, side]
        worth[:, np.isnan(worth).any(axis=0)] = np.nan
        found = found._replace(plain=worth[0], probed=worth[1])
        about: dict[str, Any] = {"judge_1": pair.first, "judge_2": pair.second, "reason": pair.reason}
        about |= {"prompt_1": pair.prompts[0], "prompt_2": pair.prompts[1]}
        yield from _compared(one.cells, found, part="template", **about)


def _as_judge(verdicts: Verdicts, judge: str) -> Verdicts:
    """Return the verdicts of a run under the name of its judge."""
    return on_cells(replace(verdicts, cells=verdicts.cells.assign(judge=judge)), [judge])


def _effects(analysis: Analysis, compared: list[_Compared], margin: float) -> pd.DataFrame:
    """Estimate and test the effects of all comparisons, corrected together."""
    names = pd.concat([each.names for each in compared], ignore_index=True)
    place = names.assign(part=names["part"].map(["probe", "gap", "template"].index))
    place["dimension"] = place["dimension"].map(analysis.names.index)
    order = place.sort_values(["part", "judge", "dimension"], kind="stable").index.to_numpy()
    e = Effects(*(np.hstack(arrays)[:, order] for arrays in zip(*(each.effects for each in compared), strict=True)))
    shifts = dict(zip(_SHIFTS, (e.probed - e.plain, e.target, e.beyond, e.shared), strict=True))
    measures = {
        "changed": Measure(mean(e.changed), intervals.proportion),
        **{name: Measure(mean(values), _INTERVALS[name]) for name, values in shifts.items()},
        "probability_shift": Measure(mean(e.probability), intervals.t),
        "noise": Measure(mean(np.where(np.isfinite(e.changed), e.noise, np.nan))),
        "coverage": Measure(mean(e.answered)),
        "accuracy": Measure(mean(e.plain)),
        "accuracy_probed": Measure(mean(e.probed)),
        "order_flips": Measure(mean(e.orders)),
    }
    rows, made = grid(analysis, names.loc[order], measures)
    rows["n_scored"] = np.concatenate([each.n for each in made["accuracy_change"]])
    unpaired = e.presented & np.isnan(e.changed)
    rows["n_excluded"] = np.concatenate([unpaired[part.cases].sum(axis=0) for part in analysis.parts])
    for name, p in _SHIFTS.items():
        tests = [
            paired_tests(shifts[name][part.cases], each) for part, each in zip(analysis.parts, made[name], strict=True)
        ]
        rows[p] = np.concatenate([test["p_value"] for test in tests])
        for what in ("error", "df", "clusters"):
            rows[f"{name}_{what}"] = np.concatenate([getattr(each, what) for each in made[name]])
    return _corrected(analysis, rows, margin)


def _corrected(analysis: Analysis, rows: pd.DataFrame, margin: float) -> pd.DataFrame:
    """Return the rows with adjusted p values, and whether each judge keeps what is expected."""

    def loss_p(name: str, sign: float = 1.0) -> FloatArray:
        """The p of losing the margin or more."""
        value, error, df = (rows[f"{name}{end}"].to_numpy(np.float64) for end in ("", "_error", "_df"))
        return stdtr(df, -divide(sign * value + margin, np.where(error > 1e-9, error, np.nan)))

    flips = rows["expected"].eq("flips").to_numpy()
    lost = {
        n: np.where(flips, rows[f"target_shift{n}"], rows[f"accuracy_change{n}"]) for n in ("", "_error", "_clusters")
    }
    unmoved = np.where(flips, loss_p("target_shift"), loss_p("accuracy_change"))
    # Of so many clusters that lose nothing, this is the probability if one in 1 / margin were to lose all.
    none_differs = (lost[""] == 0) & ~(lost["_error"] > 1e-9) & (lost["_clusters"] >= 2)
    unmoved = np.where(none_differs, (1 - margin) ** lost["_clusters"], unmoved)
    rows["unmoved_p"] = np.where(rows["expected"].isin(["flips", "worse"]), unmoved, np.nan)
    rows["equivalence_p"] = np.maximum(loss_p("accuracy_change"), loss_p("accuracy_change", -1.0))
    numbers = np.asarray(rows.groupby(["by", "subfield", "dimension"], dropna=False).ngroup(), dtype=np.int64)
    family = numbers if analysis.family == "dimension" else np.zeros_like(numbers)
    correction = analysis.correction or "holm"
    p = rows[list(_ALL_TESTS)].to_numpy(np.float64)
    adjusted, size = adjust_families(p.ravel(), np.repeat(family, len(_ALL_TESTS)), correction)
    for i, name in enumerate(_ALL_TESTS):
        rows[f"{name.removesuffix('_value')}_adjusted"] = adjusted.reshape(p.shape)[:, i]
    rows["equivalence_p_adjusted"], _ = adjust_families(rows["equivalence_p"].to_numpy(), family, correction)
    tested = rows["equivalence_p_adjusted"].notna()
    rows["equivalent"] = rows["equivalence_p_adjusted"].le(ALPHA).astype("boolean").where(tested)
    rows["kept_expectation"] = _kept(rows, margin)
    return rows.assign(family=size.reshape(p.shape)[:, 0], margin=margin, reason=_reasons(rows))


def _kept(rows: pd.DataFrame, margin: float) -> pd.Series:
    """Tell whether each row does what is expected; null where neither is significant, or nothing is expected."""
    significant = {
        name: rows[f"{name}_adjusted"].le(ALPHA) for name in ("p", "target_shift_p", "changed_p", "unmoved_p")
    }
    varies = {name: rows[f"{name}_error"].gt(1e-9) for name in _SHIFTS}

    def is_within(name: str) -> pd.Series:
        inside = varies[name] & rows[f"{name}_low"].ge(-margin) & rows[f"{name}_high"].le(margin)
        return rows[name].isna() | inside | (rows[name].eq(0) & ~varies[name])

    more = significant["changed_p"] & rows["changed_beyond_noise"].gt(0)
    # Whatever else it is, a shift is no larger than the share of verdicts that changed.
    small = rows["changed_high"].le(margin) | (
        rows["changed_beyond_noise_high"].le(margin) & varies["changed_beyond_noise"] & is_within("target_shift")
    )
    loses = rows["accuracy_change"].lt(0) & significant["p"]
    flips = rows["target_shift"].lt(0) & significant["target_shift_p"]
    same = rows["expected"].eq("same")
    broken = same & (significant["p"] | significant["target_shift_p"] | more) | ~same & significant["unmoved_p"]
    keeps = same & small & is_within("accuracy_change")
    keeps |= rows["expected"].eq("worse") & loses | rows["expected"].eq("flips") & flips
    return keeps.astype("boolean").mask(broken, False).where(rows["expected"].notna() & (broken | keeps))


def _reasons(rows: pd.DataFrame) -> pd.Series:
    """Say why values are null, and what to mind."""
    has, no_orders = rows["n"] > 0, rows["part"].eq("template") & rows["shared_flips"].isna()
    texts = {
        NOT_PAIRED: ~has,
        NO_NOISE: has & rows["noise"].isna(),
        NOT_SCORED: has & rows["n_scored"].eq(0),
        NO_ORDERS: has & no_orders,
        UNDECIDED: has & rows["expected"].notna() & rows["kept_expectation"].isna(),
    }
    said = rows["reason"].fillna("") if "reason" in rows else pd.Series("", rows.index)
    for text, why in texts.items():
        said = said.where(~why, said + "; " + text)
    return said.str.removeprefix("; ")


def _letters(analysis: Analysis, usual: Verdicts, swapped: Verdicts) -> pd.DataFrame:
    """Tell a preference for a place from one for a letter: each is a mean over both ways in which the other cancels."""
    sign = np.array([1.0, -1.0])[usual.order]
    chosen = [
        np.select([v.choice == 0, v.choice == 1, v.choice >= 0], [sign, -sign, 0.0], np.nan) for v in (usual, swapped)
    ]
    likely = [sign * (2 * v.p_a - 1) for v in (usual, swapped)]
    asked: BoolArray = np.asarray(usual.total().any(axis=0))
    measures = {
        f"{of}_{what}": Measure(
            mean(means_by_order(usual, (one + turn * other) / 2).mean(axis=0)[:, asked]), intervals.lean
        )
        for what, (one, other) in (("bias", chosen), ("probability", likely))
        for of, turn in (("position", 1.0), ("label", -1.0))
    }
    cells = usual.cells.loc[asked, ["judge", "dimension"]].assign(part="labels", probe=SWAPPED.partition(":")[0])
    rows, _ = grid(analysis, cells, measures)
    return rows.assign(
        reason=np.where(
            rows["n"] > 0, "", "no case is answered in both orders under both ways of calling the responses"
        )
    )


def _ranks(analysis: Analysis, compared: list[_Compared]) -> pd.DataFrame:
    """Compare the order of judges with and without each probe; not where choices should flip, since labels then do."""
    frames, p = [], []
    for each in compared:
        for members in each.names.groupby("dimension", sort=False).indices.values():
            if len(members) > 1 and each.names["expected"].iloc[0] != "flips":
                scores = (each.effects.plain[:, members], each.effects.probed[:, members])
                columns, of_pairs = reversals(*scores, analysis.sampling)
                frames.append(each.names.iloc[members].drop(columns="group").assign(part="rank", **columns))
                p.append(of_pairs)
    if not frames:
        return pd.DataFrame()
    upper = [np.triu_indices(len(each), k=1) for each in p]
    sizes = [len(pairs[0]) for pairs in upper]
    numbers = [analysis.names.index(names["dimension"].iloc[0]) for names in frames]
    family = np.repeat(numbers if analysis.family == "dimension" else np.zeros_like(numbers), sizes)
    together = np.concatenate([each[pairs] for each, pairs in zip(p, upper, strict=True)])
    adjusted, tests = (
        np.split(each, np.cumsum(sizes)[:-1])
        for each in adjust_families(together, family, analysis.correction or "holm")
    )
    for i, (pairs, own) in enumerate(zip(upper, adjusted, strict=True)):
        both = np.full(p[i].shape, np.nan)
        both[pairs] = both.T[pairs] = own
        shown = np.nansum(both <= ALPHA, axis=1) if np.isfinite(own).all() else np.nan
        least = np.nanmin(np.append(both, np.ones((len(both), 1)), axis=1), axis=1)
        frames[i] = frames[i].assign(n_reversed_shown=shown, reversal_p_adjusted=least, family=tests[i][0])
    return pd.concat(frames, ignore_index=True)
