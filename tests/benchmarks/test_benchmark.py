from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mrb_lib.benchmarks.audit.folder import audit
from mrb_lib.benchmarks.benchmark import Benchmark, empty_annotations, load, save
from mrb_lib.benchmarks.meta import BenchmarkMeta, meta_from, read_meta
from mrb_lib.benchmarks.splits import split, write_split
from mrb_lib.benchmarks.votes import gold
from mrb_lib.stats.analysis import votes_behind
from mrb_lib.tables.errors import InputError

from . import near_copies

META = BenchmarkMeta("little", "general", dimensions=("overall",))


def _benchmark(votes: dict[str, str], meta: BenchmarkMeta = META) -> Benchmark:
    """Cases named by their id, with one annotator a letter of the votes (T is a tie)."""
    names = {"A": "A", "B": "B", "T": "tie"}
    cases = pd.DataFrame(
        {"case_id": list(votes), "question": "q", "response_a": "x", "response_b": "y", "images": [[] for _ in votes]}
    )
    rows = [(case, f"r{i}", "overall", names[v]) for case, text in votes.items() for i, v in enumerate(text)]
    annotations = pd.DataFrame(rows, columns=["case_id", "annotator", "dimension", "choice"], dtype="str")
    return Benchmark(meta, cases, annotations)


def test_gold_is_the_category_with_most_votes_and_null_where_two_share_them() -> None:
    frame = gold(_benchmark({"1": "AAB", "2": "ABT", "3": "TTA", "4": "B", "5": "AABB"}))
    assert frame["choice"].fillna("none").tolist() == ["A", "none", "tie", "B", "none"]
    assert frame[["votes_a", "votes_b", "votes_tie", "n_annotators"]].to_numpy().tolist() == [
        [2, 1, 0, 3], [1, 1, 1, 3], [1, 0, 2, 3], [0, 1, 0, 1], [2, 2, 0, 4],
    ]  # fmt: skip


def test_unanimous_gold_needs_every_annotator_and_two_at_least() -> None:
    frame = gold(_benchmark({"1": "AAB", "2": "AAA", "3": "TT", "4": "A"}), "unanimous")
    assert frame["choice"].fillna("none").tolist() == ["none", "A", "tie", "none"]
    with pytest.raises(InputError, match=r"no case has the labels of two annotators.*use the rule majority"):
        gold(_benchmark({"1": "A", "2": "B"}), "unanimous")


def test_a_consensus_is_a_vote_only_where_nobody_elses_is_known() -> None:
    bench = _benchmark({"1": "AB", "2": "BT", "3": ""})
    rows = pd.DataFrame({"case_id": ["1", "3"], "annotator": "consensus", "dimension": "overall", "choice": "A"})
    both = Benchmark(bench.meta, bench.cases, pd.concat([bench.annotations, rows.astype("str")], ignore_index=True))
    frame = gold(both)
    assert frame["choice"].fillna("none").tolist() == ["none", "none", "A"]
    assert frame["n_annotators"].tolist() == [2, 2, 1]


@pytest.mark.parametrize(
    ("votes", "name"),
    [
        ({"1": "AAB", "2": "BBB", "3": "ABT"}, "majority of 3 annotators' labels"),
        ({"1": "AAB", "2": "A"}, "majority of 1 to 3 annotators' labels"),
        ({"1": "AAB", "2": "AA"}, "majority of 2 or 3 annotators' labels"),
        ({"1": "A", "2": "B"}, "the only label of each case"),
        ({"1": "AABT", "2": "AAAB", "3": "AABB"}, "majority or plurality of 4 annotators' labels (1 of 2 pluralities)"),
        ({"1": "AB"}, ""),
    ],
)
def test_the_gold_says_whether_it_is_a_majority_and_of_how_many(votes: dict[str, str], name: str) -> None:
    """Issue 12, point 11: the most frequent of four labels, two of four, was called a majority."""
    assert votes_behind(gold(_benchmark(votes))) == name


def test_gold_keeps_the_order_of_cases_and_leaves_out_the_unannotated() -> None:
    assert gold(_benchmark({"z": "A", "a": "", "m": "B"}))["case_id"].tolist() == ["z", "m"]


@given(st.dictionaries(st.sampled_from("abcdefgh"), st.text("ABT", max_size=5), min_size=1))
def test_exchanging_a_and_b_exchanges_the_gold(votes: dict[str, str]) -> None:
    swap = str.maketrans("AB", "BA")
    ours = gold(_benchmark(votes))["choice"]
    theirs = gold(_benchmark({case: text.translate(swap) for case, text in votes.items()}))["choice"]
    assert ours.replace({"A": "B", "B": "A"}).fillna("-").tolist() == theirs.fillna("-").tolist()


def test_what_is_saved_is_loaded(tmp_path: Path) -> None:
    bench = _benchmark({"1": "AAB", "2": "B"})
    cases = bench.cases.assign(images=[["a/1.png"], []], score=[0.5, np.nan], organ=["brain", None])
    bench = Benchmark(
        BenchmarkMeta("n", "clinical", ("overall",), extra={"seed": 3}), cases, bench.annotations, {"a/1.png": b"PNG"}
    )
    save(bench, tmp_path / "b")
    found = load(tmp_path / "b")
    pd.testing.assert_frame_equal(found.cases, cases.astype({"organ": "str"}), check_dtype=True)
    pd.testing.assert_frame_equal(found.annotations, bench.annotations)
    assert found.meta == bench.meta
    assert dict(found.images) == {"a/1.png": b"PNG"}
    with pytest.raises(KeyError):
        found.images["absent.png"]
    with pytest.raises(InputError):
        found.images["../cases.parquet"]


@pytest.mark.parametrize("saved", [False, True])
def test_copies_of_an_image_have_one_name(tmp_path: Path, saved: bool) -> None:
    bench = _benchmark({"1": "A", "2": "B", "3": "A", "4": "B"})
    cases = bench.cases.assign(images=[["z.png"], ["a.png", "b.png"], ["c.png", "absent.png"], []])
    files = {"z.png": b"one", "a.png": b"two", "b.png": b"one", "c.png": b"another"}
    bench = Benchmark(META, cases, bench.annotations, files)
    if saved:
        save(bench, tmp_path / "b")
        bench = load(tmp_path / "b")
    assert bench.cases_by_image["images"].map(list).tolist() == [
        ["z.png"], ["a.png", "z.png"], ["c.png", "absent.png"], [],
    ]  # fmt: skip
    assert bench.cases["images"].map(list).tolist()[1] == ["a.png", "b.png"]


def test_fingerprints_follow_the_content(tmp_path: Path) -> None:
    bench = _benchmark({"1": "A", "2": "B"})
    cases = bench.cases.assign(images=[["1.png"], []])
    made = []
    for i, (image, votes) in enumerate(
        [(b"x", bench.annotations), (b"y", bench.annotations), (b"x", empty_annotations())]
    ):
        save(Benchmark(META, cases, votes, {"1.png": image}), tmp_path / str(i))
        made.append(load(tmp_path / str(i)))
    assert len({m.fingerprint() for m in made}) == 3
    assert made[0].case_fingerprint() == made[2].case_fingerprint() != made[1].case_fingerprint()
    assert load(tmp_path / "0").fingerprint() == made[0].fingerprint()


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ('name = "x"', "key kind"),
        ('name = "x"\nkind = "odd"', "'odd' must be 'clinical'"),
        ('name = 3\nkind = "general"', "key name"),
        ('name = "x"\nkind = "general"\ndimensions = "overall"', "key dimensions"),
        ('name = "x"\nkind = "general"\ndimensions = ["a", "a"]', "twice"),
        ("name = ", "not valid TOML"),
    ],
)
def test_a_wrong_benchmark_toml_is_named(tmp_path: Path, text: str, part: str) -> None:
    (tmp_path / "benchmark.toml").write_text(text)
    with pytest.raises(InputError) as caught:
        read_meta(tmp_path / "benchmark.toml")
    assert part in str(caught.value)
    assert "benchmark.toml" in str(caught.value)


@pytest.mark.parametrize("name", ["question", "note:a; b"])
def test_a_column_that_occurs_twice_is_named(tmp_path: Path, name: str) -> None:
    bench = _benchmark({"1": "A"})
    save(replace(bench, cases=bench.cases.assign(**{name: "text"})), tmp_path)
    table = pq.read_table(tmp_path / "cases.parquet")
    pq.write_table(table.append_column(name, table[name]), tmp_path / "cases.parquet")
    with pytest.raises(InputError, match=rf"cases\.parquet, column {name}: .*twice"):
        load(tmp_path)
    assert [(f.column, f.problem) for f in audit(tmp_path)] == [(name, "the column occurs twice")]


@pytest.mark.parametrize("values", [[10**40] * 2, [{}] * 2, [{"a": object()}] * 2, [1, "x"], [{"a": 1}, [1]]])
def test_values_that_parquet_cannot_hold_are_refused(tmp_path: Path, values: list[object]) -> None:
    made = _benchmark({"1": "A", "2": "B"})
    with pytest.raises(InputError, match=r"^cases, column extra: cannot be stored"):
        save(replace(made, cases=made.cases.assign(extra=pd.Series(values, dtype=object))), tmp_path)


def test_every_flipped_bit_is_noticed(tmp_path: Path) -> None:
    save(near_copies.bench([{} for _ in range(40)]), tmp_path)
    write_split(split(load(tmp_path)).benchmark)
    whole, rng = (tmp_path / "cases.parquet").read_bytes(), np.random.default_rng(5)
    for place in rng.integers(0, len(whole), 40):
        spoilt = bytearray(whole)
        spoilt[place] ^= 1 << int(rng.integers(8))
        (tmp_path / "cases.parquet").write_bytes(spoilt)
        with pytest.raises(InputError, match=r"cases\.parquet: is damaged"):
            load(tmp_path)
        assert any(finding.severity == "error" for finding in audit(tmp_path) if finding.file == "cases.parquet")


def test_a_table_that_another_program_wrote_is_read_as_it_is(tmp_path: Path) -> None:
    save(near_copies.bench([{} for _ in range(3)]), tmp_path)
    pd.read_parquet(tmp_path / "cases.parquet").assign(organ="eye").to_parquet(tmp_path / "cases.parquet")
    assert load(tmp_path).cases["organ"].eq("eye").all()


def test_a_definition_is_read_as_one_line() -> None:
    """It stands within a line of a prompt, which it must not end."""
    stated = {"overall": " as a\n\nclinician\u2028sees\tit ", "accuracy": "true"}
    meta = meta_from({"name": "b", "kind": "general", "definitions": stated}, "benchmark.toml")
    assert meta.definitions == {"overall": "as a clinician sees it", "accuracy": "true"}
