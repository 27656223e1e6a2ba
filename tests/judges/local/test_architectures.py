"""The architectures of the published judges, each as a tiny random model: read together as alone, or honestly alone."""

from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
import transformers

from mrb_lib.judges.local.generative import GenerativeJudge
from mrb_lib.judges.local.packed import PackedJudge
from mrb_lib.tables.schema import DIMENSIONS
from mrb_lib.verdicts.orders import KEYS
from tests.judges.local.by_hand import IMAGES, PICTURED, AskFor, ByHand, made
from tests.tiny_models import Made, qwen, with_images

pytestmark = pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning")  # PaliGemma's processor

_VISION = {
    "hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 2, "num_attention_heads": 4, "image_size": 64,
    "patch_size": 16,
}  # fmt: skip
_TILES = [[64, 128], [128, 64], [128, 128]]
_LAYERS = {"head_dim": 32, "sliding_window": 32, "layer_types": ["sliding_attention", "full_attention"]}


MAKES: dict[str, Callable[[], Made]] = {
    "llava_next": lambda: with_images(
        "LlavaNext", {"image_token": "<image>"}, "<image>",
        transformers.LlavaNextImageProcessorPil(
            size={"shortest_edge": 64}, crop_size={"height": 64, "width": 64}, image_grid_pinpoints=_TILES
        ),
        text={"model_type": "llama"}, vision={"model_type": "clip_vision_model", **_VISION},
        processor={"patch_size": 16, "num_additional_image_tokens": 1, "vision_feature_select_strategy": "default"},
        config={"image_token_index": "<image>", "vision_feature_layer": -1, "image_grid_pinpoints": _TILES,
                "vision_feature_select_strategy": "default", "tie_word_embeddings": True},
    ),
    "llava_onevision": lambda: with_images(
        "LlavaOnevision", {"image_token": "<image>", "video_token": "<video>"}, "<image>",
        transformers.LlavaOnevisionImageProcessorPil(size={"height": 64, "width": 64}, image_grid_pinpoints=_TILES),
        text={"model_type": "qwen2"}, vision={"model_type": "siglip_vision_model", **_VISION},
        processor={"num_image_tokens": 16, "vision_feature_select_strategy": "full"},
        config={"image_token_index": "<image>", "video_token_index": "<video>", "vision_feature_layer": -1,
                "vision_feature_select_strategy": "full", "image_grid_pinpoints": _TILES, "tie_word_embeddings": True},
    ),
    "qwen2_vl": lambda: qwen(
        "Qwen2VL", {"mrope_section": [4, 6, 6]},
        {"depth": 2, "embed_dim": 64, "hidden_size": 96, "mlp_ratio": 2, "patch_size": 14},
    ),
    "qwen3_vl": lambda: qwen(
        "Qwen3VL", {"mrope_section": [6, 5, 5], "mrope_interleaved": True},
        {"depth": 3, "hidden_size": 64, "intermediate_size": 128, "out_hidden_size": 96, "patch_size": 16,
         "deepstack_visual_indexes": [0, 1], "num_position_embeddings": 64},
    ),
    "internvl": lambda: with_images(
        "InternVL",
        {"context_image_token": "<IMG_CONTEXT>", "start_image_token": "<img>", "end_image_token": "</img>",
         "video_token": "<video>"},
        "<IMG_CONTEXT>",
        transformers.GotOcr2ImageProcessorPil(
            size={"height": 64, "width": 64}, min_patches=1, max_patches=4, crop_to_patches=True
        ),
        text={"model_type": "qwen2"}, vision={**_VISION, "image_size": [64, 64], "patch_size": [16, 16]},
        processor={"image_seq_length": 4},
        config={"image_token_id": "<IMG_CONTEXT>", "image_seq_length": 4, "downsample_ratio": 0.5},
    ),
    "idefics3": lambda: with_images(
        "Idefics3",
        {"image_token": "<image>", "fake": "<fake_token_around_image>", "globe": "<global-img>",
         "over": "<end_of_utterance>"},
        "<image>",
        transformers.Idefics3ImageProcessorPil(size={"longest_edge": 128}, max_image_size={"longest_edge": 64}),
        text={"model_type": "llama"}, vision=_VISION, processor={"image_seq_len": 4},
        config={"image_token_id": "<image>", "scale_factor": 2, "pad_token_id": 0},
    ),
    "gemma3": lambda: with_images(
        "Gemma3",
        {"image_token": "<image_soft_token>", "boi_token": "<start_of_image>", "eoi_token": "<end_of_image>"},
        "<start_of_image>",
        transformers.Gemma3ImageProcessorPil(size={"height": 64, "width": 64}),
        text=_LAYERS, vision=_VISION, processor={"image_seq_length": 4},
        config={"mm_tokens_per_image": 4, "boi_token_index": "<start_of_image>", "eoi_token_index": "<end_of_image>",
                "image_token_index": "<image_soft_token>"},
    ),
    "gemma4": lambda: with_images(
        "Gemma4",
        {"image_token": "<|image|>", "boi_token": "<|image>", "eoi_token": "<image|>", "audio_token": "<|audio|>",
         "boa_token": "<|audio>", "eoa_token": "<audio|>", "video_token": "<|video|>"},
        "<|image|>",
        transformers.Gemma4ImageProcessorPil(
            patch_size=16, pooling_kernel_size=2, max_soft_tokens=70, image_seq_length=70
        ),
        text={**_LAYERS, "hidden_size_per_layer_input": 16, "vocab_size_per_layer_input": 1000},
        vision={"hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 2, "num_attention_heads": 4,
                "num_key_value_heads": 4, "head_dim": 16, "patch_size": 16, "pooling_kernel_size": 2,
                "position_embedding_size": 64},
        processor={"feature_extractor": None, "video_processor": None},
        config={"image_token_id": "<|image|>", "boi_token_id": "<|image>", "eoi_token_id": "<image|>"},
    ),
    "mllama": lambda: with_images(
        "Mllama", {"image_token": "<|image|>"}, "<|image|>",
        transformers.MllamaImageProcessorPil(size={"height": 64, "width": 64}, max_image_tiles=4),
        text={"num_hidden_layers": 4, "cross_attention_layers": [1, 3], "bos_token_id": 2,
              "rope_parameters": {"rope_type": "default", "rope_theta": 10_000.0}},
        vision={"hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 2, "num_global_layers": 1,
                "attention_heads": 4, "image_size": 64, "patch_size": 16, "vision_output_dim": 128,
                "intermediate_layers_indices": [0], "max_num_tiles": 4},
        config={"image_token_index": "<|image|>"},
    ),
    "paligemma": lambda: with_images(
        "PaliGemma", {"image_token": "<image>"}, "<image>",
        transformers.SiglipImageProcessorPil(size={"height": 64, "width": 64}, image_seq_length=16),
        text={"model_type": "gemma2", "head_dim": 32, "bos_token_id": 2},
        vision={"model_type": "siglip_vision_model", **_VISION, "projection_dim": 96},
        config={"image_token_index": "<image>", "projection_dim": 96, "hidden_size": 96},
    ),
}  # fmt: skip
ALONE = ("mllama", "paligemma")


CASES = PICTURED[PICTURED["case_id"].isin(["short", "two", "none"])]


def shown_to(name: str) -> pd.DataFrame:
    """The cases without those that a processor refuses: PaliGemma's takes no text without an image."""
    return CASES[CASES["images"].str.len() > 0] if name == "paligemma" else CASES


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    @cache
    def write(name: str) -> Path:
        path = tmp_path_factory.mktemp("architectures") / name
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(0 if name == "gemma4" else 1)  # of 1 its attention is too sharp to see an image
            model, processor = MAKES[name]()
        for parameter in model.parameters():
            if not parameter.any():  # as Gemma 3's projector, with which no image would be seen
                parameter.data.normal_(generator=torch.Generator().manual_seed(0))
            elif parameter.ndim > 1:
                parameter.data.mul_(2.0)
        model.save_pretrained(path)
        processor.save_pretrained(path)
        return path

    return write


@pytest.mark.parametrize(
    ("name", "dtype", "gap"),
    [
        *((name, "float32", 1e-4) for name in MAKES),
        # Masks, positions and images of their own; test_packed.py has three more in half precision.
        *((name, "bfloat16", 0.02) for name in ("qwen3_vl", "idefics3", "gemma3")),
    ],
)
def test_packed_equals_asking_each_question_alone_or_says_that_it_asks_alone(
    name: str, dtype: str, gap: float, folder: Callable[[str], Path], ask_for: AskFor
) -> None:
    judge = made(PackedJudge, folder(name), IMAGES, dtype=dtype)
    asked = ask_for(shown_to(name))
    rows = judge.judge(asked)
    assert rows["status"].eq("ok").all(), rows.get("error")
    assert any("cannot share" in notice for notice in judge.notices) == (name in ALONE)
    hand = ByHand.of(judge.weights)
    truth = np.array([hand.p_first(row, IMAGES, DIMENSIONS) for row in asked.to_dict("records")])
    assert truth.std() > 0.001, "the probabilities must differ, or the test shows nothing"
    assert np.abs(rows["p_first"].to_numpy() - truth).max() < gap
    pictured = asked[asked["case_id"] == "short"]
    others = judge.judge(pictured.assign(images=[["tall.png"]] * len(pictured)))
    seen = rows["p_first"].to_numpy()[(asked["case_id"] == "short").to_numpy()] - others["p_first"].to_numpy()
    assert np.abs(seen).max() > 1e-5, "another image must change the probabilities"


@pytest.mark.parametrize("name", [name for name in MAKES if "llava" not in name and name != "qwen2_vl"])
def test_replies_do_not_depend_on_the_batch(name: str, folder: Callable[[str], Path], ask_for: AskFor) -> None:
    judge = made(GenerativeJudge, folder(name), IMAGES, max_new_tokens=6)
    asked = ask_for(shown_to(name), ("overall",))
    whole = judge.judge(asked)
    alone = pd.concat([judge.judge(asked[asked["case_id"] == case]) for case in asked["case_id"].unique()])
    both = whole.merge(alone, on=list(KEYS))
    assert both["reply_x"].notna().all()
    assert both["reply_x"].eq(both["reply_y"]).all()
