"""Tests of what names of judges promise, and what is said of a roster file with a mistake."""

import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from mrb_lib.judges.roster import machine as machine_module
from mrb_lib.judges.roster import roster as module
from mrb_lib.judges.roster.engines import ENGINES, JudgeRequest
from mrb_lib.judges.roster.entry import Entry
from mrb_lib.judges.roster.roster import entries, entry_of, resolve, roster
from mrb_lib.judges.roster.source import WeightsSource
from mrb_lib.judges.settings import Settings
from mrb_lib.tables.errors import InputError
from mrb_lib.verdicts.manifest import Manifest, write_manifest

MINE = (
    '[[judge]]\nname = "mine"\nengine = "packed"\npath = "weights"\nparameters = 7\n'
    "chat = { template = { enable_thinking = false } }\n"
)
ON_HUB = '[[judge]]\nname = "mine"\nengine = "packed"\nmodel = "a/b"\n'


def write(folder: Path, text: str, name: str = "mine.toml") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def model_folder(folder: Path) -> Path:
    folder.mkdir(parents=True)
    (folder / "config.json").write_text("{}")
    (folder / "model.safetensors").write_bytes(b"weights")
    return folder


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[JudgeRequest]:
    """What engines were asked for, none of which makes a judge that reads weights or calls a server."""
    requests: list[JudgeRequest] = []

    def note(request: JudgeRequest) -> SimpleNamespace:
        requests.append(request)
        return SimpleNamespace(name=request.entry.name)

    for name, one in ENGINES.items():
        monkeypatch.setitem(ENGINES._features, name, replace(one, build=note))
    return requests


def resolved(name: str, tmp_path: Path, *, extra: Sequence[Path] = (), **settings: object) -> str:
    return resolve(name, runs=tmp_path / "runs", images={}, settings=Settings(**settings), extra=extra).name


def test_a_users_entry_is_added_with_what_a_page_says_of_the_model(tmp_path: Path) -> None:
    more = 'context = 32768\ncutoff = "2026-05"\nchecked = "2026-11-25"\n'
    file = write(tmp_path, MINE + more)
    chat, facts = {"template": {"enable_thinking": False}}, {"cutoff": "2026-05", "checked": "2026-11-25"}
    expected = Entry("mine", "packed", path=tmp_path / "weights", parameters=7.0, chat=chat, context=32768, **facts)
    assert entry_of("mine", [file]) == expected
    row = roster([file]).iloc[-1]
    assert (row["name"], row["weights_gb"], row["context"], row["cutoff"]) == ("mine", 14.0, 32768, "2026-05")
    with pytest.raises(InputError, match="not in the roster"):
        entry_of("mine")


BAD = {
    "no TOML": ("name = mine\n", ["cannot be read as a roster", "line 1"]),
    "no judge": ("[judges]\n", ["judges", "is unknown", "[[judge]]"]),
    "an unknown key": (MINE + "temperature = 1\n", ["'mine'", "'temperature'", "is unknown"]),
    "no name": ('[[judge]]\nengine = "packed"\nmodel = "a/b"\n', ["judge 1", "'name'", "is missing"]),
    "no model": ('[[judge]]\nname = "mine"\nengine = "packed"\n', ["'mine'", "'model'"]),
    "model and path": (MINE + 'model = "a/b"\n', ["'mine'", "'model'", "either"]),
    "no name of the model at a server": ('[[judge]]\nname = "mine"\nengine = "endpoint"\n', ["'mine'", "'model'"]),
    "a quirk that is no table": (MINE.replace("{ enable_thinking = false }", "1"), ["'chat'", "1; it must be a table"]),
    "an unknown engine": (MINE.replace("packed", "magic"), ["'mine'", "'engine'", "'magic'", "generative"]),
    "an engine of the library": (MINE.replace("packed", "heuristic"), ["'mine'", "'engine'", "heuristic"]),
    "a name that is no name": (MINE.replace('"mine"', '"my+judge"'), ["'my+judge'", "'name'"]),
    "a name that is taken": (MINE.replace('"mine"', '"first"'), ["'first'", "'name'", "already"]),
    "a base that is not there": (MINE + 'base = "qwen9"\n', ["'mine'", "'base'", "'qwen9'"]),
    "a subfolder that leads out": (ON_HUB + 'subfolder = "a/../../b"\n', ["'mine'", "'subfolder'", "a/../../b"]),
    "a subfolder of a local folder": (MINE + 'subfolder = "a"\n', ["'mine'", "'model'", "subfolder"]),
    "a cut-off that is no date": (MINE + 'cutoff = "2026-13"\n', ["'mine'", "'cutoff'", "2026-13"]),
}


@pytest.mark.parametrize(
    ("entry", "gb", "active"),
    [
        (Entry("judge", "packed", parameters=8.3, size="7B"), 16.6, 8.3),
        (Entry("judge", "packed", size="7B"), 14.0, 7.0),
        (Entry("judge", "packed", size="30B-A3B"), 60.0, 3.0),
        (Entry("judge", "packed", parameters=31.0, size="30B-A3.5B"), 62.0, 3.5),
        (Entry("judge", "packed", size="135M"), 0.27, 0.135),
        (Entry("internvl3-8b", "packed", model="owner/Judge-1.5B-it"), None, None),  # names are not guessed from
    ],
)
def test_the_size_is_that_of_the_weights_or_else_the_published_one(
    entry: Entry, gb: float | None, active: float | None
) -> None:
    assert entry.weights_gb() == (None if gb is None else pytest.approx(gb))
    assert entry.active_billions == active
    assert gb is None or entry.weights_gb("float32") == pytest.approx(2 * gb)
    assert gb is None or (entry.weights_gb("4bit") or 0) < (entry.weights_gb("8bit") or 0) < gb


@pytest.mark.parametrize("case", BAD)
def test_a_mistake_in_a_roster_is_named_by_file_judge_and_key(tmp_path: Path, case: str) -> None:
    text, parts = BAD[case]
    file = write(tmp_path, text)
    with pytest.raises(InputError) as caught:
        entries([file])
    for part in (str(file), *parts):
        assert part in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("engine", ["packed", "generative", "reward", "rubric"])
def test_a_folder_is_judged_with_the_engine_named_and_called_after_the_folder(
    asked: list[JudgeRequest], tmp_path: Path, engine: str
) -> None:
    folder = model_folder(tmp_path / "my judge")
    assert resolved(f"path:{folder}+{engine}", tmp_path) == f"my judge+{engine}"
    [request] = asked
    assert request.entry == Entry(f"my judge+{engine}", engine, path=folder)
    assert request.weights.revision.startswith("sha256:")
    assert (request.settings, request.images) == (Settings(), {})


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("path:{tmp}", "config.json"),
        ("path:{tmp}/nowhere", "config.json"),
        ("path:", "config.json"),
        ("path:{tmp}/there+endpoint", "not a server"),
        ("nobody", "not in the roster"),
        ("", "not in the roster"),
        *((name, "not in the roster") for name in ("heuristic", "jury", "qwen2-vl-7b+heuristic", "qwen2-vl-7b+jury")),
        ("qwen2-vl-7b+magic", "engines are batch, endpoint, generative, letters, packed"),
        ("first+packed", "no weights"),
        ("gpt-4o+generative", "no weights"),
        ("endpoint:", "not in the roster"),
        ("endpoint:m+packed", "no weights that packed could read; write endpoint:m"),
        ("consensus-of:a,a", "each named once"),
        ("consensus-of:a", "consensus-of"),
    ],
)
def test_a_name_that_is_none_is_refused_with_what_to_do(tmp_path: Path, name: str, said: str) -> None:
    model_folder(tmp_path / "there")
    with pytest.raises(InputError, match=said):
        entry_of(name.format(tmp=tmp_path))


@pytest.mark.parametrize(
    ("name", "engine", "model"),
    [
        ("endpoint:org/model:latest", "endpoint", "org/model:latest"),
        ("endpoint:m+letters", "letters", "m"),
        ("endpoint:m+batch", "served-batch", "m"),
        ("gpt-4o+batch", "served-batch", "gpt-4o"),
        ("qwen2-vl-7b+endpoint", "endpoint", "Qwen/Qwen2-VL-7B-Instruct"),
        ("qwen2-vl-7b+letters", "letters", "Qwen/Qwen2-VL-7B-Instruct"),
    ],
)
def test_a_model_of_a_server_is_named_after_it(
    asked: list[JudgeRequest], tmp_path: Path, name: str, engine: str, model: str
) -> None:
    assert resolved(name, tmp_path, url="http://127.0.0.1:1/v1") == name
    entry = asked[0].entry
    assert (entry.name, entry.engine, entry.model) == (name, engine, model)


def test_remote_code_is_refused_unless_the_user_trusts_it(asked: list[JudgeRequest], tmp_path: Path) -> None:
    model_folder(tmp_path / "weights")
    file = write(tmp_path, MINE + "remote_code = true\n")
    with pytest.raises(InputError, match="--trust-remote-code"):
        resolved("mine", tmp_path, extra=[file])
    assert resolved("mine", tmp_path, extra=[file], trust_remote_code=True) == "mine"


def test_a_judge_keeps_the_revision_of_its_earlier_runs_unless_one_is_named(
    asked: list[JudgeRequest], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    revisions: list[str | None] = []

    def located(entry: Entry, *, revision: str | None, **_: object) -> WeightsSource:
        revisions.append(revision)
        return WeightsSource(tmp_path, "f" * 40)

    monkeypatch.setattr(module, "locate_weights", located)
    for number, (name, spec) in enumerate(
        [
            ("another", {"revision": "a" * 40}),
            ("qwen2-vl-7b", {"revision": "sha256:0"}),
            ("qwen2-vl-7b", {"revision": "b" * 40, "model": "somebody/else"}),
            ("qwen2-vl-7b", {"revision": "c" * 40}),
            ("qwen2-vl-7b+letters", {"revision": "d" * 40, "model": "Qwen/Qwen2-VL-7B-Instruct"}),
        ]
    ):
        resolved("qwen2-vl-7b", tmp_path)
        run = tmp_path / "runs" / str(number)
        run.mkdir(parents=True)
        write_manifest(run, Manifest(run.name, name, spec=spec, created=f"2026-01-0{number + 1}"))
    resolved("qwen2-vl-7b+generative", tmp_path)
    resolved("qwen2-vl-7b", tmp_path, revision="v1")
    assert revisions == [None, None, None, None, "c" * 40, "d" * 40, "v1"]


def test_weights_that_cannot_fit_are_not_fetched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from huggingface_hub import constants

    small = replace(machine_module.inspect_machine(), gpus=(machine_module.Gpu("RTX 4090", 25.4, 25.0, 165e12),))
    monkeypatch.setattr(machine_module, "inspect_machine", lambda: small)
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "cache"))

    def fetched(*_: object, **__: object) -> None:
        raise AssertionError("the Hub was asked")

    monkeypatch.setattr("mrb_lib.judges.roster.source.fetch_weights", fetched)
    with pytest.raises(InputError, match=r"take 26 GB in bfloat16.*25 GB\. This should.*--download --quantize 8bit`"):
        resolved("llava-1.5-13b", tmp_path, download=True)
    with pytest.raises(AssertionError, match="was asked"):
        resolved("llava-1.5-13b", tmp_path, download=True, quantize="8bit")


def test_listing_judges_and_resolving_those_without_weights_never_imports_torch() -> None:
    code = (
        "import sys\nfrom pathlib import Path\nfrom mrb_lib.cli.main import main\n"
        "from mrb_lib.judges.roster.roster import resolve\nfrom mrb_lib.judges.settings import Settings\n"
        "resolve('first', runs=Path('none'), images={}, settings=Settings())\n"
        "sys.argv = ['mrb', 'judges']\n"
        "try:\n    main()\nexcept SystemExit as stop:\n    assert not stop.code\n"
        "assert not {'torch', 'transformers', 'huggingface_hub', 'ray'} & sys.modules.keys()\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)
