/* What the floors share: what they work on, and how they are timed.
 *
 * Inside C, so that no call from Python counts: each function does its work `count` times and returns
 * nanoseconds of this thread's CPU time (system time, and so page faults, included) for each time.
 */
#define _GNU_SOURCE
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct work {
    size_t items;
    const void *const *payloads; /* of `size` bytes each */
    size_t size;
    const uint8_t *wire; /* what the decoders read: `length` bytes */
    size_t length;
    size_t header; /* of the family, between nlmsghdr and the attributes; the type for `find` */
    uint8_t *out;  /* what an encoder wrote at last, or where it writes */
    uint64_t result;
};

#define ALIGN4(n) (((n) + 3) & ~(size_t)3)
#define KEEP(x) __asm__ volatile("" : : "g"(x) : "memory") /* the compiler must believe that x is used */

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return t.tv_sec * 1e9 + t.tv_nsec;
}

/* `once_NAME` returns memory to free, or NULL. */
#define FLOOR(name)                                       \
    double name(struct work *w, long count)               \
    {                                                     \
        void *block = NULL;                               \
        double start = now();                             \
        for (long i = 0; i < count; i++) {                \
            free(block);                                  \
            block = once_##name(w);                       \
            KEEP(block);                                  \
        }                                                 \
        double elapsed = now() - start;                   \
        if (block != NULL && w->out != NULL)              \
            memcpy(w->out, block, w->result);             \
        free(block);                                      \
        return elapsed / count;                           \
    }
