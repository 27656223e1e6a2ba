"""Models on the Hub: their revisions in the cache on this machine, and fetching one when the user asks for it."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from fnmatch import fnmatch
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from mrb_lib.benchmarks.hub import (
    TIMEOUT_S,
    hub_endpoint,
    hub_errors,
    is_offline,
    quiet_hub,
)
from mrb_lib.tables.errors import InputError, RunError

WEIGHTS: Final = "*.safetensors"
# Weights and what describes them. Neither pickles nor code; code only where the user trusts it.
PATTERNS: Final = (WEIGHTS, "*.json", "*.txt", "*.jinja", "*.model", "rows.toml")
CODE_PATTERNS: Final = ("*.py", "*.tiktoken")
# The same weights again, in the forms of other programs.
_TWICE: Final = ("original/*", "onnx/*", "openvino/*", "*consolidated*", "*.onnx.json")
_MODEL: Final = re.compile(r"[A-Za-z0-9][\w.-]*(/[\w.-]+)?")
_COMMIT: Final = re.compile(r"[0-9a-f]{40}")


def is_model_id(model: str) -> bool:
    """Return whether a text can be the id of a model on the Hub."""
    return _MODEL.fullmatch(model) is not None and ".." not in model


def inside(names: Sequence[str], subfolder: str | None) -> list[str]:
    """Return the files of a repository that lie in one of its folders, named from there; all where it is None."""
    if subfolder is None:
        return list(names)
    return [name.removeprefix(f"{subfolder}/") for name in names if name.startswith(f"{subfolder}/")]


def snapshots(model: str) -> dict[str, Path]:
    """Return the revisions of a model in the cache on this machine, complete or not: folder by commit. No network."""
    if not is_model_id(model) or find_spec("huggingface_hub") is None:
        return {}
    root = _storage(model) / "snapshots"
    if not root.is_dir():
        return {}
    return {path.name: path for path in sorted(root.iterdir()) if path.is_dir() and _COMMIT.fullmatch(path.name)}


def cached(model: str, revision: str | None) -> Path | None:
    """Return the folder of a revision in the cache; None where it is not there. Asks no network.

    Parameters
    ----------
    revision : a commit, or a branch or tag as it was when it was downloaded; None is the main branch
    """
    folders = snapshots(model)
    if revision in folders:
        return folders[revision]
    reference = _storage(model) / "refs" / (revision or "main")
    inside = reference.is_file() and reference.resolve().is_relative_to(_storage(model).resolve())
    return folders.get(reference.read_text(encoding="utf-8").strip()) if inside else None


def listed(model: str, commit: str, subfolder: str | None = None) -> list[str] | None:
    """Return the files of a revision, or of a folder of it and named from there, as listed when it was fetched.

    None where no list was kept. Asks no network.
    """
    from huggingface_hub import get_cached_repo_tree
    from huggingface_hub.errors import CachedRepoTreeNotFoundError

    try:
        names = [file.path for file in get_cached_repo_tree(model, repo_type="model", revision=commit)]
    except CachedRepoTreeNotFoundError:
        return None
    return [name for name in inside(names, subfolder) if not any(fnmatch(name, pattern) for pattern in _TWICE)]


def _storage(model: str) -> Path:
    from huggingface_hub import constants
    from huggingface_hub.file_download import repo_folder_name

    return Path(constants.HF_HUB_CACHE).expanduser() / repo_folder_name(repo_id=model, repo_type="model")


def fetch_weights(model: str, revision: str | None, *, trust_remote_code: bool, subfolder: str | None = None) -> Path:
    """Fetch a model's weights, and what describes them, into the cache on this machine.

    Files that are complete are not fetched again. With HF_HUB_OFFLINE the network is not asked.

    Parameters
    ----------
    revision : a commit, branch or tag; None is the newest on the main branch
    trust_remote_code : also fetch the repository's code
    subfolder : fetch what lies in this folder of the repository alone

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
    endpoint = hub_endpoint()
    if is_offline():
        folder = cached(model, revision)
        if folder is None:
            raise InputError(f"{model}: HF_HUB_OFFLINE is set and the Hub's cache does not hold it; unset it.")
        return folder
    from huggingface_hub import HfApi, constants, snapshot_download

    constants.HF_HUB_DISABLE_TELEMETRY = True
    if endpoint is not None:
        constants.HF_HUB_DISABLE_XET = True
    patterns = [*PATTERNS, *(CODE_PATTERNS if trust_remote_code else ())]
    within = "" if subfolder is None else f"{subfolder}/"
    cure = "use a local copy with --judge path:DIR"
    with hub_errors(model, revision, endpoint, cure, kind="model"), quiet_hub(bars=sys.stderr.isatty()):
        info = HfApi(endpoint=endpoint).model_info(model, revision=revision, timeout=TIMEOUT_S)
        names = [entry.rfilename for entry in info.siblings or []]
        check_weights(inside(names, subfolder), model if subfolder is None else f"{model}, folder {subfolder}")
        folder = Path(
            snapshot_download(
                model,
                revision=revision,
                endpoint=endpoint,
                allow_patterns=[within + pattern for pattern in patterns],
                ignore_patterns=[within + pattern for pattern in _TWICE],
            )
        )
    if folder.name != info.sha:
        raise RunError(f"{model}: was cut off while it was downloaded; run the command again.")
    return folder


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
