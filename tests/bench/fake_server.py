"""What llama-server says on /health, /props and /completion, without a model. Run as a script: PORT [MODE]."""

from __future__ import annotations

import json
import sys
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any


def reply_to(body: dict[str, Any]) -> dict[str, Any]:
    """An answer of as many tokens as were asked for; it echoes what it was asked."""
    count = int(body["n_predict"])
    return {
        "content": " ".join(map(str, range(count))),
        "tokens": list(range(count)),
        "stop_type": "limit",
        "asked": body,
        "timings": {
            "prompt_n": len(body["prompt"]),
            "prompt_ms": 250.0,
            "predicted_n": count,
            "predicted_ms": 100.0 * (count - 1),
            "draft_n": 10,
            "draft_n_accepted": 4,
        },
    }


class Handler(BaseHTTPRequestHandler):
    """Three paths."""

    loading = 0
    mode = ""

    def do_GET(self) -> None:
        if self.path == "/health":
            type(self).loading -= 1
            ready = type(self).loading < 0
            self._send(200 if ready else 503, {"status": "ok"} if ready else {"error": {"message": "Loading model"}})
        elif self.path == "/props":
            self._send(200, {"build_info": "b1-fake"})
        else:
            self._send(404, {})

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.mode == "no timings":
            self._send(200, {"content": "x"})
        elif self.mode == "refuse":
            self._send(400, {"error": {"message": "the request exceeds the context"}})
        else:
            self._send(200, reply_to(body))

    def _send(self, code: int, value: dict[str, Any]) -> None:
        data = json.dumps(value).encode()
        self.send_response(code)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: object) -> None:
        """Quiet."""


if __name__ == "__main__":
    Handler.mode = sys.argv[2] if len(sys.argv) > 2 else ""
    if Handler.mode == "die":
        sys.exit("error: failed to load model")
    Handler.loading = 2
    HTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
