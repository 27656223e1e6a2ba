"""How does a model behind a server judge? Where it may be asked, what it is asked, and what its replies say."""

from mrb_lib.judges.endpoint.address import KEY_ENV, Address

__all__ = ["KEY_ENV", "Address"]
