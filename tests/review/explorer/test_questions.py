"""A question is added to the review form in one place: everything else follows, in a store that is older than it."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest
from typer.testing import CliRunner

from mrb_lib.benchmarks.benchmark import load
from mrb_lib.cli import adjudications
from mrb_lib.demo.build import write_demo
from mrb_lib.review.explorer.adjudicate import Reviews
from mrb_lib.review.explorer.answers import ExplorerAnswers
from mrb_lib.review.explorer.data import explorer_data
from mrb_lib.review.records.exchange import read_reviews
from mrb_lib.review.records.questions import QUESTIONS, Question, adjudication_columns, list_columns
from mrb_lib.review.records.store import open_store
from mrb_lib.stats.analyze import analyze
from mrb_lib.tables.errors import InputError
from mrb_lib.tables.files import REVIEWS
from mrb_lib.verdicts.store import empty_verdicts
from tests.review.records.earlier import write_version_4

HARM = Question("harm", "Could this harm a patient?", ("none", "possible", "very_serious"), keys="PU")
SEEN = Question("seen", "What did you look at?", ("image", "answers"), several=True, of_judge=True)


@pytest.fixture
def asked_more() -> Iterator[None]:
    """The one place."""
    before = [*QUESTIONS]
    QUESTIONS.extend([HARM, SEEN])
    yield
    QUESTIONS[:] = before


def _mrb(*words: object) -> str:
    done = CliRunner().invoke(adjudications.app, list(map(str, words)), catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.stdout


@pytest.mark.usefixtures("asked_more")
def test_one_entry_makes_form_store_history_files_and_table(tmp_path: Path) -> None:
    bench = tmp_path / "bench"
    write_demo(bench, cases=18, seed=3)
    benchmark = load(bench)
    name, store = benchmark.meta.name, bench / REVIEWS
    write_version_4(store, name)
    verdict = {"judge": "first", "dimension": "overall", "order": "AB", "repeat": 0, "probe": "none", "choice": "A"}
    verdicts = pd.DataFrame([verdict | {"case_id": benchmark.cases["case_id"].iloc[0]}])
    answers = ExplorerAnswers(explorer_data(benchmark, verdicts), Reviews(name, store))
    asked = {one["name"]: one for one in answers.initial_state({})["questions"]}
    assert (asked["harm"]["text"], asked["harm"]["keys"]) == ("Could this harm a patient?", "PU")
    assert asked["harm"]["options"] == ["none", "possible", "very_serious"]
    assert asked["seen"]["several"]

    def save(position: int, given: object) -> dict[str, object]:
        case = answers.case({"position": position})
        sight = {key: case[key] for key in ("position", "case_id", "version")}
        said = {"reviewer": "Ann", "verdict": "gold_right", "judge": "first", "adjudication_id": f"{position:032d}"}
        [entry] = answers.save({**sight, **said, "answers": given})["entries"]
        return entry

    entry = save(3, {"harm": "very_serious", "seen": ["image", "answers"]})
    assert entry["answers"] == {
        "reasons": [], "severity": None, "reasoning": None, "harm": "very_serious", "seen": ["image", "answers"],
    }  # fmt: skip
    assert entry["said"] == [("harm", ["very serious"]), ("seen", ["image", "answers"])]
    save(4, {"harm": "none"})
    save(5, {})
    for given, words in (({"harm": "odd"}, "none, possible, very_serious"), ({"seen": ["odd"]}, "image, answers")):
        with pytest.raises(InputError, match=f"'odd' is unknown; use one of {words}"):
            save(6, given)

    with open_store(store, create=False) as opened:
        kept = opened.adjudications(name, history=True)
        assert tuple(kept.columns) == adjudication_columns()
        assert kept["harm"].isna().tolist() == [True, True, True, False, False, True], "the older ones have no answer"
        assert kept["seen"].tolist()[2:5] == [[], ["image", "answers"], []]
    assert len(list(bench.glob("*.v4-backup"))) == 1
    written = answers.export({"query": {}, "format": "csv", "reviewer": "Ann"}).content.decode()
    assert "Ann: gold_right; harm: very serious; seen: image, answers" in written

    for suffix in (".csv", ".parquet"):
        out, other = tmp_path / f"all{suffix}", tmp_path / f"other{suffix}.sqlite"
        assert "6 adjudications" in _mrb("export", bench, out)
        assert "6 new adjudications" in _mrb("import", bench, out, "--store", other)
        with open_store(other, create=False) as opened:
            pd.testing.assert_frame_equal(opened.adjudications(name, history=True), kept)

    expected = {("harm", "none"): (1, 2), ("harm", "very_serious"): (1, 2), ("seen", "image"): (1, 1),
                ("seen", "answers"): (1, 1)}  # fmt: skip
    table = analyze(benchmark, empty_verdicts(), "adjudication", adjudications=kept, resamples=0).to_dict("records")
    found = {(r["question"], r["answer"]): r for r in table if r["part"] == "answers" and r["judge"] == "first"}
    assert {key: (row["n"], row["n_cases"]) for key, row in found.items()} == expected
    assert found["harm", "none"]["share"] == 0.5


@pytest.mark.usefixtures("asked_more")
def test_a_question_that_is_taken_out_leaves_its_answers_in_the_store(tmp_path: Path) -> None:
    path = tmp_path / "hand.csv"
    path.write_text("case_id,reviewer,verdict,harm\n7,Dr A,ambiguous,possible\n")
    with open_store(tmp_path / "r.sqlite") as store:
        store.restore(read_reviews(path, "demo"))
        QUESTIONS.remove(HARM)
        assert "harm" not in store.adjudications("demo")
        QUESTIONS.append(HARM)
        assert store.adjudications("demo")["harm"].tolist() == ["possible"]
        QUESTIONS[-1] = replace(HARM, several=True)
        assert store.adjudications("demo")["harm"].tolist() == [["possible"]]


def test_questions_have_names_and_keys_of_their_own() -> None:
    columns = adjudication_columns()
    assert len(set(columns)) == len(columns)
    assert set(list_columns()) < set(columns)
    keys = "".join(question.keys for question in QUESTIONS)
    assert len(set(keys)) == len(keys)
    assert not set(keys) & set("ABTJKSNMDWG"), "keys of the app and of the choices"
    assert [question.several for question in QUESTIONS if question.is_open] == [True]
