"""The architectures of the published judges, each as a tiny random model: read together as alone, or honestly alone."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
import transformers
from transformers import PreTrainedModel, PreTrainedTokenizerFast, ProcessorMixin

from mrb_lib.judges.local import tiny as makes
from mrb_lib.judges.local.checkpoint import still_processor
from mrb_lib.judges.local.generative import GenerativeJudge
from mrb_lib.judges.local.packed import PackedJudge
from mrb_lib.tables.schema import DIMENSIONS
from mrb_lib.verdicts.orders import KEYS
from tests.judges.local.by_hand import AskFor, ByHand, made, png

pytestmark = pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning")  # PaliGemma's processor
Made = tuple[PreTrainedModel, ProcessorMixin]

_VISION = {
    "hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 2, "num_attention_heads": 4, "image_size": 64,
    "patch_size": 16,
}  # fmt: skip
_TILES = [[64, 128], [128, 64], [128, 128]]
_QWEN = {
    "image_token_id": "<|image_pad|>",
    "video_token_id": "<|video_pad|>",
    "vision_start_token_id": "<|vision_start|>",
    "vision_end_token_id": "<|vision_end|>",
}


def _tokenizer(named: dict[str, str]) -> PreTrainedTokenizerFast:
    return makes._tokenizer(makes._corpus(()), 1000, list(named.values()), named)


def _chat(image: str) -> str:
    return makes._CHAT.replace("IMAGE", image)


def _text(tokenizer: PreTrainedTokenizerFast, **more: object) -> dict[str, object]:
    return {**makes._text(tokenizer, 96, 2), **more}


def _id(tokenizer: PreTrainedTokenizerFast, token: str) -> int:
    return tokenizer.convert_tokens_to_ids(token)


def llava_next() -> Made:
    tokenizer = _tokenizer({"image_token": "<image>"})
    config = transformers.LlavaNextConfig(
        text_config={"model_type": "llama", **_text(tokenizer)},
        vision_config={"model_type": "clip_vision_model", **_VISION},
        image_token_index=_id(tokenizer, "<image>"),
        vision_feature_layer=-1,
        vision_feature_select_strategy="default",
        image_grid_pinpoints=_TILES,
        tie_word_embeddings=True,
    )
    processor = transformers.LlavaNextProcessor(
        image_processor=transformers.LlavaNextImageProcessorPil(
            size={"shortest_edge": 64}, crop_size={"height": 64, "width": 64}, image_grid_pinpoints=_TILES
        ),
        tokenizer=tokenizer,
        patch_size=16,
        num_additional_image_tokens=1,
        vision_feature_select_strategy="default",
        chat_template=_chat("<image>"),
    )
    return transformers.LlavaNextForConditionalGeneration(config), processor


def llava_onevision() -> Made:
    tokenizer = _tokenizer({"image_token": "<image>", "video_token": "<video>"})
    config = transformers.LlavaOnevisionConfig(
        text_config={"model_type": "qwen2", **_text(tokenizer)},
        vision_config={"model_type": "siglip_vision_model", **_VISION},
        image_token_index=_id(tokenizer, "<image>"),
        video_token_index=_id(tokenizer, "<video>"),
        vision_feature_layer=-1,
        vision_feature_select_strategy="full",
        image_grid_pinpoints=_TILES,
        tie_word_embeddings=True,
    )
    processor = still_processor(transformers.LlavaOnevisionProcessor)(
        image_processor=transformers.LlavaOnevisionImageProcessorPil(
            size={"height": 64, "width": 64}, image_grid_pinpoints=_TILES
        ),
        tokenizer=tokenizer,
        num_image_tokens=16,
        vision_feature_select_strategy="full",
        chat_template=_chat("<image>"),
    )
    return transformers.LlavaOnevisionForConditionalGeneration(config), processor


def _qwen(name: str, vision: dict[str, object], rotary: list[int], **more: object) -> Made:
    tokenizer = _tokenizer({name.removesuffix("_id"): token for name, token in _QWEN.items()})
    rope = {"rope_type": "default", "rope_theta": 10_000.0, "mrope_section": rotary, **more}
    config = getattr(transformers, f"{name}Config")(
        text_config=_text(tokenizer, head_dim=32, rope_parameters=rope),
        vision_config={"num_heads": 4, **vision},
        tie_word_embeddings=True,
        **{key: _id(tokenizer, token) for key, token in _QWEN.items()},
    )
    patch = vision["patch_size"]
    processor = still_processor(getattr(transformers, f"{name}Processor"))(
        image_processor=transformers.Qwen2VLImageProcessorPil(
            patch_size=patch, merge_size=2, size={"shortest_edge": (4 * patch) ** 2, "longest_edge": (8 * patch) ** 2}
        ),
        tokenizer=tokenizer,
        chat_template=_chat("<|vision_start|><|image_pad|><|vision_end|>"),
    )
    return getattr(transformers, f"{name}ForConditionalGeneration")(config), processor


def qwen2_vl() -> Made:
    vision = {"depth": 2, "embed_dim": 64, "hidden_size": 96, "mlp_ratio": 2, "patch_size": 14}
    return _qwen("Qwen2VL", vision, [4, 6, 6])


def qwen3_vl() -> Made:
    vision = {
        "depth": 3, "hidden_size": 64, "intermediate_size": 128, "out_hidden_size": 96, "patch_size": 16,
        "deepstack_visual_indexes": [0, 1], "num_position_embeddings": 64,
    }  # fmt: skip
    return _qwen("Qwen3VL", vision, [6, 5, 5], mrope_interleaved=True)


def internvl() -> Made:
    tokenizer = _tokenizer(
        {
            "context_image_token": "<IMG_CONTEXT>",
            "start_image_token": "<img>",
            "end_image_token": "</img>",
            "video_token": "<video>",
        }
    )
    vision = {**_VISION, "image_size": [64, 64], "patch_size": [16, 16]}
    config = transformers.InternVLConfig(
        text_config={"model_type": "qwen2", **_text(tokenizer)},
        vision_config=vision,
        image_token_id=_id(tokenizer, "<IMG_CONTEXT>"),
        image_seq_length=4,
        downsample_ratio=0.5,
    )
    processor = still_processor(transformers.InternVLProcessor)(
        image_processor=transformers.GotOcr2ImageProcessorPil(
            size={"height": 64, "width": 64}, min_patches=1, max_patches=4, crop_to_patches=True
        ),
        tokenizer=tokenizer,
        image_seq_length=4,
        chat_template=_chat("<IMG_CONTEXT>"),
    )
    return transformers.InternVLForConditionalGeneration(config), processor


def idefics3() -> Made:
    tokenizer = _tokenizer(
        {
            "image_token": "<image>",
            "fake": "<fake_token_around_image>",
            "globe": "<global-img>",
            "over": "<end_of_utterance>",
        }
    )
    config = transformers.Idefics3Config(
        text_config={"model_type": "llama", **_text(tokenizer)},
        vision_config=_VISION,
        image_token_id=_id(tokenizer, "<image>"),
        scale_factor=2,
        pad_token_id=tokenizer.pad_token_id,
    )
    processor = transformers.Idefics3Processor(
        image_processor=transformers.Idefics3ImageProcessorPil(
            size={"longest_edge": 128}, max_image_size={"longest_edge": 64}
        ),
        tokenizer=tokenizer,
        image_seq_len=4,
        chat_template=_chat("<image>"),
    )
    return transformers.Idefics3ForConditionalGeneration(config), processor


def gemma3() -> Made:
    tokenizer = _tokenizer(
        {"image_token": "<image_soft_token>", "boi_token": "<start_of_image>", "eoi_token": "<end_of_image>"}
    )
    kinds = ["sliding_attention", "full_attention"]
    config = transformers.Gemma3Config(
        text_config=_text(tokenizer, head_dim=32, sliding_window=32, layer_types=kinds),
        vision_config=_VISION,
        mm_tokens_per_image=4,
        boi_token_index=_id(tokenizer, "<start_of_image>"),
        eoi_token_index=_id(tokenizer, "<end_of_image>"),
        image_token_index=_id(tokenizer, "<image_soft_token>"),
    )
    processor = transformers.Gemma3Processor(
        image_processor=transformers.Gemma3ImageProcessorPil(size={"height": 64, "width": 64}),
        tokenizer=tokenizer,
        image_seq_length=4,
        chat_template=_chat("<start_of_image>"),
    )
    return transformers.Gemma3ForConditionalGeneration(config), processor


def mllama() -> Made:
    tokenizer = _tokenizer({"image_token": "<|image|>"})
    tokenizer.add_special_tokens({"bos_token": "<|system|>"})
    layers = {"num_hidden_layers": 4, "cross_attention_layers": [1, 3]}
    rotary = {"rope_type": "default", "rope_theta": 10_000.0}
    config = transformers.MllamaConfig(
        text_config=_text(tokenizer, **layers, bos_token_id=2, rope_parameters=rotary),
        vision_config={
            "hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 2, "num_global_layers": 1,
            "attention_heads": 4, "image_size": 64, "patch_size": 16, "vision_output_dim": 128,
            "intermediate_layers_indices": [0], "max_num_tiles": 4,
        },
        image_token_index=_id(tokenizer, "<|image|>"),
    )  # fmt: skip
    processor = transformers.MllamaProcessor(
        image_processor=transformers.MllamaImageProcessorPil(size={"height": 64, "width": 64}, max_image_tiles=4),
        tokenizer=tokenizer,
        chat_template=_chat("<|image|>"),
    )
    return transformers.MllamaForConditionalGeneration(config), processor


def gemma4() -> Made:
    tokenizer = _tokenizer(
        {
            "image_token": "<|image|>", "boi_token": "<|image>", "eoi_token": "<image|>", "audio_token": "<|audio|>",
            "boa_token": "<|audio>", "eoa_token": "<audio|>", "video_token": "<|video|>",
        }
    )  # fmt: skip
    kinds = ["sliding_attention", "full_attention"]
    config = transformers.Gemma4Config(
        text_config=_text(
            tokenizer, head_dim=32, sliding_window=32, layer_types=kinds, hidden_size_per_layer_input=16,
            vocab_size_per_layer_input=len(tokenizer),
        ),
        vision_config={
            "hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 2, "num_attention_heads": 4,
            "num_key_value_heads": 4, "head_dim": 16, "patch_size": 16, "pooling_kernel_size": 2,
            "position_embedding_size": 64,
        },
        **{
            f"{name}_token_id": _id(tokenizer, token)
            for name, token in (("image", "<|image|>"), ("boi", "<|image>"), ("eoi", "<image|>"))
        },
    )  # fmt: skip
    processor = still_processor(transformers.Gemma4Processor)(
        feature_extractor=None,
        video_processor=None,
        image_processor=transformers.Gemma4ImageProcessorPil(
            patch_size=16, pooling_kernel_size=2, max_soft_tokens=70, image_seq_length=70
        ),
        tokenizer=tokenizer,
        chat_template=_chat("<|image|>"),
    )
    return transformers.Gemma4ForConditionalGeneration(config), processor


def paligemma() -> Made:
    tokenizer = _tokenizer({"image_token": "<image>"})
    tokenizer.add_special_tokens({"bos_token": "<|system|>"})
    config = transformers.PaliGemmaConfig(
        text_config={"model_type": "gemma2", **_text(tokenizer, head_dim=32, bos_token_id=2)},
        vision_config={"model_type": "siglip_vision_model", **_VISION, "projection_dim": 96},
        image_token_index=_id(tokenizer, "<image>"),
        projection_dim=96,
        hidden_size=96,
        vocab_size=len(tokenizer),
    )
    images = transformers.SiglipImageProcessorPil(size={"height": 64, "width": 64})
    images.image_seq_length = 16
    processor = transformers.PaliGemmaProcessor(
        image_processor=images, tokenizer=tokenizer, chat_template=_chat("<image>")
    )
    return transformers.PaliGemmaForConditionalGeneration(config), processor


SHARES = (llava_next, llava_onevision, qwen2_vl, qwen3_vl, internvl, idefics3, gemma3, gemma4)
ALONE = (mllama, paligemma)


IMAGES = {"square": png(80, 80, 0), "wide": png(200, 60, 1), "tall": png(40, 150, 2)}
CASES = pd.DataFrame(
    [
        ("short", "What is seen?", "A lesion.", "No lesion.", ["square"]),
        ("two", "Compare.", "The second is worse.", "They are alike. " * 5, ["tall", "wide"]),
        ("none", "What is a meniscus?", "A cartilage", "Cartilage of the knee. " * 7, []),
        ("tall", "Is there a fracture?", "Yes.", "", ["tall"]),
    ],
    columns=["case_id", "question", "response_a", "response_b", "images"],
)


def shown_to(make: Callable[[], Made]) -> pd.DataFrame:
    """The cases without those that a processor refuses: PaliGemma's takes no text without an image."""
    return CASES[CASES["images"].str.len() > 0] if make is paligemma else CASES


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Callable[[], Made]], Path]:
    written: dict[str, Path] = {}

    def write(make: Callable[[], Made]) -> Path:
        if make.__name__ not in written:
            path = tmp_path_factory.mktemp("architectures") / make.__name__
            with torch.random.fork_rng(devices=[]):
                torch.manual_seed(0)
                model, processor = make()
            for parameter in model.parameters():
                if not parameter.any():  # as Gemma 3's projector, with which no image would be seen
                    parameter.data.normal_(generator=torch.Generator().manual_seed(0))
                elif parameter.ndim > 1:
                    parameter.data.mul_(2.0)
            model.save_pretrained(path)
            processor.save_pretrained(path)
            written[make.__name__] = path
        return written[make.__name__]

    return write


@pytest.mark.parametrize(("dtype", "gap"), [("float32", 1e-4), ("bfloat16", 0.02)], ids=["float32", "bfloat16"])
@pytest.mark.parametrize("make", [*SHARES, *ALONE], ids=lambda make: make.__name__)
def test_packed_equals_asking_each_question_alone_or_says_that_it_asks_alone(
    make: Callable[[], Made], dtype: str, gap: float, folder: Callable[[Callable[[], Made]], Path], ask_for: AskFor
) -> None:
    judge = made(PackedJudge, folder(make), IMAGES, dtype=dtype)
    asked = ask_for(shown_to(make))
    rows = judge.judge(asked)
    assert rows["status"].eq("ok").all(), rows.get("error")
    assert any("cannot share" in notice for notice in judge.notices) == (make in ALONE)
    assert any("refuses PyTorch's fused attention" in notice for notice in judge.notices) == (make is paligemma)
    hand = ByHand.of(judge.weights)
    truth = np.array([hand.p_first(row, IMAGES, DIMENSIONS) for row in asked.to_dict("records")])
    assert truth.std() > 0.001, "the probabilities must differ, or the test shows nothing"
    assert np.abs(rows["p_first"].to_numpy() - truth).max() < gap
    pictured = asked[asked["case_id"] == "short"]
    others = judge.judge(pictured.assign(images=[["tall"]] * len(pictured)))
    seen = rows["p_first"].to_numpy()[(asked["case_id"] == "short").to_numpy()] - others["p_first"].to_numpy()
    assert np.abs(seen).max() > 1e-5, "another image must change the probabilities"


@pytest.mark.parametrize("make", [*SHARES, *ALONE], ids=lambda make: make.__name__)
def test_replies_do_not_depend_on_the_batch(
    make: Callable[[], Made], folder: Callable[[Callable[[], Made]], Path], ask_for: AskFor
) -> None:
    judge = made(GenerativeJudge, folder(make), IMAGES, max_new_tokens=6)
    asked = ask_for(shown_to(make), ("overall",))
    whole = judge.judge(asked)
    alone = pd.concat([judge.judge(asked[asked["case_id"] == case]) for case in asked["case_id"].unique()])
    both = whole.merge(alone, on=list(KEYS))
    assert both["reply_x"].notna().all()
    assert both["reply_x"].eq(both["reply_y"]).all()
