"""Groups of judges on the command line: printed as they are told, stated by a file, and chosen by."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

JUDGES = ("Qwen2-VL-7B", "Qwen2-VL-7B-sft", "InternVL2_5-8B", "MBZUAI/MedMO-8B", "HuatuoGPT", "gpt-4o", "somebody")


@pytest.fixture
def published(mrb: Callable, tmp_path: Path) -> Path:
    """A benchmark with the verdicts of judges that are named as in published result files."""
    generator, n = np.random.default_rng(0), 40
    source, bench = tmp_path / "tables", tmp_path / "bench"
    source.mkdir()
    ids = [f"c{i}" for i in range(n)]
    gold = generator.choice(["A", "B"], n)
    pd.DataFrame(
        {"case_id": ids, "question": "q", "response_a": "a", "response_b": "b", "organ": ["eye", "lung"] * 20}
    ).to_csv(source / "cases.csv", index=False)
    pd.DataFrame({"case_id": ids, "annotator": "r", "dimension": "overall", "choice": gold}).to_csv(
        source / "annotations.csv", index=False
    )
    rows = [
        (judge, case, "overall", "AB", label if generator.random() < 0.7 else "tie")
        for judge in JUDGES
        for case, label in zip(ids, gold, strict=True)
    ]
    pd.DataFrame(rows, columns=["judge", "case_id", "dimension", "order", "choice"]).to_csv(
        source / "verdicts.csv", index=False
    )
    imported = mrb("import", "table", source, bench).ok
    assert "note: Group medical: HuatuoGPT as huatuogpt-vision-7b, MBZUAI/MedMO-8B as medmo-8b." in imported.err
    assert "In no group: somebody;" in imported.err
    return bench


def test_contrasts_are_of_the_groups_that_names_tell_and_the_matches_are_printed(
    mrb: Callable, published: Path
) -> None:
    result = mrb("analyze", published, "--table", "groups", "--json", "--by", "organ")
    contrasts = {(r["group_1"], r["group_2"]) for r in result.rows if r["part"] == "contrast"}
    assert contrasts == {("open", "proprietary"), ("open", "medical"), ("proprietary", "medical")}
    assert {r["n_judges_1"] for r in result.rows if r["group_1"] == "open"} == {3}
    assert "Qwen2-VL-7B-sft as tuned from qwen2-vl-7b" in result.err
    assert "InternVL2_5-8B as internvl3-8b" in result.err


def test_a_file_goes_before_names(mrb: Callable, published: Path, tmp_path: Path) -> None:
    file = tmp_path / "groups.csv"
    file.write_text("judge,group\nsomebody,ours\nHuatuoGPT,ours\n", encoding="utf-8")
    rows = mrb("analyze", published, "--table", "groups", "--json", "--groups", file).rows
    assert {r["n_judges_2"] for r in rows if r["group_2"] == "ours"} == {2}
    assert {r["n_judges_2"] for r in rows if r["group_2"] == "medical"} == {1}


def test_gains_are_of_the_pairs_that_are_known_or_named(mrb: Callable, published: Path) -> None:
    rows = mrb("analyze", published, "--table", "gains", "--json").rows
    assert [(row["base"], row["tuned"], row["n_seen"]) for row in rows] == [("Qwen2-VL-7B", "Qwen2-VL-7B-sft", None)]
    assert "no record of the training" in str(rows[0]["reason"])
    named = ("--base", "InternVL2_5-8B", "--tuned", "somebody")
    rows = mrb("analyze", published, "--table", "gains", "--json", *named).rows
    assert [(row["base"], row["tuned"]) for row in rows] == [("InternVL2_5-8B", "somebody")]
    for wrong in (
        ("--base", "gpt-4o"),
        ("--base", "gpt-4o", "--tuned", "nobody"),
        ("--base", "gpt-4o", "--tuned", "gpt-4o"),
    ):
        refused = mrb("analyze", published, "--table", "gains", *wrong)
        assert (refused.code, refused.out) == (2, "")
        assert refused.err.splitlines()[-1].startswith("mrb: ")
    assert "changes nothing" not in mrb("analyze", published, "--table", "gains", *named).err
    assert "change nothing" in mrb("analyze", published, "--table", "accuracy", *named).err
