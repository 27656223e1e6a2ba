"""A benchmark to train on: a few simulated cases with a split."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

from mrb_lib.benchmarks.benchmark import Benchmark, load, save
from mrb_lib.judges.local.packed import PackedJudge
from mrb_lib.verdicts.orders import to_shown_frame
from tests.judges.local.by_hand import made

DIMENSIONS = ("accuracy", "overall")


@pytest.fixture(scope="session")
def with_split(pictured: Benchmark) -> Benchmark:
    """Eighteen cases: eight to train on, six to validate on, four to test on; two dimensions.

    Responses are the first words of the simulated ones: what a step of training takes is the length of its prompts.
    """
    split = ["train"] * 8 + ["validation"] * 6 + ["test"] * 4
    annotations = pictured.annotations[pictured.annotations["dimension"].isin(DIMENSIONS)]
    short = {name: pictured.cases[name].str[:120] for name in ("response_a", "response_b")}
    return replace(
        pictured,
        meta=replace(pictured.meta, dimensions=DIMENSIONS),
        cases=pictured.cases.assign(split=split, **short),
        annotations=annotations.reset_index(drop=True),
    )


@pytest.fixture(scope="session")
def bench(with_split: Benchmark, tmp_path_factory: pytest.TempPathFactory) -> Benchmark:
    """The same in a folder of its own."""
    folder = tmp_path_factory.mktemp("bench")
    save(with_split, folder)
    return load(folder)


@pytest.fixture(scope="session")
def packed_judge(pictured: Benchmark) -> Callable[..., PackedJudge]:
    """Makes a judge of letters from a folder of weights."""

    def make(folder: Path, **settings: object) -> PackedJudge:
        wishes = {"dimensions": DIMENSIONS, "choices": ("A", "B", "tie"), **settings}
        return made(PackedJudge, folder, pictured.images, **wishes)

    return make


@pytest.fixture(scope="session")
def labelled() -> Callable[[pd.DataFrame], pd.DataFrame]:
    """Adds made-up labels to the rows of cases in both orders: some first, some second, a tie, one without a label."""

    def make(cases: pd.DataFrame, orders: tuple[str, ...] = ("AB", "BA")) -> pd.DataFrame:
        grid = cases.merge(pd.DataFrame({"order": list(orders)}), how="cross")
        grid = grid.merge(pd.DataFrame({"dimension": list(DIMENSIONS)}), how="cross").assign(repeat=0, probe="none")
        n = range(len(grid))
        return to_shown_frame(grid).assign(
            p_first=[(0.0, 1.0, 0.5)[i % 3] for i in n], weight=[(1.0, 0.5, 1.0, 2.0, 0.0)[i % 5] for i in n]
        )

    return make
