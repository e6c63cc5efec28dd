"""Checks the words of comments, docstrings and Markdown pages: standard terms instead of the
phrases below, and at most 100 columns. Checks the subjects of commits: `area: Verb ...`.

    python3 tests/words.py [ROOT]        checks the sources of a checkout; exits with 1 on a finding
    python3 tests/words.py --selftest    checks that a planted phrase and a long line are found
"""
import ast
import os
import re
import subprocess
import sys
import tempfile
import tokenize

COLUMNS = 100
# phrase -> what to write in its place
PHRASES = {
    r"so many": "the number itself: `count` rows, the first N rows",
    r"beside": "next to, in addition to, besides",
    r"meanwhile": "concurrently, during",
    r"stands? in": "is substituted for, is listed in",
    r"what stands": "the value, the content",
    r"(is|are) told": "receives, is given, takes",
    r"told apart": "distinguished",
    r"the one that": "name the thing",
    r"nobody": "no process, no caller; not verified",
    r"somebody": "another process, a caller",
    r"of its own(?=$|[.,;:)])": "own, separate, private",
    r"goes? on": "continues",
    r"(?<!there )is no (number|grid|value|file)": "is not a (number, grid, value, file)",
    r"knows no memory": "ignores memory effects",
    r"do(es)? nothing twice": "is idempotent",
    r"wander": "be noisy",
    r"and its like": "and similar",
    r"the very(?! first| last)": "the same, the production",
}
FORBIDDEN = re.compile("|".join(rf"\b(?:{phrase})(?!\w|\()" for phrase in PHRASES), re.IGNORECASE)

# The subjects of commits after this one are checked, where git has it.
BASE = "67db3e6d94dcd7af703497b166f894aba920018d"
SUBJECT = 72
AREA = r"[a-z0-9_.][\w./-]*(?:, [\w./-]+)*: "
# A capitalized word that is no imperative: an article or pronoun, third person, participle.
NO_VERB = re.compile(r"(A|An|The|This|That|These|Those|It|We|I|No|Not|All|Each|Every|Any|Some|What|"
                     r"Where|When|While|For|From|With|Without|In|On|Of|At|By|To|New|More|Only|"
                     r"Now|Better|Fewer|[A-Z][a-z]*(?:ing|(?<!e)ed|[^aius]s))$")
VERBS_LIKE_THEM = ("Bring", "Embed", "Ping", "Shed", "String")

FOLDERS = ("src", "apps", "tests", "jobs", "configs", "cmake", ".ci")
TEXTS = ("README.md", "src/README.md", "apps/manual/")
CODE = {".cpp": "c", ".hpp": "c", ".cu": "c", ".cuh": "c", ".c": "c", ".py": "py", ".sh": "hash",
        ".toml": "hash", ".cmake": "hash"}


def files_of(root):
    """Returns the paths, relative to the root, of the checkout's files."""
    found = subprocess.run(["git", "-C", root, "ls-files"], capture_output=True, text=True)
    if found.returncode == 0:
        return found.stdout.split("\n")[:-1]
    return sorted(os.path.relpath(os.path.join(folder, name), root)
                  for top in FOLDERS for folder, _, names in os.walk(os.path.join(root, top))
                  for name in names) + ["README.md"]


def kind_of(path):
    """Returns how comments of the file are found: c, py, hash, text; or None."""
    if path.endswith(".md"):
        return "text" if path.startswith(TEXTS) else None
    if not path.startswith(FOLDERS) or path in ("tests/words.py", "tests/messages.py"):
        return None
    if os.path.basename(path) == "CMakeLists.txt":
        return "hash"
    return CODE.get(os.path.splitext(path)[1])


def c_comments(text):
    """Yields (line, comment) of C++ sources; string literals are skipped."""
    literal = r'R"\((?:.|\n)*?\)"|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])\''
    for found in re.finditer(rf"{literal}|//[^\n]*|/\*(?:.|\n)*?\*/", text):
        if found.group().startswith("/"):
            first = text.count("\n", 0, found.start()) + 1
            yield from enumerate(found.group().split("\n"), first)


def python_comments(path, text):
    """Yields (line, comment or line of a docstring) of Python sources."""
    with open(path, "rb") as file:
        for token in tokenize.tokenize(file.readline):
            if token.type == tokenize.COMMENT:
                yield token.start[0], token.string
    for node in ast.walk(ast.parse(text)):
        of_kind = isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef))
        if of_kind and ast.get_docstring(node):
            yield from enumerate(node.body[0].value.value.split("\n"), node.body[0].lineno)


def hash_comments(text):
    """Yields (line, comment) where # begins one: shell, TOML, CMake."""
    for number, line in enumerate(text.split("\n"), 1):
        found = re.match(r"(?:[^\"'#]|\"[^\"]*\"|'[^']*')*?(?:^|\s)(#.*)", line)
        if found:
            yield number, found.group(1)


def prose(text):
    """Yields (line, text) of a Markdown page, blocks of code apart."""
    inside = False
    for number, line in enumerate(text.split("\n"), 1):
        if line.startswith("```"):
            inside = not inside
        elif not inside:
            yield number, line


def findings_of(root, path):
    """Returns what is wrong with a file: phrases and long lines, with their places."""
    kind, full = kind_of(path), os.path.join(root, path)
    if kind is None:
        return []
    with open(full, encoding="utf-8") as file:
        text = file.read()
    spoken = {"c": c_comments, "hash": hash_comments, "text": prose}
    lines = python_comments(full, text) if kind == "py" else spoken[kind](text)
    found = [f"{path}:{number}: '{hit.group()}': {line.strip()}"
             for number, line in lines
             for hit in FORBIDDEN.finditer(re.sub(r"`[^`]*`", "", line))]  # names of the code
    found += [f"{path}:{number}: {len(line)} columns"
              for number, line in enumerate(text.split("\n"), 1) if len(line) > COLUMNS]
    return found


def wrong_subject(subject):
    """Returns what is wrong with the subject of a commit; or None."""
    if len(subject) > SUBJECT:
        return f"{len(subject)} characters"
    form = re.match(rf"{AREA}([A-Z][a-z]+)\b", subject)
    if not form:
        return "not of the form 'area: Verb ...'"
    if NO_VERB.match(form.group(1)) and form.group(1) not in VERBS_LIKE_THEM:
        return f"'{form.group(1)}' is not an imperative"
    return None


def wrong_subjects(root, base=BASE):
    """Returns what is wrong with commits since `base`; prints a note where git cannot tell."""
    listed = subprocess.run(["git", "-C", root, "log", "--no-merges", "--format=%h %s",
                             f"{base}..HEAD"], capture_output=True, text=True)
    if listed.returncode != 0:
        print(f"subjects of commits not checked: no git history that holds {base[:7]}")
        return []
    commits = [line.split(" ", 1) for line in listed.stdout.split("\n")[:-1]]
    return [f"commit {number}: {wrong_subject(subject)}: {subject}"
            for number, subject in commits if wrong_subject(subject)]


def check(root):
    """Prints every finding; returns their number."""
    found = [one for path in files_of(root) for one in findings_of(root, path)]
    found += wrong_subjects(root)
    for one in found:
        print(one)
    print(f"{len(found)} findings")
    return len(found)


def selftest():
    """Plants each phrase and a long line, one file per kind; returns 1 unless all are found."""
    planted = {"src/a.cpp": "int a;  // {}\n", "src/b.py": '"""{}"""\n', "jobs/c.sh": "x=1 # {}\n",
               "configs/d.toml": "# {}\n", "apps/manual/e.md": "{}\n"}
    examples = ("only so many rows", "beside it", "Meanwhile", "stands in", "what stands there",
                "it is told", "told apart", "the one that", "nobody looked", "somebody", "goes on",
                "a thread of its own", "is no number", "knows no memory", "and its like",
                "does nothing twice", "timings will wander", "the very kernels")
    missed = []
    with tempfile.TemporaryDirectory() as root:
        for path, frame in planted.items():
            os.makedirs(os.path.dirname(os.path.join(root, path)), exist_ok=True)
            for words in examples:
                with open(os.path.join(root, path), "w", encoding="utf-8") as file:
                    file.write(frame.format(words))
                if len(findings_of(root, path)) != 1:
                    missed.append(f"{path}: {words}")
            with open(os.path.join(root, path), "w", encoding="utf-8") as file:
                file.write(frame.format("besides, the number of rows"))
            missed += findings_of(root, path)
        with open(os.path.join(root, "src/a.cpp"), "w", encoding="utf-8") as file:
            file.write('const char* s = "so many";' + " " * 80 + "\n")
        if len(findings_of(root, "src/a.cpp")) != 1:
            missed.append("a long line, or a literal taken for a comment")
    for subject in ("sort: Counts buckets", "sort: Counting buckets", "sort: counted", "Count",
                    "sort: The buckets", "Sort: Count buckets", "sort: Count " + "b" * SUBJECT,
                    "sort Count buckets", "sort: Changed buckets"):
        if not wrong_subject(subject):
            missed.append(f"subject {subject}")
    for subject in ("sort: Count buckets before writing", "tests/apps, io: Pass options",
                    "io: Process blocks", "run: Need less", "src/README.md: Bring figures"):
        if wrong_subject(subject):
            missed.append(f"subject {subject}: {wrong_subject(subject)}")
    if wrong_subjects(root="/", base="nothing"):
        missed.append("subjects without a history")
    print("\n".join(missed) or "every planted phrase is found")
    return bool(missed)


if __name__ == "__main__":
    if sys.argv[1:] == ["--selftest"]:
        sys.exit(selftest())
    sys.exit(check(sys.argv[1] if len(sys.argv) > 1 else ".") > 0)
