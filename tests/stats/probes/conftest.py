"""Probes under names of their own choosing, so that these tests do not hang on what the library offers."""

from collections.abc import Iterator

import pytest

from mrb_lib.probes.probe import PROBES, Probe
from tests.stats.probes.panels import GROUPED, TEST_PROBES


@pytest.fixture(autouse=True)
def registered() -> Iterator[None]:
    """The probes of these tests, in place of any of the same name; what was there comes back afterwards."""
    len(PROBES)  # the library's own are found first
    before = dict(PROBES._features)
    for name, (expected, severities) in TEST_PROBES.items():
        kind = name.partition("/")[0]
        PROBES._features[name] = Probe(name, kind, "Changes nothing", expected, severities, edit=lambda case, *_: case)
    for name, groups in GROUPED.items():
        PROBES._features[name] = Probe(name, "question", "Says who", "same", len(groups), groups=groups)
    yield
    PROBES._features.clear()
    PROBES._features.update(before)
