"""An OpenAI-compatible server for tests, started as a command: stand_in_server.py BEHAVIOUR NOTES MODEL PORT [MORE...].

It writes its process id and that of a child, which ignores being asked to end, to the file NOTES, with all arguments.
BEHAVIOUR is "answers", also with another list of models ("lists names", "lists no names"), "dies" at the start,
"hangs" before it listens, or "breaks" at the third request.
"""

import json
import os
import signal
import subprocess
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

STUBBORN = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(600)"


class Handler(BaseHTTPRequestHandler):
    """Lists one model, states a version, and prefers the response shown first."""

    behaviour = "answers"
    model = ""
    n_asked = 0

    def do_GET(self) -> None:
        listed = {"lists names": f"served/{self.model}", "lists no names": {"object": "model"}}
        models = [listed.get(self.behaviour, {"id": f"served/{self.model}"})]
        pages = {"/v1/models": {"data": models}, "/version": {"version": "9.8.7"}}
        self.reply(pages.get(self.path, {}))

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        type(self).n_asked += 1
        if self.behaviour == "breaks" and self.n_asked == 3:
            print("CUDA error: an illegal memory access", flush=True)
            os._exit(7)
        if self.behaviour == "waits":
            time.sleep(600)
        letters = [{"token": "A", "logprob": -0.2}, {"token": "B", "logprob": -1.8}]
        token = {"token": "A", "logprob": -0.2, "top_logprobs": letters}
        names = ("accuracy", "relevance", "comprehensiveness", "creativity", "responsiveness", "overall")
        content = "A" if asked.get("max_tokens") == 1 else json.dumps(dict.fromkeys(names, "B"))
        choice = {"index": 0, "message": {"role": "assistant", "content": content}, "finish_reason": "stop"}
        choice["logprobs"] = {"content": [token]} if content == "A" else None
        is_ours = asked["model"] == f"served/{self.model}" or self.behaviour == "lists no names"
        usage = {"prompt_tokens": 2000, "completion_tokens": 1}
        self.reply({"choices": [choice], "usage": usage} if is_ours else {"error": {"message": "no such model"}})

    def reply(self, body: object) -> None:
        content = json.dumps(body).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


def main(behaviour: str, notes: str, model: str, port: str, *more: str) -> None:
    """Behave as named."""
    child = subprocess.Popen([sys.executable, "-c", STUBBORN])
    said = {"pids": [os.getpid(), child.pid], "model": model, "more": more, "offline": os.environ.get("HF_HUB_OFFLINE")}
    Path(notes).write_text(json.dumps(said), encoding="utf-8")
    print("reading weights\x1b[31m", flush=True)
    if behaviour == "dies":
        sys.exit("ValueError: Model architectures ['Nobody'] are not supported for now")
    if behaviour == "hangs":
        time.sleep(600)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    Handler.behaviour, Handler.model = behaviour, model
    ThreadingHTTPServer(("127.0.0.1", int(port)), Handler).serve_forever()


if __name__ == "__main__":
    main(*sys.argv[1:])
