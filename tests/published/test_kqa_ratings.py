"""K-QA as ratings, through the commands: SIMULATED judges whose leniency, noise and reversed scale are planted.

The physicians' 1,197 labels are public (Manes et al., 2024, arXiv 2401.14493); the judges are drawn about
their majority.
"""

import io
import json
import sys
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.stats import ttest_1samp

from mrb_lib.benchmarks.benchmark import load
from mrb_lib.benchmarks.votes import gold
from mrb_lib.cli.main import main
from mrb_lib.demo.ratings import JUDGES, simulated_ratings
from mrb_lib.stats.analyze import analyze
from mrb_lib.verdicts.store import load_verdicts


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


@pytest.fixture(scope="module")
def bench(reference_data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
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
    return folder / "bench"


def test_planted_faults_are_recovered_through_the_commands(bench: Path) -> None:
    shown = run("analyze", bench, "--table", "ratings", "--level", "ordinal", "--resamples", 300, "--json")
    found = pd.DataFrame(json.loads(shown)["rows"]).set_index("judge")
    assert (found["spearman_high"] < 0).to_dict() == {judge.name: judge.reversed for judge in JUDGES}
    assert found["reason"].str.contains("upside down", na=False).sum() == 1
    lenient = {judge.name: judge.leniency > 0 for judge in JUDGES if judge.leniency}
    assert (found.loc[list(lenient), "mean_difference"] > 0).to_dict() == lenient
    assert found.loc["simulated-careful", "weighted_kappa_low"] > found.loc["simulated-erratic", "weighted_kappa_high"]
    assert found.loc["simulated-careful", "icc_consistency_low"] > found.loc["simulated-erratic", "icc_high"]
    assert set(found["n_unacceptable"]) == {12}


@pytest.mark.parametrize("level", ["nominal", "ordinal", "interval"])
def test_the_alternative_annotator_test_is_a_loop(bench: Path, level: str) -> None:
    """Accuracy for categories; minus the root mean squared distance, which orders as its square does, for numbers."""
    made, name = load(bench), "simulated-strict"
    said = load_verdicts(bench / "runs", made.cases)
    table = analyze(made, said, "ceiling", level=level, resamples=40)
    beside = table[table["part"] == "alt_test_annotator"].set_index(["judge", "annotator"])
    places = {category: place for place, category in enumerate(made.meta.categories)}
    given = said[said["judge"].eq(name) & said["choice"].notna()]
    people = made.annotations.assign(place=made.annotations["choice"].map(places))
    people = people.pivot(index="case_id", columns="annotator", values="place").loc[given["case_id"]]

    def alignment(labels: pd.Series, others: np.ndarray) -> np.ndarray:
        apart = others - labels.to_numpy(dtype=float)[:, None]
        return (apart == 0).mean(axis=1) if level == "nominal" else -np.sqrt((apart**2).mean(axis=1))

    for annotator in people.columns:
        others = people.drop(columns=annotator).to_numpy(dtype=float)
        judge, person = (alignment(labels, others) for labels in (given["choice"].map(places), people[annotator]))
        wins = pd.DataFrame({"judge": judge >= person - 1e-9, "person": person >= judge - 1e-9}, index=people.index)
        wins = wins.groupby(level=0).mean()
        row = beside.loc[(name, annotator)]
        assert row["advantage_probability"] == pytest.approx(wins["judge"].mean(), abs=1e-12)
        assert row["annotator_probability"] == pytest.approx(wins["person"].mean(), abs=1e-12)
        expected = ttest_1samp(wins["person"] - wins["judge"], 0.2, alternative="less").pvalue
        assert row["p_value"] == pytest.approx(expected, abs=1e-9)


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
