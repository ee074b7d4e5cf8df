/* Loads libraries that were built by different compilers, so that two OpenMP runtimes are in one process, and neither is known to the program. */
#include <dlfcn.h>
#include <stdio.h>

int main(int count, char **words) {
    for (int i = 1; i + 1 < count; i += 2) {
        void *library = dlopen(words[i], RTLD_NOW | RTLD_LOCAL);
        long (*run)(void) = library ? (long (*)(void))dlsym(library, words[i + 1]) : 0;
        if (!run) return fprintf(stderr, "%s\n", dlerror()), 1;
        printf("%ld\n", run());
    }
    return 0;
}
