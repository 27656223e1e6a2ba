"""Tiny models are what they say: small, of the named architecture, random, and the same every time."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import get_args

import pytest
import torch

from mrb_lib.judges.local.checkpoint import load_checkpoint
from mrb_lib.judges.local.tiny import Architecture, write_tiny
from mrb_lib.judges.prompt_files import load_prompt
from mrb_lib.judges.roster.source import check_folder
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


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_they_are_small_and_hold_only_safetensors(architecture: Architecture, tiny: Callable[[str], Path]) -> None:
    folder = tiny(architecture)
    check_folder(folder, architecture)
    weights = load_checkpoint(folder, devices=[torch.device("cpu")], dtype=torch.float32)
    assert weights.model.config.model_type == architecture
    assert sum(parameter.numel() for parameter in weights.model.parameters()) < 700_000
    assert not [path for path in folder.iterdir() if path.suffix in (".bin", ".pt", ".py")]


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_their_tokenizer_gives_back_every_text(architecture: Architecture, tiny: Callable[[str], Path]) -> None:
    tokenizer = load_checkpoint(tiny(architecture), devices=[torch.device("cpu")], dtype=torch.float32).tokenizer
    for text in (load_prompt("single").text, "ü 肺 🦵\r\n\t x", " A"):
        assert tokenizer.decode(tokenizer(text)["input_ids"]) == text
    for word in ("A", " A", "B", "tie", "5"):
        assert tokenizer.unk_token_id not in tokenizer(word)["input_ids"]


def test_width_and_layers_are_as_asked(tmp_path: Path) -> None:
    folder = write_tiny(tmp_path, "llama", width=192, layers=3, vocabulary=400)
    config = load_checkpoint(folder, devices=[torch.device("cpu")], dtype=torch.float32).model.config
    assert (config.hidden_size, config.num_hidden_layers) == (192, 3)
    assert config.vocab_size <= 400


def test_what_cannot_be_made_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="use one of llava, qwen2_5_vl, llama"):
        write_tiny(tmp_path / "x", "gpt")
    for width in (0, 95, 100, -96):
        with pytest.raises(InputError, match="multiple of 96"):
            write_tiny(tmp_path / "x", "llama", width=width)
    assert not (tmp_path / "x").exists()
