"""A model's weights and their revision: in a local folder, or in the Hub's cache, fetched when the user asks for it."""

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatch
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from mrb_lib.benchmarks.hub import fetch, is_offline
from mrb_lib.judges.roster.entry import BYTES, Entry
from mrb_lib.tables.errors import InputError
from mrb_lib.tables.files import is_safe_name, sha256_of
from mrb_lib.verdicts.training import read_record, with_record

LOCAL: Final = "sha256:"
TRAINING: Final = "training.json"
"""The file that `mrb train` writes beside weights: the base model, the method and the cases."""
ROWS: Final = "rows.toml"
"""The file that `mrb export` writes beside rows to train on, copied beside the weights that learned from them."""
ADAPTER: Final = "adapter_config.json"
"""The file that peft writes beside an adapter, which is read on top of the weights of its base."""
_INDEX: Final = "model.safetensors.index.json"
_CODE: Final = "*.py"
_PART: Final = re.compile(r".*-\d+-of-\d+\.safetensors")
# What shapes a verdict. A model's page, its licence and the log of its training do not.
_MATTERS: Final = (
    "config*.json", "generation_config.json", "adapter_config.json", "*.safetensors", "*.safetensors.index.json",
    "tokenizer*", "special_tokens_map.json", "added_tokens.json", "vocab*", "merges.txt", "*.model", "*.tiktoken",
    "*processor_config.json", "chat_template*", "additional_chat_templates/*", _CODE,
)  # fmt: skip

WEIGHTS: Final = "*.safetensors"
# Weights and what describes them. Neither pickles nor code; code only where the user trusts it.
PATTERNS: Final = (WEIGHTS, "*.json", "*.txt", "*.jinja", "*.model", "rows.toml")
CODE_PATTERNS: Final = ("*.py", "*.tiktoken")
# The same weights again, in the forms of other programs.
_TWICE: Final = ("original/*", "onnx/*", "openvino/*", "*consolidated*", "*.onnx.json")
_COMMIT: Final = re.compile(r"[0-9a-f]{40}")
_MODEL: Final = re.compile(r"[A-Za-z0-9][\w.-]*(/[\w.-]+)?")


@dataclass(frozen=True)
class WeightsSource:
    """Weights on this machine.

    Attributes
    ----------
    folder : holds them; of a model in a subfolder of its repository, that
    revision : the commit on the Hub, or `sha256:` and a digest of a local folder's content
    """

    folder: Path
    revision: str


def locate_weights(
    entry: Entry, *, revision: str | None, download: bool, trust_remote_code: bool = False
) -> WeightsSource:
    """Find an entry's weights; fetch what is missing where that is asked for.

    Parameters
    ----------
    entry : names a model on the Hub, or a local folder
    revision : a commit, branch or tag on the Hub; None is the main branch. A local
        folder has one revision only: the digest of what is in it.
    download : ask the Hub for that revision, and fetch what this machine does not
        hold; otherwise the network is not touched
    trust_remote_code : also fetch the repository's code

    Raises
    ------
    InputError
        The weights are not at hand, or not as safetensors; or the Hub refuses them.
    RunError
        A download broke off.

    Notes
    -----
    Tested by tests/judges/roster/test_source.py.
    """
    if entry.path is not None:
        check_folder(entry.path, f"judge {entry.name!r}: {entry.path}")
        return WeightsSource(entry.path, digest(entry.path))
    if entry.model is None or not is_model_id(entry.model):
        raise InputError(
            f"judge {entry.name!r}: {entry.model!r} is not the id of a model on the Hub; write owner/name."
        )
    # A commit never changes, so one that is complete needs no question to the Hub.
    is_commit = revision is not None and _COMMIT.fullmatch(revision) is not None
    if download and not (is_commit and is_complete(entry, revision, code=trust_remote_code)):
        revision = fetch_weights(entry, entry.model, revision, trust_remote_code=trust_remote_code).name
    return _found(entry, entry.model, revision, code=trust_remote_code)


def _found(entry: Entry, model: str, revision: str | None, *, code: bool) -> WeightsSource:
    """Return the weights of a model on the Hub that are on this machine.

    Raises
    ------
    InputError
        There are none, or they lack their configuration, or anything else that matters, as far as the list of the
        repository's files was kept.
    """
    snapshot, within = cached(model, revision), _within(entry)
    of_folder = f", folder {entry.subfolder}" if entry.subfolder else ""
    if snapshot is None or not (snapshot / within).is_dir():
        size = entry.weights_gb()
        wanted = (f"{of_folder}," if of_folder else "") + (f" at {revision}" if revision else "")
        about = "" if size is None else f" (about {size:.0f} GB in bfloat16)"
        raise InputError(
            f"judge {entry.name!r}: the weights of {model}{wanted}{about} are not on this machine; "
            "pass --download to fetch them from the Hub."
        )
    where = f"judge {entry.name!r}: {model} at {snapshot.name}{of_folder}"
    try:
        _snapshot(model, snapshot.name, [within + one for one in _MATTERS if code or one != _CODE], within)
    except FileNotFoundError as error:
        lacking = str(error).partition("is incomplete: ")[2].partition(". ")[0] or "files are missing"
        raise InputError(
            f"{where}: {lacking}, as after a download that broke off; pass --download to fetch them."
        ) from error
    check_folder(snapshot / within, where)
    return WeightsSource(snapshot / within, snapshot.name)


def _within(entry: Entry) -> str:
    """Return the folder of a repository that holds an entry's weights, as the beginning of the names of its files."""
    return f"{entry.subfolder}/" if entry.subfolder else ""


def is_complete(entry: Entry, revision: str | None, *, code: bool = False) -> bool:
    """Return whether a revision of a model on the Hub holds its configuration, its weights, and all else that matters.

    Parameters
    ----------
    code : the repository's code matters, too
    """
    try:
        _found(entry, str(entry.model), revision, code=code)
    except InputError:
        return False
    return True


def is_cached(entry: Entry) -> bool:
    """Return whether some revision of a judge's weights is complete on this machine."""
    if entry.path is not None:
        return (entry.path / "config.json").is_file()
    if entry.model is None or find_spec("huggingface_hub") is None:
        return False
    from huggingface_hub import constants
    from huggingface_hub.file_download import repo_folder_name

    folder = Path(constants.HF_HUB_CACHE).expanduser() / repo_folder_name(repo_id=entry.model, repo_type="model")
    return any(is_complete(entry, path.name) for path in folder.glob("snapshots/*"))


def digest(folder: Path) -> str:
    """Return `sha256:` and a digest over the names and contents of the files of a model that shape a verdict.

    The same files give the same digest, in whichever folder they lie.
    """
    paths = {path for pattern in _MATTERS for path in folder.glob(pattern) if path.is_file()}
    lines = []
    for name, path in sorted((path.relative_to(folder).as_posix(), path) for path in paths):
        state = path.stat()
        lines.append(f"{name}\0{_content(path.resolve(), state.st_size, state.st_mtime_ns)}\n")
    return LOCAL + hashlib.sha256("".join(lines).encode("utf-8", "surrogatepass")).hexdigest()


def provenance_of(folder: Path, *, is_of_hub: bool = False) -> dict[str, object]:
    """Return what a folder of weights states of itself, for the manifest of a run.

    Parameters
    ----------
    is_of_hub : the weights are a model's on the Hub, where the rest is stated: only `training` is returned

    Returns
    -------
    dict
        `architectures`, `base` (the model on the Hub that its configuration names; a folder that it names is nobody
        else's business) and `training`, the content of its `training.json` and of its `rows.toml`; each only where it
        is there.

    Raises
    ------
    InputError
        `training.json` is not a JSON object. What is wrong with a configuration is said where the weights are read.
    """
    config = {} if is_of_hub else _json_object(folder / "config.json") or {}
    known: dict[str, object] = {}
    if isinstance(heads := config.get("architectures"), list):
        known["architectures"] = [str(head) for head in heads]
    if isinstance(base := config.get("_name_or_path"), str) and "/" in base and is_model_id(base):
        known["base"] = base
    record = folder / TRAINING
    if record.is_file():
        training = _json_object(record)
        if training is None:
            raise InputError(f"{record}: is damaged: it is not a JSON object; restore it, or train again.")
        known["training"] = training
    if (folder / ROWS).is_file():
        known["training"] = with_record(known.get("training"), read_record(folder / ROWS))
    return known


def trained_as(folder: Path) -> Mapping[str, object]:
    """Return the record of the training of the weights in a folder; empty where there is none."""
    training = provenance_of(folder).get("training")
    return training if isinstance(training, Mapping) else {}


def adapter_base(folder: Path) -> Path | None:
    """Return the folder of the weights that an adapter belongs to; None where a folder holds no adapter.

    Raises
    ------
    InputError
        The adapter names no base, one that is not at hand, or one that is not what it was trained on.
    """
    if (folder / "config.json").is_file() or not (folder / ADAPTER).is_file():
        return None
    named = (_json_object(folder / ADAPTER) or {}).get("base_model_name_or_path")
    if not isinstance(named, str) or not named:
        raise InputError(f"{folder}: {ADAPTER} names no base_model_name_or_path; train again, or write the base there.")
    revision = trained_as(folder).get("base_revision")
    if Path(named).is_dir():
        base: Path | None = Path(named)
        own = digest(Path(named))
    else:
        base = cached(named, str(revision)) if isinstance(revision, str) and is_model_id(named) else None
        own = base.name if base is not None else ""
    if base is None:
        raise InputError(f"{folder}: is an adapter for {named}, which is not on this machine; fetch or move it there.")
    if isinstance(revision, str) and own != revision:
        raise InputError(
            f"{folder}: is an adapter for other weights than those in {named} (trained on {revision[:19]}, there are "
            f"{own[:19]}); restore that base, or train again."
        )
    return base


def loaded_bytes(folder: Path, dtype: str, quantize: str | None = None) -> float:
    """Return the memory of a folder's weights once they are loaded, in bytes; of an adapter, that of its base.

    Parameters
    ----------
    dtype : "bfloat16" or "float32"
    quantize : "4bit" or "8bit" where they are rounded as they are loaded; weights published so stay as they are
    """
    folder = adapter_base(folder) or folder
    stored = float(sum(path.stat().st_size for path in folder.glob("*.safetensors")))
    config = _json_object(folder / "config.json") or {}
    if "quantization_config" in config:
        return stored
    text = config.get("text_config")
    stated = config.get("dtype") or config.get("torch_dtype") or (text.get("dtype") if isinstance(text, dict) else None)
    return stored / BYTES["float32" if stated == "float32" else "bfloat16"] * BYTES[quantize or dtype]


def _json_object(path: Path) -> dict[str, object] | None:
    """Return the JSON object in a file; None where there is none."""
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return value if isinstance(value, dict) else None


def names_code(folder: Path) -> bool:
    """Return whether a model's configuration names code of its own."""
    return any(b'"auto_map"' in path.read_bytes() for path in folder.glob("*config.json"))


@lru_cache(maxsize=4096)
def _content(path: Path, size: int, mtime_ns: int) -> str:
    """Return the SHA-256 of a file, read once per process while its size and time stay the same."""
    return sha256_of(path)


def check_folder(folder: Path, where: str) -> None:
    """Raise `InputError` unless a folder holds a configuration and all its weights, as safetensors."""
    if (base := adapter_base(folder)) is not None:
        check_weights([path.name for path in folder.iterdir() if path.is_file()], where)
        folder = base
    if not (folder / "config.json").is_file():
        raise InputError(f"{where}: holds no config.json; name a folder that a model was saved to, or fetch it again.")
    names, has_index = [path.name for path in folder.iterdir() if path.is_file()], (folder / _INDEX).is_file()
    again = "as after a download that broke off; fetch the model again, for one of the Hub with --download."
    if not has_index:
        check_weights(names, where)
    if not has_index and not all(_PART.fullmatch(name) for name in names if name.endswith(".safetensors")):
        return
    named = (_json_object(folder / _INDEX) or {}).get("weight_map")
    if not isinstance(named, dict):
        raise InputError(f"{where}: {_INDEX}, which lists the parts of its weights, is missing or damaged, {again}")
    listed = {str(name) for name in named.values()}
    if missing := sorted(name for name in listed if not is_safe_name(name) or not (folder / name).is_file()):
        raise InputError(
            f"{where}: {len(missing)} of {len(listed)} files of weights are missing ({missing[0]}), {again}"
        )


def is_model_id(model: str) -> bool:
    """Return whether a text can be the id of a model on the Hub."""
    return _MODEL.fullmatch(model) is not None and ".." not in model and "--" not in model


def cached(model: str, revision: str | None) -> Path | None:
    """Return the folder of a revision in the Hub's cache, complete or not; None where it is not there. No network.

    Parameters
    ----------
    revision : a commit, or a branch or tag as it was when it was downloaded; None is the main branch
    """
    is_name = is_model_id(model) and is_safe_name(revision or "main")
    try:
        return _snapshot(model, revision, []) if is_name and find_spec("huggingface_hub") is not None else None
    except (FileNotFoundError, ValueError):
        return None


def _snapshot(model: str, revision: str | None, allow: list[str], within: str = "") -> Path:
    """Return the folder of a revision in the Hub's cache; `FileNotFoundError` where it or an allowed file is not there.

    Parameters
    ----------
    within : a folder of the repository, whose copies of weights in the forms of other programs do not matter
    """
    from huggingface_hub import snapshot_download

    ignore = [within + pattern for pattern in _TWICE]
    path = snapshot_download(
        model, revision=revision, local_files_only=True, allow_patterns=allow, ignore_patterns=ignore
    )
    return Path(path)


def fetch_weights(entry: Entry, model: str, revision: str | None, *, trust_remote_code: bool) -> Path:
    """Fetch a model's weights, and what describes them, into the cache on this machine.

    Files that are complete are not fetched again. With HF_HUB_OFFLINE the network is not asked.

    Parameters
    ----------
    entry : of its subfolder, where it names one, nothing beside that is fetched
    model : the entry's
    revision : a commit, branch or tag; None is the newest on the main branch
    trust_remote_code : also fetch the repository's code

    Returns
    -------
    Path
        The folder of that revision, whatever the subfolder; its name is the commit.

    Raises
    ------
    InputError
        There is no such model or revision, it has no weights as safetensors, or this
        machine is offline and the cache does not hold it.
    RunError
        Access was not granted, the download broke off, or the disk is full.
    """
    if is_offline():
        folder = cached(model, revision)
        if folder is None:
            raise InputError(f"{model}: HF_HUB_OFFLINE is set and the Hub's cache does not hold it; unset it.")
        return folder
    within, where = _within(entry), f"{model}, folder {entry.subfolder}" if entry.subfolder else model
    return fetch(
        model,
        revision,
        kind="model",
        check=lambda names: check_weights([name for name in names if name.startswith(within)], where),
        allow=[within + pattern for pattern in (*PATTERNS, *(CODE_PATTERNS if trust_remote_code else ()))],
        ignore=[within + pattern for pattern in _TWICE],
        alternative="use a local copy with --judge path:DIR",
    )


def check_weights(names: Sequence[str], where: str) -> None:
    """Raise `InputError` unless there are weights as safetensors among a model's files."""
    if any(fnmatch(name, WEIGHTS) for name in names):
        return
    unsafe = [name for name in names if name.endswith((".bin", ".pt", ".pth", ".ckpt", ".pkl"))]
    if unsafe:
        raise InputError(
            f"{where}: its weights are pickles ({unsafe[0]}), which can run any code when they are read; "
            "use a revision with *.safetensors, or convert them."
        )
    raise InputError(f"{where}: holds no weights (*.safetensors); name a model that was saved with its weights.")
