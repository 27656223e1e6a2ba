"""Questions and responses: nothing given away, nothing repeated, and facts that differ as the qualities do."""

import re

import numpy as np
import pandas as pd
import pytest

from mrb_lib.benchmarks.benchmark import Benchmark
from mrb_lib.demo import scenes


def _difference(truth: pd.DataFrame, dimension: str) -> pd.Series:
    rows = truth[truth["dimension"] == dimension].set_index("case_id")
    return rows["quality_a"] - rows["quality_b"]


def _words(text: pd.Series) -> pd.Series:
    return text.str.split().str.len()


def test_no_question_names_the_finding_its_place_or_its_size(published: Benchmark, truth: pd.DataFrame) -> None:
    facts = truth.drop_duplicates("case_id").set_index("case_id")
    for case_id, question, kind in published.cases[["case_id", "question", "question_type"]].itertuples(index=False):
        row, text = facts.loc[case_id], question.lower()
        assert row["finding"] not in text
        assert row["site"].lower() not in text
        assert f"{row['size']} {row['unit']}" not in text
        if kind != "closed":
            assert not re.search(r"\b(left|right)\b(?! upper abdomen)", text)


def test_closed_questions_are_true_about_as_often_as_false(published: Benchmark, truth: pd.DataFrame) -> None:
    facts = truth.drop_duplicates("case_id").set_index("case_id")
    sided = published.cases[published.cases["question"].str.contains(r"patient's (?:left|right) side\?")]
    asked = sided["question"].str.extract(r"patient's (left|right) side\?")[0]
    agrees = asked.to_numpy() == facts.loc[sided["case_id"], "side"].to_numpy()
    assert 0.2 < agrees.mean() < 0.8


def test_responses_are_never_the_same(published: Benchmark) -> None:
    cases = published.cases
    assert (cases["response_a"] != cases["response_b"]).all()
    both = pd.concat([cases["response_a"], cases["response_b"]])
    assert both.duplicated().mean() < 0.01
    assert (cases["model_a"] != cases["model_b"]).all()


def test_no_slot_is_left_open_in_any_text(published: Benchmark) -> None:
    texts = pd.concat(
        [published.cases[name] for name in ("question", "response_a", "response_b", "reference")]
    ).dropna()
    assert not texts.str.contains(r"[{}]|\bNone\b|  |\b(?:a|an) (?:a|an)\b").any()


@pytest.mark.parametrize("fact", ["site", "size", "shape"])
def test_facts_in_the_text_of_the_more_accurate_response_match_the_truth(
    published: Benchmark, truth: pd.DataFrame, fact: str
) -> None:
    """Read from the text alone: where a fact is stated, the more accurate responses state the true one more often."""
    cases = published.cases.set_index("case_id")
    facts = truth.drop_duplicates("case_id").set_index("case_id")
    every_site = {site.name for view in scenes.views().values() for site in view.sites}
    sites = {name.format(side=side) for name in every_site for side in ("left", "right")}
    difference = _difference(truth, "accuracy")
    hits: dict[bool, list[bool]] = {True: [], False: []}
    for case_id, gap in difference.items():
        row = facts.loc[case_id]
        true = {"site": row["site"], "size": f" {row['size']} {row['unit']}", "shape": row["shape"]}[fact]
        for side, better in (("response_a", gap > 0), ("response_b", gap < 0)):
            main = re.split(r"second|Besides|In addition|Not to be missed|A further", cases.loc[case_id, side])[0]
            stated = {
                "site": lambda text: any(site in text for site in sites),
                "size": lambda text: re.search(r"\d+ (mm|micrometres)", text) is not None,
                "shape": lambda text: any(shape in text for shape in scenes.SHAPES),
            }[fact](main)
            if stated:
                hits[bool(better)].append(true in main)
    assert np.mean(hits[True]) > np.mean(hits[False]) + 0.15


def test_side_a_has_no_advantage(truth: pd.DataFrame) -> None:
    for dimension in truth["dimension"].unique():
        gap = _difference(truth, dimension)
        assert abs(gap.mean()) < 4 * gap.std() / np.sqrt(len(gap))


def test_length_is_a_poor_guide_to_overall_quality(published: Benchmark, truth: pd.DataFrame) -> None:
    length = np.log(_words(published.cases["response_a"]) / _words(published.cases["response_b"]))
    assert abs(np.corrcoef(length, _difference(truth, "overall"))[0, 1]) < 0.25


def test_reference_states_the_truth(published: Benchmark, truth: pd.DataFrame) -> None:
    facts = truth.drop_duplicates("case_id").set_index("case_id")
    given = published.cases.dropna(subset=["reference"])
    assert 0.6 < len(given) / len(published.cases) < 0.8
    for case_id, text in given[["case_id", "reference"]].itertuples(index=False):
        row = facts.loc[case_id]
        assert row["site"] in text
        assert f"{row['size']} {row['unit']}" in text
        assert row["shape"] in text.lower()
