"""In the place of llama.cpp: a server that answers what it was started with, after as many seconds as its weights say."""

import json
import os
import signal
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import SimpleNamespace


def CommonParams():  # noqa: N802 - its name there
    """What a server is started with."""
    return SimpleNamespace(model=SimpleNamespace(), cpuparams=SimpleNamespace(), cpuparams_batch=SimpleNamespace())


class Server:
    """Runs from when it is made."""

    def __init__(self, params):
        text = Path(params.model.path).read_text()
        if text == "killed":
            os.kill(os.getpid(), signal.SIGKILL)
        if text == "broken":
            raise RuntimeError("these are no weights")

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
                allowed = self.headers["authorization"] == f"Bearer {params.api_keys[0]}"
                time.sleep(float(text))
                told = {"context": params.n_ctx, "slots": params.n_parallel, "threads": params.cpuparams.n_threads}
                told |= {"cache": params.cache_ram_mib, "asked": sorted(asked)}
                body = json.dumps(
                    {
                        "model": next(iter(params.model_alias)),
                        "choices": [
                            {"message": {"content": f"[move] cooperation\n{json.dumps(told)}"}, "finish_reason": "stop"}
                        ],
                        "usage": {"prompt_tokens": 300, "completion_tokens": 20},
                    }
                )
                self.send_response(200 if allowed else 401)
                self.send_header("content-length", str(len(body)))
                self.end_headers()
                self.wfile.write(body.encode())

            def log_message(self, *_):
                """Nothing."""

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.listening_address = f"http://127.0.0.1:{self.server.server_port}"
