"""Engines are registered once and say what they need; those without a model do what they say."""

import pandas as pd
import pytest
from scipy import stats

from mrb_lib.judges import ENGINES, JudgeRequest, engine
from mrb_lib.judges.roster.entry import Entry
from mrb_lib.judges.roster.roster import entries
from mrb_lib.judges.settings import Settings
from mrb_lib.tables.errors import InputError
from mrb_lib.verdicts.protocol import Judge


def test_every_engine_of_the_roster_is_registered_and_says_what_it_does() -> None:
    assert {entry.engine for entry in entries()} <= set(ENGINES)
    for name, one in ENGINES.items():
        assert one.name == name
        assert 10 < len(one.about) < 100
        assert one.missing_packages() == []


def test_an_engine_is_registered_once() -> None:
    with pytest.raises(ValueError, match="'packed' is registered twice"):
        engine("packed", about="again")(lambda request: pytest.fail("never made"))


def test_a_package_that_is_missing_is_named_with_how_to_install_it() -> None:
    one = ENGINES["packed"]
    absent = type(one)("absent", "needs what nobody has", one.build, packages=("no_such_package",))
    with pytest.raises(InputError, match="judge 'j': needs no_such_package; install it with `pip install no_such_pack"):
        absent.check_packages("j")


def _judge(name: str, seed: int = 0) -> Judge:
    return ENGINES["heuristic"].build(JudgeRequest(Entry(name, "heuristic"), Settings(seed=seed), {}))


def _shown(first: list[str], second: list[str], **more: object) -> pd.DataFrame:
    keys = {"dimension": "overall", "order": "AB", "repeat": 0, "probe": "none", "question": "where is the nodule"}
    return pd.DataFrame({"case_id": map(str, range(len(first))), **keys, "first": first, "second": second} | more)


def test_random_is_fair_and_depends_on_seed_and_key_only() -> None:
    shown = _shown(["x"] * 4000, ["y"] * 4000)
    picks = _judge("random", 0).judge(shown)["pick"]
    assert stats.binomtest(int((picks == "first").sum()), 4000).pvalue > 1e-4
    shuffled = _judge("random", 0).judge(shown.sample(frac=1, random_state=1))
    assert shuffled["pick"].sort_index().tolist() == picks.tolist()
    assert _judge("random", 1).judge(shown)["pick"].tolist() != picks.tolist()


@pytest.mark.parametrize("column", ["dimension", "order", "repeat", "case_id"])
def test_random_draws_anew_for_each_part_of_the_key(column: str) -> None:
    shown = _shown(["x"] * 200, ["y"] * 200)
    other = shown.assign(
        **{column: {"dimension": "accuracy", "order": "BA", "repeat": 1}.get(column, shown["case_id"] + "x")}
    )
    same = (_judge("random", 0).judge(shown)["pick"] == _judge("random", 0).judge(other)["pick"]).mean()
    assert 0.3 < same < 0.7


def test_first_is_always_the_first() -> None:
    assert set(_judge("first").judge(_shown(["x", "longer text"], ["longer text", "x"]))["pick"]) == {"first"}


def test_longer_and_shorter_count_words_and_tie_on_equality() -> None:
    shown = _shown(["one two three", "a", "a b", ""], ["one", "a b", "verylongword c", "x"])
    longer = _judge("longer").judge(shown)
    assert longer["pick"].tolist() == ["first", "second", "tie", "second"]
    assert longer["score_first"].tolist() == [3, 1, 2, 0]
    assert _judge("shorter").judge(shown)["pick"].tolist() == ["second", "first", "tie", "first"]


def test_lexical_prefers_overlap_with_the_question_and_uses_the_reference_where_there_is_one() -> None:
    shown = _shown(
        ["the nodule is here", "banana", "nodule image", "apical"],
        ["something else", "banana", "left apex", "nodule somewhere"],
        reference=[None, None, "left apex", None],
    )
    assert _judge("lexical").judge(shown)["pick"].tolist() == ["first", "tie", "second", "second"]
    assert _judge("lexical").judge(shown.drop(columns="reference"))["pick"].tolist() == [
        "first",
        "tie",
        "first",
        "second",
    ]


def test_lexical_reads_a_case_anew_under_each_probe() -> None:
    shown = _shown(["the nodule", "a banana"], ["a banana", "the nodule"], case_id="one", probe=["none", "swapped"])
    assert _judge("lexical").judge(shown)["pick"].tolist() == ["first", "second"]


def test_lexical_score_is_the_f1_of_word_sets() -> None:
    scores = _judge("lexical").judge(_shown(["the nodule is left of it"], ["?!"]))
    assert scores["score_first"].tolist() == [2 * 1 / (2 + 1)], "nodule shared; nodule and left against nodule"
    assert scores["score_second"].tolist() == [0.0]
