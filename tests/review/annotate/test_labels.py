"""Several labels in one dimension: toggles with keys of their own, kept as the benchmark writes them."""

from dataclasses import replace
from pathlib import Path

import pytest

from mrb_lib.benchmarks.benchmark import Benchmark, load
from mrb_lib.benchmarks.meta import BenchmarkMeta
from mrb_lib.cli.annotate import deal_disputed, show_agreement, show_until
from mrb_lib.review.annotate.answers import Annotation
from mrb_lib.review.annotate.coordination import Coordination, agreement_so_far
from mrb_lib.review.annotate.forms import RATING
from mrb_lib.review.records.exchange import annotations_of, answer_log
from mrb_lib.review.records.marks import AnnotatorAnswer
from mrb_lib.review.records.store import Store
from mrb_lib.stats.methods.until import read_target
from mrb_lib.tables.errors import InputError
from tests.rated import ERRORS, RISK, write_labels
from tests.review.annotate.paging import ME, ask, deal


@pytest.fixture
def benchmark(tmp_path: Path) -> Benchmark:
    return load(write_labels(tmp_path))


def _page(benchmark: Benchmark, store: Store) -> Annotation:
    deal(benchmark, store)
    return Annotation(benchmark, store, RATING)


def _choose(page: Annotation, dimension: str, pick: str) -> list[dict[str, str]]:
    answers: list[dict[str, str]] = ask(page, "choose", 1, dimension=dimension, pick=pick)["answers"]
    return answers


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


def test_what_is_chosen_is_kept_and_shown_again(benchmark: Benchmark, store: Store) -> None:
    page = _page(benchmark, store)
    answers = _choose(page, "errors", "wrong side; overconfident")
    assert answers == [{}, {"pick": "wrong side; overconfident"}]
    assert page.open({"annotator": ME, "after": 0})["number"] == 1, "the other dimension is open"
    _choose(page, "overall", "Low risk")
    opened = Annotation(benchmark, store, RATING).open({"annotator": ME, "number": 1})
    assert [one["pick"] for one in opened["answers"]] == ["Low risk", "wrong side; overconfident"]
    assert page.open({"annotator": ME, "after": 0})["number"] == 2
    _choose(page, "errors", "none")
    found, left_out = annotations_of(benchmark, store)
    assert (found["choice"].tolist(), left_out) == (["Low risk", "none"], 0), "the last choice counts"
    log, _ = answer_log(benchmark, store)
    assert log["choice"].tolist() == ["wrong side; overconfident", "Low risk", "none"]
    fewer = replace(benchmark, meta=replace(benchmark.meta, labels={"errors": ERRORS[:3]}))
    assert (answer_log(fewer, store)[1], annotations_of(fewer, store)[1]) == (1, 0), "a label that is gone"


@pytest.mark.parametrize("pick", ["", "Low risk", "none; wrong side", "overconfident; wrong side", "other"])
def test_what_is_not_a_choice_of_labels_is_refused(benchmark: Benchmark, store: Store, pick: str) -> None:
    page = _page(benchmark, store)
    with pytest.raises(InputError, match="not a choice of this benchmark"):
        _choose(page, "errors", pick)
    with pytest.raises(InputError, match="not a choice of this benchmark"):
        _choose(page, "overall", "wrong side")
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
