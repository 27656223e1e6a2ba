"""A loaded model: text and images made into its inputs, and the device it runs on."""

import copy
import platform
import re
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, cast

import torch
from jinja2 import TemplateError
from PIL import Image
from torch.nn.functional import pad
from transformers import GenerationConfig, LogitsProcessorList, PreTrainedModel, PreTrainedTokenizerBase, ProcessorMixin

from mrb_lib.judges.settings import DType
from mrb_lib.tables.errors import InputError

Tensors = dict[str, torch.Tensor]

# Inputs that go with the tokens, one value a token; every other input belongs to the images.
TOKENWISE: Final = ("input_ids", "attention_mask", "mm_token_type_ids", "token_type_ids", "cross_attention_mask")
_SPACES: Final = ("\u2581", "\u0120")  # how vocabularies write a space: SentencePiece, and byte-level ones


@dataclass(frozen=True)
class Weights:
    """A loaded model.

    Attributes
    ----------
    processor : None for a model that reads text only
    devices : that hold its weights
    marks : the marks of its tokenizer, for `mrb_lib.judges.fences.defuse`
    """

    model: PreTrainedModel
    tokenizer: PreTrainedTokenizerBase
    processor: ProcessorMixin | None
    devices: tuple[torch.device, ...]
    marks: re.Pattern[str]
    _own: threading.local = field(default_factory=threading.local)

    @property
    def device(self) -> torch.device:
        """Return the device of the inputs: the first."""
        return self.devices[0]

    @property
    def _reading(self) -> tuple[PreTrainedTokenizerBase, ProcessorMixin | None]:
        """A tokenizer and a processor of this thread's own: one that pads for one thread must not for another."""
        if threading.current_thread() is threading.main_thread():
            return self.tokenizer, self.processor
        if not hasattr(self._own, "made"):
            processor = copy.deepcopy(self.processor)
            self._own.made = (copy.deepcopy(self.tokenizer) if processor is None else processor.tokenizer, processor)
        made: tuple[PreTrainedTokenizerBase, ProcessorMixin | None] = self._own.made
        return made

    @property
    def sees_images(self) -> bool:
        """Return whether images can be shown to it."""
        return self.processor is not None

    @property
    def pad_id(self) -> int:
        """A token to fill up with; it is never attended to."""
        return int(self.tokenizer.pad_token_id)

    @property
    def ends(self) -> list[int]:
        """The tokens that end a reply: the model's own, and the tokenizer's.

        A model fine-tuned to chat often keeps the end mark of its base model in its
        configuration, and would write on past the end of its turn.
        """
        stated = self.model.generation_config.eos_token_id if self.model.generation_config else None
        every = [*(stated if isinstance(stated, list) else [stated]), self.tokenizer.eos_token_id]
        return sorted({int(token) for token in every if token is not None})

    def generate(self, inputs: Tensors, config: GenerationConfig, processors: LogitsProcessorList) -> torch.Tensor:
        """Prompt and reply as token ids, (B, prompt + reply), filled up with `pad_id`."""
        written = cast("Any", self.model).generate(**inputs, generation_config=config, logits_processor=processors)
        return cast("torch.Tensor", written)

    def tokens_of(self, word: str) -> list[int]:
        """The token ids of a word alone, without any marks."""
        return cast("list[int]", self._reading[0](word, add_special_tokens=False)["input_ids"])

    def single_tokens(self, *spellings: str) -> list[int]:
        """The tokens that stand for one of the spellings all by themselves.

        Looked up in the vocabulary, too: a tokenizer that puts a mark of space before
        every text never shows what a word is without it, and some never show it with it.
        """
        tokenizer = self._reading[0]
        spaced = [spelling.replace(" ", space) for spelling in spellings for space in _SPACES]
        known = set(cast("list[int | None]", tokenizer.convert_tokens_to_ids(spaced))) - {None, tokenizer.unk_token_id}
        alone = [ids[0] for ids in map(self.tokens_of, spellings) if len(ids) == 1]
        return sorted({*cast("set[int]", known), *alone})

    def chat(self, text: str, n_images: int, options: Mapping[str, object], *, reply: str | None = None) -> str:
        """The chat template's text of one user turn with its images first, up to where the reply begins.

        Parameters
        ----------
        options : arguments of the template
        reply : the assistant's turn that follows, to its end; None for the reply still to be made

        Raises
        ------
        InputError
            The model has no chat template, or its template refuses the turn.
        """
        content: object = text
        if self.processor is not None:
            content = [*({"type": "image"} for _ in range(n_images)), {"type": "text", "text": text}]
        tokenizer, processor = self._reading
        template = cast("Any", processor if processor is not None else tokenizer).apply_chat_template
        turns: list[dict[str, object]] = [{"role": "user", "content": content}]
        if reply is not None:
            reply_content: object = reply if self.processor is None else [{"type": "text", "text": reply}]
            turns.append({"role": "assistant", "content": reply_content})
        try:
            return str(template(turns, tokenize=False, add_generation_prompt=reply is None, **options))
        except (ValueError, TypeError, KeyError, TemplateError) as error:
            raise InputError(f"the model's chat template cannot be used ({error})") from error

    def tokens(self, text: str) -> list[int]:
        """The token ids of a chat template's text; images are still single placeholders."""
        ids = self._reading[0](text, add_special_tokens=self._adds_marks(text))["input_ids"]
        return cast("list[int]", ids)

    def encode(self, text: str, images: Sequence[Image.Image] = ()) -> Tensors:
        """A chat template's text and its images as inputs; images are ignored by a model that reads text only.

        Returns
        -------
        dict
            `input_ids` and `attention_mask` with shape (1, tokens), on the CPU, and what the images need.

        Raises
        ------
        InputError
            The processor refuses an image, as one that is hundreds of times as wide as high.
        """
        arguments = {"text": [text], "return_tensors": "pt", "add_special_tokens": self._adds_marks(text)}
        tokenizer, processor = cast("tuple[Any, Any]", self._reading)
        if processor is None:
            return dict(tokenizer(**arguments, return_token_type_ids=False))
        try:
            made = processor(**arguments, **({"images": [list(images)]} if images else {}))
        except (ValueError, TypeError, LookupError, ArithmeticError) as error:
            reason = " ".join(str(error).split())[:200]
            raise InputError(f"the model's processor refuses the case ({reason})") from error
        # PaliGemma's adds what a model would be trained on.
        return {name: value for name, value in made.items() if isinstance(value, torch.Tensor) and name != "labels"}

    def collate(self, inputs: Sequence[Tensors]) -> Tensors:
        """Inputs of single texts as those of one batch, filled up on the left; all show the same number of images."""
        longest = max(some["input_ids"].shape[1] for some in inputs)
        filled = []
        for some in inputs:
            gap = longest - some["input_ids"].shape[1]
            filled.append(dict(some))
            for name in some.keys() & TOKENWISE:
                fill = self.pad_id if name == "input_ids" else 0
                filled[-1][name] = pad(some[name], (0, 0) * (some[name].ndim - 2) + (gap, 0), value=fill)
        return join(filled)

    def near_device(self, value: torch.Tensor) -> torch.Tensor:
        """A picture's input ready to be moved: in the weights' type, and where a GPU copies from without waiting."""
        typed = value.to(self.model.dtype) if value.is_floating_point() else value
        return typed.pin_memory() if self.device.type == "cuda" else typed

    def to_device(self, inputs: Mapping[str, torch.Tensor]) -> Tensors:
        """Move inputs beside the weights; pictures take the weights' type."""
        moved = {}
        for name, value in inputs.items():
            dtype = self.model.dtype if value.is_floating_point() else value.dtype
            moved[name] = value.to(self.device, dtype, non_blocking=True)
        return moved

    def _adds_marks(self, text: str) -> bool:
        # A chat template that writes the first mark itself must not get a second one.
        first = self.tokenizer.bos_token
        return not (isinstance(first, str) and text.startswith(first))


def join(inputs: Sequence[Mapping[str, torch.Tensor]]) -> Tensors:
    """The images' inputs of several cases as those of one batch; tiles are filled up with zeros to the same number."""
    out = {}
    for name in dict.fromkeys(name for some in inputs for name in some):
        tensors = [some[name] for some in inputs if name in some]
        size = [max(tensor.shape[d] for tensor in tensors) for d in range(1, tensors[0].ndim)]
        filled = []
        for tensor in tensors:
            gaps = [pair for d in reversed(range(1, tensor.ndim)) for pair in (0, size[d - 1] - tensor.shape[d])]
            filled.append(pad(tensor, gaps) if any(gaps) else tensor)
        out[name] = torch.cat(filled)
    return out


def check_context(weights: Weights, n_tokens: int, n_reply: int = 0) -> None:
    """Raise `InputError` where a prompt, with the longest reply it may get, is longer than a model was made for."""
    config = weights.model.config.get_text_config()
    limit = getattr(config, "max_position_embeddings", None)
    if isinstance(limit, int) and 0 < limit < n_tokens + n_reply:
        reply = f" and a reply of up to {n_reply:,}" if n_reply else ""
        cure = "lower --max-pixels or --max-new-tokens" if n_reply else "lower --max-pixels"
        raise InputError(
            f"a prompt of {n_tokens:,} tokens{reply} is longer than the model's context of {limit:,}; {cure}, or "
            "choose a model with a longer context"
        )


def choose_devices(devices: str) -> tuple[torch.device, ...]:
    """Return the devices of a name, or of several with commas between, as "cuda:0,cuda:1"; all GPUs for "auto".

    Raises
    ------
    InputError
        torch does not know a name, this machine has no such device, or only one of several is a GPU.
    """
    if devices == "auto":
        return tuple(torch.device("cuda", i) for i in range(torch.cuda.device_count())) or (torch.device("cpu"),)
    chosen: dict[torch.device, None] = {}
    for name in devices.split(","):
        try:
            chosen[torch.device(name.strip())] = None
            torch.zeros(1, device=name.strip()).item()  # "meta" can be written to and never read
        except (RuntimeError, AssertionError, ValueError) as error:
            reason = str(error).splitlines()[0] if str(error) else type(error).__name__
            raise InputError(
                f"device {name!r}: cannot be used ({reason}); `mrb doctor` shows what there is."
            ) from error
    if len(chosen) > 1 and any(device.type != "cuda" for device in chosen):
        raise InputError(f"device {devices!r}: weights are spread over GPUs only; name those, as in cuda:0,cuda:1.")
    return tuple(chosen)


def choose_dtype(dtype: DType, device: torch.device) -> torch.dtype:
    """bfloat16 on a GPU and float32 on a CPU, unless one is named."""
    is_half = device.type == "cuda" if dtype == "auto" else dtype == "bfloat16"
    return torch.bfloat16 if is_half else torch.float32


def describe(device: torch.device) -> str:
    """The device for people and manifests, as `cuda (NVIDIA H100)` or `cpu (x86_64, 2 threads)`."""
    if device.type == "cuda":
        return f"{device} ({torch.cuda.get_device_name(device)})"
    return f"{device} ({platform.machine()}, {torch.get_num_threads()} threads)"
