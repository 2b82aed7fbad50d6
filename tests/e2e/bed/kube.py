"""A small reader and writer of the Kubernetes API, independent of the product and quicker than one kubectl a question."""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Iterator
from typing import Any

import requests

from bed.certificates import Pair

GROUP = "/apis/zonevac.dev/v1alpha1/zonalevacuations"
JSON_PATCH = "application/json-patch+json"
MERGE_PATCH = "application/merge-patch+json"
KWOK = "kwok.x-k8s.io/node=fake"  # the annotation of a node whose kubelet is kwok


def loopback_session() -> requests.Session:
    """A session that heeds no proxy and no CA bundle of the developer's environment."""
    session = requests.Session()
    session.trust_env = False
    return session


class KubeError(RuntimeError):
    def __init__(self, status: int, text: str) -> None:
        super().__init__(f"{status}: {text}")
        self.status = status


class Kube:
    """The API as its administrator."""

    def __init__(self, server: str, ca: str, client: Pair) -> None:
        self.server = server
        self._ca, self._client = ca, client
        self._session = self._new_session()

    def _new_session(self) -> requests.Session:
        session = loopback_session()
        session.verify = self._ca
        session.cert = (str(self._client.cert), str(self._client.key))
        return session

    def another(self) -> Kube:
        """The same API over connections of its own, for another thread."""
        return Kube(self.server, self._ca, self._client)

    def call(self, method: str, path: str, body: Any = None, content_type: str = "application/json") -> Any:
        data = None if body is None else json.dumps(body)
        response = self._session.request(
            method, self.server + path, data=data, headers={"Content-Type": content_type}, timeout=30
        )
        if response.status_code >= 300:
            raise KubeError(response.status_code, response.text)
        return response.json() if response.text.startswith("{") else response.text

    def get(self, path: str) -> Any:
        """The object, or None where there is none."""
        try:
            return self.call("GET", path)
        except KubeError as error:
            if error.status == 404:
                return None
            raise

    @contextlib.contextmanager
    def watch(self, path: str, seconds: int = 60) -> Iterator[Iterator[dict[str, Any]]]:
        """Events from now on, each as it comes, for so long."""
        version = self.call("GET", path + "?limit=1")["metadata"]["resourceVersion"]
        query = {"watch": "1", "resourceVersion": version, "timeoutSeconds": str(seconds)}
        with self._new_session().get(self.server + path, params=query, stream=True, timeout=seconds + 10) as response:
            yield (json.loads(line) for line in response.iter_lines(chunk_size=None) if line)

    # evacuations

    def evacuation(self, name: str) -> Any:
        return self.get(f"{GROUP}/{name}")

    def evacuations(self) -> list[dict[str, Any]]:
        return self.call("GET", GROUP)["items"]

    def evacuate(self, name: str, **spec: Any) -> Any:
        body = {
            "apiVersion": "zonevac.dev/v1alpha1",
            "kind": "ZonalEvacuation",
            "metadata": {"name": name},
            "spec": spec,
        }
        return self.call("POST", GROUP, body)

    def delete_evacuation(self, name: str) -> None:
        try:
            self.call("DELETE", f"{GROUP}/{name}")
        except KubeError as error:
            if error.status != 404:
                raise

    def wipe_evacuations(self) -> None:
        """Remove all of them without anybody's recovery."""
        for item in self.evacuations():
            name = item["metadata"]["name"]
            self.delete_evacuation(name)
            try:
                self.call("PATCH", f"{GROUP}/{name}", {"metadata": {"finalizers": None}}, MERGE_PATCH)
            except KubeError as error:
                if error.status != 404:
                    raise

    def condition(self, name: str, kind: str) -> dict[str, Any]:
        """The condition, or an empty one."""
        item = self.evacuation(name) or {}
        for condition in item.get("status", {}).get("conditions", []):
            if condition["type"] == kind:
                return condition
        return {}

    # nodes

    def create_node(
        self,
        name: str,
        zone_id: str,
        zone_name: str,
        annotations: dict[str, str] | None = None,
        labels: dict[str, str] | None = None,
        **spec: Any,
    ) -> Any:
        labels = (labels or {}) | {
            "kubernetes.io/hostname": name,
            "topology.k8s.aws/zone-id": zone_id,
            "topology.kubernetes.io/zone": zone_name,
            "topology.kubernetes.io/region": zone_name[:-1],
        }
        spec.setdefault("providerID", f"aws:///{zone_name}/i-{abs(hash(name)) % 16**17:017x}")
        metadata = {"name": name, "labels": labels, "annotations": annotations or {}}
        body = {"apiVersion": "v1", "kind": "Node", "metadata": metadata, "spec": spec}
        return self.call("POST", "/api/v1/nodes", body)

    def nodes(self) -> list[dict[str, Any]]:
        return self.call("GET", "/api/v1/nodes")["items"]

    def wipe_nodes(self) -> None:
        self.call("DELETE", "/api/v1/nodes")

    def events(self, namespace: str = "default") -> list[dict[str, Any]]:
        return self.call("GET", f"/api/v1/namespaces/{namespace}/events")["items"]

    def wipe_events(self, namespace: str = "default") -> None:
        self.call("DELETE", f"/api/v1/namespaces/{namespace}/events")

    def wipe_leases(self, namespace: str) -> None:
        self.call("DELETE", f"/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases")

    def uid_of_cluster(self) -> str:
        return self.call("GET", "/api/v1/namespaces/kube-system")["metadata"]["uid"]


def wait_for(what: str, test, timeout: float = 30.0, pause: float = 0.02) -> Any:
    """Ask `test` until it says something true; its last word is the answer."""
    deadline = time.monotonic() + timeout
    while True:
        answer = test()
        if answer:
            return answer
        if time.monotonic() > deadline:
            raise TimeoutError(f"after {timeout:.0f} s still waiting for: {what}")
        time.sleep(pause)
