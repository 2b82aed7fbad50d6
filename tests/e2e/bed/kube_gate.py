"""The gate in front of the API server: ends TLS, understands each request, counts it, and fails, or kills, on demand.

A request passes: kill "before" -> faults -> the API server -> kill "after" -> answer -> kill "reply". It offers HTTP/1.1 alone, so that
a connection has one request at a time. Watches pass as they come. They and what has to do with the lease are counted apart: when they come
depends on the time alone.
"""

from __future__ import annotations

import asyncio
import collections
import json
import ssl
import threading
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs

from bed.controlplane import ControlPlane
from bed.faults import Fault
from bed.kills import Gone, Killer, reset

VERBS = {"GET": "get", "POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}
REASONS = {403: "Forbidden", 409: "Conflict", 429: "TooManyRequests", 500: "InternalError", 503: "ServiceUnavailable"}
HEAD_MAX_BYTES = 1 << 18
LOOK_SECONDS = 0.2  # whoever watches is looked at so often: a process that is dead reads nothing more


@dataclass
class Asked:
    """One request in the log; `number` counts those of its list from the last clear()."""

    verb: str
    resource: str  # "nodes", "pods/eviction"
    object: str
    number: int = 0
    status: int = 0
    note: str = ""
    at: float = field(default_factory=time.time)

    @property
    def name(self) -> str:
        return f"{self.verb} {self.resource}"


@dataclass
class _Message:
    """The head of a request or of an answer, as it came, and what it says of the body."""

    start: list[str]
    headers: dict[str, str]
    raw: bytes

    @property
    def status(self) -> int:
        return int(self.start[1])


class KubeGate(Killer):
    """
    `url` leads to the plane's API server. `entries` are the requests that count; `leases` those about leases, `watches` the streams.
    With `strikes_leases` numbers of kill points are those of `leases`.
    """

    def __init__(self, plane: ControlPlane) -> None:
        self._host, self._port = plane.server.removeprefix("https://").split(":")
        self._serving = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        pair = plane.authority.issue("kube-gate", server=True)
        self._serving.load_cert_chain(pair.cert, pair.key)
        self._serving.set_alpn_protocols(["http/1.1"])
        self._asking = ssl.create_default_context(cafile=str(plane.trust))
        self._asking.set_alpn_protocols(["http/1.1"])
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run, name="kube-gate", daemon=True)
        self._ready = threading.Event()
        self.url = ""
        self.clear()

    def clear(self) -> None:
        """Forget counts, log and faults: the state between tests."""
        self.entries: list[Asked] = []
        self.leases: list[Asked] = []
        self.watches: list[Asked] = []
        self.failures: list[str] = []  # the gate's own
        self.faults: list[Fault] = []
        self.strikes_leases = False
        self.disarm()

    def start(self) -> KubeGate:
        self._thread.start()
        assert self._ready.wait(10)
        return self

    def stop(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)
        assert not self._thread.is_alive(), "the gate does not stop"

    # what tests ask for

    def fault(self, pattern: str, kind: str, **how: Any) -> Fault:
        """`pattern`: "patch nodes", "create *"."""
        fault = Fault(pattern, kind, **how)
        self.faults.append(fault)
        return fault

    def counts(self) -> collections.Counter[str]:
        return collections.Counter(asked.name for asked in self.entries + self.leases + self.watches)

    # serving

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        listening = asyncio.start_server(self._client, "127.0.0.1", 0, ssl=self._serving, backlog=256, limit=HEAD_MAX_BYTES)
        server = self._loop.run_until_complete(listening)
        self.url = f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        self._ready.set()
        self._loop.run_forever()
        server.close()
        left = asyncio.all_tasks(self._loop)
        for task in left:
            task.cancel()
        self._loop.run_until_complete(asyncio.gather(*left, return_exceptions=True))
        self._loop.close()

    async def _client(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        killed, there = self.killed, None
        try:
            there = await asyncio.open_connection(self._host, int(self._port), ssl=self._asking, limit=HEAD_MAX_BYTES)
            while True:
                request = await _read_head(reader)
                body = b"".join([piece async for piece in _body(reader, request)])
                if killed.is_set():
                    return
                await self._serve(request, body, reader, writer, there)
        except (Gone, asyncio.IncompleteReadError, OSError):
            pass
        except Exception as error:  # noqa: BLE001 - a test must hear of it, whatever it is
            self.failures.append(f"the gate itself failed: {error!r}")
        finally:
            writer.transport.abort()
            if there is not None:
                there[1].transport.abort()

    async def _serve(self, request: _Message, body: bytes, reader, writer: asyncio.StreamWriter, there) -> None:
        asked = read_asked(request.start[0], request.start[1])
        entries = self._list_of(asked)
        entries.append(asked)
        asked.number = len(entries)
        self._strike_one(asked, "before")
        fault = next((fault for fault in self.faults if fault.strikes(asked.name, body)), None)
        if fault is not None:
            asked.note = fault.kind
            if fault.kind == "reset":
                reset(writer)
            if fault.kind == "error":
                await self._answer(writer, asked, _failure(fault))
                return
            assert fault.kind == "lost", f"this gate knows no fault {fault.kind}"
        there[1].write(request.raw + body)
        answer = await _read_head(there[0])
        asked.status = answer.status
        if asked.verb == "watch" and answer.status == 200:
            await self._stream(answer, reader, writer, there[0])
            return
        whole = answer.raw + b"".join([piece async for piece in _body(there[0], answer)])
        self._strike_one(asked, "after")
        if fault is not None:
            raise Gone
        await self._answer(writer, asked, whole)

    def _list_of(self, asked: Asked) -> list[Asked]:
        if asked.verb == "watch":
            return self.watches
        return self.leases if asked.resource == "leases" else self.entries

    def _strike_one(self, asked: Asked, moment: str) -> None:
        if self._list_of(asked) is (self.leases if self.strikes_leases else self.entries):
            self._strike(asked, moment)

    async def _answer(self, writer: asyncio.StreamWriter, asked: Asked, whole: bytes) -> None:
        asked.status = int(whole.split(b" ", 2)[1])
        writer.write(whole)
        await writer.drain()
        self._strike_one(asked, "reply")

    async def _stream(self, answer: _Message, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, source) -> None:
        """Pass it on, piece by piece, until one of both ends it."""
        writer.write(answer.raw)
        pieces = _body(source, answer)
        while True:
            coming = self._loop.create_task(anext(pieces, None))
            while not (await asyncio.wait({coming}, timeout=LOOK_SECONDS))[0]:
                if reader.at_eof() or writer.transport.is_closing():
                    coming.cancel()
                    raise Gone
            piece = coming.result()
            if piece is None:
                return
            writer.write(piece)
            await writer.drain()


def read_asked(method: str, target: str) -> Asked:
    """What a request is about, from its method and its path."""
    path, _, query = target.partition("?")
    parts = path.strip("/").split("/")
    skipped = {"api": 2, "apis": 3}.get(parts[0])
    if skipped is None or len(parts) <= skipped:
        return Asked(VERBS[method], path, "")
    parts = parts[skipped:]
    if parts[0] == "namespaces" and len(parts) > 2:
        parts = parts[2:]
    resource, name = parts[0], parts[1] if len(parts) > 1 else ""
    verb = VERBS[method]
    if verb == "get" and not name:
        verb = "watch" if parse_qs(query).get("watch", [""])[0] in ("1", "true") else "list"
    return Asked(verb, "/".join([resource, *parts[2:]]), name)


async def _read_head(reader: asyncio.StreamReader) -> _Message:
    raw = await reader.readuntil(b"\r\n\r\n")
    lines = raw.decode("latin1").split("\r\n")
    fields = (line.split(":", 1) for line in lines[1:] if line)
    return _Message(lines[0].split(" ", 2), {name.lower(): value.strip() for name, value in fields}, raw)


async def _body(reader: asyncio.StreamReader, message: _Message) -> AsyncIterator[bytes]:
    """What follows the head, piece by piece, as it came."""
    if message.headers.get("transfer-encoding") == "chunked":
        size = 1
        while size:
            head = await reader.readuntil(b"\r\n")
            size = int(head.split(b";")[0], 16)
            yield head + await reader.readexactly(size + 2)
    else:
        yield await reader.readexactly(int(message.headers.get("content-length", "0")))


def _failure(fault: Fault) -> bytes:
    """The API server's words for it."""
    document = {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": fault.message,
        "reason": REASONS[fault.status],
        "code": fault.status,
    }
    body = json.dumps(document).encode()
    lines = [f"HTTP/1.1 {fault.status} {REASONS[fault.status]}", "Content-Type: application/json", f"Content-Length: {len(body)}"]
    if fault.status == 429:
        lines.append("Retry-After: 1")
    return "\r\n".join([*lines, "", ""]).encode() + body
