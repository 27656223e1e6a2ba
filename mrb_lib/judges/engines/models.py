"""The engines that read weights, ask a server, start one for the weights, or count the votes of other judges."""

from collections.abc import Callable
from functools import partial
from importlib import import_module

from mrb_lib.judges.jury import Jury
from mrb_lib.judges.roster.engines import JudgeRequest, engine
from mrb_lib.verdicts.protocol import Judge


def _of_class(module: str, name: str, rated: tuple[str, str] | None = None) -> Callable[[JudgeRequest], Judge]:
    """Return a function that makes a judge of a class, which is imported no earlier; `rated` names that for ratings."""

    def build(request: JudgeRequest) -> Judge:
        place, kind = rated if rated is not None and request.settings.is_rating else (module, name)
        judge: Judge = getattr(import_module(f"mrb_lib.judges.{place}"), kind)(request)
        return judge

    return build


_local = partial(
    engine,
    model="weights",
    packages=("torch", "transformers", "safetensors", "jinja2"),
    install="mrb-workbench[judges]",
)
_chats = partial(_local, reads_any_model=True)
_served = partial(engine, model="server", packages=("httpx",), install="mrb-workbench[endpoint]")
_started = partial(engine, model="weights", packages=("httpx",), install="mrb-workbench[endpoint,hub]", samples=True)

_chats("generative", about="a written reply, which is parsed; greedy or sampled", samples=True)(
    _of_class("local.generative", "GenerativeJudge")
)
_chats("packed", about="the more probable of the letters A and B; every question about a case in one pass")(
    _of_class("local.packed", "PackedJudge", rated=("local.packed", "CategoriesJudge"))
)
_chats(
    "batch",
    about="a written ranking of all responses to an item, read as verdicts of its pairs",
    samples=True,
    served="served-batch",
)(_of_class("local.generative", "BatchJudge"))
_chats(
    "rubric",
    about="points by the probability of each criterion of a rubric; every criterion of a case in one pass",
    served="served-rubric",
)(_of_class("local.pointwise", "RubricJudge"))
_local("reward", about="the scalar reward of each response, from a model with a reward head")(
    _of_class("local.reward", "RewardJudge")
)
_served("endpoint", about="the reply of a model behind an OpenAI-compatible server", samples=True)(
    _of_class("endpoint.judge", "EndpointJudge")
)
_served("letters", about="the more probable of the letters A and B, one token a question, from such a server")(
    _of_class("endpoint.judge", "LettersJudge")
)
_served("served-batch", about="what batch does, from such a server", samples=True, is_internal=True)(
    _of_class("endpoint.judge", "ServedBatchJudge")
)
_served("served-rubric", about="what rubric does, by replies of such a server", samples=True, is_internal=True)(
    _of_class("endpoint.judge", "ServedRubricJudge")
)
_started("sglang", about="the same as vllm, from an SGLang server", program="sglang")(
    _of_class("server", "ServerJudge")
)
_started("vllm", about="letters or replies from a vLLM server, started for the weights and stopped", program="vllm")(
    _of_class("server", "ServerJudge")
)


@engine("jury", about="the votes of other judges, as consensus-of:NAME,NAME", is_internal=True)
def build_jury(request: JudgeRequest) -> Judge:
    """A jury without its members, whose runs `mrb_lib.runs.juries` finds."""
    return Jury(request.entry.name)
