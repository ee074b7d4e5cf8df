/* A scope: tasks that spawn tasks, and one wait for all. */
#include <sinew.h>

#include <stdio.h>

enum { TASKS = 64 };

typedef struct node {
    sinew_scope *scope;
    struct node *all;
    unsigned number;
    unsigned visits;
} node;

static void visit(void *context) {
    node *here = context;
    unsigned child;
    here->visits++;
    for (child = 2 * here->number + 1; child <= 2 * here->number + 2 && child < TASKS; child++) {
        if (sinew_scope_spawn(here->scope, &here->all[child], visit) != SINEW_OK) return;
    }
}

int main(void) {
    static node nodes[TASKS];
    sinew_scope *scope;
    unsigned i, visits = 0;
    if (sinew_scope_begin(NULL, &scope) != SINEW_OK) return 1;
    for (i = 0; i < TASKS; i++) {
        nodes[i].scope = scope;
        nodes[i].all = nodes;
        nodes[i].number = i;
    }
    if (sinew_scope_spawn(scope, &nodes[0], visit) != SINEW_OK) return 1;
    if (sinew_scope_end(scope) != SINEW_OK) return 1;
    for (i = 0; i < TASKS; i++) visits += nodes[i].visits;
    printf("%u\n", visits);
    return visits == TASKS ? 0 : 1;
}
