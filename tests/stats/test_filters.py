"""The language of filters: what it says, what it refuses, and that nothing of it runs."""

from contextlib import suppress

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mrb_lib.stats.where import case_lookup, matching
from mrb_lib.tables.errors import InputError

CASES = pd.DataFrame(
    {
        "case_id": ["c0", "c1", "c2", "c3"],
        "organ": ["eye", "lung", None, "eye"],
        "question": ["A nodule?", "Which side?", "nodULE or not", None],
        "response_a": ["x" * 10, "x" * 20, "x" * 30, "x" * 40],
        "response_b": ["x" * 40, "x" * 5, "x" * 5, "x" * 5],
        "images": [["a"], [], ["a", "b"], ["c"]],
        "score": [1.5, -2.0, float("nan"), 3.0],
    }
)


def kept(text: str) -> str:
    """The numbers of the cases that a filter leaves."""
    return "".join(str(i) for i, holds in enumerate(matching(text, case_lookup(CASES))) if holds)


@pytest.mark.parametrize(
    ("text", "cases"),
    [
        ("organ == 'eye'", "03"),
        ("organ != 'eye'", "1"),
        ("not organ == 'eye'", "12"),
        ("organ is None", "2"),
        ("organ is not None and length > 20", "03"),
        ("length > 35 or score < 0", "013"),
        ("20 <= length <= 30", "12"),
        ("30 > length", "1"),
        ("length_a > length_b", "123"),
        ("organ in ('lung', 'heart')", "1"),
        ("organ not in ['lung']", "03"),
        ("'nodule' in question", "02"),
        ("'nodule' not in question", "1"),
        ("n_images == 1 and not (organ == 'lung' or score > 2)", "0"),
        ("score == -2", "1"),
        ("length_question < 10", "0"),
    ],
)
def test_what_a_filter_leaves(text: str, cases: str) -> None:
    assert kept(text) == cases


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("organ = 'eye'", "cannot be read"),
        ("", "cannot be read"),
        ("organ", "compare it with something"),
        ("organ > 3", "holds text"),
        ("score == 'x'", "holds numbers"),
        ("brain == 1", "'brain' is unknown; use one of case_id, length"),
        ("outcome['x'] == 'wrong'", "names of columns have no brackets"),
        ("__import__('os').system('x') == 0", "is not a name"),
        ("organ.upper() == 'EYE'", "is not a name"),
        ("organ == f'{1}'", "is not text, a number"),
        ("(lambda: 1)()", "not part of the language"),
        ("[x for x in organ]", "not part of the language"),
        ("organ is 'eye'", "asks for None only"),
        ("organ in 'eye'", "needs a list"),
        ("3 in score", "words are looked for in text only"),
        ("organ == 'eye' if score else 1", "not part of the language"),
        ("(" * 1000 + "organ", "cannot be read"),
        ("organ == 'e' and " * 300 + "organ == 'x'", "at most 2,000"),
    ],
)
def test_what_is_no_filter_is_refused_in_words(text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        kept(text)


@given(st.text(max_size=80))
def test_any_text_is_a_filter_or_refused(text: str) -> None:
    with suppress(InputError):  # and nothing else is raised
        assert len(matching(text, case_lookup(CASES))) == len(CASES)


def test_text_has_no_order_but_dates_do() -> None:
    """Sorted as text, 7 would be more than 60."""
    dates = ["2023-05", "2021", "2024", None]
    look = case_lookup(pd.DataFrame({"age": ["7", "61", "100", None], "date": dates}, dtype="str"))
    assert matching("date > '2022'", look).tolist() == [True, False, True, False]
    for text in ("age > 60", "age > '60'", "60 < age"):
        with pytest.raises(InputError, match="age holds text, such as '7', and only numbers and dates have an order"):
            matching(text, look)


def test_words_are_found_in_categories_and_true_is_no_number() -> None:
    view = pd.Series(["PA upright", None], dtype="category")
    look = case_lookup(pd.DataFrame({"case_id": ["a", "b"], "view": view, "seen": [True, False]}))
    assert matching("'pa' in view", look).tolist() == [True, False]
    with pytest.raises(InputError, match="compare it so"):
        matching("seen < 5", look)
    with pytest.raises(InputError, match="'length' is unknown; use one of case_id, seen, view"):
        matching("length > 3", look)  # where there are no responses, as in the items of a work folder
