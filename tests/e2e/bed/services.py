"""The ECS services that tests evacuate, and what a right evacuation makes of each."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from bed.region import Placed

CLUSTERS = ("prod", "nonprod", "data", "batch-jobs", "edge_1", "empty")  # one name ends in another, one cluster has no services


@dataclass
class Service(Placed):
    """A service as seeded; `places` of one without awsvpc networking say where its instances would be."""

    cluster: str = "prod"
    desired: int = 2
    groups: list[str] = field(default_factory=lambda: ["app"])
    public_ip: str = "DISABLED"
    controller: str = "ECS"
    strategy: str = "ROLLING"
    launch_type: str = "FARGATE"
    awsvpc: bool = True

    @property
    def key(self) -> str:
        return f"{self.cluster}/{self.name}"

    def in_subnets(self) -> bool:
        return self.awsvpc


# One of each kind; larger regions repeat them.
PATTERNS: list[tuple[str, list[str], dict[str, Any]]] = [
    ("web", ["a0", "b0", "c0"], {"tags": {"team": "web"}}),
    ("api", ["b0", "a0", "c0"], {"groups": ["app", "ops"], "public_ip": "ENABLED"}),
    ("worker", ["c0", "a1", "b1"], {"desired": 4, "launch_type": "EC2"}),
    ("elsewhere", ["a0", "c0"], {}),
    ("pinned", ["b2"], {"refused": "LastSubnet"}),
    ("idle", ["b0", "c1"], {"desired": 0}),
    ("bridge", ["b0"], {"awsvpc": False, "launch_type": "EC2", "refused": "NotAwsvpc"}),
    ("codedeploy", ["a0", "b0"], {"controller": "CODE_DEPLOY", "refused": "UnsupportedDeploymentController"}),
    ("interleaved", ["a0", "b1", "c0", "b0", "a1"], {"groups": []}),
    ("external", ["b0", "c0"], {"controller": "EXTERNAL", "refused": "UnsupportedDeploymentController"}),
    ("blue-green", ["c0", "b2"], {"strategy": "BLUE_GREEN", "refused": "UnsupportedDeploymentController"}),
    ("excluded", ["a0", "b0"], {"tags": {"zonevac.dev/exclude": "true"}}),
]


def services(count: int) -> list[Service]:
    """`count` services of all kinds, spread over all clusters but the last; names repeat from cluster to cluster."""
    made = []
    clusters = CLUSTERS[:-1]
    for number in range(count):
        stem, places, how = PATTERNS[number // len(clusters) % len(PATTERNS)]
        turn = number // (len(clusters) * len(PATTERNS))
        name = f"{stem}-{turn}" if turn else stem
        made.append(Service(name, list(places), cluster=clusters[number % len(clusters)], **how))
    return made


def small_services() -> list[Service]:
    """Two services that change, in two clusters."""
    return [
        Service("web", ["a0", "b0", "c0"]),
        Service("web", ["b0", "b1", "c0"], cluster="nonprod", groups=["app", "ops"], public_ip="ENABLED"),
    ]
