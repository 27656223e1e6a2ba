from __future__ import annotations

import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pandas as pd
import pytest

from mrb_lib import analyze
from mrb_lib.review.boards import browse_leaderboard, leaderboard_rows
from mrb_lib.review.boards.leaderboard_rows import LeaderboardScope, make_board
from mrb_lib.review.boards.leaderboard_table import leaderboard_html, static_leaderboard
from mrb_lib.review.boards.live import LeaderboardWidget
from mrb_lib.review.plain import PlainView
from mrb_lib.review.records.marks import Adjudication, CaseTag
from mrb_lib.review.records.store import open_store
from mrb_lib.tables.errors import InputError
from mrb_lib.tables.files import REVIEWS

from .judged import judged

HOSTILE = "</td><script>alert(1)</script>\"' onx=1 \u202e"
RESAMPLES = 60


class _Page(HTMLParser):
    """The elements of a page, and the values to sort by of each row of judges."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.rows: list[list[str]] = []
        self.text = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        given = dict(attributes)
        if tag == "tr" and "data-kind" in given:
            self.rows.append([])
        if "data-v" in given:
            self.rows[-1].append(str(given["data-v"]))

    def handle_data(self, data: str) -> None:
        self.text += data


def widget(**options: object) -> LeaderboardWidget:
    benchmark, verdicts = judged()
    shown = browse_leaderboard(benchmark, verdicts, resamples=RESAMPLES, **options)
    assert isinstance(shown, LeaderboardWidget)
    return shown


def asked(shown: LeaderboardWidget, **question: object) -> _Page:
    answer = shown.answer({"what": "rows", "policy": "balanced", "dimension": "overall", "place": 0, **question})
    assert answer["ok"], answer
    return _Page(answer["html"])


@pytest.mark.parametrize("policy", ["balanced", "strict"])
@pytest.mark.parametrize("place", [("overall", None), ("accuracy", "lung")])
def test_the_numbers_are_those_of_analyze(policy: str, place: tuple[str, str | None]) -> None:
    benchmark, verdicts = judged()
    dimension, organ = place
    by = None if organ is None else "organ"
    options = {"policy": policy, "dimension": dimension, "by": by, "resamples": RESAMPLES}
    options["references"] = 0
    table = analyze(benchmark, verdicts, "accuracy", **options)
    table = table[table["subfield"].isna() if organ is None else table["subfield"] == organ].set_index("judge")
    rows = make_board(benchmark, verdicts, resamples=RESAMPLES).rows(LeaderboardScope(policy, dimension, by, organ))
    assert len(rows) == len(table) > 1
    for row in rows.itertuples():
        expected = table.loc[row.judge]
        few = expected["interval"] != "percentile"
        assert (row.accuracy, row.n, row.n_excluded) == (expected["accuracy"], expected["n"], expected["n_excluded"])
        assert row.few == few
        assert (row.low, row.high) == (expected["low"], expected["high"])
        assert row.rank == expected["rank"]
    assert rows["rank"].is_monotonic_increasing


def test_what_is_chosen_is_computed_when_it_is_chosen_and_once(monkeypatch: pytest.MonkeyPatch) -> None:
    asked_for: list[tuple[str, str, str | None]] = []

    def counting(benchmark: object, verdicts: object, table: str, **options: object) -> pd.DataFrame:
        asked_for.append((table, str(options["policy"]), options["by"]))
        return analyze(benchmark, verdicts, table, **options)

    monkeypatch.setattr(leaderboard_rows, "analyze", counting)
    shown = widget()
    assert asked_for == []
    for policy, place in (("balanced", 0), ("balanced", 0), ("strict", 0), ("strict", 1), ("strict", 2)):
        asked(shown, policy=policy, place=place)
    accuracies = [what for what in asked_for if what[0] == "accuracy"]
    assert accuracies == [("accuracy", "balanced", None), ("accuracy", "strict", None), ("accuracy", "strict", "organ")]
    assert len(asked_for) == 2 * len(accuracies)


def test_a_page_is_told_what_can_be_chosen() -> None:
    shown = widget(groups=pd.DataFrame({"judge": ["j0", "j1"], "group": ["open", "closed"]}), by="organ")
    told = shown.answer({"what": "initial_state"})
    assert told["dimensions"] == ["accuracy", "overall"]
    assert told["dimension"] == "overall"
    assert [place["name"] for place in told["places"]] == ["All cases", "eye", "foot", "lung"]
    assert told["places"][told["place"]] == {"by": "organ", "name": "eye"}
    assert told["kinds"] == ["closed", "open"]
    assert "mrb-human" in shown.answer({"what": "rows", **told, "place": 0})["html"]


def test_a_group_can_be_shown_first_and_a_page_filters_by_it() -> None:
    groups = pd.DataFrame({"judge": ["j0", "j1", "j2"], "group": ["open", "medical", "open"]})
    assert widget(groups=groups, group="medical").answer({"what": "initial_state"})["group"] == "medical"
    board = make_board(*judged(), groups=groups, resamples=RESAMPLES)
    everyone = board.rows(LeaderboardScope("balanced", "overall"))
    some = board.rows(LeaderboardScope("balanced", "overall", group="open"))
    assert everyone.loc[everyone["kind"] == "open", "judge"].tolist() == some["judge"].tolist()
    assert sorted(some["judge"]) == ["j0", "j2"]
    assert (
        dict(zip(some["judge"], some["rank"], strict=True)).items()
        <= dict(zip(everyone["judge"], everyone["rank"], strict=True)).items()
    )
    with pytest.raises(InputError, match="group 'critic' is unknown; use one of medical, open"):
        widget(groups=groups, group="critic")


def test_cases_left_out_are_counted_and_the_undefined_has_its_reason() -> None:
    page = asked(widget(), place=2)
    assert all(row[3] == row[4] == "" for row in page.rows), "no foot has a gold label"
    assert page.text.count("undefined: no case can be scored") > len(page.rows), "judges and references"
    assert "nan" not in page.text.lower()
    whole = asked(widget())
    assert {row[1]: (row[6], row[7]) for row in whole.rows}["j0"] == ("32.0", "16.0")


def test_few_cases_are_marked_and_the_mark_explained() -> None:
    page = asked(widget(), place=3)
    assert "few" in page.text
    assert "fewer than 10 cases" in page.text


def test_sorting_values_are_whole_numbers_of_the_table_not_rounded() -> None:
    benchmark, verdicts = judged()
    rows = make_board(benchmark, verdicts, resamples=RESAMPLES).rows(LeaderboardScope("balanced", "overall"))
    page = asked(widget())
    assert [float(row[4]) for row in page.rows] == rows["accuracy"].tolist()


def test_a_filter_gives_the_numbers_of_analyze_and_says_how_many_cases_it_leaves() -> None:
    benchmark, verdicts = judged()
    where = "organ != 'eye' and outcome['j0'] == 'wrong'"
    table = analyze(
        benchmark, verdicts, "accuracy", where=where, dimension="overall", resamples=RESAMPLES, references=0
    )
    page = asked(widget(), where=f" {where} ")
    assert [float(row[6]) for row in page.rows] == table["n"].tolist()
    assert [float(row[4]) for row in page.rows] == table["accuracy"].tolist()
    left = (benchmark.cases["organ"] != "eye").sum()
    assert f"where {where}: " in page.text
    n = int(re.findall(r": (\d+) of 48 cases", page.text)[0])
    assert table["n"].max() <= n < left
    assert "all cases" not in page.text.split("Rank")[0]
    started = widget(where=where)
    assert started.answer({"what": "initial_state"})["where"] == where
    everywhere = asked(widget(), where="outcome['j1'] != 'right' or length > 0")
    assert "human" in everywhere.text, "the annotators' level is of the cases that are left, too"


@pytest.mark.parametrize(
    ("where", "said"),
    [
        ("organn == 'eye'", "'organn' is unknown"),
        ("length > 'x'", "length holds numbers"),
        ("organ == 'heart'", "leaves none of 48 cases"),
        ("__import__('os').system('x')", "is not part of the language"),
        ("length >", "cannot be read"),
        ("reviewers > 0", "there is no store of reviews"),
        ("tag == 'x'", "asks for tags, and there is no store of reviews"),
        ("x" * 3000, "has 3,000 characters"),
    ],
)
def test_what_a_filter_cannot_say_is_named(where: str, said: str) -> None:
    answer = widget().answer({"what": "rows", "policy": "balanced", "dimension": "overall", "where": where})
    assert not answer["ok"]
    assert said in answer["error"]
    with pytest.raises(InputError, match="where"):
        widget(where=where)


def tag(place: Path, *cases: str) -> None:
    with open_store(place) as store:
        for case in cases:
            store.add(CaseTag("b", case, "artefact", "Dr A"))
        store.add(Adjudication("b", cases[0], "Dr A", "gold_right"))


def test_filters_ask_the_store_of_the_benchmark_what_reviewers_said_and_tagged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("MRB_STORE", raising=False)
    benchmark, verdicts = judged()
    benchmark = replace(benchmark, path=tmp_path)
    shown = browse_leaderboard(benchmark, verdicts, resamples=RESAMPLES)
    assert isinstance(shown, LeaderboardWidget)
    question = {"what": "rows", "policy": "balanced", "dimension": "overall", "where": "tag == 'artefact'"}
    assert "`mrb review BENCH` makes one there" in shown.answer(question)["error"]
    assert not (tmp_path / REVIEWS).exists(), "to filter makes no store"
    tag(tmp_path / REVIEWS, "c00", "c01")
    before = (tmp_path / REVIEWS).read_bytes()
    assert ": 2 of 48 cases" in asked(shown, where="tag == 'artefact'").text
    assert ": 1 of 48 cases" in asked(shown, where="tag == 'artefact' and reviewed_by['Dr A']").text
    assert (tmp_path / REVIEWS).read_bytes() == before
    tag(tmp_path / REVIEWS, "c04")
    assert ": 3 of 48 cases" in asked(shown, where="tag == 'artefact'").text, "what was tagged since is read"

    started = browse_leaderboard(benchmark, verdicts, resamples=RESAMPLES, where="reviewers > 0")
    assert ": 2 of 48 cases" in str(started._repr_mimebundle_()[0]["text/html"])
    tag(tmp_path / "team.sqlite", "c07")
    for named in ({}, {"store": tmp_path / "team.sqlite"}):
        monkeypatch.setenv("MRB_STORE", str(tmp_path / ("absent.sqlite" if named else "team.sqlite")))
        of_team = browse_leaderboard(benchmark, verdicts, resamples=RESAMPLES, where="tag == 'artefact'", **named)
        assert ": 1 of 48 cases" in str(of_team._repr_mimebundle_()[0]["text/html"])
    with pytest.raises(InputError, match="absent"):
        browse_leaderboard(benchmark, verdicts, resamples=RESAMPLES, where="tag == 'artefact'")


def test_the_plain_view_is_of_the_cases_that_a_filter_leaves(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MRB_STATIC", "1")
    shown = browse_leaderboard(*judged(), resamples=RESAMPLES, where="organ == '<b>' or organ == 'lung'")
    assert isinstance(shown, PlainView)
    assert "organ == &#x27;&lt;b&gt;&#x27;" in shown.html
    assert ": 16 of 48 cases" in shown.html


def test_names_cannot_become_markup() -> None:
    benchmark, verdicts = judged()
    verdicts["judge"] = verdicts["judge"].replace({"j0": HOSTILE})
    groups = pd.DataFrame({"judge": [HOSTILE], "group": [HOSTILE]})
    made = make_board(benchmark, verdicts, groups=groups, resamples=RESAMPLES)
    text = static_leaderboard(made, LeaderboardScope("balanced", "overall"))
    assert "script" not in _Page(text).tags
    assert not re.search(r"<[^>]*\sonx=", re.sub(r'"[^"]*"', '""', text))
    assert text.count("alert(1)") == 5  # the name to read and to sort by; the kind to filter, to sort and to read


def test_a_question_that_makes_no_sense_is_answered_in_words() -> None:
    shown = widget()
    for wrong in ({"policy": "best"}, {"dimension": "charm"}, {"dimension": None}):
        answer = shown.answer({"what": "rows", "policy": "balanced", "dimension": "overall", "place": 0, **wrong})
        assert not answer["ok"]
        assert "use one of" in answer["error"]
    for place in (-1, 999, "1", None):
        assert len(asked(shown, place=place).rows) == 3


def test_without_a_kernel_it_is_a_plain_table(monkeypatch: pytest.MonkeyPatch) -> None:
    live = [row[1] for row in asked(widget()).rows]
    monkeypatch.setenv("MRB_STATIC", "1")
    benchmark, verdicts = judged()
    shown = browse_leaderboard(benchmark, verdicts, resamples=RESAMPLES)
    assert isinstance(shown, PlainView)
    bundle = shown._repr_mimebundle_()
    assert set(bundle) == {"text/html", "text/plain"}
    page = _Page(bundle["text/html"])
    assert "SIMULATED" in page.text
    assert not {"script", "button", "select"} & set(page.tags)
    assert [row[1] for row in page.rows] == live


def test_a_saved_widget_holds_no_data_but_its_plain_view_is_there() -> None:
    shown = widget()
    data, _ = shown._repr_mimebundle_()
    assert "application/vnd.jupyter.widget-view+json" in data
    assert len(_Page(data["text/html"]).rows) == 3
    assert "j0" not in str({key: value for key, value in shown.get_state().items() if not key.startswith("_")})


def test_real_data_are_not_called_simulated() -> None:
    benchmark, verdicts = judged(kind="clinical")
    rows = make_board(benchmark, verdicts, resamples=RESAMPLES).rows(LeaderboardScope("balanced", "overall"))
    assert "SIMULATED" not in leaderboard_html(rows, LeaderboardScope("balanced", "overall"))
    shown = browse_leaderboard(benchmark, verdicts, resamples=RESAMPLES)
    assert "SIMULATED" not in shown._repr_mimebundle_()[0]["text/html"]


def test_no_verdicts_and_unknown_choices_are_refused() -> None:
    benchmark, verdicts = judged()
    with pytest.raises(InputError, match="there are no verdicts"):
        browse_leaderboard(benchmark, verdicts.head(0))
    with pytest.raises(InputError, match="column 'colour'"):
        browse_leaderboard(benchmark, verdicts, by="colour")
    with pytest.raises(InputError, match="organ 'nose'"):
        browse_leaderboard(benchmark, verdicts, by="organ", subfield="nose")
