"""SIGKILL at every request of an evacuation and of a recovery: before it is sent on, after it is done, and at its answer.

However the controller dies, the one that is started next ends the work: the zone is out exactly, then back exactly.
ZONEVAC_E2E_KILL_STRIDE=N tries every N-th request of each matrix instead of what fits into a run of all tests. ZONEVAC_E2E_SLOW=1 adds what
waits: for a lease to run out, for a signature to grow old.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass, field

import pytest

from bed import steps
from bed.account import TABLE, Account
from bed.bench import Bench
from bed.controlplane import ControlPlane
from bed.gate import Gate
from bed.kills import MOMENTS, Killer
from bed.kube import Kube, wait_for
from bed.kube_gate import KubeGate
from bed.world import World

FAILURES_MAX = 6  # each may have waited a minute; more of the same teach nothing
SLOW = os.environ.get("ZONEVAC_E2E_SLOW") == "1"


def stride(usual: int) -> int:
    return int(os.environ.get("ZONEVAC_E2E_KILL_STRIDE", usual))


@pytest.fixture
def bench(world: World, account: Account, kube: Kube, gate: Gate, controllers) -> Bench:
    return Bench(world, account, kube, gate, controllers())


@pytest.fixture
def kube_gate(installed: ControlPlane):
    made = KubeGate(installed).start()
    yield made
    made.stop()


@pytest.fixture
def kube_bench(world: World, account: Account, kube: Kube, gate: Gate, controllers, kube_gate: KubeGate, installed, tmp_path) -> Bench:
    """All kinds, pods to evict, and a gate in front of the API server."""
    kubeconfig = installed.product_kubeconfig(tmp_path / "gated", server=kube_gate.url)
    controller = controllers(kubeconfig=kubeconfig)
    return Bench(world, account, kube, gate, controller, kube_gate, targets=steps.EVERYTHING, with_pods=True)


def undisturbed(bench: Bench, killer: Killer) -> tuple[int, int]:
    """How many requests an evacuation takes, and how many up to the end of the recovery."""
    bench.renew()
    bench.order()
    bench.evacuate()
    bench.assert_out()
    out = len(killer.entries)
    steps.recover(bench.kube, controller=bench.controller)
    total = len(killer.entries)
    bench.check_back()
    return out, total


@dataclass
class Matrix:
    """Where to kill, and what came of it."""

    bench: Bench
    killer: Killer
    what: str
    struck: int = 0
    points: int = 0
    failures: list[str] = field(default_factory=list)

    def try_one(self, kill: Callable[[Bench, Killer, int, str], bool], number: int, moment: str) -> None:
        self.points += 1
        try:
            self.struck += kill(self.bench, self.killer, number, moment)
        except (AssertionError, TimeoutError) as error:
            self.failures.append(f"{kill.__name__} {number} {moment} ({self.killer.killed_at()}): {shortened(str(error))}")
            self.bench.give_up()


def evacuate_until_killed(bench: Bench, killer: Killer, number: int, moment: str) -> bool:
    killer.kill_at(number, moment, bench.controller.kill)
    bench.order()
    bench.controller.start()
    while bench.controller.running() and bench.kube.condition(steps.NAME, "Ready").get("status") != "True":
        time.sleep(0.02)
    return end_first_life(bench, killer)


def kill_while_evacuating(bench: Bench, killer: Killer, number: int, moment: str, journal: bool = True, leases: bool = False) -> bool:
    bench.renew(journal)
    if leases:
        bench.kube_gate.strikes_leases = True
    struck = evacuate_until_killed(bench, killer, number, moment)
    bench.evacuate()
    bench.assert_out()
    bench.recover()
    return struck


def kill_and_delete(bench: Bench, killer: Killer, number: int, moment: str) -> bool:
    """As while evacuating, but nobody wants it any more when the next one starts."""
    bench.renew()
    struck = evacuate_until_killed(bench, killer, number, moment)
    bench.kube.delete_evacuation(steps.NAME)
    bench.controller.start()
    bench.recover()
    return struck


def kill_while_restoring(bench: Bench, killer: Killer, number: int, moment: str) -> bool:
    """`number` counts from the deletion."""
    bench.renew()
    bench.order()
    bench.evacuate()
    killer.kill_at(len(killer.entries) + number, moment, bench.controller.kill)
    bench.kube.delete_evacuation(steps.NAME)
    while bench.controller.running() and bench.kube.evacuation(steps.NAME) is not None:
        time.sleep(0.02)
    struck = end_first_life(bench, killer)
    if struck:
        bench.controller.start().await_ready()
        steps.await_gone(bench.kube, controller=bench.controller)
    bench.check_back()
    return struck


def end_first_life(bench: Bench, killer: Killer) -> bool:
    """Was it killed? What it never came to is no failure: the order of requests that run side by side may vary."""
    if bench.controller.violent:
        bench.controller.wait()
    else:
        code = bench.controller.stop()
        assert code == 0 or bench.controller.violent, bench.controller.tail()
    killer.disarm()
    return bench.controller.violent


def shortened(text: str) -> str:
    """The sentence, and the end of the log where there is one."""
    lines = text.splitlines()
    return "\n".join(lines if len(lines) <= 14 else [lines[0], "…", *lines[-12:]])


def kill_everywhere(matrix: Matrix, capsys: pytest.CaptureFixture, every: int, out_kinds: tuple = (kill_while_evacuating,)) -> None:
    """`out_kinds`: how it goes on after a kill while evacuating; with a stride they take turns."""
    began = time.monotonic()
    out, total = undisturbed(matrix.bench, matrix.killer)
    points = [(kill, number) for number in range(1, out + 1, every) for kill in take_turns(out_kinds, number // every, every)]
    points += [(kill_while_restoring, number) for number in range(1, total - out + 1, every)]
    for kill, number in points:
        for moment in MOMENTS:
            if len(matrix.failures) < FAILURES_MAX:
                matrix.try_one(kill, number, moment)
    with capsys.disabled():
        print(
            f"\nkill matrix, {matrix.what}: {out} requests out, {total - out} back, {matrix.struck} of {matrix.points} points struck, "
            f"{matrix.bench.claimed} left a claim, {len(matrix.failures)} failed, {time.monotonic() - began:.0f} s"
        )
    assert not matrix.failures, "\n\n".join(matrix.failures)
    assert matrix.struck >= len(points) * 2


def take_turns(kinds: tuple, turn: int, every: int) -> list:
    return list(kinds) if every == 1 else [kinds[turn % len(kinds)]]


def test_killed_at_every_request(bench: Bench, capsys: pytest.CaptureFixture):
    kill_everywhere(Matrix(bench, bench.gate, "nodes and groups"), capsys, stride(1))


@pytest.mark.timeout(1800)
def test_killed_at_requests_for_services_and_functions(bench: Bench, capsys: pytest.CaptureFixture):
    bench.targets = [steps.SERVICES, steps.FUNCTIONS]
    kill_everywhere(Matrix(bench, bench.gate, "services and functions"), capsys, stride(4))


@pytest.mark.timeout(3600)
def test_killed_at_requests_to_the_api_server(kube_bench: Bench, capsys: pytest.CaptureFixture):
    matrix = Matrix(kube_bench, kube_bench.kube_gate, "the API server, every kind")
    kill_everywhere(matrix, capsys, stride(5), (kill_while_evacuating, kill_and_delete))


@pytest.mark.skipif(not SLOW, reason="waits for a lease to run out after each kill; ZONEVAC_E2E_SLOW=1 runs it")
@pytest.mark.timeout(1800)
def test_killed_at_requests_for_the_lease(kube_bench: Bench, capsys: pytest.CaptureFixture):
    """The first four: it is asked for, made, and renewed."""
    kube_bench.controller.without("--leader-elect=false")
    kube_gate, began, struck = kube_bench.kube_gate, time.monotonic(), 0
    for number in range(1, 5):
        for moment in MOMENTS:
            struck += kill_while_evacuating(kube_bench, kube_gate, number, moment, leases=True)
    with capsys.disabled():
        print(f"\nkill matrix, the lease: {struck} of 12 points struck, {time.monotonic() - began:.0f} s")
    assert struck >= 6


def test_killed_while_the_journal_is_made(bench: Bench):
    bench.renew(journal=False)
    bench.order()
    bench.evacuate()
    making = [entry.number for entry in bench.gate.named("dynamodb:CreateTable", "dynamodb:UpdateContinuousBackups")]
    steps.recover(bench.kube, controller=bench.controller)
    bench.check_back()
    assert len(making) == 2
    for number in making:
        for moment in MOMENTS:
            kill_while_evacuating(bench, bench.gate, number, moment, journal=False)
    backups = bench.account.client("dynamodb").describe_continuous_backups(TableName=TABLE)["ContinuousBackupsDescription"]
    assert backups["PointInTimeRecoveryDescription"]["PointInTimeRecoveryStatus"] == "ENABLED"


@pytest.mark.skipif(not SLOW, reason="takes six minutes; ZONEVAC_E2E_SLOW=1 runs it")
@pytest.mark.timeout(600)
def test_deleted_after_a_kill_in_the_middle(bench: Bench):
    """All is back at once, but a record whose update may still land is closed only when its signature is too old."""
    out, _total = undisturbed(bench, bench.gate)
    number = next(entry.number for entry in bench.gate.entries[:out] if entry.name == "autoscaling:UpdateAutoScalingGroup")
    bench.renew()
    bench.gate.kill_at(number, "before", bench.controller.kill)
    bench.order()
    bench.controller.start()
    bench.controller.wait(20)
    end_first_life(bench, bench.gate)
    bench.kube.delete_evacuation(steps.NAME)
    bench.controller.start()
    wait_for("all to be back", lambda: not bench.before.differences(bench.world.snapshot()), timeout=30)
    assert bench.kube.evacuation(steps.NAME) is not None
    assert bench.world.records()
    steps.await_gone(bench.kube, timeout=400, controller=bench.controller)
    bench.check_back()
