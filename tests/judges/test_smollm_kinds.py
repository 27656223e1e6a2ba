"""Every kind of verdict from a real model, SmolLM2-135M: its weights here, and through a real server."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest

from mrb_lib.data.benchmark import Benchmark, load, save
from mrb_lib.data.meta import BenchmarkMeta
from mrb_lib.judges.settings import Settings
from mrb_lib.runs.execute import judge
from mrb_lib.schema import STATUSES
from mrb_lib.verdicts.store import load_verdicts

pytestmark = pytest.mark.slow

RISKS = ("no risk", "low risk", "high risk")
ANSWERS = ("Vitamin C, found in citrus fruit.", "Vitamin K.", "Scurvy is caused by a virus.")
RUBRIC = json.dumps([{"criterion": "Names vitamin C", "weight": 2}, {"criterion": "Is short", "weight": 1}])


def _saved(meta: BenchmarkMeta, cases: pd.DataFrame, choice: str, folder: Path) -> Benchmark:
    votes = [(case, "r1", name, choice) for case in cases["case_id"] for name in meta.dimensions]
    annotations = pd.DataFrame(votes, columns=["case_id", "annotator", "dimension", "choice"])
    save(Benchmark(meta, cases, annotations), folder)
    return load(folder)


@pytest.fixture(scope="module")
def rated(tmp_path_factory: pytest.TempPathFactory) -> Benchmark:
    """Three responses to be rated, one after an earlier step."""
    cases = pd.DataFrame({"case_id": ["x", "y", "z"], "question": "What prevents scurvy?", "response_a": ANSWERS})
    cases["before"] = [None, "Scurvy is a lack of a vitamin.", None]
    return _saved(
        BenchmarkMeta("risk", "general", ("harm",), RISKS, "ordinal", "rating"),
        cases,
        RISKS[0],
        tmp_path_factory.mktemp("rated"),
    )


@pytest.fixture(scope="module")
def paired(tmp_path_factory: pytest.TempPathFactory) -> Benchmark:
    """The pairs of three responses to one question, and of two to another, which is of the split train."""
    pairs = [("ab", 0, 1), ("ac", 0, 2), ("bc", 1, 2)]
    cases = pd.DataFrame(
        [("i", name, "What prevents scurvy?", ANSWERS[a], ANSWERS[b], "test") for name, a, b in pairs]
        + [("t", "t", "Which organ pumps blood?", "The heart.", "The liver does, I think.", "train")],
        columns=["item", "case_id", "question", "response_a", "response_b", "split"],
    )
    cases = cases.assign(rubric=RUBRIC, reference=ANSWERS[0], reference_weak=ANSWERS[1], evidence="Limes were given.")
    return _saved(BenchmarkMeta("pairs", "general", ("overall",)), cases, "A", tmp_path_factory.mktemp("paired"))


def _verdicts(bench: Benchmark, runs: Path, name: str, **settings: object) -> pd.DataFrame:
    judge(bench, runs, [name], settings=Settings(**{"without_images": True, "max_new_tokens": 24, **settings}))
    return load_verdicts(runs, bench.cases, replies=True)


@pytest.mark.parametrize("engine", ["packed", "rating", "generative"])
def test_ratings_from_its_weights(engine: str, smollm: Path, rated: Benchmark, tmp_path: Path) -> None:
    said = _verdicts(rated, tmp_path / "runs", f"path:{smollm}+{engine}")
    assert len(said) == 3
    assert said["choice"].dropna().isin(RISKS).all()
    if engine == "generative":
        assert said["reply"].str.len().min() > 0
        assert set(said["status"]) <= set(STATUSES) - {"error"}
        return
    shares = pd.DataFrame(said["p_categories"].map(json.loads).tolist())
    assert set(said["status"]) == {"ok"}
    assert (shares.sum(axis=1) - 1).abs().max() < 1e-6
    assert ((shares @ [1, 2, 3]) - said["score_a"]).abs().max() < 1e-6


def test_ratings_through_a_server_that_is_held_to_the_categories(
    smollm_server: str, rated: Benchmark, tmp_path: Path
) -> None:
    said = _verdicts(rated, tmp_path / "runs", "endpoint:smollm", url=smollm_server)
    assert said["choice"].isin(RISKS).all(), said[["status", "reply"]]


@pytest.mark.parametrize("at_server", [False, True])
def test_a_ranking_is_one_reply_for_all_pairs(
    at_server: bool, smollm: Path, smollm_server: str, paired: Benchmark, tmp_path: Path
) -> None:
    name, own = ("endpoint:smollm+batch", {"url": smollm_server}) if at_server else (f"path:{smollm}+batch", {})
    said = _verdicts(paired, tmp_path / "runs", name, **own)
    assert len(said) == 8
    assert not said["status"].eq("error").any(), said["error"]
    item = said[said["case_id"] != "t"]
    assert item["reply"].nunique() <= 2
    assert item["prompt_tokens"].notna().sum() == 2, "what a prompt took is counted once"


def test_a_rubric_is_decided_point_by_point(
    smollm: Path, smollm_server: str, paired: Benchmark, tmp_path: Path
) -> None:
    packed = _verdicts(paired, tmp_path / "packed", f"path:{smollm}+rubric")
    assert packed["status"].isin(["ok", "unparsed"]).all()
    assert packed["score_a"].between(0, 1).all()
    assert packed.groupby("case_id")["choice"].nunique(dropna=False).max() == 1, "both orders have the same points"
    for name, own in ((f"path:{smollm}+generative", {}), ("endpoint:smollm", {"url": smollm_server})):
        said = _verdicts(paired, tmp_path / name[:4], name, prompt="criteria", **own)
        assert len(said) == 8
        assert not said["status"].eq("error").any()


@pytest.fixture(scope="module")
def plain(smollm: Path, paired: Benchmark, tmp_path_factory: pytest.TempPathFactory) -> pd.DataFrame:
    """The verdicts on the pairs with nothing shown beside them."""
    return _verdicts(paired, tmp_path_factory.mktemp("plain"), f"path:{smollm}+packed")


@pytest.mark.parametrize("shown", [{"reference": "weak", "evidence": True}, {"examples": 1}], ids=str)
def test_what_is_shown_beside_a_case_is_read(
    shown: dict[str, object], smollm: Path, paired: Benchmark, plain: pd.DataFrame, tmp_path: Path
) -> None:
    said = _verdicts(paired, tmp_path / "runs", f"path:{smollm}+packed", **shown)
    assert len(said) == (6 if "examples" in shown else 8), "training cases are examples and are not judged"
    assert said["p_a"].between(0, 1, inclusive="neither").all()
    assert said["prompt_tokens"].sum() / len(said) > plain["prompt_tokens"].sum() / len(plain) + 5
