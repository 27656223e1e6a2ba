"""A small work folder with responses, and who wins where everybody prefers the model that comes first."""

from pathlib import Path

import numpy as np
import pandas as pd

from mrb_lib.build.construct.work import Work, begin, create_work

MODELS = ("a", "b", "c", "d")
N = 37


def respond(work: Work, *, refusing: str = "", seed: int = 0) -> None:
    """Every model answers every item twice; `refusing` refuses all, and of the last item nobody says anything new."""
    rng = np.random.default_rng(seed)
    rows = []
    for item in work.entering("respond")["item_id"]:
        for model in MODELS:
            for sample in (0, 1):
                text = f"{model} says {rng.integers(10**9)} " + "and more " * int(rng.integers(1, 20))
                flag = "refused" if model == refusing else None
                rows.append((item, model, sample, "Nothing." if item == f"i{N - 1}" else text, flag))
    frame = pd.DataFrame(rows, columns=["item_id", "model", "sample", "answer", "flag"]).assign(status="ok")
    frame["alike"] = np.where(frame["answer"] == "Nothing.", 0.0, np.nan)
    with begin(work, "respond", {"refusing": refusing}, seed=seed, again=True) as step:
        step.write("responses", frame)


def make_work(path: Path, licence: object = "CC0") -> Work:
    """37 items of two organs with responses of four models."""
    made = create_work(path, "mine", "simulated")
    items = pd.DataFrame({"item_id": [f"i{i}" for i in range(N)]}).assign(
        question="What is it?", reference="A nodule.", organ=["lung", "eye"] * (N // 2) + ["eye"], licence=licence,
        images=[[] for _ in range(N)], choices=[["yes", "no"], *[None] * (N - 1)],
    )  # fmt: skip
    with begin(made, "start", {}, seed=0) as step:
        step.write("items", items)
    respond(made)
    return made
