"""The engines that start a server for the weights on this machine; see `mrb_lib.judges.server`."""

from __future__ import annotations

from functools import partial

from mrb_lib.judges.roster.engines import JudgeRequest, engine
from mrb_lib.verdicts.protocol import Judge

_started = partial(engine, model="weights", packages=("httpx",), install="mrb-workbench[endpoint,hub]", samples=True)


@_started("sglang", about="the same as vllm, from an SGLang server", program="sglang")
@_started("vllm", about="letters or replies from a vLLM server, started for the weights and stopped", program="vllm")
def build_started(request: JudgeRequest) -> Judge:
    """Judging through a server of its own."""
    from mrb_lib.judges.server import ServerJudge

    return ServerJudge(request)
