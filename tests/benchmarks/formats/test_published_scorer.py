"""The published scorer, fed with our export, gives our numbers; where it does not, by which of its defects."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from mrb_lib.benchmarks.benchmark import Benchmark
from mrb_lib.benchmarks.formats import Imported
from mrb_lib.benchmarks.formats.official import write
from mrb_lib.benchmarks.votes import gold
from mrb_lib.tables.schema import DIMENSIONS
from tests.stats.small_tables import accuracy

from .conftest import judged
from .published_scorer import normalized, scores

UNREADABLE = ("No verdict is possible here.", "The picture cannot be judged.")


def drawn(case_ids: list[str], *, seed: int, tied: str = "", lost: float = 0.0) -> pd.DataFrame:
    """Verdicts as a judge that is asked by `official-form` gives them, read by our parser from its replies.

    Parameters
    ----------
    tied : the dimension on which every third case is a tie, though none was offered
    lost : the share of replies that hold no verdict
    """
    rng = np.random.default_rng(seed)
    replies = []
    for i in range(len(case_ids)):
        choices = {name: str(rng.choice(["A", "B"])) for name in DIMENSIONS}
        if tied and i % 3 == 0:
            choices[tied] = "tie"
        reply = json.dumps({**choices, "reason": "The first names the side, the second does not."})
        replies.append(UNREADABLE[i % len(UNREADABLE)] if rng.random() < lost else reply)
    return judged(case_ids, replies, offered=("A", "B"))


def ours(benchmark: Benchmark, verdicts: pd.DataFrame) -> dict[tuple[str, str], float]:
    table = accuracy(verdicts, gold(benchmark), benchmark.cases, policy="official", by="organ", resamples=0)
    parts = table[table["subfield"].notna()]
    assert set(parts["n"] + parts["n_excluded"]) == {6, 8}, "every case of ground truth counts"
    return dict(zip(zip(parts["subfield"], parts["dimension"], strict=True), parts["accuracy"], strict=True))


@pytest.mark.parametrize("lost", [0.0, 0.3])
@pytest.mark.parametrize("keeps_replies", [True, False])
def test_the_published_scorer_gives_our_accuracy_by_organ_and_dimension(
    sample: Imported, tmp_path: Path, lost: float, keeps_replies: bool
) -> None:
    verdicts = drawn(sample.benchmark.cases["case_id"].tolist(), seed=1, lost=lost)
    assert verdicts["choice"].isna().any() == (lost > 0)
    written = verdicts if keeps_replies else verdicts.assign(reply=pd.Series(None, index=verdicts.index, dtype="str"))
    write(sample.benchmark, written, tmp_path)
    theirs = scores(tmp_path, "J")
    assert len(theirs) == 3 * 6
    assert theirs == pytest.approx(ours(sample.benchmark, written))
    assert len(set(theirs.values())) > 4


def test_a_tie_in_one_dimension_loses_all_six_there_and_one_here(sample: Imported, tmp_path: Path) -> None:
    verdicts = drawn(sample.benchmark.cases["case_id"].tolist(), seed=2, tied="creativity")
    write(sample.benchmark, verdicts, tmp_path)
    theirs, mine = scores(tmp_path, "J"), ours(sample.benchmark, verdicts)
    label = gold(sample.benchmark).rename(columns={"choice": "label"})[["case_id", "dimension", "label"]]
    rows = verdicts.merge(label, on=["case_id", "dimension"]).merge(
        sample.benchmark.cases[["case_id", "organ"]], on="case_id"
    )
    tied = set(rows.loc[(rows["dimension"] == "creativity") & rows["choice"].isna(), "case_id"])
    assert len(tied) == 7, "every third of twenty"
    rows["lost"] = rows["case_id"].isin(tied) & (rows["choice"] == rows["label"])
    counts = rows.groupby(["organ", "dimension"])["lost"].sum()
    n = sample.benchmark.cases["organ"].value_counts()
    assert 0 < counts.sum() <= 7 * 5, "verdicts that are right here and dropped there"
    for (organ, dimension), number in counts.items():
        assert mine[organ, dimension] - theirs[organ, dimension] == pytest.approx(number / n[organ])
        assert number == 0 or dimension != "creativity"


def test_it_has_the_defects_by_which_it_is_known() -> None:
    """Otherwise the comparison above would be with a scorer of our own."""
    all_a, all_b = dict.fromkeys(DIMENSIONS, "A"), dict.fromkeys(DIMENSIONS, "B")
    assert normalized("I could not find a difference between the answers.") == all_a
    assert normalized("I choose B because it has a clearer description.") is None
    assert normalized("consistent with hepatitis B.") == all_b
    assert normalized(json.dumps(dict.fromkeys(DIMENSIONS, "Assistant B"))) == all_a
    assert normalized(json.dumps(dict.fromkeys(DIMENSIONS, "A|B"))) == all_a
    assert normalized("Option [[A]] is worse; the final verdict is [[B]].") == all_a
    assert normalized(f"{json.dumps(all_a)} No: {json.dumps(all_b)}") == all_a
    assert normalized(json.dumps(all_b | {"overall": "tie"})) is None
    assert normalized("\n".join(f"**{name}**: B" for name in DIMENSIONS)) is None
    assert normalized(str(all_b)) is None
