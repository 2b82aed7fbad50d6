"""Proves that the layers are what they are said to be.

    layers.py edges FILE     for every pair of layers: each public header of the one is included from the other; it must
                             compile where CMake says that it may be seen, and must not be found anywhere else. Each
                             library of others is included by exactly one file, and not by a public header
    layers.py headers FILE   every public header compiles alone, pedantically

FILE is layers.json, which CMake writes: for each layer its include folder, what it sees, and the folders that it is
really compiled with. The layers stand in it from the bottom up, and none may see one above it.
"""

import json
import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

# Which headers belong to which library of others, and the layer that may include them.
LIBRARIES = {
    "libcurl": (re.compile(r"curl/"), "net"),
    "OpenSSL": (re.compile(r"openssl/"), "aws"),
    "libyaml": (re.compile(r"yaml\.h$"), "base"),
    "json-c": (re.compile(r"json-c/|json(_\w+)?\.h$"), "base"),
    "libwebsockets": (re.compile(r"libwebsockets"), "web"),
    "expat": (re.compile(r"expat"), "aws"),
}
INCLUDE = re.compile(r'^\s*#\s*include\s*[<"]([^>"]+)[>"]', re.MULTILINE)


class Layers:
    def __init__(self, path):
        said = json.loads(Path(path).read_text())
        self.compiler = said["compiler"]
        self.root = Path(said["root"])
        self.layers = {layer["name"]: layer for layer in said["layers"]}

    def sees(self, name):
        """All that a layer sees, itself and what the layers it sees pass on included."""
        seen, todo = set(), [name]
        while todo:
            layer = todo.pop()
            if layer not in seen:
                seen.add(layer)
                todo += self.layers[layer]["sees"]
        return seen

    def headers(self, name):
        folder = Path(self.layers[name]["include"])
        return sorted(str(header.relative_to(folder)) for header in folder.rglob("*.h"))

    def compile(self, name, source, *flags):
        folders = [f"-I{folder}" for folder in self.layers[name]["compiled_with"] if folder]
        command = [self.compiler, "-std=c17", "-D_GNU_SOURCE", "-fsyntax-only", *flags, *folders, "-x", "c", "-"]
        return subprocess.run(command, input=source, text=True, capture_output=True, env={**os.environ, "LC_ALL": "C"})


def try_edge(layers, edge):
    """What is wrong with one edge: a list of sentences."""
    origin, target, allowed = edge
    wrong = []
    for header in layers.headers(target):
        result = layers.compile(origin, f'#include "{header}"\n')
        not_found = f"{header}: No such file or directory" in result.stderr
        if allowed and result.returncode != 0:
            wrong.append(f"{origin} may see {target}, but {header} does not compile there:\n{result.stderr}")
        if not allowed and result.returncode == 0:
            wrong.append(f"{origin} must not see {target}, but {header} compiles there")
        if not allowed and result.returncode != 0 and not not_found:
            wrong.append(f"{origin} must not see {target}, but {header} is found there:\n{result.stderr}")
    return wrong


def check_order(layers):
    """A layer sees only layers below it, that is, named before it."""
    names = list(layers.layers)
    return [
        f"{name} sees {other}, which is not below it"
        for name in names
        for other in layers.layers[name]["sees"]
        if names.index(other) >= names.index(name)
    ]


def check_library(layers, library, sources):
    """Included by exactly one file, a source file or private header of its layer."""
    pattern, layer = LIBRARIES[library]
    own = Path(layers.layers[layer]["include"]).parent
    files = [
        file
        for file, text in sources.items()
        if any(pattern.match(name) and not (file.parent / name).exists() for name in INCLUDE.findall(text))
    ]
    names = ", ".join(str(file.relative_to(layers.root)) for file in files) or "none"
    if len(files) != 1:
        return [f"{library} must be included by exactly one file, but is by {len(files)}: {names}"]
    if files[0].parent != own:
        return [f"{library} belongs into one file of {own.relative_to(layers.root)}, but is included by {names}"]
    print(f"  {library:<14} only {names}")
    return []


def check_edges(layers):
    names = list(layers.layers)
    edges = [(a, b, b in layers.sees(a)) for a in names for b in names]
    wrong = check_order(layers)
    wrong += [f"{name} has no public header" for name in names if not layers.headers(name)]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for sentences in pool.map(lambda edge: try_edge(layers, edge), edges):
            wrong += sentences
    for name in names:
        seen = " ".join(b for a, b, allowed in edges if a == name and allowed and b != a)
        hidden = " ".join(b for a, b, allowed in edges if a == name and not allowed)
        print(f"  {name:<14} sees: {seen or '-'}; not: {hidden or '-'}")
    sources = {
        file: file.read_text()
        for folder in ("controller", "actuators")
        for file in sorted((layers.root / folder).rglob("*.[ch]"))
    }
    for library in LIBRARIES:
        wrong += check_library(layers, library, sources)
    count = sum(not allowed for _, _, allowed in edges)
    print(f"{len(edges)} edges between {len(names)} layers tried, {count} of them forbidden")
    return wrong


def check_headers(layers):
    wrong, count = [], 0
    for name in layers.layers:
        for header in layers.headers(name):
            count += 1
            result = layers.compile(name, f'#include "{header}"\n', "-Wall", "-Wextra", "-pedantic", "-Werror")
            if result.returncode != 0:
                wrong.append(f"{header} does not compile alone:\n{result.stderr}")
    print(f"{count} public headers compiled alone")
    return wrong


def main():
    checks = {"edges": check_edges, "headers": check_headers}
    if len(sys.argv) != 3 or sys.argv[1] not in checks:
        sys.exit(__doc__)
    wrong = checks[sys.argv[1]](Layers(sys.argv[2]))
    for sentence in wrong:
        print(f"wrong: {sentence}", file=sys.stderr)
    sys.exit(1 if wrong else 0)


main()
