"""Pictures of numeric datasets: a line, a map, or three slices of a volume, for each time frame."""
import dataclasses
import math
import os

import h5py
import numpy as np

import pick
import textplot
from picture import Picture, said

MOST_CELLS = 800  # shown along an edge; larger ones are subsampled by a stride
MOST_IN_PAGE = 12  # frames shown on a page; all are written as files


def split(word):
    """Returns (file, path) of "file.h5:/path"; None for a results file. An existing file whose name
    contains a colon is a file."""
    at = len(word) if not os.path.exists(word) else 0
    while (at := word.rfind(":/", 0, at)) > 0:
        if os.path.isfile(word[:at]):
            return word[:at], word[at + 1:]
    return None


def text_of(attributes, name):
    value = attributes.get(name, "")
    return value.decode(errors="replace") if isinstance(value, bytes) else str(value)


@dataclasses.dataclass
class Packing:
    """How stored numbers stand for values (CF conventions): value = factor stored + offset; cells
    of the marks, or outside low .. high, are empty."""
    marks: list
    low: float
    high: float
    factor: float
    offset: float

    @classmethod
    def of(cls, attributes):
        def numbers(name, *usual):
            found = np.ravel(attributes.get(name, usual))
            return [float(v) for v in found] if found.dtype.kind in "fiu" else list(usual)
        low, high = numbers("valid_range", -math.inf, math.inf)
        return cls(numbers("_FillValue") + numbers("missing_value"),
                   numbers("valid_min", low)[0], numbers("valid_max", high)[0],
                   numbers("scale_factor", 1.0)[0], numbers("add_offset", 0.0)[0])

    def values(self, stored):
        stored = np.asarray(stored, dtype=float)
        empty = np.isin(stored, self.marks) | (stored < self.low) | (stored > self.high)
        return np.where(empty, math.nan, self.factor * stored + self.offset)


@dataclasses.dataclass
class Axis:
    """Coordinates along a dimension, those of its scale: first + i step if they are regular."""
    name: str
    first: float = 0.0
    step: float = 1.0
    units: str = ""
    uneven: tuple = ()  # coordinates that are not regular: the axis counts cells

    @classmethod
    def of(cls, dimension, name, count):
        scale = dimension[0] if len(dimension) else None
        if scale is None or scale.shape != (count,) or scale.dtype.kind not in "fiu":
            return cls(name)
        at = scale[:].astype(float)
        step = (at[-1] - at[0]) / max(1, count - 1)
        units = text_of(scale.attrs, "units")
        if step == 0 or not np.allclose(np.diff(at), step, rtol=1e-3, atol=0):
            return cls(name, units=units, uneven=tuple(at))
        return cls(name, at[0], step, units)

    @property
    def label(self):
        words = ("index" if len(self.uneven) > 1 else "") or self.units
        return f"{self.name} ({words})" if words else self.name

    def place(self, index):
        """Returns a coordinate in words: "lat = 45 degrees_north"."""
        value = self.uneven[index] if self.uneven else self.first + index * self.step
        return f"{self.name} = {value:g} {self.units}".strip()

    def edges(self, count):
        """Returns the coordinates of the outer edges of the first and the last cell."""
        return self.first - self.step / 2, self.first + (count - 0.5) * self.step


@dataclasses.dataclass
class Field:
    file: str
    path: str
    names: tuple   # of the dimensions, excluding time
    shape: tuple
    times: list    # of the frames; [None] without a time dimension
    units: str     # of the times
    axes: dict     # {name: Axis}
    packing: Packing
    label: str     # of the values, with their units

    @property
    def title(self):
        return f"{os.path.basename(self.file)}:{self.path}"

    def cuts(self):
        """Returns (title of the slice, selection, its dimensions) of every picture of a frame."""
        whole = tuple(slice(0, n, -(-n // MOST_CELLS)) for n in self.shape)
        if len(self.shape) < 3:
            return [("", whole, self.names)]
        return [(self.axes[self.names[d]].place(n // 2), (*whole[:d], n // 2, *whole[d + 1:]),
                 self.names[:d] + self.names[d + 1:])
                for d, n in enumerate(self.shape)]

    def values(self, frame, selection):
        with h5py.File(self.file, "r") as file:
            return self.packing.values(file[self.path][selection if self.times == [None]
                                                       else (frame, *selection)])

    def range(self):
        """Returns the minimum and maximum over all pictures: one colour scale for all frames."""
        low, high = math.inf, -math.inf
        for frame in range(len(self.times)):
            for _, selection, _ in self.cuts():
                values = self.values(frame, selection)
                finite = values[np.isfinite(values)]
                low, high = min(low, finite.min(initial=low)), max(high, finite.max(initial=high))
        return (low, high) if low < high else (low, low + 1) if low == high else (0.0, 1.0)


def dimension_name(dimension, other):
    return os.path.basename(dimension[0].name) if len(dimension) else dimension.label or other


def read(word):
    """Returns the field that a word names; exits if it cannot be drawn."""
    path, name = split(word)

    def of(file):
        with h5py.File(file, "r") as opened:
            data = opened.get(name)
            if not isinstance(data, h5py.Dataset):
                pick.fail(66, f"'{file}' has no dataset '{name}'; name one that h5ls lists")
            if data.dtype.kind not in "fiub" or not 1 <= data.ndim <= 4 or 0 in data.shape:
                pick.fail(65, f"'{word}' ({data.dtype}, "
                              f"{' x '.join(map(str, data.shape)) or 'scalar'}) cannot be drawn; "
                              "name 1 to 3 dimensions of real numbers, and frames of them")
            usual = ("time", "z", "y", "x")[-data.ndim:]
            names = tuple(dimension_name(d, other) for d, other in zip(data.dims, usual))
            axes = {n: Axis.of(d, n, count) for n, d, count in zip(names, data.dims, data.shape)}
            units = text_of(data.attrs, "units")
            values = (axes, Packing.of(data.attrs),
                      os.path.basename(name) + (f" ({units})" if units else ""))
            if data.ndim < 4 and names[0] not in ("time", "step"):
                return Field(file, name, names, data.shape, [None], "", *values)
            scale = data.dims[0][0] if len(data.dims[0]) else None
            times = range(len(data)) if scale is None else scale[:].tolist()
            units = "" if scale is None else text_of(scale.attrs, "units")
            return Field(file, name, names[1:], data.shape[1:], list(times), units, *values)
    return pick.read(path, of)[0]


def draw(axes, values, field, selection, names, scale):
    edges = [s.stop for s in selection if isinstance(s, slice)]
    across = field.axes[names[-1]]
    axes.set_xlabel(across.label)
    if values.ndim == 1:
        axes.set_ylabel(field.label)
        axes.plot(across.first + across.step * np.arange(0, edges[0], selection[0].step), values)
        axes.set_ylim(scale[0] - 0.05 * (scale[1] - scale[0]),
                      scale[1] + 0.05 * (scale[1] - scale[0]))
        return
    up = names[0] != "row"  # matrices begin with their first row
    rows, columns = edges
    import matplotlib  # tables and text plots work without it
    colours = matplotlib.colormaps["viridis"].with_extremes(bad="grey")
    along = field.axes[names[0]]
    below, above = along.edges(rows)
    image = axes.imshow(values, cmap=colours, vmin=scale[0], vmax=scale[1],
                        origin="lower" if up else "upper", interpolation="nearest",
                        aspect=abs(across.step / along.step) if max(edges) <= 4 * min(edges)
                        else "auto",
                        extent=(*across.edges(columns), *((below, above) if up
                                                          else (above, below))))
    axes.set_xlim(sorted(across.edges(columns)))
    if up:
        axes.set_ylim(sorted((below, above)))
    axes.set_ylabel(along.label)
    axes.figure.colorbar(image, cax=axes.inset_axes([1.03, 0, 0.05, 1]),  # as high as the map
                         label=field.label)


def text(values, selection, names):
    """Returns the same as text; None without finite values."""
    if not np.isfinite(values).any():
        return None
    if values.ndim == 1:
        return lambda: textplot.lines({names[0]: (range(0, selection[0].stop, selection[0].step),
                                                  values)}, names[0], "value",
                                      log_x=False)
    steps = [s.step for s in selection if isinstance(s, slice)]
    each = [-(-n // most) for n, most in zip(values.shape, (16, 8))]
    labels = [[str(i * step) for i in range(0, n, k)]
              for n, k, step in zip(values.shape, each, steps)]
    return lambda: textplot.heat(*labels, values[::each[0], ::each[1]], *names, "the field's units")


def height_of(selection):
    """Returns the height in inches, by the field's aspect ratio within limits."""
    edges = [s.stop for s in selection if isinstance(s, slice)]
    return 3.2 if len(edges) == 1 else 0.9 + min(5.0, max(1.6, 3.4 * edges[0] / edges[1]))


def caption(field, values):
    words = ["One scale for all pictures."] if len(field.times) > 1 or len(field.shape) > 2 else []
    if values.ndim > 1 and not np.isfinite(values).all():
        words.append("Cells without a value are grey.")
    return " ".join(words)


def pictures(field):
    """Yields every frame on one scale; frames beyond a page's limit as files only."""
    scale = field.range()
    last = len(field.times) - 1
    shown = {round(last * i / (MOST_IN_PAGE - 1)) for i in range(MOST_IN_PAGE)}
    for frame, time in enumerate(field.times):
        when = "" if time is None else f"time {time:g} {field.units}".strip()
        number = "" if time is None else f"{int(time):08d}" if float(
            time).is_integer() else f"{frame:08d}"
        for cut, selection, names in field.cuts():
            values = field.values(frame, selection)
            place = [f"{n}{i}" for n, i in zip(field.names, selection) if isinstance(i, int)]
            yield Picture("_".join(word for word in (number, *place) if word) or "all",
                          ", ".join(word for word in (field.title, when, cut) if word),
                          caption(field, values),
                          lambda axes, v=values, s=selection,
                          n=names: draw(axes, v, field, s, n, scale),
                          text(values, selection, names), height_of(selection), frame in shown,
                          f"values from {said(scale[0])} to {said(scale[1])}")
