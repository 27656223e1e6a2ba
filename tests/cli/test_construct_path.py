"""From 60 images with questions to a benchmark that is judged and reported; every step is killed on its way."""

import os
import shutil
import signal
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from mrb_lib.benchmarks.audit.splits import check_split
from mrb_lib.benchmarks.benchmark import load
from mrb_lib.build.construct.screen import CRITERIA
from mrb_lib.build.construct.work import open_work
from mrb_lib.cli.app import app
from mrb_lib.judges.endpoint.cache import FILE_NAME as REPLIES
from mrb_lib.review.records.marks import AnnotatorAnswer
from mrb_lib.review.records.store import open_store

from ..build.construct.sources import NAME, write_source
from .conftest import Result

pytestmark = pytest.mark.slow

Mrb = Callable[..., Result]
UNTIMED = ("latency_s",)
# To read prompts takes SmolLM2 most of the time: they are the question, without the system message that its own
# template adds, and with the first word of an answer, so that the next are about the item.
BRIEF = """{# asks: answer #}
{% block case %}{{ question }}{% endblock %}
{% block responses %}{% endblock %}
{% block ask %}{% endblock %}
"""
CHAT = (
    "{% for message in messages %}<|im_start|>{{ message.role }}\n{{ message.content }}<|im_end|>\n{% endfor %}"
    "<|im_start|>assistant\nFinding"
)


def killed(arguments: Sequence[object], after: int) -> None:
    """Run a command in a process of its own that is killed with signal 9 when it renames a file for the n-th time."""
    child = os.fork()
    if child == 0:
        renamed, replace = 0, Path.replace

        def counted(self: Path, target: Path) -> Path:
            nonlocal renamed
            renamed += 1
            if renamed == after:
                os.kill(os.getpid(), signal.SIGKILL)
            return replace(self, target)

        Path.replace = counted  # type: ignore[method-assign]  # in this process, which ends
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        os.dup2(1, 2)
        app([str(argument) for argument in arguments], standalone_mode=False)
        os._exit(0)
    assert os.WIFSIGNALED(os.waitpid(child, 0)[1]), f"{arguments[:2]} ended before it renamed {after} files"


def tables(folder: Path) -> dict[str, pd.DataFrame]:
    return {
        path.name: pd.read_parquet(path).drop(columns=list(UNTIMED), errors="ignore")
        for path in sorted(folder.glob("*.parquet"))
    }


def same(one: Path, other: Path) -> None:
    first, second = tables(one), tables(other)
    assert first.keys() == second.keys()
    for name, table in first.items():
        pd.testing.assert_frame_equal(table, second[name], obj=name)


def rate(store: Path, name: str, dimensions: Sequence[str], choices: Sequence[str]) -> None:
    """Return the answers of everybody with assigned cases, from a seed; each has an opinion of their own."""
    with open_store(store, create=False) as opened:
        for row in opened.assignments(name).itertuples():
            rng = np.random.default_rng([len(row.annotator), *row.case_id.encode()])
            for dimension in dimensions:
                choice = str(rng.choice(choices))
                opened.add(AnnotatorAnswer(name, row.case_id, row.annotator, dimension, choice, row.order))


def test_from_a_folder_of_images_to_a_released_benchmark(
    mrb: Mrb, tiny: Callable[[str], Path], serve_smollm: Callable[[str], str], tmp_path: Path
) -> None:
    """Two tiny models and SmolLM2 behind a server are the filter and the responders.

    Parts of pictures are looked for in test_radiographs.py.
    """
    source, work, bench = write_source(tmp_path / "source"), tmp_path / "work", tmp_path / "bench"
    roster, served = tmp_path / "roster.toml", tmp_path / "served.toml"
    roster.write_text('[[judge]]\nname = "smollm2"\nengine = "endpoint"\nmodel = "smollm2"\nvision = false\n')
    # Two of the three read text only, and answer from the question.
    served.write_text(
        f'[[model]]\nname = "smollm2"\nurl = "{serve_smollm(CHAT)}"\ntemperature = 0.0\nwithout_images = true\n'
        f'[[model]]\nname = "path:{tiny("llama")}"\nwithout_images = true\n'
    )
    (tmp_path / "brief.jinja").write_text(BRIEF)
    asked = ("--plan", served, "--roster", roster, "--prompt", tmp_path / "brief.jinja", "--max-new-tokens", 2)

    def step(name: str, *options: object, after: int, bare: bool = False) -> Result:
        """A step that is killed, taken up again, and compared with one that nobody killed.

        What the server said to the one the other need not wait for: it says the same again.
        """
        apart = tmp_path / f"apart-{name}"
        if work.exists():
            shutil.copytree(work, apart)
        command = ("construct", name, *(options[:1] if bare else ()))
        rest = options[1:] if bare else options
        killed([*command, work, *rest], after)
        done = mrb(*command, work, *rest).ok
        for replies in work.rglob(REPLIES) if apart.exists() else []:
            there = apart / replies.relative_to(work)
            there.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(replies, there)
        assert mrb(*command, apart, *rest).code == 0
        same(work, apart)
        assert mrb(*command, work, *rest).ok
        same(work, apart)
        return done

    step("start", source, "--dataset", "ours", "--licence", "CC0-1.0", "--name", "ours", "--kind", "simulated",
         after=3, bare=True)  # fmt: skip
    begun = open_work(work)
    left_out = begun.funnel().query("step == 'start' and reason != 'kept'")["n"].sum()
    assert len(begun.items()) == len(begun.entering("filter")) + left_out
    assert left_out == 6, "four copies and two that cannot be read"
    assert not [path for path in work.rglob("*") if path.is_file() and NAME.split("^")[0].encode() in path.read_bytes()]

    seeing = f"path:{tiny('llava')}"
    # The eighth file holds the second part of what the server's model answered.
    step("filter", "--model", seeing, *asked, "--keep", "correct <= 1", after=8)
    assert mrb("construct", "screen", work, "--clinicians", "Dr A,Dr B,Dr C", "--overlap", 2, "--assign-only").ok
    rate(work / "reviews.sqlite", "ours (screening)", list(CRITERIA), ["2", "3", "4", "5", "5"])
    step("screen", "--close", after=2)
    step("respond", "--responder", seeing, *asked, after=8)
    step("pair", "--exclude", "refused", after=3)
    assert mrb("annotate", work, "--annotators", "ann,bea,cy", "--overlap", 3, "--assign-only").code == 0
    rate(work / "reviews.sqlite", "ours", load(work).meta.dimensions, ["A", "A", "B", "tie"])
    killed(["construct", "release", work, bench, "--version", "1.0.0"], 3)
    assert mrb("construct", "release", work, bench, "--version", "1.0.0", "--overwrite").ok

    made = load(bench)
    check_split(made)
    assert len(made.annotations) == len(made.cases) * 3 * len(made.meta.dimensions)
    assert mrb("check", bench).code == 0
    assert mrb("judge", bench, bench / "runs", "--judge", "longer", "--judge", "first").code == 0
    assert mrb("annotate", bench, "--annotators", "dora", "--overlap", 1, "--assign-only").code == 0
    assert mrb("report", bench, bench / "runs", "--out", tmp_path / "report", "--only", "01_data_and_annotators").ok
    assert mrb("export", "official", bench, bench / "runs", tmp_path / "official").code == 0
    assert mrb("merge", bench, work, tmp_path / "both").code == 0
    status = mrb("construct", "status", work)
    assert "release" in status.out and "stale" not in status.out
