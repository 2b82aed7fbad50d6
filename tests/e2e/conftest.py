"""Fixtures: one control plane, account and gate a session; an empty world a test."""

from __future__ import annotations

import logging
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from bed import steps
from bed.account import Account
from bed.controller import Controller, binary
from bed.controlplane import NAMESPACE, ControlPlane
from bed.dynalite import Dynalite
from bed.gate import Gate
from bed.moto_patches import hurry
from bed.sources import Source
from bed.workloads import Workloads
from bed.world import World

PROCESS_SECONDS = 0.2  # how long instances take to move, deployments and updates to be done


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "product: needs the built zonevac")
    logging.getLogger("werkzeug").setLevel(logging.ERROR)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """A test that starts the product is named by its fixture; without the binary it fails, unlike the bed's own."""
    for item in items:
        if {"controllers", "live_controllers"} & set(getattr(item, "fixturenames", ())):
            item.add_marker("product")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo):
    report = yield
    if report.when == "call":
        item.stash[FAILED] = report.failed
    return report


FAILED = pytest.StashKey[bool]()


@pytest.fixture(scope="session")
def control_plane(tmp_path_factory: pytest.TempPathFactory):
    plane = ControlPlane(tmp_path_factory.mktemp("plane") / "control").start()
    yield plane
    plane.stop()


@pytest.fixture(scope="session")
def installed(control_plane: ControlPlane) -> ControlPlane:
    """The control plane with the project's CRD, RBAC and ServiceAccount."""
    control_plane.install()
    return control_plane


@pytest.fixture(scope="session")
def _account():
    account = Account().start()
    yield account
    account.stop()


@pytest.fixture(scope="session")
def _gate(_account: Account, tmp_path_factory: pytest.TempPathFactory):
    gate = Gate(_account, tmp_path_factory.mktemp("gate") / "gate.log").start()
    yield gate
    gate.stop()


@pytest.fixture(scope="session")
def _dynalite(tmp_path_factory: pytest.TempPathFactory):
    dynalite = Dynalite(tmp_path_factory.mktemp("dynalite")).start()
    yield dynalite
    dynalite.stop()


@pytest.fixture
def account(_account: Account) -> Account:
    hurry(PROCESS_SECONDS)
    _account.dynalite = None
    _account.seed([])
    return _account


@pytest.fixture(params=["moto", "dynalite"])
def store(request: pytest.FixtureRequest, account: Account) -> str:
    """Whose tables the account has; a test that asks for it is run on both."""
    if request.param == "dynalite":
        account.dynalite = request.getfixturevalue("_dynalite")
        account.dynalite.wipe()
    return request.param


@pytest.fixture
def gate(_gate: Gate, account: Account):
    _gate.clear()
    yield _gate
    violations = list(_gate.violations)
    _gate.clear()
    assert not violations, "requests that AWS would refuse:\n" + "\n".join(violations)


@pytest.fixture
def kube(installed: ControlPlane):
    """The API of a cluster with one node in another zone than the evacuated one, and without evacuations, events or leases of ours."""
    api = installed.kube
    wipe(api)
    steps.create_node_elsewhere(api)
    yield api
    wipe(api)


def wipe(api) -> None:
    api.wipe_evacuations()
    api.wipe_nodes()
    api.wipe_events()
    api.wipe_leases(NAMESPACE)


@pytest.fixture
def world(account: Account, kube) -> World:
    return World(account, kube)


@pytest.fixture
def controllers(request: pytest.FixtureRequest, gate: Gate, kube, installed: ControlPlane, tmp_path: Path):
    """Make a controller; all of a test's are stopped at its end, and their logs shown when it failed."""
    yield from _controllers(request, gate, installed, tmp_path)


def _controllers(request: pytest.FixtureRequest, gate: Gate, plane: ControlPlane, tmp_path: Path):
    assert binary().exists(), f"{binary()} is not built; set ZONEVAC_BIN"
    kubeconfig = plane.product_kubeconfig(tmp_path / "kubeconfig")
    made: list[Controller] = []

    def make(*flags: str, **how) -> Controller:
        log = tmp_path / f"zonevac-{len(made)}.log"
        made.append(Controller(gate, how.pop("kubeconfig", kubeconfig), log, *flags, **how))
        return made[-1]

    yield make
    for controller in made:
        if controller.running():
            controller.stop()
    if request.node.stash.get(FAILED, False):
        for controller in made:
            print(f"\n--- {controller.log} (its end)\n{controller.tail()}")
        print("\n--- last requests\n" + "\n".join(_describe(entry) for entry in gate.entries[-40:]))


@pytest.fixture
def sources(gate: Gate, tmp_path: Path):
    """Make and start a source of credentials."""
    made: list[Source] = []

    def make(kind, **how) -> Source:
        made.append(kind(gate.identities, tmp_path / f"source-{len(made)}", **how).start())
        return made[-1]

    yield make
    for source in made:
        source.end()


# a cluster that is alive: its pods are scheduled, run, and end


@pytest.fixture(scope="module")
def live_plane(tmp_path_factory: pytest.TempPathFactory):
    """A control plane of its own for one file of tests, with scheduler, controllers, and kwok for kubelets."""
    plane = ControlPlane(tmp_path_factory.mktemp("live-plane") / "control", alive=True).start()
    try:
        plane.install()
        yield plane
    finally:
        plane.stop()


@pytest.fixture
def workloads(live_plane: ControlPlane):
    """The live cluster, empty."""
    made = Workloads(live_plane.kube)
    made.create_namespace()
    made.wipe()
    wipe(live_plane.kube)
    yield made
    wipe(live_plane.kube)
    made.wipe()


@pytest.fixture
def live_kube(live_plane: ControlPlane, workloads: Workloads):
    return live_plane.kube


@pytest.fixture
def live_world(account: Account, live_kube) -> World:
    return World(account, live_kube)


@pytest.fixture
def live_controllers(request: pytest.FixtureRequest, gate: Gate, live_kube, live_plane: ControlPlane, tmp_path: Path):
    yield from _controllers(request, gate, live_plane, tmp_path)


def _describe(entry) -> str:
    return f"{entry.number:4} {entry.status} {entry.name} {str(entry.params)[:160]} {entry.note}"
