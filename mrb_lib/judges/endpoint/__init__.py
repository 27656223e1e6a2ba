"""Judges behind a server: its address, the requests, and the meaning of its answers."""

from mrb_lib.judges.endpoint.address import KEY_ENV, Address

__all__ = ["KEY_ENV", "Address"]
