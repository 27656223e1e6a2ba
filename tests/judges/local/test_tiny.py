"""Tiny models are what they say: small, of the named architecture, random, and the same every time."""

import hashlib
from pathlib import Path
from typing import get_args

import pytest
import torch

from mrb_lib.judges.local.tiny import Architecture, write_tiny
from mrb_lib.tables.errors import InputError

ARCHITECTURES = get_args(Architecture)


def _digest(folder: Path) -> dict[str, str]:
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in folder.iterdir()}


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_the_same_seed_writes_the_same_files_and_leaves_the_random_state_alone(
    architecture: Architecture, tmp_path: Path
) -> None:
    torch.manual_seed(5)
    expected = torch.rand(3)
    torch.manual_seed(5)
    one = _digest(write_tiny(tmp_path / "one", architecture, seed=3))
    assert torch.equal(torch.rand(3), expected)
    assert _digest(write_tiny(tmp_path / "two", architecture, seed=3)) == one
    other = _digest(write_tiny(tmp_path / "other", architecture, seed=4))
    assert {name for name in one if one[name] != other[name]} == {"model.safetensors"}


def test_what_cannot_be_made_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="use one of llava, qwen2_5_vl, llama"):
        write_tiny(tmp_path / "x", "gpt")
    for width in (0, 95, 100, -96):
        with pytest.raises(InputError, match="multiple of 96"):
            write_tiny(tmp_path / "x", "llama", width=width)
    assert not (tmp_path / "x").exists()
