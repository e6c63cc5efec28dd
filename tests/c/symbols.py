"""symbols.py HEADER NM...: compares the C functions of a library with those of its header."""

import re
import subprocess
import sys


def exported(command):
    """Returns the global symbols that are neither C++'s nor the compiler's."""
    lines = subprocess.run([*command, "--defined-only"], check=True, capture_output=True,
                           text=True).stdout.splitlines()
    names = {line.split()[-1] for line in lines if len(line.split()) == 3}
    return {name for name in names if not name.startswith(("_", "DW.ref."))}


def declared(header):
    with open(header, encoding="utf-8") as file:
        text = re.sub(r"/\*.*?\*/", "", file.read(), flags=re.DOTALL)
    return set(re.findall(r"^(?:int|const char\*) (tessera_\w+)\(", text, re.MULTILINE))


def main():
    there, wanted = exported(sys.argv[2:]), declared(sys.argv[1])
    for name in sorted(there ^ wanted):
        print(name, "is exported but not declared" if name in there else "is not exported")
    if not wanted or there != wanted:
        return 1
    print(f"{len(there)} functions")
    return 0


sys.exit(main())
