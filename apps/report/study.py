"""study.py [SOURCE|FIGURE|FILE.toml]... [--all] [--list] [--budget TIME] [--results DIR] [--again]:
runs studies, the cheapest first, and prints the table of their verdicts. A study that DIR holds is
not run again.

Requires Python 3.11, or tomli, with h5py and numpy. `tessera study` calls it."""
import argparse
import difflib
import os
import re
import shlex
import signal
import subprocess
import sys
import time

import answer
import figures
import pick
import tables
import verdicts

NEEDS_GPU, NOT_RUN, FAILED = "needs a GPU", "not run", "ended with an error"
UNITS = {"": 1, "s": 1, "min": 60, "m": 60, "h": 3600}
GRACE = 10  # seconds after a request to stop


def seconds_of(text):
    """Returns the seconds of "90", "90s", "30min", "1.5h"."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?) ?(s|min|m|h|)", text)
    if not found:
        pick.fail(64, f"--budget '{text}' is not a time; write 90s, 30min or 1h")
    return float(found[1]) * UNITS[found[2]]


def chosen(words, everything):
    """Returns the studies that the words name: files, sources, figures. Exits on unknown ones."""
    known, paths = figures.paths(), {}
    for word in words:
        if word.endswith(".toml"):
            if not os.path.exists(word):
                pick.fail(66, f"file '{word}' does not exist; check the path")
            paths[word] = next((name for name, path in known.items()
                                if os.path.samefile(path, word)),
                               os.path.basename(word).removesuffix(".toml"))
            continue
        mine = {path: name for name, path in known.items()
                if word in (name, os.path.dirname(name), os.path.basename(name))}
        if not mine:
            sources = sorted({os.path.dirname(name) for name in known})
            names = [*sources, *known, *map(os.path.basename, known)]
            near = difflib.get_close_matches(word, names, 1)
            pick.fail(64, f"unknown study '{word}'"
                          + (f"; did you mean '{near[0]}'?" if near else
                             f"; the sources are {', '.join(sources)} (tessera study --list)"))
        paths.update(mine)
    if everything or not words:
        paths.update({path: name for name, path in known.items()})
    try:
        return [figures.read(path, name) for path, name in paths.items()]
    except figures.StudyError as error:
        return pick.fail(64, str(error))


class Runner:
    """Runs studies within a budget of seconds; keeps results and texts in a folder."""

    def __init__(self, folder, budget, again):
        self.folder, self.again, self.program = folder, again, os.environ.get("TESSERA_PROGRAM",
                                                                              "tessera")
        self.end = time.monotonic() + budget if budget else None

    def place(self, study, kind):
        """Returns FOLDER/SOURCE/FIGURE.KIND."""
        return os.path.join(self.folder, f"{study.name}.{kind}")

    def words(self, study):
        """Returns the command line of a study."""
        return [self.program, *shlex.split(study.command), "--config", study.path, "--results",
                self.place(study, "h5")]

    def is_same(self, study):
        """Returns whether the folder's results are of this command with these options."""
        try:
            with open(self.place(study, "toml"), "rb") as file:
                kept = figures.tomllib.loads(file.read().decode("utf-8", "replace"))
        except (OSError, ValueError):
            return False
        return kept.pop("study", {}).get("command") == study.command and kept == study.options

    def is_done(self, study):
        """Returns whether the folder holds all results of the study."""
        return self.is_same(study) and not self.again and all(
            os.path.exists(self.place(study, kind)) for kind in ("h5", "txt"))

    def left(self):
        return self.end - time.monotonic() if self.end else float("inf")

    def run(self, study):
        """Returns "" once the results are there, else why they are not."""
        if self.is_done(study):
            return ""
        if study.seconds > self.left():
            return f"{NOT_RUN}: about {study.seconds:g} s, {max(0, self.left()):.0f} s were left"
        self.prepare(study)
        with open(self.place(study, "log"), "wb") as log:
            code = self.start(study, log)
        with open(self.place(study, "log"), encoding="utf-8", errors="replace") as log:
            text = log.read()
        if code == 85 or code != 0 and self.left() <= 0:
            return f"{NOT_RUN}: stopped at the budget; the same command continues it"
        if code != 0:
            if NEEDS_GPU in text:
                return NEEDS_GPU
            last = next((line for line in text.splitlines() if "error:" in line),
                        f"exit code {code}")
            return f"{FAILED}: {last}"
        os.replace(self.place(study, "log"), self.place(study, "txt"))
        return ""

    def prepare(self, study):
        """Makes the study's folder and removes results of other options."""
        os.makedirs(os.path.dirname(self.place(study, "h5")), exist_ok=True)
        for kind in ("txt", *([] if self.is_same(study) and not self.again else ["h5"])):
            if os.path.exists(self.place(study, kind)):
                os.remove(self.place(study, kind))
        with open(study.path, "rb") as file:
            pick.write_whole(self.place(study, "toml"), file.read())

    def start(self, study, log):
        """Returns the exit code of the study's command, which is asked to stop at the budget."""
        words = self.words(study)
        # an option's variable would take precedence over the study
        environment = {name: value for name, value in os.environ.items()
                       if not name.startswith("TESSERA_") or name == "TESSERA_MACHINE_FILE"}
        try:
            process = subprocess.Popen(words, stdout=log, stderr=subprocess.STDOUT,
                                       env=environment)
        except OSError as error:
            return pick.fail(66, f"'{words[0]}' cannot be started ({error.strerror})")
        try:
            return process.wait(None if self.end is None else max(0.1, self.left()))
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGTERM)
        try:
            return process.wait(GRACE)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGTERM)
            return process.wait()


def listing(studies):
    """Returns the rows of --list."""
    return [["study", "seconds", "figure"],
            *([study.name, f"{study.seconds:g}", study.figure] for study in studies)]


def verdicts_of(runner, studies):
    """Runs the studies, the cheapest first; returns {name: (outcomes, why there are none)}."""
    found = {}
    for number, study in enumerate(sorted(studies, key=lambda one: (one.seconds, one.name)), 1):
        begin, kept = time.monotonic(), runner.is_done(study)
        why = runner.run(study)
        outcomes = []
        if not why:
            try:
                outcomes = verdicts.check(study, runner.place(study, "h5"))
            except figures.StudyError as error:
                why = f"{FAILED}: {error}"
        found[study.name] = outcomes, why
        print(f"{number}/{len(studies)} {study.name}: {why or verdicts.verdict_of(outcomes)} "
              f"({'kept' if kept else f'{time.monotonic() - begin:.1f} s'})", flush=True)
    return found


def rows_of(studies, found):
    """Returns the table of verdicts."""
    rows = [["study", "verdict", "ours", "printed or expected"]]
    for study in studies:
        outcomes, why = found[study.name]
        rows.append(verdicts.row_of(study, outcomes) if outcomes else
                    [study.name, why.split(":")[0], "-", "-"])
    return rows


def tally(rows):
    """Returns "holds 40, needs a GPU 14" of the table of verdicts."""
    names = [row[1] for row in rows[1:]]
    return ", ".join(f"{name} {names.count(name)}" for name in dict.fromkeys(names))


@pick.command
def main(words=None):
    parser = argparse.ArgumentParser(prog="tessera study")
    parser.add_argument("studies", nargs="*")
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--budget", default="")
    parser.add_argument("--results", default="studies")
    parser.add_argument("--again", action="store_true")
    parser.add_argument("--dry-run", action="store_true")
    options = parser.parse_args(words)
    if not (options.studies or options.all or options.list):
        pick.fail(64, "a study is required: SOURCE, FIGURE, FILE.toml or --all; see "
                      "tessera study --list")
    budget = seconds_of(options.budget) if options.budget else 0
    studies = chosen(options.studies, options.all)
    if options.list:
        rows = listing(studies)
        answer.add_table("studies", rows)
        print(tables.grid(rows), end="")
        return 0
    runner = Runner(options.results, budget, options.again)
    if options.dry_run:
        for study in sorted(studies, key=lambda one: (one.seconds, one.name)):
            print(shlex.join(runner.words(study)))
        return 0
    found = verdicts_of(runner, studies)
    rows = rows_of(studies, found)
    answer.add_table("verdicts", rows)
    print(f"\n{tables.grid(rows)}")
    for study in studies:
        outcomes, why = found[study.name]
        if options.studies or why and why != NEEDS_GPU or any(
                one.verdict not in (verdicts.HOLDS,) for one in outcomes):
            print(verdicts.text(study, outcomes, why), end="")
    print(f"{len(studies)} studies: {tally(rows)}")
    return int(any(row[1] in (verdicts.FAILS, FAILED) for row in rows))


if __name__ == "__main__":
    pick.end_with_the_pipe()
    sys.exit(main())
