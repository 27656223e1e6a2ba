"""The embedded benchmark: simulated cases, images, responses and annotators, drawn from a seed."""

from mrb_lib.demo.build import write_demo

__all__ = ["write_demo"]
