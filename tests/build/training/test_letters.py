"""Letters learnt in one pass are learnt as if alone; a reward head learns Bradley and Terry's likelihood."""

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path

import pandas as pd
import pytest
import torch

from mrb_lib.benchmarks.benchmark import Benchmark
from mrb_lib.build.training.letters import LetterLoss, letter_cases, letter_tokens
from mrb_lib.build.training.reward import give_head, reward_cases, reward_loss
from mrb_lib.judges.local.base import LocalJudge
from mrb_lib.judges.local.packed import PackedJudge
from mrb_lib.judges.local.reader import Apart
from mrb_lib.judges.local.reward import RewardHead, RewardJudge
from mrb_lib.judges.local.tree import Tree
from mrb_lib.judges.local.weights import Weights
from mrb_lib.judges.roster.engines import JudgeRequest
from mrb_lib.judges.roster.entry import Entry
from mrb_lib.judges.roster.source import WeightsSource
from mrb_lib.judges.settings import Settings
from mrb_lib.tables.errors import InputError

pytestmark = pytest.mark.slow

Tiny = Callable[[str], Path]
MakeJudge = Callable[..., PackedJudge]
Labelled = Callable[..., pd.DataFrame]


def _gradients(weights: Weights, loss: torch.Tensor) -> Mapping[str, torch.Tensor]:
    weights.model.zero_grad()
    loss.backward()
    named = weights.model.named_parameters()
    return {name: parameter.grad.clone() for name, parameter in named if parameter.grad is not None}


def _alone(judge: PackedJudge, shown: pd.DataFrame) -> torch.Tensor:
    """The loss of each prompt in a pass of its own, from the text of the judge's prompts, with plain transformers."""
    weights = judge.weights
    total, n = torch.zeros(()), 0
    for _, rows in shown.groupby("case_id", sort=False):
        for record in rows.to_dict("records"):
            a, b = letter_tokens(weights, judge.writer.labels(record))
            pictures = judge.pictures(record["images"])
            responses = [record["first"], record["second"]]
            rendered = judge.writer.write(record, responses, record["dimension"])
            inputs = weights.encode(judge._chat(rendered, len(pictures)), pictures)
            log_p = weights.model(**weights.to_device(inputs)).logits[0, -1].log_softmax(-1)
            p = record["p_first"]
            total = total - record["weight"] * (p * log_p[a] + (1 - p) * log_p[b])
            n += 1
    return total / n


@pytest.mark.parametrize("architecture", ["llama", "llava", "qwen2_5_vl"])
def test_loss_and_gradients_are_those_of_every_prompt_alone(
    architecture: str, tiny: Tiny, packed_judge: MakeJudge, labelled: Labelled, pictured: Benchmark
) -> None:
    judge = packed_judge(tiny(architecture))
    judge.load()
    judge.weights.model.train()
    options = ["(A) Effusion (B) Fibrosis", "Is there an effusion?", "A: left\nB: right\nC: both"]
    shown = labelled(pictured.cases.head(3).assign(question=options))
    cases, failures = letter_cases(judge, shown)
    assert len({case.tokens for case in cases}) == 2, "beside options of these letters, the responses are 1 and 2"
    assert not failures and all(isinstance(case.prompts, Tree) for case in cases)
    together = LetterLoss(judge.weights)(judge.weights.model, cases)
    alone = _alone(judge, shown)
    assert together.item() == pytest.approx(alone.item(), abs=1e-5)
    ours, theirs = _gradients(judge.weights, together), _gradients(judge.weights, alone)
    assert ours.keys() == theirs.keys() and len(ours) > 10
    scale = max(float(gradient.abs().max()) for gradient in theirs.values())
    assert scale > 1e-2, "gradients of nothing would be equal, too"
    for name in ours:
        assert (ours[name] - theirs[name]).abs().max() <= 1e-5 * scale, name


def test_a_model_that_cannot_share_learns_each_prompt_alone(
    tiny: Tiny, packed_judge: MakeJudge, labelled: Labelled, pictured: Benchmark
) -> None:
    judge = packed_judge(tiny("llama"))
    judge.load()
    shown = labelled(pictured.cases.head(2))
    cases, _ = letter_cases(judge, shown)
    judge.reader.why_alone = "it is told not to"
    apart, _ = letter_cases(judge, shown)
    assert all(isinstance(case.prompts, Apart) for case in apart)
    loss = LetterLoss(judge.weights)
    model = judge.weights.model
    assert loss(model, cases).item() == pytest.approx(loss(model, apart).item(), abs=1e-5)
    assert loss(model, [cases[0], apart[1]]).item() == pytest.approx(loss(model, cases).item(), abs=1e-5)


def test_a_case_that_cannot_be_shown_is_named_with_its_reason(
    tiny: Tiny, packed_judge: MakeJudge, labelled: Labelled, pictured: Benchmark
) -> None:
    judge = packed_judge(tiny("llava"))
    judge.load()
    cases = pictured.cases.head(2).assign(images=[["nowhere.png"], pictured.cases["images"].iloc[1]])
    made, failures = letter_cases(judge, labelled(cases))
    assert len(made) == 1
    assert list(failures) == [cases["case_id"].iloc[0]]
    assert "image nowhere.png: is not among the benchmark's images" in failures[cases["case_id"].iloc[0]]


def test_a_template_that_begins_a_reply_with_something_else_is_refused(tiny: Tiny, packed_judge: MakeJudge) -> None:
    judge = packed_judge(tiny("llama"))
    judge.load()
    tokenizer = judge.weights.tokenizer
    template = tokenizer.chat_template
    tokenizer.chat_template = template.replace("{{ turn['content'] }}", "Well: {{ turn['content'] }}")
    with pytest.raises(InputError, match="does not begin the reply 'A'"):
        letter_tokens(judge.weights)


DIMENSIONS = ("accuracy", "overall")


def _judge(folder: Path, images: object) -> RewardJudge:
    settings = Settings(device="cpu", dimensions=DIMENSIONS, without_images=True)
    judge = RewardJudge(
        JudgeRequest(Entry("t", "reward", path=folder), settings, images, source=WeightsSource(folder, "sha256:0"))
    )
    judge.dimensions = DIMENSIONS
    LocalJudge.load(judge)
    head = give_head(judge.weights, 2, seed=1)
    with torch.no_grad():
        head.weight *= 30  # values that differ
    judge.head = RewardHead(judge.weights, head.weight, torch.zeros(2), DIMENSIONS)
    return judge


@pytest.mark.parametrize("architecture", ["llama", "llava", "qwen2_5_vl"])
def test_the_loss_is_the_likelihood_of_the_labels_under_the_judge_s_own_scores(
    architecture: str,
    tiny: Callable[[str], Path],
    labelled: Callable[..., pd.DataFrame],
    pictured: Benchmark,
) -> None:
    judge = _judge(tiny(architecture), pictured.images)
    shown = labelled(pictured.cases.head(4), ("AB",))
    cases, failures = reward_cases(judge, shown)
    assert not failures
    judge.weights.model.eval()
    loss = reward_loss(judge.weights, judge.weights.model, cases)
    scored = judge.judge(shown.drop(columns=["p_first", "weight"]))
    assert scored["p_first"].std() > 0.05
    terms = [
        -weight * (wanted * math.log(p) + (1 - wanted) * math.log(1 - p))
        for weight, wanted, p in zip(shown["weight"], shown["p_first"], scored["p_first"], strict=True)
    ]
    assert loss.item() == pytest.approx(sum(terms) / len(terms), abs=1e-5)


def test_a_tie_asks_for_equal_values(
    tiny: Callable[[str], Path], labelled: Callable[..., pd.DataFrame], pictured: Benchmark
) -> None:
    judge = _judge(tiny("llama"), pictured.images)
    [case], _ = reward_cases(judge, labelled(pictured.cases.head(1), ("AB",)))
    loss = partial(reward_loss, judge.weights)
    tie = replace(case, p_first=torch.full((2,), 0.5), weight=torch.ones(2))
    swapped = replace(tie, conversations=replace(tie.conversations, inputs=tie.conversations.inputs[::-1]))
    model = judge.weights.model
    assert loss(model, [tie]).item() == pytest.approx(loss(model, [swapped]).item(), abs=1e-6)
    same = replace(tie, conversations=replace(tie.conversations, inputs=(tie.conversations.inputs[0],) * 2))
    assert loss(model, [same]).item() == pytest.approx(math.log(2), abs=1e-6)
