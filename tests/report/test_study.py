"""What a user holds: a study, tables that draw and explain themselves, and reasons where none apply."""

from pathlib import Path

import pandas as pd
import pytest
from IPython.core.interactiveshell import InteractiveShell

import mrb_lib as mrb
from mrb_lib.figures.style import Paper
from mrb_lib.report import defaults as own
from mrb_lib.report import study as module
from mrb_lib.review.records.store import open_store
from mrb_lib.stats.columns import TABLES
from mrb_lib.tables.errors import NotApplicable
from tests.notebooks.conftest import full as full
from tests.notebooks.conftest import rated as rated
from tests.notebooks.conftest import small as small

DIMENSION = "creativity"


@pytest.fixture(scope="module")
def study(full: Path) -> mrb.Study:
    return mrb.open(full, resamples=100)


@pytest.fixture
def defaults(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "DEFAULTS", {})
    monkeypatch.setattr(own, "DEFAULTS", module.DEFAULTS)


class TestOpened:
    def test_says_in_two_lines_what_is_loaded_and_which_options_hold(
        self, study: mrb.Study, full: Path, small: Path
    ) -> None:
        assert repr(mrb.open(small)).startswith("small: 30 cases, 0 annotators, 1 judge, 30 verdicts.")
        first, second = repr(study).splitlines()
        assert first == "full (SIMULATED): 60 cases, 3 annotators, 7 judges, 6,720 verdicts."
        assert second.startswith("Policy balanced; gold: majority of 3 annotators' labels; ")
        assert second.endswith("100 resamples, seed 0.")
        other = repr(mrb.open(full, policy="official", by="organ", where="length > 20", seed=4))
        assert all(said in other for said in ("Policy official", "by organ", "where length > 20", "seed 4"))

    def test_is_html_in_jupyterlab_with_names_as_text(self, study: mrb.Study) -> None:
        renamed = module.replace(study, benchmark=module.replace(
            study.benchmark, meta=module.replace(study.benchmark.meta, name="<b>x</b>")))  # fmt: skip
        assert "&lt;b&gt;x" in renamed._repr_html_()

    def test_takes_judges_by_name_in_a_list_or_by_group(self, full: Path) -> None:
        assert mrb.open(full, judges=["judge_1", "judge_0"]).judges == ["judge_0", "judge_1"]
        assert mrb.open(full, judges="judge_1, judge_0").judges == ["judge_0", "judge_1"]
        assert mrb.open(full, judges="group:medical").judges == ["medvlm-r1"]

    @pytest.mark.parametrize(
        ("options", "meant"),
        [
            ({"policy": "balancd"}, "balanced"),
            ({"gold": "majorty"}, "majority"),
            ({"by": "orgn"}, "organ"),
            ({"cluster": "modalty"}, "modality"),
            ({"judges": "medvlm-r"}, "medvlm-r1"),
        ],
    )
    def test_a_mistyped_name_gets_the_nearest(self, full: Path, options: dict[str, str], meant: str) -> None:
        with pytest.raises(mrb.InputError, match=f"Did you mean {meant}"):
            mrb.open(full, **options).table("accuracy")

    @pytest.mark.parametrize(
        ("call", "meant"),
        [
            (lambda study: study.table("accurcy"), "accuracy"),
            (lambda study: study.table("accuracy", by="orgn"), "organ"),
            (lambda study: study.table("accuracy", dimension="overal"), "overall"),
            (lambda study: study.table("accuracy", dimnsion="overall"), "dimension"),
            (lambda study: study.table("significance", versus="judge_9"), "judge_"),
            (lambda study: study.table("accuracy")["acuracy"], "accuracy"),
            (lambda study: study.table("accuracy").show("rnk"), "rank"),
            (lambda study: study.table("accuracy").plot("leadrboard"), "leaderboard"),
            (lambda study: study.show("case_07"), "case-07"),
            (lambda study: study.cases(judge="judg_1"), "judge_1"),
            (lambda study: study.controls("accuracy", by="orgn"), "organ"),
        ],
    )
    def test_so_does_each_name_in_a_call(self, study: mrb.Study, call: object, meant: str) -> None:
        with pytest.raises(mrb.InputError, match=f"Did you mean {meant}"):
            call(study)  # type: ignore[operator]  # a function, above

    def test_takes_what_a_report_sets_unless_the_notebook_says_otherwise(self, full: Path, defaults: None) -> None:
        mrb.set_defaults(policy="official", seed=7)
        assert (mrb.open(full).options.policy, mrb.open(full).options.seed) == ("official", 7)
        assert mrb.open(full, policy="strict").options.policy == "strict"
        with pytest.raises(mrb.InputError, match="Did you mean policy"):
            mrb.set_defaults(polcy="official")


class TestTable:
    def test_is_its_frame_with_a_sentence(self, study: mrb.Study) -> None:
        board = study.table("accuracy")
        same = mrb.analyze(study.benchmark, study.verdicts, "accuracy", resamples=100)
        pd.testing.assert_frame_equal(board.frame, same)
        assert board.sentence == TABLES["accuracy"].says(same)
        assert len(board) == len(same)
        assert board["judge"].equals(same["judge"])
        assert board.pivot_table("accuracy", "judge", "dimension").shape[1] == 3

    @pytest.mark.parametrize(
        ("option", "value"),
        [("policy", "official"), ("gold", "unanimous"), ("by", "model_a"), ("cluster", "organ"), ("seed", 1),
         ("resamples", 60), ("where", "length > 60"), ("judges", "judge_0,judge_4")],
    )  # fmt: skip
    def test_follows_every_option_of_the_study(self, full: Path, study: mrb.Study, option: str, value: object) -> None:
        first = {"cluster": "case_id", "resamples": 100}  # clusters enough for percentiles
        made = [mrb.open(full, **each).table("accuracy").frame for each in (first, {**first, option: value})]  # type: ignore[arg-type]  # options of several types
        assert not made[0].equals(made[1])

    def test_rows_of_it_can_be_drawn_and_columns_are_plain(self, study: mrb.Study) -> None:
        board = study.table("accuracy", by="organ")
        part = board.query(f"dimension == '{DIMENSION}'")
        assert isinstance(part, mrb.Table)
        assert isinstance(board[["judge", "accuracy"]], pd.DataFrame)
        assert isinstance(part.plot(), Paper)

    def test_explains_its_columns_and_becomes_latex(self, study: mrb.Study) -> None:
        board = study.table("accuracy")
        assert "decisive_accuracy" in board.explain()
        text = board.to_latex("judge", "accuracy")
        assert text.count(r"\\") == len(board) + 1
        assert "judge\\_0" in text

    def test_tables_columns_and_methods_are_completed(self, study: mrb.Study) -> None:
        assert study._ipython_key_completions_() == list(TABLES)
        board = study["accuracy"]
        assert {"plot", "show", "query", "pivot"} <= set(dir(board))
        assert "decisive_accuracy" in board._ipython_key_completions_()

    def test_shows_percent_and_says_once_what_all_rows_share(self, study: mrb.Study) -> None:
        shown = study.table("accuracy", dimension=DIMENSION).show("judge", "dimension", "policy", "accuracy")
        assert shown.text.columns == ("judge", "accuracy")
        assert "Shares in %. In all rows, dimension = creativity; policy = balanced." in shown.caption
        first = study.table("accuracy", dimension=DIMENSION)["accuracy"].iloc[0]
        assert shown.text.rows[0][1].startswith(f"{100 * first:.1f} [")

    def test_shows_ends_beside_values_and_escapes_names(self, study: mrb.Study) -> None:
        hostile = study.table("accuracy")
        hostile = module.replace(hostile, frame=hostile.frame.assign(judge="<script>"))
        page = hostile.show("judge", "accuracy")._repr_html_()
        assert "&lt;script&gt;" in page
        assert "<script>" not in page
        assert "95% intervals in brackets" in page


class TestNotApplicable:
    def test_is_raised_with_one_sentence(self, full: Path, small: Path, rated: Path) -> None:
        for bench, table in ((full, "criteria"), (full, "ratings"), (small, "agreement"), (small, "calibration"),
                             (small, "ranking"), (small, "jury"), (rated, "ranking")):  # fmt: skip
            with pytest.raises(NotApplicable) as raised:
                mrb.open(bench, resamples=60).table(table).plot()
            said = str(raised.value)
            assert said.endswith(".") and "\n" not in said
            why = {"agreement": "only consensus labels are published.",
                   "jury": "a jury takes two judges with verdicts on the same dimension."}  # fmt: skip
            assert table not in why or said == f"table {table}: {why[table]}"

    def test_standard_columns_that_are_missing_do_not_apply_and_others_are_typing_errors(self, small: Path) -> None:
        study = mrb.open(small, resamples=60)
        with pytest.raises(NotApplicable):
            study.table("accuracy", by="organ")
        with pytest.raises(mrb.InputError) as raised:
            study.table("accuracy", by="hospital")
        assert not isinstance(raised.value, NotApplicable)

    def test_is_raised_for_columns_without_an_estimate_with_the_reason_of_the_rows(self, study: mrb.Study) -> None:
        bare = study.table("agreement").frame.assign(cohen_kappa=float("nan"), reason="one pair is missing")
        agreement = module.replace(study.table("agreement"), frame=bare)
        for call in (lambda: agreement.show("dimension", "cohen_kappa"), lambda: agreement.plot("agreement-pairs")):
            with pytest.raises(NotApplicable) as raised:
                call()
            assert str(raised.value) == "one pair is missing."

    def test_is_one_line_in_jupyterlab(self, capsys: pytest.CaptureFixture[str]) -> None:
        shell = InteractiveShell()
        shell.run_cell("import mrb_lib\nraise mrb_lib.NotApplicable('the cases name no responders.')")
        shown = capsys.readouterr()
        assert (shown.out + shown.err).strip().endswith("Not applicable: the cases name no responders.")
        assert "Traceback" not in shown.out + shown.err

    def test_the_conclusion_leaves_it_out_and_names_no_other_tables(self, study: mrb.Study) -> None:
        assert "in other ways" in study.table("agreement").sentence
        assert "in other ways" not in study.conclude("agreement", "ceiling", "gold_rules")
        said = study.conclude("accuracy", "criteria", dimension=DIMENSION)
        assert study.table("accuracy", dimension=DIMENSION).sentence in said
        assert said.startswith("SIMULATED data")
        assert "None of the tables" in study.conclude("criteria")
        assert study.conclude("criteria", text="Found 2.").endswith("models. Found 2.")


class TestCases:
    def test_shows_one_with_its_texts_as_text(self, study: mrb.Study) -> None:
        page = study.show("case-07")._repr_html_()
        assert "&lt;b&gt;bold&lt;/b&gt;" in page
        assert "SIMULATED" in page

    def test_reviews_of_them_are_kept_in_the_folder_or_the_store_that_is_named(
        self, study: mrb.Study, full: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        for place, view in ((full / "reviews.sqlite", "eyes"), (tmp_path / "other.sqlite", "feet")):
            assert study.explore().answer("keep_view", {"name": view, "reviewer": "Dr A", "query": {}})["ok"]
            with open_store(place, create=False) as store:
                assert store.views(study.benchmark.meta.name)["name"].tolist() == [view]
            monkeypatch.setenv("MRB_STORE", str(tmp_path / "other.sqlite"))
