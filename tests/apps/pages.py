"""Parses pages of Markdown: blocks, commands, options and links; compares shown with actual output.

A page shows a shell session in blocks ```console: lines that begin with `$ ` are commands, lines
that begin with `> ` continue the command above, and the lines up to the next command are its
output. In it `...` alone on a line matches any number of lines, and within a line any text. In a
block ```console counted all numbers but times are compared to the digit, as they are counted, not
measured. Files that the reader is to write are blocks ```python and ```toml whose first line is a
comment with their name."""

import collections
import difflib
import os
import re
import shlex

Block = collections.namedtuple("Block", "kind first lines counted")  # first: of its first line
Command = collections.namedtuple("Command", "text number shown counted")  # shown: [(number, line)]

KINDS = ("console", "sh", "python", "toml", "cpp", "c", "fortran", "cmake", "text")
COLUMNS = 100


def blocks(text):
    """Returns the fenced blocks of a page; raises ValueError for an unclosed one."""
    found, inside = [], None
    for number, line in enumerate(text.splitlines(), 1):
        if not line.startswith("```"):
            if inside:
                inside.lines.append(line)
        elif inside:
            found.append(inside)
            inside = None
        else:
            kind, counted, _ = f"{line[3:].strip()} ".partition(" counted ")
            inside = Block(kind.rstrip(), number + 1, [], bool(counted))
    if inside:
        raise ValueError(f"the block that begins in line {inside.first} has no end")
    return found


def outside(text):
    """Returns (number, line) of the lines that are in no block."""
    found, inside = [], False
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith("```"):
            inside = not inside
        elif not inside:
            found.append((number, line))
    return found


def session(block):
    """Returns the commands of a block ```console."""
    found = []
    for number, line in enumerate(block.lines, block.first):
        if line.startswith("$ "):
            found.append(Command(line[2:], number, [], block.counted))
        elif not found:
            raise ValueError(f"line {number}: output of no command")
        elif line.startswith("> ") and not found[-1].shown:
            found[-1] = found[-1]._replace(text=found[-1].text + "\n" + line[2:])
        else:
            found[-1].shown.append((number, line))
    return found


def file_name(block):
    """Returns the name in the first line of a block, `# name.py` or `// main.cpp`, else None."""
    match = re.fullmatch(r"(?:#|//) ([\w.-]+)", block.lines[0]) if block.lines else None
    return match and match[1]


# --- comparing -----------------------------------------------------------------------------------

UNITS = {
    "TIME": r"ns|us|ms|s|min|h",
    "BYTES": r"B|[KMGT]iB|[kKMGT]B",
    "RATE": r"[kKMGT]?i?(?:B|FLOP|keys|points|rows)/s",
    "SHARE": "%",
}
NUMBER = r"(?:\d+(?:\.\d+)?(?:e[-+]?\d+)?)"
MASKS = [
    (r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.\d]*)(?:Z|[-+]\d\d:?\d\d)?", "DATE"),
    (r"(?<![\w.:/])(?:/[\w.+-]+){2,}", "PATH"),
    (r"(?<![\w.])(?:(?=[a-f]*\d)(?=\d*[a-f])[0-9a-f]{7,}|\d{16})\b", "HASH"),
]
MASKS += [(rf"(?<![\w.]){NUMBER} ?(?:{unit})(?![\w/])", name) for name, unit in UNITS.items()]
MASKS += [(r"(?<![\w.])\d+\.\d+(?:e[-+]?\d+)?|(?<![\w.])\d+e[-+]?\d+", "NUMBER")]
MASKS += [(r"([-=])\1+", r"\1"), (r"\s+", " ")]
COUNTS = ("BYTES", "RATE", "SHARE", "NUMBER")  # masks of what a counted block compares


def masked(line, hosts=(), counted=False):
    """Masks what differs between runs: times, rates, bytes, fractions, hashes, absolute paths,
    hosts and column widths; counted: no numbers but times. Returns the line; integers without a
    unit remain."""
    for host in hosts:
        line = re.sub(rf"\b{re.escape(host)}\b", "HOST", line)
    for pattern, name in MASKS:
        if not (counted and name in COUNTS):
            line = re.sub(pattern, name, line)
    return line.strip()


# Headings of measured columns. The unit is in the heading or in each cell.
MEASURED = re.compile(r"(median|\d+ % interval|kernels)(, (s|ms|us|ns))?$|.*/s( in them)?$")


def without_measurements(lines):
    """Returns lines with the measured columns of their tables as 0.0, headings without units, and
    verdicts without numbers, which narrow tables leave out; without the sentence about what limited
    a run, which only those of a second print."""
    lines = [line for line in lines if not line.startswith("limited by ")]
    out, spans = [re.sub(r"\b(passed|FAILED) \([^)]*\)", r"\1", line) for line in lines], []
    for at, line in enumerate(lines):
        if at > 0 and re.fullmatch(r"-+(  (-+|\.\.\.))+", line):
            spans = [match.span() for match in re.finditer(r"-+|\.\.\.", line)]
            spans = [(b, e) for b, e in spans if MEASURED.match(lines[at - 1][b:e].strip())]
            out[at - 1] = re.sub(r"(median|\d+ % interval), (?:s|ms|us|ns)", r"\1", out[at - 1])
        elif spans and "  " not in line:
            spans = []
        else:
            for begin, end in reversed(spans):
                out[at] = out[at][:begin] + " 0.0 " + out[at][end:]
    return out


def difference(shown, got, hosts=(), counted=False):
    """Returns None if the output matches the shown one, else a readable difference; counted: to
    the digit."""
    want = [masked(line, hosts, counted) for line in without_measurements(shown)]
    have = [masked(line, hosts, counted) for line in without_measurements(got)]
    while want and not want[-1]:
        want.pop()
    while have and not have[-1]:
        have.pop()
    if fits(want, have):
        return None
    return "\n".join(difflib.unified_diff(want, have, "shown", "got", lineterm="", n=1))


def fits(want, have):
    """Returns whether lines match the wanted ones, among which `...` matches any number of lines.
    """
    reach = {0}  # numbers of lines of `have` that the lines of `want` so far may match
    for line in want:
        if line == "...":
            reach = set(range(min(reach), len(have) + 1))
        else:
            reach = {at + 1 for at in reach if at < len(have) and matches(line, have[at])}
        if not reach:
            return False
    return len(have) in reach


def matches(want, have):
    """Returns whether a line matches the wanted one, in which `...` matches any text."""
    return (
        re.fullmatch(r"\s?.*\s?".join(re.escape(part.strip()) for part in want.split("...")), have)
        is not None
    )


# Columns of tables that a page may omit, in order of omission.
SPARED = (
    "94 % interval",
    "95 % interval",
    "of ceiling",
    "halo_steps",
    "exchange",
    "slabs",
    "slab_steps",
    "messages",
    "algorithm",
    "type",
    "op",
    "threads",
    "sent at most",
    "grid",
    "ranks",
    "home",
    "received",
)
# Beginnings of lines that a page should omit: times, ceilings, hosts.
UNSTEADY = r"time: |share of the ceiling unknown|  \d{4}-\d\d-\d\dT"


def shortened(lines):
    """Returns output lines as a page shows them: within its columns, the rest as `...`."""
    out, at = [], 0
    while at < len(lines):
        line = lines[at]
        if at + 1 < len(lines) and re.fullmatch(r"-+(  -+)+", lines[at + 1]):
            end = next((e for e in range(at + 2, len(lines)) if "  " not in lines[e]), len(lines))
            out += narrowed(lines[at:end])
            at = end
            continue
        if not re.match(UNSTEADY, line):
            out.append(line if len(line) <= COLUMNS else cut(line))
        elif out[-1:] != ["..."]:
            out.append("...")
        while line.startswith("time: ") and lines[at].endswith(",") and at + 1 < len(lines):
            at += 1  # the phases take several lines
        at += 1
    return out


def refreshed(shown, got, hosts=(), counted=False):
    """Returns new output in the form of previously shown output: the lines that resemble those, and
    the same `...`; the whole output if that does not match it."""
    new, out, at = shortened(got), [], 0
    for line in shown:
        if line.strip() == "...":
            out += [] if out[-1:] == ["..."] else ["..."]
            continue
        same = [matches(masked(line, hosts, counted), masked(other, hosts, counted))
                for other in new[at:]]
        likeness = [difflib.SequenceMatcher(None, line, other).ratio() for other in new[at:]]
        best = max(range(len(likeness)), key=likeness.__getitem__, default=None)
        if any(same):
            out.append(line)
            at += same.index(True) + 1
        elif best is not None and likeness[best] >= 0.6:
            out.append(new[at + best])
            at += best + 1
    return out if difference(out, got, hosts, counted) is None else new


def cut(line):
    """Returns the first words of a line, without a trailing number that lost its unit."""
    return re.sub(r"(?: [-+\d.]+)+$", "", line[: COLUMNS - 4].rsplit(" ", 1)[0]) + " ..."


def narrowed(table):
    """Returns a table without omitted columns, so that it fits a page."""
    spans = [match.span() for match in re.finditer("-+", table[1])]
    spans[-1] = (spans[-1][0], None)
    keep = [True] * len(spans)
    names = [table[0][begin:end].strip() for begin, end in spans]
    order = [names.index(name) for name in SPARED if name in names]
    for column in order + list(reversed(range(len(spans)))):
        if max(map(len, (parts := [row_of(row, spans, keep) for row in table]))) <= COLUMNS:
            return parts
        keep[column] = False
    return table


def row_of(row, spans, keep):
    """Returns the kept columns of a row, `...` for each sequence of omitted ones."""
    cells = []
    for (begin, end), kept in zip(spans, keep):
        if kept:
            cells.append(row[begin:end])
        elif cells[-1:] != ["..."]:
            cells.append("...")
    return "  ".join(cells).rstrip()


# --- options -------------------------------------------------------------------------------------


def invocations(block):
    """Returns (number, words) of every call of tessera in a block, from its sub-command on."""
    found, text, first = [], "", 0
    for number, line in enumerate(block.lines, block.first):
        first = first if text else number
        text += line
        if text.endswith("\\"):
            text = text[:-1]
            continue
        found += [(first, words) for words in calls(text)]
        text = ""
    return found


def calls(line):
    """Returns the words after every `tessera` of a command line, up to the end of its command."""
    try:
        lexer = shlex.shlex(line, posix=True, punctuation_chars=True)
        lexer.whitespace_split = True
        words = list(lexer)
    except ValueError:  # a quotation that continues on the next line
        words = line.split()
    if words[:1] == ["sbatch"]:
        return batch_call(words)
    found, at = [], 0
    for at, word in enumerate(words):
        if word == "tessera" or word.endswith("/bin/tessera"):
            end = next(
                (e for e in range(at + 1, len(words)) if set(words[e]) <= set("|&;<>()")),
                len(words),
            )
            found.append(words[at + 1 : end])
    return found


def batch_call(words):
    """Returns the arguments that a batch script of jobs/slurm passes to tessera: the options after
    the script."""
    script = next((at for at, word in enumerate(words) if word.endswith(".sbatch")), None)
    if script is None:
        return []
    name = os.path.basename(words[script])[: -len(".sbatch")].removesuffix("_gpu")
    rest = [word for word in words[script + 1 :] if not word.isdigit()]
    workload = (
        name if name in ("matmul", "transpose", "stencil", "sort") else rest[0] if rest else None
    )
    return [[workload] + [word for word in rest if word.startswith("--")]] if workload else []


def inline_options(text):
    """Returns (number, option, code) of every option in the code of the prose, `--halo-steps 4`."""
    found = []
    for number, line in outside(text):
        for code in re.findall(r"`([^`]+)`", line):
            found += [
                (number, option, code) for option in re.findall(r"(?<![\w-])--[a-z][\w-]*", code)
            ]
    return found


# --- links ---------------------------------------------------------------------------------------


def links(text):
    """Returns (number, target) of every link and picture of a page."""
    found = []
    for number, line in outside(text):
        plain = (
            re.sub(r"`[^`]*`", "", line)
            if "](" not in line
            else re.sub(r"`[^`]*`(?![^\[]*\])", "", line)
        )
        found += [(number, target) for target in re.findall(r"\]\(([^()\s]+)\)", plain)]
        found += [(number, target) for target in re.findall(r"^\[[^\]]+\]: (\S+)$", line)]
    return found


def anchors(text):
    """Returns a page's anchors, which GitHub derives from the headings."""
    found = collections.Counter()
    names = set()
    for _, line in outside(text):
        match = re.match(r"#{1,6}\s+(.*?)\s*$", line)
        if match:
            words = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", match[1]).lower()
            name = re.sub(r"[^\w\- ]", "", words).replace(" ", "-")
            names.add(name + (f"-{found[name]}" if found[name] else ""))
            found[name] += 1
    return names


def broken(page, root):
    """Returns errors in the links of a page: missing files and anchors."""
    wrong = []
    with open(page) as file:
        text = file.read()
    for number, target in links(text):
        if re.match(r"[a-z]+:", target):
            continue
        path, _, anchor = target.partition("#")
        where = os.path.normpath(os.path.join(os.path.dirname(page), path)) if path else page
        if not os.path.exists(where) or not (where + os.sep).startswith(root + os.sep):
            wrong.append(f"{page}:{number}: no file {target}")
        elif anchor:
            with open(where) as file:
                if anchor not in anchors(file.read()):
                    wrong.append(f"{page}:{number}: no heading {target}")
    return wrong
