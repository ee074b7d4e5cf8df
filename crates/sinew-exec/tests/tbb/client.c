// Makes the calls that TBB makes, in its order, and prints what it gets: "refused", or the number
// of workers at first and whenever that changes. Each argument is a number to wait for. If built
// for OpenMP it also runs a parallel region first.
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

typedef struct {
    int32_t min, max;
    void *constraints;
    uint32_t count;
    int32_t priority;
    uint32_t flags;
    char reserved[4];
} request_t;

typedef struct {
    uint32_t *workers;
    void **masks;
    uint32_t size;
    uint8_t state;
    uint32_t flags;
} permit_t;

typedef int32_t (*callback_t)(void *, void *, uint32_t);

static int (*connect_to)(callback_t, uint64_t *);
static int (*disconnect)(uint64_t);
static int (*request)(uint64_t, request_t, void *, void **, permit_t *);
static int (*read_permit)(void *, permit_t *);
static int (*deactivate)(void *);
static int (*release)(void *);

static int channel[2];

// Tells the main thread, as TBB tells its threads.
static int32_t changed(void *permit, void *argument, uint32_t flags) {
    uint32_t workers = 77;
    permit_t data = {&workers, NULL, 1, 0, 0};
    if (!argument || flags != 1 || read_permit(permit, &data)) abort();
    if (!(data.flags & 1) && write(channel[1], &workers, sizeof workers) < 0) abort();
    return 0;
}

int main(int count, char **words) {
#ifdef _OPENMP
#pragma omp parallel
    __asm__ volatile("");
#endif
    void *manager = dlopen("libtcm.so.1", RTLD_LAZY | RTLD_GLOBAL | RTLD_NOLOAD);
    if (!manager) return puts("none") < 0;
    const char *others[] = {"tcmIdlePermit", "tcmActivatePermit", "tcmRegisterThread",
                            "tcmUnregisterThread", "tcmGetVersionInfo", "tcmGetVersion"};
    for (int i = 0; i < 6; i++)
        if (!dlsym(manager, others[i])) return puts(others[i]) > 0;
    *(void **)&connect_to = dlsym(manager, "tcmConnect");
    *(void **)&disconnect = dlsym(manager, "tcmDisconnect");
    *(void **)&request = dlsym(manager, "tcmRequestPermit");
    *(void **)&read_permit = dlsym(manager, "tcmGetPermitData");
    *(void **)&deactivate = dlsym(manager, "tcmDeactivatePermit");
    *(void **)&release = dlsym(manager, "tcmReleasePermit");

    uint64_t client;
    if (pipe(channel)) return 1;
    if (connect_to(changed, &client)) return puts("refused") < 0;
    void *permit = NULL;
    request_t wanted = {0, 0, NULL, 0, INT32_MAX / 4 * 2, 8, {0}};
    if (request(client, wanted, &client, &permit, NULL)) return 2;
    wanted.max = 1000, wanted.flags = 0;
    if (request(client, wanted, &client, &permit, NULL)) return 3;
    // The present number of workers, in the way of a change.
    changed(permit, &client, 1);
    for (int i = 1; i < count; i++) {
        uint32_t workers = 78;
        while (workers != (uint32_t)atoi(words[i]))
            if (read(channel[0], &workers, sizeof workers) != sizeof workers) return 4;
        printf("%u workers\n", workers);
        fflush(stdout);
    }
    pid_t child = fork();
    if (!child) {
        uint32_t workers = 77;
        permit_t data = {&workers, NULL, 1, 0, 0};
        _exit(request(client, wanted, &client, &permit, &data) || workers || data.state != 1);
    }
    int status;
    if (waitpid(child, &status, 0) != child || status) return 5;
    if (deactivate(permit) || release(permit) || disconnect(client)) return 6;
    return puts("done") < 0;
}
