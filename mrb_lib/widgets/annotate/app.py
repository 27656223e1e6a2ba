"""The pages of annotation: two blinded answers with a choice on every dimension, and how far everyone is."""

from __future__ import annotations

import os
from pathlib import Path

from mrb_lib.construct.screen import screening_benchmark, screening_form
from mrb_lib.construct.work import open_work
from mrb_lib.data.benchmark import Benchmark, load
from mrb_lib.reviews.store import Store, open_store
from mrb_lib.widgets.annotate.answers import Annotation
from mrb_lib.widgets.annotate.blinded import STYLES
from mrb_lib.widgets.annotate.coordination import Coordination
from mrb_lib.widgets.annotate.forms import PREFERENCE, RATING, Form
from mrb_lib.widgets.bundle import style
from mrb_lib.widgets.case.view import SCRIPTS
from mrb_lib.widgets.shell import Shell
from mrb_lib.widgets.text import escaped

BENCH, WORK, STORE = "MRB_ANNOTATE_BENCH", "MRB_SCREEN_WORK", "MRB_STORE"


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
            scripts=(*SCRIPTS, "annotate/parts", "annotate/comments", "annotate/jump", "annotate/annotate"),
            styles=STYLES,
            static=lambda: f'<style>{style()}</style><p class="mrb">{escaped(name)}: {plain}</p>',
        )


def annotate(benchmark: Benchmark, store: Store, form: Form = PREFERENCE) -> Annotator:
    """Blinded annotation of the cases that are assigned in a store.

    Parameters
    ----------
    benchmark : whose labels the form can ask for
    store : holds the assignments (see `mrb_lib.reviews.assignment.assign`), and gets the answers
    form : what is asked: a preference between the two responses, or ratings of an item

    Raises
    ------
    InputError
        The benchmark's labels are not those of the form.

    Notes
    -----
    Who signs in by which name is not checked. Validated in tests/widgets/annotate/test_annotate.py and
    tests/browser/test_annotate.py.
    """
    return Annotator(Annotation(benchmark, store, form), benchmark.meta.name)


class Coordinator(Shell):
    """The widget of `coordinate`; its page asks every few seconds whether anything has changed."""

    def __init__(self, coordination: Coordination) -> None:
        super().__init__(
            {"overview": coordination.overview, "export": coordination.export},
            scripts=("annotate/coordinator",),
            styles=STYLES,
            static=lambda: f'<style>{style(*STYLES)}</style><div class="mrb mrb-annotate">{coordination.html()}</div>',
        )


def coordinate(benchmark: Benchmark, store: Store, form: Form = PREFERENCE) -> Coordinator:
    """Progress, agreement, pace, drift, skipped cases and comments of the annotation of a benchmark, live.

    Raises
    ------
    InputError
        The benchmark's labels are not those of the form.
    """
    return Coordinator(Coordination(benchmark, store, form))


def from_environment() -> tuple[Benchmark, Store]:
    """The benchmark and the store that `mrb annotate` serves; it names them in the environment."""
    return load(Path(os.environ[BENCH])), open_store(os.environ[STORE], create=False)


def screening_from_environment() -> tuple[Benchmark, Store, Form]:
    """The items, the store and the form that `mrb construct screen` serves; it names them in the environment."""
    work = open_work(Path(os.environ[WORK]))
    return screening_benchmark(work, screening_form(work)), open_store(os.environ[STORE], create=False), RATING
