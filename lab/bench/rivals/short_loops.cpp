// Many short parallel loops, as programs of small grids and simulations have: `short_loops LOOPS WIDTH TURNS`.
// Each loop has WIDTH iterations of TURNS dependent multiplications. Prints a number that does not depend on the number of threads.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

int main(int count, char** words) {
    if (count != 4) return 2;
    const long loops = std::atol(words[1]), width = std::atol(words[2]), turns = std::atol(words[3]);
    std::vector<std::uint64_t> cells(width, 1);
    for (long loop = 0; loop < loops; loop++) {
#pragma omp parallel for schedule(static)
        for (long i = 0; i < width; i++) {
            std::uint64_t cell = cells[i] + i;
            for (long turn = 0; turn < turns; turn++) cell = cell * 6364136223846793005u + 1442695040888963407u;
            cells[i] = cell;
        }
    }
    std::uint64_t sum = 0;
    for (std::uint64_t cell : cells) sum ^= cell;
    std::printf("%llu\n", static_cast<unsigned long long>(sum));
}
