"""Tests of what the roster file promises: one form, and a public page behind every model."""

import re
from collections import Counter

from mrb_lib.judges.roster import entries

ENGINES = {"packed", "generative", "reward", "endpoint", "vllm", "sglang"}
PUBLISHED = (
    "llava-1.5-13b", "llava-1.6-vicuna-13b", "llava-1.6-34b", "minicpm-v-2.5", "llama-3.2-90b-vision", "molmo-7b-d",
    "internvl3-78b", "med-r1", "medgemma-1.5-4b", "glm-4.6v", "gemini-2.5-pro", "glm-4.5v", "gpt-4o-mini", "gpt-4.1",
    "gpt-5", "o3", "claude-3.5-sonnet", "claude-3.7-sonnet", "claude-sonnet-4", "claude-opus-4.5", "gemini-1.5-pro",
)  # fmt: skip
JUDGES = {judge.name: judge for judge in entries()}
MODELS = [judge for judge in JUDGES.values() if judge.access != "built in"]


def twice(names: list[object]) -> list[object]:
    return [name for name, count in Counter(names).items() if count > 1]


def test_no_model_is_listed_twice_and_those_of_one_repository_each_say_their_folder() -> None:
    assert not twice([(judge.model, judge.subfolder) for judge in MODELS])
    shared = twice([judge.model for judge in MODELS])
    assert "yuxianglai117/Med-R1" in shared
    assert all(judge.subfolder for judge in MODELS if judge.model in shared)


def test_the_judges_asked_for_by_name_are_there() -> None:
    assert set(PUBLISHED) <= set(JUDGES)


def test_a_base_is_an_open_judge_and_no_judge_descends_from_itself() -> None:
    for judge in MODELS:
        line = [judge]
        while line[-1].base is not None:
            line.append(JUDGES[line[-1].base])
            assert len({one.name for one in line}) == len(line), line
        assert len(line) == 1 or {one.access for one in line} == {"open"}


def test_no_two_judges_go_by_one_name() -> None:
    more = [
        name.casefold()
        for judge in MODELS
        for name in (*judge.aliases, *judge.tuned_as)
        if name.casefold() not in (judge.name, str(judge.model).casefold())
    ]
    assert not twice([*JUDGES, *more])


def test_a_name_is_a_slug_that_no_other_judge_name_can_be_mistaken_for() -> None:
    # ":" and "+" and "," belong to `path:DIR`, `NAME+ENGINE` and juries.
    assert not [name for name in JUDGES if not re.fullmatch(r"[a-z0-9]+(?:[.-][a-z0-9]+)*", name)]


def test_what_is_stated_of_a_model_is_complete() -> None:
    for judge in MODELS:
        facts = (judge.model, judge.family, judge.access, judge.domain, judge.vision, judge.about, judge.source)
        assert None not in facts, judge.name
        assert re.fullmatch(r"https://[^\s/]+\.[a-z]+/\S+", str(judge.source))
        assert judge.engine in ENGINES
        stated = re.match(r"([\d.]+)([BM])", judge.size or "")
        if stated and judge.parameters:
            size = float(stated[1]) * {"B": 1.0, "M": 1e-3}[stated[2]]
            # A published size rounds and often counts the language model alone (Qwen2.5-VL "3B" is shown as
            # 4B by the Hub), so the weights may hold up to 35% more, but hardly less.
            assert 0.85 <= judge.parameters / size <= 1.35, judge.name


def test_an_open_model_is_on_the_hub_and_a_proprietary_one_says_where_it_is_and_what_holds_its_key() -> None:
    for judge in MODELS:
        if judge.access == "open":
            assert re.fullmatch(r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*", str(judge.model))
            assert judge.engine != "endpoint" and judge.billions, judge.name
            assert (judge.base_url, judge.key_env) == (None, None)
        else:
            assert judge.engine == "endpoint"
            assert re.fullmatch(r"https://[a-z0-9.-]+\.[a-z]+/\S*", str(judge.base_url))
            assert re.fullmatch(r"[A-Z][A-Z0-9_]*", str(judge.key_env))
            assert (judge.remote_code, judge.gated, judge.parameters) == (None, None, None)
            assert judge.thinking or judge.name == "gpt-4o"


def test_the_engine_of_a_model_can_read_it_and_what_it_needs_is_said() -> None:
    for judge in MODELS:
        if judge.engine == "packed":  # what always reasons is not read before it has reasoned
            assert judge.remote_code is False and judge.thinking != "always", judge.name
        if judge.remote_code:  # this library cannot show images to code that it does not know
            assert judge.engine in {"vllm", "sglang"} and "--trust-remote-code" in str(judge.needs), judge.name
        assert (judge.engine == "reward") == (judge.domain == "reward"), judge.name
        assert not judge.gated or "agreement" in str(judge.needs), judge.name
