"""The judges in order of accuracy, with letters for those that are not shown to differ."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from string import ascii_lowercase, ascii_uppercase

import numpy as np
import pandas as pd

from mrb_lib.stats.accuracy.decisive import above_constant
from mrb_lib.stats.accuracy.mean_scores import Means, means
from mrb_lib.stats.accuracy.references import with_references
from mrb_lib.stats.core.panel import Panel, as_panel
from mrb_lib.stats.core.scoring import Scores, encode_gold, score
from mrb_lib.stats.options import BoolArray, FloatArray, join_reasons, typed, with_ends
from mrb_lib.stats.resampling.resample import cluster_codes, n_clusters
from mrb_lib.stats.significance.paired import ALPHA, PAIR, significance
from mrb_lib.stats.subfields import groups

_ALPHABET = ascii_lowercase + ascii_uppercase + "".join(chr(code) for code in range(0x3B1, 0x3CA) if code != 0x3C2)


def letter_display(differ: BoolArray) -> list[str]:
    """The letters of each of k judges, in the order given, best first.

    Parameters
    ----------
    differ : shape (k, k), symmetric: whether two judges were shown to differ

    Returns
    -------
    One text a judge. Two judges share a letter exactly where they were not shown to differ; the letters run from
    the first judge on: a, b, ..., z, A, B, ..., Z, and then in Greek

    Notes
    -----
    Insert and absorb: Piepho (2004), doi:10.1198/1061860043515. Begin with one letter for all. For every two that
    differ, split each letter that both have in two, one without the first and one without the second; drop
    every letter whose judges another letter has, too. Validated in `tests/stats/tables/test_significance.py`.
    """
    count = len(differ)
    letters = [(1 << count) - 1]
    for first, second in np.argwhere(np.triu(differ, k=1)).tolist():
        pair = 1 << first | 1 << second
        split = [letter for letter in letters if letter & pair == pair]
        if split:
            halves = [letter & ~(1 << one) for letter in split for one in (first, second)]
            letters = _absorb([*(letter for letter in letters if letter & pair != pair), *halves])
    members = sorted([i for i in range(count) if letter >> i & 1] for letter in letters)
    names = [_name(number) for number in range(len(members))]
    return ["".join(name for name, group in zip(names, members, strict=True) if i in group) for i in range(count)]


def _absorb(letters: list[int]) -> list[int]:
    """The letters whose judges no other letter holds, each once."""
    unique = list(dict.fromkeys(letters))
    return [one for one in unique if not any(one != other and one & other == one for other in unique)]


def _name(number: int) -> str:
    """One sign a letter, so that a text of letters can be read sign by sign; after all alphabets, (77) and so on."""
    return _ALPHABET[number] if number < len(_ALPHABET) else f"({number + 1})"


ONE_JUDGE = "there is one judge only"
NO_CASES = "no case can be scored"
NO_COMMON = "no mean_rank: no case is scored for every judge"
NO_BETTER = "not shown to be more accurate than saying {} always"
UNTESTED = "could not be tested against all judges: letters shared for want of a test show nothing"
CLUSTERED = "no critical_difference: it takes cases as independent, and they come in clusters"
COLUMNS = [
    "judge", "dimension", "policy", "n", "n_excluded", "quantity", "accuracy", "low", "high", "interval", "letters",
    "with_best", *with_ends("above_constant"), "test", "correction", "family", "family_scope", "n_common", "mean_rank",
    "critical_difference", "reason",
]  # fmt: skip
MORE = ("n_common", "mean_rank", "critical_difference")


def letters(
    verdicts: pd.DataFrame | Panel,
    gold: pd.DataFrame,
    cases: pd.DataFrame,
    *,
    offered: Sequence[str] = (),
    policy: str = "balanced",
    correction: str = "holm",
    family: str = "dimension",
    dimensions: Sequence[str] | None = None,
    cluster: str | None = None,
    resamples: int = 2000,
    seed: int = 0,
) -> pd.DataFrame:
    """Order the judges of each dimension and mark those that are not shown to differ.

    Parameters
    ----------
    verdicts, gold, cases, policy, correction, family, dimensions, cluster, resamples, seed : as in
        `mrb_lib.stats.significance.paired.significance`
    offered : the labels that a judge may give, of which the constants are made; without any, `above_constant` is null

    Returns
    -------
    DataFrame
        One row a judge and dimension it has a verdict on, the most accurate first:
        `n` cases scored, `n_excluded` the others; `quantity` "accuracy", which the order, the interval and the letters
        are about: `accuracy`, the mean score, with the 95% interval `low`, `high` that the table `accuracy` recommends
        and calls `interval`; `letters`: two judges that share one are not shown to differ in accuracy at level
        0.05 by `test`, adjusted by `correction` for the `family` tests in `family_scope`; `with_best`: the judge is not
        shown to differ from the most accurate one by these tests, which is no proof that it is as good; null where the
        two could not be tested. `above_constant`, as in
        `mrb_lib.stats.accuracy.accuracy`: a policy that credits ties may set a judge first that always gives one
        label, and `reason` names the judges not shown to be above the best constant. Of another quantity, ranks:
        `mean_rank` (1 the best, ties sharing their mean rank) over the `n_common` cases scored for every judge, and
        `critical_difference` of mean ranks (Nemenyi), the same in all rows of a dimension.
        `reason` says why something is null.

    Notes
    -----
    Letters come from `p_adjusted` of the table `significance`, of the difference of the two judges on the cases scored
    for both. Two judges that cannot be tested, for want of two common cases in two clusters, are not shown to
    differ, and `reason` says so.
    The critical difference compares how often judges win cases, not by how much, so that it may contradict letters and
    intervals; which other judges take part decides. It is q sqrt(k (k + 1) / (6 N)) with q the studentized
    range's quantile over sqrt(2): Nemenyi (1963); Demsar (2006), Journal of Machine Learning Research 7:1,
    whose table is in `tests/stats/tables/test_significance.py`. Many tied ranks, as two-valued scores give, make it
    too wide, never too narrow.
    """
    panel = as_panel(verdicts, cases["case_id"], dimensions)
    labels = encode_gold(gold, cases["case_id"], panel.dimensions, panel.categories)
    scores = score(panel, labels, policy)
    codes = cluster_codes(cases, cluster)
    pairs = significance(
        panel, gold, cases, policy=policy, correction=correction, family=family, cluster=cluster, resamples=0
    )
    pairs = pairs.loc[pairs["part"] == PAIR, ["judge_1", "judge_2", "dimension", "test", "p_adjusted", "family"]]
    independent = n_clusters(codes) == len(cases)
    value = scores.score.reshape(-1, len(cases)).T
    (accuracies,), _ = means(value, groups(cases, None), codes, resamples=resamples, seed=seed)
    judged, constants = with_references(panel, labels, cases, offered, policy)
    (above,) = above_constant(judged, score(judged, labels, policy).score, groups(cases, None), codes)
    rows = [
        row
        for dimension in range(len(panel.dimensions))
        for row in _rows(panel, scores, dimension, pairs, accuracies, above, constants[-1, dimension], independent)
    ]
    frame = pd.DataFrame(rows, columns=COLUMNS).assign(
        policy=policy, quantity="accuracy", correction=correction, family_scope=family
    )
    texts = {"letters": "str", "family_scope": "str", "with_best": "boolean"}
    return typed(frame, COLUMNS, **texts)


def _rows(
    panel: Panel,
    scores: Scores,
    dimension: int,
    pairs: pd.DataFrame,
    accuracies: Means,
    above: Sequence[FloatArray],
    best_constant: str | None,
    independent: bool,
) -> list[dict[str, object]]:
    """The rows of one dimension, the most accurate judge first."""
    judges = np.flatnonzero(scores.judged[:, dimension].any(axis=1))
    index = judges * len(panel.dimensions) + dimension
    order = np.lexsort((judges, -np.nan_to_num(accuracies.value[index], nan=-1.0)))
    judges, index = judges[order], index[order]
    names = [panel.judges[position] for position in judges]
    here = pairs[pairs["dimension"] == panel.dimensions[dimension]]
    ranks, common = _ranks(scores.score[judges, dimension])
    critical = critical_difference(len(judges), common) if independent else np.nan
    marks = letter_display(_differ(here, names)) if len(names) > 1 else [None]
    with_best = _with_best(here, names)
    unknown = here[here["p_adjusted"].isna()]
    untested = {*unknown["judge_1"], *unknown["judge_2"]}
    test, family = here[["test", "family"]].iloc[0] if len(here) else (None, 0)
    shared = [
        ONE_JUDGE if len(names) < 2 else "",
        NO_COMMON if len(names) > 1 and not common else "",
        "" if independent else CLUSTERED,
    ]
    return [
        {
            "judge": name,
            "dimension": panel.dimensions[dimension],
            "n": accuracies.n[i],
            "n_excluded": panel.shape[2] - accuracies.n[i],
            "accuracy": accuracies.value[i],
            "low": accuracies.recommended.low[i],
            "high": accuracies.recommended.high[i],
            "interval": accuracies.method[i],
            "letters": marks[position],
            "with_best": with_best[position],
            **{key: each[judge, dimension] for key, each in zip(with_ends("above_constant"), above, strict=True)},
            "test": test,
            "family": family,
            "n_common": common,
            "mean_rank": ranks[position],
            "critical_difference": critical,
            "reason": join_reasons(
                "" if accuracies.n[i] else NO_CASES,
                accuracies.reason[i],
                NO_BETTER.format(best_constant) if above[1][judge, dimension] <= 0 else "",
                UNTESTED if name in untested else "",
                *shared,
            ),
        }
        for position, (name, judge, i) in enumerate(zip(names, judges, index, strict=True))
    ]


def _ranks(value: FloatArray) -> tuple[FloatArray, int]:
    """The mean rank of each judge over the cases scored for all, and their number; `value` is (judges, cases)."""
    common = value[:, np.isfinite(value).all(axis=0)]
    if len(value) < 2 or not common.shape[1]:
        return np.full(len(value), np.nan), common.shape[1]
    return mean_ranks(common.T).mean(axis=0), common.shape[1]


def _differ(pairs: pd.DataFrame, judges: Sequence[str]) -> BoolArray:
    positions = pd.Index(judges)
    first, second = positions.get_indexer(pd.Index(pairs["judge_1"])), positions.get_indexer(pd.Index(pairs["judge_2"]))
    out = np.zeros((len(judges), len(judges)), dtype=bool)
    out[first, second] = out[second, first] = pairs["p_adjusted"].to_numpy(np.float64) <= ALPHA
    return out


def _with_best(pairs: pd.DataFrame, judges: Sequence[str]) -> list[bool | None]:
    """Of each judge, the best first, whether it is not shown to differ from that one; None where not tested."""
    if len(judges) < 2:
        return [None] * len(judges)
    first, second, p = (pairs[name].tolist() for name in ("judge_1", "judge_2", "p_adjusted"))
    against = {(one, other): value for one, other, value in zip(first, second, p, strict=True)}
    best = judges[0]
    found = [against.get((best, name), against.get((name, best), np.nan)) for name in judges[1:]]
    return [True, *(None if np.isnan(value) else bool(value > ALPHA) for value in found)]


def mean_ranks(scores: FloatArray) -> FloatArray:
    """The rank of each judge on each case, 1 the best, ties sharing their mean, for scores of shape (cases, judges)."""
    from scipy.stats import rankdata  # takes a second to import

    return np.asarray(rankdata(-scores, axis=1), dtype=np.float64)


@lru_cache(maxsize=64)
def critical_difference(judges: int, n: int) -> float:
    """Nemenyi's critical difference of mean ranks at level 0.05; NaN for fewer than two judges or no case."""
    if judges < 2 or n < 1:
        return np.nan
    from scipy.stats import studentized_range

    quantile = float(studentized_range.ppf(1 - ALPHA, judges, np.inf)) / np.sqrt(2)
    return float(quantile * np.sqrt(judges * (judges + 1) / (6.0 * n)))
