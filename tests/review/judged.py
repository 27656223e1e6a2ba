"""A small benchmark with verdicts, for tests of what notebooks show."""

import numpy as np
import pandas as pd

from mrb_lib.benchmarks.benchmark import Benchmark
from mrb_lib.benchmarks.meta import BenchmarkMeta

N = 48
DIMENSIONS = ("accuracy", "overall")
ORGANS = ("lung", "eye", "foot")
JUDGES = ("j0", "j1", "j2")


def judged(*, kind: str = "simulated") -> tuple[Benchmark, pd.DataFrame]:
    """Forty-eight cases of three organs, a third of them feet: no gold label on a foot, and j2 judges no eye."""
    generator = np.random.default_rng(5)
    ids = [f"c{i:02d}" for i in range(N)]
    organ = [ORGANS[i % 3] for i in range(N)]
    cases = pd.DataFrame(
        {"case_id": ids, "question": "q " * 90, "response_a": "a", "response_b": "b", "organ": organ}
    ).astype("str")
    votes = _product(case_id=ids, annotator=["p", "q", "r"], dimension=DIMENSIONS)
    votes["choice"] = generator.choice(["A", "A", "A", "B"], len(votes))
    foot = votes["case_id"].map(dict(zip(ids, organ, strict=True))) == "foot"
    votes.loc[foot, "choice"] = votes.loc[foot, "annotator"].map({"p": "A", "q": "B", "r": "tie"})
    said = _product(judge=JUDGES, case_id=ids, dimension=DIMENSIONS, order=["AB", "BA"])
    said["choice"] = generator.choice(np.array(["A", "A", "A", "B", "tie", None], dtype=object), len(said))
    said = said.assign(repeat=0, probe="none", status=np.where(said["choice"].isna(), "unparsed", "ok"), p_a=0.6)
    eye = said["case_id"].map(dict(zip(ids, organ, strict=True))) == "eye"
    said = said[~((said["judge"] == "j2") & eye)].reset_index(drop=True)
    meta = BenchmarkMeta("b", kind, DIMENSIONS)
    return Benchmark(meta, cases.assign(images=[[] for _ in ids]), votes.astype("str")), said


def _product(**columns: object) -> pd.DataFrame:
    values = [list(column) for column in columns.values()]
    return pd.MultiIndex.from_product(values, names=list(columns)).to_frame(index=False)
