"""Could a difference between judges be chance? Every two of them, all at once, and letters for those alike."""

from itertools import combinations
from string import ascii_letters

import numpy as np
import pandas as pd

from mrb_lib.stats.analysis import Analysis
from mrb_lib.stats.columns import TESTED, Column, Option, shared, table
from mrb_lib.stats.contrasts import ALPHA, contrasts, corrected, pairs_of_cells
from mrb_lib.stats.estimation import IntArray, average
from mrb_lib.stats.flips import ONE_JUDGE, flip_f
from mrb_lib.stats.grid import in_blocks
from mrb_lib.stats.options import check_choice
from mrb_lib.stats.phrases import main_dimension, main_rows, opening, points
from mrb_lib.stats.scoring import BINARY, ranking
from mrb_lib.stats.tables.accuracy import AVERAGE

PAIR, OMNIBUS, LETTERS = "pair", "omnibus", "letters"
Q_REJECTS = "rejects too often where judges are not equally alike: read permutation_f"
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
        Column("only_1", "cases on which judge_1 has the higher score", "cases"),
        Column("only_2", "cases on which judge_2 has the higher score", "cases"),
        Column("test", "permutation (sign flips), mcnemar_exact, t, permutation_f, or cochran_q", "text"),
        shared("tests", "equivalence"),
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
    nothing="no judge has a verdict on a labelled case",
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
    value, pairs = np.nan_to_num(average(analysis.scores.score)), []
    for members in cells.groupby("dimension", sort=False).indices.values():
        for one, other in combinations(members, 2):
            if analysis.versus in (None, cells["judge"][one], cells["judge"][other]):
                pairs.append((one, other) if value[one] >= value[other] else (other, one))
    rows = _compared(analysis, np.array(pairs, dtype=np.int64).reshape(-1, 1, 2), margin)
    frames = [rows, _omnibus(analysis), _letters(analysis, rows)]
    if len(analysis.names) > 1:
        frames.insert(1, _averages(analysis, margin))
    return pd.concat([frame for frame in frames if len(frame)], ignore_index=True)


def _compared(analysis: Analysis, pairs: IntArray, margin: float | None) -> pd.DataFrame:
    """Return the rows of pairs of judges, the better first, from pairs of cells as `pairs_of_cells` takes them."""

    def rows(kept: slice) -> pd.DataFrame:
        return contrasts(analysis, pairs_of_cells(analysis, analysis.scores.score, pairs[kept]))

    made = in_blocks(analysis, pairs.shape[:2], rows)
    return _better_first(corrected(made, analysis, margin)).assign(part=PAIR)


def _better_first(rows: pd.DataFrame) -> pd.DataFrame:
    """Rows of pairs in which the first judge is the better one on the cases of the row."""
    turn = (rows["difference"] < 0).to_numpy()
    swapped = {"judge_1": "judge_2", "judge_2": "judge_1", "only_1": "only_2", "only_2": "only_1"}
    turned = {name: rows[other] for name, other in swapped.items() if other in rows}
    turned |= {"difference": -rows["difference"], "low": -rows["high"], "high": -rows["low"]}
    return rows.assign(**{name: rows[name].where(~turn, values) for name, values in turned.items()})


def _averages(analysis: Analysis, margin: float | None) -> pd.DataFrame:
    """The differences of the means over dimensions, of judges with verdicts on all of them."""
    cells, d = analysis.verdicts.cells, len(analysis.names)
    of_judge = cells.groupby("judge").indices
    judges = [judge for judge, own in of_judge.items() if len(own) == d]
    two = [pair for pair in combinations(judges, 2) if analysis.versus in (None, *pair)]
    if not two:
        return pd.DataFrame()
    pairs = np.array([list(zip(of_judge[one], of_judge[other], strict=True)) for one, other in two], dtype=np.int64)
    return _compared(analysis, pairs, margin).assign(dimension=AVERAGE)


def _omnibus(analysis: Analysis) -> pd.DataFrame:
    """Tests of whether all judges are equally accurate: F under sign flips, and Cochran's Q where it holds."""
    rows = []
    for part in analysis.parts:
        for dimension, cells in analysis.verdicts.cells.groupby("dimension", sort=False).indices.items():
            scores = analysis.scores.score[part.cases][:, np.asarray(cells)]
            complete = np.isfinite(scores).all(axis=1)
            sampling = analysis.sampling.take(part.cases[complete])
            clusters = len(np.unique(sampling.codes))
            shared = {"part": OMNIBUS, "dimension": dimension, **part.label(), "judges": len(cells)}
            shared |= {"n": complete.sum(), "n_excluded": (~complete).sum(), "n_clusters": clusters}
            is_binary = analysis.policy in BINARY and analysis.sampling.take(part.cases).is_independent
            tests = flip_f(scores[complete], sampling, is_binary, analysis.resamples, analysis.seed)
            rows += [shared | test for test in tests]
            if len(tests) > 1 and len(cells) > 2:
                rows[-2]["reason"] = Q_REJECTS
    return pd.DataFrame(rows).assign(correction=None, family_scope=None)


def _letters(analysis: Analysis, pairs: pd.DataFrame) -> pd.DataFrame:
    """The judges of each dimension by rank, over all cases, with letters by the tests of pairs."""
    order, score = ranking(analysis.verdicts, analysis.labels, analysis.policy), analysis.scores.score
    cells = analysis.verdicts.cells.rename(columns={"judge": "judge_1"})[["judge_1", "dimension"]]
    cells = cells.assign(part=LETTERS, rank=order.rank, n=np.isfinite(score).sum(axis=0), last=-average(score))
    cells = cells.assign(n_excluded=len(score) - cells["n"], by=None, subfield=None, n_unassigned=0)
    cells = cells.assign(correction=analysis.correction or "holm", family_scope=analysis.family)
    tested, frames = pairs[pairs["subfield"].isna()], list[pd.DataFrame]()
    for dimension, own in cells.groupby("dimension", sort=False) if analysis.versus is None else ():
        own = own.sort_values(["rank", "last", "judge_1"], kind="stable")
        judges, here = own["judge_1"].tolist(), tested[tested["dimension"] == dimension]
        if len(judges) == 1:
            frames.append(own.assign(reason=ONE_JUDGE))
            continue
        p = {frozenset(pair): value for *pair, value in here[["judge_1", "judge_2", "p_adjusted"]].to_numpy()}
        against_best = pd.Series([p.get(frozenset((judges[0], judge)), 1.0) for judge in judges], own.index)
        unknown = here.loc[here["p_adjusted"].isna(), ["judge_1", "judge_2"]]
        own = own.assign(
            letters=display(judges, {pair for pair, value in p.items() if value <= ALPHA}),
            with_best=(against_best > ALPHA).astype("boolean").mask(against_best.isna()),
            family=here["family"].max(),
            reason=np.where(own["judge_1"].isin(unknown.to_numpy().ravel()), UNTESTED, ""),
        )
        frames.append(own)
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
