"""The report as one self-contained HTML page."""
import html
import re

STYLE = """
:root { color-scheme: light dark; --paper: #fff; --ink: #1a1a1a; --quiet: #555; --grid: #ddd;
  --stripe: #f4f6f8; --link: #005a8f; --wrong: #a02000; }
@media (prefers-color-scheme: dark) { :root { --paper: #15181c; --ink: #e6e6e6; --quiet: #a8b0b8;
  --grid: #3a4048; --stripe: #1d2227; --link: #7cc4f0; --wrong: #ff9277; } }
body { font: 15px/1.45 system-ui, sans-serif; color: var(--ink); background: var(--paper);
  margin: 0 auto; max-width: 1120px; padding: 1rem; overflow-wrap: break-word; }
h1 { font-size: 1.6rem; margin: .2rem 0; }
h2 { margin: 2.2rem 0 .4rem; border-bottom: 2px solid #0072B2; }
h3 { margin: 1.4rem 0 .3rem; } p { margin: .3rem 0; } .quiet { color: var(--quiet); }
nav a { margin-right: 1rem; display: inline-block; max-width: 100%; } a { color: var(--link); }
.pictures { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(100%, 480px), 1fr));
  gap: 1.2rem; align-items: start; }
figure { margin: 0; min-width: 0; }
figure svg { display: block; width: 100%; height: auto; color: var(--ink); fill: var(--ink); }
figure svg * { stroke-linejoin: round; stroke-linecap: butt; }
figcaption { font-size: .85rem; color: var(--quiet); }
.wide, .drawing { overflow-x: auto; max-width: 100%; }
table { border-collapse: collapse; font-size: .85rem; margin: .4rem 0;
  font-variant-numeric: tabular-nums; }
th, td { padding: .15rem .6rem; text-align: left; white-space: nowrap; }
th { border-bottom: 1.5px solid var(--ink); }
td, th { background: var(--paper); }
tbody tr:nth-child(even) td { background: var(--stripe); }
th:first-child, td:first-child { position: sticky; left: 0; } wbr { display: none; }
@media (max-width: 600px) {
  body { padding: .5rem; }
  th:first-child, td:first-child { white-space: normal; max-width: 40vw; }
  td:first-child:not(.number) { min-width: 5.5rem; } td:first-child wbr { display: inline; }
}
td.number, th.number { text-align: right; } .wrong { color: var(--wrong); font-weight: bold; }
summary { cursor: pointer; margin: .4rem 0; } code { font-size: .95em; }
@page { margin: 12mm; }
@media print {
  :root { color-scheme: light; --paper: #fff; --ink: #000; --quiet: #444; --grid: #ccc;
    --stripe: #f4f6f8; --link: #000; --wrong: #a02000; }
  body { max-width: none; padding: 0; font-size: 10pt; } nav { display: none; }
  .pictures { grid-template-columns: 1fr 1fr; } figure, tr { break-inside: avoid; }
  h2, h3, summary { break-after: avoid; } thead { display: table-header-group; }
  h1 { font-size: 15pt; } h2 { font-size: 12pt; margin-top: 12pt; } p, summary { font-size: 9pt; }
  figcaption { font-size: 7.5pt; line-height: 1.3; }
  .wide, .drawing { overflow: visible; } figure svg { min-width: 0 !important; }
  table { font-size: 7pt; width: 100%; } wbr { display: inline; }
  th, td { white-space: normal; padding: .1rem .25rem; } .long { overflow-wrap: anywhere; }
  th:first-child, td:first-child { position: static; min-width: 0; max-width: none; }
  details::details-content { content-visibility: visible; block-size: auto; }
}
"""
MOST_ROWS_OPEN = 24
LONGEST_WORD = 30
NUMBER = re.compile(r"-?\d[\d.x]*(?:e[+-]?\d+)?(?: |$)")  # 1.5 ms, 64x64; no date, no version
UNIT = re.compile(r"(\d) (?=(?:[num]?s|%|[KMGT]?i?B)(?:\W|$))")


def escape(value):
    return html.escape(str(value))


def is_number(text):
    return text in ("-", "") or bool(NUMBER.match(text))


def prose(text):
    """Returns text in HTML, `commands` as code."""
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", escape(text))


def cell(tag, text, right):
    """Returns a cell of a table; right: a number. Names may break after an underscore and long
    words anywhere, on paper; a number does not part from its unit."""
    names = ["number"] if right else []
    names += ["wrong"] if text.startswith("FAILED") else []
    names += ["long"] if max(map(len, text.split()), default=0) > LONGEST_WORD else []
    kind = f' class="{" ".join(names)}"' if names else ""
    words = UNIT.sub("\\1&nbsp;", escape(text)).replace("_", "_<wbr>")
    return f"<{tag}{kind}>{words}</{tag}>"


def table(rows):
    """Returns rows of texts, the first of which is the heading, as an HTML table; numbers align
    right."""
    right = [all(is_number(row[c]) for row in rows[1:]) for c in range(len(rows[0]))]
    lines = ["<tr>" + "".join(cell("th" if i == 0 else "td", text, right[c])
                              for c, text in enumerate(row)) + "</tr>"
             for i, row in enumerate(rows)]
    return (f'<div class="wide" tabindex="0"><table><thead>{lines[0]}</thead>'
            f'<tbody>{"".join(lines[1:])}</tbody></table></div>')


def folded(title, rows, keep_open=MOST_ROWS_OPEN):
    """Returns a collapsible table under its heading; long ones start collapsed. What follows a
    semicolon of the heading is printed below it."""
    mark = " open" if len(rows) <= keep_open else ""
    count = "1 row" if len(rows) == 2 else f"{len(rows) - 1} rows"
    heading, _, more = title.partition("; ")
    note = f'<p class="quiet">{escape(more[:1].upper() + more[1:])}</p>' if more else ""
    return (f"<details{mark}><summary>{escape(heading)} ({count})</summary>{note}{table(rows)}"
            "</details>")


def picture(one, svg):
    words = escape(f"{one.title}. {one.alt}".removesuffix(". "))
    drawn = svg.replace("<svg", f'<svg role="img" aria-label="{words}"', 1)
    return (f'<figure id="{escape(one.name)}"><div class="drawing" tabindex="0">{drawn}</div>'
            f"<figcaption>{prose(one.caption)}</figcaption></figure>")


def pictures(found):
    """Returns the figures of found, [(picture, its svg element)]."""
    if not found:
        return ""
    return f'<div class="pictures">{"".join(picture(one, svg) for one, svg in found)}</div>'


def identity(title):
    return "".join(c if c.isalnum() else "-" for c in title.lower())


def document(title, head, sections):
    """Returns the document; sections: [(title, html)]."""
    links = "".join(f'<a href="#{identity(name)}">{escape(name)}</a>' for name, _ in sections)
    body = "".join(f'<section><h2 id="{identity(name)}">{escape(name)}</h2>{text}</section>'
                   for name, text in sections)
    return (
        f'<!DOCTYPE html>\n<html lang="en"><head><meta '
        f'charset="utf-8"><title>{escape(title)}</title>'
        '<meta name="viewport" content="width=device-width, initial-scale=1"><link rel="icon" '
        'href="data:,">'
        f"<style>{STYLE}</style></head><body><h1>{escape(title)}</h1>{head}"
        f"<nav>{links}</nav>{body}</body></html>\n"
    )
