"""One small world that is evacuated and recovered again and again, each time with something in its way."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from bed import steps
from bed.account import Account
from bed.controller import Controller
from bed.controlplane import NAMESPACE
from bed.functions import small_functions
from bed.gate import Gate
from bed.kube import Kube
from bed.kube_gate import KubeGate
from bed.pods import create_pod, pods, wipe_pods
from bed.region import EVACUATED, Group, small_groups
from bed.services import small_services
from bed.world import Snapshot, World

NODE_NAMES = ("node-1", "node-2")


@dataclass
class Bench:
    """
    The world is made anew for each use, and checked to be as it was before. `gate` is AWS's; what the controller says to the API server
    goes through `kube_gate`, if there is one.
    """

    world: World
    account: Account
    kube: Kube
    gate: Gate
    controller: Controller
    kube_gate: KubeGate | None = None
    before: Snapshot | None = None
    claimed: int = 0  # how often a record stayed open for an update that might still have landed
    targets: list[dict] = field(default_factory=lambda: [steps.NODES, steps.GROUPS])
    groups: Callable[[], list[Group]] = small_groups
    with_pods: bool = False

    def node_names(self) -> set[str]:
        return set(NODE_NAMES) if steps.NODES in self.targets else set()

    def order(self) -> None:
        steps.order(self.kube, targets=self.targets)

    def renew(self, journal: bool = True) -> None:
        self.gate.clear()
        if self.kube_gate is not None:
            self.kube_gate.clear()
        self.kube.wipe_evacuations()
        self.kube.wipe_leases(NAMESPACE)
        if self.before is None or self.before.differences(self.world.snapshot()):
            self.kube.wipe_nodes()
            steps.create_node_elsewhere(self.kube)
            for name in sorted(self.node_names()):
                self.kube.create_node(name, EVACUATED, "us-east-1b")
        if self.with_pods:
            wipe_pods(self.kube)
            for name in sorted(self.node_names()):
                create_pod(self.kube, f"app-of-{name}", name)
        self._seed()
        if journal:
            self.account.create_journal()
        self.before = self.world.snapshot()

    def _seed(self) -> None:
        groups = self.groups() if steps.GROUPS in self.targets else []
        services = small_services() if steps.SERVICES in self.targets else []
        self.account.seed(groups, services, small_functions() if steps.FUNCTIONS in self.targets else [])

    def evacuate(self) -> None:
        self.controller.start()
        steps.await_ready(self.kube, controller=self.controller)

    def assert_out(self) -> None:
        """The zone is out exactly, and the status says so."""
        steps.assert_out(self.world)
        assert self.world.evacuated_nodes() == self.node_names()
        assert not self.with_pods or not pods(self.kube)
        steps.assert_told_out(self.kube, self.world, self.node_names())

    def recover(self, timeout: float = 60) -> None:
        """
        To the end, and then it is as it was. Where an update may still be on its way, that record stays open for five minutes more; what is
        waited for is that nothing else is left (the simulation plays it to its end on a virtual clock).
        """
        if steps.recover_but_claims(self.kube, self.world, self.before, self.controller, timeout) == 0:
            self.check_back()
            return
        self.claimed += 1
        self.end()

    def check_back(self) -> None:
        self.end()
        steps.assert_back(self.world, self.before)

    def end(self) -> None:
        assert self.controller.stop() == 0
        assert not self.gate.violations, self.gate.violations
        assert self.kube_gate is None or not self.kube_gate.failures, self.kube_gate.failures

    def give_up(self) -> None:
        """After a failure: whatever there is now, the next use begins from nothing."""
        self.controller.kill()
        if self.controller.process is not None:
            self.controller.wait()
        self.before = None
