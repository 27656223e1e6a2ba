"""The embedded benchmark's written replies are read as the verdicts that they were written for."""

from pathlib import Path

import pandas as pd
import pytest

from mrb_lib.benchmarks.benchmark import load, read_table
from mrb_lib.demo.build import write_demo
from mrb_lib.demo.judges import simulated_verdicts
from mrb_lib.replies import parse
from mrb_lib.tables.schema import DIMENSIONS
from mrb_lib.verdicts.orders import choice_to_shown
from mrb_lib.verdicts.simulated_replies import JUDGE, LETTERS, with_replies


@pytest.fixture(scope="module")
def drawn(tmp_path_factory: pytest.TempPathFactory) -> pd.DataFrame:
    folder: Path = tmp_path_factory.mktemp("replies") / "demo"
    write_demo(folder, cases=80, seed=3)
    return simulated_verdicts(read_table(folder / "truth.parquet"), load(folder).cases, seed=3)


def test_every_reply_is_read_as_its_verdicts_and_statuses(drawn: pd.DataFrame) -> None:
    written = with_replies(drawn, seed=3)
    mine = written[written["judge"] == JUDGE]
    mine = mine.assign(shown=choice_to_shown(mine["order"], mine["choice"]).map(LETTERS))
    for _, rows in mine.groupby(["case_id", "order", "repeat"]):
        [reply] = rows["reply"].unique()
        read = parse(reply, DIMENSIONS)
        for row in rows.to_dict("records"):
            shown = row["shown"] if isinstance(row["shown"], str) else None
            assert (read.choices[row["dimension"]], read.status_of(row["dimension"])) == (shown, row["status"]), reply
    assert set(mine["status"]) == {"ok", "repaired", "unparsed"}
    assert 0.03 < (mine["status"] == "repaired").mean() < 0.25
    assert mine["reply"].str.contains("SIMULATED").mean() > 0.9
