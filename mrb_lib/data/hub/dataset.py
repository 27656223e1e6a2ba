"""Downloading the published dataset from the Hub."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path, PurePosixPath

from mrb_lib.data.formats.base import Imported
from mrb_lib.data.formats.official import read
from mrb_lib.data.hub.access import (
    TIMEOUT_S,
    Wanted,
    hub_endpoint,
    is_offline,
    plain_errors,
    progress_class,
    quiet_log,
    shown,
)
from mrb_lib.errors import InputError, RunError

REPO = "Nandzy/Med-RewardBench"
GROUND_TRUTH = "pair_gt_all"
# Data and its description only: nothing that a program would run, and no pickles.
PATTERNS = ("*.jsonl", "*.parquet", "*.json", "README*", "LICENSE*")
_SHOWN_FILES = 20
_REPO_NAME = re.compile(r"[A-Za-z0-9][\w.-]*/[\w.-]+")


def fetch(*, repo: str = REPO, revision: str | None = None, progress: bool = True) -> Imported:
    """Download a dataset in the official layout into the Hub's cache, and read it from there.

    A connection that breaks within a file is taken up again where it broke; after a
    failure, the next call fetches only the files that are not complete.

    Parameters
    ----------
    repo : the dataset on the Hub, `owner/name`
    revision : a commit, branch or tag; None is the newest on the main branch
    progress : show progress bars on a terminal

    Returns
    -------
    Imported
        What the official reader makes of it; the metadata name the source and, as
        `revision`, the exact commit. Images are read from the cache when asked for.

    Raises
    ------
    InputError
        There is no such dataset or revision, or its layout is not the official one.
    RunError
        The download did not succeed: no network, no permission, no space, interrupted.

    Notes
    -----
    Honours HF_ENDPOINT, HF_TOKEN, HF_HOME and HF_HUB_OFFLINE. Talks to the endpoint
    only: telemetry is off, and so is the Xet transfer where a custom endpoint is set.
    Tested by tests/data/hub/test_hub.py.
    """
    if not _REPO_NAME.fullmatch(repo):
        raise InputError(f"repo {repo!r}: is not the name of a dataset on the Hub; write owner/name, such as {REPO}.")
    endpoint = hub_endpoint()
    elsewhere = "download it on another machine and run `mrb import official FOLDER OUT`"
    with plain_errors(Wanted("dataset", repo, revision, endpoint, elsewhere)):
        snapshot = _snapshot(repo, revision, endpoint, progress=progress)
    names = [path.relative_to(snapshot).as_posix() for path in snapshot.rglob("*") if path.is_file()]
    imported = read(snapshot / _data_root(names, repo, snapshot))
    meta = replace(imported.benchmark.meta, source=f"{shown(endpoint)}/datasets/{repo}", revision=snapshot.name)
    return imported._replace(benchmark=replace(imported.benchmark, meta=meta))


def _snapshot(repo: str, revision: str | None, endpoint: str | None, *, progress: bool) -> Path:
    """The dataset's folder in the Hub's cache, complete; its name is the commit."""
    # Imported here, because this library reads its environment when it is imported.
    from huggingface_hub import HfApi, constants, get_cached_repo_tree, snapshot_download

    constants.HF_HUB_DISABLE_TELEMETRY = True
    if endpoint is not None:
        constants.HF_HUB_DISABLE_XET = True
    offline = is_offline()
    if offline:
        get_cached_repo_tree(repo, repo_type="dataset", revision=revision)
    else:
        info = HfApi(endpoint=endpoint).dataset_info(repo, revision=revision, timeout=TIMEOUT_S)
        _data_root([entry.rfilename for entry in info.siblings or []], repo, None)
    with quiet_log():
        folder = Path(
            snapshot_download(
                repo,
                repo_type="dataset",
                revision=revision,
                endpoint=endpoint,
                local_files_only=offline,
                allow_patterns=list(PATTERNS),
                tqdm_class=progress_class(shown=progress and sys.stderr.isatty()),
            )
        )
    # When the connection breaks after the first answer, the library falls back to what an older call left in the cache.
    if not offline and folder.name != info.sha:
        raise RunError(f"{repo}: changed, or was cut off, while it was downloaded; run the command again.")
    return folder


def _data_root(names: Sequence[str], repo: str, local: Path | None) -> PurePosixPath:
    """The folder, within the dataset, that contains the ground truth."""
    roots = set()
    for name in names:
        parts = PurePosixPath(name).parts
        if GROUND_TRUTH in parts[:-1]:
            roots.add(PurePosixPath(*parts[: parts.index(GROUND_TRUTH)]))
    if len(roots) == 1:
        return roots.pop()
    shown = ", ".join(sorted(names)[:_SHOWN_FILES]) + (", ..." if len(names) > _SHOWN_FILES else "")
    what = f"has {len(roots)} folders {GROUND_TRUTH}" if roots else f"has no folder {GROUND_TRUTH}"
    where = local or "FOLDER"
    fetch = "" if local else f"download it with `hf download --repo-type dataset {repo} --local-dir FOLDER`, and "
    raise InputError(
        f"{repo}: {what}, so it is not in the official layout; its {len(names)} files: {shown}; "
        f"{fetch}use `mrb import table {where} OUT` on tables of cases and annotations."
    )
