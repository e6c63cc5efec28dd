"""Pictures as data, before rendering."""
import dataclasses
from typing import Callable, Optional


@dataclasses.dataclass
class Picture:
    name: str                # of its file, without extension
    title: str               # heading
    caption: str             # how to read it
    draw: Callable           # called with the axes
    text: Optional[Callable] = None  # the same as text
    height: float = 3.2      # inches; the width is common to all
    in_page: bool = True     # False: a file only
