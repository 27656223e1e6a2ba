"""The coordinator sees how far everyone is and how far they agree, and what cannot be said yet is not said."""

import re
from collections.abc import Iterator
from pathlib import Path

import pandas as pd
import pytest

from mrb_lib.benchmarks.benchmark import Benchmark
from mrb_lib.review.annotate.coordination import NOT_YET, Coordination, agreement_so_far
from mrb_lib.review.records.exchange import annotations_of
from mrb_lib.review.records.marks import AnnotatorAnswer, Comment
from mrb_lib.review.records.store import Store, open_store
from tests.stats.small_tables import agreement, annotator_pairs

PEOPLE = ("Dr A", "Dr <b>B</b>")


@pytest.fixture
def store(tmp_path: Path, pictured: Benchmark) -> Iterator[Store]:
    with open_store(tmp_path / "reviews.sqlite") as opened:
        rows = [
            (case, who, place, "AB") for who in PEOPLE for place, case in enumerate(pictured.cases["case_id"].head(8))
        ]
        opened.assign(pictured.meta.name, pd.DataFrame(rows, columns=["case_id", "annotator", "position", "order"]))
        yield opened


def _answer(store: Store, benchmark: Benchmark, who: str, row: int, dimension: str, choice: str) -> None:
    case = benchmark.cases["case_id"].iloc[row]
    store.add(AnnotatorAnswer(benchmark.meta.name, case, who, dimension, choice, "AB"))


def test_before_two_have_answered_nothing_is_said_of_agreement(pictured: Benchmark, store: Store) -> None:
    empty, _ = annotations_of(pictured, store)
    found = agreement_so_far(pictured, empty)
    assert found["dimension"].tolist() == list(pictured.meta.dimensions)
    assert (found["Krippendorff's alpha"] == NOT_YET).all()
    assert found["reason"].str.len().gt(0).all()
    _answer(store, pictured, PEOPLE[0], 0, "accuracy", "A")
    found = agreement_so_far(pictured, annotations_of(pictured, store)[0]).set_index("dimension")
    assert found.loc["accuracy", "reason"] == "no case has two annotators"
    assert (found.loc["accuracy", "cases"], found.loc["accuracy", "alone"]) == (0, 1)


def _all_answer(store: Store, benchmark: Benchmark, *answers: str, dimension: str = "overall") -> None:
    """What each of the people chooses on the first cases, a letter each."""
    for who, choices in zip(PEOPLE, answers, strict=True):
        for row, choice in enumerate(choices):
            _answer(store, benchmark, who, row, dimension, "tie" if choice == "t" else choice)


def test_agreement_is_that_of_the_statistics(pictured: Benchmark, store: Store) -> None:
    _all_answer(store, pictured, "AABBABtA", "AABBBBAA")
    known, _ = annotations_of(pictured, store)
    shown = agreement_so_far(pictured, known).set_index("dimension").loc["overall"]
    truth = agreement(known, pictured.cases, dimensions=pictured.meta.dimensions).set_index("dimension").loc["overall"]
    assert shown["agreement"].startswith("0.75 (")
    alpha = [truth[f"krippendorff_alpha{end}"] for end in ("", "_low", "_high")]
    assert shown["Krippendorff's alpha"] == "{:.2f} ({:.2f} to {:.2f})".format(*alpha)


def test_the_page_shows_progress_and_skipped_cases_escaped(pictured: Benchmark, store: Store) -> None:
    name, case = pictured.meta.name, pictured.cases["case_id"].iloc[0]
    for dimension in pictured.meta.dimensions:
        store.add(
            AnnotatorAnswer(name, case, PEOPLE[1], dimension, None, "AB", skipped_reason="<script>blurred</script>")
        )
    _answer(store, pictured, PEOPLE[0], 0, "accuracy", "A")
    store.add(AnnotatorAnswer(name, case, PEOPLE[0], "charm", "A", "AB"))
    for text in ("early", "<script>late</script>"):
        store.add(Comment(name, case, PEOPLE[1], text))
    page = Coordination(pictured, store).html()
    assert page.index("&lt;script&gt;late") < page.index("early")
    assert "1 answers are about cases or dimensions that are not" in page
    assert "SIMULATED" in page
    assert "&lt;script&gt;blurred" in page
    assert "<script" not in page
    assert "<b>B</b>" not in page
    assert ", ".join(pictured.meta.dimensions) in page
    assert 'max="8" value="1"' in page
    assert "Readings finished: 1 of 16" in page


def test_only_what_has_changed_is_sent_again(pictured: Benchmark, store: Store) -> None:
    page = Coordination(pictured, store)
    first = page.overview({"change": -1})
    assert "html" in first
    assert page.overview({"change": first["change"]}) == {"change": first["change"]}
    _answer(store, pictured, PEOPLE[0], 0, "accuracy", "A")
    again = page.overview({"change": first["change"]})
    assert again["change"] > first["change"]
    assert "annotations: 1" in again["html"]


def test_pairs_are_those_of_the_statistics_and_an_undefined_kappa_says_why(pictured: Benchmark, store: Store) -> None:
    assert "No two annotators have answered the same case yet" in Coordination(pictured, store).html()
    _all_answer(store, pictured, "AABBABAA", "AABBBBAA")
    _all_answer(store, pictured, "A" * 8, "A" * 8, dimension="accuracy")
    pairs = _part(Coordination(pictured, store).html(), "Agreement of pairs")
    truth = annotator_pairs(annotations_of(pictured, store)[0], pictured.cases, resamples=0).set_index("dimension")
    of = {
        dimension: _rows(pairs.partition(f"{_LABEL}: {dimension}")[2].partition("</table>")[0])
        for dimension in ("accuracy", "overall")
    }
    assert of["accuracy"] == [["", "1.00 8 cases"], ["undefined", ""]]
    assert of["overall"] == [["", "0.88 8 cases"], [f"{truth.loc['overall', 'cohen_kappa']:.2f}", ""]]
    assert pairs.count("one category only") == 1
    assert pairs.count("fewer than 20 cases") == 2, "few cases are said, once for those that lack the same"


def test_pace_and_drift_are_told_of_each_annotator(pictured: Benchmark, store: Store) -> None:
    name, cases = pictured.meta.name, pictured.cases["case_id"]
    assert Coordination(pictured, store).html().count("Nothing is answered yet") == 2
    for row, choice in enumerate("AAAB"):
        store.add(AnnotatorAnswer(name, cases[row], "Dr A", "overall", choice, "BA", seconds=60.0))
    _answer(store, pictured, PEOPLE[1], 3, "overall", "B")
    page = Coordination(pictured, store).html()
    pace = _rows(_part(page, "Pace"))
    assert pace == [["0", "1", "0.00", "undefined", "0", "undefined"], ["4", "0", "0.07", "60", "4", "60"]]
    drift = _part(page, "Drift")
    assert _rows(drift)[2:] == [
        ["first", "2", "2", "1.00", "0.00", "0.00", "undefined", "0"],
        ["second", "2", "2", "0.50", "0.50", "0.00", "1.00", "1"],
    ]
    assert "Dr A, first half: nobody else answered these" in drift
    assert "A description and no test" in drift


_LABEL = "agreement of each pair of annotators"


def _part(html: str, heading: str) -> str:
    """What stands below a heading, up to the next."""
    return html.partition(f"<h2>{heading}</h2>")[2].partition("<h2>")[0]


def _rows(html: str) -> list[list[str]]:
    """The cells of each row of a table but the one that names it, as text."""
    rows = re.findall(r"<tr><th scope=\"row\">.*?</tr>", html, re.DOTALL)
    cells = [re.findall(r"<td>(.*?)</td>", row, re.DOTALL) for row in rows]
    return [[" ".join(re.sub(r"<[^>]+>", " ", cell).split()) for cell in row] for row in cells]
