"""Judges against those whose weights they were trained further from, on cases that neither was trained on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd

from mrb_lib.stats.core.panel import Panel, as_panel
from mrb_lib.stats.core.scoring import encode_gold, score
from mrb_lib.stats.core.table import Option, register_table
from mrb_lib.stats.gains import reading
from mrb_lib.stats.gains.pairs import check_pairs, known_pairs, recorded_pairs
from mrb_lib.stats.gains.quantities import ACCURACY, case_quantities, why_none
from mrb_lib.stats.options import BoolArray, FloatArray, IntArray, join_reasons, typed, with_ends
from mrb_lib.stats.resampling.resample import cluster_codes, indicator
from mrb_lib.stats.resampling.robust import Layout, layout, ratio_of_sums, share_interval
from mrb_lib.stats.significance.paired import NO_CASES, PairOptions, pair_rows
from mrb_lib.stats.subfields import By, Group
from mrb_lib.stats.subfields import groups as groups_of

NO_RECORD = "n_seen is not known: there is no record of the training"
COLUMNS = [
    "base", "tuned", "group_base", "group_tuned", "part", "dimension", "subfield", "by", "policy", "n", "n_excluded",
    "n_seen", "n_unassigned", "n_clusters", "quantity", "accuracy_base", "accuracy_tuned", "value_base",
    "value_base_low", "value_base_high", "value_tuned", "value_tuned_low", "value_tuned_high", "gain", "low", "high",
    "standard_error", "interval", "only_base", "only_tuned", "test", "p_value", "p_adjusted", "correction", "family",
    "family_scope", "margin", "equivalence_p", "equivalence_p_adjusted", "equivalent", "reason",
]  # fmt: skip
_NAMES = {"difference": "gain", "only_1": "only_tuned", "only_2": "only_base"}


@register_table(
    "gains",
    question="is a judge that was trained further more accurate than the one it was trained from, and at what price",
    columns=COLUMNS,
    reads=("p_a",),
    options={"margin": Option("gains and losses of accuracy below it count as none", least=0, below=1)},
    meanings=reading.MEANINGS,
    headline=("gain", "low", "high", "p_adjusted", "n", "n_seen", "value_base", "value_tuned"),
    sentence=reading.sentence,
    why_no_ratings="",
)
def gains(
    verdicts: pd.DataFrame | Panel,
    gold: pd.DataFrame,
    cases: pd.DataFrame,
    judge_groups: pd.DataFrame,
    *,
    training: pd.DataFrame | None = None,
    records: pd.DataFrame | None = None,
    pairs: Sequence[tuple[str, str]] | None = None,
    policy: str = "balanced",
    correction: str = "holm",
    family: str = "dimension",
    margin: float | None = None,
    by: By = None,
    dimensions: Sequence[str] | None = None,
    cluster: str | None = None,
    resamples: int = 2000,
    seed: int = 0,
) -> pd.DataFrame:
    """Compare judges with those they were trained further from, on the cases that are scored for both.

    Parameters
    ----------
    verdicts, gold, cases, policy, by, dimensions, cluster, resamples, seed : as in
        `mrb_lib.stats.accuracy.accuracy`
    judge_groups : `judge`, `group`, `entry`, `base`: who descends from whom, see
        `mrb_lib.judges.roster.groups.judge_groups`
    training : `judge`, `case_id`: the cases that judges were trained on; a row without a case says that there is a
        record, which names none of these cases. None is that nobody knows
    records : `judge`, `bases`, see `mrb_lib.verdicts.training.training_records`; None where there are none
    pairs : (base, tuned) judges; None takes those that `records` knows by the digests of weights, and for judges that
        it does not know those of `judge_groups`
    correction, family, margin : as in `mrb_lib.stats.significance.significance`; a family is of these pairs

    Returns
    -------
    DataFrame
        One row a pair, dimension and subfield (null: overall). Cases that either judge was trained on are left out and
        counted in `n_seen`, which is null where there is no record of the tuned judge's training. Over the `n` others
        that are scored for both: `accuracy_base`, `accuracy_tuned`, and `gain`, the latter less the former, with
        interval, tests and the verdict against the margin exactly as the table `significance` has them for
        (tuned, base). These rows are the `part` "accuracy".

        Of pairs that `records` knows, what else the training changed, on the same cases and in the same columns,
        `value_base` and `value_tuned` (with intervals over clusters of their own) and `gain`, whose tests are corrected
        among themselves; see `mrb_lib.stats.gains.quantities.case_quantities`: parts "consistency" (higher is better),
        "first_rate" (1/2 without position bias), "brier" (lower is better) and "longer_rate" (the share of longer
        responses chosen; what gold says of length is in the table `bias`). `reason` says why a value is null.

    Raises
    ------
    InputError
        An option is unknown, a pair names a judge without verdicts, or as in `significance`.

    Notes
    -----
    Judges are those at hand here, and only cases are draws: the gain is of these two judges. What medical training does
    for models in general is the part "descendants" of the table `groups`.
    Validated in `tests/stats/gains/`: equal to the table `significance` on the same cases.
    """
    options = PairOptions(policy, correction, family, margin, resamples, seed)
    options.check()
    case_ids = cases["case_id"]
    panel = as_panel(verdicts, case_ids, dimensions).without_seen(training, case_ids)
    named = known_pairs(judge_groups, panel.judges, records) if pairs is None else check_pairs(pairs, panel.judges)
    if not named:
        return _typed(pd.DataFrame(columns=COLUMNS))
    labels, codes = encode_gold(gold, case_ids, panel.dimensions, panel.categories), cluster_codes(cases, cluster)
    compared = _Compared(panel, named, groups_of(cases, by), codes, _seen(panel, named, labels, policy))
    value = score(panel, labels, policy).score
    out = _part_rows(ACCURACY, value, compared, options)
    by_digest = recorded_pairs(records)
    recorded = [pair for pair in named if pair in by_digest]
    if recorded:
        others = compared._replace(pairs=recorded, seen=compared.seen[[named.index(pair) for pair in recorded]])
        plain = options._replace(policy="balanced", margin=None)
        for part, value in case_quantities(panel, labels, cases, policy).items():
            rows = _part_rows(part, value, others, plain)
            none = rows["n"] == 0
            rows["reason"] = rows["reason"].mask(none, rows["reason"].str.replace(NO_CASES, why_none(panel, part)))
            rows["policy"] = policy if part == "longer_rate" else None
            out = pd.concat([out, rows], ignore_index=True)
    has_record = set() if training is None else set(training["judge"])
    is_known = out["tuned"].isin(has_record)
    out["n_seen"] = out["n_seen"].astype("Int64").mask(~is_known)
    out["reason"] = [
        join_reasons(text if isinstance(text, str) else "", "" if has else NO_RECORD)
        for text, has in zip(out["reason"], is_known, strict=True)
    ]
    group = judge_groups.drop_duplicates("judge").set_index("judge")["group"]
    return _typed(out.assign(group_base=out["base"].map(group), group_tuned=out["tuned"].map(group), quantity="gain"))


class _Compared(NamedTuple):
    """Whom to compare where.

    Attributes
    ----------
    pairs : (base, tuned) judges
    parts : groups of cases
    codes : the cluster of each case
    seen : shape (pairs, dimensions, cases), cases that would be scored for both if neither had seen them
    """

    panel: Panel
    pairs: list[tuple[str, str]]
    parts: Sequence[Group]
    codes: IntArray
    seen: BoolArray


def _seen(panel: Panel, pairs: Sequence[tuple[str, str]], labels: IntArray, policy: str) -> BoolArray:
    scored, saw = np.isfinite(score(panel.with_seen(), labels, policy).score), panel.saw()
    base, tuned = (np.array([panel.judges.index(pair[side]) for pair in pairs]) for side in (0, 1))
    return np.asarray((saw[base] | saw[tuned]) & scored[base] & scored[tuned], dtype=bool)


def _part_rows(part: str, value: FloatArray, compared: _Compared, options: PairOptions) -> pd.DataFrame:
    """The rows of one quantity, of shape (judges, dimensions, cases)."""
    judges, dimensions = compared.panel.judges, compared.panel.dimensions
    order = np.array([judges.index(name) for base, tuned in compared.pairs for name in (tuned, base)])
    value, judged, names = value[order], compared.panel.takes_part()[order], [judges[i] for i in order]
    only = [(2 * i, 2 * i + 1) for i in range(len(compared.pairs))]
    rows = pair_rows(value, judged, names, dimensions, compared.parts, compared.codes, options, only)
    keys = ["judge_1", "judge_2", "dimension", "by", "subfield"]
    out = rows.merge(_values(value, compared), on=keys, how="left", validate="1:1")
    out = out.drop(columns="part").rename(columns=_NAMES).assign(part=part, base=out["judge_2"], tuned=out["judge_1"])
    if part == ACCURACY:
        out = out.assign(accuracy_base=out["value_base"], accuracy_tuned=out["value_tuned"])
    return out


def _values(value: FloatArray, compared: _Compared) -> pd.DataFrame:
    """Of each pair, dimension and group of cases: the means on the cases defined for both, and `n_seen`."""
    tuned, base = value[0::2], value[1::2]
    both = np.isfinite(tuned) & np.isfinite(base)
    dimensions, pairs = compared.panel.dimensions, compared.pairs
    frames = []
    for part in compared.parts:
        grouping = layout([part], compared.codes)
        columns: dict[str, object] = {
            "judge_1": np.repeat([pair[1] for pair in pairs], len(dimensions)),
            "judge_2": np.repeat([pair[0] for pair in pairs], len(dimensions)),
            "dimension": np.tile(dimensions, len(pairs)),
            "by": part.by,
            "subfield": part.subfield,
            "n_seen": compared.seen[:, :, part.cases].sum(axis=2).ravel(),
        }
        counts = _by_unit(both, part, grouping)
        for name, side in (("value_tuned", tuned), ("value_base", base)):
            mean = ratio_of_sums(_by_unit(np.where(both, side, 0.0), part, grouping), counts, grouping)
            ends = share_interval(mean)
            columns |= {
                column: values.ravel() for column, values in zip(with_ends(name), (mean.value, *ends), strict=True)
            }
        frames.append(pd.DataFrame(columns))
    return pd.concat(frames, ignore_index=True)


def _by_unit(values: FloatArray | BoolArray, part: Group, grouping: Layout) -> FloatArray:
    """The sums over the clusters of a group, shape (pairs, dimensions, cases) to (pairs, dimensions, clusters)."""
    kept = values[:, :, part.cases].astype(np.float64)
    member = indicator(grouping.unit[part.cases], grouping.shape[1])
    return np.asarray(kept.reshape(-1, kept.shape[2]) @ member).reshape(*kept.shape[:2], -1)


def _typed(frame: pd.DataFrame) -> pd.DataFrame:
    counts = dict.fromkeys(("n_seen", "n_clusters", "only_base", "only_tuned", "family"), "Int64")
    texts = dict.fromkeys(("part", "base", "tuned", "group_base", "group_tuned", "family_scope"), "str")
    return typed(frame.reindex(columns=COLUMNS), COLUMNS, **counts, **texts, equivalent="boolean")
