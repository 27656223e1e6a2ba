"""Tests of what the roster file promises: one form, closed vocabularies, and a public page behind every model."""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from importlib import resources
from typing import TypeAlias

import pytest

Fact: TypeAlias = str | float | int | bool | dict[str, object] | list[str]

ENGINES = {"packed", "generative", "reward", "endpoint", "vllm", "sglang"}
PUBLISHED = (
    "llava-1.5-13b", "llava-1.6-vicuna-13b", "llava-1.6-34b", "minicpm-v-2.5", "llama-3.2-90b-vision", "molmo-7b-d",
    "internvl3-78b", "med-r1", "medgemma-1.5-4b", "glm-4.6v", "gemini-2.5-pro", "glm-4.5v", "gpt-4o-mini", "gpt-4.1",
    "gpt-5", "o3", "claude-3.5-sonnet", "claude-3.7-sonnet", "claude-sonnet-4", "claude-opus-4.5", "gemini-1.5-pro",
)  # fmt: skip


def _judges() -> list[dict[str, Fact]]:
    """Every table of the roster file, as written."""
    text = resources.files("mrb_lib.judges.roster").joinpath("roster.toml").read_text(encoding="utf-8")
    judges: list[dict[str, Fact]] = tomllib.loads(text)["judge"]
    return judges


JUDGES = _judges()
MODELS = [judge for judge in JUDGES if judge["access"] != "built in"]


def test_no_model_is_listed_twice() -> None:
    models = Counter((str(judge["model"]), judge.get("subfolder")) for judge in MODELS)
    assert [model for model, count in models.items() if count > 1] == []


def test_models_of_one_repository_each_say_their_folder() -> None:
    shared = [model for model, count in Counter(str(judge["model"]) for judge in MODELS).items() if count > 1]
    assert "yuxianglai117/Med-R1" in shared
    assert [judge["name"] for judge in MODELS if judge["model"] in shared and "subfolder" not in judge] == []


def test_the_judges_asked_for_by_name_are_there() -> None:
    assert set(PUBLISHED) - {judge["name"] for judge in MODELS} == set()


BASES = {str(judge["name"]): str(judge["base"]) for judge in JUDGES if "base" in judge}


def test_every_base_is_an_open_judge_of_the_roster() -> None:
    open_models = {judge["name"] for judge in MODELS if judge["access"] == "open"}
    assert set(BASES.values()) <= open_models
    assert set(BASES) <= open_models


def test_no_judge_descends_from_itself() -> None:
    for judge in BASES:
        line = [judge]
        while line[-1] in BASES:
            line.append(BASES[line[-1]])
            assert len(set(line)) == len(line), line


def test_no_two_judges_go_by_one_name() -> None:
    listed = [str(judge["name"]) for judge in JUDGES]
    for judge in MODELS:
        more = [*_names(judge, "aliases"), *_names(judge, "tuned_as")]
        listed += [name for name in more if name.casefold() not in (str(judge["name"]), str(judge["model"]).casefold())]
    counts = Counter(name.casefold() for name in listed)
    assert [name for name, count in counts.items() if count > 1] == []


def _names(judge: dict[str, Fact], key: str) -> list[str]:
    names = judge.get(key, [])
    assert isinstance(names, list)
    return names


@pytest.mark.parametrize("judge", JUDGES, ids=lambda judge: judge["name"])
def test_a_name_is_a_slug_that_no_other_judge_name_can_be_mistaken_for(judge: dict[str, Fact]) -> None:
    # ":" and "+" and "," belong to `path:DIR`, `NAME+ENGINE` and juries.
    assert re.fullmatch(r"[a-z0-9]+(?:[.-][a-z0-9]+)*", str(judge["name"]))


every_model = pytest.mark.parametrize("judge", MODELS, ids=lambda judge: judge["name"])


@every_model
def test_what_is_stated_of_a_model_is_complete_and_in_its_vocabulary(judge: dict[str, Fact]) -> None:
    assert {"model", "family", "access", "domain", "engine", "vision", "about", "source"} <= set(judge)
    assert re.fullmatch(r"https://[^\s/]+\.[a-z]+/\S+", str(judge["source"]))
    assert judge["engine"] in ENGINES
    stated = re.match(r"([\d.]+)([BM])", str(judge.get("size", "")))
    if stated and "parameters" in judge:
        size = float(stated[1]) * {"B": 1.0, "M": 1e-3}[stated[2]]
        # A published size rounds and often counts the language model alone (Qwen2.5-VL "3B" is shown as
        # 4B by the Hub), so the weights may hold up to 35% more, but hardly less.
        assert 0.85 <= float(str(judge["parameters"])) / size <= 1.35


@every_model
def test_an_open_model_is_on_the_hub_and_a_proprietary_one_says_where_it_is_and_what_holds_its_key(
    judge: dict[str, Fact],
) -> None:
    if judge["access"] == "open":
        assert re.fullmatch(r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*", str(judge["model"]))
        assert judge["engine"] != "endpoint"
        assert {"size", "parameters"} & set(judge)
    if judge["access"] == "proprietary":
        assert judge["engine"] == "endpoint"
        assert re.fullmatch(r"https://[a-z0-9.-]+\.[a-z]+/\S*", str(judge["base_url"]))
        assert re.fullmatch(r"[A-Z][A-Z0-9_]*", str(judge["key_env"]))
        assert not {"remote_code", "gated", "parameters"} & set(judge)
        assert "thinking" in judge or judge["name"] == "gpt-4o"
    else:
        assert not {"base_url", "key_env"} & set(judge)


@every_model
def test_the_engine_of_a_model_can_read_it_and_what_it_needs_is_said(judge: dict[str, Fact]) -> None:
    if judge["engine"] == "packed":
        assert judge["remote_code"] is False
        assert judge.get("thinking") != "always", "it is not read before it has reasoned"
    if judge.get("remote_code"):  # this library cannot show images to code that it does not know
        assert judge["engine"] in {"vllm", "sglang"}
        assert "--trust-remote-code" in str(judge["needs"])
    assert (judge["engine"] == "reward") == (judge["domain"] == "reward")
    if judge.get("gated"):
        assert "agreement" in str(judge["needs"])
