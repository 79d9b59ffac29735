/* Counts what one thread asks of Python's allocators while a function runs.
 *
 * All three domains (RAW, MEM, OBJ) are wrapped for the time of one call. A domain may
 * itself call another (a large object is taken from RAW): only the outermost counts.
 */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

static PyMemAllocatorEx original[3];
static _Thread_local int depth;        /* calls of an allocator that this thread is in */
static _Thread_local int counting;
static _Thread_local long allocations; /* malloc, calloc, and realloc whether it moves or not */
static _Thread_local long live;        /* blocks taken less blocks given back */

static void taken(long blocks)
{
    if (counting && !depth) {
        allocations++;
        live += blocks;
    }
}

/* The context stays the original's, so that a thread which sees half of a switch calls nothing wrong. */
#define WRAP(domain)                                                        \
    static void *malloc_##domain(void *ctx, size_t size)                    \
    {                                                                       \
        taken(1);                                                           \
        depth++;                                                            \
        void *block = original[domain].malloc(ctx, size);                   \
        depth--;                                                            \
        return block;                                                       \
    }                                                                       \
    static void *calloc_##domain(void *ctx, size_t count, size_t size)      \
    {                                                                       \
        taken(1);                                                           \
        depth++;                                                            \
        void *block = original[domain].calloc(ctx, count, size);            \
        depth--;                                                            \
        return block;                                                       \
    }                                                                       \
    static void *realloc_##domain(void *ctx, void *old, size_t size)        \
    {                                                                       \
        taken(old == NULL);                                                 \
        depth++;                                                            \
        void *block = original[domain].realloc(ctx, old, size);             \
        depth--;                                                            \
        return block;                                                       \
    }                                                                       \
    static void free_##domain(void *ctx, void *block)                       \
    {                                                                       \
        if (counting && !depth && block != NULL)                            \
            live--;                                                         \
        depth++;                                                            \
        original[domain].free(ctx, block);                                  \
        depth--;                                                            \
    }

WRAP(0)
WRAP(1)
WRAP(2)

static const PyMemAllocatorEx wrapped[3] = {
    {NULL, malloc_0, calloc_0, realloc_0, free_0},
    {NULL, malloc_1, calloc_1, realloc_1, free_1},
    {NULL, malloc_2, calloc_2, realloc_2, free_2},
};
static const PyMemAllocatorDomain domains[3] = {PYMEM_DOMAIN_RAW, PYMEM_DOMAIN_MEM, PYMEM_DOMAIN_OBJ};

/* Calls function() with the counters on; its result is dropped inside. -1 with its exception if it raised. */
int measure(PyObject *function, long *allocations_out, long *live_out)
{
    for (int i = 0; i < 3; i++) {
        PyMem_GetAllocator(domains[i], &original[i]);
        PyMemAllocatorEx hook = wrapped[i];
        hook.ctx = original[i].ctx;
        PyMem_SetAllocator(domains[i], &hook);
    }
    allocations = live = 0;
    counting = 1;
    PyObject *result = PyObject_CallNoArgs(function);
    Py_XDECREF(result);
    counting = 0;
    for (int i = 0; i < 3; i++)
        PyMem_SetAllocator(domains[i], &original[i]);
    *allocations_out = allocations;
    *live_out = live;
    return result == NULL ? -1 : 0;
}
