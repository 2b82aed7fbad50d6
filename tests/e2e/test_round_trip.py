"""Out of the zone and back: the whole product against a real API server and an account, with nothing going wrong."""

from __future__ import annotations

import pytest

from bed import steps
from bed.account import Account
from bed.gate import Gate
from bed.kube import JSON_PATCH, MERGE_PATCH, Kube, wait_for
from bed.region import EVACUATED, groups, small_groups
from bed.world import World

FOREIGN = {"key": "dedicated", "value": "gpu", "effect": "NoExecute"}


def make_nodes(kube: Kube) -> set[str]:
    """Nodes of all kinds; the names of those that must be taken out."""
    kube.create_node("in-zone-1", EVACUATED, "us-east-1b")
    kube.create_node("in-zone-2", EVACUATED, "us-east-1b", taints=[FOREIGN])
    kube.create_node("in-zone-cordoned", EVACUATED, "us-east-1b", unschedulable=True)
    kube.create_node("other-zone-1", "use1-az6", "us-east-1a")
    kube.create_node("other-zone-2", "use1-az2", "us-east-1c", unschedulable=True)
    kube.create_node("by-name-only", EVACUATED, "us-east-1b")
    kube.call("PATCH", "/api/v1/nodes/by-name-only", {"metadata": {"labels": {"topology.k8s.aws/zone-id": None}}}, MERGE_PATCH)
    fargate = {"eks.amazonaws.com/compute-type": "fargate"}
    kube.create_node("fargate-ip-10-7-16-9", EVACUATED, "us-east-1b")
    kube.call("PATCH", "/api/v1/nodes/fargate-ip-10-7-16-9", {"metadata": {"labels": fargate}}, MERGE_PATCH)
    return {"in-zone-1", "in-zone-2", "in-zone-cordoned", "by-name-only"}


def assert_nodes_out(world: World, names: set[str]) -> None:
    nodes = world.nodes()
    assert world.evacuated_nodes() == names
    for name in names:
        assert nodes[name].unschedulable
        assert ("zonevac.dev/evacuated", EVACUATED, "NoSchedule") in nodes[name].taints
    if "in-zone-2" in names:
        assert ("dedicated", "gpu", "NoExecute") in nodes["in-zone-2"].taints


@pytest.mark.parametrize("count", [12, 120])
def test_out_and_back(count: int, world: World, account: Account, kube: Kube, gate: Gate, controllers):
    account.seed(groups(count))
    gate.pager.caps["ec2:DescribeSubnets"] = 5
    names = make_nodes(kube)
    before = world.snapshot()
    controller = controllers().start()
    steps.order(kube)
    held = steps.await_ready(kube, timeout=120, controller=controller)
    steps.assert_out(world)
    assert_nodes_out(world, names)
    changed = [group for group in account.groups if group.changes()]
    assert steps.assert_journaled_first(gate, world) == len(changed)
    node_records = [item for item in world.records() if item["resourceType"]["S"] == "EksNode"]
    assert len(node_records) == len(names)
    assert_status(held, account, names)
    steps.recover(kube, timeout=120, controller=controller)
    steps.assert_back(world, before)
    assert steps.assert_journaled_first(gate, world) == 2 * len(changed)
    assert controller.stop() == 0
    pages = [e for e in gate.named("autoscaling:DescribeAutoScalingGroups") if "AutoScalingGroupNames" not in e.params]
    assert (count == 12) or sum("NextToken" in entry.params for entry in pages) >= 1


def assert_status(held: dict, account: Account, names: set[str]) -> None:
    status = held["status"]
    changed = [group for group in account.groups if group.changes()]
    refused = [group for group in account.groups if group.refused]
    total = len(changed) + len(names)
    assert status["phase"] == "Holding"
    assert status["zoneName"] == "us-east-1b"
    assert status["accountId"] == account.account_id
    assert status["progress"] == f"{total}/{total}"
    assert (status["refused"], status["failed"]) == (len(refused), 0)
    summary = {entry["kind"]: entry for entry in status["summary"]}
    assert summary["AutoScalingGroup"]["settled"] == len(changed)
    assert summary["EksNode"]["settled"] == len(names)
    states = {change["name"]: change for change in status["changes"]}
    for group in refused:
        assert states[group.name]["state"] == "Refused"
        assert states[group.name]["reason"].startswith(group.refused)
    for group in changed:
        assert states[group.name]["removed"] == [account.subnets[place] for place in group.in_zone()]
    assert held["metadata"]["finalizers"] == ["zonevac.dev/recovery"]
    conditions = {condition["type"]: condition for condition in status["conditions"]}
    assert conditions["Evacuated"]["status"] == "True"
    for unusual in ("Reconciling", "Stalled"):
        assert conditions.get(unusual, {}).get("status", "False") == "False"
    assert conditions["Complete"]["status"] == ("False" if refused else "True")


def test_instances_have_left_before_it_is_ready(world: World, account: Account, kube: Kube, controllers):
    account.seed(small_groups())
    controllers().start()
    steps.order(kube)
    steps.await_ready(kube)
    for group in world.groups().values():
        assert {instance["AvailabilityZone"] for instance in group["Instances"]} <= {"us-east-1a", "us-east-1c"}


def test_blanks_in_an_old_list(world: World, account: Account, kube: Kube, controllers):
    """AWS keeps blanks after commas in lists that were written so; what is put back has the same subnets in the same order."""
    seeded = small_groups()
    seeded[0].separator = ", "
    account.seed(seeded)
    before = world.identifiers()
    controllers().start()
    steps.order(kube, targets=[steps.GROUPS])
    steps.await_ready(kube)
    assert world.identifiers()["one"].replace(" ", "") == account.identifier(seeded[0], ["a0", "c0"]).replace(" ", "")
    steps.recover(kube)
    assert {name: value.replace(" ", "") for name, value in before.items()} == {
        name: value.replace(" ", "") for name, value in world.identifiers().items()
    }


def test_a_selection(world: World, account: Account, kube: Kube, controllers):
    """Only what is selected, and of that not what is excluded."""
    account.seed(groups(12))
    before = world.identifiers()
    selector = {"matchNames": ["w*", "shop*", "batch*"], "exclude": {"matchTags": {"team": "batch"}, "matchNames": ["worker"]}}
    controllers().start()
    steps.order(kube, targets=[{"kind": "AutoScalingGroup", "selector": selector}])
    steps.await_ready(kube)
    after = world.identifiers()
    assert {name for name in before if before[name] != after[name]} == {"web", "shop & co <eu>"}
    steps.recover(kube)
    assert world.identifiers() == before


def test_a_plan_changes_nothing(world: World, account: Account, kube: Kube, gate: Gate, controllers):
    account.seed(groups(12))
    make_nodes(kube)
    before = world.snapshot()
    controllers().start()
    steps.order(kube, mode="Plan")
    planned = steps.await_ready(kube)
    assert planned["status"]["phase"] == "Planned"
    assert "finalizers" not in planned["metadata"]
    states = {change["name"]: change["state"] for change in planned["status"]["changes"]}
    assert states["web"] == "Planned"
    assert states["pinned"] == "Refused"
    assert states["in-zone-1"] == "Planned"
    steps.assert_back(world, before)
    assert not gate.named("autoscaling:UpdateAutoScalingGroup", "dynamodb:PutItem", "dynamodb:UpdateItem")
    kube.call("PATCH", f"/apis/zonevac.dev/v1alpha1/zonalevacuations/{steps.NAME}", {"spec": {"mode": "Evacuate"}}, MERGE_PATCH)
    wait_for("phase Holding", lambda: kube.evacuation(steps.NAME)["status"]["phase"] == "Holding")
    steps.assert_out(world)
    steps.recover(kube)
    steps.assert_back(world, before)


def test_what_the_owner_changes_meanwhile_is_kept(world: World, account: Account, kube: Kube, controllers):
    account.seed(small_groups())
    kube.create_node("n1", EVACUATED, "us-east-1b")
    controllers().start()
    steps.order(kube)
    steps.await_ready(kube)
    subnets = account.subnets
    account.set_zone_identifier("one", ",".join(subnets[place] for place in ("c1", "a0", "c0")))
    account.client("autoscaling").update_auto_scaling_group(AutoScalingGroupName="two", MaxSize=9)
    tainting = [{"op": "add", "path": "/spec/taints/-", "value": FOREIGN}]
    kube.call("PATCH", "/api/v1/nodes/n1", tainting, JSON_PATCH)
    steps.recover(kube)
    back = world.identifiers()
    assert sorted(back["one"].split(",")) == sorted(subnets[place] for place in ("c1", "a0", "b0", "c0"))
    assert back["two"] == account.identifier(account.groups[1])
    assert world.groups()["two"]["MaxSize"] == 9
    node = world.nodes()["n1"]
    assert ("dedicated", "gpu", "NoExecute") in node.taints
    assert not node.evacuated
    assert not node.unschedulable
    assert world.records() == []


def test_a_node_cordoned_before_stays_cordoned(world: World, kube: Kube, controllers):
    kube.create_node("cordoned", EVACUATED, "us-east-1b", unschedulable=True)
    before = world.snapshot()
    controllers().start()
    steps.order(kube, targets=[steps.NODES])
    steps.await_ready(kube)
    assert world.evacuated_nodes() == {"cordoned"}
    steps.recover(kube)
    steps.assert_back(world, before)
    assert world.nodes()["cordoned"].unschedulable


def test_new_nodes_of_the_zone_are_taken_at_once(world: World, kube: Kube, controllers):
    kube.create_node("old", EVACUATED, "us-east-1b")
    controllers().start()
    steps.order(kube, targets=[steps.NODES])
    steps.await_ready(kube)
    kube.create_node("new", EVACUATED, "us-east-1b")
    wait_for("the new node's taint", lambda: world.evacuated_nodes() == {"old", "new"})  # a look at all comes after five minutes only
    steps.recover(kube)
    assert world.evacuated_nodes() == set()


def test_what_somebody_puts_back_is_taken_again(world: World, account: Account, kube: Kube, controllers):
    account.seed(small_groups())
    before = world.snapshot()
    controllers("--resync", "2s").start()
    steps.order(kube)
    steps.await_ready(kube)
    account.set_zone_identifier("one", account.identifier(account.groups[0]))
    out = account.identifier(account.groups[0], account.groups[0].places_out())
    wait_for("the subnet to be out again", lambda: world.identifiers()["one"] == out, timeout=30)
    wait_for("the record to say so", lambda: any(item.get("undone", {}).get("N") == "1" for item in world.records()))
    steps.recover(kube)
    steps.assert_back(world, before)


def test_new_groups_are_taken_at_the_next_look(world: World, account: Account, kube: Kube, controllers):
    account.seed(small_groups())
    controllers("--resync", "2s").start()
    steps.order(kube)
    steps.await_ready(kube)
    account.client("autoscaling").create_auto_scaling_group(
        AutoScalingGroupName="late",
        MinSize=0,
        MaxSize=2,
        LaunchTemplate={"LaunchTemplateName": "bed"},
        VPCZoneIdentifier=account.subnets["a0"] + "," + account.subnets["b0"],
    )
    wait_for("the new group", lambda: world.identifiers()["late"] == account.subnets["a0"], timeout=30)
    steps.recover(kube)
    assert world.identifiers()["late"] == account.subnets["a0"] + "," + account.subnets["b0"]


def test_deleted_while_the_controller_is_down(world: World, account: Account, kube: Kube, gate: Gate, controllers):
    account.seed(small_groups())
    kube.create_node("n1", EVACUATED, "us-east-1b")
    before = world.snapshot()
    controller = controllers().start()
    steps.order(kube)
    steps.await_ready(kube)
    assert controller.stop() == 0
    kube.delete_evacuation(steps.NAME)
    assert kube.evacuation(steps.NAME) is not None
    controller.start()
    steps.await_gone(kube, controller=controller)
    steps.assert_back(world, before)


def test_a_restart_while_holding_writes_nothing(world: World, account: Account, kube: Kube, gate: Gate, controllers):
    account.seed(groups(12))
    make_nodes(kube)
    controller = controllers().start()
    steps.order(kube)
    steps.await_ready(kube)
    assert controller.stop() == 0
    held, items = world.snapshot(), world.items()
    gate.entries.clear()
    controller.start()
    wait_for("a look", lambda: gate.named("autoscaling:DescribeAutoScalingGroups"))
    steps.quiet(gate, 1.5)
    assert not held.differences(world.snapshot())
    assert world.items() == items
    writes = gate.named("autoscaling:UpdateAutoScalingGroup", "dynamodb:PutItem", "dynamodb:UpdateItem", "dynamodb:DeleteItem")
    assert not [entry.name for entry in writes if entry.status == 200]  # a refused condition has written nothing
    assert kube.condition(steps.NAME, "Ready")["status"] == "True"


def test_the_journal_is_made_as_the_templates_make_it(world: World, account: Account, kube: Kube, gate: Gate, controllers):
    """And waited for, until it and its index are there."""
    account.seed(small_groups())
    gate.birth.describes = 2
    controllers().start()
    steps.order(kube)
    steps.await_ready(kube)
    client = account.client("dynamodb")
    table = client.describe_table(TableName="zonevac-journal")["Table"]
    keys = {key["AttributeName"]: key["KeyType"] for key in table["KeySchema"]}
    assert keys == {"zoneId": "HASH", "resourceId": "RANGE"}
    index = table["GlobalSecondaryIndexes"][0]
    assert index["IndexName"] == "resourceType-zoneId-index"
    assert [key["AttributeName"] for key in index["KeySchema"]] == ["resourceType", "zoneId"]
    assert index["Projection"]["ProjectionType"] == "ALL"
    assert table["BillingModeSummary"]["BillingMode"] == "PAY_PER_REQUEST"
    assert table["DeletionProtectionEnabled"]
    backups = client.describe_continuous_backups(TableName="zonevac-journal")["ContinuousBackupsDescription"]
    assert backups["PointInTimeRecoveryDescription"]["PointInTimeRecoveryStatus"] == "ENABLED"
    assert gate.counts()["dynamodb:CreateTable"] == 1
