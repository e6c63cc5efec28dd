"""Common parts of the tests of stencils against numpy and scipy: sides of a field, padding, and
random checked runs."""

import concurrent.futures
import os

import tessera
from tessera import numpy

NUMPY_MODES = {"clamp": "edge", "mirror": "reflect", "reflect": "symmetric", "periodic": "wrap"}


class Side:
    def __init__(self, kind, value=0.0):
        self.kind, self.value = kind, value

    def __str__(self):
        return f"constant:{self.value!r}" if self.kind == "constant" else self.kind


def pad(u, radii, sides, frame):
    """Returns u with `radii` more points on each side; at corners the rule of the first axis takes
    precedence."""
    for axis in reversed(range(u.ndim)):
        parts = []
        for end in (0, 1):
            side, r = sides[axis][end], radii[axis]
            if side.kind == "constant":
                shape = u.shape[:axis] + (r,) + u.shape[axis + 1:]
                parts.append(numpy.full(shape, side.value, u.dtype))
            elif side.kind == "given":
                index = []
                for k, n in enumerate(frame.core):
                    points = numpy.arange(n) if k < axis else numpy.arange(-radii[k], n + radii[k])
                    if k == axis:
                        points = numpy.arange(-r, 0) if end == 0 else numpy.arange(n, n + r)
                    closed = sides[k][0].kind == "periodic"
                    index.append(points % n if closed else points + radii[k])
                parts.append(frame.values[numpy.ix_(*index)].astype(u.dtype))
            else:
                width = [(0, 0)] * u.ndim
                width[axis] = (r, 0) if end == 0 else (0, r)
                grown = u
                if r > 0:
                    mode = NUMPY_MODES[side.kind]
                    if u.shape[axis] == 1 and side.kind == "mirror":
                        mode = "edge"
                    grown = numpy.pad(u, width, mode)
                parts.append(numpy.take(grown, range(r) if end == 0
                                        else range(u.shape[axis], u.shape[axis] + r), axis))
        u = numpy.concatenate((parts[0], u, parts[1]), axis)
    return u


class Frame:
    def __init__(self, values, core):
        self.values, self.core = values, core


def boundary(sides):
    names = "zyx"[3 - len(sides):]
    return ",".join(f"{names[a]}{'-+'[e]}={sides[a][e]}" for a in range(len(sides)) for e in (0, 1))


def has_given(sides):
    return any(side.kind == "given" for both in sides for side in both)


def draw_frame(values, shape, radii, sides):
    """Returns values around a field of this shape, none along a periodic dimension."""
    outer = [n + (0 if both[0].kind == "periodic" else 2 * r)
             for n, r, both in zip(shape, radii, sides)]
    return Frame(values.uniform(-1, 1, outer), shape)


class Random(tessera.Case):
    """Runs drawn at random from their numbers. Each has number, ranks and threads, writes its
    operands and returns the command's words (`write`), knows the result (`want`) and describes the
    difference of another one (`difference`, "" if none)."""

    def check(self, case):
        """Runs a case; returns None, or a description of the error."""
        words = case.write(self)
        out = self.path(f"{case.number}out.h5")
        result = self.run_tessera("stencil", *words, "--out", f"{out}:/u", ranks=case.ranks,
                                  threads=case.threads, timeout=120)
        if result.code != 0:
            return f"{case}\n{result}"
        got, want = tessera.read_matrix(out, "u"), case.want()
        for name in os.listdir(self.folder):
            if name.startswith(str(case.number)) and not name[len(str(case.number))].isdigit():
                os.unlink(self.path(name))
        if got.shape != want.shape or got.dtype != numpy.dtype(case.kind):
            return f"{case}\ngot {got.dtype} {got.shape}, want {case.kind} {want.shape}\n{result}"
        wrong = case.difference(got, want)
        return f"{case}\n{wrong}\n{result}" if wrong else None

    def check_all(self, draw, count):
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            wrong = [text for text in pool.map(lambda number: self.check(draw(number)),
                                               range(count)) if text]
        self.assertEqual(len(wrong), 0, f"{len(wrong)} of {count} are wrong:\n"
                         + "\n".join(wrong[:5]))
