"""sizes.py FOLDER...: no function of more than 60 lines, no file of more than 600."""

import sys
from pathlib import Path

FUNCTION_LINES = 60
FILE_LINES = 600


def functions(lines):
    """(line of the name, length) of each function: from a brace alone at the margin to the one that closes it."""
    start = None
    for number, line in enumerate(lines, 1):
        if line == "{":
            start = number
        elif line == "}" and start is not None:
            yield start - 1, number - start + 1
            start = None


def main():
    wrong, lengths = [], []
    for file in sorted(file for folder in sys.argv[1:] for file in Path(folder).rglob("*.[ch]")):
        lines = file.read_text().splitlines()
        if len(lines) > FILE_LINES:
            wrong.append(f"{file}: {len(lines)} lines")
        for number, length in functions(lines):
            lengths.append(length)
            if length > FUNCTION_LINES:
                wrong.append(f"{file}:{number}: a function of {length} lines")
    median = sorted(lengths)[len(lengths) // 2] if lengths else 0
    print(f"{len(lengths)} functions, the median one of {median} lines, the longest of {max(lengths, default=0)}")
    for sentence in wrong:
        print(sentence, file=sys.stderr)
    sys.exit(1 if wrong else 0)


main()
