"""A credential_process: prints what it is given at URL, or fails with a sentence. Usage: credential_program.py URL [WORD...]"""

from __future__ import annotations

import sys
import urllib.error
import urllib.request


def main(url: str, *_words: str) -> int:
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(url, timeout=5) as answer:
            sys.stdout.write(answer.read().decode())
    except (urllib.error.URLError, OSError) as error:
        sys.stderr.write(f"the vault is sealed: {error}\n")
        return 3
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
