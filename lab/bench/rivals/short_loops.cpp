// Many short parallel loops, as programs of small grids and simulations have: `short_loops LOOPS WIDTH TURNS`.
// Each loop has WIDTH iterations of TURNS dependent multiplications. Prints a number that does not depend on the number of threads.
// With WITH_TBB the loops are oneTBB's, unless a further word asks for a single thread; without, they are OpenMP's.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>
#ifdef WITH_TBB
#include <oneapi/tbb/parallel_for.h>
#endif

int main(int count, char** words) {
    if (count < 4) return 2;
    const long loops = std::atol(words[1]), width = std::atol(words[2]), turns = std::atol(words[3]);
    std::vector<std::uint64_t> cells(width, 1);
    for (long loop = 0; loop < loops; loop++) {
        const auto update = [&](long i) {
            std::uint64_t cell = cells[i] + i;
            for (long turn = 0; turn < turns; turn++) cell = cell * 6364136223846793005u + 1442695040888963407u;
            cells[i] = cell;
        };
#ifdef WITH_TBB
        if (count == 4) {
            tbb::parallel_for(0L, width, update);
            continue;
        }
#endif
#pragma omp parallel for schedule(static)
        for (long i = 0; i < width; i++) update(i);
    }
    std::uint64_t sum = 0;
    for (std::uint64_t cell : cells) sum ^= cell;
    std::printf("%llu\n", static_cast<unsigned long long>(sum));
}
