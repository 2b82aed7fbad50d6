"""Sources of credentials that fail, and what AWS says no to: told in a sentence, survived, and over by itself once it is over."""

from __future__ import annotations

import pytest
from test_credentials import with_source

from bed import steps
from bed.account import Account
from bed.controller import Controller
from bed.gate import Gate
from bed.kube import Kube, wait_for
from bed.moto_patches import hurry
from bed.region import small_groups
from bed.secrecy import Reader, expiry_seconds
from bed.signature import Key
from bed.sources import UNAVAILABLE, Container, Instance, Process, ProfileChain, ProfileKeys, Source, WebIdentity
from bed.world import World

RESYNC = ("--resync", "1s")
WORDS = {"InvalidClientTokenId", "UnrecognizedClientException", "AuthFailure"}


def stalled(kube: Kube, controller: Controller, timeout: float = 60) -> dict:
    return steps.await_condition(kube, "Stalled", timeout=timeout, controller=controller)


def is_stalled(kube: Kube) -> bool:
    return kube.condition(steps.NAME, "Stalled").get("status") == "True"


def await_log(controller: Controller, words: str, timeout: float = 60) -> None:
    wait_for(f"{words!r} in the log", lambda: words in controller.log.read_text(), timeout, pause=0.1)


def go_down(source: Source, how: str) -> None:
    if how == "refusing connections":
        source.server.stop()
    elif how == "busy":
        source.server.fault = UNAVAILABLE
    else:
        source.server.silent = True


def come_back(source: Source, how: str) -> None:
    source.server.fault, source.server.silent = None, False
    if how == "refusing connections":
        source.server.start()


@pytest.mark.parametrize(("how", "life"), [("refusing connections", 21), ("busy", 21), ("silent", 36)])
def test_down_for_a_while_before_the_end(
    how: str, life: int, controllers, sources, account: Account, world: World, kube: Kube, gate: Gate
):
    """Those there are stay in use, it is said, and nothing fails."""
    account.seed(small_groups())
    before = world.snapshot()
    gate.identities.life_seconds = life
    source = sources(Container)
    controller = with_source(controllers(*RESYNC), source).start()
    steps.order(kube)
    steps.await_ready(kube)
    go_down(source, how)
    await_log(controller, "could not be refreshed")
    assert gate.identities.now() < gate.identities.keys[gate.sessions()[-1]].ends_at
    seen = len(gate.entries)
    wait_for("more looks", lambda: len(gate.entries) > seen + 2)
    assert {entry.status for entry in gate.entries[seen:] if entry.status} == {200}
    assert not is_stalled(kube)
    come_back(source, how)
    steps.await_sessions(gate, 2)
    steps.recover(kube)
    steps.assert_back(world, before)
    assert not [entry for entry in gate.entries if entry.note == "ExpiredToken"]


@pytest.mark.parametrize("kind", [Container, Process])
def test_down_past_the_end(kind, controllers, sources, account: Account, world: World, kube: Kube, gate: Gate):
    """In the middle of an evacuation: nothing is asked with what has expired; it goes on where it was."""
    account.seed(small_groups())
    hurry(18)
    before = world.snapshot()
    gate.identities.life_seconds = 8
    source = sources(kind)
    controller = with_source(controllers(*RESYNC), source)
    reader = Reader(gate, kube, world, controller)
    controller.start()
    steps.order(kube)
    wait_for("the updates", lambda: len(gate.named("autoscaling:UpdateAutoScalingGroup")) == 3)
    source.server.stop()
    told = stalled(kube, controller)
    assert told["reason"] == "CredentialsExpired"
    assert "expired" in told["message"]
    reader.look()
    wait_for("the metric to say so", lambda: expiry_seconds(controller) <= 0)
    assert not steps.quiet(gate, 2)
    source.server.start()
    steps.await_ready(kube, timeout=90, controller=controller)
    assert not is_stalled(kube)
    steps.assert_out(world)
    steps.recover(kube)
    steps.assert_back(world, before)
    reader.assert_no_secret()


@pytest.mark.parametrize("kind", [WebIdentity, Container])
@pytest.mark.parametrize("content", ["s3cr3t-but-no-token\n", "two\nlines\nof-s3cr3t", "", None])
def test_a_token_file_with_nonsense(
    kind, content: str | None, controllers, sources, account: Account, world: World, kube: Kube, gate: Gate
):
    """Told by the file's name, not by its content; and over when the file is right."""
    account.seed(small_groups())
    source = sources(kind)
    source.file.remove() if content is None else source.file.write(content)
    controller = with_source(controllers(), source)
    reader = Reader(gate, kube, world, controller)
    controller.start()
    steps.order(kube)
    told = stalled(kube, controller)
    assert told["reason"] == "NoCredentials"
    if content != "s3cr3t-but-no-token\n":
        assert str(source.file.path) in told["message"]
    reader.look()
    assert not [entry for entry in gate.entries if entry.service != "sts"]
    assert len(gate.entries) <= 8
    source.rotate()
    steps.await_ready(kube, controller=controller)
    steps.recover(kube)
    reader.assert_no_secret("s3cr3t")


def test_a_token_that_turns_bad(controllers, sources, account: Account, world: World, kube: Kube, gate: Gate):
    """The issuer's key was changed: until there is a token of the new one, the old credentials serve."""
    account.seed(small_groups())
    gate.identities.life_seconds = 21
    source = sources(WebIdentity)
    controller = with_source(controllers(*RESYNC), source).start()
    steps.order(kube)
    steps.await_ready(kube)
    gate.identities.issuer.rotate()
    await_log(controller, "could not be refreshed")
    assert "InvalidIdentityToken" in controller.log.read_text()
    source.rotate()
    steps.await_sessions(gate, 2)
    steps.recover(kube)


def test_a_role_that_may_not_be_assumed(controllers, sources, account: Account, world: World, kube: Kube, gate: Gate):
    account.seed(small_groups())
    source = sources(ProfileChain)
    source.role.external_id = "another"
    controller = with_source(controllers(), source).start()
    steps.order(kube)
    told = stalled(kube, controller)
    assert "AccessDenied" in told["message"]
    assert source.role.arn in told["message"]
    assert len(steps.quiet(gate, 3)) <= 12
    source.role.external_id = "zonevac:prod/2026"
    steps.await_ready(kube, controller=controller)
    steps.assert_out(world)
    steps.recover(kube)


def test_a_web_identity_without_a_role(controllers, sources, account: Account, kube: Kube, gate: Gate):
    account.seed(small_groups())
    source = sources(WebIdentity)
    source.role.subjects = ["system:serviceaccount:default:default"]
    controller = with_source(controllers(), source).start()
    steps.order(kube)
    told = stalled(kube, controller)
    assert "AccessDenied" in told["message"]
    assert source.role.arn in told["message"]


def test_a_program_that_fails(controllers, sources, account: Account, world: World, kube: Kube, gate: Gate):
    account.seed(small_groups())
    source = sources(Process)
    source.server.stop()
    controller = with_source(controllers(), source).start()
    steps.order(kube)
    told = stalled(kube, controller)
    assert told["reason"] == "NoCredentials"
    assert "credential_process" in told["message"]
    assert "vault" in told["message"]
    source.server.start()
    steps.await_ready(kube, controller=controller)
    steps.recover(kube)


def test_a_metadata_service_that_is_silent(controllers, sources, account: Account, world: World, kube: Kube, gate: Gate):
    """As for a pod behind a hop limit of 1."""
    account.seed(small_groups())
    source = sources(Instance)
    source.server.silent = True
    controller = with_source(controllers(), source).start()
    steps.order(kube)
    told = stalled(kube, controller)
    assert told["reason"] == "NoCredentials"
    assert not gate.entries
    source.server.silent = False
    steps.await_ready(kube, controller=controller)
    steps.recover(kube)


def test_a_metadata_service_without_tokens(controllers, sources, account: Account, kube: Kube, gate: Gate):
    """Version 1 is not asked where that is forbidden."""
    account.seed(small_groups())
    source = sources(Instance)
    source.server.no_v2 = True
    controller = with_source(controllers(), source)
    controller.environment["AWS_EC2_METADATA_V1_DISABLED"] = "true"
    controller.start()
    steps.order(kube)
    assert stalled(kube, controller)["reason"] == "NoCredentials"
    assert {asked.method for asked in source.server.asked} == {"PUT"}


@pytest.mark.parametrize("skew", [600.0, -600.0])
def test_a_clock_that_is_off(skew: float, controllers, account: Account, world: World, kube: Kube, gate: Gate):
    """AWS's is ten minutes before or behind: refused once, and right from then on."""
    account.seed(small_groups())
    before = world.snapshot()
    gate.expected.add("RequestTimeTooSkewed")
    gate.identities.skew_seconds = skew
    controller = controllers().start()
    steps.order(kube)
    steps.await_ready(kube, controller=controller)
    steps.recover(kube)
    steps.assert_back(world, before)
    assert_refused_at_first_only(gate)
    assert "clock" in controller.log.read_text()


@pytest.mark.parametrize("skew", [600.0, -600.0])
@pytest.mark.parametrize("kind", [ProfileChain, WebIdentity])
def test_a_clock_that_is_off_and_credentials_that_end(
    kind, skew: float, controllers, sources, account: Account, world: World, kube: Kube, gate: Gate
):
    """Ends are told in AWS's time."""
    account.seed(small_groups())
    before = world.snapshot()
    gate.expected.add("RequestTimeTooSkewed")
    gate.identities.skew_seconds = skew
    gate.identities.life_seconds = 12
    controller = with_source(controllers(*RESYNC), sources(kind)).start()
    steps.order(kube)
    steps.await_ready(kube, controller=controller)
    began = len(gate.sessions("autoscaling"))
    wait_for("a rotation", lambda: len(gate.sessions("autoscaling")) > began)
    assert abs(expiry_seconds(controller)) < 60  # by our own clock it would be ten minutes
    steps.recover(kube)
    steps.assert_back(world, before)
    assert_refused_at_first_only(gate)


def assert_refused_at_first_only(gate: Gate) -> None:
    refused = [entry.number for entry in gate.entries if entry.note == "RequestTimeTooSkewed"]
    first = next(entry for entry in gate.entries if entry.status == 200 and entry.access)
    assert len(refused) <= 4
    assert all(number < first.number + 4 for number in refused)


def test_keys_that_are_deleted_and_made_again(controllers, account: Account, world: World, kube: Kube, gate: Gate):
    account.seed(small_groups())
    before = world.snapshot()
    gate.expected.add("InvalidClientTokenId")
    controller = controllers(*RESYNC).start()
    steps.order(kube)
    steps.await_ready(kube)
    gate.identities.remove(Key())
    told = stalled(kube, controller)
    assert any(word in told["message"] for word in WORDS)
    assert len(steps.quiet(gate, 3)) <= 12
    gate.identities.add(Key())
    wait_for("it to go on", lambda: not is_stalled(kube), timeout=30)
    steps.recover(kube)
    steps.assert_back(world, before)


def test_keys_that_are_replaced_in_the_file(
    controllers, sources, account: Account, world: World, kube: Kube, gate: Gate
):
    """The old ones are deleted at AWS; the new ones are taken without a restart."""
    account.seed(small_groups())
    before = world.snapshot()
    gate.expected.add("InvalidClientTokenId")
    source = sources(ProfileKeys)
    old, new = gate.identities.new_user_key(), gate.identities.new_user_key()
    source.put(old)
    controller = with_source(controllers(*RESYNC), source).start()
    steps.order(kube)
    steps.await_ready(kube)
    source.put(new)
    gate.identities.remove(old)
    wait_for("requests with the new keys", lambda: new.access in gate.sessions(), timeout=60)
    steps.await_condition(kube, "Ready", controller=controller)
    steps.recover(kube)
    steps.assert_back(world, before)
