"""Verdicts of studies: what the results say about the printed numbers and about what should hold on
any machine."""
import dataclasses
import math
import os
import shutil
import textwrap

import h5py
import numpy as np

import figures
import formulas
import pick
import result_rows
import results

HOLDS, DIRECTION, FAILS = "holds", "holds in direction", "does not hold"
MISSING = "not measured"
COUNTERS = ("counters", "simulated")
MOST_COUNTERS = 4
NARROW = 18  # characters of a cell of the table of verdicts


@dataclasses.dataclass
class Outcome:
    """What became of an expectation."""
    expectation: object
    verdict: str
    axis: list = dataclasses.field(default_factory=list)
    ours: list = dataclasses.field(default_factory=list)
    reasons: list = dataclasses.field(default_factory=list)
    # {"least", "most", "formula": its value at each point}
    bounds: dict = dataclasses.field(default_factory=dict)

    @property
    def expected(self):
        """Returns the printed numbers, or what holds on any machine, as text."""
        one, words = self.expectation, []
        if self.printed:
            return shortly(self.printed)
        for key, sign in (("formula", ""), ("least", ">= "), ("most", "<= ")):
            if key in self.bounds:
                words.append(sign + shortly(self.bounds[key]))
        return ", ".join(words) or one.direction or "-"

    @property
    def printed(self):
        value = self.expectation.printed
        return [] if value is None else value if isinstance(value, list) else [value]


def is_equal(mine, asked):
    """Compares a value of a results file with one of a study."""
    if isinstance(asked, (int, float)) and not isinstance(mine, (str, bytes)):
        return float(mine) == float(asked)
    return str(mine) == str(asked)


def said(value):
    """Formats a number: whole ones up to 10^9 with all digits, others with four."""
    if not math.isfinite(value):
        return str(value)
    return str(int(value)) if value == int(value) and abs(value) < 1e9 else f"{value:.4g}"


def listed(numbers):
    """Formats several numbers: all of up to six, else the ends."""
    words = [said(value) for value in numbers]
    return ", ".join(words) if len(words) <= 6 else \
        f"{words[0]}, {words[1]} .. {words[-1]} ({len(words)} values)"


def shortly(numbers):
    """Formats several numbers for a narrow column: all if they fit, else the ends; equal ones once.
    """
    words = [said(value) for value in numbers]
    every = words[0] if len(set(words)) == 1 else ", ".join(words)
    return every if len(every) <= NARROW or len(words) == 2 else f"{words[0]} .. {words[-1]}"


class Check:
    """The check of one expectation of a study."""

    def __init__(self, study, one, tables):
        self.study, self.one, self.tables = study, one, tables
        self.reasons, self.bounds = [], {}

    def fail(self, words):
        raise figures.StudyError(f"{self.study.path}:{self.one.line}: {words}")

    def select(self, rows, where):
        """Returns the rows with these values."""
        for column in where:
            if rows and not any(column in row for row in rows):
                self.fail(f"table '{self.one.table}' has no column '{column}'; it has "
                          f"{', '.join(rows[0])}")
        steps = {name: value for name, value in where.items()
                 if self.one.table == "curves" and name in ("bytes", "lines")}
        mine = [row for row in rows if all(column in row and is_equal(row[column], value)
                                           for column, value in where.items()
                                           if column not in steps)]
        return result_rows.step(mine, steps) if steps else mine

    def one_row(self, rows, where):
        """Returns the row of these values, or the sum of the rows; None if there is none."""
        mine = self.select(rows, where)
        if len(mine) > 1 and self.one.total:
            return {**mine[0], **{name: sum(row[name] for row in mine) for name, value in
                                  mine[0].items() if isinstance(value, np.number)
                                  and name not in where and name != self.one.along}}
        if len(mine) > 1 and "point" in mine[0]:
            differ = [name for name in mine[0] if name not in ("row", "point")
                      and any(row.get(name) != mine[0][name] for row in mine)]
            self.fail(f"{len(mine)} rows of '{self.one.table}' have {words_of(where)}; tell them "
                      f"apart by {', '.join(differ[:8])}, or set total = true")
        return mine[-1] if mine else None

    def letters(self, row):
        """Returns {letter: number or text} of a row: its columns, the caches of the machine in
        bytes, the letters of the source."""
        known = {**self.tables.caches, **row}
        for letter, formula in self.study.letters.items():
            known[letter] = self.value(formula, known)
        return known

    def value(self, formula, letters):
        try:
            return formula.value(letters)
        except formulas.FormulaError as error:
            return self.fail(f"{error}; the columns are {', '.join(letters)}")

    def points(self):
        """Returns [(value of the axis, letters, number)]; None if one is not in the results."""
        one, rows = self.one, self.tables.rows(self.one.table)
        mine = self.select(rows, {name: value for name, value in one.where.items()})
        axis = one.at or (list(dict.fromkeys(row[one.along] for row in mine
                                             if one.along in row)) if one.along else [None])
        found = []
        for at in axis:
            where = {**one.where, **({one.along: at} if one.along else {})}
            above, below = self.one_row(rows, where), self.one_row(rows, {**where, **one.over})
            if above is None or below is None:
                return None
            letters = self.letters(above)
            number = self.value(one.value, letters)
            if one.over:
                divisor = self.value(one.value, self.letters(below))
                number = number / divisor if divisor else math.inf
            found.append((at, letters, number))
        return self.exponent(found) if one.power and len(found) > 1 else found

    @staticmethod
    def exponent(found):
        """Returns one point: the exponent of the axis, by least squares of the logarithms."""
        slope = np.polyfit(np.log([float(at) for at, _, _ in found]),
                           np.log([number for _, _, number in found]), 1)[0]
        return [(None, found[-1][1], float(slope))]

    def place(self, at):
        return f"at {self.one.along} = {at if isinstance(at, str) else said(float(at))}: " \
            if at is not None else ""

    def is_ordered(self, found):
        """Returns whether the numbers go in the direction, each step up to the slack."""
        one = self.one
        for (before, _, first), (at, _, second) in zip(found, found[1:]):
            room = one.slack * abs(first)
            right = {"rising": second > first - room, "falling": second < first + room,
                     "constant": abs(second - first) <= room}[one.direction]
            if not right:
                self.reasons.append(f"not {one.direction}: {self.place(at)}{said(second)} after "
                                    f"{said(first)} at {before}")
                return False
        return True

    def is_bounded(self, found):
        """Returns whether the bounds and the formula hold at every point."""
        one, right = self.one, True
        if isinstance(one.formula, list) and len(one.formula) != len(found):
            self.fail(f"formula has {len(one.formula)} parts, the results have {len(found)} values")
        for place, (at, letters, number) in enumerate(found):
            for key, words in (("least", "at least"), ("most", "at most"),
                               ("formula", "equal to")):
                formula = getattr(one, key)
                formula = formula[place] if isinstance(formula, list) else formula
                if formula is None:
                    continue
                bound = self.value(formula, letters)
                self.bounds.setdefault(key, []).append(bound)
                if {"least": number >= bound, "most": number <= bound,
                        "formula": is_close(number, bound, one.within)}[key]:
                    continue
                right = False
                with_letters = ", ".join(
                    f"{name} = {said(float(letters[name]))}" for name in formula.letters)
                self.reasons.append(
                    f"{self.place(at)}{said(number)} is not {words} {said(bound)}"
                    + (f" = {formula.text} with {with_letters}" if with_letters else ""))
        return right

    def is_printed(self, found):
        """Returns whether the numbers are the printed ones."""
        one, printed = self.one, self.one.printed
        if printed is None:
            return True
        printed = printed if isinstance(printed, list) else [printed] * len(found)
        if len(printed) != len(found):
            self.fail(f"printed has {len(printed)} numbers, the results have {len(found)}")
        apart = [f"{self.place(at)}{said(number)}, printed {said(value)}"
                 for (at, _, number), value in zip(found, printed)
                 if not is_close(number, value, one.within)]
        if apart:
            self.reasons += [f"{len(apart)} of {len(found)} differ from print, first {apart[0]}"
                             if len(apart) > 1 else apart[0]]
        return not apart

    def outcome(self):
        one = self.one
        found = self.points()
        if not found:
            return Outcome(one, MISSING)
        finite = all(math.isfinite(number) for _, _, number in found)
        if not finite:
            self.reasons.append("a value is not a number")
        anywhere = [finite, self.is_ordered(found) if one.direction else True,
                    self.is_bounded(found)]
        printed = self.is_printed(found)
        verdict = FAILS if not all(anywhere) or not (printed or one.conditions) else \
            HOLDS if printed else DIRECTION
        if verdict != HOLDS:
            self.reasons += [one.why] if one.why else []
        if verdict == FAILS:
            self.reasons += self.evidence(found)
        return Outcome(one, verdict, [at for at, _, _ in found],
                       [number for _, _, number in found], self.reasons, self.bounds)

    def evidence(self, found):
        """Returns what else is known of the points: misses and caches."""
        lines = []
        for table in COUNTERS:
            mine = {letters.get("point") for _, letters, _ in found}
            for row in self.tables.rows(table):
                if row["point"] in mine and len(lines) < 2:
                    known = [f"{name} {said(float(value))}" for name, value in row.items()
                             if isinstance(value, np.floating) and name.endswith(
                                 ("misses", "sharing", "conflicts")) and math.isfinite(value)]
                    lines.append(f"{table}: {', '.join(known[:MOST_COUNTERS])}")
        if self.tables.caches:
            lines.append("caches of this machine: " + ", ".join(
                f"{level} {size} B" for level, size in self.tables.caches.items()))
        return lines


def is_close(number, wanted, within):
    """Compares within a share of the wanted number; within `within` itself of 0."""
    return abs(number - wanted) <= within * (abs(wanted) or 1) + 1e-12 * abs(wanted)


def words_of(where):
    return ", ".join(f"{name} = {value}" for name, value in where.items()) or "no condition"


def check(study, path):
    """Returns the outcomes of a study's expectations in a results file. Raises StudyError, with
    FILE:LINE, if an expectation names what the results cannot have."""
    tables = result_rows.Tables(path, study.title)
    return [Check(study, one, tables).outcome() for one in study.expect]


def of_files(paths):
    """Returns {title: (study, outcomes)} of the results whose title, or parameter file, is that of
    a study. The last file of a title takes precedence."""
    known, found = {}, {}
    for path in paths:
        with h5py.File(path, "r") as file:
            runs = [group.attrs for _, group in results.groups_of(file)]
            asked = {str(run.get("option_title", "")): str(run.get("option_config", ""))
                     for run in runs}
        for title, config in asked.items():
            try:
                study = of_title(title, config, known)
                if study:
                    found[title] = study, check(study, path)
            except figures.StudyError as error:
                pick.warn(f"no verdicts: {error}")
    return found


def of_title(title, config, known):
    """Returns the study of a title: its parameter file, or one of this program; None if there is
    none. Keeps those of this program in `known`."""
    if not title or figures.tomllib is None:
        return None
    if os.path.isfile(config) and figures.is_study(config):
        study = figures.read(config)
        study.name = next((name for name, path in figures.paths().items()
                           if os.path.samefile(path, config)), study.name)
        return study if study.title == title else None
    if not known:
        known.update({one.title: one for one in (figures.read(path, name) for name, path
                                                 in figures.paths().items())})
    return known.get(title)


def verdict_of(outcomes):
    """Returns the verdict of a study: the worst of its expectations."""
    found = {outcome.verdict for outcome in outcomes}
    return next((one for one in (FAILS, MISSING, DIRECTION) if one in found), HOLDS)


def row_of(study, outcomes):
    """Returns the texts of a study in the table of verdicts: name, verdict, ours, printed or
    expected. The numbers are those of the worst expectation, of one with printed ones first."""
    order = [FAILS, MISSING, DIRECTION, HOLDS]
    first = min(outcomes, key=lambda one: (order.index(one.verdict), not one.printed))
    units = f" {first.expectation.units}" if first.expectation.units else ""
    ours = f"{shortly(first.ours)}{units}" if first.ours else "-"
    return [study.name, verdict_of(outcomes), ours, first.expected if first.ours else "-"]


def table(outcomes):
    """Returns rows of texts, a heading and one per expectation."""
    rows = [["what", "ours", "printed or expected", "units", "verdict", "why"]]
    for one in outcomes:
        rows.append([one.expectation.says, listed(one.ours) if one.ours else "-",
                     listed(one.printed) if one.printed else one.expected,
                     one.expectation.units or "-", one.verdict, "; ".join(one.reasons) or "-"])
    return rows


def text(study, outcomes, why=""):
    """Returns the expectations of a study as lines, with the reasons of those that do not hold."""
    room = max(40, shutil.get_terminal_size().columns)
    lines = textwrap.wrap(f"{study.name}: {study.figure} ({study.machine})", room,
                          subsequent_indent="  ")
    if study.formula:
        lines += textwrap.wrap(study.formula, room, initial_indent="  ", subsequent_indent="    ")
    if why:
        lines += textwrap.wrap(why, room, initial_indent="  ", subsequent_indent="    ")
    for one in outcomes:
        units = f" {one.expectation.units}" if one.expectation.units else ""
        parts = [f"ours {listed(one.ours)}{units}"] if one.ours else []
        parts += [f"printed {listed(one.printed)}"] if one.printed else []
        lines += textwrap.wrap(f"{one.verdict}: {one.expectation.says}: "
                               + ", ".join(parts), room, initial_indent="  ",
                               subsequent_indent="    ")
        for reason in one.reasons:
            lines += textwrap.wrap(reason, room, initial_indent="    - ",
                                   subsequent_indent="      ")
    return "\n".join(lines) + "\n"
