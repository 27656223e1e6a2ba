"""Questions as the page of an annotator asks them."""

from typing import Any, Final

from mrb_lib.benchmarks.benchmark import Benchmark
from mrb_lib.cli.annotate import assign_cases
from mrb_lib.review.annotate.answers import Annotation, ranked_items
from mrb_lib.review.records.store import Store

ME: Final = "Dr A"


def deal(benchmark: Benchmark, store: Store, *, ranked: bool = False, names: tuple[str, ...] = (ME,)) -> None:
    """Assign every case to one of the people, as `mrb annotate` does."""
    together = {item.case_ids[0]: item.case_ids for item in ranked_items(benchmark)} if ranked else None
    assign_cases(benchmark, store, list(names), overlap=1, n_cases=None, shared=0, seed=3, together=together)


def sight(page: Annotation, number: int) -> dict[str, Any]:
    """What a page sends back of the case that it shows."""
    return {"annotator": ME, "number": number, "shown": page.open({"annotator": ME, "number": number})["shown"]}


def ask(page: Annotation, what: str, number: int, **more: Any) -> dict[str, Any]:
    """Answer about the case at a number."""
    answer: dict[str, Any] = getattr(page, what)({**sight(page, number), **more})
    return answer
