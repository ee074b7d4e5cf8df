"""Python programs on Sinew's pool.

`sinew.numba.use()` makes numba's parallel functions run on the pool. `sinew.Executor` runs Python
functions on it, as the executors of `concurrent.futures` do. `sinew.joblib.register()` adds a
joblib backend, and `sinew.threadpoolctl.register()` a controller for threadpoolctl.

All of them, and C libraries of the same process that use `libsinew.so.0`, share one pool.
"""

from ._library import SinewError, active_workers, max_workers, set_threads
from .executor import Executor

__all__ = ["Executor", "SinewError", "active_workers", "max_workers", "set_threads"]
