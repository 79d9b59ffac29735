# cython: language_level=3, freethreading_compatible=True, auto_pickle=False, autotestdict=False
"""System calls, without what Python's socket module adds to them."""

cimport cython
from cpython.bytes cimport PyBytes_FromStringAndSize
from cpython.exc cimport PyErr_CheckSignals
from cpython.mem cimport PyMem_RawFree, PyMem_RawMalloc
from libc.errno cimport EAGAIN, EINTR, EMSGSIZE, errno

from os import strerror
from threading import TIMEOUT_MAX as _longest

from netlink_codec.errors import Timeout

cdef extern from * nogil:
    """
    #include <stddef.h>
    #include <string.h>
    #include <sys/socket.h>

    /* Buffers at rest. Each place is emptied and filled by one atomic step, so any thread may. */
    #define NLC_SPARE 16
    static void *nlc_spare[NLC_SPARE];

    static void *nlc_take(void)
    {
        for (int i = 0; i < NLC_SPARE; i++) {
            void *buffer = __atomic_exchange_n(&nlc_spare[i], NULL, __ATOMIC_ACQ_REL);

            if (buffer != NULL)
                return buffer;
        }
        return NULL;
    }

    static int nlc_put(void *buffer)
    {
        for (int i = 0; i < NLC_SPARE; i++) {
            void *empty = NULL;

            if (__atomic_compare_exchange_n(&nlc_spare[i], &empty, buffer, 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
                return 1;
        }
        return 0;
    }

    /* recvmmsg(2) for two datagrams; how many came, and their true lengths. */
    static int nlc_receive(int fd, char *buffer, size_t size, unsigned int *lengths)
    {
        struct mmsghdr headers[2];
        struct iovec parts[2];
        int came;

        memset(headers, 0, sizeof headers);
        for (int i = 0; i < 2; i++) {
            parts[i].iov_base = buffer + (size_t)i * size;
            parts[i].iov_len = size;
            headers[i].msg_hdr.msg_iov = &parts[i];
            headers[i].msg_hdr.msg_iovlen = 1;
        }
        came = recvmmsg(fd, headers, 2, MSG_DONTWAIT | MSG_TRUNC, NULL);
        for (int i = 0; i < came; i++)
            lengths[i] = headers[i].msg_len;
        return came;
    }
    """
    void* take "nlc_take" () noexcept
    bint put "nlc_put" (void* buffer) noexcept
    int receive_two "nlc_receive" (int fd, char* buffer, size_t size, unsigned int* lengths) noexcept

cdef enum:
    LARGEST = 131072


cdef bytes whole(const char* start, unsigned int length, size_t size):
    if length > size:
        raise OSError(EMSGSIZE, f"a datagram of {length} bytes was cut to {size}")
    return PyBytes_FromStringAndSize(start, length)


def receive(int fd, size_t size):
    """The next datagrams, as (first, second), of at most `size` bytes (and at most 128 KiB) each.

    `second` is None if there is but one yet; None if there is none. OSError with the
    errno; EMSGSIZE, which names the lengths, if one was longer.
    """
    cdef char* buffer = <char*>take()
    cdef unsigned int[2] lengths = [0, 0]
    cdef int came = 0
    cdef int failed
    if buffer == NULL:
        # Untouched pages cost nothing.
        buffer = <char*>PyMem_RawMalloc(2 * LARGEST)
        if buffer == NULL:
            raise MemoryError
    size = min(size, <size_t>LARGEST)
    try:
        while True:
            with nogil:
                came = receive_two(fd, buffer, size, lengths)
                failed = errno if came < 0 else 0
            if not failed:
                break
            if failed == EAGAIN:
                return None
            if failed != EINTR:
                raise OSError(failed, strerror(failed))
            PyErr_CheckSignals()
        first = whole(buffer, lengths[0], size)
        return first, whole(buffer + size, lengths[1], size) if came > 1 else None
    finally:
        if not put(buffer):
            PyMem_RawFree(buffer)


@cython.final
cdef class Turn:
    """`with Turn(lock, seconds)`: holds the lock inside; Timeout if it cannot be had so soon. None waits for ever.

    In C, so that what a signal handler raises comes before the lock is taken, or inside `with`.
    """

    cdef object lock
    cdef object seconds

    def __init__(self, lock, seconds=None):
        self.lock = lock
        self.seconds = -1 if seconds is None else min(max(0, seconds), _longest)

    def __enter__(self):
        if not self.lock.acquire(True, self.seconds):
            raise Timeout

    def __exit__(self, *_):
        self.lock.release()
