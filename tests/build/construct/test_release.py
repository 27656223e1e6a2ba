"""A release: what its card says is what its tables hold, other people's libraries read it, and nothing leaks."""

from dataclasses import replace
from pathlib import Path

import datasets
import numpy as np
import pandas as pd
import pytest
import yaml
from huggingface_hub import DatasetCard

from mrb_lib.benchmarks.audit.folder import audit
from mrb_lib.benchmarks.audit.splits import check_split
from mrb_lib.benchmarks.benchmark import load
from mrb_lib.build.construct.pair import Plan, pair
from mrb_lib.build.construct.release import NOT_ANNOTATED, Released, Terms, release
from mrb_lib.build.construct.work import Work
from mrb_lib.tables.errors import InputError
from tests.build.construct.paired import N, make_work

pytestmark = pytest.mark.slow

LIMITS = ("All | of <b>one</b> scanner.",)
TERMS = Terms("1.0.0", limit=LIMITS, contact="nobody", min_annotators=2, test=0.25, validation=0.15)
N_DONE = 30


@pytest.fixture(scope="module")
def work(tmp_path_factory: pytest.TempPathFactory) -> Work:
    """A work folder whose pairs wait for annotation."""
    made = make_work(tmp_path_factory.mktemp("release") / "work")
    pair(made, Plan(per_item=1))
    return made


@pytest.fixture(scope="module")
def labels(work: Work) -> pd.DataFrame:
    """Thirty cases by three annotators who agree mostly, one case by a single one."""
    cases = load(work.path).cases["case_id"]
    rng = np.random.default_rng(5)
    rows = []
    for number, case in enumerate(cases[: N_DONE + 1]):
        for dimension in load(work.path).meta.dimensions:
            truth = rng.choice(["A", "B", "tie"])
            names = ("ann", "ben", "cy")[: 3 if number < N_DONE else 1]
            rows += [(case, name, dimension, truth if rng.random() < 0.8 else "A") for name in names]
    return pd.DataFrame(rows, columns=["case_id", "annotator", "dimension", "choice"], dtype="str")


@pytest.fixture(scope="module")
def released(work: Work, labels: pd.DataFrame, tmp_path_factory: pytest.TempPathFactory) -> Released:
    people = pd.DataFrame(
        {
            "annotator": ["ann", "ben", "cy", "dan"],
            "qualification": ["radiologist", "radiologist", None, "surgeon"],
            "years": [10.0, 4.0, np.nan, 1.0],
            "consent": ["2026-03-01, on paper", None, None, None],
        }
    )
    return release(work, tmp_path_factory.mktemp("out") / "bench", TERMS, labels, people=people)


def test_what_was_annotated_is_released_and_the_rest_is_counted(work: Work, released: Released) -> None:
    bench = load(released.benchmark.path)
    assert len(bench.cases) == N_DONE and len(bench.annotations) == N_DONE * 3 * len(bench.meta.dimensions)
    assert (bench.meta.kind, bench.meta.revision, bench.meta.licence) == ("simulated", "1.0.0", "CC0")
    check_split(bench)
    assert set(bench.cases["split"]) == {"train", "validation", "test"}
    assert not [finding for finding in audit(bench.path) if finding.severity == "error"]
    own = work.decisions().query("step == 'release'")
    assert own["reason"].value_counts().to_dict() == {NOT_ANNOTATED: len(own) - bench.cases["item"].nunique()}
    assert released.facts.funnel.query("step == 'release' and reason == 'kept'")["n"].item() == own["kept"].sum()
    chosen = bench.meta.extra["construction"]
    assert chosen["version"] == "1.0.0" and chosen["pair"]["per_item"] == 1 and chosen["pair"]["seed"] == 0


def test_the_card_says_what_the_tables_hold_and_no_text_becomes_markup(released: Released) -> None:
    card = (released.benchmark.path / "README.md").read_text(encoding="utf-8")
    assert "SIMULATED" in card and f"{N_DONE:,} cases" in card and f"{N - 1 - N_DONE} pairs were made" in card
    alpha = released.facts.agreement.set_index("dimension").loc["overall", "krippendorff_alpha"]
    assert f"{alpha:.3f} [" in card
    assert (
        "They are 2 radiologist, 7 years of practice (the median); 1 not said. Consent is on record for 1 of 3." in card
    )
    assert "ann" not in card.replace("annot", "").split() and "paper" not in card.split()
    assert r"All \| of \<b\>one\</b\> scanner." in card
    assert str(released.benchmark.path) not in card


def test_hugging_faces_libraries_read_the_card_and_the_tables(released: Released, tmp_path: Path) -> None:
    folder = released.benchmark.path
    card = DatasetCard.load(folder / "README.md")
    assert card.data.license == "other" and card.data.license_name == "CC0"
    assert yaml.safe_load(card.data.to_yaml())["size_categories"] == ["n<1K"]
    for name, n in (("cases", N_DONE), ("annotations", len(released.benchmark.annotations))):
        read = datasets.load_dataset(str(folder), name, cache_dir=str(tmp_path))
        assert {part: len(rows) for part, rows in read.items()} == {name: n}


@pytest.mark.parametrize(
    ("terms", "message"),
    [
        (Terms("one"), "--version 'one': write three numbers"),
        (Terms("1.0.0", min_annotators=4), "no case is annotated by 4 people; collect annotations with `mrb annotate"),
        (Terms("1.0.0", test=0.9, validation=0.2), "leave nothing to train on"),
    ],
)
def test_impossible_terms_are_one_line_and_write_nothing(
    terms: Terms, message: str, work: Work, labels: pd.DataFrame, tmp_path: Path
) -> None:
    before = {path: path.read_bytes() for path in work.path.glob("*.parquet")}
    with pytest.raises(InputError, match=message.replace("(", r"\(")) as caught:
        release(work, tmp_path / "out", terms, labels, again=True)
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "out").exists()
    assert {path: path.read_bytes() for path in work.path.glob("*.parquet")} == before


def test_a_licence_that_is_missing_is_named_and_can_be_given_without_starting_again(
    tmp_path: Path, labels: pd.DataFrame
) -> None:
    made = make_work(tmp_path / "work", licence=["CC0", None, *["MIT"] * (N - 2)])
    pair(made, Plan(per_item=1))
    with pytest.raises(InputError, match="the items bear CC0, MIT, or none; name the licence of the whole"):
        release(made, tmp_path / "out", TERMS, labels)
    assert made.state("release") is None
    alone = labels[labels["annotator"] == "ann"]
    release(made, tmp_path / "out", replace(TERMS, licence="CC-BY-4.0", min_annotators=1), alone)
    assert load(tmp_path / "out").meta.licence == "CC-BY-4.0"
    card = (tmp_path / "out" / "README.md").read_text(encoding="utf-8")
    assert "| - | undefined: " in card and "| nan |" not in card
