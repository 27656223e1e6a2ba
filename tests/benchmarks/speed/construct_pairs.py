"""How long pairs and a release of `mrb construct` take.

    python tests/benchmarks/speed/construct_pairs.py time 10000 100000

`time`: seconds and peak memory of the step, with 12
responders, then of `release`, with 3 annotators on one dimension set and an image an item. All data are SIMULATED.
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
from PIL import Image

from mrb_lib.build.construct.pair import Plan, meetings, pair
from mrb_lib.build.construct.release import Terms, release
from mrb_lib.build.construct.work import Work, begin, create_work, open_work
from mrb_lib.tables.schema import DIMENSIONS

R = 12
NAMES = np.array([f"m{i:02d}" for i in range(R)])


def work_of(n: int, folder: Path) -> None:
    """A work folder of n items with an image of 32 x 32 pixels each and 12 responses of some 300 characters."""
    work, rng = create_work(folder / "work", "mine", "simulated"), np.random.default_rng(0)
    ids = [f"i{i}" for i in range(n)]
    for item in ids:
        coarse = Image.fromarray(rng.integers(0, 256, (5, 5), dtype=np.uint8))
        coarse.resize((32, 32)).save(work.images / f"{item}.png", compress_level=1)
    about = {name: rng.choice(list("abcdefghijklm"), n) for name in ("organ", "modality")}
    questions = rng.choice(["What?", "What does the image show?", "Is there an effusion?"], n)
    items = pd.DataFrame({"item_id": ids, "question": questions, "licence": "CC0", **about})
    items = items.assign(images=[[f"{item}.png"] for item in ids], choices=None)
    with begin(work, "start", {}, seed=0) as step:
        step.write("items", items)
    texts = np.array([text(rng) for _ in range(9973)], dtype=object)
    responses = pd.DataFrame({"item_id": np.repeat(ids, R), "model": np.tile(NAMES, n), "sample": 0})
    responses["answer"] = texts[rng.integers(len(texts), size=len(responses))]
    with begin(work, "respond", {}, seed=0) as step:
        step.write("responses", responses.assign(status="ok", flag=None))


WORDS = np.array([start + end for start in "bdfgklmnprst" for end in ("an", "en", "in", "on", "un")])
STOCK = np.array(["the image shows", "there is no evidence of", "these findings are consistent with", "in the lung",
                  "further imaging is recommended for", "no acute", "is within normal limits"])  # fmt: skip


def text(rng: np.random.Generator) -> str:
    """Four sentences that begin as many do."""
    return ". ".join(f"{rng.choice(STOCK)} {' '.join(rng.choice(WORDS, 8))}" for _ in range(4))


def pairs_of(work: Work) -> str:
    """Take the step `pair`."""
    met = meetings(pair(work, Plan()).pairs)["n"]
    return f"meetings {met.min()} to {met.max()}"


def release_of(work: Work) -> str:
    """Take the step `release`; three annotators say what is true in eight of ten cases."""
    cases, rng = work.pairs()["case_id"], np.random.default_rng(1)
    rows = []
    for dimension in DIMENSIONS:
        truth = rng.choice(["A", "B", "tie"], len(cases), p=[0.45, 0.45, 0.1])
        for annotator in ("ann", "ben", "cy"):
            choice = np.where(rng.random(len(cases)) < 0.8, truth, rng.choice(["A", "B", "tie"], len(cases)))
            about = {"case_id": cases, "annotator": annotator, "dimension": dimension}
            rows.append(pd.DataFrame({**about, "choice": choice}, dtype="str"))
    released = release(work, work.path.parent / "bench", Terms("1.0.0"), pd.concat(rows, ignore_index=True))
    return f"{len(released.benchmark.cases):,} cases, {len(released.benchmark.annotations):,} annotations"


def measure(what: str, folder: Path) -> None:
    """A step in a work folder, with its seconds, those of a processor, and the memory before it and at most."""
    before, start, used = rss(), time.perf_counter(), time.process_time()
    said = {"pair": pairs_of, "release": release_of}[what](open_work(folder / "work"))
    seconds, busy = time.perf_counter() - start, time.process_time() - used
    memory = f"{rss():,.0f} MB at most ({before:,.0f} before)"
    print(f"{what}: {seconds:.1f} s ({busy:.1f} s of a processor), {memory}; {said}", flush=True)


def rss() -> float:
    """The peak of this process' memory so far, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


if __name__ == "__main__":
    what, *numbers = sys.argv[1:]
    if what == "make":
        work_of(int(numbers[1]), Path(numbers[0]))
    elif what in ("pair", "release"):
        measure(what, Path(numbers[0]))
    else:
        for number in numbers:
            print(f"{int(number):,} items", flush=True)
            with tempfile.TemporaryDirectory() as name:
                for arguments in (["make", name, number], ["pair", name], ["release", name]):
                    subprocess.run([sys.executable, __file__, *arguments], check=True)
