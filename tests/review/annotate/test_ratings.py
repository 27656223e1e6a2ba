"""Ratings, labels and rankings are annotated blinded, by their own keys, and come out as the benchmark has."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from mrb_lib.benchmarks.benchmark import Benchmark, load
from mrb_lib.benchmarks.meta import BenchmarkMeta
from mrb_lib.cli.annotate import deal_disputed, show_agreement, show_until
from mrb_lib.review.annotate.answers import Annotation, RankedAnnotation, ranked_items
from mrb_lib.review.annotate.coordination import Coordination, agreement_so_far
from mrb_lib.review.annotate.forms import PREFERENCE, RATING, SCREENING, keys_of
from mrb_lib.review.records.exchange import annotations_of
from mrb_lib.review.records.marks import AnnotatorAnswer
from mrb_lib.review.records.store import Store, open_store
from mrb_lib.stats.methods.until import read_target
from mrb_lib.tables.errors import InputError
from tests.rated import ERRORS, MEANINGS, RISK, write_labels, write_ranking, write_rating
from tests.review.annotate.paging import ME, ask, deal


@pytest.mark.parametrize(
    ("labels", "keys"),
    [
        (("low", "middle", "high"), "123"),
        (("0", "1", "2"), "012"),
        (("1", "2", "10"), "120"),
        (("-1", "0", "1"), "A01"),
        (tuple(map(str, range(11))), "0123456789A"),
        (tuple(f"grade {n}" for n in range(12)), "1234567890AB"),
    ],
)
def test_each_category_has_a_key_and_no_digit_stands_for_another_number(labels: tuple[str, ...], keys: str) -> None:
    assert keys_of(labels) == list(keys)


def test_a_rating_shows_one_response_and_its_own_categories_with_what_they_mean(tmp_path: Path, store: Store) -> None:
    benchmark = load(write_rating(tmp_path))
    benchmark = replace(benchmark, cases=benchmark.cases.assign(before="<b>Step 1.</b>"))
    deal(benchmark, store)
    assert set(store.assignments(benchmark.meta.name)["order"]) == {"AB"}
    page = Annotation(benchmark, store, RATING)
    about = page.initial_state({})
    assert about["dimensions"][0]["hint"] == MEANINGS["overall"]
    opened = page.open({"annotator": ME, "after": 0})
    case = benchmark.cases.set_index("case_id").loc[store.assignments(benchmark.meta.name)["case_id"].iloc[0]]
    assert opened["html"].count('data-mrb="answer"') == 1
    assert "Before it</h3>" in opened["html"] and "&lt;b&gt;Step 1." in opened["html"]
    for telling in (case["model_a"], case["dataset"]):
        assert telling not in json.dumps([about, opened])
    assert ask(page, "choose", 1, dimension="overall", pick="High risk")["answers"] == [{"pick": "High risk"}]
    with pytest.raises(InputError, match="not a choice of this benchmark"):
        ask(page, "choose", 1, dimension="overall", pick="A")
    assert "Drift" not in Coordination(benchmark, store, RATING).html()


def _ranked(tmp_path: Path, store: Store, *, ties: bool = False) -> tuple[Benchmark, RankedAnnotation]:
    benchmark = load(write_ranking(tmp_path, ties=ties))
    deal(benchmark, store, ranked=True)
    return benchmark, RankedAnnotation(benchmark, store)


def _by_text(opened: dict[str, Any]) -> list[int]:
    """Which response stands at each place of the page, by the number in its text."""
    parts = opened["html"].split("Response number ")[1:]
    return [int(part[0]) for part in parts]


def test_a_ranking_is_the_choices_on_all_pairs(tmp_path: Path, store: Store) -> None:
    benchmark, page = _ranked(tmp_path, store)
    opened = page.open({"annotator": ME, "number": 1})
    assert ask(page, "skip", 1, reason="outside my field")["answers"] == [{"skipped": "outside my field"}] * 4
    assert page.open({"annotator": ME, "number": 1})["cases"] == ["skipped", "open"], "it may be ranked later"
    assert opened["total"] == 2, "items, not pairs"
    assert [row["shown"] for row in opened["rows"]] == [f"Answer {letter}" for letter in "ABCD"]
    seen = _by_text(opened)
    assert sorted(seen) == [0, 1, 2, 3]
    assert "model-" not in json.dumps(opened)
    places = [(2, 4, 1, 3)[response] for response in seen]  # response 2 is best, then 0, 3, 1
    answers = ask(page, "choose", 1, dimension="overall", places=places, seconds=9.0)["answers"]
    assert [int(one["pick"]) for one in answers] == places, "read back from the pairs"
    found = annotations_of(benchmark, store)[0].set_index("case_id")["choice"]
    item = found.index[0].split("-")[0]
    expected = {"01": "A", "02": "B", "03": "A", "12": "B", "13": "B", "23": "A"}
    assert found.to_dict() == {f"{item}-{pair}": choice for pair, choice in expected.items()}
    kept = store.answers(benchmark.meta.name)
    assert kept["seconds"].sum() == 9.0, "the time was spent once"
    place = {str(response): at for at, response in enumerate(seen)}
    first = {case: "AB" if place[case[-2]] < place[case[-1]] else "BA" for case in found.index}
    assert dict(zip(kept["case_id"], kept["order"], strict=True)) == first, "which stood first is kept"
    assert page.open({"annotator": ME, "after": 0})["number"] == 2
    assert page.open({"annotator": ME, "after": 0})["cases"] == ["done", "open"]


def test_the_order_shown_is_the_same_again_and_another_for_others(tmp_path: Path, store: Store) -> None:
    benchmark, page = _ranked(tmp_path, store)
    again = RankedAnnotation(benchmark, store).open({"annotator": ME, "number": 1})
    assert again["html"] == page.open({"annotator": ME, "number": 1})["html"]
    item = page._items[benchmark.cases["case_id"].iloc[0]]
    assert len({tuple(item.shown(benchmark.meta.name, f"Dr {n}")) for n in range(30)}) > 10


def test_ties_are_kept_only_where_the_benchmark_has_them(tmp_path: Path, store: Store) -> None:
    benchmark, page = _ranked(tmp_path / "with", store, ties=True)
    ask(page, "choose", 1, dimension="overall", places=[1, 1, 3, 4])
    assert (annotations_of(benchmark, store)[0]["choice"] == "tie").sum() == 1
    assert [one["pick"] for one in page.open({"annotator": ME, "number": 1})["answers"]] == ["1", "1", "2", "3"]
    with open_store(tmp_path / "other.sqlite") as other:
        _, strict = _ranked(tmp_path / "without", other)
        with pytest.raises(InputError, match="no ties"):
            ask(strict, "choose", 1, dimension="overall", places=[1, 1, 2, 3])
        for places in ([1, 2, 3], [1, 2, 3, 5], [1, 2, 3, None], "1234"):
            with pytest.raises(InputError, match="needs a place from 1 to 4"):
                ask(strict, "choose", 1, dimension="overall", places=places)
        assert other.answers("ranked").empty


def test_what_cannot_be_ranked_is_refused_by_name(tmp_path: Path) -> None:
    benchmark = load(write_ranking(tmp_path))
    for words, change in {
        "case i0-01: has no item": {"item": None},
        "differ in question": {"question": [f"q{n}" for n in range(len(benchmark.cases))]},
        "its responses are equal": {"response_b": benchmark.cases["response_a"]},
        "no item has 3 responses": {"item": benchmark.cases["case_id"]},
    }.items():
        with pytest.raises(InputError, match=words):
            ranked_items(replace(benchmark, cases=benchmark.cases.assign(**change)))
    with pytest.raises(InputError, match="not preferences"):
        ranked_items(load(write_rating(tmp_path / "rating")))


def test_each_form_refuses_the_labels_of_the_other(tmp_path: Path, pictured: Benchmark) -> None:
    rated = load(write_rating(tmp_path)).meta
    for form, meta, words in (
        (PREFERENCE, rated, "only preferences"), (RATING, pictured.meta, "not ratings"),
        (SCREENING, pictured.meta, "2 to 9 labels"),
    ):  # fmt: skip
        with pytest.raises(InputError, match=words):
            form.check(meta)


@pytest.fixture
def benchmark(tmp_path: Path) -> Benchmark:
    return load(write_labels(tmp_path))


def _page(benchmark: Benchmark, store: Store) -> Annotation:
    deal(benchmark, store)
    return Annotation(benchmark, store, RATING)


@pytest.mark.parametrize(("n_categories", "n_labels", "without"), [(2, 3, 0), (10, 18, 1), (26, 26, 25), (4, 26, 3)])
def test_no_key_is_anothers_and_labels_beyond_the_keys_have_none(
    n_categories: int, n_labels: int, without: int
) -> None:
    categories, labels = (
        tuple(f"{kind}{n}" for n in range(size)) for kind, size in (("c", n_categories), ("l", n_labels))
    )
    meta = BenchmarkMeta("b", "simulated", ("risk", "errors"), categories, task="rating", labels={"errors": labels})
    keys = [one["key"] for one in (*RATING.picks(meta), *RATING.labels(meta)["errors"])]
    used = [key for key in keys if key]
    assert len(set(used)) == len(used)
    assert not set("XWKPJNGU?") & set(used), "these do something else on the page"
    assert keys.count("") == without
    assert keys[-1], "that none applies has a key"


@pytest.mark.parametrize("pick", ["", "Low risk", "none; wrong side", "overconfident; wrong side", "other"])
def test_what_is_not_a_choice_of_labels_is_refused(benchmark: Benchmark, store: Store, pick: str) -> None:
    page = _page(benchmark, store)
    with pytest.raises(InputError, match="not a choice of this benchmark"):
        ask(page, "choose", 1, dimension="errors", pick=pick)
    with pytest.raises(InputError, match="not a choice of this benchmark"):
        ask(page, "choose", 1, dimension="overall", pick="wrong side")
    assert store.answers(benchmark.meta.name).empty


def _answered(benchmark: Benchmark, store: Store) -> None:
    """Three people on six cases: of one mind on the first label, never on the second."""
    for i, case in enumerate(benchmark.cases["case_id"]):
        for who in range(3):
            labels = [ERRORS[0]] if i % 2 else []
            labels += [ERRORS[1]] if (i + who) % 3 == 0 else []
            for dimension, choice in (("errors", "; ".join(labels) or "none"), ("overall", RISK[i % 4])):
                store.add(AnnotatorAnswer(benchmark.meta.name, case, f"Dr {who}", dimension, choice, "AB"))


def test_agreement_is_of_each_label_as_yes_and_no(benchmark: Benchmark, store: Store) -> None:
    _answered(benchmark, store)
    table = agreement_so_far(benchmark, annotations_of(benchmark, store)[0], resamples=50).set_index("dimension")
    assert table.index.tolist() == ["overall", *(f"errors: {name}" for name in ERRORS)]
    alpha = table["Krippendorff's alpha"]
    assert alpha["errors: wrong side"].startswith("1.00")
    assert alpha["overall"].startswith("1.00")
    # Always one yes and two no: observed disagreement 2/3, expected 2 * 6 * 12 / (18 * 17).
    assert alpha["errors: omitted finding"].startswith(f"{1 - (2 / 3) / (144 / 306):.2f}")
    assert alpha["errors: made-up finding"] == "not yet", "nobody gave it: undefined, not 1"


def test_the_pages_and_commands_of_the_coordinator_show_such_a_benchmark(
    benchmark: Benchmark, store: Store, capsys: pytest.CaptureFixture[str]
) -> None:
    _answered(benchmark, store)
    html = Coordination(benchmark, store, RATING).html()
    assert "errors: wrong side" in html
    assert "Without dimensions of several labels: " in html
    show_agreement(benchmark, store)
    assert "errors: wrong side" in capsys.readouterr().out
    show_until(benchmark, store, read_target("alpha>=0.6"))
    out = capsys.readouterr().out
    assert "left out, as several labels may apply: errors" in out
    with pytest.raises(InputError, match="no case without a majority"):
        deal_disputed(benchmark, store, ["Dr R"], seed=0)
