"""The record engine's C side: what its objects hold.

For `cimport netlink_codec._records` by this package's own modules; not a stable interface.
"""

from cpython.object cimport PyObject
from libc.stdint cimport int64_t, uint8_t, uint16_t, uint32_t, uint64_t


# Objects of the standard library's ipaddress.
cdef object address4(uint32_t number)
cdef object address6(const uint8_t* at)
cdef object network4(uint32_t number, int length)
cdef object network6(const uint8_t* at, int length)


cdef class Base:
    cdef uint32_t size
    cdef uint16_t nlmsg_type
    cdef uint16_t nlmsg_flags   # of a part of another record: how many it is inside
    # NULL: the bytes stand in this object, from `outside` on. Else `outside` points to them, in an object that is kept:
    # the record that this one is a part of, or bytes.
    cdef PyObject* owner
    cdef const uint8_t* outside


# Bytes being written: on the stack at first.
cdef struct Writer:
    uint8_t* base
    size_t size, capacity
    bint on_heap
    int family            # AF_* of the last address written, 0 if none was


cdef class Kind:
    cdef size_t width        # of every value; 0 if it differs
    cdef size_t alignment    # in a struct
    cdef object read(self, Field field, Base record, const uint8_t* at, size_t size)
    cdef int write(self, Field field, Writer* writer, object value) except -1
    cdef int put(self, Field field, uint8_t* at, object value) except -1
    cdef object plain(self, Field field, Base record, const uint8_t* at, size_t size)
    cdef object canonical(self, Field field, Base record, const uint8_t* at, size_t size)
    cdef object number(self, uint64_t number)
    cdef bint nested(self) except -1
    cdef object zero(self, Field field, Base record)


cdef enum How:
    FIXED
    GROWN
    ATTR
    ALWAYS
    REQUIRED
    REPEATED
    PRESENT
    MERGED
    PREFIX
    NETWORK


cdef class Field:
    cdef readonly str name
    cdef readonly int code     # of the attribute, -1 if it is in the struct
    cdef readonly Kind kind
    cdef How how
    cdef size_t offset         # in the struct
    cdef size_t begin          # where the attributes begin
    cdef int64_t order         # of declaration
    cdef object default        # of a fixed field; Ellipsis: it must be given
    cdef str over              # the fixed field that belongs to it
    cdef Field other           # that field, or the one that chooses
    cdef _Schema schema        # None until its class is complete
    cdef bint plain            # an unsigned integer in the struct, read without asking the kind
    cdef uint8_t width
    cdef bint swap
    cdef str full              # with the class that it was declared in
    cdef str place(self, Base record)


cdef class _Schema:
    cdef object cls
    cdef str name
    cdef list fields           # in the order of declaration
    cdef dict by_name
    cdef dict by_code
    cdef list low_codes        # the same of low codes, in their places; None where there is no field
    cdef size_t header         # bytes of the struct
    cdef size_t begin          # where the attributes begin
    cdef size_t oldest         # where the struct ended before it grew
    cdef size_t least          # what is shorter is no such record
    cdef size_t alignment
    cdef bint struct           # no attributes
    cdef bint tells            # by a `to_dict` of its own
    cdef bint grows            # the struct, with newer kernels
    cdef bytes template        # the struct, with its defaults
    cdef bytes holes           # 0 where the struct has a hole, 255 where it has not; None if it has none
    cdef object kind           # by which `chosen` picks it
    cdef dict choices          # of those that are chosen: kind -> class
    cdef tuple identity        # Field each
    cdef Field family          # what is set where an address is written
    cdef Field length          # what is set to the size of the record
    cdef list early            # Field each: told by `to_dict` before the attributes, where they are in the struct
    cdef dict blank            # those fields, with no values yet; None if they are few
    cdef list after            # and after them, where they are not there
    cdef list needed           # Field each: what must be given
    cdef list chosen           # Field each: those that another one chooses
