"""Loads `libsinew.so.0` and declares the functions that this package calls.

A process has one pool for all that use the library. So a library that the process has loaded
already, for a C program say, is taken in place of the package's own.
"""

import ctypes
import functools
import os
import pathlib

ABI = 1

# SINEW_ALL: as many threads as there are.
_ALL = 0xFFFFFFFF

TASK = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


class SinewError(RuntimeError):
    """A call of the library that failed."""


def _bundled():
    """The path of the library in this package."""
    folder = pathlib.Path(__file__).parent
    files = sorted(folder.glob("libsinew*.so"))
    if not files:
        raise ImportError(f"{folder} has no libsinew; install the package with `pip install .`")
    return str(files[0])


def _open():
    try:
        return ctypes.CDLL("libsinew.so.0", mode=os.RTLD_NOW | os.RTLD_NOLOAD)
    except OSError:
        return ctypes.CDLL(_bundled(), mode=os.RTLD_NOW | os.RTLD_LOCAL)


@functools.cache
def library():
    """The library, loaded at the first call."""
    lib = _open()
    lib.sinew_abi_version.restype = ctypes.c_uint
    lib.sinew_status_string.restype = ctypes.c_char_p
    lib.sinew_spawn.argtypes = [ctypes.c_void_p, ctypes.c_void_p, TASK]
    lib.sinew_set_threads.argtypes = [ctypes.c_void_p, ctypes.c_uint]
    if lib.sinew_abi_version() != ABI:
        raise ImportError(
            f"the loaded libsinew has ABI {lib.sinew_abi_version()}, this package needs {ABI}; "
            "install a package and a library of the same version"
        )
    return lib


def address(name):
    """The address of the C function `name`."""
    return ctypes.cast(getattr(library(), name), ctypes.c_void_p).value


def check(status):
    """Raises `SinewError` for a status other than `SINEW_OK`."""
    if status != 0:
        raise SinewError(library().sinew_status_string(status).decode())


def _number(name):
    """The number that the function `name` stores for the process's pool."""
    number = ctypes.c_uint()
    check(getattr(library(), name)(None, ctypes.byref(number)))
    return number.value


def max_workers():
    """The number of workers that the process's pool can have."""
    return _number("sinew_max_workers")


def active_workers():
    """The number of workers that may run now: a limit, a quota, or other programs may allow
    fewer."""
    return _number("sinew_active_workers")


def set_threads(count):
    """Limits the process's pool to `count` workers, also while it runs; `None` ends the limit.

    A parallel function uses at most `count` threads. The pool keeps one thread of its own beside
    the calling one, so `active_workers` returns at least 2 where calls and tasks may overlap.
    """
    if count is not None and count < 1:
        raise ValueError(f"a pool cannot have {count} threads; it needs at least 1, or None")
    check(library().sinew_set_threads(None, _ALL if count is None else count))
