// What both programs share: a number for a result, which the examples of sinew-dist print as well.
#include <stddef.h>
#include <stdint.h>
#include <string.h>

// FNV-1a over 64-bit words.
static uint64_t mixed(uint64_t sum, uint64_t word) { return (sum ^ word) * 0x100000001b3u; }

static const uint64_t EMPTY = 0xcbf29ce484222325u;

// The first index of a part.
static inline int first_of(int part, int parts, int length) {
    return (int)((int64_t)length * part / parts);
}
