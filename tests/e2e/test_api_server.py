"""The API server restarted, its etcd killed, certificates exchanged, requests refused: while the nodes of a cluster change without pause.

What there is in the end is right within a bounded time, and what the API server was asked for is bounded too, by its own audit log.
ZONEVAC_E2E_SEED=N plays another story; each prints its own. ZONEVAC_E2E_SLOW=1 adds each disturbance by itself, three minutes more.
"""

from __future__ import annotations

import os
import random
import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

import pytest
import requests

from bed import steps
from bed.account import Account
from bed.audit import PRODUCT, Asked, most_in_a_second
from bed.churn import Churn, held, restored, wrong_nodes
from bed.controller import Controller
from bed.controlplane import ControlPlane
from bed.kube import Kube, KubeError, wait_for
from bed.relay import Relay
from conftest import FAILED

SEED = int(os.environ.get("ZONEVAC_E2E_SEED", time.time_ns() % 1_000_000))
MANY, FEW = 1000, 100
CATCH_UP_SECONDS = 65  # to the end of a back-off that grew while the server was away
CONNECTS_PER_SECOND = 200  # a patch of each of many nodes may be on its way when the server goes
TARGET = {"kind": "EksNode", "selector": steps.ALL, "eviction": "None"}
NODES = "/api/v1/nodes"


@dataclass
class Scene:
    """A control plane, its product behind a relay, and what was seen of both."""

    plane: ControlPlane
    relay: Relay
    controller: Controller
    seed: int
    rng: random.Random
    restarts: int = 0  # after each of which a list may have to be read anew
    noises: list[threading.Event] = field(default_factory=list)

    def rest(self, least: float, most: float | None = None) -> None:
        time.sleep(least if most is None else self.rng.uniform(least, most))

    def restart(self, *flags: str) -> None:
        self.restarts += 1
        self.plane.restart_apiserver(*flags)


@pytest.fixture(scope="module")
def audited_plane(tmp_path_factory: pytest.TempPathFactory):
    plane = ControlPlane(tmp_path_factory.mktemp("audited-plane") / "control", audited=True).start()
    try:
        plane.install()
        yield plane
    finally:
        plane.stop()


@pytest.fixture
def scene(audited_plane: ControlPlane, account: Account, gate, request: pytest.FixtureRequest, tmp_path):
    relay = Relay(audited_plane.server).start()
    kubeconfig = audited_plane.product_kubeconfig(tmp_path / "kubeconfig", server=relay.url, follow=True)
    controller = Controller(gate, kubeconfig, tmp_path / "zonevac.log").without("--poll-interval")
    made = Scene(audited_plane, relay, controller, SEED, random.Random(SEED))
    clear(audited_plane.kube)
    yield made
    for noise in made.noises:
        noise.set()
    if controller.running():
        controller.stop()
    relay.stop()
    if request.node.stash.get(FAILED, False):
        print(f"\n--- {controller.log} (its end)\n{controller.tail(400)}")
    clear(audited_plane.kube)


def clear(kube: Kube) -> None:
    """Custom resources are refused for a moment after the server's start."""
    wait_for("custom resources to be served", lambda: served(kube))
    kube.wipe_evacuations()
    kube.wipe_nodes()
    kube.wipe_events()


def served(kube: Kube) -> bool:
    try:
        return kube.evacuations() is not None
    except KubeError as error:
        if error.status != 429:
            raise
        return False


# what disturbs


def restarted(scene: Scene) -> None:
    """Killed, away for a while, back; twice."""
    for _ in range(2):
        scene.plane.kill("kube-apiserver")
        scene.rest(0.5, 3)
        scene.restarts += 1
        scene.plane.start_apiserver()
        scene.rest(1, 3)


def store_killed(scene: Scene) -> None:
    """etcd ends and comes again on the data that it had."""
    for _ in range(2):
        scene.plane.kill("etcd")
        scene.rest(1, 4)
        scene.plane.start_etcd()
        scene.restarts += 1
        scene.rest(2, 4)


def certificates_exchanged(scene: Scene) -> None:
    """First both authorities are trusted, then the server shows the new one's certificate, and the old one is not trusted any more."""
    fresh = scene.plane.trust_another(f"authority-{time.monotonic_ns()}")
    scene.rest(1)
    scene.plane.show_certificate_of(fresh)
    scene.rest(0.5)
    scene.relay.cut()
    scene.rest(4)


def short_streams(scene: Scene) -> None:
    """--min-request-timeout ends the streams of those who ask for no length of their own; here all connections are ended at that age."""
    scene.restart("--min-request-timeout=5")
    scene.relay.age_seconds = 5
    scene.rest(14)
    scene.relay.age_seconds = None


def compacted(scene: Scene) -> None:
    """The history is cut off every five seconds, and the product is cut off longer than that: what it knew last is not there any more."""
    scene.restart("--etcd-compaction-interval=5s")
    scene.rest(1)
    scene.relay.shut()
    scene.rest(7)
    scene.restart("--etcd-compaction-interval=5s")
    scene.relay.open()
    scene.rest(3)


def crowded(scene: Scene) -> None:
    """One request at a time, fairly: and others who ask for much."""
    scene.restart("--max-requests-inflight=1", "--max-mutating-requests-inflight=1")
    make_noise(scene, 8)


def crowded_unfairly(scene: Scene) -> None:
    scene.restart("--max-requests-inflight=1", "--max-mutating-requests-inflight=1", "--enable-priority-and-fairness=false")
    make_noise(scene, 8)


def make_noise(scene: Scene, seconds: float) -> None:
    """Another user, who reads all nodes again and again."""
    noise, stopped = scene.plane.ordinary_user("noise"), threading.Event()
    scene.noises.append(stopped)

    def read(kube: Kube) -> None:
        while not stopped.is_set():
            try:
                kube.call("GET", NODES + "?resourceVersion=0")
            except (KubeError, requests.RequestException):
                stopped.wait(0.02)

    threads = [threading.Thread(target=read, args=(noise.another(),), daemon=True) for _ in range(3)]
    for thread in threads:
        thread.start()
    time.sleep(seconds)
    stopped.set()
    for thread in threads:
        thread.join(40)
    scene.restart()


DISTURBANCES = [restarted, store_killed, certificates_exchanged, short_streams, compacted, crowded, crowded_unfairly]


# what must be seen


@dataclass
class Figures:
    asked: list[Asked]
    connects: list[float]
    seconds: float
    cpu_seconds: float

    def lists(self, resource: str = "nodes") -> list[Asked]:
        return [asked for asked in self.asked if asked.what == f"list {resource}"]

    def streams(self, resource: str = "nodes") -> list[Asked]:
        return [asked for asked in self.asked if asked.what == f"watch {resource}"]

    def refused(self) -> list[Asked]:
        return [asked for asked in self.asked if asked.code >= 400]

    def lines(self) -> list[str]:
        counts = Counter(asked.what for asked in self.asked)
        codes = Counter(asked.code for asked in self.refused())
        reads = [asked.at for asked in self.asked if not asked.writes]
        return [
            "  asked: " + ", ".join(f"{what} {count}" for what, count in counts.most_common()),
            f"  refused: {dict(codes) or 'none'}, at most {most_in_a_second(asked.at for asked in self.refused())} in a second",
            f"  at most {most_in_a_second(reads)} reads, {most_in_a_second(asked.at for asked in self.asked)} requests in a second; "
            f"{len(self.connects)} connections, at most {most_in_a_second(self.connects)} in a second; "
            f"CPU {100 * self.cpu_seconds / self.seconds:.0f} %",
        ]


def play(scene: Scene, count: int, per_second: float, disturb: Callable[[Scene], None]) -> tuple[Churn, Figures, float]:
    """The nodes, the evacuation, the changes and the disturbance; then the time that it took until all was right."""
    kube, here = scene.plane.kube, scene.plane.audit.here()
    churn = Churn(scene.plane.ordinary_user("others"), count, scene.seed, per_second).create()
    scene.controller.start().await_ready()
    steps.order(kube, targets=[TARGET], guards={"maxNodesPercent": 100})
    wait_for("the first nodes to be taken", lambda: len(wrong_nodes(kube.nodes())) < count / 20, timeout=60, pause=0.2)
    began, before = time.monotonic(), scene.controller.usage()
    with churn:
        disturb(scene)
    scene.relay.open()
    scene.relay.age_seconds = None
    ended = time.monotonic()
    try:
        wait_for("every node to be as it should", lambda: not wrong_nodes(kube.nodes()), timeout=CATCH_UP_SECONDS, pause=0.1)
    except TimeoutError as error:
        raise AssertionError("\n".join([str(error), *wrong_nodes(kube.nodes())[:20], *steps.describe(kube).splitlines()[:8]])) from None
    after, now = scene.controller.usage(), time.monotonic()
    figures = Figures(
        scene.plane.audit.since(here, PRODUCT), list(scene.relay.accepted), now - began, after.cpu_seconds - before.cpu_seconds
    )
    return churn, figures, now - ended


def tell(capsys: pytest.CaptureFixture, scene: Scene, what: str, churn: Churn, figures: Figures, late: float) -> None:
    with capsys.disabled():
        print(
            f"\n{what} (seed {scene.seed}): {sum(churn.done.values())} changes of {len(churn.touched)} nodes "
            f"in {figures.seconds - late:.0f} s, {sum(churn.failed.values())} failed {dict(churn.failed)}; all right {late:.1f} s later"
        )
        print("\n".join(figures.lines()))


def check(scene: Scene, figures: Figures) -> None:
    """No hot loop: lists and streams by what happened, failures and connections by the second."""
    minutes = figures.seconds / 60
    pages = 1 + len(scene.plane.kube.nodes()) // 500
    assert len(figures.lists()) <= pages * (2 + 3 * scene.restarts)
    for resource in ("nodes", "zonalevacuations"):
        assert len(figures.streams(resource)) <= 20 + 30 * minutes
        assert most_in_a_second(asked.at for asked in figures.lists(resource) + figures.streams(resource)) <= 3 + pages
    assert most_in_a_second(asked.at for asked in figures.refused()) <= 60
    counts = Counter(asked.what for asked in figures.asked)
    assert counts["patch zonalevacuations/status"] + counts["create events"] <= 2 * counts["patch nodes"] + 2 * figures.seconds
    assert most_in_a_second(figures.connects) <= CONNECTS_PER_SECOND
    assert figures.cpu_seconds < 0.3 * figures.seconds


def recover_exactly(scene: Scene) -> None:
    """What is not ours is as it was while we held; nothing is ours."""
    kube = scene.plane.kube
    expected = held(kube.nodes())
    steps.recover(kube, timeout=120, controller=scene.controller)
    found = restored(kube.nodes())
    differences = [f"{name}: {expected.get(name)} became {found.get(name)}" for name in expected if expected[name] != found.get(name)]
    assert not differences, "\n".join(differences[:20])
    assert scene.controller.stop() == 0


@pytest.mark.skipif(os.environ.get("ZONEVAC_E2E_SLOW") != "1", reason="the thousand nodes meet all of it; ZONEVAC_E2E_SLOW=1 runs each")
@pytest.mark.parametrize("disturb", DISTURBANCES, ids=lambda disturb: disturb.__name__)
def test_disturbed(scene: Scene, disturb: Callable[[Scene], None], capsys: pytest.CaptureFixture):
    churn, figures, late = play(scene, FEW, 30, disturb)
    tell(capsys, scene, disturb.__name__, churn, figures, late)
    check(scene, figures)
    recover_exactly(scene)


@pytest.mark.timeout(300)
def test_a_thousand_nodes_and_everything(scene: Scene, capsys: pytest.CaptureFixture):
    """All of it, in an order that the seed gives."""
    order = DISTURBANCES.copy()
    scene.rng.shuffle(order)

    def disturb(scene: Scene) -> None:
        for one in order:
            one(scene)

    churn, figures, late = play(scene, MANY, 60, disturb)
    tell(capsys, scene, "a thousand nodes, " + ", ".join(one.__name__ for one in order), churn, figures, late)
    assert len(churn.touched) >= 0.99 * MANY
    check(scene, figures)
    recover_exactly(scene)
