"""Is there a secret anywhere that a person or a program may read?"""

from __future__ import annotations

import json
import re
from urllib.parse import quote

from bed.controller import Controller
from bed.gate import Gate
from bed.kube import Kube
from bed.world import World

PAGES = ("/metrics", "/", "/healthz", "/readyz")


class Reader:
    """Looks as often as it is told to, and keeps what it saw."""

    def __init__(self, gate: Gate, kube: Kube, world: World, controller: Controller) -> None:
        self._gate, self._kube, self._world, self._controller = gate, kube, world, controller
        self._seen: list[tuple[str, str]] = []

    def look(self) -> None:
        self._seen.append(("status", json.dumps(self._kube.evacuations(), ensure_ascii=False)))
        self._seen.append(("events", json.dumps(self._kube.events(), ensure_ascii=False)))
        self._seen.append(("journal", json.dumps(self._world.items(), ensure_ascii=False, default=str)))
        if self._controller.running():
            self._seen += [(page, self._controller.http(page).text) for page in PAGES]

    def assert_no_secret(self, *more: str) -> None:
        """None that was ever issued, nor any of these."""
        self.look()
        log = self._controller.log.read_text(errors="replace")
        assert log
        for word in [*self._gate.identities.words, *more]:
            for form in {word, quote(word, safe="")}:
                for where, text in [*self._seen, ("log", log)]:
                    at = text.find(form)
                    assert at < 0, f"a secret in the {where}: …{text[max(0, at - 200) : at]}…"


def expiry_seconds(controller: Controller) -> float | None:
    """What the metric says; None where it is absent."""
    found = re.search(r"^zonevac_credentials_expiry_seconds (\S+)$", controller.http("/metrics").text, re.MULTILINE)
    return float(found[1]) if found else None
