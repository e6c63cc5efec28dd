"""What a picture is, before anything draws it."""
import dataclasses
from typing import Callable, Optional


@dataclasses.dataclass
class Picture:
    name: str                # of its file, without kind
    title: str               # above it
    caption: str             # what one should know to read it
    draw: Callable           # into the axes it is given
    text: Optional[Callable] = None  # the same in characters
    height: float = 3.2      # inches; the width is that of all
    in_page: bool = True     # else a file alone
