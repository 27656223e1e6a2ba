"""Presets: named sets of options of commands; what the user sets takes precedence, and both are printed."""

from collections.abc import Collection, Mapping
from typing import Final, Literal

import typer

from mrb_lib.stats.options import check_choice

Command = Literal["report", "judge"]
PRESETS: Final[Mapping[str, Mapping[Command, Mapping[str, object]]]] = {
    "paper": {
        "report": {"policy": "official", "only": ["paper"]},
        "judge": {"orders": "AB", "prompt": "official-form", "temperature": 0.1},
    },
}
"""Options of each command by the name of the preset: "paper" is what a benchmark paper prints."""
PLANS: Final[Mapping[str, Mapping[str, str]]] = {
    "paper": {
        "filter": "--model qwen2-vl-2b --model internvl3-2b --model deepseek-vl2-tiny --keep 'correct <= 1'",
        "screen": "--clinicians NAME,NAME,NAME --criteria relevance,accuracy,complexity,image_quality",
        "respond": "--samples 2 --responder qwen2.5-vl-7b --responder qwen2.5-vl-32b --responder qwen2.5-vl-72b "
        "--responder internvl3-8b --responder internvl3-38b --responder llava-onevision-7b "
        "--responder llama-3.2-11b-vision --responder pixtral-12b --responder phi-3.5-vision "
        "--responder minicpm-v-2.6 --responder gemma-3-27b --responder medgemma-4b",
        "pair": "--pairs 1 --balance model,organ,length",
        "annotate": "--annotators NAME,NAME,NAME",
        "release": "--min-annotators 3",
    },
}
"""Options of the steps that build a benchmark, as a shell takes them, by the name of the preset.

"paper" has the shape of the published construction. The models may be exchanged in `construction.toml`, into which
`mrb construct start --preset` writes the plan; `mrb construct status` prints it with the next command.
"""


def chosen(name: str, command: Command, given: Collection[str]) -> dict[str, object]:
    """Return the options that a preset sets and the user has not; both are printed on stderr.

    Parameters
    ----------
    given : options that the user set

    Raises
    ------
    InputError
        There is no preset of that name.
    """
    check_choice("preset", name, [*PRESETS])
    words = {
        option: f"{option} {', '.join(value) if isinstance(value, list) else value}"
        for option, value in PRESETS[name][command].items()
    }
    told = [f"preset {name}: {', '.join(words[one] for one in words if one not in given) or 'nothing is left to it'}"]
    told += [f"you set {one}, which goes before its {words[one]}" for one in words if one in given]
    typer.echo("; ".join(told), err=True)
    return {option: value for option, value in PRESETS[name][command].items() if option not in given}
