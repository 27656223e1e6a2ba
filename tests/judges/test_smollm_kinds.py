"""Every kind of verdict from a real model, SmolLM2-135M: its weights here, and through a real server."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path

import pandas as pd
import pytest

from mrb_lib.benchmarks.benchmark import Benchmark, load, save
from mrb_lib.benchmarks.meta import BenchmarkMeta
from mrb_lib.judges.local import base
from mrb_lib.judges.local.packed import PackedJudge
from mrb_lib.judges.local.reader import TreeReader
from mrb_lib.judges.settings import Settings
from mrb_lib.runs.execute import judge
from mrb_lib.tables.schema import ORDERS, STATUSES
from mrb_lib.verdicts.store import load_verdicts

pytestmark = pytest.mark.slow

RISKS = ("no risk", "low risk", "high risk")
ANSWERS = ("Vitamin C, found in citrus fruit.", "Vitamin K.", "Scurvy is caused by a virus.")
RUBRIC = json.dumps([{"criterion": "Names vitamin C", "weight": 2}, {"criterion": "Is short", "weight": 1}])


@pytest.fixture(scope="module", autouse=True)
def _weights_are_loaded_once(smollm_packed: PackedJudge) -> Iterator[None]:
    """To load them, and to try how they can be read, takes longer than to judge; test_smollm.py looks at both."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(base, "load_checkpoint", lambda *_, **__: smollm_packed.weights)
        patch.setattr(TreeReader, "_check", lambda _: None)
        yield


def _saved(meta: BenchmarkMeta, cases: pd.DataFrame, choice: str, folder: Path) -> Benchmark:
    votes = [(case, "r1", name, choice) for case in cases["case_id"] for name in meta.dimensions]
    annotations = pd.DataFrame(votes, columns=["case_id", "annotator", "dimension", "choice"])
    save(Benchmark(meta, cases, annotations), folder)
    return load(folder)


@pytest.fixture(scope="module")
def rated(tmp_path_factory: pytest.TempPathFactory) -> Benchmark:
    """A response to be rated, after an earlier step."""
    cases = pd.DataFrame({"case_id": ["x"], "question": "What prevents scurvy?", "response_a": ANSWERS[1]})
    cases["before"] = "Scurvy is a lack of a vitamin."
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


@pytest.fixture(scope="module")
def two(paired: Benchmark, tmp_path_factory: pytest.TempPathFactory) -> Benchmark:
    """One pair of the first question, and that of the split train."""
    cases = paired.cases[paired.cases["case_id"].isin(["ab", "t"])]
    return _saved(paired.meta, cases, "A", tmp_path_factory.mktemp("two"))


def _verdicts(
    bench: Benchmark,
    runs: Path,
    name: str,
    limit: int | None = None,
    orders: Sequence[str] = ("AB",),
    **settings: object,
) -> pd.DataFrame:
    """The verdicts of a run; a reply is cut short where only how it is asked for and kept is looked at."""
    chosen = Settings(**{"without_images": True, "max_new_tokens": 6, **settings})
    judge(bench, runs, [name], orders=orders, limit=limit, settings=chosen)
    return load_verdicts(runs, bench.cases, replies=True)


@pytest.mark.parametrize("engine", ["packed", "rating", "generative"])
def test_ratings_from_its_weights(engine: str, smollm: Path, rated: Benchmark, tmp_path: Path) -> None:
    said = _verdicts(rated, tmp_path / "runs", f"path:{smollm}+{engine}")
    assert len(said) == 1
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
    said = _verdicts(rated, tmp_path / "runs", "endpoint:smollm", url=smollm_server, max_new_tokens=24)
    assert said["choice"].isin(RISKS).all(), said[["status", "reply"]]


@pytest.mark.parametrize("at_server", [False, True])
def test_a_ranking_is_one_reply_for_all_pairs(
    at_server: bool, smollm: Path, smollm_server: str, paired: Benchmark, tmp_path: Path
) -> None:
    name, own = ("endpoint:smollm+batch", {"url": smollm_server}) if at_server else (f"path:{smollm}+batch", {})
    said = _verdicts(paired, tmp_path / "runs", name, limit=3, orders=ORDERS, **own)
    assert len(said) == 6
    assert not said["status"].eq("error").any(), said["error"]
    assert said["reply"].nunique() <= 2
    assert said["prompt_tokens"].notna().sum() == 2, "what a prompt took is counted once"


def test_a_rubric_is_decided_point_by_point(
    smollm: Path, smollm_server: str, paired: Benchmark, tmp_path: Path
) -> None:
    packed = _verdicts(paired, tmp_path / "packed", f"path:{smollm}+rubric", limit=1, orders=ORDERS)
    assert len(packed) == 2
    assert packed["status"].isin(["ok", "unparsed"]).all()
    assert packed["score_a"].between(0, 1).all()
    assert packed.groupby("case_id")["choice"].nunique(dropna=False).max() == 1, "both orders have the same points"
    said = _verdicts(paired, tmp_path / "served", "endpoint:smollm", limit=1, prompt="criteria", url=smollm_server)
    assert len(said) == 1
    assert not said["status"].eq("error").any()


@pytest.fixture(scope="module")
def plain(smollm: Path, two: Benchmark, tmp_path_factory: pytest.TempPathFactory) -> pd.DataFrame:
    """The verdicts on a pair with nothing shown beside it."""
    return _verdicts(two, tmp_path_factory.mktemp("plain"), f"path:{smollm}+packed", limit=1)


@pytest.mark.parametrize("shown", [{"reference": "weak", "evidence": True}, {"examples": 1}], ids=str)
def test_what_is_shown_beside_a_case_is_read(
    shown: dict[str, object], smollm: Path, two: Benchmark, plain: pd.DataFrame, tmp_path: Path
) -> None:
    said = _verdicts(two, tmp_path / "runs", f"path:{smollm}+packed", limit=2 if "examples" in shown else 1, **shown)
    assert len(said) == 1, "training cases are examples and are not judged"
    assert said["p_a"].between(0, 1, inclusive="neither").all()
    assert said["prompt_tokens"].sum() > plain["prompt_tokens"].sum() + 5
