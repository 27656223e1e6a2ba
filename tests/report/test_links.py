"""What a figure leads to: each list has as many cases as its table states, and a query opens the same for review."""

import itertools
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import mrb_lib as mrb
from mrb_lib.benchmarks.benchmark import Benchmark
from mrb_lib.benchmarks.meta import BenchmarkMeta
from mrb_lib.benchmarks.votes import gold
from mrb_lib.demo import write_demo
from mrb_lib.figures.style import Paper
from mrb_lib.report.defaults import Options
from mrb_lib.report.links import LISTS
from mrb_lib.report.places import write_simulated_runs
from mrb_lib.report.study import Study
from tests.report.conftest import opened


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> mrb.Study:
    folder = tmp_path_factory.mktemp("lists")
    write_demo(folder / "bench", cases=90, seed=2)
    write_simulated_runs(folder / "bench", folder / "bench" / "runs", seed=2)
    return replace(mrb.open(folder / "bench", resamples=50), out=str(folder / "out"))


def frame(name: str, table: mrb.Table) -> pd.DataFrame:
    made = LISTS[name](table)
    assert made.attrs["about"].endswith(".")
    return made


def lists(made: pd.DataFrame) -> dict[tuple[str, str], tuple[str, ...]]:
    return dict(zip(zip(made["row"], made["dimension"], strict=True), made["listed"], strict=True))


def check_queries(study: mrb.Study, made: pd.DataFrame, least: int = 1) -> None:
    """Every query opens its list; `least` says how many rows have one."""
    asked = made[made["query"] != ""]
    assert len(asked) >= least
    for row in asked.head(12).itertuples():
        assert opened(study, str(row.query)) == list(row.listed), row.stated


def test_turned_cases_are_those_that_consistency_counts(study: mrb.Study) -> None:
    table = study.table("consistency")
    turned = frame("turned", table)
    made = lists(turned)
    assert len(made) == len(table)
    for row in table.itertuples():
        listed = made[row.judge, row.dimension]
        assert len(listed) >= row.n * (1 - row.consistency) - 1e-9
        own = study.verdicts[(study.verdicts["judge"] == row.judge) & (study.verdicts["dimension"] == row.dimension)]
        for case, said in own[own["case_id"].isin(listed)].groupby("case_id"):
            sides = said.pivot(index="repeat", columns="order", values="choice").dropna()
            assert (sides["AB"] != sides["BA"]).any(), case
    once = replace(study, verdicts=study.verdicts[study.verdicts["repeat"] == 0], _made={}).table("consistency")
    made = lists(frame("turned", once))
    for row in once.itertuples():
        assert len(made[row.judge, row.dimension]) == round(row.n * (1 - row.consistency))
    check_queries(study, turned, 12)


def test_surely_wrong_cases_are_those_of_the_verdicts_that_calibration_counts(study: mrb.Study) -> None:
    table = study.table("calibration")
    rows = table.frame[(table["part"] == "summary") & (table["n_high_confidence"] > 0)]
    made = frame("surely wrong", table)
    of_cell = made.set_index(["row", "dimension"])
    assert len(made) == len(rows) > 6
    labels = gold(study.benchmark).set_index(["case_id", "dimension"])["choice"]
    for row in rows.itertuples():
        stated = of_cell.loc[(row.judge, row.dimension)]
        n_wrong = round(row.wrong_at_high_confidence * row.n_high_confidence)
        assert f"with {n_wrong:,} wrong of {row.n_high_confidence:,} verdict" in stated["stated"]
        own = study.verdicts[(study.verdicts["judge"] == row.judge) & (study.verdicts["dimension"] == row.dimension)]
        label = own["case_id"].map(labels.xs(row.dimension, level=1))
        against = own["p_a"].where(label == "B", 1 - own["p_a"]).round(12)
        sure = own[(against >= 0.9) & label.isin(["A", "B"])]
        assert len(sure) == n_wrong
        assert set(stated["listed"]) == set(sure["case_id"])
    check_queries(study, made)


def test_unsure_cases_are_all_but_those_answered_at_the_threshold(study: mrb.Study) -> None:
    table = study.table("selective", target=0.75, dimension="overall")
    made, rows = frame("unsure", table), table.frame
    assert made["listed"].str.len().min() > 0
    own = rows[(rows["reference"] == "majority") & (rows["delta"].isna() | (rows["delta"] == rows["delta"].min()))]
    promised = own[(own["part"] == "guarantee") & own["threshold"].notna()].set_index("judge")["threshold"]
    assert set(made["row"]) == set(promised.index)
    for row in made.itertuples():
        here = (study.verdicts["judge"] == row.row) & (study.verdicts["dimension"] == "overall")
        p_a = study.verdicts[here].groupby("case_id")["p_a"].mean().round(12)
        sure = p_a.where(p_a > 0.5, 1 - p_a).round(12)
        assert set(row.listed) == set(sure.index[sure < promised[row.row]])
        n_answered = len(sure) - len(row.listed)
        curve = own[(own["part"] == "curve") & (own["judge"] == row.row)]
        assert curve.loc[curve["threshold"] >= promised[row.row], "n_answered"].max() <= n_answered
        assert curve.loc[curve["threshold"] <= promised[row.row], "n_answered"].min() >= n_answered
    check_queries(study, made)


def test_suspect_cases_are_those_more_probably_mislabelled_than_not(study: mrb.Study) -> None:
    table = study.table("difficulty", dimension="overall")
    cases, made = table.frame[table["part"] == "case"], frame("suspect", table)
    [row] = made.to_dict("records")
    assert set(row["listed"]) == set(cases.loc[cases["suspicion"] >= 0.5, "case_id"])
    assert row["listed"]
    check_queries(study, made)


def test_disputed_cases_are_those_of_the_tables_of_agreement(study: mrb.Study) -> None:
    table = study.table("agreement")
    made, pairs = frame("disputed", table), frame("disputed pairs", table)
    of_dimension = made.set_index("dimension")
    clear = gold(study.benchmark, "unanimous").dropna(subset="choice")["dimension"].value_counts()
    for row in table.frame[table["part"] == "all"].itertuples():
        listed = of_dimension.loc[row.dimension]
        assert listed["stated"] == f"{len(listed['listed'])} of {row.n_cases} cases with several annotators"
        assert row.n_cases - len(listed["listed"]) == clear[row.dimension]
    check_queries(study, made, 6)
    rows, of_pair = table.frame[table["part"] == "pair"], lists(pairs)
    assert len(of_pair) == len(rows)
    for row in rows.itertuples():
        names = {row.annotator_1, row.annotator_2}
        [listed] = [own for (pair, at), own in of_pair.items() if names <= set(pair.split()) and at == row.dimension]
        assert len(listed) == round(row.n_cases * (1 - row.percent_agreement))
    check_queries(study, pairs)


@pytest.mark.parametrize("policy", ["balanced", "strict"])
def test_cases_missed_by_juries_make_up_what_their_accuracy_lacks(study: mrb.Study, policy: str) -> None:
    table = study.with_(policy=policy).table("jury", dimension="overall")
    rows = table.frame[(table["part"] == "jury") & (table["kind"] != "best_single")].set_index("kind")
    missed = frame("missed", table)
    assert len(missed) == len(rows) == 3
    for (_, row), (_, made) in zip(rows.sort_index().iterrows(), missed.sort_values("row").iterrows(), strict=True):
        n_wrong, half, stated = len(made["listed"]), 0, made["stated"]
        if "half right" in stated:
            half = int(stated.split(" and ")[1].split()[0])
        assert stated.endswith(f" of {row['n']} cases scored")
        # A jury asked twice may score a quarter or three quarters of a case.
        assert n_wrong / 2 <= row["n"] * (1 - row["accuracy"]) <= n_wrong + half / 2 + (row["n"] - n_wrong - half) / 2
        if policy == "strict":
            assert row["n"] * (1 - row["accuracy"]) == pytest.approx(n_wrong)
    check_queries(study, missed)


def test_bars_of_the_composition_lead_to_their_cases(study: mrb.Study) -> None:
    made = frame("all", study.table("composition"))
    for by in ("organ", "department", "modality"):
        own = made[made["by"] == by].set_index("subfield")["listed"]
        assert own.str.len().to_dict() == study.benchmark.cases[by].value_counts().to_dict()
    check_queries(study, made, 12)


def test_cells_of_dif_lead_to_the_cases_that_its_counts_hold(study: mrb.Study) -> None:
    table = study.table("dif", by="department", dimension="overall")
    made = frame("wrong", table)
    parts = made[made["subfield"].notna()].set_index(["row", "subfield"])
    for row in table.frame[table["subfield"].notna()].itertuples():
        assert parts.loc[(row.judge, row.subfield), "stated"].endswith(f" of {row.n_inside} cases scored")


FIGURES = (
    ("order-consistency", "consistency", {}), ("agreement-dimensions", "agreement", {}),
    ("agreement-pairs", "agreement", {}), ("models-suspicion", "difficulty", {"dimension": "overall"}),
    ("reliability", "calibration", {"dimension": "overall"}),
    ("risk-coverage", "selective", {"dimension": "overall", "target": 0.75}),
    ("jury-sizes", "jury", {"dimension": "overall"}), ("composition", "composition", {}),
    ("leaderboard", "accuracy", {}),
    ("models-dif", "dif", {"dimension": "overall", "by": "department"}),
    ("ceiling-distances", "ceiling", {}), ("gold-ranks", "gold_rules", {}),
)  # fmt: skip


@pytest.mark.parametrize(("figure", "name", "options"), FIGURES, ids=[each[0] for each in FIGURES])
def test_marks_of_a_figure_find_their_lists(
    study: mrb.Study,
    figure: str,
    name: str,
    options: dict[str, object],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Of figures that are laid out and not saved: a mark lies where the layout puts it."""
    for each in ("_quantized", "svg", "pdf"):
        monkeypatch.setattr(Paper, each, lambda _drawn: b"")
    replace(study, out=str(tmp_path), _made={}).table(name, **options).plot(figure, id="drawn")
    cells = json.loads((tmp_path / "figures" / "drawn.json").read_text(encoding="utf-8"))["behind"]["cells"]
    assert len(cells) >= 1
    for cell in cells:
        left, top, width, height = cell["box"]
        assert 0 <= left < left + width <= 1.001, cell["box"]
        assert 0 <= top < top + height <= 1.001, cell["box"]


CASES = [f"c'{i:02d}" for i in range(60)]
JUDGE = "a \"judge\" & 'more' #1"


@pytest.fixture(scope="module")
def odd() -> Study:
    rng = np.random.default_rng(4)
    cases = pd.DataFrame({"case_id": CASES, "question": "q", "response_a": "a b", "response_b": "a"}).assign(
        images=[[] for _ in CASES], organ=["lung", "eye", None] * 20, dataset=["it's \"one\"", "two"] * 30,
        year=[2001, 2002] * 30,
    )  # fmt: skip
    votes = pd.DataFrame(itertools.product(CASES, ["r1", "r2", "r3"]), columns=["case_id", "annotator"])
    votes = votes.assign(dimension="overall", choice=rng.choice(["A", "B", "tie"], len(votes), p=[0.7, 0.2, 0.1]))
    keys = itertools.product([JUDGE, "two"], CASES, ["AB", "BA"])
    verdicts = pd.DataFrame(keys, columns=["judge", "case_id", "order"])
    verdicts = verdicts.assign(dimension="overall", repeat=0, probe="none", p_a=np.nan)
    verdicts["choice"] = rng.choice(np.array(["A", "B", "tie", None], dtype=object), len(verdicts))
    benchmark = Benchmark(BenchmarkMeta("bench", "clinical", ("overall",)), cases, votes)
    groups = pd.DataFrame({"judge": [JUDGE, "two"], "group": "open", "how": "exact"})
    return Study(benchmark, verdicts, [], Options(resamples=50), groups)


def failing(study: Study, by: str | None) -> pd.DataFrame:
    return LISTS["wrong"](study.table("accuracy", by=by, references=0))


@pytest.mark.parametrize("by", [None, "organ", "dataset", "year"])
@pytest.mark.parametrize("policy", ["balanced", "strict", "official", "answered"])
@pytest.mark.parametrize("rule", ["majority", "unanimous"])
def test_the_query_of_every_cell_opens_just_its_failures(odd: Study, by: str | None, policy: str, rule: str) -> None:
    w = odd.with_(policy=policy, gold=rule)
    frame = failing(w, by)
    n_wrong = frame["listed"].str.len()
    assert n_wrong.sum() > 0
    assert not frame.loc[n_wrong == 0, "query"].any()
    named = frame[frame["query"] != ""]
    assert len(named) == (n_wrong > 0).sum(), "of so few cases every list has a query"
    for row in named.itertuples():
        assert opened(w, str(row.query)) == list(row.listed)


def test_a_filter_of_the_report_is_part_of_the_query(odd: Study) -> None:
    where = "year == 2001 or organ == 'eye'"
    kept = (odd.benchmark.cases["year"] == 2001) | (odd.benchmark.cases["organ"] == "eye")
    ids = odd.benchmark.cases.loc[kept, "case_id"]
    smaller = replace(
        odd.benchmark,
        cases=odd.benchmark.cases[kept].reset_index(drop=True),
        annotations=odd.benchmark.annotations[odd.benchmark.annotations["case_id"].isin(ids)],
    )
    verdicts = odd.verdicts[odd.verdicts["case_id"].isin(ids)]
    w = replace(odd.with_(where=where), benchmark=smaller, verdicts=verdicts, _made={})
    for by in (None, "organ", "dataset"):
        frame = failing(w, by)
        for row in frame[frame["listed"].str.len() > 0].itertuples():
            assert opened(odd, str(row.query)) == list(row.listed)
