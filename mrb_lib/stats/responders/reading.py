"""The tables `ranking` and `ppi` in words."""

from __future__ import annotations

import pandas as pd

from mrb_lib.stats.phrases import interval, main_dimension, main_rows, opening

_BRADLEY = "Bradley & Terry 1952"
_DAVIDSON = "Davidson 1970, doi:10.1080/01621459.1970.10481082"
_RAO = "Rao & Kupper 1967, doi:10.1080/01621459.1967.10482901"
_PPI = "Angelopoulos et al. 2023, arXiv 2311.01453"
KEPT = 0.2  # of the labels, in the what-if that is spoken of
MEANINGS = {
    "part": "strength (of a responder), agreement (of two rankings), items (order of an item's responses) or tokens"
    " | text",
    "source": "whose choices: gold, annotations or judge | text",
    "n": "comparisons of the responder | count",
    "n_excluded": "cases with the responder that the source did not decide | cases",
    "wins": "comparisons won | number",
    "losses": "comparisons lost | number",
    "ties": "comparisons tied | number",
    "win_rate": "share of comparisons won, a tie being half a win | share 0-1",
    "strength": f"by which responders win; those of a source sum to 1 | share 0-1 | {_BRADLEY}",
    "log_strength": f"its logarithm, of mean 0 in a source | log odds | {_BRADLEY}",
    "standard_error": "standard error of log_strength, robust to clusters | log odds",
    "rank": "place by strength, 1 the strongest; equals share the better place | rank",
    "rank_low": "best place that it may have, at 95% confidence | rank | Mogstad et al. 2024",
    "rank_high": "worst place that it may have, at 95% confidence | rank | Mogstad et al. 2024",
    "n_responders": "responders ranked by both | count",
    "kendall": "tau-b: in rows agreement of responders over all items (interval: true tau); in rows items the mean over"
    " items | coefficient | Kendall 1945",
    "spearman": "the same, as correlation of ranks | coefficient | Spearman 1904",
    "pearson_of_ranks": "the same of competition ranks | coefficient",
    "top_k_overlap": "share of the k best of one that are among the k best of the other | share 0-1",
    "k": "of top_k_overlap | count",
    "n_pairs": "pairs of responders | count",
    "n_told_apart": "of them, that both sources tell apart; null where a standard error is unknown | count",
    "davidson_strength": f"strength where ties have their own probability | share 0-1 | {_DAVIDSON}",
    "davidson_tie": f"how common ties are, nu | number | {_DAVIDSON}",
    "rao_kupper_strength": f"strength where near responders tie | share 0-1 | {_RAO}",
    "rao_kupper_threshold": f"how near they must be, theta; 1: no ties | number | {_RAO}",
    "n_items": "items that the row rests on | count",
    "n_undecided": "items with a response in no pair that gold and judge both decide | count",
    "n_all_equal": "items whose responses gold or judge puts all on one place | count",
    "n_clusters": "clusters of the items that count, those that share an item taken as one | count",
    "n_responses": "different responses to an item, on average | number",
    "edit_distance": "steps from one order to the other over their length, mean over items; 0: the same | share 0-1"
    " | Chen et al. 2024, arXiv 2402.04788",
    "top_1": "share of the responses put first that the gold labels put first, too, mean over items | share 0-1",
    "versus": "judge of the same model that compares pairs | text",
    "n_verdicts": "verdicts of the judge, also on cases that it was trained on | count",
    "n_counted": "those of n_verdicts with tokens; a reply that answers several is counted in one | count",
    "tokens": "of prompts and replies, an item, over all its verdicts | tokens",
    "tokens_versus": "the same of versus | tokens",
    "token_ratio": "tokens over tokens_versus | number",
}
MEANINGS_OF_PPI = {
    "part": "estimate, or what_if: had only some labels been made | text",
    "responder": "model that wrote the responses; null: all together | text",
    "label_share": "share of the annotated clusters whose labels are kept | share 0-1",
    "n_labelled": "cases with a verdict that annotators decided | cases",
    "n_undecided": "cases with a verdict that they saw and did not decide | cases",
    "n_unlabelled": "cases with a verdict that they did not see | cases",
    "n_excluded": "other cases of the responder | cases",
    "estimate": f"win rate by labels and verdicts together, a tie being half a win | share 0-1 | {_PPI}",
    "classical_estimate": "win rate by the labels alone | share 0-1",
    "classical_low": "lower end of the 95% interval of classical_estimate | share 0-1",
    "classical_high": "upper end of the 95% interval of classical_estimate | share 0-1",
    "full_estimate": "win rate by all labels, those hidden too | share 0-1",
    "lambda": f"weight given to the judge | share 0-1 | {_PPI}",
    "effective_n": "labels that the classical interval would need to be as narrow | number",
    "label_saving": "share of these labels that the verdicts save | number",
    "width_ratio": "standard error over the classical one | number",
    "expected_label_saving": "saving to expect of the correlation and the numbers of cases | share 0-1",
    "expected_width_ratio": "ratio of standard errors to expect of them | share 0-1",
    "correlation": "of verdicts and labels | coefficient | Pearson 1895",
}


def sentence(table: pd.DataFrame) -> str:
    """Which responder annotators prefer, which judge ranks responders as they do, and what one prompt for all saves."""
    said = sentence_of_responders(table)
    tokens = table[table["part"] == "tokens"]
    return f"{said} {sentence_of_items(table)}" if len(tokens) and tokens["token_ratio"].notna().any() else said


def sentence_of_responders(table: pd.DataFrame) -> str:
    """Which responder annotators prefer, and which judge ranks responders as they do."""
    dimension = main_dimension(table)
    strong = main_rows(table, part="strength", source="gold").dropna(subset="rank")
    if strong.empty:
        return f"{opening(dimension)}, the models that wrote the responses cannot be ranked."
    first = strong.nsmallest(1, "rank").iloc[0]
    said = (
        f"{opening(dimension)}, by the annotators' labels {first['responder']} is first of {len(strong)} models, "
        f"winning {first['win_rate']:.0%} of its comparisons"
    )
    if pd.notna(first["rank_low"]) and pd.notna(first["rank_high"]):
        low, high = int(first["rank_low"]), int(first["rank_high"])
        said += f"; at 95% confidence its place is {low if low == high else f'from {low} to {high}'}"
    known = main_rows(table, part="agreement", source="gold").dropna(subset="kendall")
    if known.empty:
        return f"{said}."
    most = known.nlargest(1, "kendall").iloc[0]
    tau = f"{most['kendall']:.2f}{interval(most['kendall_low'], most['kendall_high'], scale=1, digits=2)}"
    if len(known) == 1:
        said += f". The ranking by {most['judge']} has a Kendall's tau of {tau} with theirs"
        return f"{said}, where 1 is the same order."
    return (
        f"{said}. Of {len(known)} judges, {most['judge']} ranks the models most like the annotators: Kendall's tau "
        f"{tau}, where 1 is the same order."
    )


def sentence_of_ppi(table: pd.DataFrame) -> str:
    """How many labels the verdicts save."""
    rows, dimension = main_rows(table), main_dimension(table)
    whole = rows[rows["responder"].isna()]
    made = whole[(whole["part"] == "estimate") & (whole["n_unlabelled"] > 0)].dropna(subset="expected_label_saving")
    kept = whole[whole["label_share"] == KEPT].dropna(subset="expected_label_saving")
    known = kept if made.empty else made
    if known.empty:
        return f"{opening(dimension)}, how many of the annotators' labels verdicts would save is not known."
    best = known.nlargest(1, "expected_label_saving").iloc[0]
    most = ", the most of all judges" if known["judge"].nunique() > 1 else ""
    saved = f"{best['expected_label_saving']:.0%} of the labels that equally exact win rates take without them{most}."
    if made.empty:
        return (
            f"{opening(dimension)}, had annotators labelled {KEPT:.0%} of the cases, the verdicts of {best['judge']} "
            f"would save {saved}"
        )
    return f"{opening(dimension)}, the verdicts of {best['judge']} save {saved}"


def sentence_of_items(table: pd.DataFrame) -> str:
    """Which judge orders an item's responses as the annotators do, and what one prompt for all saves."""
    dimension = main_dimension(table)
    known = main_rows(table, part="items").dropna(subset="kendall")
    if known.empty:
        said = (
            f"{opening(dimension)}, no judge's order of the responses to an item can be compared with the gold labels'"
        )
    else:
        best = known.nlargest(1, "kendall").iloc[0]
        tau = f"{best['kendall']:.2f}{interval(best['kendall_low'], best['kendall_high'], scale=1, digits=2)}"
        who = (
            f"of {len(known)} judges {best['judge']} comes closest, with" if len(known) > 1 else f"{best['judge']} has"
        )
        said = (
            f"{opening(dimension)}, {who} a Kendall's tau of {tau} with the gold labels' order of an item's responses "
            f"(1: the same), on average over {best['n_items']:,} items; {best['top_1']:.0%} of what it puts first is "
            "first there"
        )
    saving = table[table["part"] == "tokens"].dropna(subset="token_ratio")
    if len(saving):
        least = saving.nsmallest(1, "token_ratio").iloc[0]
        said += f". {least['judge']} takes {least['token_ratio']:.0%} of the tokens of {least['versus']}"
    return f"{said}."
