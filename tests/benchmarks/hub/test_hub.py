"""What `pull` promises, against a loopback server that answers like the Hub."""

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from mrb_lib.benchmarks.benchmark import load
from mrb_lib.cli.pull import pull as command
from mrb_lib.tables.errors import InputError, RunError
from mrb_lib.tables.schema import DIMENSIONS

from ..formats.conftest import Tree
from .local_hub import LocalHub, empty_cache, serve

REPO = "Some-Lab/Bench"
OLD, NEW = "a" * 40, "b" * 40
DATA_FILES = ["abdomen.jsonl", "brain.jsonl", "parquet/abdomen.parquet", "parquet/brain.parquet"]
SECRET = "hf_the_secret_token"  # noqa: S105  no real token


def pull(out: Path, **options: str) -> Path:
    """`mrb pull`, and the folder it wrote."""
    command(out, **options)
    return out


def write_official(root: Path, *, marker: str) -> Path:
    """A dataset in the official layout: two organs, two cases each, and files nobody should fetch."""
    tree = Tree(root / "nested")
    for organ in ("abdomen", "brain"):
        tree.organ(organ, [f"{organ}-{i}" for i in range(2)])
        for row in tree.pairs[organ]:
            row["question"] = f"{marker}: what does {row['question_id']} show?"
    tree.write()
    (root / "README.md").write_text("# Bench\n", encoding="utf-8")
    (root / "loader.py").write_text("raise SystemExit('never run this')\n", encoding="utf-8")
    (root / "weights.pkl").write_bytes(b"never load this")
    return root


@pytest.fixture
def hub(tmp_path: Path) -> Iterator[LocalHub]:
    revisions = {
        OLD: write_official(tmp_path / "old", marker="old"),
        NEW: write_official(tmp_path / "new", marker="new"),
    }
    with serve(LocalHub(REPO, revisions, {"main": NEW, "v1": OLD})) as server:
        yield server


@pytest.fixture(autouse=True)
def surroundings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    empty_cache(tmp_path, monkeypatch)


@pytest.fixture
def online(hub: LocalHub, monkeypatch: pytest.MonkeyPatch) -> LocalHub:
    monkeypatch.setenv("HF_ENDPOINT", hub.url)
    return hub


def nothing_left(out: Path) -> bool:
    """Neither the folder nor a stage beside it."""
    return not out.exists() and not [path for path in out.parent.iterdir() if path.name.startswith(f".{out.name}")]


def test_pull_writes_the_newest_revision_and_records_its_commit(online: LocalHub, tmp_path: Path) -> None:
    out = pull(tmp_path / "bench", repo=REPO)
    benchmark = load(out)
    assert benchmark.meta.revision == NEW
    assert benchmark.meta.source == f"{online.url}/datasets/{REPO}"
    assert len(benchmark.cases) == 4
    assert benchmark.cases["question"].str.startswith("new").all()
    assert len(benchmark.annotations) == 4 * len(DIMENSIONS)
    assert all(benchmark.images[name].startswith(b"\x89PNG") for names in benchmark.cases["images"] for name in names)
    assert online.fetched() == ["README.md", *(f"nested/pair_gt_all/{name}" for name in DATA_FILES)]
    assert {request.path.split("/")[1] for request in online.requests} <= {"api", "datasets"}


@pytest.mark.parametrize("revision", ["v1", OLD])
def test_a_given_revision_is_the_one_that_is_recorded(online: LocalHub, tmp_path: Path, revision: str) -> None:
    benchmark = load(pull(tmp_path / "bench", repo=REPO, revision=revision))
    assert benchmark.meta.revision == OLD
    assert benchmark.cases["question"].str.startswith("old").all()


def test_a_cut_connection_is_taken_up_where_it_broke(
    online: LocalHub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("huggingface_hub.constants.DOWNLOAD_CHUNK_SIZE", 512)
    cut = "nested/pair_gt_all/parquet/brain.parquet"
    online.cut = cut
    pull(tmp_path / "bench", repo=REPO)
    half = (online.revisions[NEW] / cut).stat().st_size // 2
    first, second = (r.range for r in online.requests if r.method == "GET" and r.file == cut)
    assert first == ""
    assert half - 512 < int(second.removeprefix("bytes=").removesuffix("-")) <= half
    assert online.url not in "".join(capfd.readouterr())


def test_after_a_failure_complete_files_are_not_fetched_again(online: LocalHub, tmp_path: Path) -> None:
    cut = "nested/pair_gt_all/parquet/brain.parquet"
    out = tmp_path / "bench"
    with pytest.MonkeyPatch.context() as patch:
        # Files in turn, so that it is certain which are complete when the server goes down.
        patch.setattr("huggingface_hub._snapshot_download.hf_thread_map", lambda f, files, **_: [f(x) for x in files])
        online.cut, online.down_after_cut = cut, True
        with pytest.raises(RunError, match="status 503"):
            pull(out, repo=REPO)
    assert nothing_left(out)
    complete = set(online.fetched()) - {cut}
    assert len(complete) == 4
    online.status = 0
    online.requests.clear()
    pull(out, repo=REPO)
    assert online.fetched() == [cut]


def test_the_token_is_sent_and_never_shown(
    online: LocalHub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    online.token = SECRET
    monkeypatch.setenv("HF_TOKEN", SECRET)
    pull(tmp_path / "bench", repo=REPO)
    assert {request.authorization for request in online.requests} == {f"Bearer {SECRET}"}
    online.requests.clear()
    with pytest.raises(InputError, match="already exists"):
        pull(tmp_path / "bench", repo=REPO)
    assert online.requests == [], "refused before anything is asked"
    online.token = f"not {SECRET}"
    with pytest.raises(RunError) as caught:
        pull(tmp_path / "again", repo=REPO)
    shown = capfd.readouterr()
    assert SECRET not in str(caught.value) + shown.out + shown.err
    assert caught.value.__cause__ is None and caught.value.__suppress_context__
    written = b"".join(path.read_bytes() for path in (tmp_path / "bench").rglob("*") if path.is_file())
    assert SECRET.encode() not in written


def test_offline_uses_a_complete_cache_and_refuses_an_absent_or_incomplete_one(
    online: LocalHub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with pytest.raises(RunError, match=r"HF_HUB_OFFLINE.*mrb import official"):
        pull(tmp_path / "bench", repo=REPO)
    assert online.requests == [] and nothing_left(tmp_path / "bench")
    monkeypatch.delenv("HF_HUB_OFFLINE")
    pull(tmp_path / "bench", repo=REPO)
    online.requests.clear()
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    assert load(pull(tmp_path / "again", repo=REPO)).meta.revision == NEW
    next((tmp_path / "cache").rglob("snapshots/*/nested/pair_gt_all/brain.jsonl")).unlink()
    with pytest.raises(RunError, match="no complete copy"):
        pull(tmp_path / "third", repo=REPO)
    assert online.requests == []


@pytest.mark.parametrize(
    ("status", "code", "error", "message"),
    [
        (401, "", RunError, "HF_TOKEN"),
        (403, "GatedRepo", RunError, "accept its terms"),
        (404, "RepoNotFound", InputError, "no such dataset"),
        (404, "RevisionNotFound", InputError, "no revision 'v9'"),
        (500, "", RunError, "status 500"),
    ],
)
def test_a_refusal_is_one_plain_message(
    online: LocalHub, tmp_path: Path, status: int, code: str, error: type[Exception], message: str
) -> None:
    online.status, online.error_code = status, code
    with pytest.raises(error, match=message) as caught:
        pull(tmp_path / "bench", repo=REPO, revision="v9")
    assert "\n" not in str(caught.value)
    assert nothing_left(tmp_path / "bench")


def test_a_server_that_is_down_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        monkeypatch.setenv("HF_ENDPOINT", f"http://user:password@127.0.0.1:{free.getsockname()[1]}")
    with pytest.raises(RunError, match=r"cannot be reached.*mrb import official") as caught:
        pull(tmp_path / "bench", repo=REPO)
    assert "password" not in str(caught.value)
    assert nothing_left(tmp_path / "bench")


def test_a_server_that_goes_down_is_not_answered_from_an_older_download(
    online: LocalHub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    online.branches["main"] = OLD
    pull(tmp_path / "bench", repo=REPO)
    online.branches["main"] = NEW
    monkeypatch.setattr("huggingface_hub._snapshot_download.HfApi.repo_info", _unreachable)
    with pytest.raises(RunError, match="run the command again"):
        pull(tmp_path / "again", repo=REPO)
    assert nothing_left(tmp_path / "again")


def _unreachable(*_: object, **__: object) -> None:
    from huggingface_hub.errors import OfflineModeIsEnabled

    raise OfflineModeIsEnabled("gone")


def test_a_captive_portal_is_not_taken_for_the_hub(online: LocalHub, tmp_path: Path) -> None:
    online.body = b"<html>please log in</html>"
    with pytest.raises(RunError, match="does not answer like a Hub"):
        pull(tmp_path / "bench", repo=REPO)


def test_another_layout_is_refused_before_anything_is_downloaded(online: LocalHub, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / "train.parquet").write_bytes(b"")
    online.revisions["c" * 40] = other
    with pytest.raises(InputError, match=r"train\.parquet.*mrb import table"):
        pull(tmp_path / "bench", repo=REPO, revision="c" * 40)
    assert online.fetched() == []


def test_a_full_disk_is_a_plain_message(online: LocalHub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("huggingface_hub.snapshot_download", fail, raising=False)
    with pytest.raises(RunError, match=r"No space left.*larger disk"):
        pull(tmp_path / "bench", repo=REPO)
    assert nothing_left(tmp_path / "bench")


@pytest.mark.parametrize(
    ("repo", "endpoint", "message"),
    [*((repo, None, "owner/name") for repo in ("bench", "../bench", "a/b/c", "a b/c", "/etc/passwd")),
     *((REPO, endpoint, "HF_ENDPOINT") for endpoint in ("nonsense", "ftp://host", "http://", "http://host:port"))],
)  # fmt: skip
def test_what_is_no_data_set_or_no_address_is_refused(
    online: LocalHub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, repo: str, endpoint: str | None, message: str
) -> None:
    if endpoint is not None:
        monkeypatch.setenv("HF_ENDPOINT", endpoint)
    with pytest.raises(InputError, match=message):
        pull(tmp_path / "bench", repo=repo)
    assert online.requests == []


def test_a_fresh_process_honours_the_environment(hub: LocalHub, tmp_path: Path) -> None:
    hub.token = SECRET
    known = {key: value for key, value in os.environ.items() if not key.startswith("HF_")}
    environment = {**known, "HF_ENDPOINT": hub.url, "HF_TOKEN": SECRET, "HF_HOME": str(tmp_path / "home")}
    mrb = Path(sys.executable).with_name("mrb")
    done = subprocess.run(
        [mrb, "pull", tmp_path / "bench", "--repo", REPO],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    assert load(tmp_path / "bench").meta.revision == NEW
    assert (tmp_path / "home" / "hub").is_dir()
    assert SECRET not in done.stdout + done.stderr and "%|" not in done.stderr, "no bars in files"
