"""Replicas of the controller that can be told apart: a user in the cluster, an AWS key and a way to the API server of its own each."""

from __future__ import annotations

import signal
import time
from pathlib import Path
from typing import Any

import requests

from bed.audit import Asked
from bed.controller import Controller
from bed.controlplane import NAMESPACE, ControlPlane
from bed.gate import Entry, Gate
from bed.kube import Kube, wait_for
from bed.relay import Relay
from bed.steps import UPDATES
from bed.witness import Witness
from bed.world import TAINT

AWS_WRITES = {*UPDATES, "dynamodb:PutItem", "dynamodb:UpdateItem", "dynamodb:DeleteItem", "dynamodb:TransactWriteItems"}
LEASES = "/apis/coordination.k8s.io/v1/namespaces/{}/leases"


class Replica:
    """`relayed`: what it says to the API server goes through its `relay`, which takes time of the test's own process."""

    def __init__(
        self, plane: ControlPlane, gate: Gate, folder: Path, name: str, namespace: str = NAMESPACE, relayed: bool = False
    ) -> None:
        self.name, self.namespace = name, namespace
        self._plane, self._gate = plane, gate
        self._here = plane.audit.here()
        self._key = gate.identities.new_user_key(name)
        self.relay = Relay(plane.server).start()
        server = self.relay.url if relayed else None
        kubeconfig = plane.client_kubeconfig(folder / f"{name}.kubeconfig", name, server)
        self.controller = Controller(gate, kubeconfig, folder / f"{name}.log", leader_elect=True)
        self.controller.flags["--lease-namespace"] = namespace
        self.controller.environment.update(AWS_ACCESS_KEY_ID=self._key.access, AWS_SECRET_ACCESS_KEY=self._key.secret)

    def start(self) -> Replica:
        self.controller.start()
        return self

    def close(self) -> None:
        if self.controller.running():
            self.controller.process.send_signal(signal.SIGCONT)
            self.controller.kill()
            self.controller.wait()
        self.relay.stop()

    def leads(self) -> bool:
        try:
            return "\nzonevac_leader 1\n" in self.controller.http("/metrics").text
        except requests.RequestException:
            return False

    def await_lead(self, timeout: float = 30) -> float:
        """The moment at which it was seen to lead."""
        try:
            wait_for(f"{self.name} to lead", self.leads, timeout, pause=0.05)
        except TimeoutError as error:
            raise AssertionError(f"{error}\n{self.controller.tail(20)}") from None
        return time.time()

    # a process that stands still

    def freeze(self) -> float:
        """SIGSTOP; the moment."""
        self.controller.process.send_signal(signal.SIGSTOP)
        return time.time()

    def thaw(self) -> float:
        moment = time.time()
        self.controller.process.send_signal(signal.SIGCONT)
        return moment

    # what came from it

    def sent(self) -> list[Entry]:
        """To AWS."""
        return [entry for entry in self._gate.entries if entry.access == self._key.access]

    def sent_writes(self) -> list[Entry]:
        return [entry for entry in self.sent() if entry.name in AWS_WRITES]

    def asked(self) -> list[Asked]:
        """Of the API server."""
        return self._plane.audit.since(self._here, self.name)

    def asked_writes(self) -> list[Asked]:
        return [asked for asked in self.asked() if asked.writes]

    def last_renewal(self) -> float:
        """When the API server got the last renewal that it accepted."""
        return max(asked.at for asked in self.asked() if asked.what in ("update leases", "create leases") and asked.code < 300)

    def writes_since(self, moment: float) -> list[str]:
        """Whatever it still wrote after that: to AWS or to the cluster."""
        late = [f"{entry.name} {entry.at - moment:+.3f} s" for entry in self.sent_writes() if entry.at > moment]
        return late + [f"{asked.what} {asked.name} {asked.at - moment:+.3f} s" for asked in self.asked_writes() if asked.at > moment]


def hold_lease(kube: Kube, namespace: str, seconds: int, renewed: str) -> None:
    """Somebody else's lease, with that duration and time of its last renewal."""
    spec = {
        "holderIdentity": "somebody",
        "leaseDurationSeconds": seconds,
        "acquireTime": renewed,
        "renewTime": renewed,
        "leaseTransitions": 3,
    }
    body = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": "zonevac"}, "spec": spec}
    kube.call("POST", LEASES.format(namespace), body)


def lease(kube: Kube, namespace: str = NAMESPACE) -> dict[str, Any]:
    """Its spec."""
    return kube.get(LEASES.format(namespace) + "/zonevac")["spec"]


class StrikeAt(Witness):
    """Calls `strike` in its own thread when it has heard of the `count`-th object that matters; `struck` is the moment."""

    def __init__(self, kube: Kube, count: int, strike) -> None:
        super().__init__(kube)
        self._left, self._strike = count, strike
        self._seen: set[str] = set()
        self.struck = 0.0

    def matters(self, kind: str, item: dict[str, Any]) -> bool:
        raise NotImplementedError

    def hear(self, kind: str, item: dict[str, Any]) -> None:
        name = item["metadata"]["name"]
        if self.struck or name in self._seen or not self.matters(kind, item):
            return
        self._seen.add(name)
        if len(self._seen) >= self._left:
            self.struck = self._strike()


class TaintedNodes(StrikeAt):
    path = "/api/v1/nodes"

    def matters(self, kind: str, item: dict[str, Any]) -> bool:
        return any(taint["key"] == TAINT for taint in item["spec"].get("taints", []))


class EvictedPods(StrikeAt):
    path = "/api/v1/pods"

    def matters(self, kind: str, item: dict[str, Any]) -> bool:
        return kind == "DELETED"
