"""A case as a probe changes it stands beside the case as it is, and nothing it says can act."""

import html
import re
from dataclasses import replace

import pandas as pd
import pytest
from bs4 import BeautifulSoup

from mrb_lib.benchmarks.benchmark import Benchmark
from mrb_lib.probes import ProbedImages, Probing, parse_probes
from mrb_lib.review.case import probed_html
from mrb_lib.review.case.probed import probe_seed
from mrb_lib.review.case.verdicts import beside_html
from mrb_lib.review.case.view import image_html
from mrb_lib.tables.errors import InputError
from mrb_lib.verdicts.manifest import Manifest

HOSTILE = "<script>alert(1)</script>\"'><img src=x onerror=alert(2)>\0\u202e&lt;"
SEED = 7


def check_harmless(text: str) -> None:
    seen = BeautifulSoup(text, "html.parser")
    assert seen.script is None
    attributes = [(name, value) for tag in seen.find_all() for name, value in tag.attrs.items()]
    assert not [name for name, _ in attributes if name.startswith("on")]
    assert all(str(value).startswith("data:image/png;") for name, value in attributes if name == "src")
    assert "\0" not in text
    assert any("alert(1)" in part for part in seen.strings) or "alert(1)" not in text


def _with(benchmark: Benchmark, **columns: str) -> Benchmark:
    """The benchmark with other texts in its first case."""
    cases = benchmark.cases.copy()
    for name, text in columns.items():
        cases.loc[0, name] = text
    return replace(benchmark, cases=cases)


def _first(benchmark: Benchmark) -> str:
    return str(benchmark.cases["case_id"].iloc[0])


def _sources(page: str) -> list[str]:
    return re.findall(r'<img [^>]*src="([^"]+)"', page)


def _texts(page: str, tag: str) -> list[str]:
    return [html.unescape(text) for text in re.findall(f"<{tag}>(.*?)</{tag}>", page, re.DOTALL)]


def test_the_picture_is_shown_before_and_as_the_run_of_that_seed_changed_it(pictured: Benchmark) -> None:
    case, (probe,) = _first(pictured), parse_probes("image/noise:4")
    page = probed_html(pictured, case, "image/noise:4", seed=SEED)
    changed = Probing(pictured.cases, SEED).probed(case, probe)
    assert not isinstance(changed, str)
    images = ProbedImages(pictured.images, pictured.cases)
    drawn = image_html("x", {"x": images[changed.images[0]]}, index=None)
    plain = image_html(pictured.cases["images"].iloc[0][0], pictured.images, index=None)
    assert _sources(page) == _sources(plain) + _sources(drawn)
    assert _sources(page) != _sources(probed_html(pictured, case, "image/noise:4", seed=SEED + 1))
    assert "data-mrb" not in page  # the viewer would ask for the stored picture in the place of the changed one
    assert "SIMULATED" in page
    assert f"seed {SEED}" in page


def test_what_was_taken_out_and_put_in_is_marked(pictured: Benchmark) -> None:
    text = "A nodule in the left lung, a second one in the left lobe."
    page = probed_html(
        _with(pictured, response_a=text, response_b=text), _first(pictured), "response/side+both:3", seed=SEED
    )
    assert set(_texts(page, "del")) == {"left"}
    assert set(_texts(page, "ins")) == {"right"}
    assert len(_texts(page, "ins")) >= 2
    assert "Question: unchanged" in page
    assert "Response A: unchanged" not in page
    assert "goes against the response that got worse" not in page  # both got worse


@pytest.mark.parametrize(
    ("probe", "said"),
    [
        ("image/of-tomorrow", "is unknown; the nearest are"),
        ("image/blur", "names 5 probes; name one, with its severity"),
        (HOSTILE, "is unknown"),
    ],
)
def test_a_probe_that_there_is_not_is_said_and_the_verdicts_stay(pictured: Benchmark, probe: str, said: str) -> None:
    case = _first(pictured)
    page = probed_html(pictured, case, probe, seed=SEED, verdicts=_verdicts(case, probe, "A", "B"))
    check_harmless(page)
    assert said in html.unescape(page)
    assert "another judge" in page


def test_why_a_probe_does_not_apply_is_said(pictured: Benchmark) -> None:
    bare = _with(pictured, response_a="none", response_b="none")
    page = probed_html(bare, _first(pictured), "response/side:1", seed=SEED)
    assert "does not apply to this case: response" in page
    assert "<ins>" not in page
    with pytest.raises(InputError, match="no such case"):
        probed_html(pictured, "gone", "image/blur:1", seed=SEED)


@pytest.mark.parametrize("probe", ["response/side+both:3", "question/distracted:1", "response/credentials+both"])
def test_hostile_text_of_a_probed_case_is_only_text(pictured: Benchmark, probe: str) -> None:
    text = f"The left lobe. {HOSTILE} <script>alert('left')</script> on the left side."
    case = _first(pictured)
    hostile = _with(pictured, response_a=text, response_b=text, question=text)
    verdicts = _verdicts(case, probe, "A", "B", judge=HOSTILE, reply=HOSTILE, status=HOSTILE)
    page = probed_html(hostile, case, probe, seed=SEED, verdicts=verdicts)
    check_harmless(page)
    assert "<ins>" in page


@pytest.mark.parametrize(
    ("options", "resumed", "seed"),
    [
        ({"probes": ["none", "image/blur:1"], "seed": 5}, [], 5),
        ({"probes": ["none", "image/blur:1"]}, [], 0),
        ({"seed": 3}, [{"options": {"probes": ["image/blur:1"], "seed": 4}}, {"device": "cpu"}], 4),
        ({"probes": ["a"], "seed": 3}, [{"options": {"probes": ["b"], "seed": 4}}], None),
        ({"seed": 3}, [], None),
    ],
)
def test_the_seed_is_that_of_the_session_that_drew_probes(
    options: dict[str, object], resumed: list[dict[str, object]], seed: int | None
) -> None:
    assert probe_seed(Manifest("r", "j", options=options, resumed=resumed)) == seed
    assert probe_seed(None) is None


def _verdicts(case: str, probe: str, plain: str | None, probed: str | None, **columns: str) -> pd.DataFrame:
    """A judge's plain verdict and that under a probe, in one order; and under another probe."""
    rows = [
        {"judge": "another judge", "case_id": case, "dimension": "overall", "order": "AB", "repeat": 0, "probe": name,
         "choice": choice, "status": "ok", **columns}
        for name, choice in (("none", plain), (probe, probed), ("image/unasked", "tie"))
    ]  # fmt: skip
    return pd.DataFrame(rows)


@pytest.mark.parametrize(
    ("plain", "probed", "marked", "counted"),
    [("A", "B", 1, "1 of 1"), ("A", "A", 0, "0 of 1"), ("A", None, 0, "&ndash;"), (None, "A", 0, "&ndash;")],
)
def test_only_another_choice_is_marked(plain: str | None, probed: str | None, marked: int, counted: str) -> None:
    labels = pd.DataFrame({"dimension": ["overall"], "choice": ["A"]})
    page = beside_html(_verdicts("c", "image/blur:1", plain, probed), labels, "image/blur:1")
    table = page.partition("<table")[2]
    assert table.count("mrb-flip") == marked
    assert f'<td class="mrb-sum">{counted}</td>' in table
    assert "tie" not in table  # another probe's verdict
