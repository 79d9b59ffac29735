# cython: language_level=3, freethreading_compatible=True, auto_pickle=False, autotestdict=False
"""Queued packets, received many at a time: recvmmsg(2), and where in a datagram things stand."""

cimport cython
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from cpython.exc cimport PyErr_CheckSignals
from cpython.mem cimport PyMem_RawFree, PyMem_RawMalloc
from libc.errno cimport EAGAIN, EINTR, EMSGSIZE, errno
from libc.stdint cimport uint16_t, uint32_t
from libc.string cimport memcpy

from os import strerror

cdef extern from * nogil:
    """
    #include <arpa/inet.h>
    #include <stddef.h>
    #include <string.h>
    #include <sys/socket.h>

    struct nlc_many {
        struct mmsghdr headers[32];
        struct iovec parts[32];
    };

    static void nlc_prepare(struct nlc_many *many, char *buffer, size_t size)
    {
        memset(many, 0, sizeof *many);
        for (int i = 0; i < 32; i++) {
            many->parts[i].iov_base = buffer + (size_t)i * size;
            many->parts[i].iov_len = size;
            many->headers[i].msg_hdr.msg_iov = &many->parts[i];
            many->headers[i].msg_hdr.msg_iovlen = 1;
        }
    }

    static int nlc_many(int fd, struct nlc_many *many)
    {
        return recvmmsg(fd, many->headers, 32, MSG_DONTWAIT | MSG_TRUNC, NULL);
    }

    /* As type(...) with nothing, without __init__. */
    static PyObject *nlc_bare(PyTypeObject *type, PyObject *nothing)
    {
        return type->tp_new(type, nothing, NULL);
    }

    static unsigned int nlc_length(const struct nlc_many *many, int i)
    {
        return many->headers[i].msg_len;
    }
    """
    ctypedef struct Many "struct nlc_many":
        pass
    void prepare "nlc_prepare" (Many* many, char* buffer, size_t size) noexcept
    int receive_many "nlc_many" (int fd, Many* many) noexcept
    unsigned int length_of "nlc_length" (const Many* many, int i) noexcept
    object bare "nlc_bare" (type kind, tuple nothing)
    uint16_t htons(uint16_t) noexcept
    uint32_t htonl(uint32_t) noexcept
    uint32_t ntohl(uint32_t) noexcept

cdef enum:
    WIDTH = 32
    HEADERS = 20  # struct nlmsghdr, struct nfgenmsg
    PACKET = 0x300  # NFNL_SUBSYS_QUEUE << 8 | NFQNL_MSG_PACKET
    SET_VERDICT = 0x301
    PACKET_HDR = 1
    VERDICT_HDR = 2


cdef struct Place:
    size_t start
    size_t length
    bint found


cdef Place place_of(const char* data, size_t size, uint16_t code) noexcept nogil:
    """The payload of the first attribute of this code; none where an attribute before it is broken."""
    cdef Place place
    cdef size_t at = HEADERS
    cdef uint16_t[2] header
    place.start = place.length = 0
    place.found = False
    while size >= 4 and at <= size - 4:
        memcpy(header, data + at, 4)
        if header[0] < 4 or header[0] > size - at:
            break
        if header[1] & 0x3FFF == code:
            place.start = at + 4
            place.length = header[0] - 4
            place.found = True
            break
        at += (header[0] + 3) & ~3
    return place


cdef class Waiting:
    """A datagram that holds a packet, and whose it is."""
    cdef readonly object owner
    cdef readonly bytes datagram
    cdef readonly uint32_t id

    def place(self, uint16_t code):
        """Where the payload of the first such attribute is, as (start, end); None if there is none."""
        cdef Place place
        if self.datagram is None:  # made by hand
            return None
        place = place_of(PyBytes_AS_STRING(self.datagram), <size_t>PyBytes_GET_SIZE(self.datagram), code)
        return (place.start, place.start + place.length) if place.found else None

    def plain(self, uint16_t queue, uint32_t verdict):
        """The message of this verdict, whose sequence number is the packet's number in network order."""
        cdef bytes message = PyBytes_FromStringAndSize(NULL, 32)
        cdef char* at = PyBytes_AS_STRING(message)
        cdef uint32_t[8] words
        cdef uint16_t[2] pair
        cdef uint32_t key = htonl(self.id)
        words[0] = 32
        pair[0], pair[1] = <uint16_t>SET_VERDICT, 1
        memcpy(&words[1], pair, 4)
        words[2] = key
        words[3] = 0
        pair[0], pair[1] = 0, htons(queue)
        memcpy(&words[4], pair, 4)
        pair[0], pair[1] = 12, <uint16_t>VERDICT_HDR
        memcpy(&words[5], pair, 4)
        words[6] = htonl(verdict)
        words[7] = key
        memcpy(at, words, 32)
        return message


@cython.final
cdef class Receiver:
    """Receives up to 32 datagrams in one call. One thread at a time."""
    cdef Many many
    cdef char* buffer
    cdef size_t size

    def __cinit__(self, size_t size):
        # Untouched pages cost nothing.
        self.buffer = <char*>PyMem_RawMalloc(WIDTH * size)
        if self.buffer == NULL:
            raise MemoryError
        self.size = size
        prepare(&self.many, self.buffer, size)

    def __dealloc__(self):
        PyMem_RawFree(self.buffer)

    def receive(self, int fd, owner, type kind not None):
        """Packets, of this subclass of Waiting, and other datagrams, as two lists; None if there is nothing.

        OSError with the errno; EMSGSIZE, which names the lengths, if one was longer than the buffer's share.
        """
        cdef int came = 0
        cdef int failed, i
        cdef unsigned int length
        cdef uint16_t code = 0
        cdef uint32_t key = 0
        cdef const char* start
        cdef Place place
        cdef Waiting packet
        cdef bytes datagram
        cdef list packets = []
        cdef list others = []
        while True:
            with nogil:
                came = receive_many(fd, &self.many)
                failed = errno if came < 0 else 0
            if not failed:
                break
            if failed == EAGAIN:
                return None
            if failed != EINTR:
                raise OSError(failed, strerror(failed))
            PyErr_CheckSignals()
        for i in range(came):
            length = length_of(&self.many, i)
            start = self.buffer + <size_t>i * self.size
            if length > self.size:
                raise OSError(EMSGSIZE, f"a datagram of {length} bytes was cut to {self.size}")
            datagram = PyBytes_FromStringAndSize(start, length)
            if length >= HEADERS:
                memcpy(&code, start + 4, 2)
                if code == PACKET:
                    place = place_of(start, length, PACKET_HDR)
                    if place.found and place.length >= 4:
                        packet = <Waiting?>bare(kind, ())
                        packet.owner = owner
                        packet.datagram = datagram
                        memcpy(&key, start + place.start, 4)
                        packet.id = ntohl(key)
                        packets.append(packet)
                        continue
            others.append(datagram)
        return packets, others
