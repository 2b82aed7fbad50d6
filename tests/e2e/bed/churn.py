"""Others who change a cluster's nodes without pause: they come and go, move between zones, and are tainted."""

from __future__ import annotations

import random
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import requests

from bed.kube import MERGE_PATCH, Kube, KubeError
from bed.region import EVACUATED
from bed.world import CORDON, TAINT

ZONES = {EVACUATED: "us-east-1b", "use1-az2": "us-east-1c", "use1-az6": "us-east-1a"}
THREADS = 4
FOREIGN = "bed.example/others"
CORDONED = "bed.example/cordoned"  # the label of a node that its owner had cordoned at its birth
MOVED = "bed.example/moved"  # the label of a node that has been in another zone: what was taken there is given back at the recovery
ZONE_LABEL = "topology.k8s.aws/zone-id"


class Churn:
    """
    `count` nodes, and four threads that change them while it is entered, each its own quarter. What a thread is told to have failed may
    have been done: what there is in the end is read, not remembered. `done` counts what was done, `failed` what was not.
    """

    def __init__(self, kube: Kube, count: int, seed: int, per_second: float = 40) -> None:
        self.kube, self.count, self.seed = kube, count, seed
        self._pause = THREADS / per_second
        self._stopped = threading.Event()
        self._lock = threading.Lock()
        self.done: Counter[str] = Counter()
        self.failed: Counter[str] = Counter()
        self.touched: set[str] = set()
        self._threads = [threading.Thread(target=self._run, args=(number,), daemon=True) for number in range(THREADS)]

    def create(self) -> Churn:
        def share(number: int) -> None:
            kube, rng = self.kube.another(), random.Random(self.seed * 1000 + number)
            for name in self._names(number):
                _create(kube, rng, name)

        with ThreadPoolExecutor(THREADS) as pool:
            list(pool.map(share, range(THREADS)))
        return self

    def __enter__(self) -> Churn:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_error: object) -> None:
        self._stopped.set()
        for thread in self._threads:
            thread.join(60)
            assert not thread.is_alive()

    def _names(self, number: int) -> list[str]:
        return [f"churn-{index:04}" for index in range(number, self.count, THREADS)]

    def _run(self, number: int) -> None:
        kube, rng = self.kube.another(), random.Random(self.seed * 1000 + 500 + number)
        names = self._names(number)
        rng.shuffle(names)
        turn = 0
        while not self._stopped.wait(self._pause):
            name = names[turn % len(names)]  # all of them, then all again
            turn += 1
            deed = rng.choice(DEEDS)
            try:
                deed(kube, rng, name)
                self._note(self.done, deed.__name__.lstrip("_"), name)
            except (KubeError, requests.RequestException) as error:
                self._note(self.failed, str(getattr(error, "status", type(error).__name__)), name)
                time.sleep(0.2)

    def _note(self, counter: Counter[str], what: str, name: str) -> None:
        with self._lock:
            counter[what] += 1
            self.touched.add(name)


def _create(kube: Kube, rng: random.Random, name: str) -> None:
    zone = rng.choice(list(ZONES))
    cordoned = rng.random() < 0.1
    labels = {CORDONED: "true"} if cordoned else {}
    kube.create_node(name, zone, ZONES[zone], labels=labels, **({"unschedulable": True} if cordoned else {}))


def _move(kube: Kube, rng: random.Random, name: str) -> None:
    zone = rng.choice(list(ZONES))
    labels = {ZONE_LABEL: zone, "topology.kubernetes.io/zone": ZONES[zone], MOVED: "true"}
    _patch(kube, rng, name, {"metadata": {"labels": labels}})


def _taint(kube: Kube, rng: random.Random, name: str) -> None:
    _set_foreign(kube, rng, name, [{"key": FOREIGN, "value": str(rng.randrange(1000)), "effect": "NoSchedule"}])


def _untaint(kube: Kube, rng: random.Random, name: str) -> None:
    _set_foreign(kube, rng, name, [])


def _set_foreign(kube: Kube, rng: random.Random, name: str, taints: list[dict[str, Any]]) -> None:
    """Others know as well as we that the list has no merge of its own: they read it, and write it on condition."""
    for _ in range(20):
        node = kube.get(f"/api/v1/nodes/{name}")
        if node is None:
            _create(kube, rng, name)
            return
        kept = [taint for taint in node["spec"].get("taints", []) if taint["key"] != FOREIGN]
        metadata = {"resourceVersion": node["metadata"]["resourceVersion"]}
        try:
            kube.call("PATCH", f"/api/v1/nodes/{name}", {"metadata": metadata, "spec": {"taints": kept + taints}}, MERGE_PATCH)
            return
        except KubeError as error:
            if error.status not in (404, 409):
                raise


def _replace(kube: Kube, rng: random.Random, name: str) -> None:
    """Another machine under the same name."""
    try:
        kube.call("DELETE", f"/api/v1/nodes/{name}")
    except KubeError as error:
        if error.status != 404:
            raise
    _create(kube, rng, name)


def _remove(kube: Kube, rng: random.Random, name: str) -> None:
    try:
        kube.call("DELETE", f"/api/v1/nodes/{name}")
    except KubeError as error:
        if error.status != 404:
            raise


def _patch(kube: Kube, rng: random.Random, name: str, patch: dict[str, Any]) -> None:
    """Or make it anew, where it was removed."""
    try:
        kube.call("PATCH", f"/api/v1/nodes/{name}", patch, MERGE_PATCH)
    except KubeError as error:
        if error.status != 404:
            raise
        _create(kube, rng, name)


DEEDS = [_move, _move, _taint, _untaint, _replace, _remove]


def wrong_nodes(nodes: list[dict[str, Any]]) -> list[str]:
    """Those that are not as an evacuation of their zone must have them."""
    wrong = []
    for node in nodes:
        labels = node["metadata"]["labels"]
        taken = any(taint["key"] == TAINT for taint in node["spec"].get("taints", []))
        cordoned = node["spec"].get("unschedulable", False)
        inside = labels[ZONE_LABEL] == EVACUATED
        right = taken if inside else not taken or MOVED in labels
        if not right or cordoned != (taken or _was_cordoned(node)):
            wrong.append(f"{node['metadata']['name']}: taken {taken}, cordoned {cordoned}, {labels}")
    return wrong


def held(nodes: list[dict[str, Any]]) -> dict[str, Any]:
    """What of each node is not ours, and must be there after a recovery as it is now."""
    return {node["metadata"]["name"]: (node["metadata"]["labels"], _foreign(node), _was_cordoned(node)) for node in nodes}


def restored(nodes: list[dict[str, Any]]) -> dict[str, Any]:
    """The same of nodes of which nothing may be ours."""
    found = {}
    for node in nodes:
        taints = [taint for taint in node["spec"].get("taints", []) if taint["key"] != CORDON]
        labels, cordoned = node["metadata"]["labels"], node["spec"].get("unschedulable", False)
        found[node["metadata"]["name"]] = (labels, sorted(map(_words, taints)), cordoned)
    return found


def _foreign(node: dict[str, Any]) -> list[str]:
    return sorted(_words(taint) for taint in node["spec"].get("taints", []) if taint["key"] not in (TAINT, CORDON))


def _words(taint: dict[str, Any]) -> str:
    return f"{taint['key']}={taint.get('value', '')}:{taint['effect']}"


def _was_cordoned(node: dict[str, Any]) -> bool:
    return CORDONED in node["metadata"]["labels"]
