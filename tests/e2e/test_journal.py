"""The journal on two stores, moto's and dynalite's: each would hide mistakes that the other shows. And a table that is lost."""

from __future__ import annotations

from typing import Any

import pytest
from test_kill_matrix import kill_while_evacuating, kill_while_restoring, undisturbed

from bed import steps
from bed.account import TABLE, Account
from bed.bench import Bench
from bed.controller import Controller
from bed.functions import small_functions
from bed.gate import WRITES, Gate
from bed.kube import Kube, wait_for
from bed.region import EVACUATED, Group, small_groups
from bed.services import small_services
from bed.world import World

OTHER = "99999999-8888-7777-6666-555555555555"  # another cluster
TABLE_OPERATIONS = {"CreateTable", "DescribeContinuousBackups", "DescribeTable", "UpdateContinuousBackups"}
OPERATIONS = {"DeleteItem", "GetItem", "PutItem", "Query", "UpdateItem"} | TABLE_OPERATIONS
ITEM_BYTES = 300_000
BALLAST = 5  # items of that size: more than Query reads at once


@pytest.fixture
def busy_account(store: str, account: Account, kube: Kube, gate: Gate) -> Account:
    """One node and some resources of every other kind. A new table takes its time at both stores."""
    account.seed(small_groups(), small_services(), small_functions())
    kube.create_node("n1", EVACUATED, "us-east-1b")
    gate.birth.describes = 2 if store == "moto" else 0
    return account


def add_ballast(account: Account) -> None:
    """Large records of somebody else's in the same zone, before ours in the order of keys: the zone is read in pages."""
    for number in range(BALLAST):
        item = {"zoneId": EVACUATED, "resourceId": f"a-{number}", "resourceType": "AutoScalingGroup", "attempt": "x" * ITEM_BYTES}
        item |= {"state": "Settled", "createdAt": "2026-01-01T00:00:00Z", "updatedAt": "2026-01-01T00:00:00Z"}
        written: dict[str, Any] = {name: {"S": value} for name, value in item.items()}
        written |= {"owners": {"SS": [OTHER]}, "removedSubnets": {"L": [{"S": "subnet-0"}]}, "undone": {"N": "0"}}
        account.client("dynamodb").put_item(TableName=TABLE, Item=written | {"detail": {"M": {"schema": {"N": "1"}}}})


def remove_ballast(account: Account) -> None:
    for number in range(BALLAST):
        key = {"zoneId": {"S": EVACUATED}, "resourceId": {"S": f"a-{number}"}}
        account.client("dynamodb").delete_item(TableName=TABLE, Key=key)


def test_every_kind_out_and_back(store: str, busy_account: Account, world: World, kube: Kube, gate: Gate, controllers):
    """From no table to an empty one. No batches and no transactions; and nothing is asked of the index, which is always a little late."""
    before = world.snapshot()
    controller = controllers().start()
    steps.order(kube, targets=steps.EVERYTHING)
    steps.await_ready(kube, controller=controller)
    steps.assert_out(world)
    steps.recover(kube, controller=controller)
    steps.assert_back(world, before)
    assert {entry.operation for entry in gate.entries if entry.service == "dynamodb"} <= OPERATIONS
    queries = gate.named("dynamodb:Query")
    assert queries
    assert all(entry.params["ConsistentRead"] and "IndexName" not in entry.params for entry in queries)


def test_a_zone_that_is_read_in_pages(store: str, busy_account: Account, world: World, kube: Kube, gate: Gate, controllers):
    """What lies behind the first megabyte is found by a process that knows nothing, and put back."""
    before = world.snapshot()
    busy_account.create_journal()
    add_ballast(busy_account)
    controller = controllers().start()
    steps.order(kube, targets=steps.EVERYTHING)
    steps.await_ready(kube, controller=controller)
    controller.stop()
    gate.entries.clear()
    controller.start()
    steps.recover(kube, controller=controller)
    assert [entry for entry in gate.named("dynamodb:Query") if "ExclusiveStartKey" in entry.params]
    assert len(world.records()) == BALLAST
    remove_ballast(busy_account)
    steps.assert_back(world, before)


def test_a_table_that_may_be_lost_is_warned_of(store: str, busy_account: Account, kube: Kube, controllers):
    """It works all the same. dynalite knows no backups: then nothing can be said of them."""
    busy_account.create_journal()
    controller = controllers().without("--create-journal").start()
    steps.order(kube, targets=[steps.GROUPS])
    steps.await_ready(kube, controller=controller)
    backups = "has no point-in-time recovery" if store == "moto" else "point-in-time recovery cannot be told"
    for words in ("is not protected against deletion", backups):
        wait_for(words, lambda words=words: words in controller.log.read_text())
    steps.recover(kube, controller=controller)


def one_group() -> list[Group]:
    return [Group("one", ["a0", "b0", "c0"], desired=2)]


@pytest.mark.parametrize("store", ["dynalite"], indirect=True)
def test_killed_at_every_write_of_the_journal(
    store: str, world: World, account: Account, kube: Kube, gate: Gate, controllers, capsys: pytest.CaptureFixture
):
    """The kill matrix does so at moto's table. Here who comes next meets a write that was done, and is refused without being shown it."""
    bench = Bench(world, account, kube, gate, controllers(), targets=[steps.GROUPS], groups=one_group)
    out, _total = undisturbed(bench, gate)
    writes = [entry for entry in gate.entries if entry.name in WRITES and entry.status == 200]
    points = [(kill_while_evacuating, entry.number) for entry in writes if entry.number <= out]
    points += [(kill_while_restoring, entry.number - out) for entry in writes if entry.number > out]
    assert len(points) == 6, "register, intent, done; restoring, close, unregister"
    struck = sum(kill(bench, gate, number, moment) for kill, number in points for moment in ("after", "reply"))
    with capsys.disabled():
        print(f"\n{struck} of {2 * len(points)} writes killed at, {bench.claimed} left a claim")
    assert struck >= 1.5 * len(points)


# two owners; the other one is another cluster, whose controller is played here


def change_owners(account: Account, world: World, how: str) -> None:
    """ "ADD" or "DELETE" the other owner, in every record and the zone's registration."""
    client, other = account.client("dynamodb"), {":o": {"SS": [OTHER]}, ":one": {"N": "1"}}
    for item in world.records():
        key = {name: item[name] for name in ("zoneId", "resourceId")}
        client.update_item(
            TableName=TABLE, Key=key, UpdateExpression=f"{how} owners :o", ExpressionAttributeValues={":o": {"SS": [OTHER]}}
        )
    client.update_item(
        TableName=TABLE,
        Key={"zoneId": {"S": "#region"}, "resourceId": {"S": "active"}},
        UpdateExpression=f"{how} #z :o" + (" ADD revision :one" if how == "DELETE" else ", revision :one"),
        ExpressionAttributeNames={"#z": f"zone:{EVACUATED}"},
        ExpressionAttributeValues=other,
    )


def owners_of(world: World) -> set[frozenset[str]]:
    return {frozenset(item["owners"]["SS"]) for item in world.records()}


def test_two_owners_join_and_leave(store: str, busy_account: Account, world: World, kube: Kube, controllers):
    """Whoever is not the last one leaves; who comes later joins; the last one restores."""
    ours = kube.uid_of_cluster()
    before = world.snapshot()
    targets = [steps.GROUPS, steps.SERVICES, steps.FUNCTIONS]
    controller = controllers("--resync", "1s").start()
    steps.order(kube, targets=targets)
    steps.await_ready(kube, controller=controller)
    change_owners(busy_account, world, "ADD")
    assert owners_of(world) == {frozenset([ours, OTHER])}
    steps.recover(kube, controller=controller)
    steps.assert_out(world)
    assert owners_of(world) == {frozenset([OTHER])}
    steps.order(kube, targets=targets)
    steps.await_ready(kube, controller=controller)
    wait_for("the records to be ours too", lambda: owners_of(world) == {frozenset([ours, OTHER])})
    steps.assert_out(world)
    change_owners(busy_account, world, "DELETE")
    steps.recover(kube, controller=controller)
    steps.assert_back(world, before)


# a table that is lost


def lose_table(account: Account) -> None:
    client = account.client("dynamodb")
    client.delete_table(TableName=TABLE)
    wait_for("the table to be gone", lambda: TABLE not in client.list_tables()["TableNames"])


def bring_table_back(account: Account, items: list[dict[str, Any]]) -> None:
    """As from its backup."""
    account.create_journal()
    for item in items:
        account.client("dynamodb").put_item(TableName=TABLE, Item=item)


def updates_of_groups(gate: Gate) -> int:
    return len(gate.named("autoscaling:UpdateAutoScalingGroup"))


def await_missing(kube: Kube, gate: Gate, controller: Controller) -> None:
    """It is told, with the way out; and nothing is changed meanwhile."""
    told = steps.await_condition(kube, "Stalled", controller=controller)
    assert told["reason"] == "JournalMissing"
    assert TABLE in told["message"]
    assert "backup" in told["message"]
    steps.quiet(gate, 1)  # what was recorded before may still be on its way
    sent = updates_of_groups(gate)
    steps.quiet(gate, 1)
    assert updates_of_groups(gate) == sent


@pytest.fixture
def holder(store: str, account: Account, gate: Gate, controllers) -> Controller:
    """Three groups and a journal that people have made."""
    account.seed(small_groups())
    account.create_journal()
    return controllers("--resync", "1s")


def test_lost_while_applying(store: str, holder: Controller, account: Account, world: World, kube: Kube, gate: Gate):
    before = world.snapshot()
    gate.latency_seconds = 0.2
    holder.start()
    steps.order(kube, targets=[steps.GROUPS], pacing={"maxInFlight": 1})
    wait_for("the first group to be changed", lambda: updates_of_groups(gate) >= 1, pause=0.005)
    items = world.items()
    lose_table(account)
    gate.latency_seconds = 0.0
    await_missing(kube, gate, holder)
    bring_table_back(account, items)
    steps.await_ready(kube, controller=holder)
    steps.assert_out(world)
    steps.recover(kube, controller=holder)
    steps.assert_back(world, before)


@pytest.mark.parametrize("how", ["from its backup", "empty"])
def test_lost_while_holding(
    how: str, store: str, holder: Controller, account: Account, world: World, kube: Kube, gate: Gate
):
    """An empty one gets again what this process knows."""
    before = world.snapshot()
    holder.start()
    steps.order(kube, targets=[steps.GROUPS])
    steps.await_ready(kube, controller=holder)
    items = world.items()
    lose_table(account)
    await_missing(kube, gate, holder)
    bring_table_back(account, items if how == "from its backup" else [])
    steps.await_ready(kube, controller=holder)
    wait_for("every record", lambda: {item["resourceId"]["S"] for item in world.items()} == {i["resourceId"]["S"] for i in items})
    steps.assert_out(world)
    steps.recover(kube, controller=holder)
    steps.assert_back(world, before)


def test_lost_while_restoring(store: str, holder: Controller, account: Account, world: World, kube: Kube, gate: Gate):
    """The object stays until what was lost is there again."""
    before = world.snapshot()
    holder.start()
    steps.order(kube, targets=[steps.GROUPS], pacing={"maxInFlight": 1})
    steps.await_ready(kube, controller=holder)
    out = updates_of_groups(gate)
    gate.latency_seconds = 0.2
    kube.delete_evacuation(steps.NAME)
    wait_for("the first group to be put back", lambda: updates_of_groups(gate) > out, pause=0.005)
    items = world.items()
    lose_table(account)
    gate.latency_seconds = 0.0
    await_missing(kube, gate, holder)
    assert kube.evacuation(steps.NAME) is not None
    bring_table_back(account, items)
    steps.await_gone(kube, controller=holder)
    steps.assert_back(world, before)
