"""rerun.py RESULTS.h5[#run] [--results FILE] [--repetitions N] [--launcher WORDS] [--dry-run]:
repetition of a stored run.

Runs the program with the stored run's options that were set (by flag, environment or file), ranks,
threads and instruction set, in its working directory if that exists. Outputs go to a temporary
folder next to the results. Then `compare` compares the new run with the stored one; the exit code
is compare's, or the run's if that failed (70 for 1 and 2, which are verdicts)."""
import argparse
import errno
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import zlib

import h5py

import answer
import compare
import pick
import results

# OUTPUTS: files written by a run, redirected. LEFT_OUT: options of the stored job only.
OUTPUTS = ("out", "snapshots", "argsort", "checkpoint")
LEFT_OUT = ("results", "again", "config", "overwrite", "resume", "plan", "ranks", "repetitions",
            "checkpoint-every", "xdmf")


def runs_of(word):
    """Returns the runs of "file.h5" or "file.h5#run": timed ones and traced ones, which have no
    points."""
    path, name = pick.split_run(word)
    timed = {run.name: run for run in pick.runs(word, needed=False)}
    with h5py.File(path, "r") as file:
        groups = results.groups_of(file)
        traced = {key: dict(group.attrs) for key, group in groups if "points" in group
                  and name in ("", key)}
    order = [key for key, _ in groups if key in timed or key in traced]
    return [timed.get(key) or results.Run(key, traced[key], "", [])
            for key in order] or pick.runs(word)


def set_options(run):
    """Returns (name, value) of the options that were set."""
    names = re.findall(r"(?:^|, )([a-z0-9-]+) \(", run.attributes.get("options_set", ""))
    return [(name, str(run.attributes.get(f"option_{name}", ""))) for name in names]


def inside(value, folder):
    """Maps "file.h5:/data", several of those, or "checkpoint.h5" to names in the folder; files of
    different folders stay in different ones."""
    names = []
    for name in re.split(r",(?=[^,]*:/)", value):
        file, colon, data = name.rpartition(":/") if ":/" in name else (name, "", "")
        place = os.path.join(folder, f"{zlib.crc32(os.path.dirname(file).encode()):08x}"
                             if os.path.dirname(file) else "")
        os.makedirs(place, exist_ok=True)
        names.append(os.path.join(place, os.path.basename(file)) + colon + data)
    return ",".join(names)


def arguments_of(run, folder, repetitions):
    words, positional = [], []
    for name, value in set_options(run):
        if name in LEFT_OUT or value == "":
            continue
        if name in OUTPUTS:
            value = inside(value, folder)
        if name == "workload":
            positional = [value]
        else:
            # a value may begin with -
            words.append(f"--{name}" if value == "true" else f"--{name}={value}")
    stored = repetitions or run.attributes.get("option_repetitions", "")
    return [run.workload] + positional + words + ([f"--repetitions={stored}"] if stored else [])


def threads_of(run):
    """Returns the maximum of threads per rank."""
    return max((int(point.config["threads"]) for point in run.points), default=0)


def environment_of(run):
    environment = {k: v for k, v in os.environ.items() if not k.startswith("TESSERA_")
                   or k in ("TESSERA_MACHINE_FILE",)}
    if run.attributes.get("instruction_set"):
        environment["TESSERA_ISA"] = str(run.attributes["instruction_set"])
    if threads_of(run):
        environment["OMP_NUM_THREADS"] = str(threads_of(run))
    return environment


def launch_script():
    """Returns the path of jobs/launch.sh: installed, or of the source tree."""
    here = os.path.dirname(os.path.abspath(__file__))
    paths = [os.path.join(here, *up, "jobs", "launch.sh") for up in ([".."], ["..", ".."])]
    return next((path for path in paths if os.path.exists(path)), None) or pick.fail(
        70, f"jobs/launch.sh ({paths[0]}): not found; install Tessera again, or name a launcher "
            f"with --launcher")


def launch_words(run, launcher, environment):
    """Returns (the words that start the ranks, the same to be shown), before the program; none for
    one rank. A launcher of several words is a template; one of one word starts jobs, too, and goes
    to jobs/launch.sh by the environment."""
    ranks, threads = int(run.attributes.get("ranks", 1)), threads_of(run) or 1
    words = shlex.split((launcher or "").replace("{ranks}", str(ranks)).replace("{threads}",
                                                                                str(threads)))
    if len(words) > 1:
        return words, words
    if ranks == 1:
        return [], []
    if words:
        environment["TESSERA_LAUNCHER"] = words[0]
    script, counts = launch_script(), [str(ranks), str(threads)]
    shown = subprocess.run(["bash", script, "--words", *counts], check=True, text=True,
                           stdout=subprocess.PIPE, env=environment).stdout.split()
    return ["bash", script, *counts], shown


def start(run, scratch, options):
    """Runs the program; returns the file of the new results, or exits with the run's exit code."""
    fresh = os.path.abspath(options.results) if options.results else os.path.join(scratch,
                                                                                  "results.h5")
    environment = environment_of(run)
    launch, shown = launch_words(run, options.launcher, environment)
    program = [os.environ.get("TESSERA_PROGRAM", "tessera")] \
        + arguments_of(run, scratch, options.repetitions) + ["--results", fresh, "--again"]
    command = shown + program
    folder = str(run.attributes.get("working_directory", ""))
    folder = folder if os.path.isdir(folder) else None
    answer.put("rerun", {"run": run.name, "command": command, "folder": folder})
    print(f"{f'cd {shlex.quote(folder)} && ' if folder else ''}{shlex.join(command)}", flush=True)
    if options.dry_run:
        sys.exit(0)
    try:
        if shown and not shutil.which(shown[0]):
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))
        code = subprocess.run(launch + program, cwd=folder, env=environment, check=False).returncode
    except OSError as error:
        pick.fail(66, f"'{command[0]}' cannot be started ({error.strerror}); name another "
                      f"launcher with --launcher")
    if code != 0:
        pick.fail(code if code > 2 else 70,
                  f"the run ended with exit code {code}; see its messages above")
    return fresh


def compared(path, run, fresh, options):
    """Prints the comparison of the new run with the stored one and returns {verdict: count}."""
    if run.points:
        return compare.compare([run], pick.runs(fresh)[-1:], options.tolerance, options.text)
    counts = compare.compare_traced_files([f"{path}#{run.name}", fresh])
    return counts or pick.fail(65,
                               "the runs share no point: options may have other names in this "
                               "version")


@pick.command
def main(words=None):
    parser = argparse.ArgumentParser(prog="tessera rerun")
    parser.add_argument("files", nargs="+")
    parser.add_argument("--results")
    parser.add_argument("--repetitions", type=int)
    parser.add_argument("--launcher")
    parser.add_argument("--dry-run", action="store_true")
    parser.add_argument("--tolerance", type=float, default=0.05)
    parser.add_argument("--text", action="store_true")
    options = parser.parse_args(words)
    if len(options.files) != 1:
        pick.fail(64, f"rerun requires one run: {len(options.files)} were named")
    runs = runs_of(options.files[0])
    run = runs[-1]
    if len(runs) > 1:
        print(f"last of {len(runs)} runs: {run.name} (select another one with "
              f"{options.files[0]}#RUN)")
    path = pick.split(options.files[0])[0]
    folder = os.path.dirname(os.path.abspath(path))
    scratch = tempfile.mkdtemp(prefix=".rerun-", dir=folder if os.access(folder, os.W_OK) else None)
    try:
        fresh = start(run, scratch, options)
        print()
        return compare.exit_code(compared(path, run, fresh, options))
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


if __name__ == "__main__":
    pick.end_with_the_pipe()
    sys.exit(main())
