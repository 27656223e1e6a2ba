"""Eight reviewers, each a process of its own; two are killed on their way and start again from the beginning.

Prints the id of every mark that the store acknowledged. The processes are forked by this one, which holds no thread
and no connection, so that what is imported is imported once.
"""

import multiprocessing
import sys
from multiprocessing.connection import Connection
from uuid import NAMESPACE_URL, uuid5

from mrb_lib.review.records.marks import Adjudication
from mrb_lib.review.records.store import open_store

PROCESSES = multiprocessing.get_context("fork")


def mark(reviewer: str, number: int) -> Adjudication:
    """Every case is marked twice, the second time with another verdict."""
    verdict, choice = ("ambiguous", None) if number % 2 else ("gold_wrong", "tie")
    return Adjudication(
        "demo", f"case {number // 2}", reviewer, verdict, choice, answers={"reasons": ("order effect",)},
        note=f"{reviewer} {number} \N{STETHOSCOPE}", adjudication_id=str(uuid5(NAMESPACE_URL, f"{reviewer} {number}")),
    )  # fmt: skip


def work(where: str, reviewer: str, count: int, pipe: Connection) -> None:
    with open_store(where) as store:
        for number in range(count):
            store.add(mark(reviewer, number))
            pipe.send(mark(reviewer, number).adjudication_id)


def start(where: str, reviewer: str, count: int) -> tuple[multiprocessing.process.BaseProcess, Connection]:
    ours, theirs = PROCESSES.Pipe(duplex=False)
    process = PROCESSES.Process(target=work, args=(where, reviewer, count, theirs))
    process.start()
    theirs.close()
    return process, ours


def received(pipe: Connection) -> list[str]:
    """What is left in a pipe, once its process has ended or been killed."""
    found = []
    try:
        while True:
            found.append(pipe.recv())
    except (EOFError, OSError):
        return found


def main(where: str, reviewers: int, count: int) -> None:
    names = [f"reviewer {i}" for i in range(reviewers)]
    running = {name: start(where, name, count) for name in names}
    acknowledged: set[str] = set()
    for name in names[:2]:
        process, pipe = running[name]
        acknowledged.update(pipe.recv() for _ in range(5))
        process.kill()
        process.join()
        acknowledged.update(received(pipe))
        running[name] = start(where, name, count)
    for process, pipe in running.values():
        acknowledged.update(received(pipe))
        process.join()
        assert process.exitcode == 0
    print("\n".join(sorted(acknowledged)))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
