"""K-QA as ratings, through the commands: SIMULATED judges whose leniency, noise and reversed scale are planted.

The physicians' 1,197 labels are public (Manes et al., 2024, arXiv 2401.14493); the judges are drawn about
their majority.
"""

import io
import json
import sys
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.special import ndtr, ndtri
from scipy.stats import ttest_1samp

from mrb_lib.benchmarks.benchmark import Benchmark, load
from mrb_lib.benchmarks.votes import gold
from mrb_lib.cli.main import main
from mrb_lib.demo.ratings import JUDGES, RatingJudge, simulated_ratings
from mrb_lib.stats.analyze import analyze
from tests.stats.small_tables import OF_RATINGS


def called(*arguments: object) -> tuple[int, str, str]:
    """The exit code, stdout and stderr of the command."""
    out, err = io.StringIO(), io.StringIO()
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(out), redirect_stderr(err):
        patch.setattr(sys, "argv", ["mrb", *map(str, arguments)])
        with pytest.raises(SystemExit) as stop:
            main()
    return int(stop.value.code or 0), out.getvalue(), err.getvalue()


def run(*arguments: object) -> str:
    code, out, err = called(*arguments)
    assert code == 0, err
    return out


def rows(bench: Path, table: str, *more: str, resamples: int = 300) -> pd.DataFrame:
    shown = run("analyze", bench, "--table", table, "--resamples", resamples, "--json", *more)
    return pd.DataFrame(json.loads(shown)["rows"])


@pytest.fixture(scope="module")
def bench(reference_data: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """K-QA imported, and imported again as a table together with the judges' verdicts."""
    folder = tmp_path_factory.mktemp("kqa")
    run("import", "kqa", reference_data / "kqa", folder / "labels")
    made = load(folder / "labels")
    tables = folder / "tables"
    tables.mkdir()
    made.cases.drop(columns="images").to_csv(tables / "cases.csv", index=False)
    made.annotations.to_csv(tables / "annotations.csv", index=False)
    simulated_ratings(gold(made), made.meta.categories).to_csv(tables / "verdicts.csv", index=False)
    (tables / "benchmark.toml").write_bytes((folder / "labels" / "benchmark.toml").read_bytes())
    run("import", "table", tables, folder / "bench")
    yield folder / "bench"


def expected(judge: RatingJudge, place: np.ndarray, k: int) -> np.ndarray:
    """The mean of the places that a judge of `mrb_lib.demo.ratings` gives to cases of these places.

    It chooses the place with the largest share of a normal variable about what it feels, whose spread is that of its
    own errors over `sharpness`; what it feels is drawn on a fine grid of quantiles.
    """
    felt = (k + 1 - place if judge.reversed else place) + judge.leniency
    error = np.hypot(judge.noise, judge.jitter)
    drawn = (felt[:, None] + error * ndtri((np.arange(4000) + 0.5) / 4000)).clip(0.5, k + 0.5)
    edges = np.array([-np.inf, *(np.arange(1, k) + 0.5), np.inf])
    shares = np.diff(ndtr((edges - drawn[..., None]) / max(error / judge.sharpness, 0.05)), axis=-1)
    return 1 + shares.argmax(axis=-1).mean(axis=1)


def within(found: pd.DataFrame, made: Benchmark) -> list[bool]:
    """Of each judge, whether the interval of its leniency holds what was planted."""
    places = {name: place for place, name in enumerate(made.meta.categories, 1)}
    label = gold(made).set_index("case_id")["choice"].map(places)
    mean = made.annotations["choice"].map(places).groupby(made.annotations["case_id"]).mean()
    held = []
    for judge in JUDGES:
        row = found.set_index("judge").loc[judge.name]
        by_place = dict(zip((1, 2, 3), expected(judge, np.arange(1, 4), 3), strict=True))
        planted = (label.map(by_place) - mean[label.index]).mean()
        held.append(row["mean_difference_low"] < planted < row["mean_difference_high"])
    return held


def test_planted_leniency_lies_in_nineteen_of_twenty_intervals(bench: Path) -> None:
    made = load(bench)
    held = sum(
        sum(within(analyze(made, verdicts, "ratings", level="ordinal", resamples=200), made))
        for verdicts in (simulated_ratings(gold(made), made.meta.categories, seed=seed) for seed in range(1, 11))
    )
    assert 43 <= held <= 50, "fewer, of 50, have a chance of less than 1 in 300 where each holds 95%"


def test_planted_faults_are_recovered_through_the_commands(bench: Path) -> None:
    found = rows(bench, "ratings", "--level", "ordinal").set_index("judge")
    assert sum(within(found.reset_index(), load(bench))) >= len(JUDGES) - 1
    assert (found["spearman_high"] < 0).to_dict() == {judge.name: judge.reversed for judge in JUDGES}
    assert found["reason"].str.contains("upside down", na=False).sum() == 1
    assert found.loc["simulated-careful", "weighted_kappa_low"] > found.loc["simulated-erratic", "weighted_kappa_high"]
    assert found.loc["simulated-careful", "icc_consistency_low"] > found.loc["simulated-erratic", "icc_high"]
    assert set(found["n_unacceptable"]) == {12}


OF_MORE = ("gains", "groups", "transfer")  # of judges or cases of which more is known


@pytest.mark.parametrize("table", [name for name in OF_RATINGS if name not in OF_MORE])
def test_every_table_that_speaks_of_ratings_is_made(bench: Path, table: str) -> None:
    level = () if table == "composition" else ("--level", "ordinal")
    found = rows(bench, table, *level, resamples=100)
    assert len(found)
    printed = run("analyze", bench, "--table", table, "--resamples", "100", *level)
    if table == "dif":  # the cases name no subfields
        assert "There is nothing to show: no subfields: the cases have no department" in printed
    else:
        assert printed.count("\n") > 3


@pytest.mark.parametrize("level", ["nominal", "ordinal", "interval"])
def test_the_alternative_annotator_test_is_a_loop(bench: Path, level: str) -> None:
    """Accuracy for categories; minus the root mean squared distance, which orders as its square does, for numbers."""
    found = rows(bench, "ceiling", "--level", level, resamples=100)
    beside = found[found["part"] == "alt_test_annotator"].set_index(["judge", "annotator"])
    made = load(bench)
    places = {name: place for place, name in enumerate(made.meta.categories, 1)}
    people = made.annotations.pivot_table(index="case_id", columns="annotator", values="choice", aggfunc="first")
    votes = people.to_dict("index")
    said = pd.concat([pd.read_parquet(part) for part in (bench / "runs" / "simulated-strict").rglob("*.parquet")])
    given = said.dropna(subset="choice").groupby("case_id")["choice"].agg(list)

    def alignment(label: str, others: list[str]) -> float:
        if level == "nominal":
            return float(np.mean([label == other for other in others]))
        return -float(np.sqrt(np.mean([(places[label] - places[other]) ** 2 for other in others])))

    for annotator in people.columns:
        judge_wins, person_wins = [], []
        for case, choices in given.items():
            others = [label for name, label in votes[case].items() if name != annotator]
            own = alignment(votes[case][annotator], others)
            each = [alignment(choice, others) for choice in choices]
            judge_wins.append(np.mean([one >= own - 1e-9 for one in each]))
            person_wins.append(np.mean([own >= one - 1e-9 for one in each]))
        row = beside.loc["simulated-strict", annotator]
        assert row["advantage_probability"] == pytest.approx(np.mean(judge_wins), abs=1e-12)
        assert row["annotator_probability"] == pytest.approx(np.mean(person_wins), abs=1e-12)
        difference = np.subtract(person_wins, judge_wins)
        expected_p = ttest_1samp(difference, 0.2, alternative="less").pvalue
        assert row["p_value"] == pytest.approx(expected_p, abs=1e-9)


def test_what_asks_for_an_order_or_for_two_responses_is_refused_in_a_line(bench: Path) -> None:
    for arguments, message in (
        (("ratings",), "--level ordinal"),
        (("accuracy", "--policy", "strict"), "policy strict: asks for a verdict in both orders"),
        (("bias",), "table bias: it is about choices between two responses"),
        (("ppi",), "table ppi: it is about choices between two responses"),
    ):
        code, out, err = called("analyze", bench, "--table", *arguments)
        assert (code, out, err.count("\n")) == (2, "", 1)
        assert message in err
