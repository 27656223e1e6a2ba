"""Families of models, and what is counted in a text."""

import numpy as np
import pandas as pd
import pytest

from mrb_lib.stats.methods.response_traits import (
    MARKERS,
    family_of,
    kinship,
    length_difference,
    marker_differences,
    standardised,
)


@pytest.mark.parametrize(
    ("family", "names"),
    [
        ("GPT", ["gpt-4o", "GPT 4", "GPT 3.5 Turbo (16k)", "openai/gpt-35-turbo", "gpt-10"]),
        ("Qwen2.5-VL", ["Qwen2.5-VL-7B-Instruct"]),
        ("Qwen2-VL", ["Qwen/Qwen2-VL-7B-Instruct"]),
        ("LLaVA-Med", ["LLaVA-Med-v1.5"]),
        ("Llama-3.2-Vision", ["meta-llama/Llama-3.2-11B-Vision-Instruct"]),
        ("Claude", ["Claude Instant v1"]),
        ("Gemma 3", ["gemma-3-1b"]),
        ("InternVL3.5", ["InternVL3_5-38B"]),
        ("InternVL3", ["InternVL3-14B"]),
        ("MedGemma", ["medgemma-1.5-4b"]),
        (
            None,
            ["GPT-NeoXT-Chat-Base (20B)", "gpt-neox-20b", "EleutherAI/gpt-j-6b", "gpt2-xl", "GPT4All-J", "gpt-4-all"],
        ),
        (None, ["Claudette-7B", "Gemma 31B", "InternVL3.7-2B", "random", "consensus-of", "Placebo-Chat-9B", ""]),
    ],
)
def test_family(family: str | None, names: list[str]) -> None:
    assert {name: family_of(name) for name in names} == dict.fromkeys(names, family)


def is_own_or_family(judge: str, responder: str) -> tuple[bool, bool]:
    own, family = kinship([judge], pd.DataFrame({"model_a": [responder], "model_b": ["a stranger"]}))
    return bool(own[0, 0]), bool(family[0, 0])


def test_names_are_compared_without_their_spelling() -> None:
    assert is_own_or_family("qwen2.5-vl-7b+packed", "Qwen/Qwen2.5-VL-7B-Instruct") == (True, False)
    assert is_own_or_family("My Model", "my_model") == (True, False)
    assert is_own_or_family("", "") == (False, False)
    assert is_own_or_family("qwen2.5-vl-7b", "Qwen2.5-VL-3B-Instruct") == (False, True)
    assert is_own_or_family("random", "first") == (False, False)


def test_a_judge_is_on_no_side_of_its_own_against_itself_or_where_nobody_is_named() -> None:
    """On one side or the other: tests/stats/tables/bias/test_bias.py, against statsmodels."""
    cases = pd.DataFrame({"model_a": ["gpt-4o", "GPT-4o", None], "model_b": ["gpt-5", "gpt-4o", "gpt-4o"]})
    own, family = kinship(["gpt-4o", "random"], cases)
    assert own.tolist() == [[1, 0, -1], [0] * 3]
    assert family.tolist() == [[0] * 3] * 2
    assert not kinship(["gpt-4o"], pd.DataFrame({"case_id": ["c"]}))[0].any()


TEXT = """# Findings

- opacity of 12.5 mm
- no effusion
2) follow-up

It **may** be benign; possibly infection. Maybe not? Is it?"""


@pytest.mark.parametrize(
    ("marker", "count"),
    [("headings", 1), ("lists", 3), ("bold", 1), ("hedges", 2), ("numbers", 2), ("questions", 2)],
)
def test_markers_are_counted(marker: str, count: int) -> None:
    texts = {"response_a": [TEXT], "response_b": ["A mass in the left lobe * of the liver, rated c# and a__b"]}
    found = marker_differences(pd.DataFrame(texts))[list(MARKERS).index(marker)]
    assert found.tolist() == [np.log1p(count)], "the other text has none"


def test_differences_change_sign_with_the_sides_and_are_unknown_without_a_text() -> None:
    cases = pd.DataFrame({"response_a": [TEXT, "one", None], "response_b": ["one", TEXT, TEXT]})
    found = marker_differences(cases)
    row = list(MARKERS).index("lists")
    assert found[row, :2].tolist() == [np.log(4), -np.log(4)]
    assert np.isnan(found[:, 2]).all()
    assert length_difference(cases)[0] == pytest.approx(np.log((len(TEXT) + 1) / 4))
    assert np.isnan(length_difference(pd.DataFrame({"case_id": ["c"]}))).all()


def test_standardising_keeps_zero_and_gives_a_root_mean_square_of_one() -> None:
    found = standardised(np.array([[3.0, 0.0, -4.0, np.nan], [0.0, 0.0, 0.0, 0.0]]))
    assert found[0, 1] == 0
    assert np.nanmean(found[0] ** 2) == pytest.approx(1)
    assert (found[1] == 0).all()
