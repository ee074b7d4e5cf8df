"""numba's parallel functions on Sinew's pool."""

import os
import threading
import unittest

os.environ.setdefault("NUMBA_NUM_THREADS", str(max(2, os.cpu_count() or 2)))

try:
    import numba
    import numpy as np
except ImportError:
    raise unittest.SkipTest("numba is not installed")

import sinew
import sinew.numba
from test_executor import run_script

sinew.numba.use()

# What each program that runs in an interpreter of its own begins with.
PREAMBLE = """
import os, sys, signal, threading
os.environ["NUMBA_NUM_THREADS"] = "2"
import numba, numpy as np
import sinew, sinew.numba
sinew.numba.use()

@numba.njit(parallel=True)
def total(n):
    sum = 0
    for i in numba.prange(n):
        sum += i
    return sum
"""


def script(text):
    import textwrap

    return run_script(PREAMBLE + textwrap.dedent(text), timeout=120)


@numba.njit(parallel=True)
def total(values):
    result = 0.0
    for i in numba.prange(values.size):
        result += values[i]
    return result


@numba.njit(parallel=True)
def ids(n):
    found = np.empty(n, np.int64)
    for i in numba.prange(n):
        found[i] = numba.get_thread_id()
    return found


@numba.njit(parallel=True)
def masks(n):
    found = np.empty(n, np.int64)
    for i in numba.prange(n):
        found[i] = numba.get_num_threads()
    return found


@numba.njit(parallel=True)
def rows(n):
    sums = np.zeros(n, np.int64)
    for i in numba.prange(n):
        sums[i] = columns(i)
    return sums


@numba.njit(parallel=True)
def columns(n):
    sum = 0
    for i in numba.prange(n):
        sum += i * n
    return sum


@numba.vectorize(["float64(float64, float64)"], target="parallel")
def hypotenuse(x, y):
    return np.sqrt(x * x + y * y)


@numba.guvectorize(["(float64[:], float64[:])"], "(n)->()", target="parallel")
def row_sum(row, out):
    out[0] = 0.0
    for value in row:
        out[0] += value


@numba.njit(inline="never")
def refuse(i, bad):
    if i == bad:
        raise ValueError("refused")
    return 1


@numba.njit(parallel=True)
def count_unless(n, bad):
    found = np.zeros(n, np.int64)
    for i in numba.prange(n):
        found[i] = refuse(i, bad)
    return found.sum()


@numba.guvectorize(["(int64[:], int64, int64[:])"], "(n),()->(n)", target="parallel",
                   nopython=True)
def copy_unless(row, bad, out):
    for i in range(row.size):
        if row[i] == bad:
            raise ValueError("refused")
        out[i] = row[i]


class Results(unittest.TestCase):
    def test_sinew_is_the_layer(self):
        total(np.ones(10))
        self.assertTrue(sinew.numba.is_used())
        self.assertEqual(numba.threading_layer(), "omp")

    def test_loops_of_all_lengths(self):
        for n in [0, 1, 2, 3, 7, 64, 1000, 100_003]:
            values = np.arange(n, dtype=np.float64)
            self.assertEqual(total(values), values.sum())
            self.assertEqual(hypotenuse(values, values).tolist(),
                             np.sqrt(2 * values * values).tolist())

    def test_generalised_functions_over_rows(self):
        table = np.random.default_rng(1).random((1237, 5))
        np.testing.assert_allclose(row_sum(table), table.sum(axis=1))

    def test_nested_functions(self):
        self.assertEqual(rows(60).tolist(), [n * n * (n - 1) // 2 for n in range(60)])

    def test_threads_call_at_the_same_time(self):
        failures = []

        def call():
            for n in range(100):
                if rows(20)[19] != 19 * 19 * 9 or total(np.ones(1000 + n)) != 1000 + n:
                    failures.append(n)

        threads = [threading.Thread(target=call) for _ in range(5)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(failures, [])

    def test_chunk_sizes(self):
        for size in (0, 1, 3, 1000):
            with numba.parallel_chunksize(size):
                self.assertEqual(total(np.ones(1000)), 1000)


class Threads(unittest.TestCase):
    def tearDown(self):
        numba.set_num_threads(numba.config.NUMBA_NUM_THREADS)
        sinew.set_threads(None)

    def test_numbers_of_threads_are_below_their_count(self):
        for count in range(1, numba.config.NUMBA_NUM_THREADS + 1):
            numba.set_num_threads(count)
            with numba.parallel_chunksize(1):
                found = ids(500)
            self.assertTrue(0 <= found.min() and found.max() < count, found)

    def test_a_mask_holds_inside_of_the_loop_and_for_its_thread_only(self):
        numba.set_num_threads(1)
        self.assertEqual(set(masks(100)), {1})
        others = []
        thread = threading.Thread(target=lambda: others.append(numba.get_num_threads()))
        thread.start()
        thread.join()
        self.assertEqual(others, [numba.config.NUMBA_NUM_THREADS])
        self.assertEqual(numba.get_num_threads(), 1)

    def test_results_hold_under_every_limit_of_the_pool(self):
        values = np.arange(50_000, dtype=np.float64)
        for limit in (1, 2, None, 1):
            sinew.set_threads(limit)
            self.assertEqual(total(values), values.sum())

    def test_reductions_lose_nothing_while_the_limit_changes(self):
        over, values = threading.Event(), np.ones(20_000)

        def change():
            while not over.is_set():
                for limit in (1, 2):
                    sinew.set_threads(limit)

        thread = threading.Thread(target=change)
        thread.start()
        try:
            with numba.parallel_chunksize(100):
                sums = {total(values) for _ in range(300)}
        finally:
            over.set()
            thread.join()
        self.assertEqual(sums, {20_000.0})


class Exceptions(unittest.TestCase):
    """numba stores an exception in the thread that meets it. The caller sees those of the rows that
    its own thread runs, with each layer."""

    def tearDown(self):
        numba.set_num_threads(numba.config.NUMBA_NUM_THREADS)

    def later_calls_are_right(self):
        self.assertEqual(numba.get_thread_id(), 0)
        self.assertEqual(count_unless(1000, -1), 1000)
        table = np.arange(2000).reshape(1000, 2)
        np.testing.assert_array_equal(copy_unless(table, -1), table)

    def test_an_exception_of_the_callers_thread_reaches_it_and_later_calls_are_right(self):
        numba.set_num_threads(1)
        table = np.arange(2000).reshape(1000, 2)
        for bad in (0, 500, 999):
            # Python makes a `SystemError` of the exception that a parallel loop leaves behind.
            with self.assertRaises(SystemError) as raised:
                count_unless(1000, bad)
            self.assertIsInstance(raised.exception.__cause__, ValueError)
            with self.assertRaisesRegex(ValueError, "refused"):
                copy_unless(table, bad)
            self.later_calls_are_right()

    def test_exceptions_of_several_threads_leave_the_pool_in_order(self):
        table = np.arange(2000).reshape(1000, 2)
        for bad in range(0, 1000, 37):
            try:
                count_unless(1000, bad)
            except SystemError as error:
                self.assertIsInstance(error.__cause__, ValueError)
            try:
                copy_unless(table, bad)
            except ValueError as error:
                self.assertEqual(str(error), "refused")
            self.later_calls_are_right()


class Processes(unittest.TestCase):
    def test_a_forked_child_and_then_its_parent(self):
        printed = script("""
            assert total(1000) == 499500
            child = os.fork()
            if child == 0:
                os._exit(0 if total(1000) == 499500 else 1)
            print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), total(10))
        """)
        self.assertEqual(printed.split(), ["0", "45"])

    def test_a_child_of_a_thread_that_is_not_the_main_one(self):
        printed = script("""
            total(1000)
            def fork():
                child = os.fork()
                if child == 0:
                    os._exit(0 if total(1000) == 499500 else 1)
                print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
            thread = threading.Thread(target=fork)
            thread.start()
            thread.join()
        """)
        self.assertEqual(printed.split(), ["0"])

    def test_multiprocessing_by_fork_and_by_spawn(self):
        import subprocess
        import sys
        import tempfile

        body = PREAMBLE + """
if __name__ == "__main__":
    import multiprocessing
    assert total(10) == 45
    for method in ("fork", "spawn"):
        with multiprocessing.get_context(method).Pool(2) as pool:
            print(pool.map(total, [10, 1000]))
"""
        with tempfile.NamedTemporaryFile("w", suffix=".py") as file:
            file.write(body)
            file.flush()
            done = subprocess.run([sys.executable, file.name], capture_output=True, text=True,
                                  timeout=240)
        self.assertEqual(done.stdout, "[45, 499500]\n" * 2, done.stderr)

    def test_ctrl_c_ends_a_loop_at_its_end_and_later_loops_run(self):
        printed = script("""
            total(10)
            # A shell's background commands ignore the signal, and so do their children.
            signal.signal(signal.SIGINT, signal.default_int_handler)
            threading.Timer(0.05, os.kill, (os.getpid(), signal.SIGINT)).start()
            try:
                while True:
                    total(1_000_000)
            except KeyboardInterrupt:
                print("interrupted", total(10))
        """)
        self.assertEqual(printed.split(), ["interrupted", "45"])

    def test_another_layer_that_runs_already_is_named(self):
        printed = run_script("""
            import os
            os.environ["NUMBA_THREADING_LAYER"] = "workqueue"
            import numba, numpy as np
            import sinew.numba
            numba.set_num_threads(1)
            try:
                sinew.numba.use()
            except sinew.SinewError as error:
                print(error)
        """, timeout=120)
        self.assertIn("'workqueue'", printed)

    def test_an_unchanged_program(self):
        import subprocess
        import sys
        import tempfile

        with tempfile.NamedTemporaryFile("w", suffix=".py") as file:
            file.write("import sys, sinew.numba; print(sinew.numba.is_used(), sys.argv[1:])")
            file.flush()
            command = [sys.executable, "-m", "sinew.numba", file.name, "7"]
            done = subprocess.run(command, capture_output=True, text=True, timeout=120)
        self.assertEqual(done.stdout, "True ['7']\n", done.stderr)


if __name__ == "__main__":
    unittest.main()
