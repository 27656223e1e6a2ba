"""The Hub: downloading the published dataset, and what every download needs to know of the Hub.

Where it is, whether it may be asked, and what its errors mean.
"""

import logging
import os
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import Any, Literal

from mrb_lib.benchmarks.formats.base import Imported
from mrb_lib.benchmarks.formats.official import read
from mrb_lib.tables.errors import InputError, MrbError, RunError, shortened, without_secrets

TIMEOUT_S = 10.0
REPO = "Nandzy/Med-RewardBench"
GROUND_TRUTH = "pair_gt_all"
# Data and its description only: nothing that a program would run, and no pickles.
PATTERNS = ("*.jsonl", "*.parquet", "*.json", "README*", "LICENSE*")
_ADDRESS = re.compile(r"https?://([^@/\s]*@)?([\w.-]+|\[[\da-f:.]+\])(:\d+)?(/\S*)?", re.IGNORECASE)
_REPO_NAME = re.compile(r"[A-Za-z0-9][\w.-]*/[\w.-]+")


def download_dataset(*, repo: str = REPO, revision: str | None = None) -> Imported:
    """Download a dataset in the official layout into the Hub's cache, and read it from there.

    A connection that breaks within a file is taken up again where it broke; after a
    failure, the next call fetches only the files that are not complete.

    Parameters
    ----------
    repo : the dataset on the Hub, `owner/name`
    revision : a commit, branch or tag; None is the newest on the main branch

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
    Tested by tests/benchmarks/hub/test_hub.py.
    """
    if not _REPO_NAME.fullmatch(repo):
        raise InputError(f"repo {repo!r}: is not the name of a dataset on the Hub; write owner/name, such as {REPO}.")
    snapshot = fetch(
        repo,
        revision,
        kind="dataset",
        check=lambda names: _data_root(names, repo),
        allow=PATTERNS,
        alternative="download it on another machine and run `mrb import official FOLDER OUT`",
    )
    names = [path.relative_to(snapshot).as_posix() for path in snapshot.rglob("*") if path.is_file()]
    imported = read(snapshot / _data_root(names, repo))
    meta = replace(imported.benchmark.meta, source=f"{hub_address()}/datasets/{repo}", revision=snapshot.name)
    return imported._replace(benchmark=replace(imported.benchmark, meta=meta))


def fetch(
    repo: str,
    revision: str | None,
    *,
    kind: Literal["dataset", "model"],
    check: Callable[[Sequence[str]], object],
    allow: Sequence[str],
    ignore: Sequence[str] = (),
    alternative: str,
) -> Path:
    """Return the folder of a revision in the Hub's cache, with what was missing fetched; its name is the commit.

    Parameters
    ----------
    check : refuses the names of the repository's files, before anything is fetched
    allow, ignore : patterns of the files to fetch, and of those among them to leave out
    alternative : another way to get the files, as the end of a sentence that starts with "or"

    Raises
    ------
    InputError
        There is no such repository or revision.
    RunError
        It was not granted, not reached, or did not arrive.
    """
    # Imported here, because this library reads its environment when it is imported.
    from huggingface_hub import HfApi, constants, get_cached_repo_tree, snapshot_download
    from huggingface_hub.utils.tqdm import disable_progress_bars

    if not sys.stderr.isatty():
        disable_progress_bars()
    endpoint, offline = hub_endpoint(), is_offline()
    constants.HF_HUB_DISABLE_TELEMETRY = True
    if endpoint is not None:
        constants.HF_HUB_DISABLE_XET = True
    wanted: dict[str, Any] = {"repo_type": kind, "revision": revision}
    with _quiet_hub():
        try:
            if offline:
                get_cached_repo_tree(repo, **wanted)
            else:
                info: Any = HfApi(endpoint=endpoint).repo_info(repo, **wanted, timeout=TIMEOUT_S)
                check([file.rfilename for file in info.siblings or []])
            wanted |= {"allow_patterns": list(allow), "ignore_patterns": list(ignore)}
            path = Path(snapshot_download(repo, **wanted, endpoint=endpoint, local_files_only=offline))
        except MrbError:
            raise
        except Exception as error:  # noqa: BLE001  # a page that is no Hub fails anywhere inside
            raise _failure(error, repo, revision, kind, alternative) from None
    # When the connection breaks after the first answer, the library falls back to what an older call left.
    if not offline and path.name != info.sha:
        raise RunError(f"{repo}: changed, or was cut off, while it was downloaded; run the command again.")
    return path


def _data_root(names: Sequence[str], repo: str) -> PurePosixPath:
    """Return the folder, within the dataset, that contains the ground truth."""
    parents = [PurePosixPath(name).parents for name in names]
    roots = {folder.parent for folders in parents for folder in folders if folder.name == GROUND_TRUTH}
    if len(roots) == 1:
        return roots.pop()
    shown = shortened(", ".join(sorted(names)), 300)
    raise InputError(
        f"{repo}: has {len(roots)} folders {GROUND_TRUTH}, so it is not in the official layout; its {len(names)} "
        f"files: {shown}; download it with `hf download --repo-type dataset {repo} --local-dir FOLDER`, and use "
        "`mrb import table FOLDER OUT` on tables of cases and annotations."
    )


def hub_endpoint() -> str | None:
    """Return the address in HF_ENDPOINT, checked; None for the public Hub."""
    endpoint = os.environ.get("HF_ENDPOINT", "").rstrip("/")
    if endpoint and not _ADDRESS.fullmatch(endpoint):
        raise InputError("HF_ENDPOINT: is not a web address; write it as https://host or unset it.")
    return endpoint or None


def hub_address() -> str:
    """Return the Hub's address as messages and records show it: without a user name or password."""
    return without_secrets(hub_endpoint() or "https://huggingface.co")


def is_offline() -> bool:
    """Whether the environment forbids asking the Hub."""
    from huggingface_hub import constants

    set_offline = os.environ.get("HF_HUB_OFFLINE", "").strip().upper() in ("1", "ON", "YES", "TRUE")
    return set_offline or bool(constants.HF_HUB_OFFLINE)


@contextmanager
def _quiet_hub() -> Iterator[None]:
    """Keep the library's warnings off the terminal, since they may quote passwords."""
    logger = logging.getLogger("huggingface_hub")
    before = logger.level
    logger.setLevel(logging.ERROR)
    try:
        yield
    finally:
        logger.setLevel(before)


def _failure(error: Exception, name: str, revision: str | None, kind: str, alternative: str) -> MrbError:
    """Return one message for whatever a download can raise, which says what to do next; see `fetch`.

    The library's own texts are not passed on: they may quote headers and addresses with secrets in them.
    """
    from huggingface_hub.errors import HfHubHTTPError, RevisionNotFoundError

    at = hub_address()
    page = f"{at}/{'datasets/' if kind == 'dataset' else ''}{name}"
    status = error.response.status_code if isinstance(error, HfHubHTTPError) else None
    if isinstance(error, RevisionNotFoundError):
        return InputError(f"{name}: has no revision {revision!r}; name a commit, branch or tag listed at {page}.")
    if status == 404:
        return InputError(f"{name}: there is no such {kind} at {at}; check the name and HF_ENDPOINT.")
    if status in (401, 403):
        why = f"access is not granted (status {status}); accept its terms at {page} and set HF_TOKEN to a valid token"
    elif is_offline():
        why = "HF_HUB_OFFLINE is set and the Hub's cache holds no complete copy; unset it"
    elif isinstance(error, OSError) and error.strerror and not isinstance(error, ConnectionError):
        why = f"the download failed ({error.strerror}); make room, or set HF_HOME to a larger disk"
    else:
        what = f"status {status}" if status else type(error.__cause__ or error).__name__
        why = f"{at} cannot be reached, or does not answer like a Hub ({what}); check HF_ENDPOINT or set a mirror"
    return RunError(f"{name}: {why}; run the command again (complete files are kept), or {alternative}.")
