"""The failure explorer on ratings: one response, the benchmark's categories, and nothing about orders or letters."""

import re
from pathlib import Path
from typing import Any

import pytest

from mrb_lib.benchmarks.benchmark import load
from mrb_lib.review.explorer.answers import ExplorerAnswers
from mrb_lib.review.failures.index import build_index, open_index
from mrb_lib.tables.errors import InputError
from mrb_lib.verdicts.store import load_verdicts
from tests.rated import ERRORS, RISK, write_labels, write_rating
from tests.review.explorer.asking import exported, opened, rows_of, sight


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_rating(tmp_path_factory.mktemp("rated"))


@pytest.fixture
def answers(bench: Path, tmp_path: Path) -> ExplorerAnswers:
    benchmark = load(bench)
    index = open_index(build_index(bench / "runs", benchmark, tmp_path / "index"))
    return opened(benchmark, index, tmp_path / "reviews.sqlite")


def _case(answers: ExplorerAnswers, position: int, **more: Any) -> dict[str, Any]:
    return answers.case({"position": position, **more})


def test_it_opens_with_the_kinds_sorts_and_choices_of_ratings(answers: ExplorerAnswers) -> None:
    about = answers.initial_state({})
    assert about["rated"] is True
    assert [one["value"] for one in about["choices"]] == list(RISK)
    assert [one["key"] for one in about["choices"]] == ["A", "B", "D", "E"]
    assert "inconsistent" not in about["kinds"] and "order effect" not in about["reasons"]
    assert {"off_by_one", "off_by_more", "unsafe_called_safe", "safe_called_unsafe", "apart"} <= set(about["kinds"])
    assert about["sorts"] == ["distance", "confidence", "disagreement"]


def test_a_case_shows_one_response_each_category_s_probability_and_the_expectation(answers: ExplorerAnswers) -> None:
    shown = _case(answers, 2)["html"]
    assert shown.count('data-mrb="answer"') == 1
    assert "Response B" not in shown and "A first" not in shown and "turned" not in shown
    row = shown.split('data-mrb="probabilities"')[1].split("always-safe")[1].split("</tr>")[0]
    cells = [re.sub("<[^>]*>", "", cell) for cell in row.split("<td")[1:]]
    assert [cell.split(">")[-1] for cell in cells] == ["overall", "0.90", "0.03", "0.03", "0.03", "1.20"]
    assert "What the categories mean" in shown
    assert "too low" in shown, "gold is Moderate risk or near it, and a judge says No risk"


@pytest.fixture
def of_labels(tmp_path: Path) -> ExplorerAnswers:
    bench = write_labels(tmp_path)
    benchmark = load(bench)
    return opened(benchmark, load_verdicts(bench / "runs", benchmark.cases), tmp_path / "reviews.sqlite")


def _label_rows(html: str) -> dict[str, list[str]]:
    """By label, the words of its cells."""
    table = html.split('data-mrb="labels"')[1].split("</table>")[0]
    rows = [re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row) for row in table.split("<tr>")[2:]]
    return {re.sub("<[^>]*>", "", name): [re.sub("<[^>]*>", "", cell) for cell in cells] for name, *cells in rows}


def test_a_case_shows_who_gave_each_label_and_its_probability(of_labels: ExplorerAnswers) -> None:
    data = of_labels.data
    for position, case in enumerate(data.benchmark.cases["case_id"]):
        rows = _label_rows(_case(of_labels, position)["html"])
        assert list(rows) == list(ERRORS)
        own = data.benchmark.annotations
        own = own[(own["case_id"] == case) & (own["dimension"] == "errors")]
        truth = set(own["choice"].iloc[0].split("; "))
        for name, (label, people, judge) in rows.items():
            assert label == ("yes" if name in truth else "no")
            assert people == ("3 of 3: Dr A, Dr B, Dr C" if name in truth else "0 of 3")
            given = name in truth or name == ERRORS[0]
            assert judge == f"{'yes 0.75' if given else 'no 0.12'} {'✓' if given == (name in truth) else '✗'}"
    shown = _case(of_labels, 0)["html"]
    assert "left where the image shows right" in shown, "what a label means"
    votes = shown.split("Annotators</h")[1].split("Judges</h")[0]
    assert "overall" in votes and ERRORS[0] not in votes.split("<details")[0], "not among the votes for a category"


def test_dimensions_of_several_labels_are_no_failures_and_nobody_adjudicates_them(of_labels: ExplorerAnswers) -> None:
    about = of_labels.initial_state({"fragment": "#dimension=errors"})
    assert about["dimensions"] == ["overall"]
    assert "errors" in about["trouble"]
    case = _case(of_labels, 2, judge="near")
    assert "wrong side" not in case["view"]
    entries = {**sight(of_labels, 2), "reviewer": "Dr R", "verdict": "ambiguous", "adjudication_id": "a" * 12}
    with pytest.raises(InputError, match="'errors' is not one of this benchmark"):
        of_labels.save(entries | {"dimension": "errors"})
    assert of_labels.save(entries | {"dimension": "overall"})["saved"]
    assert "gold errors" not in exported(of_labels, {"judge": "near"})


def test_the_files_of_a_selection_have_one_response(answers: ExplorerAnswers) -> None:
    rows = rows_of(exported(answers, {"judge": "always-safe", "kind": ["off_by_more"]}))
    assert "response_b" not in rows[0]
    assert {row["always-safe: overall"] for row in rows} == {"No risk"}
    assert all("off_by_more" in row["kinds"] for row in rows)
