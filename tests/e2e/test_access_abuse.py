"""Access that plays foul: a plugin that does all that a program may do, and a Lease that people write into."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
from pathlib import Path

import pytest
import yaml

from bed import steps
from bed.account import Account
from bed.audit import REPLICAS
from bed.controlplane import NAMESPACE, ControlPlane
from bed.gate import Gate
from bed.kube import MERGE_PATCH, Kube, KubeError, wait_for
from bed.moto_patches import hurry
from bed.region import small_groups
from bed.replicas import LEASES, lease
from bed.secrecy import Reader
from bed.world import World

LEASE = LEASES.format(NAMESPACE) + "/zonevac"
SECRET = "s3cr3t-of-the-plugin"
MOVES_SECONDS = 10.0
RUNS = 7  # each way to behave, and anew
LIFE_SECONDS = 4
PLUGIN = f'''#!{sys.executable}
import json, os, signal, subprocess, sys
from datetime import datetime, timedelta, timezone
from pathlib import Path

folder = Path(__file__).parent
child = subprocess.Popen(["sleep", "120"])  # stays, with our standard output and error
with (folder / "children").open("a") as out:
    print(child.pid, file=out)
run = len((folder / "children").read_text().split())
signal.signal(signal.SIGTERM, signal.SIG_IGN)
if run % 5 == 2:
    for _ in range(80):
        sys.stdout.write("{SECRET}" * 4096)
    sys.exit(0)
if run % 5 == 3:
    sys.exit("{SECRET} is not for everybody\\nnot today")
until = datetime.now(timezone.utc) + timedelta(seconds={LIFE_SECONDS})
status = {{"expirationTimestamp": until.strftime("%Y-%m-%dT%H:%M:%SZ")}}
if run % 5 == 1:
    status["token"] = (folder / "token").read_text()
else:
    pair = "one" if run % 5 == 4 else "other"
    status["clientCertificateData"] = (folder / f"{{pair}}.crt").read_text()
    status["clientKeyData"] = (folder / f"{{pair}}.key").read_text()
print(json.dumps({{"kind": "ExecCredential", "apiVersion": "client.authentication.k8s.io/v1", "status": status}}))
'''


def children(folder: Path) -> list[int]:
    path = folder / "children"
    return [int(word) for word in path.read_text().split()] if path.exists() else []


@pytest.fixture
def plugin(installed: ControlPlane, tmp_path: Path):
    """The folder of one whose every run is another surprise: a token, a flood, an exit code, one certificate, another one."""
    installed.admit_replicas()
    folder = tmp_path / "plugin"
    folder.mkdir()
    for name in ("one", "other"):
        pair = installed.authority.issue(f"plugin-{name}", REPLICAS)
        (folder / f"{name}.crt").write_bytes(pair.cert.read_bytes())
        (folder / f"{name}.key").write_bytes(pair.key.read_bytes())
    token = yaml.safe_load(installed.product_kubeconfig().read_text())["users"][0]["user"]["token"]
    (folder / "token").write_text(token)
    (folder / "plugin").write_text(PLUGIN)
    (folder / "plugin").chmod(0o755)
    yield folder
    for pid in children(folder):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def test_a_plugin_that_plays_foul(
    plugin: Path, controllers, installed: ControlPlane, account: Account, world: World, kube: Kube, gate: Gate
):
    """What it gave before serves for as long as it is good; what it says goes nowhere but to the API server."""
    account.seed(small_groups())
    hurry(MOVES_SECONDS)
    before = world.snapshot()
    command = {"apiVersion": "client.authentication.k8s.io/v1", "command": str(plugin / "plugin"), "interactiveMode": "Never"}
    config = installed.write_kubeconfig(plugin / "kubeconfig", {"exec": command})
    controller = controllers(kubeconfig=config, leader_elect=True)
    reader = Reader(gate, kube, world, controller)
    controller.start()
    steps.order(kube)
    steps.await_ready(kube, controller=controller)
    reader.look()
    wait_for("all that the plugin can do", lambda: len(children(plugin)) >= RUNS, timeout=40, pause=0.1)
    steps.recover(kube, controller=controller)
    steps.assert_back(world, before)
    assert controller.stop() == 0
    log = controller.log.read_text()
    assert "wrote more than" in log
    assert "exit code 1: not today" in log
    keys = [(plugin / f"{name}.key").read_text().splitlines()[1] for name in ("one", "other")]
    reader.assert_no_secret(SECRET, (plugin / "token").read_text(), *keys)


def delete_lease(kube: Kube) -> None:
    with contextlib.suppress(KubeError):  # it may not be there again yet
        kube.call("DELETE", LEASE)


def test_a_lease_that_people_write_into(controllers, account: Account, world: World, kube: Kube):
    """Free, but with as many transitions as there can be; then deleted, and emptied of its times: one process leads through all of it."""
    account.seed(small_groups())
    before = world.snapshot()
    long_ago = "2026-01-01T00:00:00.000000Z"
    spec = {"holderIdentity": "", "leaseDurationSeconds": 1, "leaseTransitions": 2**31 - 1}
    body = {"metadata": {"name": "zonevac"}, "spec": spec | {"acquireTime": long_ago, "renewTime": long_ago}}
    kube.call("POST", LEASES.format(NAMESPACE), {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease"} | body)
    controller = controllers(leader_elect=True).start()
    wait_for("the lease to be taken", lambda: lease(kube)["holderIdentity"])
    holder = lease(kube)["holderIdentity"]
    assert lease(kube)["leaseTransitions"] >= 0
    steps.order(kube)
    for _ in range(2):
        delete_lease(kube)
        wait_for("another one", lambda: held_by(kube) == holder)
    kube.call("PATCH", LEASE, {"spec": {"leaseDurationSeconds": None, "acquireTime": None}}, MERGE_PATCH)
    wait_for("it to be whole again", lambda: lease(kube).get("leaseDurationSeconds"))
    steps.await_ready(kube, controller=controller)
    steps.recover(kube, controller=controller)
    steps.assert_back(world, before)
    assert held_by(kube) == holder


def held_by(kube: Kube) -> str | None:
    items = kube.get(LEASES.format(NAMESPACE))["items"]
    return items[0]["spec"]["holderIdentity"] if items else None
