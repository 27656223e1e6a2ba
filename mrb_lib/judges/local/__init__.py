"""How does a model on this machine judge? By its reply, the probabilities of letters or ratings, or a reward head.

Its modules import torch, so nothing is handed out here.
"""

from importlib import import_module

from mrb_lib.judges.imports import uncollected

with uncollected():
    import_module("transformers.modeling_utils")
