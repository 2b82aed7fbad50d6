"""Two zones of a region at once (guards.allowOtherZones), and a zone that is recovered elsewhere: on real parts, exact at the end."""

from __future__ import annotations

from bed import steps
from bed.account import TABLE, Account
from bed.gate import Gate
from bed.kube import Kube, wait_for
from bed.region import EVACUATED, small_groups
from bed.world import World

OTHER = "use1-az6"
GUARDS = {"maxNodesPercent": 100, "allowOtherZones": True}


def both(kube: Kube, controllers):
    controller = controllers("--resync", "5s").start()
    steps.order(kube, guards=GUARDS)
    steps.await_ready(kube, controller=controller)
    steps.order(kube, "other", OTHER, guards=GUARDS)
    steps.await_ready(kube, "other", timeout=120, controller=controller)
    return controller


def letters(world: World, account: Account) -> dict[str, str]:
    """By group, the zones' letters that it lies in."""
    places = {subnet: place for place, subnet in account.subnets.items()}
    return {
        name: "".join(sorted({places[subnet][0] for subnet in subnets})) for name, subnets in world.subnets_of("groups").items()
    }


def test_two_zones_out_and_back(world: World, account: Account, kube: Kube, gate: Gate, controllers):
    account.seed(small_groups())
    kube.create_node("in-zone", EVACUATED, "us-east-1b")
    kube.create_node("in-other", OTHER, "us-east-1a")
    before = world.snapshot()
    controller = both(kube, controllers)
    assert letters(world, account) == {"one": "c", "two": "a", "three": "c"}, "never without a subnet"
    changes = kube.evacuation("other")["status"]["changes"]
    refused = {change["name"]: change["reason"] for change in changes if change["state"] == "Refused"}
    assert set(refused) == {"two"} and refused["two"].startswith("LastSubnet"), refused
    assert world.registrations() == [f"zone:{EVACUATED}", f"zone:{OTHER}"]
    locked = [entry.params["Item"]["resourceId"]["S"] for entry in gate.named("dynamodb:PutItem") if is_lock(entry.params["Item"])]
    assert locked, "the second zone's changes are made under locks"
    steps.recover(kube, "other", timeout=120, controller=controller)
    assert letters(world, account) == {"one": "ac", "two": "a", "three": "ac"}
    steps.recover(kube, timeout=120, controller=controller)
    steps.assert_back(world, before)
    assert controller.stop() == 0


def is_lock(item: dict) -> bool:
    return item["zoneId"]["S"] == "#lock"


def test_unregistered_by_a_person(world: World, account: Account, kube: Kube, gate: Gate, controllers):
    """Whoever is unregistered stops: what a person puts back stays back."""
    account.seed(small_groups())
    kube.create_node("in-zone", EVACUATED, "us-east-1b")
    before = world.snapshot()
    controller = controllers("--resync", "2s").start()
    steps.order(kube)
    steps.await_ready(kube, controller=controller)
    account.client("dynamodb").update_item(
        TableName=TABLE,
        Key={"zoneId": {"S": "#region"}, "resourceId": {"S": "active"}},
        UpdateExpression="REMOVE #zone SET #revision = #revision + :one",
        ExpressionAttributeNames={"#zone": f"zone:{EVACUATED}", "#revision": "revision"},
        ExpressionAttributeValues={":one": {"N": "1"}},
    )

    def stopped() -> bool:
        condition = kube.condition(steps.NAME, "Stalled")
        return condition.get("status") == "True" and condition["reason"] == "RecoveredElsewhere"

    wait_for("it stops", stopped, timeout=60)
    put_back = small_groups()[0]
    account.client("autoscaling").update_auto_scaling_group(
        AutoScalingGroupName=put_back.name, VPCZoneIdentifier=account.identifier(put_back, put_back.places)
    )
    controller.kill()
    controller.wait()
    controller.start()
    wait_for("a new one stops, too", stopped, timeout=60)
    assert letters(world, account)["one"] == "abc", "nothing is taken out again"
    assert kube.condition(steps.NAME, "Evacuated")["status"] == "False"
    steps.recover(kube, timeout=120, controller=controller)
    steps.assert_back(world, before)
    assert controller.stop() == 0
