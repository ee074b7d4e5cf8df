"""The pool's limit, and the controller for threadpoolctl."""

import os
import shutil
import subprocess
import sys
import tempfile
import unittest

# Enough workers that a limit shows, whatever the machine has.
os.environ["SINEW_THREADS"] = "4"

import sinew


class Limits(unittest.TestCase):
    def tearDown(self):
        sinew.set_threads(None)

    def test_a_limit_is_kept_and_ends(self):
        self.assertEqual((sinew.max_workers(), sinew.active_workers()), (4, 4))
        sinew.set_threads(3)
        self.assertEqual(sinew.active_workers(), 3)
        with sinew.Executor() as executor:
            self.assertEqual(sum(executor.map(int, range(100))), 4950)
        sinew.set_threads(None)
        self.assertEqual((sinew.max_workers(), sinew.active_workers()), (4, 4))

    def test_a_limit_of_less_than_one_is_an_error(self):
        for wrong in (0, -1):
            with self.assertRaisesRegex(ValueError, str(wrong)):
                sinew.set_threads(wrong)


class Library(unittest.TestCase):
    def test_a_library_that_the_process_has_loaded_is_the_only_one(self):
        script = """if True:
            import sinew
            with sinew.Executor() as executor:
                assert sum(executor.map(int, range(100))) == 4950
            with open("/proc/self/maps") as maps:
                print({line.split()[-1] for line in maps if "libsinew" in line})
        """
        with tempfile.TemporaryDirectory() as folder:
            copy = os.path.join(folder, "libsinew.so.0")
            shutil.copy(sinew._library._bundled(), copy)
            done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True,
                                  env={**os.environ, "LD_PRELOAD": copy}, timeout=60)
        self.assertEqual(done.stdout, f"{ {copy} }\n", done.stderr)


class Controller(unittest.TestCase):
    def test_threadpoolctl_limits_the_pool(self):
        try:
            import threadpoolctl
        except ImportError:
            self.skipTest("threadpoolctl is not installed")
        import sinew.threadpoolctl

        sinew.threadpoolctl.register()
        sinew.threadpoolctl.register()
        before = sinew.active_workers()
        rows = [row for row in threadpoolctl.threadpool_info() if row["user_api"] == "sinew"]
        self.assertEqual([row["num_threads"] for row in rows], [before])
        self.assertRegex(rows[0]["version"], r"^\d+\.\d+\.\d+")
        with threadpoolctl.threadpool_limits(before - 1, user_api="sinew"):
            self.assertEqual(sinew.active_workers(), before - 1)
        self.assertEqual(sinew.active_workers(), before)


if __name__ == "__main__":
    unittest.main()
