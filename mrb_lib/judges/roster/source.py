"""A model's weights and their revision: in a local folder, or in the Hub's cache on this machine."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from fnmatch import fnmatch
from functools import lru_cache
from pathlib import Path
from typing import Final

from mrb_lib.judges.roster import hub
from mrb_lib.judges.roster.entry import BYTES, Entry
from mrb_lib.tables.errors import InputError
from mrb_lib.tables.files import is_safe_name, sha256_of
from mrb_lib.verdicts.manifest import read_manifest
from mrb_lib.verdicts.store import run_folders
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
    model = entry.model
    if model is None or not hub.is_model_id(model):
        raise InputError(f"judge {entry.name!r}: {model!r} is not the id of a model on the Hub; write owner/name.")
    subfolder = entry.subfolder
    folder = hub.cached(model, revision)
    # A commit never changes, so one that is complete needs no question to the Hub.
    here = (
        folder is not None
        and folder.name == revision
        and is_complete(folder, model, code=trust_remote_code, subfolder=subfolder)
    )
    if download and not here:
        folder = hub.fetch_weights(model, revision, trust_remote_code=trust_remote_code, subfolder=subfolder)
    weights = None if folder is None else folder / (subfolder or "")
    if folder is None or weights is None or not weights.is_dir():
        raise InputError(_not_here(entry, model, revision))
    where = f"judge {entry.name!r}: {model} at {folder.name}" + (f", folder {subfolder}" if subfolder else "")
    check_folder(weights, where)
    absent = _absent(folder, model, code=trust_remote_code, subfolder=subfolder)
    if absent:
        raise InputError(
            f"{where}: {len(absent)} files are missing ({absent[0]}), as after a download that broke off; "
            "pass --download to fetch them."
        )
    return WeightsSource(weights, folder.name)


def _absent(folder: Path, model: str, *, code: bool, subfolder: str | None) -> list[str]:
    """Return the files of a snapshot that matter and were not fetched, as far as their list was kept."""
    patterns = [pattern for pattern in _MATTERS if code or pattern != _CODE]
    return [
        name
        for name in hub.listed(model, folder.name, subfolder) or []
        if any(fnmatch(name, pattern) for pattern in patterns) and not (folder / (subfolder or "") / name).is_file()
    ]


def _not_here(entry: Entry, model: str, revision: str | None) -> str:
    size = entry.weights_gb()
    about = "" if size is None else f" (about {size:.0f} GB in bfloat16)"
    wanted = (f", folder {entry.subfolder}," if entry.subfolder else "") + (f" at {revision}" if revision else "")
    return (
        f"judge {entry.name!r}: the weights of {model}{wanted}{about} are not on this machine; "
        "pass --download to fetch them from the Hub."
    )


def pinned_revision(runs: Path, judge_name: str, *, model: str | None = None) -> str | None:
    """Return the revision of a judge's latest run, which later runs keep; None where there is none.

    Parameters
    ----------
    runs : the folder of runs; it may not exist yet
    judge_name : as in the verdicts. A judge keeps its revision with every engine, so
        that engines are compared on the same weights.
    model : the model's id; runs whose manifest names another do not count

    Raises
    ------
    InputError
        A manifest is damaged.
    """
    if not runs.is_dir():
        return None
    revisions = []
    for folder in run_folders(runs):
        manifest = read_manifest(folder)
        revision = manifest.spec.get("revision")
        same = _without_engine(manifest.judge) == _without_engine(judge_name)
        same_model = model is None or manifest.spec.get("model", model) == model
        if same and same_model and isinstance(revision, str) and revision and not revision.startswith(LOCAL):
            revisions.append((manifest.created, revision))
    return max(revisions)[1] if revisions else None


def _without_engine(name: str) -> str:
    return name.partition("+")[0]


def digest(folder: Path) -> str:
    """Return `sha256:` and a digest over the names and contents of the files of a model that shape a verdict.

    The same files give the same digest, in whichever folder they lie.
    """
    names = sorted(
        path.relative_to(folder).as_posix()
        for path in [*folder.glob("*"), *folder.glob("additional_chat_templates/*")]
        if path.is_file() and any(fnmatch(path.relative_to(folder).as_posix(), pattern) for pattern in _MATTERS)
    )
    lines = [f"{name}\0{_content(folder / name)}\n" for name in names]
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
    if isinstance(base := config.get("_name_or_path"), str) and "/" in base and hub.is_model_id(base):
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
        base = hub.cached(named, str(revision)) if isinstance(revision, str) and hub.is_model_id(named) else None
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


def _content(path: Path) -> str:
    state = path.stat()
    return _content_of(path.resolve(), state.st_size, state.st_mtime_ns)


@lru_cache(maxsize=4096)
def _content_of(path: Path, size: int, mtime_ns: int) -> str:
    """Return the SHA-256 of a file, read once per process while its size and time stay the same."""
    return sha256_of(path)


def is_complete(folder: Path, model: str, *, code: bool = False, subfolder: str | None = None) -> bool:
    """Return whether a snapshot of a model on the Hub holds its configuration, its weights, and all else that matters.

    Parameters
    ----------
    code : the repository's code matters, too
    subfolder : the folder of the repository that the model lies in
    """
    weights = folder / (subfolder or "")
    try:
        check_folder(weights, model)
    except InputError:
        return False
    return not _absent(folder, model, code=code, subfolder=subfolder)


def check_folder(folder: Path, where: str) -> None:
    """Raise `InputError` unless a folder holds a configuration and all its weights, as safetensors."""
    if (base := adapter_base(folder)) is not None:
        hub.check_weights([path.name for path in folder.iterdir() if path.is_file()], where)
        folder = base
    if not (folder / "config.json").is_file():
        raise InputError(f"{where}: holds no config.json; name a folder that a model was saved to, or fetch it again.")
    if not (folder / _INDEX).is_file():
        names = [path.name for path in folder.iterdir() if path.is_file()]
        hub.check_weights(names, where)
        if all(_PART.fullmatch(name) for name in names if name.endswith(".safetensors")):
            raise InputError(
                f"{where}: {_INDEX}, which lists the parts of its weights, is missing, as after a download that broke "
                "off; fetch the model again, for one of the Hub with --download."
            )
        return
    try:
        listed = set(json.loads((folder / _INDEX).read_text(encoding="utf-8"))["weight_map"].values())
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise InputError(f"{where}: {_INDEX} is damaged ({error!r}); fetch the model again.") from error
    missing = sorted(str(name) for name in listed if not is_safe_name(str(name)) or not (folder / str(name)).is_file())
    if missing:
        raise InputError(
            f"{where}: {len(missing)} of {len(listed)} files of weights are missing ({missing[0]}); "
            "fetch the model again, for one of the Hub with --download."
        )
