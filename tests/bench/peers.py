"""peers.py TESSERA [--quick] [--ranks N --threads T] [--rounds N] [--only WORD]: peers in one run.

Compares Tessera with the benchmark programs that its peers' own builds contain. TESSERA_PEERS lists
folders, separated by colons (build trees, or where the programs were copied to); PROGRAMS in
peer_programs.py names what is looked for in them. Nothing is fetched or built.

For each problem `tessera` and its peers run in turn, several rounds, started by jobs/launch.sh with
the same ranks, threads and binding. Either side's time is what the program itself reports for one
repetition: the kernel with its exchange between ranks, from operands in memory to the result in
memory, without start, generation and check; the medians of all repetitions of all rounds are
compared. First repetitions are left out (peers that sort their times: the slowest). Programs of PRK
do more work in a repetition than the row names: after each they add 1 to the input.

Prints the table (rates; a ratio above 1: Tessera is faster), the rows that Tessera loses, and
versions with the compilers' flags. Sizes are halved until the problems fit in half of the free
memory; --quick: at least twice."""
import argparse
import fnmatch
import os
import re
import statistics
import subprocess
import sys

from peer_programs import PROGRAMS, REPETITIONS, Failed, part_of, problems, read_tessera

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
LAUNCH = os.path.join(ROOT, "jobs", "launch.sh")
LIMIT = 900  # seconds of one run


def memory_available():
    with open("/proc/meminfo", encoding="ascii") as file:
        return 1024 * int(re.search(r"MemAvailable:\s*(\d+)", file.read())[1])


def find(folders):
    """Returns the path of each peer's program in the folders, the first of each."""
    found = {}
    for folder in folders:
        for here, below, files in os.walk(folder):
            below.sort()
            for path in (os.path.join(here, file) for file in sorted(files)):
                for peer, end in PROGRAMS.items():
                    if fnmatch.fnmatchcase(path, "*/" + end) and os.access(path, os.X_OK):
                        found.setdefault(peer, os.path.abspath(path))
    return found


# ---- running ----

def run(ranks, threads, command):
    """Returns the output of a program that jobs/launch.sh starts."""
    words = ["bash", LAUNCH, str(ranks), str(threads), *map(str, command)]
    process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, text=True, errors="replace")
    try:
        output, errors = process.communicate(timeout=LIMIT)
    except subprocess.TimeoutExpired:
        process.terminate()  # the launcher ends its ranks
        process.communicate()
        raise Failed(f"no result after {LIMIT} s") from None
    if process.returncode != 0:
        lines = (errors + output).strip().splitlines()
        raise Failed(f"exit code {process.returncode}: {'; '.join(lines[:2]):.150}")
    return output


def measure(tessera, found, problem, ranks, threads, rounds):
    """Returns the medians of Tessera and of each peer, and what failed."""
    ours, times, failed = [], {one.label: [] for one in problem.peers}, {}
    words = {one.label: one.words for one in problem.peers}
    for turn in range(rounds):
        check = ["--no-verify"] if turn > 0 else []
        ours += read_tessera(run(ranks, threads, [
            tessera, *problem.words, "--json", "--repetitions", REPETITIONS, "--warmups", 1,
            *check]))
        for one in problem.peers:
            if one.label in failed:
                continue
            try:
                output = run(ranks, threads, [found[one.peer], *words[one.label]])
                times[one.label] += one.read(output)
                if one.settle and turn == 0:
                    words[one.label] = one.words + one.settle(output)
            except Failed as why:
                failed[one.label] = str(why)
    medians = {label: statistics.median(seconds) for label, seconds in times.items()
               if label not in failed}
    return statistics.median(ours), medians, failed


def line(cells):
    return "| " + " | ".join(str(cell) for cell in cells) + " |"


def compare(tessera, found, problem, ranks, threads, rounds):
    """Prints the rows of a problem; returns those that are lost."""
    ours, medians, failed = measure(tessera, found, problem, ranks, threads, rounds)
    lost = []
    for label, seconds in medians.items():
        ratio = seconds / ours if seconds > 0 else float("nan")
        row = line([problem.name, f"{ranks} x {threads}", f"{problem.amount / ours:.4g}",
                    f"{label} {problem.amount / max(seconds, 1e-9):.4g}", problem.unit,
                    f"{ratio:.2f}"])
        print(row, flush=True)
        if not ratio >= 1:
            lost.append(row)
    for label, why in failed.items():
        print(line([problem.name, f"{ranks} x {threads}", f"{problem.amount / ours:.4g}",
                    f"{label} failed: {why}", problem.unit, "-"]), flush=True)
    return lost


# ---- versions ----

def first_line(*command):
    try:
        result = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                                text=True, timeout=60)
    except OSError:
        return ""
    return result.stdout.strip().splitlines()[0] if result.stdout.strip() else ""


def version(path):
    """Describes a program: its checkout, if it is in one, and compiler and flags, if they were
    recorded (-frecord-gcc-switches)."""
    folder = os.path.dirname(path)
    top = first_line("git", "-C", folder, "rev-parse", "--show-toplevel")
    words = [path]
    if top and os.path.realpath(top) != os.path.realpath(ROOT):
        words.append(first_line("git", "-C", folder, "describe", "--always", "--tags", "--dirty"))
    with open(path, "rb") as file:
        content = file.read()
    recorded = re.search(rb"GNU (?:GIMPLE|C)[^\0\n]* -[^\0\n]*", content)
    compiler = recorded or re.search(rb"GCC: [^\0]*|clang version [^\0]*", content)
    if compiler:
        words.append(compiler[0].decode(errors="replace"))
    return ", ".join(words)


def print_versions(tessera, found):
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        model = re.search(r"(?m)^model name\s*: (.*)$", file.read())
    print(f"\n{first_line(tessera, '--version')}; {first_line('mpirun', '--version')}; "
          f"{cores()} cores, {model[1] if model else 'unknown processor'}, "
          f"load {os.getloadavg()[0]:.1f}")
    for peer, path in found.items():
        print(f"- {peer}: {version(path)}")


def cores():
    return int(first_line("bash", "-c", f". '{LAUNCH}'; tessera_cores"))


def shapes(given):
    """Returns ranks x threads: all cores, as 16 x 1, 4 x 4 and 1 x 16 on 16."""
    if given.ranks or given.threads:
        return [(given.ranks or 1, given.threads or 1)]
    count = cores()
    return sorted({(count, 1), (1, count), (count // 4, 4) if count >= 8 else (1, count)},
                  reverse=True)


def main():
    parser = argparse.ArgumentParser(description="Compare with the peers' own programs.")
    parser.add_argument("tessera")
    parser.add_argument("--quick", action="store_true", help="small sizes, one round")
    parser.add_argument("--ranks", type=int, help="one shape instead of three")
    parser.add_argument("--threads", type=int, help="of each rank")
    parser.add_argument("--rounds", type=int, help="default: 3; quick: 1")
    parser.add_argument("--only", default="", metavar="WORD", help="rows that contain it")
    given = parser.parse_args()
    found = find(filter(None, os.environ.get("TESSERA_PEERS", "").split(":")))
    for peer, end in PROGRAMS.items():
        if peer not in found:
            print(f"missing: {peer} ({end} is in no folder of TESSERA_PEERS)")
    if not found:
        return "TESSERA_PEERS names no folder with a peer's program"
    rounds = given.rounds or (1 if given.quick else 3)
    part = part_of(memory_available(), given.quick)
    tessera = os.path.abspath(given.tessera)
    print(line(["row", "ranks x threads", "Tessera", "peer", "unit", "ratio"]))
    print("|---|---|---:|---|---|---:|")
    lost = []
    for ranks, threads in shapes(given):
        for problem in problems(part, ranks, threads):
            there = [one for one in problem.peers if one.peer in found and
                     given.only in f"{problem.name} {one.label}"]
            if there:
                lost += compare(tessera, found, problem._replace(peers=there), ranks, threads,
                                rounds)
    print("\nLost:" if lost else "\nNo row is lost.", *lost, sep="\n")
    print_versions(tessera, found)
    return 0


if __name__ == "__main__":
    sys.exit(main())
