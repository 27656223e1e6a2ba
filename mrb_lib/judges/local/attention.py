"""Attention over many short sequences at once: the prompts of trees of tokens, and the windows of an image encoder.

On a GPU in half precision each is one call of variable-length attention a layer (`torch.nn.attention.varlen`), which
needs neither a mask nor padding. Elsewhere each tree is read under a mask, and each window alone.

The two functions are registered with transformers under the names `TREE` and `WINDOWS` when this module is imported.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from inspect import signature
from itertools import accumulate
from typing import Any, Final, cast

import torch
from torch.nn.attention import varlen
from torch.nn.functional import scaled_dot_product_attention
from transformers import AttentionInterface, AttentionMaskInterface, PreTrainedModel
from transformers.integrations.sdpa_attention import sdpa_attention_forward
from transformers.masking_utils import sdpa_mask

TREE: Final = "mrb_tree"
# transformers hands the bounds of windows to an implementation whose name says "flash", and to no other.
WINDOWS: Final = "mrb_flash_windows"
# Of the flash kernels: the largest head, and the GPU's generation.
_LARGEST_HEAD: Final = 256
_OLDEST_GPU: Final = (8, 0)

Span = tuple[int, int]


Segments = tuple[torch.Tensor, torch.Tensor, tuple[torch.Tensor, torch.Tensor, int, int], bool]
"""Runs of queries, each with the keys that it attends to, as variable-length attention takes them.

Columns of queries and of keys, int64 of shapes (queries,) and (keys,), run by run; where runs begin and end among both,
int32 of shape (runs + 1,), and the most queries and keys of a run; and whether the last query of a run attends to all
of its keys and each one before it to one key less, or all queries to all keys.
"""


@dataclass(frozen=True)
class TreeLayout:
    """The columns of the tokens of several trees in one row, and the columns that each attends to.

    Attributes
    ----------
    cases : the columns of each tree
    paths : of each tree, a run of queries and the spans of columns, in order, that lie on its path, itself the last;
        first the trunk, then each branch and its leaves
    blocks : columns within runs that attend to one another whatever their order, as Gemma's of one image

    Validated by tests/judges/local/test_attention.py.
    """

    cases: tuple[Span, ...]
    paths: tuple[tuple[tuple[Span, ...], ...], ...]
    blocks: tuple[Span, ...]
    _segments: dict[torch.device, tuple[Segments, ...]] = field(default_factory=dict)
    _masks: dict[tuple[int | None, torch.device], list[torch.Tensor]] = field(default_factory=dict)

    def segments(self, device: torch.device) -> tuple[Segments, ...]:
        """All queries: those that attend to what is before them, and those of blocks; kept for each device."""
        if device not in self._segments:
            causal: list[tuple[Span, tuple[Span, ...]]] = []
            mutual: list[tuple[Span, tuple[Span, ...]]] = []
            for path in (path for paths in self.paths for path in paths):
                (start, end), before = path[-1], path[:-1]
                for first, last in (block for block in self.blocks if start <= block[0] < end):
                    causal += [((start, first), (*before, (path[-1][0], first)))] if first > start else []
                    mutual.append(((first, last), (*before, (path[-1][0], last))))
                    start = last
                causal += [((start, end), path)] if end > start else []
            kinds = ((causal, True), (mutual, False))
            self._segments[device] = tuple(_segments(runs, is_causal, device) for runs, is_causal in kinds if runs)
        return self._segments[device]

    def masks(self, window: int | None, device: torch.device) -> list[torch.Tensor]:
        """The mask of each tree, bool of shape (queries, keys): where a query attends; made once for each device."""
        key = window, device
        if key not in self._masks:
            pairs = zip(self.cases, self.paths, strict=True)
            self._masks[key] = [self._mask(case, paths, window).to(device) for case, paths in pairs]
        return self._masks[key]

    def _mask(self, case: Span, paths: Sequence[Sequence[Span]], window: int | None) -> torch.Tensor:
        start, end = case
        allowed = torch.zeros(end - start, end - start, dtype=torch.bool)
        for path in paths:
            columns = torch.cat([torch.arange(*span) for span in path])
            first_query, end_query = path[-1]
            n_before = len(columns) - (end_query - first_query)
            seen = torch.ones(end_query - first_query, len(columns), dtype=torch.bool).tril_(n_before)
            for first, last in self.blocks:
                inside = (columns >= first) & (columns < last)
                seen |= inside[n_before:, None] & inside
            if window is not None:
                seen.triu_(n_before - window + 1)
            allowed[first_query - start : end_query - start, columns - start] = seen
        return allowed


def _segments(runs: Sequence[tuple[Span, Sequence[Span]]], is_causal: bool, device: torch.device) -> Segments:
    n_queries = [end - start for (start, end), _ in runs]
    n_keys = [sum(end - start for start, end in spans) for _, spans in runs]

    def bounds(lengths: Sequence[int]) -> torch.Tensor:
        return torch.tensor([0, *accumulate(lengths)], dtype=torch.int32, device=device)

    queries = torch.cat([torch.arange(*span) for span, _ in runs]).to(device)
    keys = torch.cat([torch.arange(*span) for _, spans in runs for span in spans]).to(device)
    return queries, keys, (bounds(n_queries), bounds(n_keys), max(n_queries), max(n_keys)), is_causal


def has_kernel(query: torch.Tensor) -> bool:
    """Return whether variable-length attention takes tensors like this one."""
    if not query.is_cuda or query.dtype not in (torch.bfloat16, torch.float16) or query.shape[-1] > _LARGEST_HEAD:
        return False
    return torch.cuda.get_device_capability(query.device) >= _OLDEST_GPU


_sdpa: Final[Callable[..., torch.Tensor]] = scaled_dot_product_attention


def _tree_attention(
    module: torch.nn.Module,
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attention_mask: torch.Tensor | None,
    scaling: float | None = None,
    sliding_window: int | None = None,
    tree: TreeLayout | None = None,
    **options: Any,
) -> tuple[torch.Tensor, None]:
    """Attention of a language model's layer, see `AttentionInterface`; an ordinary one where no tree is given."""
    if tree is None:
        return sdpa_attention_forward(
            module, query, key, value, attention_mask, scaling=scaling, sliding_window=sliding_window, **options
        )
    if options.get("softcap") is not None or options.get("s_aux") is not None:
        raise ValueError("its attention has scores that are capped, or sinks")
    if has_kernel(query):
        q, k, v = (some[0].transpose(0, 1) for some in (query, key, value))
        out = torch.empty_like(q)
        is_grouped = query.shape[1] != key.shape[1]
        for queries, keys, runs, is_causal in tree.segments(query.device):
            # A window counts the query itself; its right end is where the run's keys end.
            sizes = (-1 if sliding_window is None else sliding_window - 1, 0 if is_causal else -1)
            how: dict[str, Any] = {"scale": scaling, "window_size": sizes, "enable_gqa": is_grouped}
            out[queries] = cast("torch.Tensor", varlen.varlen_attn(q[queries], k[keys], v[keys], *runs, **how))
        return out[None], None
    grouped = query.shape[1] // key.shape[1]
    if grouped > 1:
        key, value = (some.repeat_interleave(grouped, dim=1) for some in (key, value))
    masks = tree.masks(sliding_window, query.device)
    parts = [
        _sdpa(*(some[:, :, start:end] for some in (query, key, value)), attn_mask=mask, scale=scaling)
        for (start, end), mask in zip(tree.cases, masks, strict=True)
    ]
    return torch.cat(parts, dim=2).transpose(1, 2), None


def _window_attention(
    module: torch.nn.Module,
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attention_mask: torch.Tensor | None,
    scaling: float | None = None,
    cu_seq_lens_q: torch.Tensor | None = None,
    max_length_q: int | None = None,
    **options: Any,
) -> tuple[torch.Tensor, None]:
    """Attention of an image encoder's layer within windows, see `AttentionInterface`."""
    if cu_seq_lens_q is None or max_length_q is None:
        raise ValueError("its image encoder names no windows")
    if has_kernel(query):
        q, k, v = (some[0].transpose(0, 1) for some in (query, key, value))
        bounds = cu_seq_lens_q.to(torch.int32)
        out = varlen.varlen_attn(q, k, v, bounds, bounds, max_length_q, max_length_q, scale=scaling)
        return cast("torch.Tensor", out)[None], None
    lengths = cu_seq_lens_q.diff().tolist()
    windows = zip(*(torch.split(some, lengths, dim=2) for some in (query, key, value)), strict=True)
    return torch.cat([_sdpa(*window, scale=scaling) for window in windows], dim=2).transpose(1, 2), None


AttentionInterface.register(TREE, _tree_attention)
AttentionMaskInterface.register(TREE, sdpa_mask)
AttentionInterface.register(WINDOWS, _window_attention)


def use_own_attention(model: PreTrainedModel) -> None:
    """Have a loaded model's layers call the functions of this module where its code lets them.

    The language model reads ordinary inputs as before, and trees where it is called with `tree` (a `TreeLayout`) and a
    mask of no elements. An image encoder whose layers are told their windows reads them in one call a layer.
    """
    text = model.config.get_text_config()
    if text._attn_implementation == "sdpa":
        text._attn_implementation = TREE
    encoder = model.get_encoder(modality="image")
    if encoder is model or encoder.config is text or encoder.config._attn_implementation != "sdpa":
        return
    if any("cu_seqlens" in signature(layer.forward).parameters for layer in encoder.modules()):
        encoder.config._attn_implementation = WINDOWS
