"""Judges against those whose weights they were trained further from, on cases that neither was trained on."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from mrb_lib.stats.core.options import BoolArray, FloatArray, divide, join_reasons, typed
from mrb_lib.stats.core.panel import Panel, as_panel
from mrb_lib.stats.core.scoring import encode_gold, score
from mrb_lib.stats.core.subfields import By, Group
from mrb_lib.stats.core.subfields import groups as parts_of
from mrb_lib.stats.core.table import Option, register_table
from mrb_lib.stats.gains import reading
from mrb_lib.stats.gains.pairs import check_pairs, known_pairs, seen_cases
from mrb_lib.stats.resampling.resample import cluster_codes
from mrb_lib.stats.significance.paired import PairOptions, pair_rows

NO_RECORD = "n_seen is not known: there is no record of the training"
COLUMNS = [
    "base", "tuned", "group_base", "group_tuned", "dimension", "subfield", "by", "policy", "n", "n_excluded", "n_seen",
    "n_unassigned", "n_clusters", "quantity", "accuracy_base", "accuracy_tuned", "gain", "low", "high",
    "standard_error", "interval", "only_base", "only_tuned", "test", "p_value", "p_adjusted", "correction", "family",
    "family_scope", "margin", "equivalence_p", "equivalence_p_adjusted", "equivalent", "reason",
]  # fmt: skip
_NAMES = {"difference": "gain", "only_1": "only_tuned", "only_2": "only_base"}


@register_table(
    "gains",
    question="is a judge that was trained further more accurate than the one it was trained from",
    columns=COLUMNS,
    options={"margin": Option("gains and losses of accuracy below it count as none", least=0, below=1)},
    meanings=reading.MEANINGS,
    headline=("gain", "low", "high", "p_adjusted", "n", "n_seen", "accuracy_base", "accuracy_tuned"),
    sentence=reading.sentence,
)
def gains(
    verdicts: pd.DataFrame | Panel,
    gold: pd.DataFrame,
    cases: pd.DataFrame,
    judge_groups: pd.DataFrame,
    *,
    training: pd.DataFrame | None = None,
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
    pairs : (base, tuned) judges; None takes those that `judge_groups` knows
    correction, family, margin : as in `mrb_lib.stats.significance.significance`; a family is of these pairs

    Returns
    -------
    DataFrame
        One row a pair, dimension and subfield (null: overall). Cases that either judge was trained on are left out and
        counted in `n_seen`, which is null where there is no record of the tuned judge's training. Over the `n` others
        that are scored for both: `accuracy_base`, `accuracy_tuned`, and `gain`, the latter less the former, with
        interval, tests and the verdict against the margin exactly as the table `significance` has them for
        (tuned, base). `reason` says why a value is null.

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
    panel = as_panel(verdicts, cases["case_id"], dimensions)
    named = known_pairs(judge_groups, panel.judges) if pairs is None else check_pairs(pairs, panel.judges)
    if not named:
        return _typed(pd.DataFrame(columns=COLUMNS))
    scores = score(panel, encode_gold(gold, cases["case_id"], panel.dimensions), policy)
    order = np.array([panel.judges.index(name) for base, tuned in named for name in (tuned, base)])
    value, names = scores.score[order], [panel.judges[i] for i in order]
    seen, has_record = _seen(training, named, cases["case_id"])
    both = np.isfinite(value[0::2]) & np.isfinite(value[1::2])
    n_seen = both & seen[:, None]
    value = np.where(np.repeat(seen, 2, axis=0)[:, None], np.nan, value)
    parts, codes = parts_of(cases, by), cluster_codes(cases, cluster)
    only = [(2 * i, 2 * i + 1) for i in range(len(named))]
    judged: BoolArray = np.asarray(scores.judged.any(axis=2))[order]
    rows = pair_rows(value, judged, names, panel.dimensions, parts, codes, options, only)
    counts = _counts(value, n_seen, parts, named, panel.dimensions)
    keys = ["judge_1", "judge_2", "dimension", "by", "subfield"]
    out = rows.merge(counts, on=keys, how="left", validate="1:1")
    recorded = dict(zip(named, has_record, strict=True))
    known = np.array([recorded[base, tuned] for tuned, base in zip(out["judge_1"], out["judge_2"], strict=True)], bool)
    out["n_seen"] = out["n_seen"].astype("Int64").mask(~known)
    out["reason"] = [
        join_reasons(text or "", "" if has else NO_RECORD) for text, has in zip(out["reason"], known, strict=True)
    ]
    group = judge_groups.drop_duplicates("judge").set_index("judge")["group"]
    out = out.rename(columns=_NAMES).assign(
        base=out["judge_2"], tuned=out["judge_1"], group_base=out["judge_2"].map(group),
        group_tuned=out["judge_1"].map(group), quantity="gain",
    )  # fmt: skip
    return _typed(out)


def _seen(
    training: pd.DataFrame | None, pairs: Sequence[tuple[str, str]], case_ids: pd.Series
) -> tuple[BoolArray, list[bool]]:
    """The cases that either judge of each pair was trained on, and whether the tuned one's training is recorded."""
    records = {name: seen_cases(training, name, case_ids) for pair in pairs for name in pair}
    seen = np.zeros((len(pairs), len(case_ids)), dtype=bool)
    for i, pair in enumerate(pairs):
        for name in pair:
            record = records[name]
            if record is not None:
                seen[i] |= record
    return seen, [records[tuned] is not None for _, tuned in pairs]


def _counts(
    value: FloatArray, seen: BoolArray, parts: Sequence[Group], pairs: Sequence[tuple[str, str]], dimensions: list[str]
) -> pd.DataFrame:
    """Of each pair, dimension and group of cases: the accuracies on the cases scored for both, and `n_seen`."""
    tuned, base = value[0::2], value[1::2]
    both = np.isfinite(tuned) & np.isfinite(base)
    frames = []
    for part in parts:
        n = both[:, :, part.cases].sum(axis=2)
        sums = (np.where(both, side, 0.0)[:, :, part.cases].sum(axis=2) for side in (tuned, base))
        of_tuned, of_base = (divide(total, n) for total in sums)
        frames.append(
            pd.DataFrame(
                {
                    "judge_1": np.repeat([pair[1] for pair in pairs], len(dimensions)),
                    "judge_2": np.repeat([pair[0] for pair in pairs], len(dimensions)),
                    "dimension": np.tile(dimensions, len(pairs)),
                    "by": part.by,
                    "subfield": part.subfield,
                    "accuracy_tuned": of_tuned.ravel(),
                    "accuracy_base": of_base.ravel(),
                    "n_seen": seen[:, :, part.cases].sum(axis=2).ravel(),
                }
            )
        )
    return pd.concat(frames, ignore_index=True)


def _typed(frame: pd.DataFrame) -> pd.DataFrame:
    counts = dict.fromkeys(("n_seen", "n_clusters", "only_base", "only_tuned", "family"), "Int64")
    texts = dict.fromkeys(("base", "tuned", "group_base", "group_tuned", "family_scope"), "str")
    return typed(frame.reindex(columns=COLUMNS), COLUMNS, **counts, **texts, equivalent="boolean")
