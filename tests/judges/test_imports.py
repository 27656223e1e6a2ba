"""Importing large libraries without looking for garbage, and looking for it as before afterwards."""

from __future__ import annotations

import gc

import pytest

from mrb_lib.judges.imports import uncollected


@pytest.mark.parametrize("fails", [False, True])
@pytest.mark.parametrize("is_on", [False, True])
def test_nothing_is_looked_through_in_the_block_nor_what_stays_after_it(is_on: bool, fails: bool) -> None:
    was_on = gc.isenabled()
    try:
        (gc.enable if is_on else gc.disable)()
        frozen = gc.get_freeze_count()
        try:
            with uncollected():
                assert not gc.isenabled()
                stays = [[number] for number in range(5000)]
                if fails:
                    raise ImportError("no such library")
        except ImportError:
            assert fails
        assert gc.isenabled() == is_on
        assert gc.get_freeze_count() - frozen >= len(stays)
    finally:
        (gc.enable if was_on else gc.disable)()
