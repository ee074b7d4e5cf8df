"""The executor, by the rules of `concurrent.futures`."""

import concurrent.futures
import gc
import os
import subprocess
import sys
import textwrap
import threading
import unittest
import weakref

import sinew


def run_script(text, timeout=60):
    """Runs a program in an interpreter of its own, and returns what it printed."""
    program = [sys.executable, "-c", textwrap.dedent(text)]
    done = subprocess.run(program, capture_output=True, text=True, timeout=timeout)
    if done.returncode != 0:
        raise AssertionError(f"status {done.returncode}:\n{done.stdout}{done.stderr}")
    return done.stdout


class Calls(unittest.TestCase):
    def setUp(self):
        self.executor = sinew.Executor()
        self.addCleanup(self.executor.shutdown)

    def test_results_come_in_the_order_of_the_arguments(self):
        self.assertEqual(list(self.executor.map(pow, range(500), [2] * 500)),
                         [n * n for n in range(500)])

    def test_calls_run_on_other_threads(self):
        names = set(self.executor.map(lambda _: threading.get_ident(), range(50)))
        self.assertNotIn(threading.get_ident(), names)

    def test_an_exception_reaches_the_caller_and_later_calls_run(self):
        failed = self.executor.submit(lambda: 1 // 0)
        with self.assertRaises(ZeroDivisionError):
            failed.result(timeout=30)
        exited = self.executor.submit(sys.exit, 3)
        with self.assertRaises(SystemExit):
            exited.result(timeout=30)
        self.assertEqual(self.executor.submit(int, "7").result(timeout=30), 7)

    def test_no_more_than_max_workers_run(self):
        executor = sinew.Executor(max_workers=1)
        lock, seen = threading.Lock(), []

        def alone(_):
            taken = lock.acquire(blocking=False)
            seen.append(taken)
            if taken:
                lock.release()

        list(executor.map(alone, range(200)))
        self.assertEqual(seen, [True] * 200)
        executor.shutdown()

    def test_threads_may_submit_at_the_same_time(self):
        totals = []

        def submit_many():
            totals.append(sum(self.executor.map(lambda n: n, range(300))))

        threads = [threading.Thread(target=submit_many) for _ in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(totals, [sum(range(300))] * 6)

    def test_results_are_freed_with_their_futures(self):
        class Result:
            pass

        made = weakref.ref(self.executor.submit(Result).result())
        self.executor.submit(int).result()
        gc.collect()
        self.assertIsNone(made())


class Ends(unittest.TestCase):
    def test_shutdown_waits_for_what_was_submitted(self):
        executor = sinew.Executor(max_workers=1)
        done = []
        for n in range(40):
            executor.submit(done.append, n)
        executor.shutdown()
        self.assertEqual(done, list(range(40)))
        with self.assertRaisesRegex(RuntimeError, "shut down"):
            executor.submit(int)

    def test_queued_calls_can_be_cancelled(self):
        executor = sinew.Executor(max_workers=1)
        begun, go_on = threading.Event(), threading.Event()
        first = executor.submit(lambda: (begun.set(), go_on.wait(30)))
        begun.wait(30)
        later = [executor.submit(int) for _ in range(5)]
        executor.shutdown(wait=False, cancel_futures=True)
        self.assertTrue(all(future.cancelled() for future in later))
        go_on.set()
        self.assertEqual(first.result(timeout=30), (None, True))
        executor.shutdown()

    def test_a_future_can_be_cancelled_alone(self):
        executor = sinew.Executor(max_workers=1)
        go_on = threading.Event()
        executor.submit(go_on.wait, 30)
        second, third = executor.submit(int), executor.submit(int, "3")
        self.assertTrue(second.cancel())
        go_on.set()
        self.assertEqual(third.result(timeout=30), 3)
        self.assertEqual(concurrent.futures.wait([second, third], timeout=30).not_done, set())
        executor.shutdown()

    def test_wrong_numbers_of_workers_are_named(self):
        for wrong in (0, -1, 1.5, "2"):
            with self.assertRaisesRegex(ValueError, "max_workers"):
                sinew.Executor(max_workers=wrong)

    def test_the_interpreter_ends_after_the_last_call(self):
        printed = run_script("""
            import os, sinew, time
            executor = sinew.Executor(max_workers=2)
            for n in range(4):
                executor.submit(lambda n=n: (time.sleep(0.05), os.write(1, f"call {n}\\n".encode())))
        """)
        self.assertEqual(sorted(printed.splitlines()), [f"call {n}" for n in range(4)])


@unittest.skipUnless(hasattr(os, "fork"), "no fork")
class Forks(unittest.TestCase):
    def test_a_child_uses_the_executor_of_its_parent(self):
        printed = run_script("""
            import os, sinew
            executor = sinew.Executor()
            assert sum(executor.map(int, range(100))) == 4950
            child = os.fork()
            if child == 0:
                ok = sum(executor.map(int, range(100))) == 4950
                executor.shutdown()
                os._exit(0 if ok else 1)
            _, status = os.waitpid(child, 0)
            assert sum(executor.map(int, range(100))) == 4950
            print(os.waitstatus_to_exitcode(status))
        """)
        self.assertEqual(printed.strip(), "0")

    def test_multiprocessing_by_fork_and_by_spawn(self):
        script = """
            import multiprocessing, sinew

            def total(n):
                with sinew.Executor() as executor:
                    return sum(executor.map(int, range(n)))

            if __name__ == "__main__":
                assert total(10) == 45
                for method in ("fork", "spawn"):
                    context = multiprocessing.get_context(method)
                    with context.Pool(2) as pool:
                        print(pool.map(total, [10, 100]))
        """
        import tempfile

        with tempfile.NamedTemporaryFile("w", suffix=".py") as file:
            file.write(textwrap.dedent(script))
            file.flush()
            done = subprocess.run([sys.executable, file.name], capture_output=True, text=True,
                                  timeout=120)
        self.assertEqual(done.stdout, "[45, 4950]\n" * 2, done.stderr)


if __name__ == "__main__":
    unittest.main()
