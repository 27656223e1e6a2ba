"""Real weights for the tests of judges."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from mrb_lib.judges.local.packed import PackedJudge


@pytest.fixture(scope="session")
def smollm(smollm_gguf: Path, written_once: Callable[[str, Callable[[Path], None]], Path]) -> Path:
    """The same weights as an ordinary checkpoint in single precision, that `path:FOLDER` judges with."""

    def write(folder: Path) -> None:
        with pytest.MonkeyPatch.context() as patch:
            _write_smollm(smollm_gguf, folder, patch)

    return written_once("smollm2-135m", write)


ASKED = ("accuracy", "overall")


@pytest.fixture(scope="session")
def smollm_packed(smollm: Path) -> PackedJudge:
    """The judge `packed` with these weights, which it has loaded and checked; it knows two dimensions."""
    from mrb_lib.judges.local.packed import PackedJudge
    from mrb_lib.judges.local.reader import TreeReader
    from tests.judges.local.by_hand import made

    judge = made(PackedJudge, smollm, dimensions=ASKED)
    samples = TreeReader._samples
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(TreeReader, "_samples", lambda own: samples(own)[:1])  # of two cases, which take seconds
        judge.load()
    return judge


def _write_smollm(smollm_gguf: Path, folder: Path, patch: pytest.MonkeyPatch) -> None:
    import gguf
    import numpy as np
    import torch
    import transformers
    from transformers import AutoModelForCausalLM, AutoTokenizer, modeling_gguf_pytorch_utils

    # transformers reads the whole file three times, and makes the same map of names for each module.
    for module, name in (
        (gguf, "GGUFReader"),
        (gguf, "get_tensor_name_map"),
        (modeling_gguf_pytorch_utils, "load_gguf_checkpoint"),
    ):
        patch.setattr(module, name, cache(getattr(module, name)))
    # Each of a million cuts out of a map of the file makes a map of its own.
    patch.setattr(np, "memmap", lambda path, mode="r", dtype=np.uint8: np.fromfile(path, dtype))
    transformers.utils.logging.disable_progress_bar()
    torch.set_num_threads(1)
    arguments = {"pretrained_model_name_or_path": smollm_gguf.parent, "gguf_file": smollm_gguf.name}
    packed = AutoModelForCausalLM.from_pretrained(**arguments, dtype=torch.float32)
    # Saved as it is, the model would say of itself that it is quantized still.
    del packed.config.quantization_config
    with torch.device("meta"):
        plain = type(packed)(packed.config)
    plain.load_state_dict(packed.state_dict(), assign=True)
    plain.generation_config = packed.generation_config
    plain.save_pretrained(folder)
    AutoTokenizer.from_pretrained(**arguments).save_pretrained(folder)
