"""The gate in front of the API server does what the matrices take for granted."""

from __future__ import annotations

from pathlib import Path

import pytest
import requests
import yaml

from bed.controlplane import ControlPlane
from bed.kills import MOMENTS
from bed.kube import GROUP, JSON_PATCH, Kube, loopback_session
from bed.kube_gate import KubeGate, read_asked

NODES = "/api/v1/nodes"


@pytest.fixture
def gate(installed: ControlPlane):
    made = KubeGate(installed).start()
    yield made
    made.stop()
    assert not made.failures


class Client:
    """The product's identity, through the gate."""

    def __init__(self, plane: ControlPlane, gate: KubeGate, folder: Path) -> None:
        document = yaml.safe_load(plane.product_kubeconfig(folder / "k").read_text())
        self._session = loopback_session()
        self._session.verify = str(plane.trust)
        self._session.headers["Authorization"] = f"Bearer {document['users'][0]['user']['token']}"
        self._url = gate.url

    def ask(self, method: str, path: str, **how) -> requests.Response:
        return self._session.request(method, self._url + path, timeout=10, **how)

    def cordon(self, name: str) -> requests.Response:
        operations = [{"op": "add", "path": "/spec/unschedulable", "value": True}]
        return self.ask("PATCH", f"{NODES}/{name}", json=operations, headers={"Content-Type": JSON_PATCH})


@pytest.fixture
def client(installed: ControlPlane, gate: KubeGate, tmp_path: Path) -> Client:
    return Client(installed, gate, tmp_path)


def cordoned(kube: Kube, name: str) -> bool:
    return kube.get(f"{NODES}/{name}")["spec"].get("unschedulable", False)


@pytest.mark.parametrize(
    ("method", "target", "name", "about"),
    [
        ("GET", NODES, "list nodes", ""),
        ("GET", NODES + "?watch=1&resourceVersion=7", "watch nodes", ""),
        ("PATCH", NODES + "/a?fieldManager=zonevac", "patch nodes", "a"),
        ("GET", "/api/v1/namespaces/kube-system", "get namespaces", "kube-system"),
        ("POST", "/api/v1/namespaces/default/pods/app/eviction", "create pods/eviction", "app"),
        ("PATCH", GROUP + "/use1-az1/status", "patch zonalevacuations/status", "use1-az1"),
        ("PUT", "/apis/coordination.k8s.io/v1/namespaces/zonevac-system/leases/zonevac", "update leases", "zonevac"),
    ],
)
def test_a_request_is_understood(method: str, target: str, name: str, about: str):
    asked = read_asked(method, target)
    assert (asked.name, asked.object) == (name, about)


def test_requests_are_counted_and_watches_pass(gate: KubeGate, client: Client, kube: Kube):
    assert client.ask("GET", NODES).json()["items"][0]["metadata"]["name"] == "elsewhere"
    with client.ask("GET", NODES + "?watch=1&timeoutSeconds=1", stream=True) as watch:
        assert b'"ADDED"' in next(watch.iter_lines())
    assert client.cordon("elsewhere").status_code == 200
    assert [(asked.number, asked.name, asked.status) for asked in gate.entries] == [(1, "list nodes", 200), (2, "patch nodes", 200)]
    assert [asked.name for asked in gate.watches] == ["watch nodes"]


@pytest.mark.parametrize(("kind", "done"), [("reset", False), ("lost", True)])
def test_an_answer_that_does_not_come(gate: KubeGate, client: Client, kube: Kube, kind: str, done: bool):
    gate.fault("patch nodes", kind)
    with pytest.raises(requests.ConnectionError):
        client.cordon("elsewhere")
    assert cordoned(kube, "elsewhere") == done
    assert client.cordon("elsewhere").status_code == 200


def test_a_refusal_is_a_status(gate: KubeGate, client: Client, kube: Kube):
    gate.fault("patch nodes", "error", status=409, message="the object has been modified")
    refused = client.cordon("elsewhere")
    assert (refused.status_code, refused.json()["reason"]) == (409, "Conflict")
    assert not cordoned(kube, "elsewhere")


@pytest.mark.parametrize("moment", MOMENTS)
def test_a_kill_at_a_moment(gate: KubeGate, client: Client, kube: Kube, moment: str):
    struck: list[bool] = []
    gate.kill_at(2, moment, lambda: struck.append(cordoned(kube, "elsewhere")))
    client.ask("GET", NODES)
    if moment == "reply":
        assert client.cordon("elsewhere").status_code == 200
    else:
        with pytest.raises(requests.ConnectionError):
            client.cordon("elsewhere")
    assert gate.killed.wait(5)
    with pytest.raises(requests.ConnectionError):
        client.ask("GET", NODES)
    gate.disarm()
    assert struck == [moment != "before"]
    assert client.ask("GET", NODES).status_code == 200
