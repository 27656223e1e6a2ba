"""Tests of what is sent to a server, and what becomes of its replies."""

import base64
import io
import json
import math
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from threading import Barrier

import numpy as np
import pandas as pd
import pydicom
import pytest
from PIL import Image
from PIL.PngImagePlugin import PngInfo

from mrb_lib.judges.endpoint.judge import EndpointJudge
from mrb_lib.judges.endpoint.requests import ChatRequest, data_url
from mrb_lib.judges.roster.engines import JudgeRequest
from mrb_lib.judges.roster.entry import Entry
from mrb_lib.judges.settings import Settings
from mrb_lib.tables.schema import CHOICES
from tests.judges.endpoint.asked import judge_of, rows_of
from tests.judges.endpoint.chat_server import ChatServer, Received, Response, message, token

DIMENSIONS = ("accuracy", "relevance", "overall")


def shown(*cases: str, **more: object) -> pd.DataFrame:
    return rows_of(cases, DIMENSIONS, **more)


def judge(url: str, images: Mapping[str, bytes] | None = None, **settings: object) -> EndpointJudge:
    return judge_of(url, images=images, **{"dimensions": DIMENSIONS, **settings})


def verdicts(*choices: str) -> str:
    return json.dumps(dict(zip(DIMENSIONS, choices, strict=True)))


USUAL = message(verdicts("A", "B", "tie"))


PIXELS = np.random.default_rng(0).integers(0, 256, (30, 20, 3), dtype=np.uint8)


def _stored(kind: str, **more: object) -> bytes:
    stream = io.BytesIO()
    Image.fromarray(PIXELS).save(stream, format=kind, **more)
    return stream.getvalue()


def test_one_request_answers_all_dimensions_and_is_counted_once(server: ChatServer) -> None:
    judged = judge(server.url).judge(shown("x", "y"))
    assert len(server.received) == 4
    assert judged["pick"].tolist() == ["first", "second", "tie"] * 4
    assert set(judged["status"]) == {"ok"}
    assert judged["prompt_tokens"].sum() == 4 * 100
    assert judged["completion_tokens"].dropna().index.tolist() == [0, 3, 6, 9]
    assert judged["latency_s"].notna().tolist() == [True, False, False] * 4
    assert judged["reply"].notna().all()


def test_the_number_of_requests_at_a_time_is_bounded_and_reached(server: ChatServer) -> None:
    meeting = Barrier(3, timeout=10)

    def answer(_: Received) -> Response:
        meeting.wait()  # passes only when three requests are in hand
        return message(verdicts("A", "A", "A"))

    server.answer = answer
    judge(server.url, concurrency=3).judge(shown("a", "b", "c"))
    assert server.busiest == 3


def test_images_come_first_as_data_urls(server: ChatServer) -> None:
    judge(server.url, {"x.png": _stored("PNG")}).judge(shown("x", images=[["x.png", "x.png"]] * 6))
    parts = server.received[0].body["messages"][0]["content"]
    assert [part["type"] for part in parts] == ["image_url", "image_url", "text"]
    head, data = parts[0]["image_url"]["url"].split(",")
    assert head == "data:image/png;base64"
    assert Image.open(io.BytesIO(base64.b64decode(data))).size == (20, 30)
    assert "medical images" in parts[-1]["text"]


def test_a_case_whose_image_is_absent_or_damaged_fails_alone_and_says_why(server: ChatServer) -> None:
    rows = pd.concat(
        [shown(name, images=[[f"{name}.png"]] * 6) for name in ("good", "absent", "damaged")], ignore_index=True
    )
    images = {"good.png": _stored("PNG"), "damaged.png": _stored("PNG")[:40]}
    judged = judge(server.url, images).judge(rows)
    assert judged["status"].tolist() == ["ok"] * 6 + ["error"] * 12
    assert judged["error"].iloc[6].startswith("image absent.png:")
    assert judged["error"].iloc[12].startswith("image damaged.png:")
    assert judged["pick"].isna().tolist() == [False] * 6 + [True] * 12
    assert len(server.received) == 2


def test_a_model_without_vision_judges_cases_with_images_only_where_that_is_wanted(server: ChatServer) -> None:
    settings = Settings(dimensions=DIMENSIONS, url=server.url)
    rows = shown("x", images=[["gone.png"]] * 6)
    entry = Entry("blind", "endpoint", model="m", vision=False)
    judged = EndpointJudge(JudgeRequest(entry, settings, {})).judge(rows)
    assert set(judged["status"]) == {"error"}
    assert judged["error"].str.contains("reads text only; --without-images").all()
    assert not server.received
    assert set(EndpointJudge(JudgeRequest(entry, settings, {})).judge(shown("y"))["status"]) == {"ok"}
    server.received.clear()
    for named in (entry, replace(entry, vision=True)):
        blind = EndpointJudge(JudgeRequest(named, replace(settings, without_images=True), {}))
        assert set(blind.judge(rows)["status"]) == {"ok"}
        assert (blind.spec["images"], blind.spec["without_images"]) == (False, True)
        assert "medical image" not in server.received[-1].text


def test_seeds_differ_between_orders_and_repeats_and_are_the_same_each_time(server: ChatServer) -> None:
    rows = pd.concat([shown("x"), shown("x").assign(repeat=1)], ignore_index=True)
    for _ in range(2):
        judge(server.url, temperature=0.7, concurrency=1).judge(rows)
    seeds = [received.body["seed"] for received in server.received]
    assert len(set(seeds[:4])) == 4
    assert seeds[4:] == seeds[:4]
    judge(server.url, seed=1).judge(rows)
    assert not set(seeds) & {received.body["seed"] for received in server.received[8:]}
    assert [received.body["temperature"] for received in server.received] == [0.7] * 8 + [0.0] * 4


def test_a_schema_is_asked_for_only_where_the_prompt_wants_nothing_but_json(server: ChatServer) -> None:
    for prompt in ("plain", "rubric", "reasoned", "single"):
        judge(server.url, prompt=prompt).judge(shown("x")[:1])
    asked = [received.body.get("response_format") for received in server.received]
    assert [given is not None for given in asked] == [True, True, False, False]
    schema = asked[0]["json_schema"]
    assert schema["strict"]
    assert schema["schema"]["required"] == list(DIMENSIONS)
    assert schema["schema"]["properties"]["overall"]["enum"] == ["A", "B", "tie"]


def test_a_schema_offers_what_the_benchmark_has_and_puts_the_reason_last(server: ChatServer) -> None:
    judge(server.url, prompt="official-form", choices=("A", "B")).judge(shown("x")[:1])
    [received] = server.received
    schema = received.body["response_format"]["json_schema"]["schema"]
    assert list(schema["properties"]) == schema["required"] == [*DIMENSIONS, "reason"]
    assert schema["properties"]["overall"]["enum"] == ["A", "B"]
    assert schema["properties"]["reason"] == {"type": "string"}
    assert '"tie"' not in received.body["messages"][0]["content"]


@pytest.mark.parametrize(("offered", "pick", "status"), [(("A", "B"), "none", "unparsed"), (CHOICES, "tie", "ok")])
def test_a_tie_that_was_not_offered_is_no_choice_and_the_rest_of_the_reply_counts(
    server: ChatServer, offered: tuple[str, ...], pick: str, status: str
) -> None:
    judged = judge(server.url, choices=offered).judge(shown("x")).fillna({"pick": "none"})
    assert judged["pick"].tolist() == ["first", "second", pick] * 2
    assert judged["status"].iloc[2] == status


def test_a_reply_that_may_list_labels_has_room_for_them(server: ChatServer) -> None:
    rated = {"task": "rating", "choices": ("low", "high"), "prompt": "single-rate"}
    labelled = {**rated, "labels": {"overall": ("an omission", "a finding that is nowhere in the image")}}
    lengths = [judge(server.url, **settings).spec["max_tokens"] for settings in (rated, labelled)]
    assert lengths == [16, 512]


def test_p_first_of_json_is_read_where_each_dimension_is_decided(server: ChatServer) -> None:
    def decided(text: str, share: float) -> dict[str, object]:
        return token(text, **{'"A': math.log(share), '"B': math.log(0.9 - share), '"tie': math.log(0.1)})

    pieces = [
        token("```json\n"), token('{"acc'), token('uracy": '), decided('"A', 0.6), token('", "relevance": '),
        decided('"tie', 0.3), token('", "overall": '), decided('"B', 0.09), token('"}'), token("\n```"),
    ]  # fmt: skip
    server.answer = lambda _: message('{"accuracy": "A", "relevance": "tie", "overall": "B"}', tokens=pieces)
    judged = judge(server.url).judge(shown("x"))
    assert judged["pick"].tolist() == ["first", "tie", "second"] * 2
    assert judged["p_first"].tolist() == pytest.approx([0.6 / 0.9, 0.3 / 0.9, 0.1] * 2)


def test_p_first_is_null_where_neither_letter_is_listed_or_the_token_is_not_the_choice(server: ChatServer) -> None:
    both = {"A": -0.5, "B": -1.0}
    replies = {
        "accuracy": message("A", tokens=[{"token": "A", "top_logprobs": [{"token": "The", "logprob": -5.0}]}]),
        "relevance": message("A closer look favours B", tokens=[token("A", **both), token(" closer look favours B")]),
        "overall": message("I cannot say", tokens=[token("I cannot say", **both)]),
    }
    server.answer = lambda received: next(
        replies[name] for name in DIMENSIONS if f"response in {name}" in received.text
    )
    judged = judge(server.url, prompt="single").judge(shown("x"))
    assert "p_first" not in judged or judged["p_first"].isna().all()
    assert judged["pick"].iloc[0] == "first"


def test_null_logprobs_are_no_failure_and_are_said_once(server: ChatServer) -> None:
    served = judge(server.url)
    assert set(served.judge(shown("x", "y"))["status"]) == {"ok"}
    assert [notice for notice in served.notices if "probabilities" in notice] == served.notices
    assert len(served.notices) == 1


def test_a_reply_that_was_cut_off_is_read_as_far_as_it_goes(server: ChatServer) -> None:
    cut = message('{"accuracy": "A", "relevance": "B", "over', finish="length")
    server.answer = lambda _: cut
    served = judge(server.url)
    judged = served.judge(shown("x"))
    assert judged["pick"].iloc[:2].tolist() == ["first", "second"]
    assert judged["status"].iloc[2] == "unparsed"
    assert any("--max-new-tokens" in notice for notice in served.notices)


def test_the_manifest_can_say_where_cases_went_and_how_they_were_asked(server: ChatServer) -> None:
    served = judge(server.url + "/", prompt="single", max_new_tokens=4, seed=5)
    assert json.loads(json.dumps(dict(served.spec))) == {
        "engine": "endpoint",
        "url": server.url,
        "model": "m",
        "temperature": 0.0,
        "asks": "one",
        "dimensions": list(DIMENSIONS),
        "choices": ["A", "B", "tie"],
        "seed": 5,
        "max_tokens": 4,
        "max_pixels": 1_003_520,
        "images": True,
        "schema": False,
        "top_logprobs": 20,
    }
    assert served.device == f"server 127.0.0.1:{server.port}"
    assert served.cases_per_batch == 8
    assert judge(server.url, concurrency=32).cases_per_batch == 64


@pytest.mark.slow
def test_a_real_server_keeps_to_a_schema_and_every_choice_is_read(smollm_server: str) -> None:
    entry = Entry("smollm", "endpoint", model="smollm", vision=False)
    served = judge_of(smollm_server, entry=entry, dimensions=DIMENSIONS[:2], prompt="plain", concurrency=2)
    judged = served.judge(rows_of("x", DIMENSIONS[:2], ("AB",)))
    assert set(judged["status"]) == {"ok"}
    assert judged["pick"].notna().all()
    assert judged["p_first"].between(0, 1, inclusive="neither").mean() > 0.5
    assert served.notices == []


def _sent(content: bytes, max_pixels: int = 10_000) -> tuple[str, bytes]:
    head, data = data_url(content, "x", max_pixels).split(",")
    return head, base64.b64decode(data)


def test_dicom_is_sent_in_its_window_as_png_that_says_nothing_of_the_patient() -> None:
    path = Path(pydicom.__file__).parent / "data" / "test_files" / "CT_small.dcm"
    head, content = _sent(path.read_bytes(), max_pixels=100_000)
    assert head == "data:image/png;base64"
    with Image.open(io.BytesIO(content)) as picture:
        assert (picture.mode, picture.size, picture.info) == ("L", (128, 128), {})
        assert np.asarray(picture).std() > 10
    assert str(pydicom.dcmread(path).PatientName).encode() not in content


def _tagged(kind: str) -> bytes:
    exif = Image.Exif()
    exif[0x010E] = "JANE DOE"
    text = PngInfo()
    text.add_text("Patient", "JANE DOE")
    return _stored(kind, exif=exif, **({"pnginfo": text} if kind == "PNG" else {"comment": b"JANE DOE"}))


@pytest.mark.parametrize("kind", ["PNG", "JPEG"])
def test_what_a_file_says_of_its_patient_is_not_sent(kind: str) -> None:
    assert b"JANE" in _tagged(kind)
    head, content = _sent(_tagged(kind))
    assert head == "data:image/png;base64"
    assert b"JANE" not in content
    if kind == "PNG":
        assert np.array_equal(np.asarray(Image.open(io.BytesIO(content))), PIXELS)


def test_an_image_counts_as_a_token_for_each_28_by_28_pixels_as_sent() -> None:
    assert ChatRequest("12345", (data_url(_stored("PNG"), "x", 10_000),), None, 0).prompt_tokens == 2 + 1
