"""An engine of one method: what its model is shown, what becomes of its replies, and where it is refused."""

import io
import json
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pandas as pd
import pytest
from PIL import Image

from mrb_lib.benchmarks.benchmark import Benchmark, load, save
from mrb_lib.judges.prompted import PromptedJudge
from mrb_lib.judges.roster.engines import JudgeRequest
from mrb_lib.judges.roster.entry import Entry
from mrb_lib.judges.settings import Settings
from mrb_lib.runs.execute import judge as run
from mrb_lib.runs.execute import settings_for
from mrb_lib.runs.plan import ProbeOptions, make_plan
from mrb_lib.tables.errors import InputError, RunError
from mrb_lib.verdicts.orders import to_case_frame, to_shown_frame
from tests.judges.shown_benchmark import DIMENSIONS, shown_benchmark
from tests.pictures import png

FENCE = re.compile(r"<<<response (\w+) \w+>>>\n(.*?)\n<<<end", re.DOTALL)


def longest(prompt: str) -> str:
    """The label of the longer response, as a model that reads the prompt alone."""
    label = max(FENCE.findall(prompt), key=lambda found: len(found[1]))[0]
    return json.dumps(dict.fromkeys(DIMENSIONS, label))


class LongestJudge(PromptedJudge):
    """Prefers the longer response, and keeps what it was shown."""

    answer: Callable[[str], str] = staticmethod(longest)

    def __init__(self, request: JudgeRequest) -> None:
        super().__init__(request)
        self.asked: list[tuple[str, list[Image.Image]]] = []

    def reply(self, prompt: str, images: Sequence[Image.Image]) -> str:
        self.asked.append((prompt, list(images)))
        return type(self).answer(prompt)


def own(answer: Callable[[str], str | None] = longest, **declares: bool) -> type[LongestJudge]:
    """A judge that replies otherwise, or shows less."""
    return type("Own", (LongestJudge,), {"answer": staticmethod(answer), **declares})


IMAGES = {"x.png": png(Image.new("L", (40, 20))), "y.png": png(Image.new("L", (900, 900)))}


def made(bench: Benchmark, kind: type[LongestJudge] = LongestJudge, **wishes: object) -> LongestJudge:
    settings = settings_for(bench, Settings(**wishes), 1)
    return kind(JudgeRequest(Entry("longest", "longest"), settings, IMAGES))


def rows(bench: Benchmark) -> pd.DataFrame:
    """The rows about two cases in both orders."""
    plan = make_plan(bench.cases.tail(2), DIMENSIONS)
    return to_shown_frame(plan.rows(plan.all_numbers))


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Benchmark:
    made = shown_benchmark(tmp_path_factory.mktemp("prompted"))
    images = [[], *([["x.png"], ["y.png", "x.png"]] * len(made.cases))][: len(made.cases)]
    return Benchmark(made.meta, made.cases.assign(images=images), made.annotations)


@pytest.mark.parametrize(("prompt", "n_prompts"), [(None, 4), ("single", 8), ("rubric", 4)])
def test_one_prompt_for_each_order_or_dimension_and_the_choice_is_of_the_case(
    bench: Benchmark, prompt: str | None, n_prompts: int
) -> None:
    judge = made(bench, own(letter if prompt == "single" else longest), prompt=prompt)
    out = to_case_frame(judge.judge(rows(bench)))
    assert len(judge.asked) == n_prompts
    assert len(out) == 8
    assert out["status"].eq("ok").all()
    lengths = bench.cases.set_index("case_id")[["response_a", "response_b"]].apply(lambda texts: texts.str.len())
    longer = lengths["response_a"].gt(lengths["response_b"]).map({True: "A", False: "B"})
    assert out["choice"].tolist() == longer[out["case_id"]].tolist()
    assert out["latency_s"].notna().sum() == n_prompts


def letter(prompt: str) -> str:
    return str(json.loads(longest(prompt))["overall"])


def test_images_are_opened_made_smaller_and_shown_in_order(bench: Benchmark) -> None:
    judge = made(bench, max_pixels=10_000)
    judge.judge(rows(bench))
    shown = {tuple(image.size for image in images) for _, images in judge.asked}
    assert shown == {((40, 20),), ((100, 100), (40, 20))}
    assert {image.mode for _, images in judge.asked for image in images} == {"RGB"}
    assert all("about a medical image" in prompt for prompt, images in judge.asked if len(images) == 1)
    blind = made(bench, without_images=True)
    blind.judge(rows(bench))
    assert not any(images for _, images in blind.asked)
    assert not any("medical image" in prompt for prompt, _ in blind.asked)


def test_a_missing_image_is_the_error_of_its_rows_alone(bench: Benchmark) -> None:
    judge = made(bench)
    judge._images = {"x.png": IMAGES["x.png"]}
    out = judge.judge(rows(bench))
    assert out.groupby("case_id")["status"].agg(set).to_dict() == {"c22": {"error"}, "c23": {"ok"}}
    assert out["error"].dropna().unique().tolist() == [
        "image y.png: is not among the benchmark's images; restore the file."
    ]


class TestErrors:
    def test_an_exception_is_the_error_of_the_rows_that_waited(self, bench: Benchmark) -> None:
        def answer(prompt: str) -> str:
            if "first-22" in prompt:
                raise TimeoutError("no answer in 5 s")
            return longest(prompt)

        out = made(bench, own(answer)).judge(rows(bench))
        assert out.groupby("case_id")["status"].agg(set).to_dict() == {"c22": {"error"}, "c23": {"ok"}}
        assert out["error"].dropna().unique().tolist() == ["TimeoutError: no answer in 5 s"]

    def test_half_a_character_in_a_reply_is_replaced(self, bench: Benchmark) -> None:
        out = made(bench, own(lambda prompt: f"\ud800 {longest(prompt)}")).judge(rows(bench))
        out.to_parquet(io.BytesIO())
        assert out["reply"].str.startswith("? ").all()

    def test_a_run_error_and_a_reply_that_is_no_text_stop_the_judge(self, bench: Benchmark) -> None:
        def rejected(prompt: str) -> str:
            raise RunError("the key is rejected")

        for answer, words in ((rejected, "key is rejected"), (lambda prompt: None, "returned NoneType")):
            judge = made(bench, own(answer))
            with pytest.raises(RunError, match=words):
                judge.judge(rows(bench))

    def test_a_reply_without_a_verdict_is_unparsed_and_a_refusal_is_refused(self, bench: Benchmark) -> None:
        for answer, status in (("", "unparsed"), ("I'm sorry, but I can't help with that.", "refused")):
            judge = made(bench, own(lambda _, text=answer: text))
            assert set(judge.judge(rows(bench))["status"]) == {status}


@pytest.mark.parametrize(
    ("declares", "wishes", "words"),
    [
        ("shows_references", {"reference": "strong"}, "shows no reference.*leave out --reference"),
        ("shows_references", {"reference": "strong", "examples": 2}, "leave out --reference and --examples"),
        ("shows_references", {"prompt": "reference"}, "leave out the prompt reference"),
    ],
)
def test_an_engine_that_shows_less_is_refused_for_options_that_need_more(
    bench: Benchmark, declares: str, wishes: Mapping[str, object], words: str
) -> None:
    with pytest.raises(InputError, match=f"judge longest: .*{words}"):
        made(bench, own(**{declares: False}), **wishes)
    made(bench, own(**{declares: False}))


@pytest.mark.parametrize(
    ("declares", "wishes", "probe", "words"),
    [
        ("shows_images", {}, "", "shows no images, and 1 of 2 cases have some; --without-images"),
        ("shows_probes", {}, "prompt/labels", "is not shown what the probe prompt/labels:1 changes"),
        ("shows_images", {"without_images": True}, "image/blur:2", "is not shown what the probe image/blur:2 changes"),
    ],
)
def test_a_run_that_needs_more_is_refused_before_the_first_request(
    bench: Benchmark, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    declares: str, wishes: Mapping[str, object], probe: str, words: str,
) -> None:  # fmt: skip
    less = made(bench, own(**{declares: False}), **wishes)
    monkeypatch.setattr("mrb_lib.runs.execute.resolve", lambda name, **_: less)
    save(Benchmark(bench.meta, bench.cases, bench.annotations, IMAGES), tmp_path / "bench")
    probes = ProbeOptions((probe,)) if probe else None
    with pytest.raises(InputError, match=f"judge longest: {words}"):
        run(load(tmp_path / "bench"), tmp_path / "runs", ["longer"], probes=probes, limit=2)
    assert not less.asked
    assert not (tmp_path / "runs").exists()
    made(bench).check_cases(bench.cases, ["none", "prompt/labels", "image/blur:2"])
