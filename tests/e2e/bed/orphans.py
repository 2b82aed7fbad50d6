"""What a test run has started ends with it, even when the run itself is killed."""

from __future__ import annotations

import ctypes
import signal

PR_SET_PDEATHSIG = 1


def end_with_parent() -> None:
    """For Popen's preexec_fn: the kernel kills this process when the one that started it is gone (Linux, prctl(2))."""
    ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
