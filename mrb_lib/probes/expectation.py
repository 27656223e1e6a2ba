"""The expectation of a probe: what a sound judge does, read from the id that verdicts carry."""

from typing import Final, NamedTuple

from mrb_lib.probes.from_file import is_file_probe
from mrb_lib.probes.probe import PROBES, parse_id

UNKNOWN: Final = "expected is unknown: this library has no such probe"


class Known(NamedTuple):
    """The knowledge of the library about a probe.

    Attributes
    ----------
    name : without its severity, with `+both` where it has that
    severity : None of an unknown probe
    expected : None where nothing is
    has_target : whether it may pull towards one response
    reason : why nothing is expected
    group : the group of patients that the severity stands for; None where severities are steps
    """

    name: str
    severity: int | None
    expected: str | None
    has_target: bool
    reason: str
    group: str | None = None


def known(text: str) -> Known:
    """Return what is known of a probe; an id that this library does not have expects nothing.

    The same error in both responses must not matter: `+both` of a probe that flips choices expects the same verdicts.
    A probe that came from a file, which is not asked for, expects the same verdicts. It may change both responses, and
    so has no target.
    """
    found = parse_id(text)
    if found is None:
        return Known(text, 1, "same", False, "") if is_file_probe(text) else Known(text, None, None, False, UNKNOWN)
    probe, name = PROBES[found.probe], f"{found.probe}+both" if found.both else found.probe
    expected = probe.expects(found.severity)
    if found.both and expected == "flips":
        expected = "same"
    group = probe.groups[found.severity - 1] if probe.groups and found.severity else None
    return Known(name, found.severity, expected, probe.changes != "image" and not found.both, "", group)
