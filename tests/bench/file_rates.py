"""File system rates with large reads and writes, shared by the benches from file to file."""
import os
import time

PIECE = 16 << 20


def drop(*paths):
    """Evicts files from the file cache."""
    for path in paths:
        with open(path, "rb") as file:
            os.fsync(file.fileno())
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def time_read(path):
    buffer = bytearray(PIECE)
    began = time.monotonic()
    with open(path, "rb", buffering=0) as file:
        while file.readinto(buffer):
            pass
    return time.monotonic() - began


def time_write(path, size, synchronised):
    """Times writing a new file of whole pieces, into reserved space as the product does."""
    piece = os.urandom(PIECE)
    if os.path.exists(path):
        os.unlink(path)
    began = time.monotonic()
    with open(path, "wb", buffering=0) as file:
        os.posix_fallocate(file.fileno(), 0, size)
        for _ in range(size // PIECE):
            file.write(piece)
        if synchronised:
            os.fsync(file.fileno())
    return time.monotonic() - began
