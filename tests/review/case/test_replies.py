"""Every judge opens the template of its prompt, as far as its run says, and every reply why it counts as it does."""

import re
from html import unescape

import pandas as pd
import pytest

from mrb_lib.judges.prompts import load_prompt
from mrb_lib.review.case.verdicts import replies_html
from mrb_lib.verdicts.manifest import Manifest

HOSTILE = "</div></details><script>alert(1)</script>\"'><img src=x onerror=alert(2)>{{ 7*191 }}\u202e"
DIMENSIONS = ["accuracy", "overall"]


def manifest_of(prompt: str = "plain", **spec: object) -> Manifest:
    template = load_prompt(prompt)
    usual = {"engine": "endpoint", "asks": template.asks, "images": True, "dimensions": DIMENSIONS, "temperature": 0.7,
             "max_tokens": 512}  # fmt: skip
    return Manifest("r", "j", usual | spec, template.id, template.hash, template.text)


def verdicts(*rows: dict[str, object]) -> pd.DataFrame:
    usual = {"judge": "j", "case_id": "c", "order": "AB", "repeat": 0, "probe": "none", "status": "ok", "error": None}
    each = [{**usual, "dimension": name, "choice": "A", **row} for row in rows for name in DIMENSIONS]
    return pd.DataFrame(each)


def words(html: str, kind: str) -> list[str]:
    return [re.sub("<[^>]*>", "", found) for found in re.findall(rf'<p class="mrb-answers-to {kind}">(.*?)</p>', html)]


def test_a_judge_opens_the_template_of_its_prompt_and_the_settings_of_each_reply() -> None:
    manifest = manifest_of()
    reply = '{"accuracy": "A", "overall": "tie"}'
    html = replies_html(verdicts({"reply": reply}, {"reply": f"{reply} ", "order": "BA"}), "h4", {"j": manifest})
    assert html.count('<details class="mrb-prompt">') == 2
    assert unescape(html).count(manifest.prompt_text) == 2
    assert html.count("temperature <bdi") == 2
    assert "512 tokens" in html
    assert words(html, "mrb-read")[0] == ("read without leniency; read as accuracy A, overall A")


@pytest.mark.parametrize("manifests", [None, {}, {"j": Manifest("r", "j", source="elsewhere")}])
def test_a_run_that_does_not_say_is_said_not_to_once(manifests: dict[str, Manifest] | None) -> None:
    frame = verdicts({}).assign(reply=["A", "B"])
    html = replies_html(frame, "h4", manifests)
    assert words(html, "mrb-unasked") == ["the run does not say what was asked"]
    assert "mrb-prompt" not in html


def test_a_failure_says_in_words_what_was_and_was_not_read() -> None:
    frame = verdicts({"reply": "accuracy: B is better, and that is all", "status": "repaired"})
    frame.loc[frame["dimension"] == "overall", "choice"] = None
    [why] = words(replies_html(frame, "h4"), "mrb-read")
    assert why == "read with leniency in its form, or not for every dimension; read as accuracy A; nothing for overall"
    refused = verdicts({"reply": "I'm sorry, I cannot judge medical images.", "status": "refused", "choice": None})
    assert words(replies_html(refused, "h4"), "mrb-read")[0].startswith("it declines to judge")
    failed = verdicts({"reply": None, "status": "error", "error": "timed out", "choice": None})
    assert words(replies_html(failed, "h4"), "mrb-read") == ["no reply came"]


def test_hostile_prompts_settings_and_statuses_are_only_text() -> None:
    manifest = manifest_of(temperature=HOSTILE)
    hostile = Manifest("r", "j", manifest.spec, prompt_id=HOSTILE, prompt_hash="?", prompt_text=f"{{% for %}}{HOSTILE}")
    for one in (manifest, hostile):
        html = replies_html(verdicts({"reply": HOSTILE, "status": HOSTILE}), "h4", {"j": one})
        assert "<script" not in html
        assert "<img" not in html
        assert "1337" not in html
        assert html.count("<details") == html.count("</details>") == 2
    shown = replies_html(verdicts({"reply": "x"}), "h4", {"j": hostile})
    assert "not filled in" in shown
