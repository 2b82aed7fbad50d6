"""A real control plane on free ports of 127.0.0.1: etcd, kube-apiserver and, where asked for, all that makes pods run.

That is kube-controller-manager, kube-scheduler and kwok, which plays the kubelet of each node that has its annotation. What runs can be
killed and started again on the same data and ports, with other flags, and with another authority's certificate.
"""

from __future__ import annotations

import base64
import contextlib
import os
import shutil
import socket
import ssl
import subprocess
import time
import warnings
from pathlib import Path

import requests
import urllib3
import yaml

from bed.audit import REPLICAS, AuditLog
from bed.certificates import Authority, signing_key
from bed.kube import KWOK, Kube, KubeError, loopback_session, wait_for
from bed.orphans import end_with_parent

ROOT = Path(__file__).resolve().parents[3]
NAMESPACE = "zonevac-system"
ACCOUNT = "zonevac"
CONTROLLERS = (
    "namespace-controller",
    "garbage-collector-controller",
    "serviceaccount-controller",
    "pod-garbage-collector-controller",
    "disruption-controller",
    "replicaset-controller",
    "deployment-controller",
    "daemonset-controller",
    "node-lifecycle-controller",
    "taint-eviction-controller",
)
RBAC = "rbac.authorization.k8s.io"
STAGES = "kwok-stages.yaml"
# Their own limits are for clusters that have other things to do.
CLIENT_LIMITS = ("--kube-api-qps=500", "--kube-api-burst=1000")


def free_port() -> int:
    with contextlib.closing(socket.socket()) as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def replace_file(path: Path, content: bytes) -> None:
    """At once, for whoever reads it meanwhile."""
    fresh = path.with_name(path.name + ".new")
    fresh.write_bytes(content)
    fresh.replace(path)


def find_binary(*names: str) -> str:
    """In $ZONEVAC_TESTPLANE, then $KUBEBUILDER_ASSETS, then the PATH."""
    for variable in ("ZONEVAC_TESTPLANE", "KUBEBUILDER_ASSETS"):
        for name in names:
            path = Path(os.environ.get(variable, "/nonexistent")) / name
            if os.access(path, os.X_OK):
                return str(path)
    for name in names:
        found = shutil.which(name)
        if found and name != "server":
            return found
    raise FileNotFoundError(f"none of {', '.join(names)} found: set ZONEVAC_TESTPLANE to the folder of the binaries")


class ControlPlane:
    """
    Started once a session. `kube` and `kubectl` act as the administrator; `product_kubeconfig` as the ServiceAccount.

    `trust` is the bundle of authorities whose word clients take for the server's name. With `audited`, the audit log tells of all
    requests of the product and of users whom `replica` made.
    """

    def __init__(self, folder: Path, alive: bool = False, audited: bool = False) -> None:
        self.folder = folder
        self.server = f"https://127.0.0.1:{free_port()}"
        self._etcd = [f"http://127.0.0.1:{free_port()}" for _ in ("client", "peer")]
        self._alive = alive
        self._processes: dict[str, subprocess.Popen] = {}
        self._pki = folder / "pki"
        self._pki.mkdir(parents=True)
        self.authority = Authority(self._pki)
        self.trust = folder / "trust.crt"
        self.trust.write_bytes(self.authority.cert.read_bytes())
        self._serving = self.authority.issue("apiserver", server=True)
        self._service_account_key = signing_key(self._pki)
        self._admin = self.authority.issue("admin", organization="system:masters")
        self.kubeconfig = folder / "admin.kubeconfig"
        self.kube = Kube(self.server, str(self.trust), self._admin)
        self.audit = AuditLog(folder / "audit.log") if audited else None

    def start(self) -> ControlPlane:
        try:
            self.start_etcd()
            self.start_apiserver()
            self._write_admin_kubeconfig()
            if self._alive:
                self._start_manager()
                self._start_scheduler()
                self._start_kwok()
        except BaseException:
            self.stop()
            raise
        return self

    def stop(self) -> None:
        for process in reversed(self._processes.values()):
            process.terminate()
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        self._processes.clear()

    # processes

    def kill(self, name: str) -> None:
        """SIGKILL to "etcd", "kube-apiserver" or another one; its log stays."""
        process = self._processes.pop(name)
        process.kill()
        process.wait()

    def restart_apiserver(self, *flags: str) -> None:
        """Killed, and started with these flags in addition to its own."""
        self.kill("kube-apiserver")
        self.start_apiserver(*flags)

    def _spawn(self, name: str, *arguments: str) -> subprocess.Popen:
        assert name not in self._processes, f"{name} is running"
        log = (self.folder / f"{name}.log").open("ab")
        process = subprocess.Popen(
            arguments, stdout=log, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, preexec_fn=end_with_parent
        )
        log.close()
        self._processes[name] = process
        return process

    def _await(self, name: str, process: subprocess.Popen, url: str, **how) -> None:
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            if process.poll() is not None:
                break
            with contextlib.suppress(requests.RequestException), warnings.catch_warnings():
                warnings.simplefilter("ignore", urllib3.exceptions.InsecureRequestWarning)  # they sign their certificates themselves
                if loopback_session().get(url, timeout=2, **how).status_code == 200:
                    return
            time.sleep(0.05)
        tail = (self.folder / f"{name}.log").read_text(errors="replace")[-3000:]
        raise RuntimeError(f"{name} did not become ready:\n{tail}")

    def start_etcd(self) -> None:
        """On the data that it had, if it ran before."""
        client, peer = self._etcd
        process = self._spawn(
            "etcd", find_binary("etcd", "server"), "--data-dir", str(self.folder / "etcd"), "--unsafe-no-fsync",
            "--listen-client-urls", client, "--advertise-client-urls", client,
            "--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer,
            "--initial-cluster", f"default={peer}", "--log-level", "warn",
        )  # fmt: skip
        self._await("etcd", process, client + "/health")

    def start_apiserver(self, *flags: str) -> None:
        serving, key = self._serving, self._service_account_key
        port = self.server.rsplit(":", 1)[1]
        process = self._spawn(
            "kube-apiserver", find_binary("kube-apiserver"), f"--etcd-servers={self._etcd[0]}",
            "--bind-address=127.0.0.1", "--advertise-address=127.0.0.1", f"--secure-port={port}",
            "--endpoint-reconciler-type=none", "--service-cluster-ip-range=10.0.0.0/24",
            f"--cert-dir={self.folder / 'apiserver'}", f"--tls-cert-file={serving.cert}",
            f"--tls-private-key-file={serving.key}", f"--client-ca-file={self.authority.cert}",
            "--authorization-mode=RBAC", "--service-account-issuer=https://kubernetes.default.svc",
            f"--service-account-key-file={key}", f"--service-account-signing-key-file={key}",
            "--disable-admission-plugins=ServiceAccount", *(self.audit.flags() if self.audit else ()), *flags,
        )  # fmt: skip
        how = {"verify": str(self.trust), "cert": (str(self._admin.cert), str(self._admin.key))}
        self._await("kube-apiserver", process, self.server + "/readyz", **how)

    def _start_manager(self) -> None:
        port = free_port()
        process = self._spawn(
            "kube-controller-manager", find_binary("kube-controller-manager"), f"--kubeconfig={self.kubeconfig}",
            "--leader-elect=false", "--bind-address=127.0.0.1", f"--secure-port={port}",
            f"--root-ca-file={self.authority.cert}",
            f"--service-account-private-key-file={self._service_account_key}",
            f"--controllers={','.join(CONTROLLERS)}", *CLIENT_LIMITS,
        )  # fmt: skip
        self._await("kube-controller-manager", process, f"https://127.0.0.1:{port}/healthz", verify=False)

    def _start_scheduler(self) -> None:
        port = free_port()
        process = self._spawn(
            "kube-scheduler", find_binary("kube-scheduler"), f"--kubeconfig={self.kubeconfig}",
            "--leader-elect=false", "--bind-address=127.0.0.1", f"--secure-port={port}", *CLIENT_LIMITS,
        )  # fmt: skip
        self._await("kube-scheduler", process, f"https://127.0.0.1:{port}/healthz", verify=False)

    def _start_kwok(self) -> None:
        kwok = Path(find_binary("kwok"))
        port = free_port()
        process = self._spawn(
            "kwok", str(kwok), f"--kubeconfig={self.kubeconfig}", f"--config={kwok.parent / STAGES}", "--manage-all-nodes=false",
            f"--manage-nodes-with-annotation-selector={KWOK}", "--node-lease-duration-seconds=40",
            f"--server-address=127.0.0.1:{port}",
        )  # fmt: skip
        self._await("kwok", process, f"http://127.0.0.1:{port}/healthz")

    # identities

    def _write_admin_kubeconfig(self) -> None:
        user = {"client-certificate": str(self._admin.cert), "client-key": str(self._admin.key)}
        self.write_kubeconfig(self.kubeconfig, user)

    def write_kubeconfig(
        self, path: Path, user: dict, server: str | None = None, ca: Path | None = None, follow: bool = False
    ) -> Path:
        """A kubeconfig of one context for `user`. The authorities are in it as they are now, or, to `follow`, by their bundle's name."""
        trusted = {"certificate-authority-data": base64.b64encode((ca or self.trust).read_bytes()).decode()}
        if follow:
            trusted = {"certificate-authority": str(self.trust)}
        cluster = {"server": server or self.server, **trusted}
        document = {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "bed", "cluster": cluster}],
            "users": [{"name": "user", "user": user}],
            "contexts": [{"name": "bed", "context": {"cluster": "bed", "user": "user"}}],
            "current-context": "bed",
        }
        path.write_text(yaml.safe_dump(document))
        return path

    def product_kubeconfig(self, path: Path | None = None, seconds: int = 7200, **how) -> Path:
        """The product's own identity: a token of its ServiceAccount, so that its RBAC is all it has."""
        request = {
            "apiVersion": "authentication.k8s.io/v1",
            "kind": "TokenRequest",
            "spec": {"expirationSeconds": seconds},
        }
        where = f"/api/v1/namespaces/{NAMESPACE}/serviceaccounts/{ACCOUNT}/token"
        token = self.kube.call("POST", where, request)["status"]["token"]
        return self.write_kubeconfig(path or self.folder / "zonevac.kubeconfig", {"token": token}, **how)

    def client_kubeconfig(self, path: Path, name: str, server: str | None = None, organization: str = REPLICAS) -> Path:
        """A user of its own, known by a client certificate; as a rule one with the permissions of the product."""
        pair = self.authority.issue(name, organization)
        return self.write_kubeconfig(path, {"client-certificate": str(pair.cert), "client-key": str(pair.key)}, server)

    def admit_replicas(self, namespace: str = NAMESPACE) -> None:
        """Users whom `client_kubeconfig` made get the product's two roles, and may have their lease in `namespace`."""
        subjects = [{"kind": "Group", "name": REPLICAS, "apiGroup": RBAC}]
        wide = {"kind": "ClusterRole", "name": ACCOUNT, "apiGroup": RBAC}
        self._create(f"/apis/{RBAC}/v1/clusterrolebindings", {"metadata": {"name": REPLICAS}, "roleRef": wide, "subjects": subjects})
        if namespace != NAMESPACE:
            self._create("/api/v1/namespaces", {"metadata": {"name": namespace}})
            role = self.kube.get(f"/apis/{RBAC}/v1/namespaces/{NAMESPACE}/roles/{ACCOUNT}")
            self._create(f"/apis/{RBAC}/v1/namespaces/{namespace}/roles", {"metadata": {"name": ACCOUNT}, "rules": role["rules"]})
        narrow = {"kind": "Role", "name": ACCOUNT, "apiGroup": RBAC}
        bindings = f"/apis/{RBAC}/v1/namespaces/{namespace}/rolebindings"
        self._create(bindings, {"metadata": {"name": REPLICAS}, "roleRef": narrow, "subjects": subjects})

    def ordinary_user(self, name: str) -> Kube:
        """The API as one who may do everything, but is refused like everybody else when the server has too much to do."""
        subjects = [{"kind": "User", "name": name, "apiGroup": RBAC}]
        role = {"kind": "ClusterRole", "name": "cluster-admin", "apiGroup": RBAC}
        self._create(f"/apis/{RBAC}/v1/clusterrolebindings", {"metadata": {"name": name}, "roleRef": role, "subjects": subjects})
        return Kube(self.server, str(self.trust), self.authority.issue(name))

    def _create(self, where: str, body: dict) -> None:
        try:
            self.kube.call("POST", where, body)
        except KubeError as error:
            if error.status != 409:
                raise

    # certificates

    def trust_another(self, name: str) -> Authority:
        """One more authority in the bundle, whose certificate the server does not show yet."""
        folder = self._pki / name
        folder.mkdir()
        made = Authority(folder, name)
        replace_file(self.trust, self.trust.read_bytes() + made.cert.read_bytes())
        return made

    def show_certificate_of(self, authority: Authority) -> None:
        """The running server takes this authority's certificate for new connections; the others leave the bundle."""
        serving = authority.issue("apiserver", server=True)
        replace_file(self._serving.key, serving.key.read_bytes())
        replace_file(self._serving.cert, serving.cert.read_bytes())
        host, port = self.server.removeprefix("https://").split(":")

        def shown() -> bool:
            pem = ssl.get_server_certificate((host, int(port)))
            return pem.strip() == serving.cert.read_text().strip()

        wait_for("the new certificate to be shown", shown, timeout=90, pause=0.1)
        replace_file(self.trust, authority.cert.read_bytes())

    # manifests

    def kubectl_command(self, *arguments: str) -> list[str]:
        return [find_binary("kubectl"), f"--kubeconfig={self.kubeconfig}", *arguments]

    def kubectl(self, *arguments: str, check: bool = True, stdin: str | None = None) -> str:
        done = subprocess.run(
            self.kubectl_command(*arguments), input=stdin, text=True, capture_output=True, timeout=120, check=False
        )
        if check and done.returncode != 0:
            raise RuntimeError(f"kubectl {' '.join(arguments)}: {done.stderr.strip() or done.stdout.strip()}")
        return done.stdout + (done.stderr if not check else "")

    def install(self) -> None:
        """The project's own CRD and manifests, as a user applies them; our Deployment is an object that nobody runs."""
        self.kubectl("apply", "--validate=strict", "-k", str(ROOT / "deploy" / "base"))
        self.kubectl("wait", "--for=condition=Established", "--timeout=30s", "crd/zonalevacuations.zonevac.dev")
        wait_for("the new kind to be served", self._serves_evacuations)

    def _serves_evacuations(self) -> bool:
        try:
            return self.kube.evacuations() == []
        except KubeError as error:
            if error.status not in (404, 429):
                raise
            return False
