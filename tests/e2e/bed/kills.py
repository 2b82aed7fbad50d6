"""A process is killed at a moment of a request that passes a gate."""

from __future__ import annotations

import socket
import struct
import threading
from asyncio import StreamWriter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

MOMENTS = ("before", "after", "reply")


@dataclass
class KillPoint:
    number: int
    moment: str
    kill: Callable[[], None]


class Gone(Exception):
    """The connection ends here."""


class Killer:
    """What gates have in common. Their entries have a `number` and a `note`; what they count in `entries` can be struck."""

    entries: list[Any]

    def kill_at(self, number: int, moment: str, kill: Callable[[], None]) -> None:
        """Call `kill` at that moment of the request with that number. Nothing that comes later is let through until disarm()."""
        assert moment in MOMENTS
        self.killed.clear()
        self.kill_point = KillPoint(number, moment, kill)

    def disarm(self) -> None:
        """Whoever connects from now on is served."""
        self.kill_point: KillPoint | None = None
        self.killed = threading.Event()  # each connection keeps the one that there was when it began

    def killed_at(self) -> str:
        """Which request it was."""
        return next((entry.name for entry in self.entries if entry.note.startswith("killed")), "?")

    def _strike(self, entry: Any, moment: str) -> None:
        point = self.kill_point
        if point is None or point.number != entry.number or point.moment != moment:
            return
        self.kill_point = None
        entry.note = f"killed {moment}"
        self._write_log(entry)
        self.killed.set()  # first: whoever waits for the death may disarm at once
        point.kill()
        raise Gone

    def _write_log(self, entry: Any) -> None:
        """For gates that keep a log."""


def reset(writer: StreamWriter) -> None:
    """The client's connection ends with a reset."""
    connection = writer.get_extra_info("socket")
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    writer.transport.abort()
    raise Gone
