"""Changes of a case that should, or should not, change a verdict.

`probe` says what a probe is and holds the list, `apply` changes cases on their way to a judge; each other file holds
the probes of one kind, registered where they are written.
"""

from mrb_lib.probes.apply import ProbedImages, Probing
from mrb_lib.probes.probe import PROBES, Case, Probe, ProbeId, parse_probes, register_picture, register_probe, target

__all__ = [
    "PROBES",
    "Case",
    "Probe",
    "ProbeId",
    "ProbedImages",
    "Probing",
    "parse_probes",
    "register_picture",
    "register_probe",
    "target",
]
