"""Every case of either side has one change, and the counts add up."""

from __future__ import annotations

import pandas as pd

from mrb_lib.report.releases import CHANGES, case_changes, release_counts


def digests(**texts: str) -> pd.DataFrame:
    rows = [(case, *value.split("/")) for case, value in texts.items()]
    return pd.DataFrame(rows, columns=["case_id", "text", "images"], dtype="str")


def gold(**labels: str | None) -> pd.DataFrame:
    return pd.DataFrame({"case_id": list(labels), "dimension": "overall", "choice": list(labels.values())}).astype(
        "str"
    )


THEN = digests(a="1/x", b="2/x", c="3/x", d="4/x", e="5/x", g="7/x", h="8/x")
NOW = digests(h="8/x", a="1/x", b="2/x", c="3!/x", d="4/y", f="6/x", g="7/x")


def test_each_case_has_the_change_that_happened_to_it() -> None:
    before = gold(a="A", b="A", c="A", d="A", e="A", h="B")
    after = gold(a="A", b="B", c="B", d="A", f="A")
    changes = case_changes(THEN, NOW, before, after, dimensions=["overall"])
    assert dict(zip(changes["case_id"], changes["change"], strict=True)) == {
        "a": "same", "b": "gold", "c": "text", "d": "images", "e": "removed", "f": "added", "g": "unlabelled",
        "h": "gold",
    }  # fmt: skip
    assert changes["case_id"].tolist() == [*NOW["case_id"], "e"]
    counts = release_counts(changes)
    assert set(counts["change"]) == set(CHANGES)
    assert counts["n"].sum() == len(set(THEN["case_id"]) | set(NOW["case_id"]))
    assert dict(zip(counts["change"], counts["cases"], strict=True))["gold"] == "h, b"


def test_the_gold_label_changes_on_one_dimension_alone() -> None:
    before = pd.concat([gold(a="A"), gold(a="A").assign(dimension="accuracy")])
    after = pd.concat([gold(a="A"), gold(a="tie").assign(dimension="accuracy")])
    changes = case_changes(THEN[:1], THEN[:1], before, after, dimensions=["accuracy", "overall"])
    assert changes["change"].tolist() == ["gold", "same"]


def test_swapping_the_sides_swaps_added_and_removed_only() -> None:
    labels = gold(a="A", b="B", h="tie")
    there, back = (
        case_changes(*sides, labels, labels, dimensions=["overall"]).set_index("case_id")["change"]
        for sides in ((THEN, NOW), (NOW, THEN))
    )
    swapped = back.replace({"added": "removed", "removed": "added"})
    assert there.sort_index().equals(swapped.sort_index())
