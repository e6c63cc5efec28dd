"""Checks the messages of the program: `WHAT (WHERE): WHY; try HOW`.

    python3 tests/messages.py [PATHS]    checks the C++ sources below PATHS (default: src, apps)
    python3 tests/messages.py --list [PATHS]    prints the catalogue: place, kind and text
    python3 tests/messages.py --selftest        checks that planted messages are found

Prints `file:line: reason: message` and a count; exits with 1 on a finding. Kinds: `error`, the text
of a whole message (Error, require and what leads to them; warnings and notes on stderr); `print`,
what goes to standard output; `part`, other text of several words: parts of messages, reasons, help.
All are checked for phrases, errors also for their form. A value is written {}.
"""
import os
import re
import sys
import tempfile
from itertools import product

import words

LENGTH, VALUE = 160, 12  # most characters before the hint; those that a value counts as
COMBINATIONS = 32        # of the branches of one message that are checked
CODE = (".cpp", ".hpp", ".cu", ".cuh")
# The last argument of these is a message.
THROWERS = ("Error", "AgreedError", "require", "usage", "refuse_if", "fail", "die", "print_error",
            "print_note", "note", "h5_check", "h5_check_rc", "close_written")
OF_ARGUMENT = ("require_argument", "of_argument")  # an argument, its name, comes before the text
IGNORED = {"asm", "volatile", "static_assert"}  # literals in these are not shown to users

# phrase -> what to write in its place; those of comments are forbidden here as well
PHRASES = {
    **words.PHRASES,
    r"(is|are) (none|nothing|nobody)": "is empty, is missing, no row matches",
    r"(is|are) no(?! longer| more| less)": "is not a",
    r"(?<!-)(says?|said|saying|tells?|telling|told)": "names, reports, sets, states; receives",
    r"(?<!-)(stands?|stood)(?!-)": "is, is listed in",
    r"(lies|lay)": "is, is stored in",
    r"there (is|are) no(ne|thing)?(?! space)": "name what is missing",
    r"no such": "does not exist",
    r"meant": "planned, intended",
    r"nothing": "no file, no row, no output: name it",
    r"(has|have) no place": "conflicts with, is not allowed",
    r"takes? no": "does not accept",
    r"knows?": "supports, has",
    r"go(es)? (the same way|with|together|to|through|behind|beyond|there)":
        "are advanced together, requires, applies to, is written to",
    r"comes?(?! from)|came": "occurs, arrives, is read from",
    r"(is|are) to": "must be, must",
    r"(is|are) (that|those) of": "name the thing",
    r"(is|are) not there": "does not exist, is missing",
    r"too few": "at least N are needed; insufficient",
    r"for good": "permanently",
    r"cures?": "fix, suggestion",
    r"wants?": "needs, requires",
    r"as a rule": "usually",
    r"killed\?": "to resume, rerun the same command",
}
FORBIDDEN = re.compile("|".join(rf"\b(?:{phrase})(?!\w|\()" for phrase in PHRASES), re.IGNORECASE)

# A message does not begin with these: prepositions, pronouns, conjunctions, adverbs, participles.
OPENERS = set("""
    about above across after against along among around as at before behind below beneath beside
    besides between beyond but by despite down during except for from in inside into like near of
    off on onto outside over per since through to toward towards under until up upon via with within
    without
    what whatever which whichever who whoever whom whose where wherever when whenever while why how
    that this these those there here it its he she they them their we us our you your i one ones
    itself themselves such same other others another both each either neither every everything all
    any anything anyone anybody some something someone somebody nothing none nobody no not never
    nowhere only just even so too also then thus hence and or nor yet if unless because though
    although whether than cannot can could may might must shall should will would do does did is are
    was were be been being has have had let
    again already always almost now still soon perhaps maybe
    asked begun bound broken brought built called came chosen cut done drawn found given gone held
    hidden kept known laid left lost made meant met said seen sent shown shut sold
    taken thought told tried used went wrong wrote written""".split())
ALLOWED = re.compile(r"(all ranks|all dimensions|out of (memory|core)|read-only|set-assoc)\b")
# A verb in the present tense and a noun end so as well:
PARTICIPLE = re.compile(r"[a-z]{3,}(?<![aeo]e)ed$")
NOUNS_IN_ED = set("need speed seed feed unlimited unsupported undefined unexpected shared".split())
VERBS = set("""
    add align allow append ask bind build call change check choose close compare compute
    configure continue convert copy count cover create decrease define delete diagnose disable
    divide drop enable end enlarge export filter fix free generate give increase inspect install
    join keep leave let limit list load look lower make mark measure merge mount move name omit
    open order pad pass pick place plan point port print provide put quote raise read rebuild
    recompute recreate redirect reduce reinstall remove rename repack repair repeat replace
    report request rerun resample reserve reshape restart restore resume retry rewrite round run
    save see select send separate set shorten shrink slice sort specify split start state stop
    store submit subtract swap switch take transpose try turn uncompress undo unpack unset
    update upgrade use verify wait widen work write don't""".split())
HINT = re.compile(
    r"(do not |did you mean |-{1,2}[A-Za-z]|[A-Z][A-Z_]+=|tessera |ulimit |apt-get |mpirun )")

TOKEN = re.compile(r'''
    (?P<comment>//[^\n]*|/\*(?:.|\n)*?\*/)
  | (?P<directive>^[ \t]*\#[ \t]*(?:include|pragma|error)[^\n]*)
  | (?P<raw>R"(?P<fence>[^()\s]*)\((?P<inside>(?:.|\n)*?)\)(?P=fence)")
  | (?P<string>(?:u8|[uUL])?"(?:\\.|[^"\\\n])*")
  | (?P<char>'(?:\\.|[^'\\\n])+')
  | (?P<number>\d[\w.']*)
  | (?P<name>[A-Za-z_]\w*(?:::~?[A-Za-z_]\w*)*)
  | (?P<sign>\S)''', re.MULTILINE | re.VERBOSE)
OPEN, CLOSE = "([{", ")]}"


def is_prose(text):
    """Returns whether a literal has several words, values being {}."""
    return bool(re.search(r"[a-z]{2}", text) and re.search(r"[a-z}'] [\w{'(-]", text))


class Token:
    """A token of C++: kind as in TOKEN, text (of a literal: what it stands for), line; for an
    opening bracket also the index of the closing one."""

    def __init__(self, kind, text, line):
        self.kind, self.text, self.line = kind, text, line
        self.end, self.used = None, False


def unescaped(literal):
    """Returns the value of a string literal."""
    body = literal[literal.index('"') + 1:-1]
    body = re.sub(r"\\r|\\033\[\w*", "", body)
    return re.sub(r"\\(.)", lambda m: {"n": "\n", "t": "\t"}.get(m.group(1), m.group(1)), body)


def tokens_of(text):
    """Returns the tokens of a source, brackets matched, comments dropped."""
    tokens, opened, line, at = [], [], 1, 0
    for found in TOKEN.finditer(text):
        line, at = line + text.count("\n", at, found.start()), found.start()
        kind = "raw" if found.group("raw") else found.lastgroup
        if kind in ("comment", "directive"):
            continue
        value = found.group()
        if kind == "raw":
            kind, value = "string", found.group("inside")
        elif kind == "string":
            value = unescaped(value)
        tokens.append(Token(kind, value, line))
        if kind == "sign" and value in OPEN:
            opened.append(len(tokens) - 1)
        elif kind == "sign" and value in CLOSE and opened:
            tokens[opened.pop()].end = len(tokens) - 1
    return tokens


class Source:
    """The messages of one C++ source."""

    def __init__(self, path, text):
        self.path, self.tokens = path, tokens_of(text)

    def top_level(self, begin, end):
        """Yields the indices of [begin, end) that are in no brackets of their own."""
        at = begin
        while at < end:
            yield at
            at = self.tokens[at].end or at
            at += 1

    def split(self, begin, end, sign):
        """Returns the ranges between top-level `sign`s."""
        cuts = [at for at in self.top_level(begin, end) if self.is_sign(at, sign)]
        return list(zip([begin] + [cut + 1 for cut in cuts], cuts + [end]))

    def is_sign(self, at, sign):
        return self.tokens[at].kind == "sign" and self.tokens[at].text == sign

    def call(self, begin, end):
        """Returns name and argument ranges if [begin, end) is NAME(...) or NAME{...}."""
        if end - begin < 3 or self.tokens[begin].kind != "name" or \
                self.tokens[begin + 1].text not in "({" or self.tokens[begin + 1].end != end - 1:
            return None, []
        return self.tokens[begin].text, self.split(begin + 2, end - 1, ",")

    def texts(self, begin, end):
        """Returns the alternatives of an expression's value, {} for what is computed."""
        tokens = self.tokens
        if begin >= end:
            return [""]
        marks = [at for at in self.top_level(begin, end) if self.is_sign(at, "?")]
        if marks:
            depth = 0
            for at in self.top_level(marks[0] + 1, end):
                depth += self.is_sign(at, "?") - self.is_sign(at, ":")
                if depth < 0:
                    return self.texts(marks[0] + 1, at) + self.texts(at + 1, end)
            return ["{}"]
        terms = self.split(begin, end, "+")
        if len(terms) > 1:
            choices = [self.texts(*term) for term in terms]
            return ["".join(one) for one, _ in zip(product(*choices), range(COMBINATIONS))]
        if all(token.kind == "string" for token in tokens[begin:end]):
            for token in tokens[begin:end]:
                token.used = True
            return ["".join(token.text for token in tokens[begin:end])]
        if tokens[begin].text == "(" and tokens[begin].end == end - 1:
            return self.texts(begin + 1, end - 1)
        name, arguments = self.call(begin, end)
        if name == "fmt::format":
            return [re.sub(r"\{[^{}]*\}", "{}", text).replace("{{", "{").replace("}}", "}")
                    for text in self.texts(*arguments[0])]
        if name == "std::string" and len(arguments) == 1:
            return self.texts(*arguments[0])
        return ["{}"]

    def errors(self):
        """Yields (line, text) of messages."""
        for at, token in enumerate(self.tokens[:-1]):
            opened = self.tokens[at + 1]
            if token.kind != "name" or opened.end is None or opened.text not in "({":
                continue
            arguments = self.split(at + 2, opened.end, ",")
            name = token.text.rsplit("::", 1)[-1]
            if token.text == "fmt::print" and self.tokens[at + 2].text == "stderr":
                begin, end = arguments[1]
                line = re.sub(r"\{[^{}]*\}", "{}", self.texts(begin, end)[0])
                yield self.tokens[begin].line, line
            elif name in (*THROWERS, *OF_ARGUMENT) and any(
                    one.kind == "string" for one in self.tokens[at + 2:opened.end]):
                begin, end = arguments[-1]
                first = next((one.line for one in self.tokens[begin:end] if one.kind == "string"),
                             token.line)
                for text in dict.fromkeys(self.texts(begin, end)):
                    if text != "{}":
                        yield first, "x " + text if name in OF_ARGUMENT else text

    def others(self):
        """Yields (line, kind, text) of further literals of several words."""
        calls, at = [], 0
        while at < len(self.tokens):
            token = self.tokens[at]
            while calls and calls[-1][0] < at:
                calls.pop()
            if token.end is not None:
                is_call = at > 0 and self.tokens[at - 1].kind == "name"
                calls.append((token.end, self.tokens[at - 1].text if is_call else ""))
            joined = at
            while joined < len(self.tokens) and self.tokens[joined].kind == "string":
                joined += 1
            run = self.tokens[at:joined]
            text = re.sub(r"\{[^{}]*\}", "{}", "".join(one.text for one in run))
            names = {name for _, name in calls}
            if is_prose(text) and not any(one.used for one in run) and not names & IGNORED:
                yield token.line, "print" if "fmt::print" in names else "part", text
            at = max(joined, at + 1)

    def messages(self):
        """Returns (line, kind, text) in the order of lines."""
        errors = [(line, "error", text) for line, text in self.errors()]
        return sorted(errors + list(self.others()), key=lambda one: one[0])


def wrong_opener(text):
    """Returns why the text does not begin with a noun, a name, a value or a verb; or None."""
    first = re.split(r"[\s;,(]", text, maxsplit=1)[0]  # `to: ...` names a parameter
    if not first:
        return "begins with a sign" if text[:1] not in ("", "\n") else None
    if ALLOWED.match(text) or not re.fullmatch(r"[A-Za-z]?[a-z']*", first):
        return None
    word = first.lower()
    if word in OPENERS or (PARTICIPLE.match(word) and word not in NOUNS_IN_ED):
        return f"begins with '{first}'"
    return None


def reasons(kind, text):
    """Returns what is wrong with a message."""
    found = [f"'{hit.group()}'" for hit in FORBIDDEN.finditer(re.sub(r"`[^`]*`", "", text))]
    if kind != "error":
        return found
    what, *hints = re.sub(r"^tessera: (error|warning|note): ", "", text.strip()).split("; ")
    length = len(what.replace("{}", "x" * VALUE))
    if length > LENGTH:
        found.append(f"{length} characters before the hint")
    opener = wrong_opener(what)
    if opener:
        found.append(opener)
    for hint in hints[:1]:
        verb = re.match(r"(?:please )?([A-Za-z']*)", hint).group(1)
        if verb.lower() not in VERBS and not HINT.match(hint) and not hint.startswith("{"):
            found.append("hint without an imperative")
    return found


def sources(root, paths):
    """Returns the C++ sources below the paths, relative to root."""
    tops = [os.path.relpath(os.path.abspath(path), root) for path in paths] or ["src", "apps"]
    return [path for path in words.files_of(root) if path.endswith(CODE)
            and any(path == top or path.startswith(top + "/") for top in tops)]


def catalogue(root, paths=()):
    """Yields (file, line, kind, text) of every message."""
    for path in sources(root, paths):
        with open(os.path.join(root, path), encoding="utf-8") as file:
            for line, kind, text in Source(path, file.read()).messages():
                yield path, line, kind, text


def shown(text):
    """Returns a text on one line."""
    return text.strip("\n").replace("\n", "\\n")


def check(root, paths):
    """Prints every finding; returns their number."""
    count = findings = 0
    for path, line, kind, text in catalogue(root, paths):
        count += 1
        for reason in reasons(kind, text):
            findings += 1
            print(f"{path}:{line}: {reason}: {shown(text)}")
    print(f"{findings} findings in {count} messages")
    return findings


def list_all(root, paths):
    """Prints the catalogue."""
    kinds = {}
    for path, line, kind, text in catalogue(root, paths):
        kinds[kind] = kinds.get(kind, 0) + 1
        print(f"{path}:{line}: {kind}: {shown(text)}")
    print(", ".join(f"{number} {kind}" for kind, number in sorted(kinds.items())))


PLANTED = {  # code -> what is found
    'throw Error(ExitCode::usage, "what is asked is wrong");': "begins with 'what'",
    'require(a, code, "cannot read \'x\'");': "begins with 'cannot'",
    'require(a < f(b, c), code, fmt::format("there is {} x", f(1, 2)));': "begins with 'there'",
    'usage("of memory " "too much");': "begins with 'of'",
    'throw mpi::AgreedError(code, "stopped by a signal");': "begins with 'stopped'",
    'refuse_if(a, x ? "file is empty" : "no file");': "begins with 'no'",
    'h5_check(a, code, ("nobody has " + name));': "begins with 'nobody', 'nobody'",
    'throw Error(code, "n is 3; must be 2");': "hint without an imperative",
    'throw Error(code, "rows are to be there");': "'are to'",
    'throw Error(code, need + (fit ? "; would fit" : "; use more"));':
        "hint without an imperative",
    'throw Error(code, "n is 3; perhaps try 2");': "hint without an imperative",
    'throw Error(code, name + ": is told twice");': "'is told'",
    'throw Error(code, "x is none to sort by");': "'is none'",
    'require_argument(a, "b", "is told twice");': "'is told'",
    'const char* s() { return "the key says b"; }': "'says'",
    'fmt::print("{} has no place here", f("only so many"));': "'has no place', 'so many'",
    'fmt::print(stderr, "with effect\\n");': "begins with 'with'",
    'throw Error(code, "a" ' + f'"{"b" * LENGTH}");': f"{LENGTH + 1} characters before the hint",
    'throw Error(code, fmt::format("' + "{:.3g}" * 14 + '", a));':
        f"{14 * VALUE} characters before the hint",
}
FINE = (
    'require_argument(a, "b", "is empty: a sort needs at least one key column");',
    'throw Error(code, "columns is empty: a sort needs at least one key column");',
    'throw Error(code, "q: 1.5 is not in [0, 1]; use a value below 1");',
    'throw Error(code, fmt::format("\'{}\' cannot be read: {}", a, b));',
    'throw Error(code, "out of memory; use more ranks"); // what nobody is told',
    'throw Error(code, "--type pair is for sort; --type f64 or i64");',
    '#include "so many"\n/* "beside it" */ int c = \'"\'; f("beside");',
    'asm volatile("mov so many");', 'require(known, code, message);',
    'throw Error(code, "a" ' + f'"{"b" * (LENGTH - 1)}; try {"c" * LENGTH}");',
)


def selftest():
    """Plants messages of every kind of fault; returns 1 unless exactly these are found."""
    wrong = []
    for code, expected in list(PLANTED.items()) + [(one, "") for one in FINE]:
        found = [reason for _, kind, text in Source("a.cpp", code).messages()
                 for reason in reasons(kind, text)]
        if sorted(found) != sorted(filter(None, expected.split(", "))):
            wrong.append(f"{code}: {found}, not {expected or 'none'}")
    lines = [line for line, _, _ in Source("a.cpp", 'f();\n\nusage(\n  "x is y");\n').messages()]
    if lines != [4]:
        wrong.append(f"lines {lines}, not [4]")
    with tempfile.TemporaryDirectory() as root:
        os.makedirs(os.path.join(root, "src"))
        with open(os.path.join(root, "src", "a.cu"), "w", encoding="utf-8") as file:
            file.write('usage("of it");')
        if len(list(catalogue(root))) != 1 or list(catalogue(root, [os.path.join(root, "apps")])):
            wrong.append("files below the paths")
    print("\n".join(wrong) or f"{len(PLANTED)} planted messages are found")
    return bool(wrong)


if __name__ == "__main__":
    ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    if sys.argv[1:] == ["--selftest"]:
        sys.exit(selftest())
    if sys.argv[1:2] == ["--list"]:
        sys.exit(list_all(ROOT, sys.argv[2:]))
    sys.exit(check(ROOT, sys.argv[1:]) > 0)
