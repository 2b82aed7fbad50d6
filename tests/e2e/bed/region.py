"""The region that tests evacuate: what is in it, and what a right evacuation makes of each group."""

from __future__ import annotations

from dataclasses import dataclass, field

from bed.moto_patches import ZONES

EVACUATED = "use1-az1"
ZONE_NAME = {ident: name for name, ident in ZONES.items()}
LETTER = {"a": "us-east-1a", "b": "us-east-1b", "c": "us-east-1c"}
SUBNETS_PER_ZONE = 3


@dataclass
class Placed:
    """What lies in subnets, as seeded: `places` are these by zone letter and number, in the order of its list."""

    name: str
    places: list[str]
    tags: dict[str, str] = field(default_factory=dict)
    refused: str = ""  # the guard that must refuse it
    selected: bool = True

    @property
    def key(self) -> str:
        """What it is known by in this account."""
        return self.name

    def in_subnets(self) -> bool:
        """Has it a network of its own?"""
        return True

    def in_zone(self, letter: str = "b") -> list[str]:
        return [place for place in self.places if place.startswith(letter)]

    def changes(self) -> bool:
        """Does evacuating zone b (use1-az1) change it?"""
        excluded = self.tags.get("zonevac.dev/exclude") == "true" or not self.selected
        return bool(self.in_zone()) and not self.refused and not excluded

    def places_out(self) -> list[str]:
        """Its places while the zone is evacuated."""
        return [place for place in self.places if not place.startswith("b")] if self.changes() else self.places


@dataclass
class Group(Placed):
    """An Auto Scaling group."""

    desired: int = 3
    separator: str = ","


# One of each kind of list; larger regions repeat them.
PATTERNS: list[tuple[str, list[str], dict[str, str], str]] = [
    ("web", ["a0", "b0", "c0"], {"team": "web"}, ""),
    ("api", ["b0", "a0", "c0"], {"team": "web"}, ""),
    ("worker", ["c0", "a1", "b1"], {}, ""),
    ("shop & co <eu>", ["b0", "b1", "a0", "c1"], {"team": "shop"}, ""),
    ("elsewhere", ["a0", "c0"], {}, ""),
    ("pinned", ["b2"], {}, "LastSubnet"),
    ("interleaved", ["a0", "b1", "c0", "b0", "a1"], {}, ""),
    ("eks", ["a0", "b0"], {"eks:nodegroup-name": "general", "eks:cluster-name": "prod"}, "ManagedByEks"),
    ("single zone left", ["c1", "b2"], {}, ""),
    ("two in zone only", ["b0", "b1"], {}, "LastSubnet"),
    ("excluded", ["a0", "b0"], {"zonevac.dev/exclude": "true"}, ""),
    ("batch/ünicode", ["b2", "c2", "b0", "a2", "b1"], {"team": "batch"}, ""),
]


def groups(count: int) -> list[Group]:
    """`count` groups of all kinds."""
    made = []
    for number in range(count):
        stem, places, tags, refused = PATTERNS[number % len(PATTERNS)]
        name = stem if number < len(PATTERNS) else f"{stem} {number}"
        made.append(Group(name, list(places), dict(tags), desired=2 + number % 3, refused=refused))
    return made


def small_groups() -> list[Group]:
    """Three groups that all change: the region of the kill matrix."""
    return [
        Group("one", ["a0", "b0", "c0"], desired=2),
        Group("two", ["b0", "b1", "a0"], desired=2),
        Group("three", ["c0", "a0", "b2"], desired=2),
    ]
