"""mutants.py BUILT: does the simulation catch each deliberate bug of this folder?

BUILT: where the tests were built: BUILT/sim and BUILT/stories are the programs as they are, BUILT/mutants/<name>/…
those of a mutant (targets mutants_sim and mutants_stories). Each mutant is run against the test, or the story, that its
patch names; the programs as they are, which must pass all of these, are the control. Prints a table; exits 1 when a
mutant survives or is not judged in time, or when the control fails.
  --jobs N      so many at a time (default: the processors)
  --only NAME   this one; may be repeated
  --stories N   which of the first N stories catches a mutant, instead of its test: a measurement, which never fails
"""

import argparse
import os
import re
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import mutant as patches

LIMIT_S = 240  # a mutant may make the engine spin; how slow a machine is says nothing of it
CLASS_CHARACTERS = 44
RULE_CHARACTERS = 100


def run(command):
    """(exit code, output, seconds); the code is None when its time was over."""
    began = time.monotonic()
    pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
    try:
        done = subprocess.run(command, timeout=LIMIT_S, check=False, **pipes)
        code, output = done.returncode, done.stdout
    except subprocess.TimeoutExpired as late:
        code, output = None, late.stdout or b""
    except OSError as missing:
        sys.exit(f"{missing}: build the targets mutants_sim and, for stories, mutants_stories first")
    return code, output.decode(errors="replace"), time.monotonic() - began


def rule_of(output):
    """Why it failed, in the words of the world or of the assertion."""
    broken = re.search(r"^BROKEN \(seed \d+\): (.*)$", output, re.M)
    asserted = re.search(r"Assertion Failed\n(?:\[----\] *\n)*\[----\] +(.+)", output)
    other = re.search(r"^.*(?:[Uu]nexpected signal|[Aa]ssertion|[Tt]imed out).*$", output, re.M)
    if broken or asserted:
        return (broken or asserted)[1].strip()
    return other[0].strip() if other else "it failed"


def run_test(program, test):
    """(verdict, rule, seconds). A pattern that fits no test is no verdict."""
    code, output, seconds = run([program, "-j1", "--color=never", "--filter", test])
    tested = re.search(r"Tested: (\d+)", re.sub(r"\x1b\[[0-9;]*m", "", output))
    if code is None:
        return "not judged", f"longer than {LIMIT_S} s", seconds
    if not tested or tested[1] == "0":
        return "not judged", "no such test", seconds
    return ("killed", rule_of(output), seconds) if code != 0 else ("survived", "", seconds)


def run_stories(program, first, runs):
    """(verdict, rule, seconds)"""
    command = [program, "--runs", str(runs), "--seed", str(first), "--jobs", "1", "--quiet"]
    code, output, seconds = run(command)
    broken = re.search(r'^broken: seed (\d+) rule "(.*)"', output, re.M)
    if broken:
        return "killed", f"seed {broken[1]}: {broken[2]}", seconds
    return "survived" if code == 0 else "not judged", "", seconds


def judge(one, options):
    """A row: mutant, class, by what, verdict, rule, seconds."""
    folder = options.built / "mutants" / one.name
    if options.stories:
        by, outcome = f"stories 1..{options.stories}", run_stories(folder / "stories", 1, options.stories)
    elif "Test" in one.head:
        by, outcome = one.head["Test"], run_test(folder / "sim", one.head["Test"])
    else:
        by, outcome = f"story {one.head['Story']}", run_stories(folder / "stories", int(one.head["Story"]), 1)
    return (one.name, one.head["Class"], by, *outcome)


def control(mutants, options):
    """The rows of the programs as they are."""

    def of_test(test):
        return ("(none)", "control", test, *run_test(options.built / "sim", test))

    def of_story(seed):
        return ("(none)", "control", f"story {seed}", *run_stories(options.built / "stories", int(seed), 1))

    tests = sorted({one.head["Test"] for one in mutants if "Test" in one.head})
    stories = sorted({one.head["Story"] for one in mutants if "Test" not in one.head})
    with ThreadPoolExecutor(options.jobs) as pool:
        return [*pool.map(of_test, tests), *pool.map(of_story, stories)]


def tell(rows, expected):
    for name, kind, by, verdict, rule, seconds in rows:
        mark = " " if verdict == expected else "!"
        why = f"{by}: {rule[:RULE_CHARACTERS]}" if rule else by
        kind = kind[:CLASS_CHARACTERS]
        print(f"{mark} {name:28} {kind:{CLASS_CHARACTERS}} {verdict:10} {seconds:5.1f} s  {why}", flush=True)


def read_options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("built", type=Path)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--only", action="append", default=[])
    parser.add_argument("--stories", type=int, default=0)
    return parser.parse_args()


def main():
    options = read_options()
    began = time.monotonic()
    mutants = [
        one for one in patches.read_all(Path(__file__).parent) if not options.only or one.name in options.only
    ]
    with ThreadPoolExecutor(options.jobs) as pool:
        rows = sorted(pool.map(lambda one: judge(one, options), mutants), key=lambda row: (row[1], row[0]))
    tell(rows, "killed")
    killed = sum(row[3] == "killed" for row in rows)
    if options.stories:
        print(f"{killed} of {len(rows)} mutants are caught by the first {options.stories} stories")
        return
    controls = control(mutants, options)
    failed = [row for row in controls if row[3] != "survived"]
    tell(failed, "survived")
    print(
        f"{killed} of {len(rows)} mutants killed; without a mutant {len(controls) - len(failed)} of {len(controls)} "
        f"tests pass; {time.monotonic() - began:.0f} s"
    )
    sys.exit(0 if mutants and killed == len(rows) and not failed else 1)


if __name__ == "__main__":
    main()
