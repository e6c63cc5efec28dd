"""guard.py PROGRAM [--store] [--baseline FILE] [-- ARGUMENT...]: finds kernels that became slower.

PROGRAM is bench_guard, which prints ratios of each kernel to plain work on the same machine. It
runs as several processes, since placement in memory makes one process differ from the next; a
process counts by the median of its rounds. --store keeps them as the baseline; otherwise they are
compared with it: a row has a loss if its ratio fell by more than 3 % and by more than the
half-width of the 99 % confidence interval of the change. Processes are added until the half-width
is 2 %, or 20 ran.

Exit code 1: a loss; 75: a row could not be decided on this machine; 78: no baseline for it."""

import argparse
import json
import math
import os
import statistics
import subprocess
import sys

LEAST, FIRST, MOST = 4, 6, 20  # processes
LOSS, PRECISION = 0.03, 0.02
# Student's t of 99 % for 3, 4, ... degrees of freedom (two-sided).
STUDENT = (5.841, 4.604, 4.032, 3.707, 3.499, 3.355, 3.250, 3.169, 3.106, 3.055, 3.012, 2.977,
           2.947, 2.921, 2.898, 2.878, 2.861)


def variance_of_mean(logs):
    return statistics.variance(logs) / len(logs)


def change(now, base):
    """Returns the relative change of a ratio, and the half-width of its interval."""
    difference = statistics.fmean(now) - statistics.fmean(base)
    degrees = min(len(now), len(base)) - 1
    half = STUDENT[min(degrees - 3, len(STUDENT) - 1)] * math.sqrt(
        variance_of_mean(now) + variance_of_mean(base))
    return math.expm1(difference), half


def verdict(now, base):
    """Returns "loss", "gain", "equal" or "undecided", with the change and its half-width."""
    changed, half = change(now, base)
    if -changed > LOSS and -changed > half:
        return "loss", changed, half
    if changed > LOSS and changed > half:
        return "gain", changed, half
    return ("equal" if half <= PRECISION + 0.005 else "undecided"), changed, half


def one_process(program, arguments, rows):
    """Returns the logarithm of the median ratio of each row."""
    chosen = [word for row in rows for word in ("--row", row)]
    printed = subprocess.run([program, *chosen, *arguments], check=True, text=True,
                             stdout=subprocess.PIPE).stdout
    found = (json.loads(line) for line in printed.splitlines())
    return {one["row"]: math.log(statistics.median(one["ratios"])) for one in found}


def machine_of(program):
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        model = next((line.split(":")[1].strip() for line in file
                      if line.startswith(("model name", "CPU part"))), "unknown")
    return {"model": model, "cpus": len(os.sched_getaffinity(0)),
            "threads": os.environ.get("OMP_NUM_THREADS", ""), "program": os.path.basename(program)}


def measure(program, arguments, settled):
    """Runs processes until settled(row, logs) holds for every row; returns the logs of each row."""
    logs = {}
    rows = []  # all
    for process in range(MOST):
        for row, log in one_process(program, arguments, rows).items():
            logs.setdefault(row, []).append(log)
        if process + 1 < FIRST:
            continue
        rows = [row for row, values in logs.items() if not settled(row, values)]
        if not rows:
            break
    return logs


def precise(values):
    return STUDENT[min(len(values) - LEAST, len(STUDENT) - 1)] * math.sqrt(
        variance_of_mean(values)) <= PRECISION / math.sqrt(2)


def compare(program, arguments, base):
    """Prints the table of changes; returns the exit code."""
    logs = measure(program, arguments,
                   lambda row, values: row not in base or change(values, base[row])[1] <= PRECISION)
    lines, verdicts = [], set()
    for row, values in logs.items():
        ratio = math.exp(statistics.fmean(values))
        if row not in base:
            lines.append((row, "-", f"{ratio:.3f}", "-", "new"))
            continue
        found, changed, half = verdict(values, base[row])
        verdicts.add(found)
        lines.append((row, f"{math.exp(statistics.fmean(base[row])):.3f}", f"{ratio:.3f}",
                      f"{100 * changed:+.1f} +- {100 * half:.1f} %", found))
    for line in (("row", "baseline", "now", "change", "verdict"), *lines):
        print(f"{line[0]:20} {line[1]:>9} {line[2]:>9} {line[3]:>18}  {line[4]}")
    for row in sorted(set(base) - set(logs)):
        print(f"{row}: in the baseline, not measured")
    return 1 if "loss" in verdicts else 75 if "undecided" in verdicts else 0


def main():
    parser = argparse.ArgumentParser(description="Find kernels that became slower.")
    parser.add_argument("program")
    parser.add_argument("--store", action="store_true", help="keep this as the baseline")
    parser.add_argument("--baseline", default="build/guard.json", metavar="FILE")
    words = sys.argv[1:]
    end = words.index("--") if "--" in words else len(words)
    given = parser.parse_args(words[:end])
    arguments = words[end + 1:]
    machine = machine_of(given.program)
    if given.store:
        logs = measure(given.program, arguments, lambda row, values: precise(values))
        with open(given.baseline, "w", encoding="utf-8") as file:
            json.dump({"machine": machine, "rows": logs}, file, indent=1)
        for row, values in logs.items():
            print(f"{row:20} {math.exp(statistics.fmean(values)):9.3f}")
        print(f"baseline: {given.baseline}")
        return 0
    try:
        with open(given.baseline, encoding="utf-8") as file:
            stored = json.load(file)
    except FileNotFoundError:
        stored = {"machine": None}
    if stored["machine"] != machine:
        print(f"{given.baseline}: no baseline of this machine; make one with --store",
              file=sys.stderr)
        return 78
    return compare(given.program, arguments, stored["rows"])


if __name__ == "__main__":
    sys.exit(main())
