"""Tests that the basis of a later comparison says who chose what, and holds no text, name or place."""

import io
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest
from PIL import Image

from mrb_lib.benchmarks.benchmark import Benchmark, load, save
from mrb_lib.benchmarks.meta import BenchmarkMeta
from mrb_lib.benchmarks.votes import gold
from mrb_lib.tables.errors import InputError
from mrb_lib.verdicts.basis import basis_of, digests_of, read_basis, write_basis
from mrb_lib.verdicts.store import save_imported


def png(shade: int) -> bytes:
    stream = io.BytesIO()
    Image.new("L", (4, 4), shade).save(stream, "PNG")
    return stream.getvalue()


@pytest.fixture
def bench(tmp_path: Path) -> Benchmark:
    ids = ["c1", "c2", "c3"]
    cases = pd.DataFrame({
        "case_id": ids, "question": "Where is the fracture?", "response_a": ["left femur"] * 3,
        "response_b": ["right tibia"] * 3, "images": [["one.png"], ["two.png"], []],
    })  # fmt: skip
    votes = pd.DataFrame(
        [(case, who, "overall", label) for case in ids for who, label in (("Dr Secret", "A"), ("Dr Other", "B"))]
        + [("c1", "consensus", "overall", "A")],
        columns=["case_id", "annotator", "dimension", "choice"],
    )
    save(
        Benchmark(
            BenchmarkMeta("small", "clinical", ("overall",)), cases, votes, {"one.png": png(1), "two.png": png(2)}
        ),
        tmp_path / "bench",
    )
    verdicts = pd.DataFrame({
        "judge": "m", "case_id": ids, "dimension": "overall", "order": "AB", "choice": ["A", None, "tie"],
        "reply": "The femur is broken.", "prompt_id": "plain",
    })  # fmt: skip
    save_imported(verdicts, tmp_path / "bench" / "runs", benchmark="small", kind="clinical", source=str(tmp_path))
    return load(tmp_path / "bench")


def test_a_basis_survives_the_disk_and_says_the_same(bench: Benchmark, tmp_path: Path) -> None:
    assert bench.path is not None
    basis = basis_of(bench, bench.path / "runs")
    write_basis(basis, tmp_path / "kept")
    kept = read_basis(tmp_path / "kept")
    assert kept.fingerprint() == basis.fingerprint()
    pd.testing.assert_frame_equal(kept.verdicts, basis.verdicts)
    pd.testing.assert_frame_equal(gold(kept.benchmark), gold(bench))
    assert kept.runs[["judge", "name", "prompt_id"]].to_numpy().tolist() == [["m", "m", "plain"]]
    assert kept.benchmark.meta == bench.meta


def test_no_text_name_reply_or_path_is_kept(bench: Benchmark, tmp_path: Path) -> None:
    assert bench.path is not None
    write_basis(basis_of(bench, bench.path / "runs"), tmp_path / "kept")
    for path in (tmp_path / "kept").iterdir():
        text = pd.read_parquet(path).to_csv() if path.suffix == ".parquet" else path.read_text()
        raw = path.read_bytes()
        for secret in ("femur", "tibia", "fracture", "Secret", "Other", str(tmp_path), "one.png"):
            assert secret not in text, path.name
            assert secret.encode() not in raw, path.name
    people = set(read_basis(tmp_path / "kept").benchmark.annotations["annotator"])
    assert people == {"001", "002", "consensus"}


@pytest.mark.parametrize("column", ["question", "response_a", "response_b"])
def test_another_text_is_another_digest_of_that_case_only(bench: Benchmark, column: str) -> None:
    changed = bench.cases.copy()
    changed.loc[1, column] += "."
    before, after = digests_of(bench), digests_of(replace(bench, cases=changed))
    assert (before["text"] != after["text"]).tolist() == [False, True, False]
    assert (before["images"] == after["images"]).all()


def test_an_image_is_known_by_its_pixels_not_its_name(bench: Benchmark) -> None:
    files = {"a.png": png(1), "b.png": png(9)}
    cases = bench.cases.assign(images=pd.Series([["a.png"], ["b.png"], []]))
    before, after = digests_of(bench), digests_of(replace(bench, cases=cases, images=files))
    assert (before["images"] == after["images"]).tolist() == [True, False, True]


def test_a_damaged_basis_is_one_message(bench: Benchmark, tmp_path: Path) -> None:
    write_basis(basis_of(bench, None), tmp_path / "kept")
    (tmp_path / "kept" / "verdicts.parquet").write_bytes(b"PAR1")
    with pytest.raises(InputError, match=r"verdicts\.parquet"):
        read_basis(tmp_path / "kept")
    write_basis(basis_of(bench, None), tmp_path / "kept")
    pd.DataFrame({"x": [1]}).to_parquet(tmp_path / "kept" / "cases.parquet")
    with pytest.raises(InputError, match=r"cases\.parquet"):
        read_basis(tmp_path / "kept")
