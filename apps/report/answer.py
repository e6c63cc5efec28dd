"""What a command answers to --json besides its lines: members of the program's JSON object (schema:
manual/answer.schema.json), passed in the file that TESSERA_ANSWER names."""
import json
import os
import re

NUMBER = r"-?\d+(?:\.\d+)?(?:e[+-]?\d+)?"
QUANTITY = re.compile(rf"({NUMBER}) ?(.*)")
RANGE = re.compile(rf"({NUMBER} ?\S*) \.\. ({NUMBER} ?\S*)(?: \(.*\))?")
SECONDS = {"s": 1, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}

_members = {}


def put(name, value):
    """Sets a member of the object."""
    _members[name] = value


def add_table(name, rows):
    """Adds rows of texts, the first of which is the heading, as objects with numbers in one unit
    per column."""
    columns = [column_of([row[c] for row in rows[1:]]) for c in range(len(rows[0]))]
    units = {head: unit for head, (unit, _) in zip(rows[0], columns) if unit}
    records = [dict(zip(rows[0], values)) for values in zip(*(values for _, values in columns))]
    _members.setdefault("tables", []).append({"table": name, "units": units, "rows": records})


def column_of(cells):
    """Returns (unit, values) of a column: numbers, pairs of numbers or texts; None for "-"."""
    read = [quantity(cell) for cell in cells]
    units = {unit for value, unit in read if value is not None}
    if any(value is None and cell not in ("-", "")
           for (value, _), cell in zip(read, cells)) or len(units) != 1:
        return "", [None if cell in ("-", "") else cell for cell in cells]
    return units.pop(), [value for value, _ in read]


def quantity(text):
    """Returns (number or pair of numbers, unit); (None, "") of other texts. Times in seconds."""
    if found := RANGE.fullmatch(text):
        (low, unit), (high, same) = (quantity(part) for part in found.groups())
        return ([low, high], unit) if unit == same else (None, "")
    if not (found := QUANTITY.fullmatch(text)) or re.search(r"\d", found[2]):
        return None, ""
    value = float(found[1]) if re.search(r"[.e]", found[1]) else int(found[1])
    if found[2] in SECONDS:
        return float(f"{value * SECONDS[found[2]]:.6g}"), "s"
    return value, found[2]


def write():
    """Writes the members, if the program asks for them."""
    if path := os.environ.get("TESSERA_ANSWER"):
        with open(path, "w", encoding="utf-8") as file:
            json.dump(_members, file)
