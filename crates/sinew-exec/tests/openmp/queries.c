/* Calls every function of asked.h (generated: `Q(name)` for one that takes nothing, `L(name, level)` for one that takes a level, `F(name)` for
   Fortran's), and asks for the processors of the first place, at the position that the first word names. It does so three ways: by name, by a look-up among the names that all objects see, and by a look-up in the runtime's file.
   With STRANGER the program is not linked to a runtime and knows it by the second word only; then there is one way. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#define Q(name) int name(void);
#define F(name) int name(void);
#define L(name, level) int name(int);
#ifndef STRANGER
#include "declarations.h"
void omp_get_place_proc_ids(int, int *);
#endif
#undef Q
#undef L
#undef F

static void *runtime;

static void say(const char *name, int level, const char *way, int answer) { printf("%s(%d) %s %d\n", name, level, way, answer); }

static void looked_up(const char *name, int level, int takes_level, const char *way, void *object) {
    void *found = dlsym(object, name);
    if (!found) {
        printf("%s(%d) %s missing, %s\n", name, level, way, dlerror() ? "error" : "no error");
        return;
    }
    say(name, level, way, takes_level ? ((int (*)(int))found)(level) : ((int (*)(void))found)());
}

static void say_ids(const char *way, int (*count)(int), void (*find)(int, int *)) {
    int ids[1024], many = count ? count(0) : 0;
    if (!find || many > 1024) return;
    for (int i = 0; i < 1024; i++) ids[i] = -1;
    find(0, ids);
    for (int i = 0; i <= many && i < 1024; i++) say("omp_get_place_proc_ids", i, way, ids[i]);
}

#ifdef STRANGER
#define DIRECTLY(call)
#else
#define DIRECTLY(call) call
#endif

static void ask(void *unused) {
    (void)unused;
    looked_up("omp_get_num_threads", 0, 0, "team", runtime);
#define Q(name) \
    DIRECTLY(say(#name, 0, "direct", name());) \
    looked_up(#name, 0, 0, "default", RTLD_DEFAULT); \
    looked_up(#name, 0, 0, "next", RTLD_NEXT); \
    looked_up(#name, 0, 0, "file", runtime);
#define F Q
#define L(name, level) \
    DIRECTLY(say(#name, level, "direct", name(level));) \
    looked_up(#name, level, 1, "default", RTLD_DEFAULT); \
    looked_up(#name, level, 1, "next", RTLD_NEXT); \
    looked_up(#name, level, 1, "file", runtime);
#include "asked.h"
#undef Q
#undef L
#undef F
    DIRECTLY(say_ids("direct", omp_get_place_num_procs, omp_get_place_proc_ids);)
    say_ids("file", (int (*)(int))dlsym(runtime, "omp_get_place_num_procs"), (void (*)(int, int *))dlsym(runtime, "omp_get_place_proc_ids"));
}

#ifdef STRANGER
static int (*thread_num)(void);

static void first_asks(void *unused) {
    if (thread_num() == 0) ask(unused);
}

int main(int count, char **words) {
    if (count < 3) return 2;
    runtime = dlopen(words[2], RTLD_NOW | RTLD_LOCAL);
    void (*region)(void (*)(void *), void *, unsigned, unsigned) =
        (void (*)(void (*)(void *), void *, unsigned, unsigned))dlsym(runtime, "GOMP_parallel");
    thread_num = (int (*)(void))dlsym(runtime, "omp_get_thread_num");
    if (!strcmp(words[1], "outside")) ask(0);
    if (!strcmp(words[1], "inside")) region(first_asks, 0, 0, 0);
    return 0;
}
#else
int omp_get_thread_num(void);
void omp_set_max_active_levels(int);

static void first_asks(void) {
    if (omp_get_thread_num() == 0) ask(0);
}

int main(int count, char **words) {
    Dl_info about;
    const char *place = count > 1 ? words[1] : "";
    if (!dladdr((void *)omp_get_thread_num, &about)) return 2;
    runtime = dlopen(about.dli_fname, RTLD_LAZY);
    if (!strcmp(place, "file")) return printf("%s", about.dli_fname) < 0;
    if (!strcmp(place, "outside")) ask(0);
    if (!strcmp(place, "deep")) omp_set_max_active_levels(2);
#pragma omp parallel
    {
        if (omp_get_thread_num() == 0) {
            if (!strcmp(place, "inside")) ask(0);
            if (!strcmp(place, "nested") || !strcmp(place, "deep")) {
#pragma omp parallel num_threads(2)
                first_asks();
            }
            if (!strcmp(place, "task")) {
#pragma omp task if (0)
                ask(0);
            }
        }
    }
    if (!strcmp(place, "after")) ask(0);
    return 0;
}
#endif
