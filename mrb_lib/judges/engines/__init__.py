"""In which ways is a model asked for verdicts? An engine declares its name, what it does and needs.

An engine registers itself with `@engine` where it is written; `mrb_lib.judges.ENGINES` finds it by name. Files here
import torch, transformers and httpx only inside functions, so that listing the engines costs next to nothing.
"""
