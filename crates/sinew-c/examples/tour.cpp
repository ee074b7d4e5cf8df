// A loop, a reduction, nested tasks, a scope and a control.
#include <sinew.hpp>

#include <cstdio>
#include <string>
#include <vector>

static unsigned long fib(unsigned n) {
    if (n < 2) return n;
    unsigned long a = 0, b = 0;
    sinew::join([&] { a = fib(n - 1); }, [&] { b = fib(n - 2); });
    return a + b;
}

int main() {
    std::vector<double> squares(10000);
    sinew::parallel_for(squares.size(), [&](std::size_t i) { squares[i] = double(i) * double(i); });

    const double sum = sinew::reduce(
        squares.size(), 0.0, [&](double sum, std::size_t i) { return sum + squares[i]; },
        [](double a, double b) { return a + b; });

    std::string left, right;
    sinew::scope([&](sinew::task_scope& s) {
        s.spawn([&] { left = "left"; });
        s.spawn([&] { right = "right"; });
    });

    sinew::control control;
    control.set_threads(1);
    control.set_schedule(SINEW_SCHEDULE_DYNAMIC, 64);
    sinew::parallel_for(100, [](std::size_t) {}, sinew::options().under(control));

    std::printf("%.0f %lu %s %s\n", sum, fib(20), left.c_str(), right.c_str());
    return sum > 333283334999.0 && sum < 333283335001.0 && control.progress().done == 100 ? 0 : 1;
}
