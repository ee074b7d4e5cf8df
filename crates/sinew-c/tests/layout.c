/* The header's structures have the layout that the library has: layout.inc, which the tests in Rust
 * compare with the library. */
#include <sinew.h>

#include <stdio.h>

int main(void) {
    int wrong = 0;
#define LAYOUT(type, field, at)                             \
    if (offsetof(type, field) != (at)) {                    \
        printf(#type "." #field ": not at " #at "\n"); \
        wrong++;                                            \
    }
#define SIZE(type, size)                      \
    if (sizeof(type) != (size)) {             \
        printf(#type ": not " #size "\n"); \
        wrong++;                              \
    }
#include "layout.inc"
    if (sinew_abi_version() != SINEW_ABI) wrong++;
    return wrong;
}
