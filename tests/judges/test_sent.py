"""Tests that what is shown as asked was sent, letter for letter; where a run does not hold it, nothing is made up."""

from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

from mrb_lib.benchmarks.benchmark import Benchmark, load, save
from mrb_lib.benchmarks.meta import BenchmarkMeta
from mrb_lib.judges.prompts import load_prompt
from mrb_lib.judges.sent import sent, shown_case
from mrb_lib.judges.settings import Settings
from mrb_lib.runs.execute import judge
from mrb_lib.tables.schema import ORDERS
from mrb_lib.verdicts.manifest import Manifest, read_manifest
from tests.judges.endpoint.chat_server import ChatServer, message

DIMENSIONS = ("accuracy", "overall")
CASE = pd.Series(
    {
        "case_id": "x",
        "question": "Where? <|im_end|>",
        "response_a": "left {{ key }}",
        "response_b": "right",
        "images": [],
    }
)


def in_orders(case: pd.Series) -> dict[str, pd.Series]:
    return {order: shown_case(case, order) for order in ORDERS}


def manifest_of(prompt: str, **values: object) -> Manifest:
    template = load_prompt(prompt)
    spec = {"engine": "endpoint", "images": True, "dimensions": list(DIMENSIONS)}
    usual = {"spec": spec, "prompt_id": template.id, "prompt_hash": template.hash, "prompt_text": template.text}
    return Manifest("r", "j", **(usual | values))


@pytest.fixture
def benchmark(tmp_path: Path) -> Benchmark:
    cases = pd.DataFrame([CASE.drop("images").to_dict()])
    votes = pd.DataFrame(
        [("x", "r1", name, "A") for name in DIMENSIONS], columns=["case_id", "annotator", "dimension", "choice"]
    )
    save(Benchmark(BenchmarkMeta("one", "general", DIMENSIONS), cases, votes), tmp_path / "bench")
    return load(tmp_path / "bench")


def test_columns_of_a_source_that_are_called_as_a_plans_are_left_out() -> None:
    forged = {"context_examples": "not JSON", "context_reference": "x", "context_evidence": "x", "item_responses": "x"}
    for order in ORDERS:
        pd.testing.assert_series_equal(
            shown_case(pd.Series({**CASE, **forged}), order), shown_case(CASE, order), check_names=False
        )


@pytest.mark.parametrize("categories", [("A", "tie", "B"), ("A", "B")])
@pytest.mark.parametrize("prompt", ["official-form", "plain", "reasoned", "single"])
def test_it_is_what_the_server_was_sent(
    benchmark: Benchmark, tmp_path: Path, prompt: str, categories: tuple[str, ...]
) -> None:
    benchmark = replace(benchmark, meta=replace(benchmark.meta, categories=categories))
    with ChatServer(lambda _: message('{"accuracy": "A", "overall": "B"}')) as server:
        [summary] = judge(
            benchmark, tmp_path / "runs", ["endpoint:m"], settings=Settings(url=server.url, prompt=prompt)
        )
        received = {one.body["messages"][0]["content"] for one in server.received}
    manifest, case = read_manifest(summary.folder), benchmark.cases.iloc[0]
    written = {sent(manifest, in_orders(case), order, dimension).text for order in ORDERS for dimension in DIMENSIONS}
    assert written == received
    assert len(written) == (4 if prompt == "single" else 2)
    assert any('"tie"' in text for text in written) == (prompt != "single" and "tie" in categories)


def test_the_images_are_named_where_the_judge_saw_them() -> None:
    case = pd.Series({**CASE, "images": ["a.png", "b.png"]})
    seen = sent(manifest_of("plain"), in_orders(case), "AB", "overall")
    assert list(seen.images) == ["a.png", "b.png"]
    assert "about medical images" in seen.text
    blind = manifest_of("plain", spec={"engine": "endpoint", "images": False, "dimensions": list(DIMENSIONS)})
    unseen = sent(blind, in_orders(case), "AB", "overall")
    assert list(unseen.images) == []
    assert "image" not in unseen.text


def test_a_rating_asks_about_each_response_and_a_local_run_says_what_it_does_not_hold() -> None:
    manifest = manifest_of("rating", spec={"engine": "rating", "dimensions": list(DIMENSIONS)})
    asked = sent(manifest, in_orders(CASE), "BA", "overall")
    assert asked.text.count("from 1 (worst) to 5 (best)") == 2
    assert asked.text.index("right") < asked.text.index("left")
    assert "chat template" in asked.note


@pytest.mark.parametrize(
    ("manifest", "probe", "words"),
    [
        (Manifest("r", "j", source="a table"), "none", "the run does not say"),
        (Manifest("r", "longer", spec={"engine": "heuristic"}), "none", "takes no prompt"),
        (manifest_of("reference"), "none", "nothing was asked: the case has no reference answer"),
        (manifest_of("plain"), "swapped", "the probe swapped changed the case before it was shown"),
    ],
)
def test_what_a_run_does_not_hold_is_not_guessed(manifest: Manifest, probe: str, words: str) -> None:
    asked = sent(manifest, in_orders(CASE), "AB", "overall", probe)
    assert asked.text == ""
    assert words in asked.note


HEAD = "{# asks: all #}\n{% block case %}{{ question }}"
TAIL = "{% endblock %}{% block responses %}{{ first }}{{ second }}{% endblock %}{% block ask %}?{% endblock %}"


def test_another_template_under_the_same_hash_is_not_filled_in() -> None:
    endless = f"{HEAD}{{% for a in range(99999) %}}{{% for b in range(99999) %}}x{{% endfor %}}{{% endfor %}}{TAIL}"
    for changed in (load_prompt("plain").text.replace("better", "worse"), endless):
        asked = sent(replace(manifest_of("plain"), prompt_text=changed), in_orders(CASE), "AB", "overall")
        assert asked.text == changed
        assert "not filled in" in asked.note
