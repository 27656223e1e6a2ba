"""The table `templates` in words."""

from __future__ import annotations

import pandas as pd

from mrb_lib.stats.phrases import main_dimension, main_rows, opening, points

_RAO = "Rao 1982, doi:10.1016/0040-5809(82)90004-1"
MEANINGS = {
    "judge": "name of the judge, whatever the prompt | text",
    "judge_1": "its run with the first prompt, as judge@run; the only one where there is one prompt | text",
    "judge_2": "its run with the second prompt | text",
    "prompt_1": "first prompt; null where the run states none | text",
    "prompt_2": "second prompt | text",
    "n": "cases scored with both prompts | cases",
    "n_excluded": "the other cases | cases",
    "accuracy_1": "mean score with the first prompt over these cases, by the policy | share 0-1",
    "accuracy_2": "mean score with the second prompt over the same cases | share 0-1",
    "difference": "accuracy_1 less accuracy_2 | difference",
    "only_1": "cases with the higher score by the first prompt | cases",
    "only_2": "cases with the higher score by the second prompt | cases",
    "answered_1": "share of the verdicts with the first prompt that have a choice | share 0-1",
    "answered_2": "the same of the second | share 0-1",
    "n_flips": "cases with a choice by both prompts in the same order | cases",
    "flips": "share of pairs of verdicts, one of each prompt, that differ: same case, same order | share 0-1",
    "n_repeated": "cases with two repeats by both prompts in the same order | cases",
    "repeat_flips": "share of pairs of repeats of one prompt and order that differ: noise of asking again | share 0-1",
    "excess_flips": "flips less repeat_flips, over n_repeated cases; 0: the prompt changes nothing | difference"
    f" | {_RAO}",
    "excess_p": "test of excess_flips being 0, by Student's t over clusters; two-sided | p 0-1",
    "n_ordered": "cases with a choice by both prompts in both orders | cases",
    "order_flips": "share of pairs of verdicts of one prompt, one in each order, that differ: order and repeats"
    " | share 0-1",
    "shared_flips": "flips across prompts and orders less order_flips: what the prompt changes in both orders alike"
    " | difference",
    "excess_p_adjusted": "excess_p corrected for the number of tests, with shared_p in one family | p 0-1",
    "shared_p": "test of shared_flips being 0, by Student's t over clusters; two-sided | p 0-1",
    "shared_p_adjusted": "shared_p corrected for the number of tests, with excess_p in one family | p 0-1",
}


def sentence(table: pd.DataFrame) -> str:
    """How many comparisons of prompts show a change of accuracy, and by either test, corrected together, of choices."""
    rows, dimension = main_rows(table).dropna(subset="judge_2"), main_dimension(table)
    if rows.empty:
        return f"{opening(dimension)}, no judge was asked by two prompts: run one again with another (--prompt)."
    tested = rows.dropna(subset="p_adjusted")
    differ = tested[tested["p_adjusted"] <= 0.05]
    said = f"{opening(dimension)}, of {len(rows)} comparison{'s' if len(rows) > 1 else ''} of two prompts of a judge "
    said += f"{len(differ) or 'none'} {'show' if len(differ) > 1 else 'shows'} a difference in accuracy"
    if len(differ):
        most = differ.sort_values("difference", key=abs).iloc[-1]
        said += f" (largest: {most['judge']}, {points(most, 'difference')})"
    beyond = rows[["excess_p_adjusted", "shared_p_adjusted"]]
    known = beyond.notna().any(axis=1)
    if not known.any():
        return f"{said}; what they change in choices cannot be told from noise without repeats or both orders."
    changed = int((beyond.fillna(1.0) <= 0.05).any(axis=1).sum())
    verb = "change" if changed > 1 else "changes"
    return f"{said}; {changed or 'none'} {verb} choices beyond what repeats and orders explain."
