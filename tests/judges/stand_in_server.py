"""An OpenAI-compatible server for tests, started as a command: stand_in_server.py BEHAVIOUR NOTES MODEL PORT [MORE...].

It writes its process id and that of a child, which ignores being asked to end, to the file NOTES, with all arguments.
BEHAVIOUR is "answers", also with another list of models ("lists models", "is a list", "says hello"),
"dies" at the start, "hangs" before it listens, "has no list", or "breaks" at the third request.
"""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))  # it is run by its path
from tests.judges.endpoint.chat_server import ChatServer, Received, Response, message, token

STUBBORN = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(600)"
NAMES = ("accuracy", "relevance", "comprehensiveness", "creativity", "responsiveness", "overall")


def main(behaviour: str, notes: str, model: str, port: str, *more: str) -> None:
    """Behave as named; it lists one model, states a version, and prefers the response shown first."""

    def answer(received: Received) -> Response:
        if behaviour == "breaks" and len(server.received) == 3:
            print("CUDA error: an illegal memory access", flush=True)
            os._exit(7)
        if behaviour == "waits":
            time.sleep(600)
        if received.body["model"] != f"served/{model}" and behaviour != "says hello":
            return Response({"error": {"message": "no such model"}})
        if received.body.get("max_tokens") == 1:
            return message("A", tokens=[token("A", A=-0.2, B=-1.8)])
        return message(json.dumps(dict.fromkeys(NAMES, "B")))

    child = subprocess.Popen([sys.executable, "-c", STUBBORN])
    said = {"pids": [os.getpid(), child.pid], "model": model, "more": more, "offline": os.environ.get("HF_HUB_OFFLINE")}
    Path(notes).write_text(json.dumps(said), encoding="utf-8")
    print("reading weights\x1b[31m", flush=True)
    if behaviour == "dies":
        sys.exit("ValueError: Model architectures ['Nobody'] are not supported for now")
    if behaviour == "hangs":
        time.sleep(600)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    name, pages = f"served/{model}", {"/version": {"version": "9.8.7"}}
    listed = {
        "lists models": {"models": [{"name": name}]}, "is a list": [{"id": name}], "says hello": {"status": "ok"},
    }  # fmt: skip
    if behaviour != "has no list":
        pages["/v1/models"] = listed.get(behaviour, {"data": [{"id": name}]})
    server = ChatServer(answer, int(port), pages)
    server.serve_forever()


if __name__ == "__main__":
    main(*sys.argv[1:])
