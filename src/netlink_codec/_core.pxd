"""The codec's C side: what the objects hold, and every load, store and bounds check.

For `cimport netlink_codec._core` by this package's own modules; not a stable interface.
"""

from libc.stdint cimport int16_t, int32_t, int64_t, int8_t, uint8_t, uint16_t, uint32_t, uint64_t

cdef extern from * nogil:
    """
    #include <stdint.h>
    #include <string.h>

    #define NLC_BIG_HOST (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__)

    /* memcpy, since netlink aligns to 4 and a caller's buffer to nothing. */
    static inline uint64_t nlc_load(const uint8_t *at, size_t width, int swap)
    {
        uint16_t v16;
        uint32_t v32;
        uint64_t v64;

        switch (width) {
        case 1:
            return *at;
        case 2:
            memcpy(&v16, at, 2);
            return swap ? __builtin_bswap16(v16) : v16;
        case 4:
            memcpy(&v32, at, 4);
            return swap ? __builtin_bswap32(v32) : v32;
        default:
            memcpy(&v64, at, 8);
            return swap ? __builtin_bswap64(v64) : v64;
        }
    }

    static inline void nlc_store(uint8_t *at, size_t width, uint64_t value, int swap)
    {
        uint16_t v16 = (uint16_t)value;
        uint32_t v32 = (uint32_t)value;

        switch (width) {
        case 1:
            *at = (uint8_t)value;
            break;
        case 2:
            v16 = swap ? __builtin_bswap16(v16) : v16;
            memcpy(at, &v16, 2);
            break;
        case 4:
            v32 = swap ? __builtin_bswap32(v32) : v32;
            memcpy(at, &v32, 4);
            break;
        default:
            value = swap ? __builtin_bswap64(value) : value;
            memcpy(at, &value, 8);
        }
    }

    /* Whether the only reference is the caller's own. That cannot be told without the GIL, since another
       thread may be taking one; there nothing is reused, and no scratch is kept. */
    #ifdef Py_GIL_DISABLED
    #define NLC_HAS_SCRATCH 0
    #else
    #define NLC_HAS_SCRATCH 1
    #endif
    #define NLC_UNSHARED(object) (NLC_HAS_SCRATCH && Py_REFCNT(object) == 1)

    /* For __getbuffer__: Cython has put None there, which PyBuffer_FillInfo would forget. */
    static inline int nlc_export(Py_buffer *view, PyObject *owner, const uint8_t *at, size_t size, int flags)
    {
        Py_CLEAR(view->obj);
        return PyBuffer_FillInfo(view, owner, (void *)at, (Py_ssize_t)size, 1, flags);
    }
    """
    const bint BIG_HOST "NLC_BIG_HOST"
    const bint HAS_SCRATCH "NLC_HAS_SCRATCH"
    uint64_t load "nlc_load" (const uint8_t* at, size_t width, bint swap) noexcept
    void store "nlc_store" (uint8_t* at, size_t width, uint64_t value, bint swap) noexcept
    bint unshared "NLC_UNSHARED" (void* object) noexcept

cdef extern from *:
    int export_bytes "nlc_export" (Py_buffer* view, object owner, const uint8_t* at, size_t size, int flags) except -1

# struct nlmsghdr and struct nlattr, in bytes.
cdef enum:
    MESSAGE_HEADER = 16
    ATTRIBUTE_HEADER = 4
    ALIGN = 4

# How deep attributes nest; the kernel's own policies stop at 10.
cdef enum:
    MAX_DEPTH = 32

cdef enum Order:
    NATIVE_UNLESS_FLAGGED
    LITTLE
    BIG

# What a header can be; everything but OK is an error at the header's first byte.
cdef enum Check:
    OK
    HEADER_CUT    # fewer bytes left than a header takes
    LENGTH_SHORT  # the declared length is less than the header
    LENGTH_LONG   # the declared length is more than what is left


# NLMSG_ALIGN, NLA_ALIGN
cdef inline size_t aligned(size_t length) noexcept nogil:
    return (length + ALIGN - 1) & ~<size_t>(ALIGN - 1)


# NLMSG_OK. The length is loaded once: the buffer may be changing.
cdef inline Check check_message(const uint8_t* at, size_t rest, uint32_t* length) noexcept nogil:
    if rest < MESSAGE_HEADER:
        return HEADER_CUT
    length[0] = <uint32_t>load(at, 4, False)
    if length[0] < MESSAGE_HEADER:
        return LENGTH_SHORT
    if length[0] > rest:
        return LENGTH_LONG
    return OK


# nla_ok
cdef inline Check check_attribute(const uint8_t* at, size_t rest, uint16_t* length) noexcept nogil:
    if rest < ATTRIBUTE_HEADER:
        return HEADER_CUT
    length[0] = <uint16_t>load(at, 2, False)
    if length[0] < ATTRIBUTE_HEADER:
        return LENGTH_SHORT
    if length[0] > rest:
        return LENGTH_LONG
    return OK


# No class here takes part in garbage collection, for speed: a buffer that itself refers to
# what reads it (an attribute of a bytearray's subclass, say) is a cycle that is never freed.
cdef class _Export:
    """Keeps a caller's buffer where it is, and of its size."""
    cdef Py_buffer buffer


cdef class Message:
    cdef object owner          # bytes or _Export: keeps `wire` alive
    cdef const uint8_t* wire   # the header's first byte
    cdef uint32_t nlmsg_len
    cdef uint16_t nlmsg_type
    cdef uint16_t nlmsg_flags
    cdef uint32_t nlmsg_seq
    cdef uint32_t nlmsg_pid


cdef class _MessageIterator:
    cdef object owner
    cdef const uint8_t* origin
    cdef size_t begin, position, end   # offsets from `origin`
    cdef bint strict
    cdef Message first, second         # the scratch


cdef class Scan(_MessageIterator):
    cdef readonly uint32_t seq     # the first sequence number that belongs to the exchange
    cdef readonly uint32_t count   # and how many there are
    cdef bytes following           # the datagram after this one, if it came already
    cdef bint single               # the first message of data is the last
    cdef bint plain                # the outcome of the last of them is the end
    cdef readonly uint16_t flags
    cdef readonly uint64_t stale
    cdef public bint done
    cdef bint claimed              # somebody sees to the end


cdef class Attribute:
    cdef object owner          # bytes or _Export: keeps `wire` alive
    cdef const uint8_t* wire   # the header's first byte
    cdef size_t position       # of `wire`, from where error offsets count
    cdef uint16_t nla_len
    cdef uint16_t nla_type
    cdef uint8_t order         # Order
    cdef uint8_t depth         # of the decoder that it comes from
    cdef bint strict


cdef class AttributeDecoder:
    cdef object owner
    cdef const uint8_t* origin         # where error offsets count from
    cdef size_t begin, position, end   # offsets from `origin`
    cdef uint8_t order
    cdef uint8_t depth                 # 1 outermost, to MAX_DEPTH
    cdef bint strict
    cdef Attribute first, second       # the scratch


cdef class AttributeEncoder:
    cdef uint8_t* base
    cdef size_t size, capacity
    cdef size_t header         # bytes of the caller's before the attributes
    cdef uint8_t order
    cdef int depth             # nested attributes open
    cdef size_t before[MAX_DEPTH]   # `size` when each was opened
    cdef void* opened[MAX_DEPTH]    # and the _Nested that did, not to be followed
    cdef Py_ssize_t exports    # views that pin `base`


cdef class _Nested:
    cdef AttributeEncoder encoder
    cdef uint16_t nla_type
    cdef int level             # which of the encoder's open nests, from 1; 0 while not entered


cdef class Decoder:
    cdef object decoded(self, Message message)


cdef class Results:
    cdef Scan scan
    cdef object decode
    cdef Decoder decoder   # the same, if it is one
