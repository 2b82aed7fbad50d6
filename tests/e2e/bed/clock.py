"""The time by which what AWS does in a while is done. A test that looks at the moments in between takes it into its own hands."""

from __future__ import annotations

import time


class Clock:
    def __init__(self) -> None:
        self._held: float | None = None

    def now(self) -> float:
        """Seconds, from an arbitrary moment on."""
        return time.monotonic() if self._held is None else self._held

    def hold(self) -> None:
        """Stand still until forward() and release()."""
        self._held = self.now()

    def forward(self, seconds: float) -> None:
        assert self._held is not None
        self._held += seconds

    def release(self) -> None:
        self._held = None


clock = Clock()
