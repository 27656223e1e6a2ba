"""Could a difference between judges be chance? Every two of them, all at once, and letters for those alike."""

from __future__ import annotations

from itertools import combinations
from string import ascii_letters

import numpy as np
import pandas as pd

from mrb_lib.stats.analysis import Analysis
from mrb_lib.stats.columns import TESTED, Column, Option, shared, table
from mrb_lib.stats.contrasts import ALPHA, average_contrasts, contrasts, pairs_of_cells
from mrb_lib.stats.estimation import divide
from mrb_lib.stats.flips import flip_f
from mrb_lib.stats.options import check_choice
from mrb_lib.stats.phrases import main_dimension, main_rows, opening, points
from mrb_lib.stats.scoring import BINARY, ranking
from mrb_lib.stats.tables.accuracy import AVERAGE

PAIR, OMNIBUS, LETTERS = "pair", "omnibus", "letters"
Q_REJECTS = "rejects too often where judges are not equally alike: read permutation_f"
ONE_JUDGE = "there is one judge only"
UNTESTED = "could not be tested against every judge: a shared letter then shows nothing"


def differ(rows: pd.DataFrame) -> str:
    """Say how many pairs of judges differ, and which is the smallest significant difference."""
    pairs, where = main_rows(rows, part=PAIR).dropna(subset="p_adjusted"), opening(main_dimension(rows))
    significant = pairs[pairs["p_adjusted"] <= ALPHA]
    if pairs.empty:
        return f"{where}, no two judges can be compared: two are needed, with verdicts on the same cases."
    if significant.empty:
        return f"{where}, no pair of judges differs significantly in accuracy ({len(pairs):,} compared); cannot tell."
    near = significant.iloc[int(significant["difference"].abs().to_numpy().argmin())]
    return (
        f"{where}, {len(significant):,} of {len(pairs):,} pairs of judges differ significantly in accuracy. "
        f"The smallest significant difference is {points(near, 'difference')} "
        f"({near['judge_1']} better than {near['judge_2']})."
    )


@table(
    "significance",
    question="could the difference between two judges be chance, are they equivalent, and do all judges differ at all",
    columns=[
        Column("part", "pair (of judges), omnibus (all at once), or letters (judges in order)", "text"),
        shared("judge_1", "judge_2", "dimension", "subfields", "policy", "n", "n_excluded", "n_seen", "clusters"),
        Column("difference", "accuracy of judge_1 minus judge_2 on the same cases", "difference", ends=("low", "high")),
        shared("errors"),
        Column("value_1", "accuracy of judge_1 on those cases", "share 0-1"),
        Column("value_2", "accuracy of judge_2 on those cases", "share 0-1"),
        Column("only_1", "cases on which judge_1 has the higher score", "cases"),
        Column("only_2", "cases on which judge_2 has the higher score", "cases"),
        Column("test", "permutation (sign flips), mcnemar_exact, t, permutation_f, or cochran_q", "text"),
        shared("tests"),
        Column("margin", "largest difference that does not matter, stated beforehand"),
        Column("equivalence_p", "p of a difference larger than the margin", "p 0-1", "Schuirmann 1987"),
        Column("equivalence_p_adjusted", "equivalence_p corrected for the number of tests", "p 0-1"),
        Column("equivalent", "whether the two differ by less than the margin (adjusted, at .05)", "yes/no"),
        Column("letters", "judges that share a letter do not differ significantly", "text", "Piepho 2004"),
        Column("with_best", "whether the judge does not differ significantly from the best", "yes/no"),
        Column("rank", "place by decisive accuracy on the cases that all ranked judges share", "rank"),
        Column("statistic", "statistic of the test of all judges at once"),
        Column("df_error", "degrees of freedom of its error"),
        Column("judges", "judges compared at once", "count"),
    ],
    sentence=differ,
    headline=("difference", "p_adjusted"),
    uses=(*TESTED, "versus"),
    why_no_ratings="",
    options={"margin": Option("the largest difference of accuracy that does not matter, as a share", least=0, below=1)},
)
def significance(analysis: Analysis, *, margin: float | None = None) -> pd.DataFrame:
    """Compare every two judges on the cases scored for both, the better first; then all judges on cases scored for all.

    The test flips the signs of the cases' differences (of clusters as one), see `mrb_lib.stats.flips`; where scores are
    0 or 1 and cases independent it is McNemar's exact test. Where clusters cross, or one holds more than a third of the
    cases, it is a t test. The dimension `average` compares means over the dimensions, by t.

    Parameters
    ----------
    margin : adds two one-sided t tests of equivalence; None makes none
    """
    cells = analysis.verdicts.cells
    judges = cells["judge"].unique().tolist()
    if analysis.versus is not None:
        check_choice("versus", analysis.versus, judges)
    scores = analysis.scores.score
    value = np.nan_to_num(divide(np.nansum(scores, axis=0), np.isfinite(scores).sum(axis=0)))
    pairs = []
    for members in cells.groupby("dimension", sort=False).indices.values():
        for one, other in combinations(members, 2):
            if analysis.versus in (None, cells["judge"][one], cells["judge"][other]):
                pairs.append((one, other) if value[one] >= value[other] else (other, one))
    contrast = pairs_of_cells(analysis, analysis.scores.score, pairs)
    rows = _better_first(contrasts(analysis, contrast, margin=margin)).assign(part=PAIR)
    frames = [rows, _omnibus(analysis), _letters(analysis, rows)]
    if len(analysis.names) > 1:
        frames.insert(1, _averages(analysis, margin))
    return pd.concat([frame for frame in frames if len(frame)], ignore_index=True)


def _better_first(rows: pd.DataFrame) -> pd.DataFrame:
    """Rows of pairs in which the first judge is the better one on the cases of the row."""
    turn = (rows["difference"] < 0).to_numpy()
    out = rows.copy()
    for one, other in (("judge_1", "judge_2"), ("value_1", "value_2"), ("only_1", "only_2")):
        if one in rows:
            out[one], out[other] = rows[one].where(~turn, rows[other]), rows[other].where(~turn, rows[one])
    out["difference"] = rows["difference"].where(~turn, -rows["difference"])
    for low, high in (("low", "high"), ("difference_low", "difference_high")):
        if low in rows:
            out[low], out[high] = rows[low].where(~turn, -rows[high]), rows[high].where(~turn, -rows[low])
    return out


def _averages(analysis: Analysis, margin: float | None) -> pd.DataFrame:
    """The differences of the means over dimensions, of judges with verdicts on all of them."""
    cells, d = analysis.verdicts.cells, len(analysis.names)
    of_judge = cells.groupby("judge").indices
    judges = [judge for judge, own in of_judge.items() if len(own) == d]
    two = [pair for pair in combinations(judges, 2) if analysis.versus in (None, *pair)]
    if not two:
        return pd.DataFrame()
    pairs = [pair for one, other in two for pair in zip(of_judge[one], of_judge[other], strict=True)]
    contrast = pairs_of_cells(analysis, analysis.scores.score, pairs)
    names = pd.DataFrame(two, columns=["judge_1", "judge_2"]).assign(dimension=AVERAGE)
    members = np.arange(len(pairs)).reshape(-1, d)
    return _better_first(average_contrasts(analysis, contrast, names, members, margin)).assign(part=PAIR)


def _omnibus(analysis: Analysis) -> pd.DataFrame:
    """Tests of whether all judges are equally accurate: F under sign flips, and Cochran's Q where it holds."""
    rows = []
    for part in analysis.parts:
        for dimension, cells in analysis.verdicts.cells.groupby("dimension", sort=False).indices.items():
            scores = analysis.scores.score[part.cases][:, np.asarray(cells)]
            complete = np.isfinite(scores).all(axis=1)
            sampling = analysis.sampling.take(part.cases[complete])
            shared = {"part": OMNIBUS, "dimension": dimension, **part.label(), "n": complete.sum()}
            shared |= {"judges": len(cells), "n_excluded": (~complete).sum()}
            shared |= {"n_clusters": len(np.unique(sampling.codes))}
            is_binary = analysis.policy in BINARY and analysis.sampling.take(part.cases).is_independent
            tests = flip_f(scores[complete], sampling, is_binary, analysis.resamples, analysis.seed)
            rows += [shared | test for test in tests]
            if len(tests) > 1 and len(cells) > 2:
                rows[-2]["reason"] = Q_REJECTS
    return pd.DataFrame(rows).assign(correction=None, family_scope=None)


def _letters(analysis: Analysis, pairs: pd.DataFrame) -> pd.DataFrame:
    """The judges of each dimension by rank, over all cases, with letters by the tests of pairs."""
    if analysis.versus is not None:
        return pd.DataFrame()
    order = ranking(analysis.verdicts, analysis.labels, analysis.policy)
    score = analysis.scores.score
    n = np.isfinite(score).sum(axis=0)
    accuracy = divide(np.nansum(score, axis=0), n)
    cells = analysis.verdicts.cells[["judge", "dimension"]].assign(rank=order.rank, n=n, last=-accuracy)
    tested = pairs[pairs["subfield"].isna()]
    frames = []
    for dimension, own in cells.groupby("dimension", sort=False):
        own = own.sort_values(["rank", "last", "judge"], kind="stable")
        judges = own["judge"].tolist()
        here = tested[tested["dimension"] == dimension]
        named = zip(here["judge_1"], here["judge_2"], here["p_adjusted"], strict=True)
        p = {frozenset((one, other)): value for one, other, value in named}
        apart = {pair for pair, value in p.items() if value <= ALPHA}
        against_best = pd.Series([p.get(frozenset((judges[0], judge)), 1.0) for judge in judges], index=own.index)
        unknown = [any(np.isnan(value) for pair, value in p.items() if judge in pair) for judge in judges]
        frames.append(
            own.rename(columns={"judge": "judge_1"}).assign(
                part=LETTERS,
                by=None,
                subfield=None,
                n_unassigned=0,
                n_excluded=len(analysis.cases) - own["n"],
                letters=display(judges, apart) if len(judges) > 1 else None,
                with_best=(against_best > ALPHA).astype("boolean").mask(against_best.isna() | (len(judges) < 2)),
                correction=analysis.correction or "holm",
                family=here["family"].max(),
                family_scope=analysis.family,
                reason=np.where(unknown, UNTESTED, "" if len(judges) > 1 else ONE_JUDGE),
            )
        )
    return pd.concat(frames, ignore_index=True) if frames else pd.DataFrame()


def display(names: list[str], apart: set[frozenset[str]]) -> list[str]:
    """Return the letters of each name: two share one exactly where they are not apart.

    Letters are the largest groups of which no two are apart (Piepho 2004): maximal cliques (Bron and Kerbosch 1973).
    """
    near = {one: {other for other in names if other != one and frozenset((one, other)) not in apart} for one in names}
    groups: list[set[str]] = []

    def grow(group: set[str], more: set[str], done: set[str]) -> None:
        if not more | done:
            groups.append(group)
            return
        pivot = max(more | done, key=lambda name: len(near[name] & more))
        for name in sorted(more - near[pivot]):
            grow(group | {name}, more & near[name], done & near[name])
            more, done = more - {name}, done | {name}

    grow(set(), set(names), set())
    groups.sort(key=lambda group: sorted(names.index(name) for name in group))
    signs = [*ascii_letters, *(f"({number})" for number in range(len(ascii_letters), len(groups)))]
    return ["".join(sign for sign, group in zip(signs, groups, strict=False) if name in group) for name in names]
