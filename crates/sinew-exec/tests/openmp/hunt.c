/* Programs whose results depend on the number of threads unless all sides keep to the rules: one a name.
   Each prints one line that does not depend on the number of threads if it is right. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <omp.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysinfo.h>
#include <sys/wait.h>
#include <unistd.h>

enum { N = 1000, ROUNDS = 100 };

static int smallest = 1 << 20, largest = 0;

static void saw(int team) {
    if (team < smallest) smallest = team;
    if (team > largest) largest = team;
}

/* Asks in each region how large the team is. */
static long follow(void) {
    long sum = 0;
    for (int r = 0; r < ROUNDS; r++) {
        int team = 0;
#pragma omp parallel reduction(+ : sum)
        {
            int t = omp_get_thread_num(), n = omp_get_num_threads();
#pragma omp master
            team = n;
            for (int i = t * N / n; i < (t + 1) * N / n; i++) sum += i;
        }
        saw(team);
    }
    return sum;
}

/* Divides by the largest number of threads that there may be, and never looks how many came. */
static long maximum(void) {
    long done = 0;
    int n = omp_get_max_threads();
    for (int r = 0; r < ROUNDS; r++) {
#pragma omp parallel reduction(+ : done)
        {
            int t = omp_get_thread_num();
            for (int i = t * N / n; i < (t + 1) * N / n; i++) done++;
        }
    }
    return done;
}

/* The same by the runtime's own function, which is looked up in the file that it is in, as ctypes does. */
static long looked_up(void) {
    long done = 0;
    Dl_info about;
    if (!dladdr((void *)omp_get_level, &about)) return -1;
    int (*ask)(void) = (int (*)(void))dlsym(dlopen(about.dli_fname, RTLD_LAZY), "omp_get_max_threads");
    int n = ask();
    for (int r = 0; r < ROUNDS; r++) {
#pragma omp parallel reduction(+ : done)
        {
            int t = omp_get_thread_num();
            for (int i = t * N / n; i < (t + 1) * N / n; i++) done++;
        }
    }
    return done;
}

/* The same by the number of processors, asked anew each time: it must not follow the mask. */
static long processors(void) {
    long done = 0;
    for (int r = 0; r < ROUNDS; r++) {
        int n = omp_get_num_procs();
#pragma omp parallel reduction(+ : done)
        {
            int t = omp_get_thread_num();
            for (int i = t * N / n; i < (t + 1) * N / n && i < N; i++) done++;
        }
    }
    return done;
}

/* The same by what the C library says, which no runtime is asked for. */
static long divided(int n) {
    long done = 0;
#pragma omp parallel reduction(+ : done)
    {
        int t = omp_get_thread_num();
        for (int i = t * N / n; i < (t + 1) * N / n && i < N; i++) done++;
    }
    return done;
}

static long online(void) {
    long done = 0;
    for (int r = 0; r < ROUNDS; r++) done += divided((int)sysconf(_SC_NPROCESSORS_ONLN));
    return done;
}

static long nprocs(void) {
    long done = 0;
    for (int r = 0; r < ROUNDS; r++) done += divided(r % 2 ? get_nprocs() : get_nprocs_conf());
    return done;
}

static long own_number(void) {
    long done = 0;
    omp_set_num_threads(2);
    for (int r = 0; r < ROUNDS; r++) {
#pragma omp parallel reduction(+ : done)
        {
            int t = omp_get_thread_num();
            for (int i = t * N / 2; i < (t + 1) * N / 2; i++) done++;
        }
    }
    return done;
}

static long clause(void) {
    long came = 0;
    for (int r = 0; r < ROUNDS; r++) {
#pragma omp parallel num_threads(2) reduction(+ : came)
        came += 1;
#pragma omp parallel for num_threads(3) schedule(dynamic) reduction(+ : came)
        for (int i = 0; i < N; i++) came += omp_get_num_threads() == 3;
    }
    return came;
}

/* Teams that must not vary may be counted on. */
static long fixed(void) {
    long done = 0;
    int n = 0;
    omp_set_dynamic(0);
#pragma omp parallel
#pragma omp single
    n = omp_get_num_threads();
    for (int r = 0; r < ROUNDS; r++) {
#pragma omp parallel reduction(+ : done)
        {
            int t = omp_get_thread_num();
            for (int i = t * N / n; i < (t + 1) * N / n; i++) done++;
        }
    }
    return done;
}

#ifdef PRIVATE
static long mine;
#pragma omp threadprivate(mine)

static long threadprivate(void) {
    long sum = 0;
    for (int r = 0; r < ROUNDS; r++) {
#pragma omp parallel for schedule(static)
        for (int i = 0; i < N; i++) mine += i;
    }
#pragma omp parallel reduction(+ : sum)
    sum += mine;
    return sum;
}
#endif

static long nested(void) {
    long sum = 0, wide = 0;
    for (int r = 0; r < ROUNDS / 10; r++) {
#pragma omp parallel for reduction(+ : sum, wide)
        for (int i = 0; i < 10; i++) {
#pragma omp parallel num_threads(3) reduction(+ : sum, wide)
            {
                int t = omp_get_thread_num(), n = omp_get_num_threads();
                for (int j = t * N / n; j < (t + 1) * N / n; j++) sum += j;
                wide += n > 1 || !omp_in_parallel();
            }
        }
    }
    return sum + wide;
}

static long deep(void) {
    long sum = 0;
    omp_set_max_active_levels(2);
    for (int r = 0; r < ROUNDS / 10; r++) {
#pragma omp parallel for reduction(+ : sum)
        for (int i = 0; i < 4; i++) {
#pragma omp parallel num_threads(2) reduction(+ : sum)
            sum += omp_get_num_threads();
        }
    }
    return sum;
}

static long teams(void) {
    long done = 0;
#pragma omp teams num_teams(2) thread_limit(2) reduction(+ : done)
    {
        int k = omp_get_team_num(), n = omp_get_num_teams();
        long part = 0;
#pragma omp parallel for reduction(+ : part)
        for (int i = k * N / n; i < (k + 1) * N / n; i++) part++;
        done += part;
    }
    return done;
}

static long fib(int n) {
    long a, b;
    if (n < 2) return n;
#pragma omp task shared(a)
    a = fib(n - 1);
    b = fib(n - 2);
#pragma omp taskwait
    return a + b;
}

static long tasks(void) {
    long sum = 0;
    for (int r = 0; r < 10; r++) {
        long chain = 1, f = 0;
#pragma omp parallel
#pragma omp single
        {
            f = fib(14);
            for (int i = 0; i < 20; i++) {
#pragma omp task depend(inout : chain)
                chain = chain * 3 % 1009;
            }
#pragma omp taskloop grainsize(10) shared(sum)
            for (int i = 0; i < N; i++) {
#pragma omp atomic
                sum += i;
            }
        }
        sum += f + chain;
    }
    return sum;
}

static void combine(long *to, long *from) { *to ^= *from; }
#pragma omp declare reduction(mix : long : combine(&omp_out, &omp_in)) initializer(omp_priv = 0)

static long reductions(void) {
    long sum = 0, top = 0, mixed = 0, in_tasks = 0;
    for (int r = 0; r < ROUNDS; r++) {
#pragma omp parallel for reduction(+ : sum) reduction(max : top) reduction(mix : mixed)
        for (int i = 0; i < N; i++) {
            sum += i;
            if (i > top) top = i;
            mixed ^= i * 77L;
        }
#pragma omp parallel reduction(task, + : in_tasks)
#pragma omp for
        for (int i = 0; i < 50; i++) {
#pragma omp task in_reduction(+ : in_tasks)
            in_tasks += i;
        }
    }
    return sum + top + mixed + in_tasks;
}

static long barriers(void) {
    long wrong = 0;
    for (int r = 0; r < ROUNDS; r++) {
        int arrived[3] = {0, 0, 0};
#pragma omp parallel reduction(+ : wrong)
        {
            int n = omp_get_num_threads();
            for (int phase = 0; phase < 3; phase++) {
#pragma omp atomic
                arrived[phase]++;
#pragma omp barrier
                wrong += arrived[phase] != n;
            }
        }
    }
    return wrong;
}

static long constructs(void) {
    long sum = 0, order = 0;
    int fourfold[4] = {0, 0, 0, 0};
    for (int r = 0; r < ROUNDS; r++) {
        int last = -1, copied = 0;
#pragma omp parallel sections reduction(+ : sum)
        {
#pragma omp section
            sum += 1;
#pragma omp section
            sum += 10;
#pragma omp section
            sum += 100;
        }
#pragma omp parallel for schedule(dynamic, 7)
        for (int i = 0; i < N; i++) {
#pragma omp atomic
            fourfold[0] += i;
        }
#pragma omp parallel for schedule(guided)
        for (int i = 0; i < N; i++) {
#pragma omp critical
            fourfold[1] += i;
        }
#pragma omp parallel for schedule(runtime)
        for (int i = 0; i < N; i++) {
#pragma omp atomic
            fourfold[2] += i;
        }
#pragma omp parallel for schedule(monotonic : dynamic, 3) lastprivate(last)
        for (int i = 0; i < N; i++) last = i;
#pragma omp parallel for ordered schedule(static, 1)
        for (int i = 0; i < 20; i++) {
#pragma omp ordered
            order = order * 31 % 100003 + i;
        }
#pragma omp parallel private(copied) reduction(+ : sum)
        {
            copied = 0;
#pragma omp single copyprivate(copied)
            copied = 5;
            sum += copied == 5 ? 0 : 1000000;
        }
        sum += last;
    }
    return sum + order + fourfold[0] + fourfold[1] + fourfold[2];
}

static void *one_of_many(void *answer) {
    *(long *)answer = follow();
    return 0;
}

static long pthreads(void) {
    long answers[3], sum = 0;
    pthread_t threads[3];
    for (int i = 0; i < 3; i++) pthread_create(&threads[i], 0, one_of_many, &answers[i]);
    for (int i = 0; i < 3; i++) pthread_join(threads[i], 0), sum += answers[i];
    return sum;
}

static long forks(void) {
    long sum = 0, part;
    int ends[2];
    if (pipe(ends)) return -1;
    for (int i = 0; i < 3; i++) {
        if (fork() == 0) {
            part = follow();
            _exit(write(ends[1], &part, sizeof part) != sizeof part);
        }
    }
    for (int i = 0; i < 3; i++) sum += read(ends[0], &part, sizeof part) == sizeof part ? part : 0;
    while (wait(0) > 0) {
    }
    return sum;
}

static const struct {
    const char *name;
    long (*run)(void);
} cases[] = {{"follow", follow},         {"maximum", maximum}, {"looked_up", looked_up}, {"processors", processors}, {"own_number", own_number},
             {"clause", clause},         {"fixed", fixed},     {"nested", nested},         {"deep", deep},
             {"teams", teams},           {"tasks", tasks},     {"reductions", reductions}, {"barriers", barriers},
             {"constructs", constructs}, {"pthreads", pthreads}, {"forks", forks},
             {"online", online},         {"nprocs", nprocs},
#ifdef PRIVATE
             {"threadprivate", threadprivate},
#endif
};

int main(int count, char **words) {
    for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++) {
        if (count > 1 && strcmp(words[1], cases[i].name) == 0) {
            printf("%ld\n", cases[i].run());
            /* If asked to: the smallest and the largest team. */
            if (count > 2) printf("%d %d\n", smallest, largest);
            return 0;
        }
    }
    return 2;
}
