"""How far a GPU's probabilities lie from those of one prompt at a time. SIMULATED cases, RANDOM WEIGHTS.

    python tests/benchmarks/speed/gpu_exact.py

The cases of tests/judges/local/test_packed.py (several images, none, empty responses, control tokens) in both orders,
on the GPU: read together by `packed`, in half precision with the kernel of variable-length attention and under a mask,
and each prompt alone by transformers. Results are in RESULTS.md.
"""

import sys
import tempfile
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pandas as pd
import torch

sys.path.insert(0, str(Path(__file__).parents[3]))
from mrb_lib.judges.local import attention
from mrb_lib.runs.plan import Plan
from mrb_lib.verdicts.orders import to_shown_frame
from tests import tiny_models
from tests.judges.local.by_hand import ByHand
from tests.judges.local.test_packed import ARCHITECTURES, ASKED, CASES, IMAGES, _judge


class OnGpu(ByHand):
    """`ByHand`, whose model and inputs are on the GPU."""

    def __init__(self, folder: Path, dtype: torch.dtype = torch.float32) -> None:
        super().__init__(folder, dtype)
        self.model.to("cuda")
        self.model.register_forward_pre_hook(_to_gpu, with_kwargs=True)


def _to_gpu(module: torch.nn.Module, args: tuple[object, ...], options: dict[str, object]) -> object:
    moved = {name: x.to("cuda") if isinstance(x, torch.Tensor) else x for name, x in options.items()}
    return args, moved


def main() -> None:
    print(torch.cuda.get_device_name(), "torch", torch.__version__)
    plan = Plan(CASES, ASKED, ("AB", "BA"))
    shown = to_shown_frame(plan.rows(np.arange(len(plan))))
    with tempfile.TemporaryDirectory() as temporary:
        for architecture in ARCHITECTURES:
            folder = tiny_models.write(
                Path(temporary) / architecture, architecture, width=384, texts=CASES["response_a"]
            )
            for name, dtype in (("float32", torch.float32), ("bfloat16", torch.bfloat16)):
                hand = OnGpu(folder, dtype)
                alone = np.array([hand.p_first(row, IMAGES, ASKED) for row in shown.to_dict("records")])
                judge = _judge(folder, device="cuda", dtype=name)
                judge.load()
                with patch.object(attention.varlen, "varlen_attn", wraps=attention.varlen.varlen_attn) as kernel:
                    rows = judge.judge(shown)
                with patch.object(attention, "has_kernel", lambda _: False):
                    dense = judge.judge(shown)
                assert rows["status"].eq("ok").all(), rows[["status", "error"]].drop_duplicates()
                print(
                    f"{architecture} {name}: {len(rows)} verdicts, {kernel.call_count} calls of the kernel; "
                    f"from one prompt alone {_gap(rows, alone):.2g}, under a mask {_gap(dense, alone):.2g} "
                    f"(alone from {alone.min():.3f} to {alone.max():.3f})",
                    *judge.notices,
                )


def _gap(rows: pd.DataFrame, alone: np.ndarray) -> float:
    return float(np.abs(rows["p_first"].to_numpy(dtype=np.float64) - alone).max())


if __name__ == "__main__":
    main()
