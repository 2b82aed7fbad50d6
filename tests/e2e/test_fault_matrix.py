"""Each operation that the product sends, and each trouble that may befall it: the zone is out exactly, then back exactly.

ZONEVAC_E2E_SLOW=1 plays each operation and each trouble by itself. Else each trouble is played once, with one operation of each service at
a time, so that each service meets each trouble and each operation one of them. What a matrix has seen is printed at its end.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field

import pytest

from bed import steps
from bed.account import Account
from bed.bench import Bench
from bed.controlplane import ControlPlane
from bed.gate import Gate
from bed.kube import Kube
from bed.kube_gate import KubeGate
from bed.troubles import AWS_TROUBLES, KUBE_TROUBLES, Trial, Trouble
from bed.world import World

SLOW = os.environ.get("ZONEVAC_E2E_SLOW") == "1"
MAKING = {"dynamodb:CreateTable", "dynamodb:UpdateContinuousBackups"}
AWS_OPERATIONS = {
    "autoscaling": ["DescribeAutoScalingGroups", "UpdateAutoScalingGroup"],
    "dynamodb": ["PutItem", "UpdateItem", "DeleteItem", "GetItem", "CreateTable", "Query", "DescribeTable", "UpdateContinuousBackups"],
    "ec2": ["DescribeSubnets", "DescribeAvailabilityZones"],
    "ecs": ["UpdateService", "DescribeServices", "ListClusters", "ListServices"],
    "lambda": ["UpdateFunctionConfiguration", "GetFunction", "ListVersionsByFunction", "ListAliases", "ListFunctions"],
    "sts": ["GetCallerIdentity"],
}
LISTS = ["list nodes", "list zonalevacuations", "list pods", "list persistentvolumes"]
READS = ["get namespaces", *LISTS, "watch nodes", "watch zonalevacuations", "get leases"]
WRITES = ["patch nodes", "patch zonalevacuations", "patch zonalevacuations/status", "create events", "create pods/eviction"]
WRITES += ["create leases", "update leases"]
KUBE_OPERATIONS = READS + WRITES
FAILURES_MAX = 8


@dataclass
class Table:
    """What became of each cell."""

    title: str
    rows: list[str]
    columns: list[str]
    cells: dict[tuple[str, str], str] = field(default_factory=dict)

    def __str__(self) -> str:
        first = max(len(row) for row in self.rows)
        head = " " * first + "".join(f"{column:>12}" for column in self.columns)
        lines = [f"{row:{first}}" + "".join(f"{self.cells.get((row, column), ''):>12}" for column in self.columns) for row in self.rows]
        return "\n".join([self.title, head, *lines])


def _printed(request: pytest.FixtureRequest, table: Table):
    yield table
    capture = request.config.pluginmanager.getplugin("capturemanager")
    with capture.global_and_fixture_disabled():
        print(f"\n{table}")


@pytest.fixture(scope="module")
def aws_table(request: pytest.FixtureRequest):
    rows = [f"{service}:{name}" for service, names in AWS_OPERATIONS.items() for name in names]
    title = "AWS: seconds of an evacuation and a recovery, and where it was told what was denied"
    yield from _printed(request, Table(title, rows, [trouble.name for trouble in AWS_TROUBLES]))


@pytest.fixture(scope="module")
def kube_table(request: pytest.FixtureRequest):
    title = "API server: seconds of an evacuation and a recovery, and where it was told what was forbidden"
    yield from _printed(request, Table(title, KUBE_OPERATIONS, [trouble.name for trouble in KUBE_TROUBLES]))


@pytest.fixture
def bench(world: World, account: Account, kube: Kube, gate: Gate, controllers) -> Bench:
    return Bench(world, account, kube, gate, controllers(), targets=steps.EVERYTHING, with_pods=True)


@pytest.fixture
def kube_bench(bench: Bench, installed: ControlPlane, tmp_path):
    """With a lease, and a gate in front of the API server."""
    bench.kube_gate = KubeGate(installed).start()
    kubeconfig = installed.product_kubeconfig(tmp_path / "gated", server=bench.kube_gate.url)
    bench.controller.flags["--kubeconfig"] = str(kubeconfig)
    bench.controller.without("--leader-elect=false")
    yield bench
    bench.controller.kill()
    bench.kube_gate.stop()


def play(table: Table, bench: Bench, gate: Gate | KubeGate, trouble: Trouble, groups: list[list[str]]) -> None:
    """One trial for each group of operations."""
    failures = []
    if trouble.lasting:
        bench.controller.more_flags = ("--resync", "5s")  # what was refused is looked at again
    for operations in groups:
        if len(failures) >= FAILURES_MAX:
            break
        trial = Trial(bench, gate, trouble, operations)
        try:
            trial.play(journal=not MAKING.intersection(operations), both=SLOW)
            words = {name: " ".join([f"{trial.seconds:.1f}", *sorted(trial.told.get(name, ()))]) for name in operations}
        except (AssertionError, TimeoutError) as error:
            words = dict.fromkeys(operations, "FAILED")
            failures.append(f"{', '.join(operations)}: {trouble.name}: {error}\n{bench.controller.tail(30)}")
            bench.give_up()
        table.cells |= {(name, trouble.name): word for name, word in words.items()}
    assert not failures, "\n\n".join(failures)


def one_of_each(operations: dict[str, list[str]], number: int) -> list[str]:
    """Of each service the operation whose turn it is."""
    return [f"{service}:{names[number % len(names)]}" for service, names in operations.items()]


@pytest.mark.timeout(7200)
@pytest.mark.parametrize("trouble", AWS_TROUBLES, ids=lambda trouble: trouble.name)
def test_aws(bench: Bench, aws_table: Table, trouble: Trouble):
    groups = [[name] for name in aws_table.rows] if SLOW else [one_of_each(AWS_OPERATIONS, AWS_TROUBLES.index(trouble))]
    play(aws_table, bench, bench.gate, trouble, groups)


@pytest.mark.timeout(7200)
@pytest.mark.parametrize("trouble", KUBE_TROUBLES, ids=lambda trouble: trouble.name)
def test_api_server(kube_bench: Bench, kube_table: Table, trouble: Trouble):
    """No read meets a conflict. The sample has all writes meet one, and deals the operations out to the other troubles."""
    if trouble.name == "409":
        names = sample = WRITES
    else:
        names, others = KUBE_OPERATIONS, [each for each in KUBE_TROUBLES if each.name != "409"]
        sample = names[others.index(trouble) :: len(others)]
    play(kube_table, kube_bench, kube_bench.kube_gate, trouble, [[name] for name in names] if SLOW else [sample])
