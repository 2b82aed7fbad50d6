"""The Lambda functions that tests evacuate, and what a right evacuation makes of each."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from bed.region import Placed


@dataclass
class Function(Placed):
    """A function as seeded; without `places` it is in no VPC."""

    groups: list[str] = field(default_factory=lambda: ["app"])
    ipv6: bool = False
    versions: int = 0  # published with the subnets that it has at first
    aliases: dict[str, str] = field(default_factory=dict)  # alias -> version


# One of each kind; larger regions repeat them.
PATTERNS: list[tuple[str, list[str], dict[str, Any]]] = [
    ("orders", ["a0", "b0", "c0"], {"tags": {"team": "web"}}),
    ("plain", [], {}),
    ("mails", ["b0", "a1"], {"groups": ["app", "ops"]}),
    ("plain-tagged", [], {"tags": {"team": "web"}}),
    ("pinned", ["b2"], {"refused": "LastSubnet"}),
    ("plain-versioned", [], {"versions": 1, "aliases": {"live": "1"}}),
    ("versioned", ["c0", "b1", "a0"], {"versions": 2, "aliases": {"live": "2", "next": "$LATEST"}}),
    ("plain-2", [], {}),
    ("elsewhere", ["a0", "c0"], {}),
    ("plain-3", [], {}),
    ("dual-stack", ["b0", "c1"], {"ipv6": True}),
    ("plain-4", [], {}),
    ("excluded", ["a0", "b0"], {"tags": {"zonevac.dev/exclude": "true"}}),
    ("plain_5", [], {}),
]


def functions(count: int) -> list[Function]:
    """`count` functions of all kinds, half of them without a VPC."""
    made = []
    for number in range(count):
        stem, places, how = PATTERNS[number % len(PATTERNS)]
        name = stem if number < len(PATTERNS) else f"{stem}-{number}"
        made.append(Function(name, list(places), **how))
    return made


def small_functions() -> list[Function]:
    """Two functions that change, and one without a VPC."""
    return [
        Function("orders", ["a0", "b0", "c0"]),
        Function("mails", ["b0", "b1", "a0"], groups=["app", "ops"], ipv6=True),
        Function("plain", []),
    ]
