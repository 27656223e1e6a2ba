"""LLMBar's case studies: the share of verdicts that are equal in both orders (Zeng et al., ICLR 2024)."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from mrb_lib.benchmarks.formats.published import read_llmbar
from tests.stats.small_tables import rows_of


@pytest.mark.parametrize("subset", ["Negation", "Normal"])
def test_consistency_and_ties(reference_data: Path, subset: str) -> None:
    """Nobody may answer tie: where all was parsed, the consistency is the published share."""
    folder = reference_data / "llmbar_casestudy" / "Dataset" / "CaseStudy" / subset
    imported = read_llmbar(folder)
    verdicts = imported.verdicts
    rows = rows_of("consistency", imported.benchmark.cases, verdicts).set_index("judge")
    parsed = verdicts["choice"].notna().groupby(verdicts["judge"]).all()
    compared = 0
    for path in sorted(folder.glob("evaluators/*/*/statistics.json")):
        judge = f"{path.parts[-3]}/{path.parts[-2]}"
        row = rows.loc[judge]
        assert row["tie_rate"] == 0
        assert row["consistency_decisive"] == row["consistency"]
        if parsed[judge]:
            equal = float(json.loads(path.read_text())["equal"].split("=")[-1].rstrip("%")) / 100
            assert row["consistency"] == pytest.approx(equal, abs=1e-6)
            compared += 1
    assert compared > 12
