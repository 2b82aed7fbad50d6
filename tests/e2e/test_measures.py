"""Figures, beside the budgets of the design; printed, and only grossly exceeded ones fail (a busy machine is no defect)."""

from __future__ import annotations

import threading
import time

import pytest
import requests

from bed import steps
from bed.account import Account
from bed.controller import binary
from bed.controlplane import ControlPlane
from bed.gate import Gate
from bed.kube import Kube, wait_for
from bed.moto_patches import movement
from bed.region import EVACUATED, groups
from bed.world import TAINT, World

MIB = 1 << 20


class TaintWatch:
    """A watch of nodes of one's own, that tells when the first one and all are tainted."""

    def __init__(self, plane: ControlPlane, count: int) -> None:
        self._kube, self._left = plane.kube, count
        self.first = self.last = 0.0
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._opened = threading.Event()
        self.done = threading.Event()
        self._thread.start()
        assert self._opened.wait(10)

    def _run(self) -> None:
        tainted: set[str] = set()
        with self._kube.watch("/api/v1/nodes") as lines:
            self._opened.set()
            for event in lines:
                node = event["object"]
                if any(taint["key"] == TAINT for taint in node["spec"].get("taints", [])):
                    self.first = self.first or time.monotonic()
                    tainted.add(node["metadata"]["name"])
                if len(tainted) >= self._left:
                    self.last = time.monotonic()
                    self.done.set()
                    return


@pytest.fixture
def report(capsys: pytest.CaptureFixture):
    lines: list[str] = []
    yield lines.append
    with capsys.disabled():
        print("\n" + "\n".join("  " + line for line in lines))


def test_measure_latency_and_idle(controllers, account: Account, kube: Kube, installed: ControlPlane, report):
    account.seed(groups(12))
    for number in range(20):
        kube.create_node(f"n{number:02}", EVACUATED, "us-east-1b")
    began = time.monotonic()
    controller = controllers("--log-level", "info", leader_elect=True).start()
    wait_for("the lead", lambda: leads(controller), pause=0.01)
    report(f"start to leadership           {1000 * (time.monotonic() - began):8.0f} ms   (budget 500)")
    time.sleep(2)
    idle = controller.usage()
    time.sleep(3)
    later = controller.usage()
    report(f"resident, idle                {idle.rss_bytes / MIB:8.1f} MiB  (budget 12)")
    report(f"CPU, idle                     {1000 * (later.cpu_seconds - idle.cpu_seconds) / 3:8.1f} ms/s")
    watch = TaintWatch(installed, 20)
    began = time.monotonic()
    steps.order(kube)
    assert watch.done.wait(30)
    report(f"apply to first node tainted   {1000 * (watch.first - began):8.0f} ms   (budget 250)")
    report(f"apply to all 20 nodes tainted {1000 * (watch.last - began):8.0f} ms")
    steps.await_ready(kube)
    report(f"apply to Ready                {1000 * (time.monotonic() - began):8.0f} ms")
    assert idle.rss_bytes < 2 * 12 * MIB
    assert watch.first - began < 10
    steps.recover(kube)


def leads(controller) -> bool:
    try:
        return "\nzonevac_leader 1\n" in controller.http("/metrics").text
    except requests.RequestException:
        return False


def test_measure_requests_and_cpu(controllers, account: Account, world: World, kube: Kube, gate: Gate, report):
    account.seed(groups(120))
    changed = sum(group.changes() for group in account.groups)
    movement.seconds = 1.0
    account.create_journal()
    controller = controllers("--log-level", "info").without("--poll-interval").start()
    controller.await_ready()
    base = controller.usage()
    began = time.monotonic()
    steps.order(kube, targets=[steps.GROUPS])
    steps.await_ready(kube, timeout=180, controller=controller)
    out_seconds = time.monotonic() - began
    out, work = gate.counts(), controller.usage()
    began = time.monotonic()
    steps.recover(kube, timeout=180, controller=controller)
    back_seconds = time.monotonic() - began
    back, end = gate.counts() - out, controller.usage()
    requests_made = len(gate.entries)
    report(f"{changed} groups out in {out_seconds:.1f} s, back in {back_seconds:.1f} s; {requests_made} AWS requests")
    for title, counts in (("out", out), ("back", back)):
        for name, count in sorted(counts.items()):
            report(f"  {title:4} {name:42} {count:5}   {count / changed:5.2f} a group")
    per_request = 1000 * (end.cpu_seconds - base.cpu_seconds) / requests_made
    report(f"CPU per AWS request           {per_request:8.2f} ms   (budget 0.25)")
    report(f"resident, at work             {max(work.rss_bytes, end.rss_bytes) / MIB:8.1f} MiB")
    writes = out["dynamodb:PutItem"] + out["dynamodb:UpdateItem"] + out["autoscaling:UpdateAutoScalingGroup"]
    assert writes <= 3 * changed + 3, "more than intent, update and done a group"
    assert out["autoscaling:UpdateAutoScalingGroup"] == back["autoscaling:UpdateAutoScalingGroup"] == changed
    assert per_request < 2.5


def test_measure_binary(report):
    report(f"binary                        {binary().stat().st_size / MIB:8.2f} MiB  (budget 1, stripped)")
    assert binary().stat().st_size < 10 * MIB
