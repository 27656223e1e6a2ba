import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mrb_lib.tables.errors import InputError
from mrb_lib.tables.files import inside, is_safe_name, slug, staged_folder, write_atomic


def test_a_staged_folder_appears_only_when_the_block_succeeds(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match="midway"), staged_folder(tmp_path / "out") as folder:
        (folder / "half").write_text("x")
        raise RuntimeError("midway")
    assert list(tmp_path.iterdir()) == []
    with staged_folder(tmp_path / "out") as folder:
        (folder / "whole").write_text("x")
        assert not (tmp_path / "out").exists()
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["whole"]


def test_what_is_written_has_the_permissions_that_the_process_gives(tmp_path: Path) -> None:
    before = os.umask(0o077)
    try:
        write_atomic(tmp_path / "whole", "x")
        with staged_folder(tmp_path / "made"):
            pass
    finally:
        os.umask(before)
    assert [(tmp_path / name).stat().st_mode & 0o777 for name in ("whole", "made")] == [0o600, 0o700]


def test_a_folder_that_is_there_is_not_replaced_unasked(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "mine").write_text("x")
    for overwrite in (False, True):
        with pytest.raises(InputError), staged_folder(tmp_path / "out", overwrite=overwrite):
            pass
    assert (tmp_path / "out" / "mine").read_text() == "x"
    (tmp_path / "out" / "benchmark.toml").write_text("x")
    with staged_folder(tmp_path / "out", overwrite=True) as folder:
        (folder / "new").write_text("x")
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["new"]


def test_what_people_said_outlives_the_folder_it_lies_in(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    for name in ("benchmark.toml", "reviews.sqlite", "reviews.sqlite-wal"):
        (tmp_path / "out" / name).write_text("old")
    with pytest.raises(RuntimeError), staged_folder(tmp_path / "out", overwrite=True):
        raise RuntimeError
    assert (tmp_path / "out" / "reviews.sqlite").read_text() == "old"
    with staged_folder(tmp_path / "out", overwrite=True) as folder:
        (folder / "benchmark.toml").write_text("new")
    kept = {path.name: path.read_text() for path in (tmp_path / "out").iterdir()}
    assert kept == {"benchmark.toml": "new", "reviews.sqlite": "old", "reviews.sqlite-wal": "old"}


def test_a_link_to_a_folder_is_followed_and_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    for target in ("empty", "not-there-yet"):
        (tmp_path / f"link-{target}").symlink_to(tmp_path / target)
        with staged_folder(tmp_path / f"link-{target}") as folder:
            (folder / "whole").write_text("x")
        assert (tmp_path / f"link-{target}").is_symlink()
        assert (tmp_path / target / "whole").is_file()


def test_a_name_that_cannot_be_created_is_refused(tmp_path: Path) -> None:
    (tmp_path / "circle").symlink_to(tmp_path / "circle")
    for name, why in [("x" * 300, "too long"), ("circle", "circle")]:
        with pytest.raises(InputError, match=why), staged_folder(tmp_path / name):
            pass
    with pytest.raises(InputError, match="circle"):
        inside(tmp_path, "circle")
    assert not is_safe_name("é" * 128)
    assert is_safe_name("é" * 127)


@pytest.mark.parametrize("source", [".", "raw"])
def test_what_is_being_read_is_not_overwritten(tmp_path: Path, source: str) -> None:
    (tmp_path / "out" / "raw").mkdir(parents=True)
    (tmp_path / "out" / "benchmark.toml").write_text("x")
    with (
        pytest.raises(InputError, match="being read"),
        staged_folder(tmp_path / "out", overwrite=True, source=tmp_path / "out" / source),
    ):
        pass
    assert (tmp_path / "out" / "raw").is_dir()


def test_a_file_in_the_way_is_refused(tmp_path: Path) -> None:
    (tmp_path / "out").write_text("x")
    with pytest.raises(InputError, match="is a file"), staged_folder(tmp_path / "out"):
        pass


@pytest.mark.parametrize("name", ["../x", "/etc/passwd", "a/../../x", "a\\b", "", "a\0b", "C:x", "./x", "a//b", "a/.."])
def test_names_that_climb_out_are_refused(tmp_path: Path, name: str) -> None:
    assert not is_safe_name(name)
    with pytest.raises(InputError, match="leads out"):
        inside(tmp_path, name)


def test_a_link_that_leads_out_is_refused(tmp_path: Path) -> None:
    (tmp_path / "inner").mkdir()
    (tmp_path / "secret").write_text("x")
    (tmp_path / "inner" / "link").symlink_to(tmp_path / "secret")
    with pytest.raises(InputError, match="leads out"):
        inside(tmp_path / "inner", "link")


@given(st.text(), st.text())
def test_slugs_are_safe_file_names_and_tell_texts_apart(one: str, other: str) -> None:
    assert is_safe_name(slug(one))
    assert "/" not in slug(one)
    if one != other:
        assert slug(one) != slug(other)


def test_writing_replaces_a_file_whole(tmp_path: Path) -> None:
    write_atomic(tmp_path / "a" / "f", "old")
    write_atomic(tmp_path / "a" / "f", b"new")
    assert (tmp_path / "a" / "f").read_bytes() == b"new"
    assert len(list((tmp_path / "a").iterdir())) == 1
