"""The gate in front of the account: keeps connections alive, judges each request, counts it, and fails, or kills, on demand.

A request passes: signature -> shape -> kill "before" -> faults -> the account -> kill "after" -> answer -> kill "reply". What no
product may send is refused as AWS would and remembered in `violations`; a test that leaves one there fails.
"""

from __future__ import annotations

import asyncio
import collections
import copy
import fnmatch
import json
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from bed.account import Account
from bed.answers import Answer, error_answer
from bed.birth import TableBirth
from bed.faults import HTML, PAGES, THROTTLES, Fault
from bed.identities import Identities
from bed.kills import Gone, Killer, reset
from bed.lists import PagingError
from bed.moto_patches import REGION
from bed.paging import Pager
from bed.refusals import identity_error
from bed.shapes import Call, ShapeError, read_call
from bed.signature import Key, SignatureError, signed_service, verify
from bed.sts import WEB_IDENTITY, Sts
from bed.visibility import Visibility

WRITES = ("dynamodb:PutItem", "dynamodb:UpdateItem", "dynamodb:DeleteItem")


@dataclass
class Entry:
    """One request in the log; `number` counts from the last clear()."""

    number: int
    service: str
    operation: str
    params: dict[str, Any]
    status: int = 0
    note: str = ""
    access: str = ""  # the key it was signed with, and whose that is; none for what is not signed, or wrongly
    identity: str = ""
    at: float = field(default_factory=time.time)
    answered: float = 0.0

    @property
    def name(self) -> str:
        return f"{self.service}:{self.operation}"


@dataclass
class _Request:
    method: str
    target: str
    headers: dict[str, str]
    fields: list[tuple[str, str]]
    body: bytes
    key: Key | None = None  # that it is rightly signed with

    def needs_no_signature(self) -> bool:
        return "authorization" not in self.headers and f"Action={WEB_IDENTITY}".encode() in self.body.split(b"&")

    def text(self) -> bytes:
        return unquote(self.target).encode() + b" " + self.body


class Gate(Killer):
    def __init__(self, account: Account, log: Path | None = None) -> None:
        self.account = account
        self.identities = Identities()
        self.sts = Sts(self.identities)
        self.pager = Pager()
        self.birth = TableBirth()
        self.visibility = Visibility()
        self.log_path = log
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run, name="gate", daemon=True)
        self._ready = threading.Event()
        self._log_file = log.open("a", buffering=1) if log else None
        self.url = ""
        self.clear()

    def clear(self) -> None:
        """Forget counts, log, faults and settings: the state between tests."""
        self.entries: list[Entry] = []
        self.violations: list[str] = []
        self.expected: set[str] = set()  # codes of signature errors that a test provokes
        self.faults: list[Fault] = []
        self.disarm()
        self.connections = 0
        self.latency_seconds = 0.0
        self.idle_close_seconds: float | None = None
        self.stale_writes = 0  # an index is read as it was so many writes ago
        self._history: collections.deque[Any] = collections.deque(maxlen=64)
        self.identities.clear()
        self.pager.clear()
        self.birth.clear()
        self.visibility.clear()

    def start(self) -> Gate:
        self._thread.start()
        self._ready.wait(10)
        return self

    def stop(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)
        assert not self._thread.is_alive(), "the gate does not stop"
        if self._log_file:
            self._log_file.close()

    # what tests ask for

    def fault(self, pattern: str, kind: str, **how: Any) -> Fault:
        fault = Fault(pattern, kind, **how)
        self.faults.append(fault)
        return fault

    def counts(self) -> collections.Counter[str]:
        return collections.Counter(entry.name for entry in self.entries)

    def sessions(self, service: str = "*") -> list[str]:
        """The access keys whose requests were answered, in the order of their first one."""
        matching = (entry for entry in self.entries if entry.access and fnmatch.fnmatchcase(entry.service, service))
        return list(dict.fromkeys(entry.access for entry in matching if entry.status == 200))

    def named(self, *names: str) -> list[Entry]:
        return [entry for entry in self.entries if entry.name in names]

    # serving

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        server = self._loop.run_until_complete(asyncio.start_server(self._client, "127.0.0.1", 0, backlog=256))
        self.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        self._ready.set()
        self._loop.run_forever()
        server.close()
        left = asyncio.all_tasks(self._loop)
        for task in left:
            task.cancel()
        self._loop.run_until_complete(asyncio.gather(*left, return_exceptions=True))
        self._loop.close()

    async def _client(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        killed = self.killed
        try:
            while True:
                request = await asyncio.wait_for(_read_request(reader), self.idle_close_seconds)
                if killed.is_set():
                    return
                await self._serve(request, writer)
        except (Gone, asyncio.IncompleteReadError, ConnectionError, TimeoutError):
            pass
        except Exception as error:  # noqa: BLE001 - a test must hear of it, whatever it is
            self.violations.append(f"the gate itself failed: {error!r}")
        finally:
            writer.close()

    async def _serve(self, request: _Request, writer: asyncio.StreamWriter) -> None:
        unsigned = request.needs_no_signature()
        service = "sts" if unsigned else signed_service(request.headers) or "unknown"
        entry = Entry(len(self.entries) + 1, service, "?", {})
        self.entries.append(entry)
        try:
            if not unsigned:
                self._identify(entry, request)
            call = read_call(service, request.method, request.target, request.headers, request.body)
        except SignatureError as error:
            if error.code not in self.expected:
                self.violations.append(f"request {entry.number} ({service}): {error}")
            await self._refuse(writer, entry, *identity_error(service, error.code, error.sentence))
            return
        except (ShapeError, UnicodeDecodeError, ValueError) as error:
            self.violations.append(f"request {entry.number} ({service}): {error}")
            await self._refuse(writer, entry, 400, "MalformedInput", str(error))
            return
        entry.operation, entry.params = call.operation, call.params
        self._strike(entry, "before")
        if self.latency_seconds:
            await asyncio.sleep(self.latency_seconds)
        fault = next((fault for fault in self.faults if fault.strikes(call.name, request.text())), None)
        if fault is None:
            await self._pass(writer, entry, call, request)
        else:
            await self._fail(writer, entry, call, request, fault)

    def _identify(self, entry: Entry, request: _Request) -> None:
        keys, now = self.identities.keys, self.identities.now()
        try:
            key = verify(request.method, request.target, request.headers, request.body, keys, REGION, now)
        except SignatureError as error:
            entry.note = error.code
            raise
        request.key, entry.access, entry.identity = key, key.access, key.arn

    async def _pass(self, writer: asyncio.StreamWriter, entry: Entry, call: Call, request: _Request) -> None:
        try:
            answer = self._act(entry, call, request)
        except PagingError as error:
            await self._refuse(writer, entry, 400, error.code, str(error))
            return
        self._strike(entry, "after")
        await self._answer(writer, entry, answer)

    async def _fail(
        self, writer: asyncio.StreamWriter, entry: Entry, call: Call, request: _Request, fault: Fault
    ) -> None:
        entry.note = fault.kind
        if fault.kind == "throttle":
            await self._refuse(writer, entry, *THROTTLES.get(call.service, (400, "Throttling", "Rate exceeded")))
        elif fault.kind == "error":
            await self._refuse(writer, entry, fault.status, fault.code, fault.message)
        elif fault.kind in PAGES:
            await self._answer(writer, entry, Answer(PAGES[fault.kind], "text/html", b"" if fault.kind == "empty" else HTML))
        elif fault.kind == "reset":
            reset(writer)
        elif fault.kind == "delay":
            await asyncio.sleep(fault.seconds)
            await self._pass(writer, entry, call, request)
        else:
            await self._fail_afterwards(writer, entry, call, request, fault)

    async def _fail_afterwards(
        self, writer: asyncio.StreamWriter, entry: Entry, call: Call, request: _Request, fault: Fault
    ) -> None:
        answer = self._act(entry, call, request)
        self._strike(entry, "after")
        if fault.kind == "silent":
            await asyncio.sleep(fault.seconds or 3600)
        elif fault.kind == "truncate":
            writer.write(answer.head(self.identities.now()) + answer.body[: len(answer.body) // 2])
            await writer.drain()
        raise Gone

    def _act(self, entry: Entry, call: Call, request: _Request) -> Answer:
        early = self.birth.refuse(call) or (self.sts.answer(call, request.key) if call.service == "sts" else None)
        if early is not None:
            return early
        body = self.pager.rewrite(call, request.body)
        with self.account.lock, self._stale_index(call):
            status, fields, answer = self.account.handle(request.method, request.target, request.fields, body)
            if call.name in WRITES and self.stale_writes:
                self._history.append(copy.deepcopy(self._table_items(call)))
        headers = {key.lower(): value for key, value in fields}
        if status >= 500 and answer.startswith(b"<!doctype html"):
            self.violations.append(f"request {entry.number} ({call.name} {call.params}): moto answers {status} with HTML")
        elif status >= 300 and call.service == "lambda":
            return _rest_error(status, headers, answer)
        elif status == 200:
            answer = self.visibility.answer(call, self.birth.answer(call, self.pager.answer(call, answer)))
        return Answer(status, headers.get("content-type", "text/xml"), answer)

    async def _refuse(self, writer: asyncio.StreamWriter, entry: Entry, status: int, code: str, message: str) -> None:
        entry.note = entry.note or code
        await self._answer(writer, entry, error_answer(entry.service, status, code, message))

    async def _answer(self, writer: asyncio.StreamWriter, entry: Entry, answer: Answer) -> None:
        entry.status = answer.status
        entry.answered = time.time()
        self._write_log(entry)
        writer.write(answer.head(self.identities.now()) + answer.body)
        await writer.drain()
        self._strike(entry, "reply")

    def _write_log(self, entry: Entry) -> None:
        if self._log_file:
            line = {"n": entry.number, "at": entry.at, "call": entry.name, "status": entry.status, "note": entry.note}
            line |= {"access": entry.access, "identity": entry.identity, "params": _without_secrets(entry.params)}
            self._log_file.write(json.dumps(line, ensure_ascii=False, default=str) + "\n")

    # an index that lags

    def _table_items(self, call: Call) -> Any:
        return self.account.backend("dynamodb").tables[call.params["TableName"]].items

    def _stale_index(self, call: Call) -> _Swap:
        stale = self.stale_writes and call.operation == "Query" and "IndexName" in call.params
        if not stale or not self._history:
            return _Swap(None, None)
        at = max(0, len(self._history) - 1 - self.stale_writes)
        return _Swap(self.account.backend("dynamodb").tables[call.params["TableName"]], self._history[at])


class _Swap:
    """The table with other items, for as long as one query takes."""

    def __init__(self, table: Any, items: Any) -> None:
        self._table, self._items = table, items

    def __enter__(self) -> None:
        if self._table is not None:
            self._table.items, self._items = self._items, self._table.items

    def __exit__(self, *_error: object) -> None:
        if self._table is not None:
            self._table.items = self._items


async def _read_request(reader: asyncio.StreamReader) -> _Request:
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin1").split("\r\n")
    method, target, _version = head[0].split(" ", 2)
    fields = [(key, value.strip()) for key, value in (line.split(":", 1) for line in head[1:] if line)]
    headers = {key.lower(): value for key, value in fields}
    body = await reader.readexactly(int(headers.get("content-length", "0")))
    kept = [(key, value) for key, value in fields if key.lower() not in ("connection", "content-length")]
    return _Request(method, target, headers, kept, body)


def _rest_error(status: int, headers: dict[str, str], body: bytes) -> Answer:
    """moto writes the error's name into the body, Lambda into a header."""
    document = json.loads(body)
    code = headers.get("x-amzn-errortype") or document.get("__type", "")
    return error_answer("lambda", status, code, document.get("message") or document.get("Message", ""))


def _without_secrets(params: dict[str, Any]) -> dict[str, Any]:
    return {name: "…" if name == "WebIdentityToken" else value for name, value in params.items()}
