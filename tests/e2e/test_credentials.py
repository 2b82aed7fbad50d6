"""Who we are to AWS, from every source, with credentials that end again and again while a zone is evacuated and put back."""

from __future__ import annotations

from pathlib import Path

import pytest

from bed import steps
from bed.account import Account
from bed.controller import Controller
from bed.gate import Gate
from bed.identities import ACCOUNT
from bed.kube import Kube, wait_for
from bed.moto_patches import hurry
from bed.region import small_groups
from bed.secrecy import Reader, expiry_seconds
from bed.sources import SOURCES, Container, Instance, Source, WebIdentity, rotating
from bed.world import World

LIFE_SECONDS = 12.0  # of credentials: they are fetched anew after some 8 s
FILE_LIFE_SECONDS = 16.0  # of those in a file, which are read anew no more often than each 10 s
TOKEN_SECONDS = 6.0  # of what is in a projected file, so that one that was read once is of no use for the second fetch
ROTATE_SECONDS = 3.0
MOVES_SECONDS = 22.0  # of instances, and so of the evacuation
HOW = {"web identity": {"token_seconds": TOKEN_SECONDS}, "container": {"token_seconds": TOKEN_SECONDS}}
NAMES = {
    "profile": "zonevac-ops/login",
    "chain": "zonevac/zonevac-prod",
    "process": "zonevac-process/process",
    "web identity": "zonevac-irsa/",
    "container": "zonevac-pod/",
    "instance": "zonevac-node/",
}


def with_source(controller: Controller, source: Source) -> Controller:
    controller.environment = source.environment(controller.environment)
    return controller


@pytest.mark.parametrize("name", SOURCES)
def test_credentials_end_while_evacuating(
    name: str, controllers, sources, account: Account, world: World, kube: Kube, gate: Gate
):
    account.seed(small_groups())
    hurry(MOVES_SECONDS)
    before = world.snapshot()
    gate.identities.life_seconds = LIFE_SECONDS
    if name == "profile":
        gate.identities.life_seconds = FILE_LIFE_SECONDS
        gate.expected.add("ExpiredToken")  # a session's keys in a file say nothing of their end
    source = sources(SOURCES[name], **HOW.get(name, {}))
    controller = with_source(controllers(), source)
    reader = Reader(gate, kube, world, controller)
    with rotating(source, ROTATE_SECONDS):
        controller.start()
        steps.order(kube)
        held = steps.await_ready(kube, timeout=90, controller=controller)
        out = gate.sessions("autoscaling")
        left = expiry_seconds(controller)
        reader.look()
        steps.assert_out(world)
        steps.recover(kube, controller=controller)
    steps.assert_back(world, before)
    assert held["status"]["accountId"] == ACCOUNT
    assert len(out) >= 2, "nothing was rotated"
    assert_only_this_role(gate, name)
    assert_story_of(name, gate, left)
    assert steps.assert_journaled_first(gate, world) == 2 * len(account.groups)
    assert controller.stop() == 0
    log = controller.log.read_text()
    assert log.count("AWS credentials fetched") >= len(out)
    assert "could not be refreshed" not in log
    reader.assert_no_secret()


def assert_only_this_role(gate: Gate, name: str) -> None:
    """Whatever was asked of the services was asked in the source's own name."""
    asked = {entry.identity for entry in gate.entries if entry.service != "sts" and entry.status == 200}
    assert asked
    assert all(identity.startswith(f"arn:aws:sts::{ACCOUNT}:assumed-role/{NAMES[name]}") for identity in asked), asked


def assert_story_of(name: str, gate: Gate, left: float | None) -> None:
    """What the gate had to refuse, and what the metric said."""
    refused = [entry for entry in gate.entries if entry.note == "ExpiredToken"]
    if name == "profile":
        assert left is None
        assert 1 <= len(refused) <= 6 * len(gate.sessions())
    else:
        assert left is not None
        assert 0 < left <= LIFE_SECONDS
        assert not refused


def test_an_instance_tells_its_region(controllers, sources, account: Account, world: World, kube: Kube, gate: Gate):
    account.seed(small_groups())
    source = sources(Instance)
    with_source(controllers().without("--region"), source).start()
    steps.order(kube)
    steps.await_ready(kube)
    steps.assert_out(world)
    asked = [asked.path for asked in source.server.asked]
    assert "/latest/meta-data/placement/region" in asked
    assert all("x-aws-ec2-metadata-token" in asked.headers for asked in source.server.asked if asked.method == "GET")


def test_a_short_lived_token_of_metadata(controllers, sources, account: Account, world: World, kube: Kube, gate: Gate):
    """One that has ended in between is fetched anew."""
    account.seed(small_groups())
    gate.identities.life_seconds = 6
    source = sources(Instance)
    source.server.token_seconds = 3
    with_source(controllers("--resync", "1s"), source).start()
    steps.order(kube)
    steps.await_ready(kube)
    steps.await_sessions(gate, 3, 30)
    assert 401 not in [asked.status for asked in source.server.asked]
    steps.recover(kube)


def test_instance_credentials_may_outlive_their_end(
    controllers, sources, account: Account, world: World, kube: Kube, gate: Gate
):
    """While the metadata service has no newer ones, those it has are good for longer than they say."""
    account.seed(small_groups())
    before = world.snapshot()
    source = sources(Instance)
    source.server.written_end = gate.identities.now() + 2
    controller = with_source(controllers("--resync", "1s"), source).start()
    steps.order(kube)
    steps.await_ready(kube)
    steps.quiet(gate, 3)
    sent = len(gate.entries)
    assert gate.identities.now() > source.server.written_end
    wait_for("more looks", lambda: len(gate.entries) > sent + 2)
    assert all(entry.status == 200 for entry in gate.entries[sent:] if entry.status)
    assert kube.condition(steps.NAME, "Ready")["status"] == "True"
    steps.recover(kube, controller=controller)
    steps.assert_back(world, before)


def test_the_environment_wins(controllers, sources, account: Account, world: World, kube: Kube, gate: Gate, tmp_path: Path):
    """Over a web identity and a container's address, as in the SDKs; none of the others is even asked."""
    account.seed(small_groups())
    pod, irsa = sources(Container), sources(WebIdentity)
    controller = controllers()
    controller.environment |= pod.variables | irsa.variables
    controller.start()
    steps.order(kube)
    steps.await_ready(kube)
    assert not pod.server.asked
    assert not gate.named("sts:AssumeRoleWithWebIdentity")
    assert {entry.identity for entry in gate.entries} == {"arn:aws:iam::123456789012:user/zonevac"}
    steps.recover(kube)


def test_web_identity_wins_over_a_container(controllers, sources, account: Account, world: World, kube: Kube, gate: Gate):
    account.seed(small_groups())
    pod, irsa = sources(Container), sources(WebIdentity)
    controller = with_source(with_source(controllers(), pod), irsa).start()
    steps.order(kube)
    steps.await_ready(kube, controller=controller)
    assert not pod.server.asked
    assert_only_this_role(gate, "web identity")
    steps.recover(kube)
