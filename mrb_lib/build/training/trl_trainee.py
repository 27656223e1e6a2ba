"""Fine-tuning on replies with TRL: supervised on those the labels give, or by preferring them (DPO)."""

from typing import Any, cast

import datasets
from transformers import TrainingArguments
from trl.trainer.dpo_config import DPOConfig
from trl.trainer.dpo_trainer import DPOTrainer
from trl.trainer.sft_config import SFTConfig
from trl.trainer.sft_trainer import SFTTrainer

from mrb_lib.build.training.examples import Examples
from mrb_lib.build.training.loop import ExactResume, MakeTrainer
from mrb_lib.build.training.plan import Plan, drawn
from mrb_lib.build.training.replies import LACKS_A_LABEL, learnable, message, reply_rows
from mrb_lib.build.training.trainee import Trainee, judge_request
from mrb_lib.judges.local.generative import GenerativeJudge
from mrb_lib.judges.local.packed import PackedJudge
from mrb_lib.judges.prompts import Prompt, load_prompt
from mrb_lib.tables.errors import InputError

_MOST_WRITTEN = 50


class _SFTTrainer(ExactResume, SFTTrainer):
    """Supervised fine-tuning (Ouyang et al. 2022, arXiv 2203.02155, step 1)."""


class _DPOTrainer(ExactResume, DPOTrainer):
    """Direct preference optimisation (Rafailov et al. 2023, arXiv 2305.18290)."""


class ReplyTrainee(Trainee):
    """A judge that is trained on whole replies, of the form that its prompt asks for.

    Validation lets a generative judge write, which takes long: at most 50 cases are judged in each evaluation.
    Validated by tests/build/training/test_replies.py.
    """

    def __init__(self, plan: Plan) -> None:
        prompt = load_prompt(plan.recipe.prompt or PackedJudge.usual_prompt)
        _check(plan, prompt)
        kind = GenerativeJudge if prompt.asks == "all" else PackedJudge
        super().__init__(plan, kind(judge_request(plan, kind.engine)))
        if kind is GenerativeJudge:
            self.validated = drawn(plan.validated, _MOST_WRITTEN, plan.recipe.seed)
        self._prompt = prompt
        self.judge.load()
        self._adapt()

    @classmethod
    def arguments(cls, method: str) -> type[TrainingArguments]:
        """See `Trainee.arguments`."""
        return DPOConfig if method == "dpo" else SFTConfig

    def _trainer(self) -> tuple[MakeTrainer, int]:
        """See `Trainee._trainer`."""
        rows, is_dpo = self._rows(), self._recipe.method == "dpo"
        weights = self.judge.weights
        datasets.disable_progress_bars()
        table = datasets.Dataset.from_list(rows)

        def make(arguments: Any, callbacks: Any) -> Any:
            trainer = cast("Any", _DPOTrainer if is_dpo else _SFTTrainer)
            return trainer(
                model=self._whole, args=arguments, train_dataset=table, callbacks=list(callbacks),
                processing_class=weights.processor or weights.tokenizer,
            )  # fmt: skip

        return make, len(rows)

    def _rows(self) -> list[dict[str, object]]:
        """The rows in TRL's form; what cannot be learnt from is counted."""
        plan, judge = self._plan, self.judge
        pictures, failures = {}, {}
        images = plan.benchmark.cases.set_index("case_id")["images"]
        for case in plan.examples.case_ids:
            try:
                pictures[case] = judge.pictures(images[case])
            except InputError as error:
                failures[case] = str(error)
        self._note_failures(failures)
        learnt = plan.examples.rows
        made = Examples(learnt[learnt["case_id"].isin(pictures)], {})
        prompts, weights = (self._prompt, self._prompt), judge.weights
        sees = weights.sees_images and not plan.settings.without_images
        is_dpo = self._recipe.method == "dpo"
        every = reply_rows(plan.benchmark, made, prompts, weights.marks, sees_images=sees)
        rows, left_out = learnable(every, as_pairs=is_dpo)
        self.left_out |= left_out
        self.case_ids = [case for case in self.case_ids if case in set(rows["case_id"])]
        if rows.empty:
            raise InputError(f"no reply is left to train on: all {len(every)} are {LACKS_A_LABEL}.")
        columns = {"chosen": "chosen", "rejected": "rejected"} if is_dpo else {"chosen": "completion"}
        return [
            {
                "prompt": row["prompt"],
                **{name: message("assistant", str(row[reply])) for reply, name in columns.items()},
                **({"images": pictures[row["case_id"]]} if sees else {}),
            }
            for row in rows.to_dict("records")
        ]


def _check(plan: Plan, prompt: Prompt) -> None:
    """Raise `InputError` where the labels do not give the replies that a prompt asks for."""
    # A reason that is a key of its own is left out of what is learnt; reasons before the verdict cannot be.
    options = plan.recipe.examples
    if prompt.id == "reasoned":
        raise InputError(f"--prompt {prompt.id}: asks for what no label gives; use single, plain or rubric.")
    if options.reference == "half" or (options.reference == "keep") != prompt.needs_reference:
        cure = "always: add --reference keep" if prompt.needs_reference else "never: take --prompt reference for it"
        raise InputError(f"--reference {options.reference}: prompt {prompt.id} shows the reference answer {cure}.")
    if prompt.asks == "all" and set(plan.examples.rows["dimension"]) != set(plan.benchmark.meta.dimensions):
        raise InputError(f"--prompt {prompt.id}: one reply holds all dimensions; leave --dimension out.")
