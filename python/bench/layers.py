"""numba's threading layers beside each other: the same functions, in turns.

    python python/bench/layers.py [--rounds N] [--layers sinew,omp,tbb,workqueue]

Each layer has an interpreter of its own, which measures when it is told to. A figure is the median
time of a call over the rounds; the last column is Sinew's time divided by the layer's.
"""

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import time

LAYERS = ("sinew", "omp", "tbb", "workqueue")


def problems():
    """The functions that are measured: a name, a call, the calls of a round, and a check."""
    import numba
    import numpy as np

    @numba.njit(parallel=True)
    def numbers(out):
        for i in numba.prange(out.size):
            out[i] = i

    @numba.njit(parallel=True)
    def total(values):
        sum = 0.0
        for i in numba.prange(values.size):
            sum += values[i]
        return sum

    @numba.njit(parallel=True)
    def triad(a, b, c):
        for i in numba.prange(a.size):
            a[i] = b[i] + 3.0 * c[i]

    @numba.njit(parallel=True)
    def uneven(n):
        found = np.zeros(n, np.int64)
        for i in numba.prange(n):
            sum = 0
            for j in range(i * 40):
                sum += j ^ i
            found[i] = sum
        return found

    @numba.vectorize(["float64(float64)"], target="parallel")
    def wave(x):
        return np.sin(x) * np.cos(x)

    few = np.empty(64, np.int64)
    small, large = np.ones(2_000), np.ones(2_000_000)
    b, c = np.random.default_rng(0).random((2, 2_000_000))
    points = np.linspace(0.0, 100.0, 200_000)

    def chunked():
        with numba.parallel_chunksize(16):
            return uneven(2_000)

    return [
        ("64 numbers", lambda: numbers(few), 2000, None),
        ("sum of 2,000", lambda: total(small), 2000, 2_000.0),
        ("sum of 2,000,000", lambda: total(large), 30, 2_000_000.0),
        ("triad of 2,000,000", lambda: triad(large.copy(), b, c), 10, None),
        ("uneven rows", lambda: uneven(2_000).sum(), 5, None),
        ("uneven rows, chunks of 16", lambda: chunked().sum(), 5, None),
        ("ufunc over 200,000", lambda: wave(points).shape[0], 20, 200_000),
    ]


def serve(layer):
    """Measures a problem for each line that comes in."""
    if layer == "sinew":
        import sinew.numba

        sinew.numba.use()
    else:
        os.environ["NUMBA_THREADING_LAYER"] = layer
    table = problems()
    for name, call, _, expected in table:
        result = call()
        if expected is not None and result != expected:
            sys.exit(f"{layer}, {name}: {result} instead of {expected}")
    print(json.dumps([name for name, *_ in table]), flush=True)
    for line in sys.stdin:
        _, call, count, _ = table[int(line)]
        begin = time.perf_counter_ns()
        for _ in range(count):
            call()
        print((time.perf_counter_ns() - begin) / count, flush=True)


class Server:
    """An interpreter with one layer."""

    def __init__(self, layer):
        command = [sys.executable, __file__, "--serve", layer]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, text=True)
        line = self.process.stdout.readline()
        if not line:
            last = self.process.stderr.read().strip().splitlines()[-1:]
            raise RuntimeError(last[0] if last else "it ended at once")
        self.names = json.loads(line)

    def measure(self, problem):
        self.process.stdin.write(f"{problem}\n")
        self.process.stdin.flush()
        return float(self.process.stdout.readline())

    def end(self):
        self.process.stdin.close()
        self.process.wait()


def microseconds(nanoseconds):
    return f"{nanoseconds / 1000:.1f} µs"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=11)
    parser.add_argument("--layers", default=",".join(LAYERS))
    parser.add_argument("--serve", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        return serve(options.serve)
    chosen = options.layers.split(",")
    if options.rounds < 1 or not set(chosen) <= set(LAYERS) or "sinew" not in chosen:
        parser.error(f"--rounds is at least 1, --layers some of {', '.join(LAYERS)} with sinew")
    servers = {}
    for layer in chosen:
        try:
            servers[layer] = Server(layer)
        except RuntimeError as error:
            print(f"skipped: {layer}: {error}")
    if "sinew" not in servers:
        sys.exit("nothing to compare with: the layer sinew did not start")
    import numba

    print(f"numba {numba.__version__}, Python {platform.python_version()}, {os.cpu_count()} CPUs, "
          f"{options.rounds} rounds, the median time of a call; beside it Sinew's time "
          "divided by the layer's")
    for problem, name in enumerate(servers["sinew"].names):
        times = {layer: [] for layer in servers}
        for _ in range(options.rounds):
            for layer, server in servers.items():
                times[layer].append(server.measure(problem))
        ours = times["sinew"]
        print(name)
        for layer, theirs in times.items():
            ratio = statistics.median(a / b for a, b in zip(ours, theirs))
            print(f"  {layer:10} {microseconds(statistics.median(theirs)):>12} {ratio:7.2f}")
    for server in servers.values():
        server.end()


if __name__ == "__main__":
    main()
