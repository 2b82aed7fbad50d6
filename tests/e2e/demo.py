"""An evacuation and a recovery, told step by step: a real cluster, an AWS stand-in, and kubectl as an operator would use it.

Ends with 0 only when everything is back exactly, byte for byte. Wants ZONEVAC_BIN and ZONEVAC_TESTPLANE, as ./dev demo sets them.
"""

from __future__ import annotations

import logging
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

from bed.controller import binary
from bed.controlplane import ROOT
from bed.region import EVACUATED, ZONE_NAME
from bed.witness import BudgetWitness, PodWitness
from bed.workloads import owner_kind
from bed.world import PLACES, Snapshot
from demo_stage import (
    BOLD,
    BUDGETED,
    CARRIER,
    CORDONED_BEFORE,
    DIM,
    GREEN,
    LONE_POD,
    LONE_POD_NODE,
    MAX_UNAVAILABLE,
    MOVE_SECONDS,
    PLAIN,
    RED,
    Pods,
    Stage,
    say,
    title,
)

EXAMPLE = "deploy/examples/use1-az1.yaml"
REFUSED = '{range .status.changes[?(@.state=="Refused")]}{.kind}{" "}{.name}{"\\n    "}{.reason}{"\\n"}{end}'
OUT_SECONDS = 90
SKEW_SECONDS = 0.5  # between a pod's end and the watch that tells of it
STARTED = time.monotonic()
Verdict = tuple[bool, str]


class Demo:
    def __init__(self, folder: Path) -> None:
        self.stage = Stage(folder)
        self.plane = self.stage.plane
        self.verdicts: list[Verdict] = []
        self.details: list[str] = []
        self.seconds: dict[str, float] = {}
        self.carried_in_zone: set[str] = set()
        self.told: set[str] = set()
        self.began = 0.0
        self.watching: subprocess.Popen | None = None

    # kubectl, as an operator sees it

    def kubectl(self, *arguments: str) -> str:
        say(f"\n{BOLD}$ kubectl {' '.join(_quoted(word) for word in arguments)}{PLAIN}")
        done = subprocess.run(
            self.plane.kubectl_command(*arguments), cwd=ROOT, text=True, capture_output=True, timeout=OUT_SECONDS, check=False
        )
        if done.returncode != 0:
            raise RuntimeError(done.stderr.strip())
        return done.stdout.rstrip()

    def watch(self) -> None:
        say(f"\n{BOLD}$ kubectl get zev -w{PLAIN}")
        self.watching = process = subprocess.Popen(
            self.plane.kubectl_command("get", "zev", "-w"), text=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
        self.began = time.monotonic()
        threading.Thread(target=self._stream, args=(process, self.began), daemon=True).start()

    def stop_watching(self) -> None:
        if self.watching is not None:
            self.watching.terminate()
            self.watching.wait()
            self.watching = None

    @staticmethod
    def _stream(process: subprocess.Popen, began: float) -> None:
        last = ""
        for line in process.stdout or ():
            if line.split()[:7] != last.split()[:7]:
                say(f"{DIM}{time.monotonic() - began:6.1f} s{PLAIN}  {line.rstrip()}")
            last = line

    # the story

    def play(self) -> bool:
        say("starting a cluster of 9 nodes and the AWS stand-in …")
        self.stage.set_up()
        self.stage.start_controller()
        say(f"there after {time.monotonic() - STARTED:.0f} s")
        before, pods = self.tell_before()
        with BudgetWitness(self.plane.kube) as budgets, PodWitness(self.plane.kube) as leaving:
            self.evacuate()
            self.tell_during(before, pods)
            self.judge_order(leaving)
            self.recover()
            after = self.tell_after(before)
            self.prove(before, after, pods, budgets.broken)
        return self.conclude()

    def tell_before(self) -> tuple[Snapshot, Pods]:
        title(f"BEFORE: three zones; zone id {EVACUATED} is what this account calls {ZONE_NAME[EVACUATED]}")
        before = self.stage.table()
        say(f"""
  {CORDONED_BEFORE} was cordoned by somebody before, and must be so afterwards.
  The nodes node-… are the instances of the group {CARRIER}.
  A PodDisruptionBudget lets {MAX_UNAVAILABLE} pod of {BUDGETED} be missing at a time.
  The pod {LONE_POD} on {LONE_POD_NODE} has no controller: nobody would bring it back.
  The alias invoices:live points to a published version, whose subnets nobody can change.""")
        self.carried_in_zone = self.stage.carried_nodes().keys() & self.stage.zone_nodes(before)
        return before, self.stage.pods()

    def evacuate(self) -> None:
        title("EVACUATE: one object")
        say(self.kubectl("apply", "-f", EXAMPLE))
        self.watch()
        self._await(self.holds, "the zone to be empty")
        self.seconds["out"] = time.monotonic() - self.began
        time.sleep(0.5)

    def holds(self) -> bool:
        """Does it hold? What waits, and what it waits for, is told meanwhile, each once."""
        status = (self.plane.kube.evacuation(EVACUATED) or {}).get("status", {})
        for change in status.get("changes", []):
            waits = change["state"] in ("Waiting", "Applied", "Applying", "Failed") and change.get("reason")
            line = f"{change['kind']} {change['name']} {change['state']}: {change.get('reason')}"
            if waits and line not in self.told:
                self.told.add(line)
                say(f"{DIM}{time.monotonic() - self.began:6.1f} s  {line}{PLAIN}")
        return any(one["type"] == "Ready" and one["status"] == "True" for one in status.get("conditions", []))

    def tell_during(self, before: Snapshot, pods: Pods) -> None:
        out = self.seconds["out"]
        title(f"DURING: it holds after {out:.1f} s (the stand-in's instances, tasks and functions take {MOVE_SECONDS:.0f} s to move)")
        self.stage.await_all_pods()
        now = self.stage.table(before)
        self.tell_moved(pods)
        self.tell_journal()
        self.judge_out(before, now)
        say(self.kubectl("get", "zev"))
        say(self.kubectl("get", "zev", EVACUATED, "-o", f"jsonpath={REFUSED}"))
        say(self.kubectl("describe", "zev", EVACUATED))

    def tell_moved(self, before: Pods) -> None:
        now = self.stage.pods()
        left = [before[name] for name in before.keys() - now.keys() if owner_kind(before[name]) == "ReplicaSet"]
        fresh = [now[name] for name in now.keys() - before.keys() if owner_kind(now[name]) == "ReplicaSet"]
        say(f"\n  {len(left)} pods were evicted, and {len(fresh)} came up for them")
        for words, pods in (("left", left), ("came up on", fresh)):
            for node, names in sorted(_by_node(pods).items()):
                say(f"    {words} {node}: {' '.join(names)}")

    def tell_journal(self) -> None:
        items = self.stage.world.items()
        kinds = Counter(item["resourceType"]["S"] for item in self.stage.world.records())
        counts = ", ".join(f"{count} of kind {kind}" for kind, count in sorted(kinds.items())) or "no open changes"
        others = len(items) - sum(kinds.values())
        say(f"\n  journal (DynamoDB): items in the table: {len(items)}, of which {others} of the region; {counts}")

    def recover(self) -> None:
        title("RECOVER: delete the object")
        began = time.monotonic()
        said = self.kubectl("delete", "zev", EVACUATED)
        self.seconds["back"] = time.monotonic() - began
        self.stop_watching()
        say(said)

    def tell_after(self, before: Snapshot) -> Snapshot:
        title(f"AFTER: back after {self.seconds['back']:.1f} s")
        self.stage.await_all_pods()
        after = self.stage.table(before)
        self.tell_journal()
        say("\n  Instances and pods stay where they went until Auto Scaling and the scheduler have reason to place some anew.")
        return after

    # what is to be true

    def judge_out(self, before: Snapshot, now: Snapshot) -> None:
        world, stage = self.stage.world, self.stage
        out = all(world.subnets_of(kind) == world.expected_subnets_of(kind) for kind in PLACES)
        self.verdicts.append((out, "while it was held, exactly what was selected and allowed had no subnet in the zone"))
        zone = stage.zone_nodes(now)
        held = world.evacuated_nodes() == zone and all(now.nodes[name].unschedulable for name in zone)
        self.verdicts.append((held, "and exactly the nodes of the zone were cordoned and tainted"))
        left = [pod for pod in stage.pods().values() if pod["spec"].get("nodeName") in zone and owner_kind(pod) == "ReplicaSet"]
        self.verdicts.append((not left, "and no pod that comes back elsewhere was left there"))

    def judge_order(self, leaving: PodWitness) -> None:
        last = max(leaving.left_at.get(node, 0) for node in self.carried_in_zone)
        updates = self.stage.gate.named("autoscaling:UpdateAutoScalingGroup")
        sent = [entry.at for entry in updates if entry.params["AutoScalingGroupName"] == CARRIER]
        waited = 0 < last <= min(sent, default=0) + SKEW_SECONDS
        self.verdicts.append((waited, f"the group {CARRIER} lost its subnet only after the last pod had left its nodes there"))

    def prove(self, before: Snapshot, after: Snapshot, pods: Pods, broken: list[str]) -> None:
        verdicts = self.verdicts
        verdicts.append((not broken, "no PodDisruptionBudget was ever broken"))
        for kind, words in (("groups", "groups"), ("services", "services"), ("functions", "functions, versions and aliases")):
            was, is_now = getattr(before, kind), getattr(after, kind)
            verdicts.append((was == is_now, f"{len(was)} {words} are configured as they were, byte for byte"))
        kept = self.prove_nodes(before, after)
        self.prove_pods(pods)
        left = [str(item) for item in self.stage.world.records()] + self.stage.world.registrations()
        violations = self.stage.gate.violations
        verdicts.append((not left, "no change is left open in the journal, and no zone registered"))
        verdicts.append((not violations, f"{len(self.stage.gate.entries)} AWS requests, each signed and shaped as AWS demands"))
        differences = kept(before).differences(kept(after))
        self.details += [*differences, *broken, *left, *violations]

    def prove_nodes(self, before: Snapshot, after: Snapshot):
        """All as it was, but that Auto Scaling has replaced the instances that it had in the zone, and their nodes with them."""
        gone, fresh = before.nodes.keys() - after.nodes.keys(), after.nodes.keys() - before.nodes.keys()
        stayed = before.nodes.keys() & after.nodes.keys()
        same = all(before.nodes[name] == after.nodes[name] for name in stayed)
        self.verdicts.append((same, f"{len(stayed)} nodes have the taints, cordons, annotations and labels that they had"))
        replaced = gone == self.carried_in_zone and fresh <= self.stage.carried_nodes().keys() and len(fresh) == len(gone)
        self.verdicts.append((replaced, f"{len(gone)} node of {CARRIER} is gone with its instance, and {len(fresh)} has come elsewhere"))
        return lambda snapshot: replace(snapshot, nodes={name: snapshot.nodes[name] for name in stayed})

    def prove_pods(self, before: Pods) -> None:
        now, nodes = self.stage.pods(), self.stage.world.nodes()
        uid = before[LONE_POD]["metadata"]["uid"]
        self.verdicts.append((now.get(LONE_POD, {}).get("metadata", {}).get("uid") == uid, f"the pod {LONE_POD} is the very same"))
        count = sum(pod["spec"].get("nodeName", "") in nodes for pod in now.values())
        self.verdicts.append((self.stage.all_pods_run(), f"{count} pods run, as many as there should"))

    def conclude(self) -> bool:
        title("PROOF")
        for good, sentence in self.verdicts:
            say(f"  {GREEN + 'yes' if good else RED + 'NO '}{PLAIN}  {sentence}")
        for line in self.details:
            say(f"       {RED}{line}{PLAIN}")
        exact = all(good for good, _sentence in self.verdicts) and not self.details
        words = f"{GREEN}everything as it was{PLAIN}" if exact else f"{RED}NOT everything as it was{PLAIN}"
        took = f"out in {self.seconds['out']:.1f} s, back in {self.seconds['back']:.1f} s"
        say(f"\n{words}: {took}, {time.monotonic() - STARTED:.0f} s in all")
        return exact

    def _await(self, test, what: str) -> None:
        deadline = time.monotonic() + OUT_SECONDS
        while not test():
            if time.monotonic() > deadline or not self.stage.controller.running():
                raise RuntimeError(f"waited in vain for {what}\n{self.kubectl('describe', 'zev', EVACUATED)}")
            time.sleep(0.05)


def _by_node(pods: list[dict[str, Any]]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for pod in sorted(pods, key=lambda pod: pod["metadata"]["name"]):
        found.setdefault(pod["spec"]["nodeName"], []).append(pod["metadata"]["name"])
    return found


def _quoted(word: str) -> str:
    return f"'{word}'" if any(letter in word for letter in "{ ") else word


def main() -> int:
    if not binary().exists():
        say(f"{binary()} is not there; ./dev demo builds it")
        return 2
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    folder = Path(tempfile.mkdtemp(prefix="zonevac-demo-"))
    demo = Demo(folder)
    exact = False
    try:
        exact = demo.play()
    except (RuntimeError, AssertionError, OSError, subprocess.SubprocessError) as error:
        say(f"\n{RED}{error}{PLAIN}")
        if demo.stage.controller is not None:
            say(f"the controller's last words:\n{demo.stage.controller.tail(30)}")
    except KeyboardInterrupt:
        say("\ninterrupted")
    finally:
        demo.stop_watching()
        demo.stage.strike()
    if exact:
        shutil.rmtree(folder, ignore_errors=True)
    else:
        say(f"logs are in {folder}")
    return 0 if exact else 1


if __name__ == "__main__":
    sys.exit(main())
