"""An evacuation and a recovery, told step by step: a real API server, an AWS stand-in, and kubectl as an operator would use it.

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
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from bed.account import Account
from bed.controller import Controller, binary
from bed.controlplane import ROOT, ControlPlane
from bed.gate import Gate
from bed.moto_patches import ZONES, movement
from bed.region import EVACUATED, LETTER, demo_groups
from bed.world import Snapshot, World

EXAMPLE = "deploy/examples/use1-az1.yaml"
NODES = {"ip-10-7-0-11": "us-east-1a", "ip-10-7-16-12": "us-east-1b", "ip-10-7-16-13": "us-east-1b", "ip-10-7-32-14": "us-east-1c"}
CORDONED_BEFORE = "ip-10-7-16-13"
BOLD, DIM, RED, GREEN, PLAIN = ("\033[1m", "\033[2m", "\033[31m", "\033[32m", "\033[0m") if sys.stdout.isatty() else ("",) * 5
STARTED = time.monotonic()


def say(text: str = "") -> None:
    print(text, flush=True)


def title(text: str) -> None:
    say(f"\n{BOLD}== {text}{PLAIN}")


class Demo:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.plane = ControlPlane(folder / "control-plane")
        self.account = Account()
        self.gate = Gate(self.account, folder / "requests.log")
        self.controller: Controller | None = None

    # the stage

    def set_up(self) -> None:
        say("starting etcd, kube-apiserver and the AWS stand-in …")
        logging.getLogger("werkzeug").setLevel(logging.ERROR)
        self.plane.start()
        self.plane.install()
        self.account.start()
        self.gate.start()
        self.account.seed(demo_groups())
        movement.seconds = 3.0
        for name, zone in NODES.items():
            cordoned = {"unschedulable": True} if name == CORDONED_BEFORE else {}
            self.plane.kube.create_node(name, ZONES[zone], zone, **cordoned)
        self.world = World(self.account, self.plane.kube)
        kubeconfig = self.plane.product_kubeconfig()
        self.controller = Controller(self.gate, kubeconfig, self.folder / "zonevac.log", "--log-level", "info", leader_elect=True)
        self.controller.without("--poll-interval").start()
        self.controller.await_ready()

    def strike(self) -> None:
        if self.controller is not None and self.controller.running():
            self.controller.stop()
        if self.account is not None and hasattr(self.account, "url"):
            self.gate.stop()
            self.account.stop()
        self.plane.stop()

    # kubectl, as an operator sees it

    def kubectl(self, *arguments: str) -> str:
        say(f"\n{BOLD}$ kubectl {' '.join(arguments)}{PLAIN}")
        done = subprocess.run(
            self.plane.kubectl_command(*arguments), cwd=ROOT, text=True, capture_output=True, timeout=60, check=False
        )
        if done.returncode != 0:
            raise RuntimeError(done.stderr.strip())
        return done.stdout.rstrip()

    def watch(self) -> subprocess.Popen:
        say(f"\n{BOLD}$ kubectl get zev -w{PLAIN}")
        process = subprocess.Popen(
            self.plane.kubectl_command("get", "zev", "-w"), text=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
        threading.Thread(target=self._stream, args=(process, time.monotonic()), daemon=True).start()
        return process

    @staticmethod
    def _stream(process: subprocess.Popen, began: float) -> None:
        last = ""
        for line in process.stdout or ():
            if line.split()[:7] != last.split()[:7]:
                say(f"{DIM}{time.monotonic() - began:6.1f} s{PLAIN}  {line.rstrip()}")
            last = line

    # tables

    def table(self, reference: Snapshot | None = None) -> Snapshot:
        """Print what is; lines that differ from `reference` are marked."""
        now = self.world.snapshot()
        zone_of = {ident: place[0] for place, ident in self.account.subnets.items()}
        say(f"  {'AUTO SCALING GROUP':22}{'SUBNETS (zone: id)':62}INSTANCES")
        for name, group in self.world.groups().items():
            subnets = group["VPCZoneIdentifier"].split(",")
            cells = [_zone_mark(zone_of[ident]) + f"1{zone_of[ident]}:…{ident[-4:]}{PLAIN}" for ident in subnets]
            width = sum(len(f"1x:…{ident[-4:]}") + 2 for ident in subnets)
            zones = Counter(instance["AvailabilityZone"][-2:] for instance in group["Instances"])
            instances = " ".join(f"{zone}×{zones[zone]}" for zone in sorted(zones))
            changed = reference is not None and reference.groups.get(name) != now.groups.get(name)
            say(f"{_mark(changed)}{name:22}{'  '.join(cells)}{' ' * (64 - width)}{instances}")
        say(f"\n  {'NODE':22}{'ZONE':14}{'SCHEDULABLE':14}TAINTS")
        for name, node in now.nodes.items():
            taints = " ".join(f"{key}={value}:{effect}" for key, value, effect in node.taints if not key.startswith("node."))
            changed = reference is not None and reference.nodes.get(name) != node
            scheduling = "no" if node.unschedulable else "yes"
            say(f"{_mark(changed)}{name:22}{NODES[name]:14}{scheduling:14}{taints or '-'}")
        records = self.world.records()
        say(f"\n  journal (DynamoDB): {len(records)} open change{'' if len(records) == 1 else 's'}")
        return now

    # the story

    def play(self) -> bool:
        self.set_up()
        title("BEFORE: three zones; zone id use1-az1 is what this account calls us-east-1b")
        before = self.table()
        say(f"\n  {CORDONED_BEFORE} was cordoned by somebody before, and must be so afterwards.")
        title("EVACUATE: one object")
        say(self.kubectl("apply", "-f", EXAMPLE))
        watching = self.watch()
        began = time.monotonic()
        self._await(lambda: self.plane.kube.condition(EVACUATED, "Ready").get("status") == "True", "the zone to be empty")
        took = time.monotonic() - began
        time.sleep(0.5)
        title(f"DURING: it holds after {took:.1f} s (the stand-in's instances take {movement.seconds:.0f} s to move)")
        self.table(before)
        expected = self.world.expected_identifiers()
        out = self.world.identifiers() == expected and self.world.evacuated_nodes() == {n for n, z in NODES.items() if z[-1] == "b"}
        self.describe()
        title("RECOVER: delete the object")
        began = time.monotonic()
        say(self.kubectl("delete", "zev", EVACUATED))
        say(f"  back after {time.monotonic() - began:.1f} s")
        watching.terminate()
        watching.wait()
        title("AFTER")
        after = self.table(before)
        return self.prove(out, before, after)

    def describe(self) -> None:
        """The conditions and events of kubectl describe; its long list of changes left out."""
        text = self.kubectl("describe", "zev", EVACUATED)
        lines = text.splitlines()
        keep, section = [], ""
        for line in lines:
            if line.startswith("Events:"):
                section = "Events"
            elif section != "Events" and line.startswith("  ") and not line.startswith("   "):
                section = line.strip().split(":")[0]
            if section in ("Conditions", "Events"):
                keep.append(line)
        say("\n".join(line for line in keep if "Observed Generation" not in line and "Last Transition" not in line))

    def prove(self, out: bool, before: Snapshot, after: Snapshot) -> bool:
        title("PROOF")
        differences = before.differences(after)
        left = self.world.records() + self.world.registrations()
        violations = self.gate.violations
        identifiers = [(name, group["VPCZoneIdentifier"]) for name, group in before.groups.items()]
        same = sum(after.groups.get(name, {}).get("VPCZoneIdentifier") == value for name, value in identifiers)
        verdicts = [
            (out, "while it was held, exactly what was selected and allowed was out of the zone"),
            (same == len(identifiers), f"{same} of {len(identifiers)} subnet lists are what they were, byte for byte"),
            (before.groups == after.groups, "nothing else of any group has changed"),
            (before.nodes == after.nodes, f"{len(after.nodes)} nodes: taints, cordons, annotations and labels are what they were"),
            (not left, "the journal is empty"),
            (not violations, f"{len(self.gate.entries)} AWS requests, each signed and shaped as AWS demands"),
        ]
        for good, sentence in verdicts:
            say(f"  {GREEN + 'yes' if good else RED + 'NO '}{PLAIN}  {sentence}")
        for line in differences + [str(item) for item in left] + violations:
            say(f"       {RED}{line}{PLAIN}")
        say(f"\n{time.monotonic() - STARTED:.0f} s in all")
        return all(good for good, _sentence in verdicts)

    def _await(self, test, what: str, timeout: float = 60) -> None:
        deadline = time.monotonic() + timeout
        while not test():
            if time.monotonic() > deadline or not self.controller.running():
                raise RuntimeError(f"waited in vain for {what}")
            time.sleep(0.05)


def _mark(changed: bool) -> str:
    return f"{BOLD}*{PLAIN} " if changed else "  "


def _zone_mark(letter: str) -> str:
    return RED if ZONES[LETTER[letter]] == EVACUATED else ""


def main() -> int:
    if not binary().exists():
        say(f"{binary()} is not there; ./dev demo builds it")
        return 2
    folder = Path(tempfile.mkdtemp(prefix="zonevac-demo-"))
    demo = Demo(folder)
    exact = False
    try:
        exact = demo.play()
    except (RuntimeError, AssertionError, OSError) as error:
        say(f"\n{RED}{error}{PLAIN}")
        if demo.controller is not None:
            say(f"the controller's last words:\n{demo.controller.tail(30)}")
    except KeyboardInterrupt:
        say("\ninterrupted")
    finally:
        demo.strike()
    if exact:
        shutil.rmtree(folder, ignore_errors=True)
    else:
        say(f"logs are in {folder}")
    return 0 if exact else 1


if __name__ == "__main__":
    sys.exit(main())
