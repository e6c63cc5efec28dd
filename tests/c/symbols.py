"""symbols.py HEADER,...|LIST NM...: compares the C functions of a library with those that its
headers declare, or with a list of its interface (exported.txt): programs that were linked with the
library need every one of these, so a name leaves the list only together with its soname."""

import re
import subprocess
import sys


def exported(command):
    """Returns the global symbols that are neither C++'s nor the compiler's."""
    lines = subprocess.run([*command, "--defined-only"], check=True, capture_output=True,
                           text=True).stdout.splitlines()
    names = {line.split()[-1] for line in lines if len(line.split()) == 3}
    return {name for name in names if not name.startswith(("_", "DW.ref."))}


def declared(headers):
    if headers.endswith(".txt"):
        with open(headers, encoding="utf-8") as file:
            return set(file.read().split())
    names = set()
    for header in headers.split(","):
        with open(header, encoding="utf-8") as file:
            text = re.sub(r"/\*.*?\*/", "", file.read(), flags=re.DOTALL)
        names |= set(re.findall(r"^(?:int|const char\*) (tessera_\w+)\(", text, re.MULTILINE))
    return names


def main():
    there, wanted = exported(sys.argv[2:]), declared(sys.argv[1])
    for name in sorted(there ^ wanted):
        print(name, "is exported but not expected" if name in there else "is not exported")
    if not wanted or there != wanted:
        return 1
    print(f"{len(there)} functions")
    return 0


sys.exit(main())
