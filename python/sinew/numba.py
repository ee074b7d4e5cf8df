"""Sinew as the threading layer of numba.

    import sinew.numba
    sinew.numba.use()

After that numba's parallel functions run on the process's pool. Threads of the program may call
them at the same time, calls may be nested, and a forked child may go on using them. Where programs
share the machine (`SINEW_COORDINATE=1`), a parallel function follows the granted number of cores
while it runs. `python -m sinew.numba PROGRAM ARGUMENTS` and `python -m sinew.numba -m MODULE` run
an unchanged program so.

numba knows the names of three layers only. Sinew takes the place of "omp", and
`numba.threading_layer()` returns that.
"""

import runpy
import sys
import types

import numba.np.ufunc
from numba.np.ufunc import parallel, workqueue

from ._library import SinewError, address

_MODULE = "numba.np.ufunc.omppool"

# The functions of a layer, by their names in numba; the library's have the prefix `sinew_numba_`.
_OURS = (
    "launch_threads",
    "parallel_for",
    "set_num_threads",
    "get_num_threads",
    "get_thread_id",
)

# Of an older interface.
_UNUSED = ("synchronize", "ready", "add_task")

# The division of an iteration space by chunk size, which needs no threads, is numba's own.
_NUMBAS = (
    "do_scheduling_signed",
    "do_scheduling_unsigned",
    "set_parallel_chunksize",
    "get_parallel_chunksize",
    "get_sched_size",
    "allocate_sched",
    "deallocate_sched",
)


def use():
    """Makes Sinew the threading layer. It must be called before the first parallel function.

    Raises `SinewError` if numba has started another layer. A second call does nothing.
    """
    if is_used():
        return
    if parallel._is_initialized:
        raise SinewError(
            f"numba has started its threading layer {parallel.threading_layer()!r}; call "
            "sinew.numba.use() before the first parallel function"
        )
    layer = types.ModuleType(_MODULE, __doc__)
    fill(layer)
    sys.modules[_MODULE] = layer
    numba.np.ufunc.omppool = layer
    numba.config.THREADING_LAYER = "omp"


def fill(layer):
    """Gives the module `layer` the functions that numba expects of a threading layer."""
    for name in _OURS:
        setattr(layer, name, address(f"sinew_numba_{name}"))
    for name in _UNUSED:
        setattr(layer, name, address("sinew_numba_unused"))
    for name in _NUMBAS:
        setattr(layer, name, getattr(workqueue, name))
    layer.openmp_vendor = "Sinew"


def is_used():
    """Whether `use` was called."""
    return getattr(sys.modules.get(_MODULE), "openmp_vendor", None) == "Sinew"


def _main(arguments):
    usage = "usage: python -m sinew.numba [-m MODULE | PROGRAM] [ARGUMENTS]"
    if not arguments or (arguments[0] == "-m" and len(arguments) == 1):
        sys.exit(usage)
    use()
    if arguments[0] == "-m":
        sys.argv = arguments[1:]
        runpy.run_module(arguments[1], run_name="__main__", alter_sys=True)
    else:
        sys.argv = arguments
        runpy.run_path(arguments[0], run_name="__main__")


if __name__ == "__main__":
    # The module that others import, not this one, holds the state.
    from sinew.numba import _main as main

    main(sys.argv[1:])
