"""`mrb train` from the command line: one judge, several, one for each fold; every wrong wish in one line."""

import json
import re
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from mrb_lib.benchmarks.benchmark import load, save
from mrb_lib.benchmarks.splits import split, write_split
from mrb_lib.build.training.recipe import Recipe
from mrb_lib.demo import write_demo
from mrb_lib.tables.files import slug
from mrb_lib.tables.options import options_of

from .conftest import Mrb

pytestmark = pytest.mark.slow

Tiny = Callable[[str], Path]
QUICK = ("--epochs", "1", "--batch", "4", "--n-cases", "4", "--device", "cpu")
BLIND = (*QUICK, "--without-images")  # for a model that reads text only


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Twenty-four simulated cases of two dimensions, with a fold for each of three departments."""
    folder = tmp_path_factory.mktemp("bench")
    write_demo(folder, cases=24, seed=3)
    benchmark = load(folder)  # what training takes is the length of its prompts
    short = {name: benchmark.cases[name].str[:120] for name in ("response_a", "response_b")}
    names = sorted(benchmark.cases["department"].unique())
    departments = benchmark.cases["department"].map({name: names[i % 3] for i, name in enumerate(names)})
    cases = benchmark.cases.assign(**short, department=departments)
    kept = ("accuracy", "overall")
    votes = benchmark.annotations[benchmark.annotations["dimension"].isin(kept)]
    meta = replace(benchmark.meta, dimensions=kept)
    save(replace(benchmark, meta=meta, cases=cases, annotations=votes), folder)
    write_split(split(load(folder), test=0.3, validation=0.1, seed=0, folds="department").benchmark)
    return folder


def _record(folder: Path) -> dict[str, object]:
    record: dict[str, object] = json.loads((folder / "training.json").read_text(encoding="utf-8"))
    return record


def test_trains_judges_and_compares(mrb: Mrb, bench: Path, tiny: Tiny, tmp_path: Path) -> None:
    base = f"path:{tiny('llava')}"
    trained = mrb("train", bench, tmp_path / "tuned", "--model", base, "--method", "reward", *QUICK).ok
    said = trained.out + trained.err
    assert "trained on 4 SIMULATED cases" in said and "flatters" in said
    assert "tuned: estimated memory: 0.0 GB of weights, 0.0 GB of gradients" in said
    assert re.search(r"a bag-of-words baseline, trained on the same cases .* has accuracy [01]\.\d{3}", said)
    for judge in (base, f"path:{tmp_path / 'tuned'}"):
        assert mrb("judge", bench, tmp_path / "runs", "--judge", judge).ok
    table = mrb("analyze", bench, tmp_path / "runs", "--table", "gains", "--dimension", "overall", "--json")
    [row] = [row for row in table.rows if row["part"] == "accuracy"]
    assert row["tuned"] == "tuned" and row["base"] == tiny("llava").name
    record = _record(tmp_path / "tuned")
    assert row["n_seen"] > 0
    cases = load(bench).cases
    assert {*record["cases"], *record["related"]} == set(cases.loc[cases["split"] == "train", "case_id"])
    seen = {*record["cases"], *record["related"], *record["validation"]}
    assert row["n"] + row["n_excluded"] == 24 and row["n"] <= 24 - len(seen)


def test_a_judge_for_each_fold_never_sees_it(mrb: Mrb, bench: Path, tiny: Tiny, tmp_path: Path) -> None:
    arguments = ("--model", f"path:{tiny('llama')}", "--method", "reward", *BLIND, "--dimension", "overall")
    assert mrb("train", bench, tmp_path, *arguments, "--leave-one-out", "department").ok
    cases = load(bench).cases.set_index("case_id")
    assert cases["fold"].nunique() == 3
    for fold in cases["fold"].unique():
        record = _record(tmp_path / f"without-{slug(fold)}")
        assert record["left_out"] == {"department": fold}
        used = [*record["cases"], *record["validation"]]
        assert used and fold not in set(cases.loc[used, "fold"])


def test_a_training_that_learnt_nothing_says_so_last_and_no_library_advises(
    bench: Path, tiny: Tiny, tmp_path: Path
) -> None:
    config = tmp_path / "adapter.toml"
    config.write_text("lora = false\n[adapter]\nr = 2\n", encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "mrb_lib.cli.main", "train", bench, tmp_path / "out", "--model",
         f"path:{tiny('llama')}", "--lora", "--config", config, "--lr", "1e-9", *BLIND],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    lines = done.stderr.strip().splitlines()
    assert "no sign that it learnt anything" in lines[-1] and "--lr" in lines[-1]
    assert not [line for line in lines if not line.startswith(("out: ", str(tmp_path / "out")))]


def test_the_help_names_every_key_of_a_recipe(mrb: Mrb) -> None:
    shown = " ".join(mrb("train", "--help").out.split())
    keys = options_of(Recipe())
    assert not {one.flag for one in keys.values() if one.kind != Mapping[str, object] and one.flag not in shown}
    assert all(table in shown for table in ("trainer", "adapter"))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "name either --model"),
        (("--model", "MODEL", "--from", "WARM"), "name either --model"),
        (("--from", "FOLDER"), "holds no training.json"),
        (("--model", "path:nowhere"), "holds no config.json"),
        (("--model", "MODEL", "--config", "nowhere"), "is none of tiny-letters, tiny-reward"),
        (("--model", "MODEL", "--dtype", "int4"), "--dtype 'int4'"),
        (("--model", "MODEL", "--leave-out", "organ"), "write COLUMN=VALUE"),
        (("--model", "MODEL", "--leave-out", "organ=eye"), "--leave-out organ: the split has no folds by organ"),
        (("--model", "MODEL", "--leave-out", "department=Gardening"), "there is no such fold"),
        (("--model", "MODEL", "--leave-one-out", "organ"), "--leave-one-out organ: the split has no folds by organ"),
        (("--model", "MODEL", "--leave-one-out", "department", "--leave-out", "x=y"), "name one of them"),
        (("--model", "MODEL", "--dimension", "charm"), "dimension 'charm'"),
        (("--model", "MODEL", "--quantize", "4bit"), "rounded weights cannot be trained; add --lora"),
        (("--model", "MODEL", "--quantize", "4bit", "--lora"), "on a GPU only; use 8bit"),
        (("--model", "MODEL", "--quantize", "3bit"), "--quantize '3bit': must be"),
    ],
)
def test_wrong_wishes_are_one_line_and_nothing_is_written(
    arguments: tuple[str, ...], message: str, mrb: Mrb, bench: Path, tiny: Tiny, tmp_path: Path
) -> None:
    places = {"FOLDER": str(tiny("llama")), "MODEL": f"path:{tiny('llama')}"}
    own = [places.get(argument, argument) for argument in arguments]
    assert message in mrb("train", bench, tmp_path / "out", *own, "--device", "cpu").refusal
    assert not (tmp_path / "out").exists()
