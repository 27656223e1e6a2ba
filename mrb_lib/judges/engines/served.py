"""The engines that start a server for the weights on this machine; see `mrb_lib.judges.server`."""

from __future__ import annotations

from functools import partial

from mrb_lib.judges.roster.engines import JudgeRequest, engine
from mrb_lib.verdicts.protocol import Judge

_started = partial(engine, model="weights", packages=("httpx", "jinja2"), install="mrb-workbench[judges]", samples=True)


@_started("vllm", about="letters or replies from a vLLM server, started for the weights and stopped", program="vllm")
def build_vllm(request: JudgeRequest) -> Judge:
    """Judging through vLLM."""
    from mrb_lib.judges.server import VLLM, ServerJudge

    return ServerJudge(request, VLLM)


@_started("sglang", about="the same from an SGLang server", program="sglang")
def build_sglang(request: JudgeRequest) -> Judge:
    """Judging through SGLang."""
    from mrb_lib.judges.server import SGLANG, ServerJudge

    return ServerJudge(request, SGLANG)
