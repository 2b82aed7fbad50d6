"""Who sees what happens to pods and budgets meanwhile, version by version."""

from __future__ import annotations

import contextlib
import threading
import time
from typing import Any

import requests

from bed.kube import Kube
from bed.workloads import BUDGETS, PODS, owner_kind

WATCH_SECONDS = 600


class Witness:
    """Watches a list from its start to its stop, and hears each event in a thread of its own."""

    path = ""

    def __init__(self, kube: Kube) -> None:
        self._kube = kube.another()
        self._opened = threading.Event()
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> Any:
        self._thread.start()
        assert self._opened.wait(10), f"no watch of {self.path}"
        return self

    def __exit__(self, *_error: object) -> None:
        self._stopped.set()

    def _run(self) -> None:
        with contextlib.suppress(requests.RequestException), self._kube.watch(self.path, WATCH_SECONDS) as events:
            self._opened.set()
            for event in events:
                if self._stopped.is_set():
                    return
                self.hear(event["type"], event["object"])

    def hear(self, kind: str, item: dict[str, Any]) -> None:
        raise NotImplementedError


class BudgetWitness(Witness):
    """`broken`: budgets with fewer healthy pods than they demand, at any time."""

    path = BUDGETS

    def __init__(self, kube: Kube) -> None:
        super().__init__(kube)
        self.broken: list[str] = []

    def hear(self, kind: str, item: dict[str, Any]) -> None:
        status = item.get("status", {})
        healthy, wanted = status.get("currentHealthy", 0), status.get("desiredHealthy", 0)
        if kind == "MODIFIED" and healthy < wanted:
            self.broken.append(f"{item['metadata']['name']}: {healthy} of {wanted}")


class PodWitness(Witness):
    """When the last pod that a drain waits for left each node (`left_at`), and how many did."""

    path = PODS

    def __init__(self, kube: Kube) -> None:
        super().__init__(kube)
        self.left_at: dict[str, float] = {}
        self.left = 0

    def hear(self, kind: str, item: dict[str, Any]) -> None:
        if kind == "DELETED" and owner_kind(item) == "ReplicaSet" and "nodeName" in item["spec"]:
            self.left_at[item["spec"]["nodeName"]] = time.time()
            self.left += 1
