"""Tests of what `mrb doctor` and `mrb judges` show."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from mrb_lib.judges.roster.machine import Gpu, Machine
from mrb_lib.judges.roster.roster import ROSTER_COLUMNS, roster

from .conftest import Mrb

MINE = '[[judge]]\nname = "mine"\nengine = "packed"\npath = "weights"\nparameters = 0.5\nfamily = "Home"\n'


@pytest.fixture(autouse=True)
def surroundings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An empty cache, no roster of the user's, and a machine with a GPU of 40 GB that lacks an extra."""
    from huggingface_hub import constants

    gpus = (Gpu("chip", 40.0, 39.0),)
    machine = Machine(4, 32.0, gpus, {"python": "3"}, {"judges": (), "scaleout": ("ray",)}, ("a warning",))
    monkeypatch.setattr("mrb_lib.judges.roster.machine.inspect_machine", lambda: machine)
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setenv("HF_TOKEN", "hf_the_secret_token")
    monkeypatch.setenv("HF_ENDPOINT", "http://user:password@mirror.example:80")
    monkeypatch.delenv("MRB_ROSTER", raising=False)
    for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def mine(tmp_path: Path) -> Path:
    (tmp_path / "mine.toml").write_text(MINE, encoding="utf-8")
    return tmp_path / "mine.toml"


def test_doctor_names_what_there_is_what_is_missing_and_what_fits(
    mrb: Mrb, mine: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "the secret")
    monkeypatch.setattr(os, "access", lambda path, mode, **_: mode != os.W_OK)
    result = mrb("doctor", "--roster", mine).ok
    said = " ".join(result.out.split())  # lines break where the paths of the moment make them long
    for part in (
        "chip, 40.0 GB, 39.0 GB free",
        "scaleout lacks ray: pip install 'mrb-workbench[scaleout]'",
        "offline (HF_HUB_OFFLINE is set)",
        "Hub http://mirror.example:80, offline (HF_HUB_OFFLINE is set), token set",
        f"{tmp_path / 'cache'}, NOT writable",
        "OPENAI_API_KEY not set",
        "ANTHROPIC_API_KEY set",
        "a warning",
    ):
        assert part in said
    [line] = [line for line in result.out.splitlines() if line.startswith("mine ")]
    assert line.split() == ["mine", "1.0", "GPU", "bfloat16", "1.2", "-", "no", "-"]
    assert max(map(len, result.out.splitlines())) <= 100
    last = result.out.rpartition("\nnext ")[2]
    assert "mrb judge BENCH RUNS --judge path:DIR" in " ".join(last.split()), "the Hub cannot be asked"
    assert not any(secret in result.out + result.err for secret in ("the secret", "the_secret", "password"))


def test_doctor_as_json_holds_the_same_and_every_judge(mrb: Mrb, mine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "the secret")
    result = mrb("doctor", "--json", "--roster", mine)
    found = result.json
    assert found["gpus"] == [{"name": "chip", "total_gb": 40.0, "free_gb": 39.0, "peak": None}]
    keys = {judge["name"]: judge["key"] for judge in found["judges"]}
    assert (keys["gpt-4o"], keys["claude-opus-4.5"]) == ("yes", "no")
    assert [judge["name"] for judge in found["judges"]] == roster([mine])["name"].tolist()
    assert (found["hub"]["offline"], found["hub"]["token"], found["hub"]["writable"]) == (True, True, True)
    assert not any(secret in result.out + result.err for secret in ("the secret", "the_secret", "password"))


@pytest.mark.parametrize(
    ("options", "keep"),
    [
        (["--access", "Proprietary"], lambda row: row["access"] == "proprietary"),
        (["--domain", "medical", "--engine", "packed"], lambda r: (r["domain"], r["engine"]) == ("medical", "packed")),
        (["--family", "qwen3-vl"], lambda row: row["family"] == "Qwen3-VL"),
        ([], lambda row: set(row) == set(ROSTER_COLUMNS)),
    ],
)
def test_filters_keep_exactly_the_judges_they_describe(
    mrb: Mrb, options: list[str], keep: Callable[[dict[str, object]], bool]
) -> None:
    everyone = mrb("judges", "--json").rows
    result = mrb("judges", "--json", *options).ok
    assert result.rows == [row for row in everyone if keep(row)]


def test_fits_keeps_what_fits_and_says_how_with_one_command(mrb: Mrb) -> None:
    result = mrb("judges", "--fits", "--json")
    rows = {row["name"]: row for row in result.rows}
    assert {"first", "gpt-4o"} <= set(rows), "no weights, no memory"
    everyone = roster().set_index("name")["weights_gb"]
    for name, row in rows.items():
        if row["device"] is not None:
            assert row["memory_gb"] <= 40
            assert row["stored"] == ("bfloat16" if everyone[name] <= 40 / 1.2 else row["stored"])
    assert (rows["internvl3-38b"]["stored"], rows["internvl3-38b"]["options"]) == ("4bit", " --quantize 4bit")
    assert "internvl3-78b" not in rows
    assert result.err.count("mrb judge BENCH RUNS --judge") == 1
    assert "estimates: memory is the weights and 20%" in result.err


def test_clean_empties_the_caches_and_keeps_reviews_and_what_others_put_there(
    mrb: Mrb, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MRB_HOME", str(tmp_path))
    for name in ("demo/benchmark/reviews.sqlite", "report/page.html", "mine/thesis.txt"):
        (tmp_path / name).parent.mkdir(parents=True)
        (tmp_path / name).write_text("text")
    printed = mrb("doctor", "--clean").out
    assert f"{tmp_path / 'demo'}: kept" in printed and f"{tmp_path / 'report'}: 0.0 MB deleted" in printed
    assert sorted(path.name for path in tmp_path.iterdir()) == ["demo", "mine"]
