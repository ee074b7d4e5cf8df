/* Nested tasks: a join at each level. */
#include <sinew.h>

#include <stdio.h>

typedef struct fib_call {
    unsigned n;
    unsigned long value;
} fib_call;

static void fib(void *context) {
    fib_call *call = context;
    if (call->n < 2) {
        call->value = call->n;
    } else {
        fib_call a = {0, 0}, b = {0, 0};
        a.n = call->n - 1;
        b.n = call->n - 2;
        if (sinew_join(NULL, &a, fib, &b, fib) == SINEW_OK) call->value = a.value + b.value;
    }
}

int main(void) {
    fib_call call = {20, 0};
    fib(&call);
    printf("%lu\n", call.value);
    return call.value == 6765 ? 0 : 1;
}
