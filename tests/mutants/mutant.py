"""One deliberate bug: a patch of one source of the product, headed by what it is.

    Class: what kind of mistake it is
    Harm: what would go wrong for a user
    Test: the pattern of the simulation's tests that catch it     (suite/test, of `sim --filter`)
    Story: or the seed of the random story that does              (of `stories --seed`)
    --- a/controller/…
    +++ b/controller/…
    @@ …

`mutant.py apply PATCH SOURCE OUT` writes the patched copy. A hunk is found by its lines, wherever they stand by now,
and they must stand there once: the numbers of a hunk are for readers alone.
"""

import sys
from dataclasses import dataclass, field
from pathlib import Path

FIELDS = ("Class", "Harm", "Test", "Story")
STALE = (
    "{at}: the mutant {name} does not fit {source} any more: what it replaces stands there {where}. Write its bug "
    "({kind}) anew against the source of today, or remove the patch if that mistake can no longer be made"
)


class Stale(Exception):
    """The patch does not fit the source any more."""


@dataclass
class Hunk:
    line: int  # of the patch
    old: list[str] = field(default_factory=list)
    new: list[str] = field(default_factory=list)


@dataclass
class Mutant:
    name: str
    path: Path
    source: str
    head: dict[str, str]
    hunks: list[Hunk]


def read_head(path, lines):
    head, last = {}, None
    for line in lines:
        key, colon, value = line.partition(": ")
        if colon and key in FIELDS:
            head[key], last = value.strip(), key
        elif line.strip() and last:
            head[last] += " " + line.strip()
        elif line.strip():
            raise ValueError(f"{path}: before the diff stands a line that is none of {', '.join(FIELDS)}: {line}")
    missing = [key for key in ("Class", "Harm") if not head.get(key)]
    if missing or not (head.get("Test") or head.get("Story")):
        raise ValueError(f"{path}: its head lacks {', '.join(missing) or 'Test or Story'}")
    return head


def read_hunks(lines, first):
    hunks = []
    for number, line in enumerate(lines, first):
        if line.startswith("@@"):
            hunks.append(Hunk(number))
            continue
        if line[:1] in (" ", "-", ""):
            hunks[-1].old.append(line[1:])
        if line[:1] in (" ", "+", ""):
            hunks[-1].new.append(line[1:])
    return hunks


def read(path):
    lines = path.read_text().splitlines()
    starts = [i for i, line in enumerate(lines) if line.startswith("--- a/")]
    if len(starts) != 1 or not lines[starts[0] + 1].startswith("+++ b/"):
        raise ValueError(f"{path}: it must patch one source, from `--- a/…` and `+++ b/…` on")
    start = starts[0]
    source = lines[start + 1].removeprefix("+++ b/").strip()
    return Mutant(path.stem, path, source, read_head(path, lines[:start]), read_hunks(lines[start + 2 :], start + 3))


def read_all(folder):
    return [read(path) for path in sorted(folder.glob("*.patch"))]


def apply(mutant, text):
    lines = text.splitlines()
    for hunk in mutant.hunks:
        size = len(hunk.old)
        places = [i for i in range(len(lines) - size + 1) if lines[i : i + size] == hunk.old]
        if len(places) != 1:
            raise Stale(
                STALE.format(
                    at=f"{mutant.path}:{hunk.line}",
                    name=mutant.name,
                    source=mutant.source,
                    where=f"{len(places)} times" if places else "nowhere",
                    kind=mutant.head["Class"],
                )
            )
        lines[places[0] : places[0] + size] = hunk.new
    return "\n".join(lines) + "\n"


def main():
    _, patch, source, out = sys.argv[1:]
    try:
        Path(out).write_text(apply(read(Path(patch)), Path(source).read_text()))
    except (Stale, ValueError) as wrong:
        sys.exit(str(wrong))


if __name__ == "__main__":
    main()
