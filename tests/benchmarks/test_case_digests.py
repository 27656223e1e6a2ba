"""By what a case is known again, and what makes it another."""

import pytest

from mrb_lib.benchmarks.case_digests import case_digests

from .near_copies import bench

IMAGES = {"1.png": b"one", "2.png": b"two"}


def digest(files: dict[str, bytes] | None = None, **values: object) -> str:
    row = {"case_id": "x", "question": "q", "response_a": "a", "response_b": "b", "images": ["1.png", "2.png"]}
    return str(case_digests(bench([{**row, **values}], IMAGES if files is None else files)).iloc[0])


@pytest.mark.parametrize(
    ("files", "values"),
    [
        (None, {"case_id": "other/x"}),
        (None, {"response_a": "b", "response_b": "a"}),
        (None, {"images": ["2.png", "1.png"]}),
        ({"new.png": b"two", "1.png": b"one"}, {"images": ["1.png", "new.png"]}),
        (None, {"split": "test", "organ": "eye", "reference": "r"}),
    ],
)
def test_a_case_keeps_its_digest(files: dict[str, bytes] | None, values: dict[str, object]) -> None:
    assert digest(files, **values) == digest()


@pytest.mark.parametrize(
    ("files", "values"),
    [
        (None, {"question": "q?"}),
        (None, {"response_b": "c"}),
        (None, {"question": "qa", "response_a": ""}),
        (None, {"images": ["1.png"]}),
        (None, {"images": ["1.png", "1.png"]}),
        ({"1.png": b"one", "2.png": b"two!"}, {}),
        ({"1.png": b"one"}, {}),
        ({"1.png": b"one", "2.png": b""}, {}),
    ],
)
def test_what_a_judge_sees_changes_the_digest(files: dict[str, bytes] | None, values: dict[str, object]) -> None:
    assert digest(files, **values) != digest()


def test_a_missing_image_counts_by_its_name() -> None:
    assert digest({}) == digest({"9.png": b"x"}) == digest({"1.png": b"", "2.png": b""})
    assert digest({}, images=["1.png", "3.png"]) != digest({})
