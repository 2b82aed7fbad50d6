"""Fixtures: one control plane, account and gate a session; an empty world a test."""

from __future__ import annotations

import logging
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from bed.account import Account
from bed.controller import Controller, binary
from bed.controlplane import NAMESPACE, ControlPlane
from bed.gate import Gate
from bed.moto_patches import movement
from bed.world import World

MOVEMENT_SECONDS = 0.2


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "product: needs the built zonevac")
    logging.getLogger("werkzeug").setLevel(logging.ERROR)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """A test that starts the product is named by its fixture; without the binary it fails, unlike the bed's own."""
    for item in items:
        if "controllers" in getattr(item, "fixturenames", ()):
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


@pytest.fixture
def account(_account: Account) -> Account:
    movement.seconds = MOVEMENT_SECONDS
    _account.seed([])
    return _account


@pytest.fixture
def gate(_gate: Gate, account: Account):
    _gate.clear()
    yield _gate
    violations = list(_gate.violations)
    _gate.clear()
    assert not violations, "requests that AWS would refuse:\n" + "\n".join(violations)


@pytest.fixture
def kube(installed: ControlPlane):
    """The API of a cluster without nodes, evacuations, events or leases of ours."""
    api = installed.kube
    wipe(api)
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
    assert binary().exists(), f"{binary()} is not built; set ZONEVAC_BIN"
    kubeconfig = installed.product_kubeconfig(tmp_path / "kubeconfig")
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


def _describe(entry) -> str:
    return f"{entry.number:4} {entry.status} {entry.name} {str(entry.params)[:160]} {entry.note}"
