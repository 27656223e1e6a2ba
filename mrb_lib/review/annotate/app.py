"""The pages of annotation: what is blinded with a choice on every dimension, and how far everyone is."""

from __future__ import annotations

import os
from pathlib import Path

from mrb_lib.benchmarks.benchmark import Benchmark, load
from mrb_lib.review.annotate.answers import Annotation
from mrb_lib.review.annotate.blinded import STYLES
from mrb_lib.review.annotate.coordination import Coordination
from mrb_lib.review.annotate.forms import Form, form_of
from mrb_lib.review.annotate.ranking import RankedAnnotation
from mrb_lib.review.bundle import style
from mrb_lib.review.case.view import SCRIPTS
from mrb_lib.review.records.store import Store, open_store
from mrb_lib.review.shell import Shell
from mrb_lib.review.text import escaped

BENCH, STORE, RANKED = "MRB_ANNOTATE_BENCH", "MRB_STORE", "MRB_ANNOTATE_RANKED"


class Annotator(Shell):
    """The widget of `annotate`; its page signs annotators in, shows their cases, and keeps each answer at once."""

    def __init__(self, annotation: Annotation, name: str) -> None:
        plain = "This page needs a running kernel: annotate with <kbd>mrb annotate</kbd> in a browser."
        super().__init__(
            {
                "initial_state": annotation.initial_state,
                "open": annotation.open,
                "image": annotation.image,
                "choose": annotation.choose,
                "skip": annotation.skip,
                "comment": annotation.comment,
            },
            scripts=(
                *SCRIPTS,
                "annotate/parts",
                "annotate/labels",
                "annotate/comments",
                "annotate/jump",
                "annotate/annotate",
                "annotate/ranking",
            ),
            styles=STYLES,
            static=lambda: f'<style>{style()}</style><p class="mrb">{escaped(name)}: {plain}</p>',
        )


def annotate(benchmark: Benchmark, store: Store, form: Form | None = None, *, ranked: bool = False) -> Annotator:
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
    if ranked:
        return Annotator(RankedAnnotation(benchmark, store), benchmark.meta.name)
    return Annotator(Annotation(benchmark, store, form or form_of(benchmark.meta)), benchmark.meta.name)


class Coordinator(Shell):
    """The widget of `coordinate`; its page asks every few seconds whether anything has changed."""

    def __init__(self, coordination: Coordination) -> None:
        super().__init__(
            {"overview": coordination.overview, "export": coordination.export},
            scripts=("annotate/coordinator",),
            styles=STYLES,
            static=lambda: f'<style>{style(*STYLES)}</style><div class="mrb mrb-annotate">{coordination.html()}</div>',
        )


def coordinate(benchmark: Benchmark, store: Store, form: Form | None = None) -> Coordinator:
    """Progress, agreement, pace, drift, skipped cases and comments of the annotation of a benchmark, live.

    Raises
    ------
    InputError
        The benchmark's labels are not those of the form.
    """
    return Coordinator(Coordination(benchmark, store, form or form_of(benchmark.meta)))


def from_environment() -> tuple[Benchmark, Store]:
    """The benchmark and the store that `mrb annotate` serves; it names them in the environment."""
    return load(Path(os.environ[BENCH])), open_store(os.environ[STORE], create=False)


def is_ranked() -> bool:
    """Whether `mrb annotate` serves rankings."""
    return os.environ.get(RANKED) == "1"
