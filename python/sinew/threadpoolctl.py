"""A controller of Sinew's pool for threadpoolctl.

`sinew.threadpoolctl.register()` makes `threadpoolctl.threadpool_limits(2)` limit the process's
pool, too, and `threadpool_info()` show it.
"""

import ctypes
import functools

import threadpoolctl

from ._library import active_workers, set_threads


class SinewController(threadpoolctl.LibController):
    """Reads and sets how many workers of the process's pool may run."""

    user_api = "sinew"
    internal_api = "sinew"
    filename_prefixes = ("libsinew",)
    check_symbols = ("sinew_abi_version", "sinew_set_threads")

    def get_num_threads(self):
        """The number of workers that may run."""
        return active_workers()

    def set_num_threads(self, num_threads):
        """Limits the workers that run."""
        set_threads(num_threads)

    def get_version(self):
        """The version of the library."""
        version = self.dynlib.sinew_version
        version.restype = ctypes.c_char_p
        return version().decode()


@functools.cache
def register():
    """Makes the controller known to threadpoolctl. A second call does nothing."""
    threadpoolctl.register(SinewController)
