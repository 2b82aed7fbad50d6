"""A TCP relay in front of a server, that can be shut, fall silent, or end connections: a network that fails for one client alone."""

from __future__ import annotations

import asyncio
import threading
import time

PIECE = 65536


class Relay:
    """
    `url` leads to `server`. `accepted` has the moment of each connection.

    shut: new connections are reset, there are none left. silence: nothing is passed on and nothing said, as when packets are lost; what
    was on its way then is never delivered. hold: what is said is passed on when it is released. age_seconds: a connection is ended so long
    after it began.
    """

    def __init__(self, server: str) -> None:
        scheme, _, address = server.partition("://")
        self._scheme = scheme
        self._host, self._port = address.split(":")
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run, name="relay", daemon=True)
        self._ready = threading.Event()
        self._writers: dict[asyncio.StreamWriter, float] = {}
        self._shut = self._silent = self._held = False
        self.age_seconds: float | None = None
        self.accepted: list[float] = []
        self.url = ""

    def start(self) -> Relay:
        self._thread.start()
        assert self._ready.wait(10)
        return self

    def stop(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)

    # what tests ask for

    def cut(self) -> None:
        """End all connections."""
        self._do(self._cut)

    def shut(self) -> None:
        self._shut = True
        self.cut()

    def silence(self) -> None:
        self._silent = True

    def hold(self) -> None:
        self._held = True

    def release(self) -> None:
        self._held = False

    def open(self) -> None:
        """As at the beginning; connections that were silenced end."""
        was_silent, self._shut, self._silent = self._silent, False, False
        if was_silent:
            self.cut()

    # the loop's

    def _do(self, function) -> None:
        done = threading.Event()

        def act() -> None:
            function()
            done.set()

        self._loop.call_soon_threadsafe(act)
        assert done.wait(10)

    def _cut(self) -> None:
        for writer in list(self._writers):
            writer.transport.abort()

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        server = self._loop.run_until_complete(asyncio.start_server(self._client, "127.0.0.1", 0, backlog=256))
        self.url = f"{self._scheme}://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        ageing = self._loop.create_task(self._end_the_old())
        self._ready.set()
        self._loop.run_forever()
        server.close()
        left = asyncio.all_tasks(self._loop) | {ageing}
        for task in left:
            task.cancel()
        self._loop.run_until_complete(asyncio.gather(*left, return_exceptions=True))
        self._loop.close()

    async def _end_the_old(self) -> None:
        while True:
            await asyncio.sleep(0.2)
            for writer, began in list(self._writers.items()):
                if self.age_seconds is not None and time.monotonic() - began > self.age_seconds:
                    writer.transport.abort()

    async def _client(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.accepted.append(time.time())
        if self._shut:
            writer.transport.abort()
            return
        self._writers[writer] = time.monotonic()
        try:
            there = await asyncio.open_connection(self._host, int(self._port))
        except OSError:
            writer.transport.abort()
            del self._writers[writer]
            return
        pumps = [self._loop.create_task(self._pump(reader, there[1])), self._loop.create_task(self._pump(there[0], writer))]
        await asyncio.wait(pumps, return_when=asyncio.FIRST_COMPLETED)
        for pump in pumps:
            pump.cancel()
        writer.transport.abort()
        there[1].transport.abort()
        del self._writers[writer]

    async def _pump(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while piece := await reader.read(PIECE):
                if self._silent:
                    await asyncio.sleep(3600)
                while self._held:
                    await asyncio.sleep(0.01)
                writer.write(piece)
                await writer.drain()
        except OSError:
            pass
