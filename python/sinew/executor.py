"""An executor of `concurrent.futures` whose threads are Sinew's workers."""

import atexit
import collections
import concurrent.futures
import itertools
import os
import threading
import weakref

from ._library import TASK, check, library, max_workers


class _Item:
    """A call, and the future that gets its result."""

    __slots__ = ("future", "function", "args", "kwargs")

    def __init__(self, future, function, args, kwargs):
        self.future = future
        self.function = function
        self.args = args
        self.kwargs = kwargs

    def run(self):
        if not self.future.set_running_or_notify_cancel():
            return
        try:
            result = self.function(*self.args, **self.kwargs)
        except BaseException as error:  # The future carries every exception to its caller.
            self.future.set_exception(error)
        else:
            self.future.set_result(result)


# A task gets a number in place of a pointer: the library hands it back, and no object can be freed
# too early.
_numbers = itertools.count(1)
_owners = {}
_executors = weakref.WeakSet()


@TASK
def _run(number):
    _owners.pop(number)._run_next()


class Executor(concurrent.futures.Executor):
    """Runs Python functions on Sinew's pool.

    At most `max_workers` calls run at a time; by default as many as the pool has workers. The pool
    is the process's, so calls share its workers with numba's parallel functions. Calls run beside
    each other where Python lets them: in builds without the global lock, and in functions that
    release it.

    A call that waits for a later call of the same executor may wait forever, as with
    `ThreadPoolExecutor`. A forked child may use the executor; calls that its parent had not ended
    do not exist there.
    """

    def __init__(self, max_workers=None):
        if max_workers is None:
            max_workers = _workers_of_the_pool()
        if not isinstance(max_workers, int) or max_workers < 1:
            raise ValueError(f"max_workers is {max_workers!r}; it must be an int of 1 or more")
        self._max_workers = max_workers
        self._is_shut_down = False
        self._forget()
        _executors.add(self)

    def _forget(self):
        """Sets the state of an executor that no call has been given to."""
        self._lock = threading.Lock()
        self._ended = threading.Condition(self._lock)
        self._queued = collections.deque()
        # Tasks that were spawned and have taken no call yet, and those that have one.
        self._coming = 0
        self._running = 0

    def submit(self, fn, /, *args, **kwargs):
        """Queues `fn(*args, **kwargs)` and returns its future."""
        future = concurrent.futures.Future()
        with self._lock:
            if self._is_shut_down:
                raise RuntimeError("the executor was shut down; it takes no more calls")
            self._queued.append(_Item(future, fn, args, kwargs))
            try:
                self._spawn()
            except BaseException:
                self._queued.pop()
                raise
        return future

    def _spawn(self):
        """Spawns a task, if a call has none and fewer than `max_workers` run. Needs the lock."""
        if self._coming + self._running == self._max_workers or self._coming >= len(self._queued):
            return
        number = next(_numbers)
        _owners[number] = self
        try:
            check(library().sinew_spawn(None, number, _run))
        except BaseException:
            del _owners[number]
            raise
        self._coming += 1

    def _run_next(self):
        """What a task does: it runs the oldest call."""
        with self._lock:
            self._coming -= 1
            if not self._queued:
                # The calls were cancelled.
                self._ended.notify_all()
                return
            item = self._queued.popleft()
            self._running += 1
        item.run()
        # Its result must not live until the next call.
        del item
        with self._lock:
            self._running -= 1
            try:
                self._spawn()
            except BaseException as error:
                # No later task would take these calls.
                while self._queued:
                    self._queued.popleft().future.set_exception(error)
            self._ended.notify_all()

    def shutdown(self, wait=True, *, cancel_futures=False):
        """Takes no more calls; waits for those that were submitted, or cancels the queued ones."""
        cancelled = []
        with self._lock:
            self._is_shut_down = True
            if cancel_futures:
                cancelled.extend(self._queued)
                self._queued.clear()
        for item in cancelled:
            item.future.cancel()
        for item in cancelled:
            item.future.set_running_or_notify_cancel()
        if wait:
            with self._lock:
                self._ended.wait_for(lambda: self._coming == self._running == 0)


def _workers_of_the_pool():
    return max_workers()


def _end_all():
    """Before the interpreter ends: a worker must not call into it later."""
    for executor in list(_executors):
        executor.shutdown(wait=True)


def _after_fork():
    _owners.clear()
    for executor in list(_executors):
        executor._forget()


atexit.register(_end_all)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
