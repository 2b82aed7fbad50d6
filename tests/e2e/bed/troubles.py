"""What may befall one operation of a gate, and how one evacuation and recovery gets through it."""

from __future__ import annotations

import re
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

from bed import steps
from bed.bench import Bench
from bed.faults import Fault
from bed.gate import Gate
from bed.kube import wait_for
from bed.kube_gate import KubeGate
from bed.refusals import denial, identity_error

PATIENCE_SECONDS = 150  # what failed is tried again after a minute at the latest
LATE_SECONDS = 22  # after the product's deadline of 20 s for a call to AWS
STATUS_SECONDS = 5.0
ALWAYS = 1 << 30
WARNING = re.compile(r"\S+ (warn|error) ")
SERVER_ERRORS = {"dynamodb": "InternalServerError", "ec2": "InternalError", "ecs": "ServerException", "lambda": "ServiceException"}


@dataclass(frozen=True)
class Trouble:
    """A column of a matrix. What is `lasting` strikes until it is lifted, which is when it has been told."""

    name: str
    arm: Callable[[Gate | KubeGate, str], Fault]
    lasting: bool = False


def _times(kind: str, times: int, **how) -> Callable[[Gate | KubeGate, str], Fault]:
    return lambda gate, name: gate.fault(name, kind, times=times, **how)


def _refuse(gate: Gate | KubeGate, name: str, refusal: tuple[int, str, str], times: int) -> Fault:
    status, code, message = refusal
    return gate.fault(name, "error", times=times, status=status, code=code, message=message)


def _server_error(gate: Gate | KubeGate, name: str) -> Fault:
    code = SERVER_ERRORS.get(name.partition(":")[0], "InternalFailure")
    return _refuse(gate, name, (500, code, "An internal error has occurred."), 2)


def _expired(gate: Gate | KubeGate, name: str) -> Fault:
    return _refuse(gate, name, identity_error(name.partition(":")[0], "ExpiredToken", ""), 1)


def _denied(gate: Gate | KubeGate, name: str) -> Fault:
    return _refuse(gate, name, denial(name), ALWAYS)


def forbidden_words(name: str) -> str:
    """What stands in the API server's sentence."""
    return f"zonevac cannot {name}"


def _forbidden(gate: Gate | KubeGate, name: str) -> Fault:
    return _refuse(gate, name, (403, "Forbidden", f"forbidden: User {forbidden_words(name)} at the cluster scope"), ALWAYS)


def _kube(status: int, message: str, times: int) -> Callable[[Gate | KubeGate, str], Fault]:
    return lambda gate, name: _refuse(gate, name, (status, "", message), times)


AWS_TROUBLES = [
    Trouble("throttled", _times("throttle", 2)),
    Trouble("500", _server_error),
    Trouble("503 HTML", _times("html503", 2)),
    Trouble("lost", _times("lost", 1)),
    Trouble("reset", _times("reset", 1)),
    Trouble("late", _times("delay", 1, seconds=LATE_SECONDS)),
    Trouble("expired", _expired),
    Trouble("denied", _denied, lasting=True),
]
KUBE_TROUBLES = [
    Trouble("429", _kube(429, "too many requests, please try again later", 2)),
    Trouble("500", _kube(500, "etcdserver: leader changed", 2)),
    Trouble("503", _kube(503, "apiserver is shutting down", 2)),
    Trouble("reset", _times("reset", 1)),
    Trouble("lost", _times("lost", 1)),
    Trouble("409", _kube(409, "the object has been modified; please apply your changes to the latest version and try again", 1)),
    Trouble("403", _forbidden, lasting=True),
]


@dataclass
class Trial:
    """One evacuation and one recovery of the bench's world, during both of which these operations are in trouble."""

    bench: Bench
    gate: Gate | KubeGate
    trouble: Trouble
    operations: list[str]
    told: dict[str, set[str]] = field(default_factory=dict)  # by operation: where a lasting trouble was told: "status", "event", "log"
    struck: Counter[str] = field(default_factory=Counter)
    seconds: float = 0.0
    _armed: dict[str, Fault] = field(default_factory=dict)
    _logged: int = 0

    def play(self, journal: bool, both: bool = True) -> Trial:
        """`journal`: its table is there from the beginning. `both`: what was struck on the way out is struck again on the way back."""
        bench, began = self.bench, time.monotonic()
        bench.renew(journal)
        self._arm(self.operations)
        bench.order()
        bench.controller.start()
        self._lift_what_is_told(lambda: bench.kube.condition(steps.NAME, "Ready").get("status") == "True")
        steps.await_ready(bench.kube, timeout=PATIENCE_SECONDS, controller=bench.controller)
        self._land()
        self._await_out()
        self._arm([name for name in self.operations if both or not self.struck[name]])
        bench.kube.delete_evacuation(steps.NAME)
        self._lift_what_is_told(lambda: bench.kube.evacuation(steps.NAME) is None)
        bench.recover(PATIENCE_SECONDS)
        self._land()
        assert not bench.before.differences(bench.world.snapshot()), "a late update has changed something"
        missed = [name for name in self.operations if not self.struck[name]]
        assert not missed, f"never sent: {missed}"
        self.seconds = time.monotonic() - began
        return self

    def _arm(self, operations: list[str]) -> None:
        self._armed = {name: self.trouble.arm(self.gate, name) for name in operations}
        self._logged = len(self._log())

    def _land(self) -> None:
        """What was late is done now, too; nothing strikes any more."""
        for name, fault in self._armed.items():
            self.struck[name] += fault.struck
        self._armed = {}
        self.gate.faults.clear()
        if isinstance(self.gate, Gate):
            late = [entry for entry in self.gate.entries if entry.note == "delay"]
            wait_for("what is late", lambda: all(entry.answered for entry in late), LATE_SECONDS + 10, pause=0.1)

    def _await_out(self) -> None:
        """What was put off for a trouble that has passed is done at the next look."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        while True:
            try:
                self.bench.assert_out()
                return
            except AssertionError:
                if time.monotonic() > deadline:
                    raise
            time.sleep(0.2)

    # what lasts

    def _lift_what_is_told(self, over: Callable[[], bool]) -> None:
        """Each is lifted when it has been told, until none is left; what did not stand in the way may be told when all is `over`."""
        waiting = dict(self._armed) if self.trouble.lasting else {}
        deadline = time.monotonic() + PATIENCE_SECONDS
        logged: dict[str, float] = {}
        ended = False
        while waiting:
            for name, fault in list(waiting.items()):
                where = self._where_told(name, logged) if fault.struck else ""
                if where:
                    self.told.setdefault(name, set()).add(where)
                    self.gate.faults.remove(fault)
                    del waiting[name]
            untold = [name for name, fault in waiting.items() if fault.struck and name not in self.told]
            if not ended and over():
                ended, deadline = True, time.monotonic() + 2 * STATUS_SECONDS
            elif ended and not untold:
                return
            assert time.monotonic() < deadline, f"not told: {untold or sorted(waiting)}\n{self._say()}"
            time.sleep(0.1)

    def _where_told(self, name: str, logged: dict[str, float]) -> str:
        """The status and events have a while to follow the log."""
        words = name if ":" in name else forbidden_words(name)
        if words in self._say():
            return "status"
        if any(words in event["message"] for event in self.bench.kube.events()):
            return "event"
        if any(words in line for line in self._log()[self._logged :] if WARNING.match(line)):
            logged.setdefault(name, time.monotonic())
        return "log" if name in logged and time.monotonic() - logged[name] > STATUS_SECONDS else ""

    def _say(self) -> str:
        return steps.describe(self.bench.kube)

    def _log(self) -> list[str]:
        log = self.bench.controller.log
        return log.read_text(errors="replace").splitlines() if log.exists() else []
