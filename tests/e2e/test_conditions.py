"""What people and their tools see: conditions, printer columns, events, kubectl wait; and who may hold a zone."""

from __future__ import annotations

import time

from bed import steps
from bed.account import Account
from bed.controlplane import ControlPlane
from bed.gate import Gate
from bed.kube import GROUP, MERGE_PATCH, Kube, wait_for
from bed.region import EVACUATED, groups, small_groups
from bed.world import World

OTHER_ZONE = "use1-az2"


def test_kubectl_wait_and_columns(controllers, account: Account, kube: Kube, installed: ControlPlane):
    account.seed(groups(12))
    kube.create_node("n1", EVACUATED, "us-east-1b")
    controllers().start()
    steps.order(kube)
    installed.kubectl("wait", "--for=condition=Ready", "--timeout=60s", f"zev/{steps.NAME}")
    header, row = installed.kubectl("get", "zev").splitlines()
    assert header.split() == ["NAME", "ZONE", "MODE", "PHASE", "PROGRESS", "REFUSED", "FAILED", "AGE"]
    changed = sum(group.changes() for group in account.groups) + 1
    refused = sum(bool(group.refused) for group in account.groups)
    assert row.split()[:7] == [steps.NAME, EVACUATED, "Evacuate", "Holding", f"{changed}/{changed}", str(refused), "0"]
    described = installed.kubectl("describe", "zev", steps.NAME)
    assert "Evacuated" in described
    assert "LastSubnet" in described
    installed.kubectl("delete", "zev", steps.NAME, "--timeout=60s")


def test_conditions_speak_of_the_generation(controllers, account: Account, kube: Kube):
    """kstatus: never an object without conditions, never one that is Ready of an older generation, never Ready and Reconciling."""
    account.seed(groups(12))
    kube.create_node("n1", EVACUATED, "us-east-1b")
    controllers().start()
    steps.order(kube)
    seen = observe(kube, lambda item: ready(item))
    kube.delete_evacuation(steps.NAME)
    seen += observe(kube, lambda item: item is None)
    for item in seen:
        check_conditions(item)
    phases = list(dict.fromkeys(item["status"]["phase"] for item in seen if "phase" in item.get("status", {})))
    order = ["Pending", "Observing", "Applying", "Holding", "Restoring", "Restored"]
    assert phases == sorted(phases, key=order.index), phases
    assert {"Holding", "Restoring"} <= set(phases)


def test_more_than_half_of_the_nodes_is_refused_unless_it_is_said(controllers, account: Account, kube: Kube, world: World, gate: Gate):
    account.seed(small_groups())
    for name in ["n1", "n2"]:
        kube.create_node(name, EVACUATED, "us-east-1b")
    before = world.snapshot()
    controller = controllers().start()
    kube.evacuate(steps.NAME, zoneId=EVACUATED, targets=[steps.NODES, steps.GROUPS])
    stalled = steps.await_condition(kube, "Stalled", controller=controller)
    assert stalled["reason"] == "MaxNodesPercent"
    assert "2 of the cluster's 3 nodes would go, more than the 50 %" in stalled["message"]
    assert "finalizers" not in kube.evacuation(steps.NAME)["metadata"]
    assert not gate.named("autoscaling:UpdateAutoScalingGroup", "dynamodb:PutItem", "dynamodb:UpdateItem")
    steps.assert_back(world, before)
    kube.call("PATCH", f"{GROUP}/{steps.NAME}", {"spec": {"guards": {"maxNodesPercent": 67}}}, MERGE_PATCH)
    steps.await_ready(kube, controller=controller)
    assert world.evacuated_nodes() == {"n1", "n2"}


def ready(item: dict | None) -> bool:
    conditions = (item or {}).get("status", {}).get("conditions", [])
    return any(c["type"] == "Ready" and c["status"] == "True" for c in conditions)


def observe(kube: Kube, last) -> list[dict]:
    """Every version that polling catches, until `last` is true of one."""
    seen: list[dict] = []
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        item = kube.evacuation(steps.NAME)
        if item is not None and (not seen or seen[-1]["metadata"]["resourceVersion"] != item["metadata"]["resourceVersion"]):
            seen.append(item)
        if last(item):
            return seen
        time.sleep(0.005)
    raise AssertionError(steps.describe(kube))


def check_conditions(item: dict) -> None:
    status = item.get("status", {})
    conditions = {condition["type"]: condition for condition in status.get("conditions", [])}
    if not conditions:
        return
    assert "Ready" in conditions
    for condition in conditions.values():
        assert condition["observedGeneration"] == status["observedGeneration"] <= item["metadata"]["generation"]
        assert condition["message"]
        assert condition["lastTransitionTime"].endswith("Z")
    if conditions["Ready"]["status"] == "True":
        assert holds(conditions, "Reconciling") is False
    if status["phase"] in ("Applying", "Restoring"):
        assert holds(conditions, "Reconciling")
        assert conditions["Ready"]["status"] != "True"


def holds(conditions: dict, kind: str) -> bool:
    """Of the two that say that something is out of the ordinary, absence is False."""
    return conditions.get(kind, {}).get("status") == "True"


def test_events_tell_the_story_once(controllers, account: Account, kube: Kube):
    account.seed(small_groups())
    kube.create_node("n1", EVACUATED, "us-east-1b")
    controllers().start()
    steps.order(kube)
    steps.await_ready(kube)
    steps.recover(kube)
    events = [event for event in kube.events() if event["involvedObject"]["kind"] == "ZonalEvacuation"]
    assert events
    assert len(events) <= 20
    for event in events:
        assert event["involvedObject"]["name"] == steps.NAME
        assert event["message"]
        assert event["reason"]
        assert event["type"] in ("Normal", "Warning")
        assert event.get("reportingComponent") or event.get("source", {}).get("component")


def test_a_second_zone_is_refused(controllers, account: Account, world: World, kube: Kube, gate: Gate):
    """While one zone is out, nobody takes another one of the region: it would leave one."""
    account.seed(small_groups())
    kube.create_node("n1", EVACUATED, "us-east-1b")
    kube.create_node("n2", OTHER_ZONE, "us-east-1c")
    before = world.snapshot()
    controllers().start()
    steps.order(kube)
    steps.await_ready(kube)
    held = world.identifiers()
    steps.order(kube, "second", OTHER_ZONE)
    stalled = steps.await_condition(kube, "Stalled", name="second")
    assert "OtherZone" in stalled["reason"] + stalled["message"]
    steps.quiet(gate, 1)
    assert world.identifiers() == held
    assert world.evacuated_nodes() == {"n1"}
    kube.delete_evacuation("second")
    wait_for("the second to be gone", lambda: kube.evacuation("second") is None)
    steps.recover(kube)
    steps.assert_back(world, before)


def test_two_for_one_zone(controllers, account: Account, world: World, kube: Kube):
    """The oldest holds; when it is deleted the next takes over, and nothing is restored in between."""
    account.seed(small_groups())
    kube.create_node("n1", EVACUATED, "us-east-1b")
    before = world.snapshot()
    controllers().start()
    steps.order(kube, "first")
    steps.await_ready(kube, "first")
    time.sleep(1.1)  # creation times have seconds
    steps.order(kube, "next")
    stalled = steps.await_condition(kube, "Stalled", name="next")
    assert stalled["reason"] == "ZoneTaken"
    assert "first" in stalled["message"]
    held = world.identifiers()
    kube.delete_evacuation("first")
    steps.await_gone(kube, "first")
    assert world.identifiers() == held
    steps.await_ready(kube, "next")
    assert world.identifiers() == held
    assert world.evacuated_nodes() == {"n1"}
    steps.recover(kube, "next")
    steps.assert_back(world, before)


def count_of(controller, operation: str) -> float:
    """Of answers 200, as /metrics says."""
    lines = controller.http("/metrics").text.splitlines()
    ours = [line for line in lines if line.startswith("zonevac_requests_total{") and f'operation="{operation}"' in line]
    return sum(float(line.rsplit(" ", 1)[1]) for line in ours if 'code="200"' in line)


def test_health_and_metrics(controllers, account: Account, kube: Kube, gate: Gate):
    account.seed(small_groups())
    controller = controllers().start()
    controller.await_ready()
    steps.order(kube)
    steps.await_ready(kube)
    assert controller.http("/healthz").status_code == 200
    text = controller.http("/metrics").text
    assert "zonevac_build_info{" in text
    assert "\nzonevac_leader 1\n" in text
    sent = len(gate.named("autoscaling:UpdateAutoScalingGroup"))
    wait_for("the count of updates", lambda: count_of(controller, "UpdateAutoScalingGroup") == sent)
    steps.recover(kube)


def test_one_leads_and_another_takes_over(controllers, account: Account, world: World, kube: Kube):
    account.seed(small_groups())
    before = world.snapshot()
    first = controllers(leader_elect=True).start()
    steps.order(kube)
    steps.await_ready(kube)
    second = controllers(leader_elect=True).start()
    second.await_ready()
    assert "zonevac_leader 0" in second.http("/metrics").text
    first.kill()
    first.wait()
    kube.delete_evacuation(steps.NAME)
    steps.await_gone(kube, timeout=60, controller=second)
    steps.assert_back(world, before)


def test_a_stopped_leader_lets_go_at_once(controllers, account: Account, kube: Kube):


    def holder() -> str:
        lease = kube.get("/apis/coordination.k8s.io/v1/namespaces/zonevac-system/leases/zonevac") or {}
        return lease.get("spec", {}).get("holderIdentity", "")

    account.seed(small_groups())
    first = controllers(leader_elect=True).start()
    wait_for("the lease to be held", holder)
    assert first.stop() == 0
    assert not holder()
    second = controllers(leader_elect=True).start()
    steps.order(kube)
    steps.await_ready(kube, controller=second)
    steps.recover(kube)
