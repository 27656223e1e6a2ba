"""What marks of figures lead to: each list has as many cases as the table of the figure states."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

from mrb_lib.benchmarks.votes import gold
from mrb_lib.demo import write_demo
from mrb_lib.figures.style import Paper
from mrb_lib.report.places import write_simulated_runs
from mrb_lib.review.failures.kinds import failure_kinds
from mrb_lib.review.failures.query import from_fragment, select
from mrb_lib.stats.where import cases_where


@pytest.fixture(scope="module")
def w(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    folder = tmp_path_factory.mktemp("lists")
    write_demo(folder / "bench", cases=90, seed=2)
    write_simulated_runs(folder / "bench", folder / "bench" / "runs", seed=2)
    return open_workspace(str(folder / "bench"), resamples=50, out=str(folder / "out"))


def frame(made: Frame) -> pd.DataFrame:
    assert isinstance(made, pd.DataFrame)
    assert made.attrs["about"].endswith(".")
    return made


def lists(made: Frame) -> dict[tuple[str, str], tuple[str, ...]]:
    named = frame(made)
    return dict(zip(zip(named["row"], named["dimension"], strict=True), named["listed"], strict=True))


def opened(w: Workspace, fragment: str) -> list[str]:
    """The cases that `mrb review` lists for a query."""
    query, _ = from_fragment(fragment)
    labels, cases = gold(w.benchmark), w.benchmark.cases
    kinds = failure_kinds(w.verdicts[w.verdicts["probe"] == "none"], labels, cases)
    within = None
    if query.where:
        within = cases_where(query.where, cases, gold=labels, outcomes=lambda: kinds.outcomes, reviewers=dict,
                             dimensions=w.benchmark.meta.dimensions)  # fmt: skip
    return [str(cases["case_id"].iloc[i]) for i in select(kinds, cases, query, within=within)]


def check_queries(w: Workspace, made: Frame, least: int = 1) -> None:
    """Every query opens its list; `least` says how many rows have one."""
    asked = frame(made)[frame(made)["query"] != ""]
    assert len(asked) >= least
    for row in asked.head(12).itertuples():
        assert opened(w, str(row.query)) == list(row.listed), row.stated


def test_turned_cases_are_those_that_consistency_counts(w: Workspace) -> None:
    table, made = w.analyze("consistency"), lists(case_lists.turned(w))
    assert len(made) == len(table)
    for row in table.itertuples():
        listed = made[row.judge, row.dimension]
        assert len(listed) >= row.n * (1 - row.consistency) - 1e-9
        own = w.verdicts[(w.verdicts["judge"] == row.judge) & (w.verdicts["dimension"] == row.dimension)]
        for case, said in own[own["case_id"].isin(listed)].groupby("case_id"):
            sides = said.pivot(index="repeat", columns="order", values="choice").dropna()
            assert (sides["AB"] != sides["BA"]).any(), case
    once = replace(w, verdicts=w.verdicts[w.verdicts["repeat"] == 0])
    made = lists(case_lists.turned(once))
    for row in once.analyze("consistency").itertuples():
        assert len(made[row.judge, row.dimension]) == round(row.n * (1 - row.consistency))
    check_queries(w, case_lists.turned(w), 12)


def test_surely_wrong_cases_are_those_of_the_verdicts_that_calibration_counts(w: Workspace) -> None:
    table = w.analyze("calibration")
    table = table[(table["part"] == "summary") & (table["n_high_confidence"] > 0)]
    made = frame(case_lists.surely_missed(w)).set_index(["row", "dimension"])
    assert len(made) == len(table) > 6
    labels = gold(w.benchmark).set_index(["case_id", "dimension"])["choice"]
    for row in table.itertuples():
        stated = made.loc[(row.judge, row.dimension)]
        n_wrong = round(row.wrong_at_high_confidence * row.n_high_confidence)
        assert f"with {n_wrong:,} wrong of {row.n_high_confidence:,} verdict" in stated["stated"]
        own = w.verdicts[(w.verdicts["judge"] == row.judge) & (w.verdicts["dimension"] == row.dimension)]
        label = own["case_id"].map(labels.xs(row.dimension, level=1))
        against = own["p_a"].where(label == "B", 1 - own["p_a"]).round(12)
        sure = own[(against >= 0.9) & label.isin(["A", "B"])]
        assert len(sure) == n_wrong
        assert set(stated["listed"]) == set(sure["case_id"])
    check_queries(w, case_lists.surely_missed(w))


def test_unsure_cases_are_all_but_those_answered_at_the_threshold(w: Workspace) -> None:
    table = w.analyze("selective", target=0.75, dimension="overall")
    made = frame(case_lists.unsure(w, table, delta=0.1))
    assert made["listed"].str.len().min() > 0
    own = table[(table["reference"] == "majority") & (table["delta"].isna() | (table["delta"] == 0.1))]
    promised = own[(own["part"] == "guarantee") & own["threshold"].notna()].set_index("judge")["threshold"]
    assert set(made["row"]) == set(promised.index)
    for row in made.itertuples():
        here = (w.verdicts["judge"] == row.row) & (w.verdicts["dimension"] == "overall")
        p_a = w.verdicts[here].groupby("case_id")["p_a"].mean().round(12)
        sure = p_a.where(p_a > 0.5, 1 - p_a).round(12)
        assert set(row.listed) == set(sure.index[sure < promised[row.row]])
        n_answered = len(sure) - len(row.listed)
        curve = own[(own["part"] == "curve") & (own["judge"] == row.row)]
        assert curve.loc[curve["threshold"] >= promised[row.row], "n_answered"].max() <= n_answered
        assert curve.loc[curve["threshold"] <= promised[row.row], "n_answered"].min() >= n_answered
    check_queries(w, case_lists.unsure(w, table, delta=0.1))
    assert isinstance(case_lists.unsure(w, Absent("none"), delta=0.1), Absent)


def test_suspect_cases_are_those_that_the_conclusion_counts(w: Workspace) -> None:
    table = w.analyze("difficulty", dimension="overall")
    cases = table[table["part"] == "case"]
    [row] = frame(case_lists.suspect(w, cases)).to_dict("records")
    assert set(row["listed"]) == set(cases.loc[cases["suspicion"] >= 0.5, "case_id"])
    assert row["listed"]
    check_queries(w, case_lists.suspect(w, cases))


def test_disputed_cases_are_those_of_the_tables_of_agreement(w: Workspace) -> None:
    made = frame(case_lists.disputed(w)).set_index("dimension")
    clear = gold(w.benchmark, "unanimous").dropna(subset="choice")["dimension"].value_counts()
    for row in w.analyze("agreement", pairwise=0).itertuples():
        listed = made.loc[row.dimension]
        assert listed["stated"] == f"{len(listed['listed'])} of {row.n_cases} cases with several annotators"
        assert row.n_cases - len(listed["listed"]) == clear[row.dimension]
    check_queries(w, case_lists.disputed(w), 6)
    pairs = lists(case_lists.disputed_by_pairs(w))
    table = w.analyze("agreement").query("part == 'pair'")
    assert len(pairs) == len(table)
    for row in table.itertuples():
        listed = pairs[pair_name(row.annotator_1, row.annotator_2), row.dimension]
        assert len(listed) == round(row.n_cases * (1 - row.percent_agreement))
    check_queries(w, case_lists.disputed_by_pairs(w))


@pytest.mark.parametrize("policy", ["balanced", "strict"])
def test_cases_missed_by_juries_make_up_what_their_accuracy_lacks(w: Workspace, policy: str) -> None:
    strict = replace(w, policy=policy)
    table = strict.analyze("jury", dimension="overall")
    juries = table[(table["part"] == "jury") & (table["kind"] != "best_single")].set_index("kind")
    made = frame(case_lists.missed(strict)).set_index("row")
    assert len(made) == len(juries) == 3
    for kind, row in juries.iterrows():
        stated = made.loc[NAMES[str(kind)], "stated"]
        n_wrong, half = len(made.loc[NAMES[str(kind)], "listed"]), 0
        if "half right" in stated:
            half = int(stated.split(" and ")[1].split()[0])
        assert stated.endswith(f" of {row['n']} cases scored")
        # A jury asked twice may score a quarter or three quarters of a case.
        assert n_wrong / 2 <= row["n"] * (1 - row["accuracy"]) <= n_wrong + half / 2 + (row["n"] - n_wrong - half) / 2
        if policy == "strict":
            assert row["n"] * (1 - row["accuracy"]) == pytest.approx(n_wrong)
    check_queries(w, case_lists.missed(strict))


@pytest.mark.parametrize("by", ["organ", "department", "modality", "dataset"])
def test_bars_of_the_composition_lead_to_their_cases(w: Workspace, by: str) -> None:
    made = frame(case_lists.all_of(w, by)).set_index("subfield")
    assert made["listed"].str.len().to_dict() == w.benchmark.cases[by].value_counts().to_dict()
    check_queries(w, case_lists.all_of(w, by), len(made))
    assert isinstance(case_lists.all_of(w, "cluster_of_nothing"), Absent)


def test_cells_of_dif_lead_to_the_cases_that_its_counts_hold(w: Workspace) -> None:
    table = w.analyze("dif", by="department", dimension="overall")
    made = frame(w.failing("department", dimension="overall"))
    parts = made[made["subfield"].notna()].set_index(["row", "subfield"])
    for row in table[table["subfield"].notna()].itertuples():
        assert parts.loc[(row.judge, row.subfield), "stated"].endswith(f" of {row.n_inside} cases scored")


def test_marks_of_the_figures_find_their_lists(w: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of figures that are laid out and not saved: a mark lies where the layout puts it."""
    for name in ("_quantized", "svg", "pdf"):
        monkeypatch.setattr(Paper, name, lambda _drawn: b"")
    consistency, agreement = w.analyze("consistency"), w.analyze("agreement", pairwise=0)
    difficulty = w.analyze("difficulty", dimension="overall")
    cases = difficulty[difficulty["part"] == "case"]
    calibration = w.analyze("calibration", dimension="overall")
    selective = w.analyze("selective", dimension="overall", target=0.75)
    drawn = {"target": "75%", "confidence": "90%", "reference": "majority"}
    organs = w.analyze("accuracy", by="organ", dimension="overall", references=0)
    counts = w.analyze("composition").groupby("organ", as_index=False)["n_cases"].sum()
    pairs = w.analyze("agreement").query("part == 'pair'")
    shown = {"n_shown": 3, "n_all": 3}
    n_judges, n_sure = len(w.judges), calibration.loc[calibration["part"] == "bin", "judge"].nunique()
    w.figure("order-consistency", consistency, behind=case_lists.turned(w))
    w.figure("agreement-dimensions", agreement, words={"n_annotators": 3}, behind=case_lists.disputed(w))
    w.figure("agreement-pairs", pairs, words=shown, behind=case_lists.disputed_by_pairs(w))
    w.figure("models-suspicion", cases, behind=case_lists.suspect(w, cases))
    w.figure("reliability", calibration, behind=case_lists.surely_missed(w))
    unsure = case_lists.unsure(w, selective, delta=0.1)
    w.figure("risk-coverage", selective, target=0.75, words=drawn, behind=unsure)
    w.figure("jury-sizes", w.analyze("jury", dimension="overall"), behind=case_lists.missed(w))
    w.figure("composition-organs", counts, by="organ", behind=case_lists.all_of(w, "organ"))
    w.figure("organs-radar", organs, words={"by": "organ"}, behind=w.failing(dimension="overall"))
    dif = w.analyze("dif", by="department", dimension="overall")
    by = {"by": "department"}
    w.figure("models-dif", dif, words=by, behind=w.failing("department", dimension="overall"))
    wanted = {
        "order-consistency": len(consistency), "agreement-dimensions": 6, "agreement-pairs": len(pairs),
        "models-suspicion": 2, "reliability": n_sure, "risk-coverage": len(frame(unsure)), "jury-sizes": 3,
        "composition-organs": len(counts), "organs-radar": min(n_judges, 6),
        "models-dif": len(dif[dif["subfield"].notna()].drop_duplicates(["judge", "subfield"])),
    }  # fmt: skip
    for name, n in wanted.items():
        said = json.loads((Path(w.out) / "figures" / f"{name}.json").read_text(encoding="utf-8"))["behind"]
        assert len(said["cells"]) == n, name
        for cell in said["cells"]:
            left, top, width, height = cell["box"]
            assert 0 <= left < left + width <= 1.001, (name, cell["box"])
            assert 0 <= top < top + height <= 1.001, (name, cell["box"])
