from typing import Any

MEASURED: tuple[str, ...]
KERNELS: tuple[str, ...]

def read(path: str) -> list[Any]: ...
def value_of(text: str) -> int | str: ...
