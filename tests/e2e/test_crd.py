"""The CRD and the manifests, judged by the API server itself."""

from __future__ import annotations

import copy

import pytest
import yaml

from bed.controlplane import ROOT, ControlPlane
from bed.kube import GROUP, MERGE_PATCH, Kube, KubeError

ALL = {"all": True}
NODES = {"kind": "EksNode", "selector": ALL}
KINDS = ["EksNode", "AutoScalingGroup", "EcsService", "LambdaFunction"]
GUARDS = ["ManagedByEks", "OtherCluster", "NodesNotDrained", "Unreplicated"]
GROUPS = {"kind": "AutoScalingGroup", "selector": {"matchTags": {"team": "web"}, "matchNames": ["web-*"]}}


def patch(kube: Kube, spec: dict) -> dict:
    return kube.call("PATCH", f"{GROUP}/a", {"spec": spec}, MERGE_PATCH)


def patch_status(kube: Kube, status: dict) -> dict:
    return kube.call("PATCH", f"{GROUP}/a/status", {"status": status}, MERGE_PATCH)


def refused(call, *words: str) -> None:
    """The API server refuses with 422, and says these words."""
    with pytest.raises(KubeError) as caught:
        call()
    assert caught.value.status == 422, caught.value
    for word in words:
        assert word in str(caught.value)


def selecting(selector: dict) -> list[dict]:
    return [{"kind": "AutoScalingGroup", "selector": selector}]


def test_crd_is_established_and_structural(installed: ControlPlane) -> None:
    crd = installed.kube.get("/apis/apiextensions.k8s.io/v1/customresourcedefinitions/zonalevacuations.zonevac.dev")
    conditions = {condition["type"]: condition["status"] for condition in crd["status"]["conditions"]}
    assert conditions["Established"] == "True"
    assert conditions["NamesAccepted"] == "True"
    assert conditions.get("NonStructuralSchema", "False") == "False"


def test_every_field_is_described_and_bounded(installed: ControlPlane) -> None:
    crd = yaml.safe_load((ROOT / "crds/zonevac.dev_zonalevacuations.yaml").read_text())
    missing = []

    def walk(path: str, schema: dict) -> None:
        for name, field in schema.get("properties", {}).items():
            here = f"{path}.{name}"
            if "description" not in field and here != ".metadata":
                missing.append(f"{here} has no description")
            bounds = {"array": {"maxItems"}, "integer": {"minimum"}, "string": {"maxLength", "enum"}}
            wanted = bounds.get(field["type"], set()) if path else set()
            if "additionalProperties" in field:
                wanted = {"maxProperties"}
            if wanted and not wanted & field.keys():
                missing.append(f"{here} has no {' or '.join(wanted)}")
            walk(here, field)
            walk(f"{here}[]", field.get("items", {}))

    walk("", crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"])
    assert not missing


def test_defaults_are_filled_in(kube: Kube) -> None:
    made = kube.evacuate("a", zoneId="use1-az1", targets=[NODES])
    assert made["spec"]["mode"] == "Evacuate"
    assert made["spec"]["pacing"] == {"maxInFlight": 16, "batchPercent": 100, "batchIntervalSeconds": 0}


def test_columns(installed: ControlPlane, kube: Kube) -> None:
    kube.evacuate("a", zoneId="use1-az1", targets=[NODES])
    patch_status(kube, {"phase": "Applying", "progress": "3/7", "refused": 2, "failed": 1})
    head, row = installed.kubectl("get", "zev").splitlines()
    assert head.split() == ["NAME", "ZONE", "MODE", "PHASE", "PROGRESS", "REFUSED", "FAILED", "AGE"]
    assert row.split()[:7] == ["a", "use1-az1", "Evacuate", "Applying", "3/7", "2", "1"]


@pytest.mark.parametrize("zone", ["use1-az1", "apne1-az4", "usgw1-az3", "cnn1-az10"])
def test_zone_ids_that_are_good(kube: Kube, zone: str) -> None:
    kube.evacuate("a", zoneId=zone, targets=[NODES])


@pytest.mark.parametrize("zone", ["us-east-1a", "use1-bos1-az1", "use1-wl1-bos-wlz1", "USE1-az1", "", "use1-az1 "])
def test_other_zones_are_refused_in_words(kube: Kube, zone: str) -> None:
    refused(lambda: kube.evacuate("a", zoneId=zone, targets=[NODES]), "must be the id of an Availability Zone")


def test_zone_is_required(kube: Kube) -> None:
    refused(lambda: kube.evacuate("a", targets=[NODES]), "spec.zoneId", "Required")


def test_zone_cannot_change(kube: Kube) -> None:
    kube.evacuate("a", zoneId="use1-az1", targets=[NODES])
    refused(lambda: patch(kube, {"zoneId": "use1-az2"}), "zoneId cannot be changed")


def test_region_cannot_change_come_or_go(kube: Kube) -> None:
    kube.evacuate("a", zoneId="use1-az1", region="us-east-1", targets=[NODES])
    refused(lambda: patch(kube, {"region": "us-west-2"}), "region cannot be changed")
    refused(lambda: patch(kube, {"region": None}), "region cannot be changed")
    kube.delete_evacuation("a")
    kube.evacuate("a", zoneId="use1-az1", targets=[NODES])
    refused(lambda: patch(kube, {"region": "us-east-1"}), "region cannot be changed")


def test_plan_becomes_evacuate_but_not_back(kube: Kube) -> None:
    kube.evacuate("a", zoneId="use1-az1", mode="Plan", targets=[NODES])
    patch(kube, {"pacing": {"maxInFlight": 1}})
    assert patch(kube, {"mode": "Evacuate"})["spec"]["mode"] == "Evacuate"
    refused(lambda: patch(kube, {"mode": "Plan"}), "mode cannot go back")
    refused(lambda: patch(kube, {"mode": "Drill"}), "spec.mode")


HASH = "sha256:" + "0123456789abcdef" * 4


def test_a_plan_may_be_named_changed_and_emptied(kube: Kube) -> None:
    kube.evacuate("a", zoneId="use1-az1", planHash=HASH, targets=[NODES])
    assert patch(kube, {"planHash": HASH[:-1] + "0"})["spec"]["planHash"] == HASH[:-1] + "0"
    assert patch(kube, {"planHash": ""})["spec"]["planHash"] == ""
    assert "planHash" not in patch(kube, {"planHash": None})["spec"]


@pytest.mark.parametrize("value", ["x", HASH[7:], HASH[:-1], HASH + "0", HASH.upper(), HASH[:-1] + "g", f" {HASH}", 5])
def test_other_words_are_no_plan(kube: Kube, value: object) -> None:
    refused(lambda: kube.evacuate("a", zoneId="use1-az1", planHash=value, targets=[NODES]), "spec.planHash")


def test_targets_are_bounded_and_one_a_kind(kube: Kube) -> None:
    refused(lambda: kube.evacuate("a", zoneId="use1-az1"), "spec.targets", "Required")
    refused(lambda: kube.evacuate("a", zoneId="use1-az1", targets=[]), "spec.targets")
    refused(lambda: kube.evacuate("a", zoneId="use1-az1", targets=[NODES, NODES]), "Duplicate value")
    refused(
        lambda: kube.evacuate("a", zoneId="use1-az1", targets=[{"kind": "Bucket", "selector": ALL}]),
        "Unsupported value",
    )
    refused(lambda: kube.evacuate("a", zoneId="use1-az1", targets=[{"kind": "EksNode"}]), "selector")


def test_targets_may_be_edited(kube: Kube) -> None:
    kube.evacuate("a", zoneId="use1-az1", targets=[NODES])
    assert len(patch(kube, {"targets": [NODES, GROUPS]})["spec"]["targets"]) == 2
    assert patch(kube, {"targets": [GROUPS]})["spec"]["targets"] == [GROUPS]


def test_all_kinds_and_nothing_is_filled_in(kube: Kube) -> None:
    """A default for the eviction would be filled into every kind, where it is refused."""
    targets = [{"kind": kind, "selector": ALL} for kind in KINDS]
    assert kube.evacuate("a", zoneId="use1-az1", targets=targets)["spec"]["targets"] == targets


@pytest.mark.parametrize(
    "drain",
    [
        {"eviction": "Drain", "drainTimeoutSeconds": 86400, "onDrainTimeout": "Taint"},
        {"eviction": "Taint"},
        {"eviction": "None"},
        {"drainTimeoutSeconds": 1, "onDrainTimeout": "Keep"},
    ],
    ids=str,
)
def test_nodes_have_an_eviction(kube: Kube, drain: dict) -> None:
    made = kube.evacuate("a", zoneId="use1-az1", targets=[NODES | drain])
    assert made["spec"]["targets"] == [NODES | drain]


@pytest.mark.parametrize(
    "drain",
    [
        {"eviction": "Delete"},
        {"drainTimeoutSeconds": 0},
        {"drainTimeoutSeconds": 86401},
        {"onDrainTimeout": "Drain"},
    ],
    ids=str,
)
def test_evictions_have_bounds(kube: Kube, drain: dict) -> None:
    refused(lambda: kube.evacuate("a", zoneId="use1-az1", targets=[NODES | drain]), *drain)


@pytest.mark.parametrize("kind", KINDS[1:])
@pytest.mark.parametrize(
    "drain", [{"eviction": "Drain"}, {"drainTimeoutSeconds": 900}, {"onDrainTimeout": "Keep"}], ids=str
)
def test_only_nodes_have_an_eviction(kube: Kube, kind: str, drain: dict) -> None:
    targets = [{"kind": kind, "selector": ALL} | drain]
    refused(lambda: kube.evacuate("a", zoneId="use1-az1", targets=targets), "for the kind EksNode only")


def allowing(kube: Kube, *allow: dict) -> dict:
    return kube.evacuate("a", zoneId="use1-az1", targets=[NODES], guards={"allow": list(allow)})


def test_guards_may_be_overridden(kube: Kube) -> None:
    largest = {"reason": "ü" * 256, "matchNames": ["n" * 256] * 64}
    allow = [{"guard": guard, "reason": "we know"} for guard in GUARDS] + [{"guard": GUARDS[0]} | largest] * 12
    assert allowing(kube, *allow)["spec"]["guards"] == {"allow": allow}


@pytest.mark.parametrize(
    "entry",
    [
        {"guard": "LastSubnet", "reason": "we know"},
        {"guard": "Operator", "reason": "we know"},
        {"guard": "ManagedByEks"},
        {"reason": "we know"},
        {"guard": "ManagedByEks", "reason": ""},
        {"guard": "ManagedByEks", "reason": "x" * 257},
        {"guard": "ManagedByEks", "reason": "we know", "matchNames": ["n"] * 65},
        {"guard": "ManagedByEks", "reason": "we know", "matchNames": [""]},
    ],
    ids=lambda entry: str(entry)[:60],
)
def test_allowances_have_bounds(kube: Kube, entry: dict) -> None:
    refused(lambda: allowing(kube, entry), "spec.guards.allow")


def test_allowances_are_few(kube: Kube) -> None:
    refused(lambda: allowing(kube, *[{"guard": "ManagedByEks", "reason": "we know"}] * 17), "spec.guards.allow")


@pytest.mark.parametrize(
    "selector",
    [{}, {"all": False}, {"matchTags": {}}, {"matchNames": []}, {"exclude": {"matchNames": ["a"]}}],
    ids=str,
)
def test_a_selector_that_selects_nothing_is_refused(kube: Kube, selector: dict) -> None:
    refused(lambda: kube.evacuate("a", zoneId="use1-az1", targets=selecting(selector)), "selects nothing")


@pytest.mark.parametrize("also", [{"matchTags": {"a": "b"}}, {"matchNames": ["a"]}], ids=str)
def test_all_goes_with_nothing_else(kube: Kube, also: dict) -> None:
    refused(lambda: kube.evacuate("a", zoneId="use1-az1", targets=selecting(ALL | also)), "cannot be combined")


@pytest.mark.parametrize(
    "selector",
    [
        ALL | {"exclude": {"matchTags": {"tier": "db"}, "matchNames": ["*-pinned"]}},
        {"matchTags": {"team": "web"}},
        {"matchNames": ["web-*"]},
        {"all": False, "matchTags": {"team": ""}, "matchNames": ["web-*"]},
        {"matchTags": {f"k{i}": "v" * 256 for i in range(32)}, "matchNames": ["n" * 256 for _ in range(64)]},
        {"matchTags": {f"{i:02}" + "ü" * 315: "€" * 256 for i in range(32)}, "matchNames": ["€" * 256] * 64},
    ],
    ids=["all", "tags", "names", "both", "largest", "largest in any language"],
)
def test_selectors_that_are_good(kube: Kube, selector: dict) -> None:
    made = kube.evacuate("a", zoneId="use1-az1", targets=selecting(selector))
    assert made["spec"]["targets"][0]["selector"] == selector


@pytest.mark.parametrize(
    "selector",
    [
        {"matchTags": {f"k{i}": "v" for i in range(33)}},
        {"matchNames": ["n"] * 65},
        {"matchNames": ["n" * 257]},
        {"matchNames": [""]},
        {"matchTags": {"k": "v" * 257}},
        {"matchTags": {"k" * 318: "v"}},
        {"matchTags": {"": "v"}},
        ALL | {"exclude": {"matchNames": ["n"] * 65}},
        ALL | {"exclude": {"matchTags": {"k" * 318: "v"}}},
        ALL | {"exclude": {"matchTags": {"": "v"}}},
    ],
    ids=[
        "33 tags",
        "65 names",
        "long name",
        "empty name",
        "long value",
        "long key",
        "empty key",
        "65 exclusions",
        "long key of an exclusion",
        "empty key of an exclusion",
    ],
)
def test_selectors_have_bounds(kube: Kube, selector: dict) -> None:
    refused(lambda: kube.evacuate("a", zoneId="use1-az1", targets=selecting(selector)), "selector")


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("maxInFlight", 0),
        ("maxInFlight", -1),
        ("maxInFlight", 257),
        ("batchPercent", 0),
        ("batchPercent", 101),
        ("batchPercent", "50%"),
        ("batchIntervalSeconds", -1),
        ("batchIntervalSeconds", 86401),
    ],
)
def test_pacing_has_bounds(kube: Kube, field: str, value: object) -> None:
    refused(lambda: kube.evacuate("a", zoneId="use1-az1", targets=[NODES], pacing={field: value}), field)


def test_pacing_can_be_edited(kube: Kube) -> None:
    kube.evacuate("a", zoneId="use1-az1", targets=[NODES], pacing={"batchPercent": 10, "batchIntervalSeconds": 86400})
    patch(kube, {"pacing": {"batchPercent": 100, "batchIntervalSeconds": 0}})


@pytest.mark.parametrize("seconds", [-1, 2592001, "60"])
def test_expiry_has_bounds(kube: Kube, seconds: object) -> None:
    refused(
        lambda: kube.evacuate("a", zoneId="use1-az1", targets=[NODES], expiresAfterSeconds=seconds),
        "expiresAfterSeconds",
    )


@pytest.mark.parametrize(
    ("field", "value"), [("minRemainingZones", 0), ("minRemainingZones", 17), ("maxNodesPercent", 0), ("maxNodesPercent", 101)]
)
def test_guards_have_bounds(kube: Kube, field: str, value: int) -> None:
    refused(lambda: kube.evacuate("a", zoneId="use1-az1", targets=[NODES], guards={field: value}), field)


def test_a_whole_status_survives(kube: Kube) -> None:
    """Nothing of what the controller writes is pruned."""
    kube.evacuate("a", zoneId="use1-az1", targets=[NODES])
    at = "2026-01-01T00:00:00Z"
    counts = dict.fromkeys(["found", "changed", "settled", "refused", "failed", "restored", "heldByOthers"], 1)
    change = {"kind": "AutoScalingGroup", "name": "web-1", "id": "arn:aws:autoscaling:…", "removed": ["subnet-a"]}
    kinds = ["Ready", "Reconciling", "Stalled", "Evacuated", "Complete"]
    condition = {"status": "False", "observedGeneration": 1, "lastTransitionTime": at, "reason": "Why", "message": ""}
    status = {
        "observedGeneration": 1,
        "phase": "Holding",
        "zoneName": "us-east-1a",
        "accountId": "123456789012",
        "planHash": HASH,
        "estimatedSeconds": 23,
        "progress": "50/57",
        "refused": 3,
        "failed": 0,
        "summary": [{"kind": "AutoScalingGroup"} | counts],
        "changes": [change | {"state": "Settled", "reason": "", "at": at}],
        "changesOmitted": 0,
        "conditions": [{"type": kind} | condition for kind in kinds],
        "startedAt": at,
        "evacuatedAt": at, "expiresAt": at,
    }
    assert patch_status(kube, copy.deepcopy(status))["status"] == status


def test_status_is_a_subresource(kube: Kube) -> None:
    kube.evacuate("a", zoneId="use1-az1", targets=[NODES])
    assert patch_status(kube, {"phase": "Holding"})["metadata"]["generation"] == 1
    assert (
        kube.call("PATCH", f"{GROUP}/a", {"status": {"phase": "Restored"}}, MERGE_PATCH)["status"]["phase"] == "Holding"
    )


def test_a_thousand_changes_fit_and_no_more(kube: Kube) -> None:
    kube.evacuate("a", zoneId="use1-az1", targets=[NODES])
    change = {"kind": "EksNode", "name": "node", "state": "Settled"}
    patch_status(kube, {"changes": [change] * 1000})
    refused(lambda: patch_status(kube, {"changes": [change] * 1001}), "status.changes")


def test_manifests_are_strictly_valid(installed: ControlPlane) -> None:
    installed.kubectl("apply", "--validate=strict", "--dry-run=server", "-k", str(ROOT / "deploy/base"))
    installed.kubectl("apply", "--validate=strict", "--dry-run=server", "-f", str(ROOT / "crds"))
    installed.kubectl("apply", "--validate=strict", "--dry-run=server", "-f", str(ROOT / "deploy/examples"))


def test_pods_are_restricted(installed: ControlPlane) -> None:
    """The namespace enforces the restricted profile, so the server itself judges a pod of our template."""
    deployment = next(
        document
        for document in yaml.safe_load_all((ROOT / "deploy/base/deployment.yaml").read_text())
        if document["kind"] == "Deployment"
    )
    pod = deployment["spec"]["template"] | {"apiVersion": "v1", "kind": "Pod"}
    pod["metadata"] = {"name": "probe", "namespace": "zonevac-system"}
    installed.kube.call("POST", "/api/v1/namespaces/zonevac-system/pods?dryRun=All", pod)
    pod["spec"]["containers"][0]["securityContext"]["allowPrivilegeEscalation"] = True
    with pytest.raises(KubeError, match="PodSecurity"):
        installed.kube.call("POST", "/api/v1/namespaces/zonevac-system/pods?dryRun=All", pod)
