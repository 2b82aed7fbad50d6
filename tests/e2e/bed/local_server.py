"""A small HTTP server on 127.0.0.1 that can be away for a while and come back at the same address."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

SILENCE_SECONDS = 30


@dataclass
class Reply:
    status: int
    body: bytes = b""
    content_type: str = "application/json"
    headers: dict[str, str] = field(default_factory=dict)


@dataclass
class Asked:
    method: str
    path: str
    headers: dict[str, str]
    status: int = 0
    at: float = field(default_factory=time.time)


class LocalServer:
    """Subclasses say what is replied. `fault`: a reply that is given instead; `silent`: none is."""

    def __init__(self) -> None:
        self.asked: list[Asked] = []
        self.fault: Reply | None = None
        self.silent = False
        self.port = 0
        self._server: ThreadingHTTPServer | None = None
        self._closing = threading.Event()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> LocalServer:
        """Listen; after stop(), where it did before."""
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                outer._serve(self)

            do_PUT = do_POST = do_HEAD = do_DELETE = do_GET

            def log_message(self, *_arguments: object) -> None:
                pass

        self._closing.clear()
        self._server = ThreadingHTTPServer(("127.0.0.1", self.port), Handler)
        self._server.daemon_threads = True
        self._server.block_on_close = False
        self.port = self._server.server_address[1]
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()
        return self

    def stop(self) -> None:
        """Connections are refused from now on."""
        if self._server is not None:
            self._closing.set()
            self._server.shutdown()
            self._server.server_close()
            self._server = None

    def reply(self, asked: Asked, body: bytes) -> Reply:
        raise NotImplementedError

    def _serve(self, handler: BaseHTTPRequestHandler) -> None:
        body = handler.rfile.read(int(handler.headers.get("Content-Length") or 0))
        asked = Asked(handler.command, handler.path, {key.lower(): value for key, value in handler.headers.items()})
        self.asked.append(asked)
        if self.silent:
            self._closing.wait(SILENCE_SECONDS)
            return
        reply = self.fault or self.reply(asked, body)
        asked.status = reply.status
        handler.send_response_only(reply.status)
        fields = {"Content-Type": reply.content_type, "Content-Length": str(len(reply.body)), "Connection": "close"}
        for name, value in (fields | reply.headers).items():
            handler.send_header(name, value)
        handler.end_headers()
        handler.wfile.write(reply.body)
