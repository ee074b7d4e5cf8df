/* Counts in data per thread of another object, and prints how often the parts of all threads were less than the whole.
   LINKED: the object is linked. NAMED: so it is, and the program names the data itself. Without, the object is loaded: by this thread (`loads`),
   by another one that ends (`ends`), or one that stays, while this one has regions (`stays`), or as one that registers its functions (`registers`). */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { N = 100 };

#ifdef NAMED
extern long mine;
#pragma omp threadprivate(mine)
static void add(long i) { mine += i; }
static long kept(void) { return mine; }
#elif defined LINKED
void add(long i);
long kept(void);
#else
static void (*add)(long);
static long (*kept)(void);
#endif

static long narrow_then_wide(void) {
    long wrong = 0, sum, all = 0;
    for (int r = 0; r < ROUNDS; r++) {
#pragma omp parallel for schedule(static)
        for (long i = 0; i < N; i++) add(i);
        all += N * (N - 1) / 2;
        /* The share changes now and then. */
        usleep(500);
        sum = 0;
#pragma omp parallel reduction(+ : sum)
        sum += kept();
        wrong += sum != all;
    }
    return wrong;
}

#if !defined NAMED && !defined LINKED
static sem_t loaded, done;
static const char *file;

void register_functions(void (*add_)(long), long (*kept_)(void)) { add = add_, kept = kept_; }

static void load(void) {
    void *object = dlopen(file, RTLD_NOW | RTLD_LOCAL);
    if (!object) fprintf(stderr, "%s\n", dlerror());
    if (add) return;
    add = (void (*)(long))dlsym(object, "add");
    kept = (long (*)(void))dlsym(object, "kept");
}

static void *stays(void *unused) {
    dlopen(file, RTLD_NOW | RTLD_LOCAL);
    sem_post(&loaded);
    sem_wait(&done);
    return unused;
}

static void *ends(void *unused) {
    dlopen(file, RTLD_NOW | RTLD_LOCAL);
    return unused;
}

static int regions(int how_many) {
    int sum = 0;
    for (int r = 0; r < how_many; r++) {
#pragma omp parallel reduction(+ : sum)
        sum += 1;
    }
    return sum;
}

int main(int count, char **words) {
    pthread_t thread;
    if (count < 3) return 2;
    file = words[2];
    sem_init(&loaded, 0, 0), sem_init(&done, 0, 0);
    regions(10);
    if (!strcmp(words[1], "stays")) {
        pthread_create(&thread, 0, stays, 0);
        while (sem_trywait(&loaded)) regions(1);
    } else if (!strcmp(words[1], "ends")) {
        pthread_create(&thread, 0, ends, 0);
        pthread_join(thread, 0);
    } else {
        load();
    }
    /* The object is loaded, and its constructor has registered the functions. */
    printf("%ld\n", narrow_then_wide());
    if (!strcmp(words[1], "stays")) sem_post(&done), pthread_join(thread, 0);
    return 0;
}
#else
int main(void) { return printf("%ld\n", narrow_then_wide()) < 0; }
#endif
