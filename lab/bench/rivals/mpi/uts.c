// Unbalanced tree search over MPI, without Sinew: work stealing by two-sided messages.
//
//     mpicc -O3 -march=native -o uts lab/bench/rivals/mpi/uts.c -lm
//     mpirun -n 2 uts T3 [chunk] [interval]
//
// Each rank has a stack of nodes and runs its youngest. After `interval` nodes it looks for
// questions, and answers each with its oldest `chunk` nodes if it has more than twice as many, or
// with a refusal. A rank without nodes asks a rank chosen at random, and another one after each
// refusal. The end is found by a token that goes around the ring of ranks while they are idle.
// Sources: Olivier et al., "UTS: an unbalanced tree search benchmark" (LCPC 2006), for the trees;
// Dinan, Olivier, Sabin, Prins, Sadayappan and Tseng, "Dynamic load balancing of unbalanced
// computations using message passing" (IPDPS 2007), for stealing with polling; Dijkstra, Feijen
// and van Gasteren (1983) for the token.
//
// The status is 1 if the counts are not the published ones.
#include <math.h>
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#ifdef __SHA__
#include <immintrin.h>
#endif

// The 20 bytes of a node's hash as words, and its depth.
typedef struct {
    uint32_t state[5], depth;
} Node;

// ---- SHA-1 of one block

static const uint32_t INITIAL[5] = {0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476, 0xc3d2e1f0};

#ifdef __SHA__
// Four rounds: adds their words to what the rounds before leave of `e`.
#define ROUNDS(group, phase) \
    do { \
        __m128i before = abcd; \
        if ((group) >= 4) \
            words[(group) % 4] = _mm_sha1msg2_epu32( \
                _mm_xor_si128(_mm_sha1msg1_epu32(words[(group) % 4], words[((group) + 1) % 4]), \
                              words[((group) + 2) % 4]), \
                words[((group) + 3) % 4]); \
        e = (group) ? _mm_sha1nexte_epu32(e, words[(group) % 4]) : _mm_add_epi32(e, words[0]); \
        abcd = _mm_sha1rnds4_epu32(abcd, e, phase); \
        e = before; \
    } while (0)

#define PHASE(first, phase) \
    ROUNDS(first, phase); \
    ROUNDS(first + 1, phase); \
    ROUNDS(first + 2, phase); \
    ROUNDS(first + 3, phase); \
    ROUNDS(first + 4, phase)

static void hash_block(const uint32_t block[16], uint32_t out[5]) {
    __m128i words[4];
    for (int i = 0; i < 4; i++) {
        words[i] = _mm_shuffle_epi32(_mm_loadu_si128((const __m128i *)block + i), 0x1b);
    }
    __m128i first = _mm_set_epi32(INITIAL[0], INITIAL[1], INITIAL[2], INITIAL[3]);
    __m128i last = _mm_set_epi32(INITIAL[4], 0, 0, 0);
    __m128i abcd = first, e = last;
    PHASE(0, 0);
    PHASE(5, 1);
    PHASE(10, 2);
    PHASE(15, 3);
    e = _mm_sha1nexte_epu32(e, last);
    abcd = _mm_add_epi32(abcd, first);
    _mm_storeu_si128((__m128i *)out, _mm_shuffle_epi32(abcd, 0x1b));
    out[4] = _mm_extract_epi32(e, 3);
}
#else
static uint32_t rotate(uint32_t x, int by) { return x << by | x >> (32 - by); }

static void hash_block(const uint32_t block[16], uint32_t out[5]) {
    uint32_t w[80], a, b, c, d, e;
    memcpy(w, block, 64);
    for (int i = 16; i < 80; i++) w[i] = rotate(w[i - 3] ^ w[i - 8] ^ w[i - 14] ^ w[i - 16], 1);
    a = INITIAL[0], b = INITIAL[1], c = INITIAL[2], d = INITIAL[3], e = INITIAL[4];
    for (int i = 0; i < 80; i++) {
        uint32_t f, k;
        if (i < 20) f = (b & c) | (~b & d), k = 0x5a827999;
        else if (i < 40) f = b ^ c ^ d, k = 0x6ed9eba1;
        else if (i < 60) f = (b & c) | (b & d) | (c & d), k = 0x8f1bbcdc;
        else f = b ^ c ^ d, k = 0xca62c1d6;
        uint32_t next = rotate(a, 5) + f + e + k + w[i];
        e = d, d = c, c = rotate(b, 30), b = a, a = next;
    }
    out[0] = INITIAL[0] + a, out[1] = INITIAL[1] + b, out[2] = INITIAL[2] + c;
    out[3] = INITIAL[3] + d, out[4] = INITIAL[4] + e;
}
#endif

// ---- Trees

typedef struct {
    const char *name;
    int geometric;
    double chance;  // of children, or the mean number of children
    uint32_t root, children, levels, seed;
    uint64_t nodes, leaves, depth;  // published
} Tree;

static const Tree TREES[] = {
    {"T1", 1, 4.0, 0, 0, 10, 19, 4130071, 3305118, 10},
    {"T1L", 1, 4.0, 0, 0, 13, 29, 102181082, 81746377, 13},
    {"T3", 0, 0.124875, 2000, 8, 0, 42, 4112897, 3599034, 1572},
    {"T3L", 0, 0.200014, 2000, 5, 0, 7, 111345631, 89076904, 17844},
};

static Node root_of(const Tree *tree) {
    // 16 bytes of zeros and the seed: 20 bytes.
    uint32_t block[16] = {0, 0, 0, 0, tree->seed, 0x80000000};
    block[15] = 8 * 20;
    Node node;
    hash_block(block, node.state);
    node.depth = 0;
    return node;
}

static Node child_of(const Node *parent, uint32_t number) {
    uint32_t block[16] = {0};
    memcpy(block, parent->state, 20);
    block[5] = number;
    block[6] = 0x80000000;
    block[15] = 8 * 24;
    Node node;
    hash_block(block, node.state);
    node.depth = parent->depth + 1;
    return node;
}

static uint32_t children_of(const Tree *tree, const Node *node) {
    double draw = (node->state[4] & 0x7fffffff) / 2147483648.0;
    if (tree->geometric) {
        if (node->depth >= tree->levels) return 0;
        double drawn = floor(log(1.0 - draw) / log(1.0 - 1.0 / (1.0 + tree->chance)));
        return drawn > 100 ? 100 : (uint32_t)drawn;
    }
    if (node->depth == 0) return tree->root;
    return draw < tree->chance ? tree->children : 0;
}

// ---- A rank

enum { QUESTION, NODES, REFUSAL, TOKEN, END };

static int rank, ranks;
static Node *stack;
// The nodes of this rank are those from `bottom` to before `top`.
static size_t bottom, top, room;
static size_t chunk;
static uint64_t nodes, leaves, deepest, sent, refused, stolen;
// Of the token that this rank has, and of this rank: whether units have moved.
static int has_token, token_is_black, is_black, ended;

static void send(int to, int tag, const void *bytes, size_t length) {
    MPI_Send(bytes, (int)length, MPI_BYTE, to, tag, MPI_COMM_WORLD);
    sent++;
}

static void reserve(size_t more) {
    if (top + more <= room) return;
    memmove(stack, stack + bottom, (top - bottom) * sizeof *stack);
    top -= bottom, bottom = 0;
    if (top + more <= room / 2) return;
    room = 2 * (top + more);
    stack = realloc(stack, room * sizeof *stack);
    if (!stack) MPI_Abort(MPI_COMM_WORLD, 1);
}

// Reads a message of which the status is known. Returns its tag.
static int read_message(const MPI_Status *status) {
    int from = status->MPI_SOURCE, tag = status->MPI_TAG, length;
    MPI_Get_count(status, MPI_BYTE, &length);
    uint8_t byte = 0;
    void *place = &byte;
    if (tag == NODES) {
        size_t count = (size_t)length / sizeof *stack;
        reserve(count);
        place = stack + top;
        top += count;
        stolen += count;
    }
    MPI_Recv(place, length, MPI_BYTE, from, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    switch (tag) {
    case QUESTION:
        if (top - bottom > 2 * chunk) {
            send(from, NODES, stack + bottom, chunk * sizeof *stack);
            bottom += chunk;
            is_black = 1;
        } else {
            send(from, REFUSAL, NULL, 0);
        }
        break;
    case REFUSAL: refused++; break;
    case TOKEN: has_token = 1, token_is_black = byte; break;
    case END: ended = 1; break;
    default: break;
    }
    return tag;
}

static void read_all(void) {
    for (;;) {
        int any;
        MPI_Status status;
        MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &any, &status);
        if (!any) return;
        read_message(&status);
    }
}

// Passes the token on. The caller has no nodes and waits for none, so none are on the way to it.
static void pass_token(void) {
    if (!has_token) return;
    has_token = 0;
    if (rank == 0 && !token_is_black && !is_black) {
        for (int to = 1; to < ranks; to++) send(to, END, NULL, 0);
        ended = 1;
        return;
    }
    uint8_t byte = (uint8_t)(is_black || (rank != 0 && token_is_black));
    is_black = 0;
    send((rank + 1) % ranks, TOKEN, &byte, 1);
}

// Asks other ranks until nodes have come, or all are done. Each question waits for its answer, so
// none is on the way when a rank enters `drain`.
static void steal(void) {
    while (!ended && top == bottom) {
        pass_token();
        if (ended) return;
        int victim = rand() % (ranks - 1);
        send(victim + (victim >= rank), QUESTION, NULL, 0);
        for (int tag = QUESTION; tag != NODES && tag != REFUSAL;) {
            MPI_Status status;
            MPI_Probe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
            tag = read_message(&status);
        }
    }
}

static void search(const Tree *tree, size_t interval) {
    for (;;) {
        for (size_t left = interval; left > 0 && top > bottom; left--) {
            Node node = stack[--top];
            uint32_t count = children_of(tree, &node);
            nodes++;
            leaves += count == 0;
            if (node.depth > deepest) deepest = node.depth;
            reserve(count);
            for (uint32_t child = 0; child < count; child++) {
                stack[top++] = child_of(&node, child);
            }
        }
        if (top > bottom) {
            read_all();
        } else if (ranks == 1) {
            return;
        } else {
            steal();
            if (ended) return;
        }
    }
}

// Answers the others' questions until no rank waits for an answer.
static void drain(void) {
    MPI_Request barrier;
    MPI_Ibarrier(MPI_COMM_WORLD, &barrier);
    for (int done = 0; !done;) {
        read_all();
        MPI_Test(&barrier, &done, MPI_STATUS_IGNORE);
    }
}

static int report(const Tree *tree, double seconds) {
    uint64_t own[5] = {nodes, leaves, sent, refused, stolen}, sum[5], depth;
    MPI_Reduce(own, sum, 5, MPI_UINT64_T, MPI_SUM, 0, MPI_COMM_WORLD);
    MPI_Reduce(&deepest, &depth, 1, MPI_UINT64_T, MPI_MAX, 0, MPI_COMM_WORLD);
    if (rank != 0) return 0;
    printf("%s: %llu nodes, %llu levels deep, %llu leaves; %d ranks, %.3f s\n", tree->name,
           (unsigned long long)sum[0], (unsigned long long)depth, (unsigned long long)sum[1], ranks,
           seconds);
    printf("for a million units: %.1f messages, %.1f failed steals, %.1f units moved\n",
           1e6 * (double)sum[2] / (double)sum[0], 1e6 * (double)sum[3] / (double)sum[0],
           1e6 * (double)sum[4] / (double)sum[0]);
    if (sum[0] == tree->nodes && sum[1] == tree->leaves && depth == tree->depth) return 0;
    fprintf(stderr, "%s has other published counts\n", tree->name);
    return 1;
}

int main(int argc, char **argv) {
    const Tree *tree = NULL;
    for (size_t i = 0; i < sizeof TREES / sizeof *TREES; i++) {
        if (strcasecmp(argc > 1 ? argv[1] : "T3", TREES[i].name) == 0) tree = &TREES[i];
    }
    chunk = argc > 2 ? strtoul(argv[2], NULL, 10) : 20;
    size_t interval = argc > 3 ? strtoul(argv[3], NULL, 10) : 32;
    if (!tree || chunk == 0 || interval == 0) {
        fprintf(stderr, "uts takes a tree (T1, T1L, T3, T3L), a chunk and an interval\n");
        return 2;
    }
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    srand((unsigned)rank);
    reserve(1);
    if (rank == 0) stack[top++] = root_of(tree);
    // The first token: rank 0 has it, and it was around no rank yet.
    has_token = rank == 0, token_is_black = 1;
    MPI_Barrier(MPI_COMM_WORLD);
    double began = MPI_Wtime();
    search(tree, interval);
    drain();
    int status = report(tree, MPI_Wtime() - began);
    free(stack);
    MPI_Finalize();
    return status;
}
