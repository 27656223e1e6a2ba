"""Every case of either side has one change."""

import pandas as pd

from mrb_lib.report.comparison import case_changes


def digests(**texts: str) -> pd.DataFrame:
    rows = [(case, *value.split("/")) for case, value in texts.items()]
    return pd.DataFrame(rows, columns=["case_id", "text", "images"], dtype="str")


def gold(**labels: str | None) -> pd.DataFrame:
    return pd.DataFrame({"case_id": list(labels), "choice": list(labels.values())}).astype("str")


THEN = digests(a="1/x", b="2/x", c="3/x", d="4/x", e="5/x", g="7/x", h="8/x")
NOW = digests(h="8/x", a="1/x", b="2/x", c="3!/x", d="4/y", f="6/x", g="7/x")


def test_each_case_has_the_change_that_happened_to_it() -> None:
    before = gold(a="A", b="A", c="A", d="A", e="A", h="B")
    after = gold(a="A", b="B", c="B", d="A", f="A")
    changes = case_changes(THEN, NOW, before, after)
    assert dict(zip(changes["case_id"], changes["change"], strict=True)) == {
        "a": "same", "b": "gold", "c": "text", "d": "images", "e": "removed", "f": "added", "g": "unlabelled",
        "h": "gold",
    }  # fmt: skip
    assert changes["case_id"].tolist() == [*NOW["case_id"], "e"]


def test_swapping_the_sides_swaps_added_and_removed_only() -> None:
    labels = gold(a="A", b="B", h="tie")
    there, back = (
        case_changes(*sides, labels, labels).set_index("case_id")["change"] for sides in ((THEN, NOW), (NOW, THEN))
    )
    swapped = back.replace({"added": "removed", "removed": "added"})
    assert there.sort_index().equals(swapped.sort_index())
