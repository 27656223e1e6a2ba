"""How long the bookkeeping of `mrb construct filter` and `respond` takes, and in how much memory, beside the models.

    python tests/benchmarks/speed/construct_answers.py 10000 100000

For each number of items: five models with eight samples each answer at once, 40 answers an item, half of them to a
question with options; then another rule, which asks no model; then four responders. Each is a process of its own, as
the commands are, and prints its seconds, the memory it had before it read anything, and the peak.
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

from mrb_lib.build.construct.filter import FilterOptions, filter_items
from mrb_lib.build.construct.respond import respond
from mrb_lib.build.construct.work import begin, create_work, open_work
from mrb_lib.judges import JudgeRequest, PromptlessJudge, Settings, engine
from mrb_lib.runs.planned import PlannedModel
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


STEPS = ("items", "filter", "filter, another rule", "respond")


def main(what: str, folder: Path, n: int) -> None:
    """Measure one step in a folder where those before it were taken."""
    idle, start = rss(), time.perf_counter()
    roster = folder / "models.toml"
    names = [*(f"model{i}" for i in range(MODELS)), *(f"responder{i}" for i in range(RESPONDERS))]
    roster.write_text("".join(f'[[judge]]\nname = "{one}"\nengine = "drawn"\n' for one in names))
    asked = 0.0
    if what == "items":
        with begin(create_work(folder / "work", "many", "simulated"), "start", {}, seed=0) as step:
            step.write("items", items(n))
    elif what == "respond":
        pool = [PlannedModel(one, Settings(prompt="open-answer")) for one in names[MODELS:]]
        answered = respond(open_work(folder / "work"), pool, extra=[roster])
        what += f" to {answered.n_in:,} items"
        asked = sum(run.summary.seconds for run in answered.runs)
    else:
        models = [PlannedModel(one, Settings(prompt="short-answer")) for one in names[:MODELS]]
        again = what != "filter"
        options = FilterOptions(models, SAMPLES, "correct <= 2" if again else "correct <= 1")
        done = filter_items(open_work(folder / "work"), options, again=again, extra=[roster])
        asked = sum(run.summary.seconds for run in done.runs)
    seconds = time.perf_counter() - start
    memory = f"{idle:5.0f} MB before, peak {rss():5.0f} MB"
    print(f"{n:>7,} items   {what:<28} {memory}   {seconds:7.1f} s, {asked:.1f} s of them in the runs", flush=True)


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


if __name__ == "__main__":
    if sys.argv[1] in STEPS:
        main(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]))
    else:
        for count in sys.argv[1:]:
            with tempfile.TemporaryDirectory() as name:
                for one in STEPS:
                    subprocess.run([sys.executable, __file__, one, name, count], check=True)
