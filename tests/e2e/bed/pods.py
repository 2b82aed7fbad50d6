"""Pods of a cluster that is not alive: they run because it is written so, and go as soon as they are evicted."""

from __future__ import annotations

from bed.kube import MERGE_PATCH, Kube

PODS = "/api/v1/namespaces/default/pods"
OWNER = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "app", "uid": "11111111-2222-3333-4444-555555555555", "controller": True}


def create_pod(kube: Kube, name: str, node: str) -> None:
    """On that node, Ready, of somebody who would bring it back elsewhere."""
    container = {"name": "app", "image": "app:1"}
    body = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "ownerReferences": [OWNER], "labels": {"app": "app"}},
        "spec": {"nodeName": node, "containers": [container], "terminationGracePeriodSeconds": 0},
    }
    kube.call("POST", PODS, body)
    status = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}
    kube.call("PATCH", f"{PODS}/{name}/status", {"status": status}, MERGE_PATCH)


def pods(kube: Kube) -> list[str]:
    """Their names."""
    return [item["metadata"]["name"] for item in kube.call("GET", PODS)["items"]]


def wipe_pods(kube: Kube) -> None:
    kube.call("DELETE", PODS + "?gracePeriodSeconds=0")
