"""A joblib backend whose threads are Sinew's workers.

    import sinew.joblib
    sinew.joblib.register()
    with joblib.parallel_config(backend="sinew"):
        ...
"""

import joblib
from joblib._parallel_backends import ParallelBackendBase, SequentialBackend

from ._library import max_workers
from .executor import Executor


class SinewBackend(ParallelBackendBase):
    """Runs the calls of `joblib.Parallel` as tasks of the pool; they share the process's memory."""

    supports_retrieve_callback = True
    supports_sharedmem = True
    uses_threads = True

    _executor = None

    def effective_n_jobs(self, n_jobs):
        """The number of calls that run at a time; negative numbers count from the workers."""
        if n_jobs == 0:
            raise ValueError("n_jobs == 0 in Parallel has no meaning")
        if n_jobs is None:
            return 1
        if n_jobs < 0:
            return max(max_workers() + 1 + n_jobs, 1)
        return n_jobs

    def configure(self, n_jobs=1, parallel=None, **_):
        """Prepares for a call of `Parallel`; returns the number of calls that run at a time."""
        self.parallel = parallel
        n_jobs = self.effective_n_jobs(n_jobs)
        self._executor = Executor(n_jobs)
        return n_jobs

    def submit(self, func, callback=None):
        """Queues a batch of calls."""
        future = self._executor.submit(func)
        if callback is not None:
            future.add_done_callback(callback)
        return future

    def retrieve_result_callback(self, out):
        """The result of a batch, or the exception that it raised."""
        return out.result()

    def terminate(self):
        """Waits for the batches that were submitted."""
        if self._executor is not None:
            self._executor.shutdown(wait=True)
            self._executor = None

    def abort_everything(self, ensure_ready=True):
        """Cancels the batches that have not begun."""
        if self._executor is not None:
            self._executor.shutdown(wait=True, cancel_futures=True)
            self._executor = None
        if ensure_ready:
            self.configure(n_jobs=self.parallel.n_jobs, parallel=self.parallel)

    def get_nested_backend(self):
        """Nested calls run one after the other: a worker that waited for tasks of its own pool
        might wait for itself."""
        return SequentialBackend(nesting_level=(self.nesting_level or 0) + 1), None


def register(make_default=False):
    """Makes the backend known to joblib as "sinew"."""
    joblib.register_parallel_backend("sinew", SinewBackend, make_default=make_default)
