"""How long the bookkeeping of `mrb construct filter` and `respond` takes, and in how much memory, beside the models.

    python tests/benchmarks/construct_answers.py 10000 100000

For each number of items, in a process of its own: five models with eight samples each answer at once, 40 answers an
item, half of them to a question with options; then another rule, which asks no model; then four responders. Prints the
seconds of each and the peak of the process' memory.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd

from mrb_lib.construct.answers.answering import Answerer
from mrb_lib.construct.filter import FilterOptions, filter_items
from mrb_lib.construct.respond import respond
from mrb_lib.construct.work import begin, create_work
from mrb_lib.judges import JudgeRequest, PromptlessJudge, Settings, engine
from mrb_lib.verdicts.protocol import VerdictRows

MODELS, RESPONDERS, SAMPLES = 5, 4, 8
WORDS = np.array(["the", "lung", "liver", "heart", "shows", "a", "small", "left", "right", "lesion", "effusion", "no"])


class Drawn(PromptlessJudge):
    """Answers drawn from a seed: of few words for `model`, of forty for `responder`."""

    cases_per_batch = 512

    def __init__(self, name: str) -> None:
        self.name = name

    def judge(self, shown: pd.DataFrame) -> pd.DataFrame:
        """See `Judge.judge`."""
        rows, rng = VerdictRows(shown), np.random.default_rng(abs(hash((self.name, shown["case_id"].iloc[0]))))
        size = (len(shown), 40 if self.name.startswith("responder") else 2)
        texts = [" ".join(words) for words in rng.choice(WORDS, size)]
        letters = rng.choice(["A", "B", "C", "liver"], len(shown))
        for position, (text, letter) in enumerate(zip(texts, letters, strict=True)):
            rows.put_answer(position, text if size[1] > 2 or rng.random() < 0.5 else letter)
        return rows.frame()


@engine("drawn", about="answers drawn from a seed", samples=True)
def build(request: JudgeRequest) -> Drawn:
    """A model of the roster of this script."""
    return Drawn(request.entry.name)


def main(n: int) -> None:
    """Measure one number of items."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        roster = folder / "models.toml"
        names = [*(f"model{i}" for i in range(MODELS)), *(f"responder{i}" for i in range(RESPONDERS))]
        roster.write_text("".join(f'[[judge]]\nname = "{one}"\nengine = "drawn"\n' for one in names))
        work = create_work(folder / "work", "many", "simulated")
        with begin(work, "start", {}, seed=0) as step:
            step.write("items", items(n))
        peak, start = rss(), time.perf_counter()
        print(f"{n:>7,} items   {'items table':<32} {peak:6.0f} MB")
        models = [Answerer(one, Settings(prompt="short-answer")) for one in names[:MODELS]]
        for what, keep, again in (("filter", "correct <= 1", False), ("filter, another rule", "correct <= 2", True)):
            done = filter_items(work, FilterOptions(models, SAMPLES, keep), again=again, extra=[roster])
            asked = sum(run.summary.seconds for run in done.runs)
            report(n, what, start, asked)
            start = time.perf_counter()
        pool = [Answerer(one, Settings(prompt="open-answer")) for one in names[MODELS:]]
        answered = respond(work, pool, extra=[roster])
        report(n, f"respond, {answered.n_in:,} items", start, sum(run.summary.seconds for run in answered.runs))


def items(n: int) -> pd.DataFrame:
    """Items with short and long questions, every other one with options."""
    return pd.DataFrame(
        {
            "item_id": [f"item-{i:07d}" for i in range(n)],
            "images": [[] for _ in range(n)],
            "question": [f"What does image {i} show in the region of interest?" for i in range(n)],
            "reference": ["liver", "A"] * (n // 2),
            "choices": [None, ["lung", "liver", "heart", "lesion"]] * (n // 2),
            "organ": "chest",
        }
    )


def rss() -> float:
    """The peak of this process' memory so far, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def report(n: int, what: str, start: float, asked: float) -> None:
    """Print a line: seconds in all, those of asking and storing among them, and the peak of memory."""
    seconds = time.perf_counter() - start
    print(
        f"{n:>7,} items   {what:<32} {rss():6.0f} MB   {seconds:7.1f} s, {asked:.1f} s of them in the runs", flush=True
    )


if __name__ == "__main__":
    if sys.argv[1] == "--one":
        main(int(sys.argv[2]))
    else:
        for count in sys.argv[1:]:
            subprocess.run([sys.executable, __file__, "--one", count], check=True)
