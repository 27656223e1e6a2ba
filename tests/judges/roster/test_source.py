"""Tests of what finding weights promises, against a loopback server that answers like the Hub."""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from mrb_lib.judges.roster.entry import Entry
from mrb_lib.judges.roster.source import WeightsSource, digest, is_complete, locate_weights, provenance_of
from mrb_lib.tables.errors import InputError, RunError

from ...benchmarks.hub.local_hub import LocalHub, empty_cache, serve

MODEL = "Some-Lab/Judge-7B"
OLD, NEW, PICKLED = "a" * 40, "b" * 40, "c" * 40
ENTRY = Entry("judge-7b", "packed", model=MODEL, parameters=8.0)
INDEX = {"weight_map": {"x": "model-00001-of-00002.safetensors", "y": "model-00002-of-00002.safetensors"}}


def write_model(folder: Path, marker: str) -> Path:
    """A model in two files of weights, with what no judge needs beside it."""
    (folder / "original").mkdir(parents=True)
    for name in INDEX["weight_map"].values():
        (folder / name).write_bytes(f"{marker} {name}".encode() * 100)
    (folder / "model.safetensors.index.json").write_text(json.dumps(INDEX))
    (folder / "config.json").write_text(json.dumps({"marker": marker}))
    (folder / "tokenizer.json").write_text("{}")
    (folder / "chat_template.jinja").write_text("hello")
    (folder / "README.md").write_text("# Judge")
    for name in ("pytorch_model.bin", "modeling_judge.py", "consolidated.safetensors", "original/w.safetensors"):
        (folder / name).write_bytes(b"never fetched")
    return folder


FETCHED = [
    "chat_template.jinja",
    "config.json",
    *INDEX["weight_map"].values(),
    "model.safetensors.index.json",
    "tokenizer.json",
]


@pytest.fixture
def online(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[LocalHub]:
    """A server with a model, and nothing in the cache."""
    empty_cache(tmp_path, monkeypatch)
    pickled = tmp_path / "pickled"
    pickled.mkdir()
    (pickled / "config.json").write_text("{}")
    (pickled / "pytorch_model.bin").write_bytes(b"a pickle")
    revisions = {OLD: write_model(tmp_path / "old", "old"), NEW: write_model(tmp_path / "new", "new"), PICKLED: pickled}
    with serve(LocalHub(MODEL, revisions, {"main": NEW, "v1": OLD}, is_model=True)) as server:
        monkeypatch.setenv("HF_ENDPOINT", server.url)
        yield server


def test_without_download_no_network_is_touched_and_the_size_and_the_cure_are_named(online: LocalHub) -> None:
    with pytest.raises(InputError, match=r"Some-Lab/Judge-7B.*about 16 GB.*--download"):
        locate_weights(ENTRY, revision=None, download=False)
    assert online.requests == []


def test_a_download_fetches_weights_and_what_describes_them_and_nothing_that_runs(online: LocalHub) -> None:
    source = locate_weights(ENTRY, revision=None, download=True)
    assert (source.revision, source.folder.name) == (NEW, NEW)
    assert online.fetched() == FETCHED
    assert is_complete(ENTRY, source.revision)


def test_of_a_model_in_a_folder_of_a_repository_that_folder_alone_is_fetched(online: LocalHub, tmp_path: Path) -> None:
    for name in ("VQA_CT", "VQA_MRI"):
        write_model(online.revisions[NEW] / "three" / name, name)
    entry = replace(ENTRY, subfolder="three/VQA_CT")
    with pytest.raises(InputError, match=r"folder three/VQA_CT.*--download"):
        locate_weights(entry, revision=None, download=False)
    source = locate_weights(entry, revision=None, download=True)
    assert online.fetched() == [f"three/VQA_CT/{name}" for name in FETCHED]
    assert (source.folder.name, source.revision) == ("VQA_CT", NEW)
    assert json.loads((source.folder / "config.json").read_text())["marker"] == "VQA_CT"
    assert is_complete(entry, NEW)
    online.requests.clear()
    assert locate_weights(entry, revision=None, download=False) == source
    with pytest.raises(InputError, match=r"folder three/VQA_MRI.*--download"):
        locate_weights(replace(ENTRY, subfolder="three/VQA_MRI"), revision=None, download=False)
    assert online.requests == []
    (source.folder / "tokenizer.json").unlink()
    with pytest.raises(InputError, match=r"1 file\(s\) are missing \(three/VQA_CT/tokenizer\.json\)"):
        locate_weights(entry, revision=None, download=False)


def test_code_is_fetched_only_where_it_is_trusted(online: LocalHub) -> None:
    locate_weights(ENTRY, revision=None, download=True, trust_remote_code=True)
    assert online.fetched() == sorted([*FETCHED, "modeling_judge.py"])


def test_what_was_fetched_is_found_again_without_a_network(online: LocalHub, monkeypatch: pytest.MonkeyPatch) -> None:
    fetched = locate_weights(ENTRY, revision="v1", download=True)
    newest = locate_weights(ENTRY, revision=None, download=True)
    online.requests.clear()
    for revision, expected in ((None, newest), ("main", newest), (NEW, newest), ("v1", fetched), (OLD, fetched)):
        assert locate_weights(ENTRY, revision=revision, download=False) == expected
    assert locate_weights(ENTRY, revision=OLD, download=True) == fetched, (
        "a commit that is complete is not asked for again"
    )
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    assert locate_weights(ENTRY, revision=None, download=True) == newest
    assert online.requests == []


@pytest.mark.parametrize("cut", ["model-00002-of-00002.safetensors", "tokenizer.json"])
def test_a_download_that_broke_off_is_incomplete_and_goes_on_where_it_was(online: LocalHub, cut: str) -> None:
    with pytest.MonkeyPatch.context() as patch:
        # Files in turn, so that it is certain which are complete when the server goes down.
        patch.setattr("huggingface_hub._snapshot_download.hf_thread_map", lambda f, files, **_: [f(x) for x in files])
        online.cut, online.down_after_cut = cut, True
        with pytest.raises(RunError, match="status 503"):
            locate_weights(ENTRY, revision=NEW, download=True)
    with pytest.raises(InputError, match=r"broke off.*--download"):
        locate_weights(ENTRY, revision=NEW, download=False)
    online.status = 0
    online.requests.clear()
    assert is_complete(ENTRY, locate_weights(ENTRY, revision=NEW, download=True).revision)
    assert "model-00001-of-00002.safetensors" not in online.fetched()


def test_weights_that_are_pickles_are_refused_before_anything_is_fetched(online: LocalHub) -> None:
    with pytest.raises(InputError, match=r"pytorch_model\.bin.*safetensors"):
        locate_weights(ENTRY, revision=PICKLED, download=True)
    assert online.fetched() == []


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = write_model(tmp_path / "mine", "mine")
    (made / "consolidated.safetensors").unlink()
    return made


def located(folder: Path) -> WeightsSource:
    return locate_weights(Entry("mine", "packed", path=folder), revision=None, download=False)


def test_the_revision_of_a_folder_is_a_digest_of_what_shapes_a_verdict(folder: Path, tmp_path: Path) -> None:
    before = located(folder).revision
    assert before.startswith("sha256:")
    (folder / "README.md").write_text("another page")
    (folder / "trainer_state.json").write_text("{}")
    assert located(folder).revision == before
    folder.rename(tmp_path / "moved")
    assert located(tmp_path / "moved").revision == before


@pytest.mark.parametrize(
    "name", ["config.json", "model-00002-of-00002.safetensors", "chat_template.jinja", "value_head.safetensors"]
)
def test_a_changed_or_added_file_changes_the_digest(folder: Path, name: str) -> None:
    before = digest(folder)
    (folder / name).write_bytes(b'{"changed": true}')
    changed = digest(folder)
    assert changed != before
    (folder / name).rename(folder / f"tokenizer-{name}")
    assert digest(folder) not in (before, changed), "the names count too"


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("config.json", None, "no config.json"),
        ("model-00001-of-00002.safetensors", None, "1 of 2 files of weights are missing"),
        ("model.safetensors.index.json", None, "parts of its weights, is missing or damaged"),
        ("model.safetensors.index.json", "{", "missing or damaged"),
        ("model.safetensors.index.json", '{"weight_map": 3}', "missing or damaged"),
        ("model.safetensors.index.json", '{"weight_map": {"x": "../w"}}', "are missing"),
    ],
)
def test_a_folder_that_lacks_something_is_refused(folder: Path, name: str, content: str | None, message: str) -> None:
    (folder / name).unlink()
    if content is not None:
        (folder / name).write_text(content)
    with pytest.raises(InputError, match=message):
        located(folder)


def test_a_folder_of_pickles_is_refused(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text("{}")
    with pytest.raises(InputError, match="holds no weights"):
        located(tmp_path)
    (tmp_path / "pytorch_model.bin").write_bytes(b"a pickle")
    with pytest.raises(InputError, match="pickles"):
        located(tmp_path)


def test_a_folder_says_what_it_was_trained_from_and_never_where_that_lay(tmp_path: Path) -> None:
    heads = ["Qwen2VLForConditionalGeneration"]
    for named, base in (("Some-Lab/Judge-7B", {"base": "Some-Lab/Judge-7B"}), ("/home/somebody/models/x", {})):
        config = {"architectures": heads, "_name_or_path": named}
        (tmp_path / "config.json").write_text(json.dumps(config), encoding="utf-8")
        assert provenance_of(tmp_path) == {"architectures": heads, **base}
    (tmp_path / "training.json").write_text('{"method": "sft", "cases": ["c1"]}', encoding="utf-8")
    assert provenance_of(tmp_path)["training"] == {"method": "sft", "cases": ["c1"]}
