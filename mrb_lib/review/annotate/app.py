"""The pages of annotation: what is blinded with a choice on every dimension, and how far everyone is."""

from __future__ import annotations

from typing import Final

from mrb_lib.benchmarks.benchmark import Benchmark
from mrb_lib.review.annotate.answers import Annotation
from mrb_lib.review.annotate.coordination import Coordination
from mrb_lib.review.annotate.forms import STYLES, Form, form_of
from mrb_lib.review.annotate.ranking import RankedAnnotation
from mrb_lib.review.app import App
from mrb_lib.review.case.view import SCRIPTS
from mrb_lib.review.pages import template
from mrb_lib.review.records.store import Store

_SCRIPTS: Final = (*SCRIPTS, *(f"annotate/{name}" for name in ("parts", "labels", "comments", "annotate", "ranking")))


def annotate(benchmark: Benchmark, store: Store, form: Form | None = None, *, ranked: bool = False) -> App:
    """Blinded annotation of the cases that are assigned in a store.

    Parameters
    ----------
    benchmark : whose labels the form can ask for
    store : holds the assignments (see `mrb_lib.review.records.assignment.assign`), and gets the answers
    form : what is asked of a case; None for what the benchmark's labels are, a preference between two responses or a
        rating of one
    ranked : all responses of an item are ranked at once, which is stored as the preferences of its pairs

    Raises
    ------
    InputError
        The benchmark's labels are not those of the form, or its items cannot be ranked.

    Notes
    -----
    Who signs in by which name is not checked. Validated in tests/review/annotate/test_annotate.py and
    tests/browser/test_annotate.py.
    """
    form = form or form_of(benchmark.meta)
    desk = RankedAnnotation(benchmark, store) if ranked else Annotation(benchmark, store, form)
    answers = (desk.initial_state, desk.open, desk.image, desk.choose, desk.skip, desk.comment)
    return App(
        f"Annotation: {benchmark.meta.name}", {each.__name__: each for each in answers}, _SCRIPTS, STYLES,
        static=lambda: template("annotate_static").render(styles=(), name=benchmark.meta.name, html=""),
    )  # fmt: skip


def coordinate(benchmark: Benchmark, store: Store, form: Form | None = None) -> App:
    """Progress, agreement, pace, drift, skipped cases and comments of the annotation of a benchmark, live.

    Raises
    ------
    InputError
        The benchmark's labels are not those of the form.
    """
    desk = Coordination(benchmark, store, form or form_of(benchmark.meta))
    return App(
        f"Coordination: {benchmark.meta.name}", {"overview": desk.overview, "export": desk.export},
        ("annotate/coordinator",), STYLES,
        static=lambda: template("annotate_static").render(styles=STYLES, html=desk.html()),
    )  # fmt: skip
