"""Several trainings on the machines of a Ray cluster, by Ray Tune, which gives each a GPU and starts it again."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from mrb_lib.build.training.parallel import Training, failure
from mrb_lib.build.training.train import Trained
from mrb_lib.runs.ray.cluster import Cluster
from mrb_lib.tables.errors import MrbError, RunError

# A machine that is lost costs what was trained since the last checkpoint.
_STARTS_AGAIN: Final = 3


def train_on_ray(trainings: Sequence[Training], at_once: int | None = None) -> Iterator[Trained | MrbError]:
    """Make trainings on Ray, and give each result, or why there is none, in their order when all are done.

    Parameters
    ----------
    trainings : every machine of the cluster must see their folders under the same names
    at_once : None for as many as there are GPUs, or without GPUs processors

    Raises
    ------
    InputError, RunError
        RAY_ADDRESS cannot be used from here, or Ray does not start.

    Notes
    -----
    Validated by tests/runs/test_scaleout.py.
    """
    with Cluster(at_once) as cluster:
        gpus = any(node.get("GPU", 0) for node in cluster.nodes())
        from ray import tune

        space = {"training": tune.grid_search(list(trainings)), "here": str(Path.cwd())}
        folder = Path(tempfile.mkdtemp(prefix="mrb-tune-"))
        try:
            tuner = tune.Tuner(
                tune.with_resources(_trial, {"cpu": 1, "gpu": 1 if gpus else 0}),
                param_space=space,
                tune_config=tune.TuneConfig(max_concurrent_trials=at_once),
                run_config=tune.RunConfig(
                    storage_path=str(folder),
                    verbose=0,
                    failure_config=tune.FailureConfig(max_failures=_STARTS_AGAIN),
                ),
            )
            found = tuner.fit()
            results = [found[i] for i in range(len(found))]
        finally:
            shutil.rmtree(folder, ignore_errors=True)
    for training, result in zip(trainings, results, strict=True):
        if result.error is None and result.metrics is not None:
            yield result.metrics["done_as"]
        else:
            yield failure(training.out.name, result.error or RunError("its machine was lost"))


def _trial(config: dict[str, Any]) -> None:
    """One training on one worker; an error of the user's is a result, for to try it again would not help."""
    from ray import tune

    os.chdir(config["here"])  # paths are as the user wrote them; Tune begins in a folder of its own
    training: Training = config["training"]
    try:
        done: Trained | MrbError = training.run()
    except MrbError as error:
        done = failure(training.out.name, error)
    tune.report({"done_as": done})
