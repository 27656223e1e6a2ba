"""The 23 defects of the published pipeline, each shown to be absent here.

Every one was found by running the published code (Med-RewardBench, repository state of 2025): 1-9 in how it reads a
judge's reply, 10-15 in scoring, 16-23 in running. Most are shown to be absent elsewhere: 1-9 in tests/replies/
test_parse.py; replies that were never read (10), ids, duplicates, ties and organs (11-14) in tests/benchmarks/formats/
test_official_traps.py; one order, one draw and no interval (15) in tests/runs/test_execute.py and tests/stats; the
result file emptied before generation (16) in tests/runs/test_interruption.py; a retry helper that was never called (17)
in tests/runs/test_retry.py; names of judges (18) in tests/verdicts/test_store.py; a switch for thinking that never
reached the chat template (19) in tests/judges/local/test_weights.py and test_generative.py; prompts that show one
response or none (20) and pasted answers (23) in tests/judges/test_prompts.py; functions that could not run (22) by
`make lint`; foreign code that is run unasked (23) in tests/judges/roster/test_roster.py.
"""

from pathlib import Path

import pytest

from mrb_lib.benchmarks.formats.official import read
from mrb_lib.judges.roster.roster import entries
from mrb_lib.tables.errors import InputError

from ..benchmarks.formats.conftest import Tree


def test_defect_21_every_name_of_the_roster_has_a_model_of_that_name() -> None:
    """Nine names had no builder, "InternVL2_5-8B" loaded InternVL3-8B, and one name could run under no spelling."""
    for entry in (entry for entry in entries() if entry.model is not None):
        model = f"{entry.model}/{entry.subfolder}".lower().replace("_", ".").replace("-", ".")
        for part in entry.name.split("-"):
            version = part.strip("abcdefghijklmnopqrstuvwxyz")
            spelled = {version, version.replace(".", "d"), version.replace(".", "")}
            assert any(one in model for one in spelled), f"{entry.name} loads {entry.model}"


def test_defect_23_images_stay_on_disk(tmp_path: Path) -> None:
    """All images were held in memory."""
    tree = Tree(tmp_path / "src")
    tree.organ("brain", [1, 2, 3, 4])
    images = read(tree.write()).benchmark.images
    tree.pairs_path().unlink()
    with pytest.raises(InputError, match=r"brain\.parquet"):
        dict(images)
