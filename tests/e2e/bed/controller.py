"""The product as a child process."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

import requests

from bed.account import TABLE
from bed.controlplane import NAMESPACE, ROOT, free_port
from bed.gate import Gate
from bed.kube import loopback_session
from bed.moto_patches import REGION
from bed.orphans import end_with_parent
from bed.signature import Key

TICKS = os.sysconf("SC_CLK_TCK")


def binary() -> Path:
    return Path(os.environ.get("ZONEVAC_BIN", ROOT / "build" / "zonevac"))


def aws_environment(gate_url: str, key: Key | None = None) -> dict[str, str]:
    """What the product is told of AWS; nothing of the developer's own settings reaches it."""
    key = key or Key()
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("AWS_", "ZONEVAC_", "KUBE"))}
    kept.update(
        AWS_ACCESS_KEY_ID=key.access,
        AWS_SECRET_ACCESS_KEY=key.secret,
        AWS_ENDPOINT_URL=gate_url,
        AWS_EC2_METADATA_DISABLED="true",
        HOME="/nonexistent",
    )
    return kept


@dataclass(frozen=True)
class Usage:
    cpu_seconds: float
    rss_bytes: int


class Controller:
    """`zonevac controller` against a gate and a kubeconfig. Started, stopped or killed any number of times; one log."""

    def __init__(self, gate: Gate, kubeconfig: Path | str, log: Path, *flags: str, leader_elect: bool = False) -> None:
        self.log = log
        self.port = free_port()
        self.environment = aws_environment(gate.url)
        self.flags: dict[str, str | None] = {
            "--kubeconfig": str(kubeconfig),
            "--region": REGION,
            "--journal": f"dynamodb:{TABLE}",
            "--create-journal": None,
            "--listen": f"127.0.0.1:{self.port}",
            "--lease-namespace": NAMESPACE,
            "--cluster-name": "prod",
            "--log-format": "text",
            "--log-level": "debug",
            "--poll-interval": "500ms",
        }
        if not leader_elect:
            self.flags["--leader-elect=false"] = None
        self.more_flags = flags
        self.process: subprocess.Popen | None = None
        self.cpu_before = 0.0  # of processes that have ended
        self.violent = False

    def without(self, *flags: str) -> Controller:
        for flag in flags:
            self.flags.pop(flag, None)
        return self

    def command(self) -> list[str]:
        words = [str(binary()), "controller"]
        for flag, value in self.flags.items():
            words += [flag] if value is None else [flag, value]
        return words + list(self.more_flags)

    def start(self) -> Controller:
        assert self.process is None or self.process.poll() is not None, "it is running"
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                self.command(), env=self.environment, stdout=log, stderr=log, stdin=subprocess.DEVNULL, preexec_fn=end_with_parent
            )
        self.violent = False
        return self

    def running(self) -> bool:
        return self.process is not None and self.process.poll() is None

    def kill(self) -> None:
        """SIGKILL, from any thread; wait() reaps."""
        if self.running():
            self.violent = True
            self.process.send_signal(signal.SIGKILL)

    def stop(self, timeout: float = 12) -> int:
        """SIGTERM; the exit code."""
        if self.process is None:
            return 0
        if self.running():
            self.process.terminate()
        return self.wait(timeout)

    def wait(self, timeout: float = 12) -> int:
        assert self.process is not None
        try:
            return self.process.wait(timeout)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            raise AssertionError(f"zonevac did not end within {timeout} s of SIGTERM\n{self.tail()}") from None

    def __enter__(self) -> Controller:
        return self.start()

    def __exit__(self, *_error: object) -> None:
        self.stop()

    # looks

    def tail(self, lines: int = 60) -> str:
        text = self.log.read_text(errors="replace") if self.log.exists() else ""
        return "\n".join(text.splitlines()[-lines:])

    def usage(self) -> Usage:
        assert self.process is not None
        return usage_of(self.process.pid)

    def http(self, path: str) -> requests.Response:
        return loopback_session().get(f"http://127.0.0.1:{self.port}{path}", timeout=5)

    def await_ready(self, timeout: float = 10) -> float:
        """Seconds until /readyz says 200."""
        began = time.monotonic()
        while time.monotonic() - began < timeout:
            if not self.running():
                raise AssertionError(f"zonevac ended with {self.process.returncode}\n{self.tail()}")
            with contextlib.suppress(requests.RequestException):
                if self.http("/readyz").status_code == 200:
                    return time.monotonic() - began
            time.sleep(0.01)
        raise AssertionError(f"zonevac was not ready within {timeout} s\n{self.tail()}")


def usage_of(pid: int) -> Usage:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return Usage((int(fields[11]) + int(fields[12])) / TICKS, pages * os.sysconf("SC_PAGE_SIZE"))


def run(*arguments: str, environment: dict[str, str] | None = None, timeout: float = 20) -> subprocess.CompletedProcess:
    """One of the product's other verbs, to its end."""
    return subprocess.run(
        [str(binary()), *arguments],
        env=environment,
        capture_output=True,
        text=True,
        timeout=timeout,
        stdin=subprocess.DEVNULL,
        check=False,
    )
