"""The joblib backend, alone and below scikit-learn."""

import time
import unittest

try:
    import joblib
except ImportError:
    raise unittest.SkipTest("joblib is not installed")

import sinew.joblib

sinew.joblib.register()


def square(n):
    return n * n


def fail(n):
    if n == 7:
        raise ValueError(f"seven: {n}")
    time.sleep(0.001)
    return n


def nested(n):
    return sum(joblib.Parallel(n_jobs=2)(joblib.delayed(square)(m) for m in range(n)))


class Backend(unittest.TestCase):
    def parallel(self, function, values, n_jobs=-1):
        with joblib.parallel_config(backend="sinew"):
            return joblib.Parallel(n_jobs=n_jobs)(joblib.delayed(function)(n) for n in values)

    def test_results_are_those_of_a_serial_run(self):
        for n_jobs in (None, 1, 2, -1):
            self.assertEqual(self.parallel(square, range(300), n_jobs),
                             [n * n for n in range(300)])

    def test_an_exception_reaches_the_caller_and_later_calls_run(self):
        with self.assertRaisesRegex(ValueError, "seven"):
            self.parallel(fail, range(100))
        self.assertEqual(self.parallel(square, range(3)), [0, 1, 4])

    def test_nested_calls_end(self):
        self.assertEqual(self.parallel(nested, range(20)),
                         [sum(m * m for m in range(n)) for n in range(20)])

    def test_a_generator_of_results(self):
        with joblib.parallel_config(backend="sinew"):
            results = joblib.Parallel(n_jobs=2, return_as="generator")(
                joblib.delayed(square)(n) for n in range(50))
            self.assertEqual(sum(results), sum(n * n for n in range(50)))

    def test_no_jobs_is_an_error(self):
        with self.assertRaisesRegex(ValueError, "n_jobs"):
            self.parallel(square, range(3), n_jobs=0)

    def test_a_forest_is_the_same_forest(self):
        try:
            from sklearn.datasets import make_classification
            from sklearn.ensemble import RandomForestClassifier
        except ImportError:
            self.skipTest("scikit-learn is not installed")
        points, labels = make_classification(400, random_state=0)

        def predictions():
            forest = RandomForestClassifier(20, random_state=0, n_jobs=2).fit(points, labels)
            return forest.predict_proba(points)

        serial = predictions()
        with joblib.parallel_config(backend="sinew"):
            ours = predictions()
        self.assertTrue((serial == ours).all())


if __name__ == "__main__":
    unittest.main()
