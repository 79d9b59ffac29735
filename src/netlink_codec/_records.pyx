# cython: language_level=3, freethreading_compatible=True, auto_pickle=False, autotestdict=False
"""The record engine: typed objects that are the bytes of their message. See `netlink_codec.records`.

    _records.pyx     what a record is: its memory
    _fields.pxi      its fields, and how they are read
    _kinds.pxi       how values stand in bytes
    _numbers.pxi     numbers, and what numbers stand for
    _inside.pxi      records, and several values
    _declaring.pxi   where the fields of a class are
    _building.pxi    building a record, changing one
    _telling.pxi     a record as a whole: to_dict, repr, equality, check
    _addresses.pxi   ipaddress objects, fast
    _reader.pxi      records out of messages
"""

cimport cython
from cpython.buffer cimport PyBUF_SIMPLE, PyBuffer_Release, PyObject_GetBuffer
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_CheckExact, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from cpython.list cimport PyList_GET_SIZE
from cpython.long cimport PyLong_AsLongLongAndOverflow, PyLong_AsUnsignedLongLong
from cpython.mem cimport PyMem_Free, PyMem_Realloc
from cpython.object cimport PyObject
from cpython.unicode cimport PyUnicode_AsEncodedString, PyUnicode_AsUTF8AndSize, PyUnicode_DecodeUTF8
from libc.stdint cimport int16_t, int32_t, int64_t, int8_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memchr, memcmp, memcpy, memset

from netlink_codec._core cimport (
    ATTRIBUTE_HEADER, BIG_HOST, HEADER_CUT, MAX_DEPTH, MESSAGE_HEADER, OK,
    Check, Decoder, Message, aligned, check_attribute, export_bytes, load, store,
)

from enum import IntEnum, IntFlag
from ipaddress import ip_address
from itertools import count
from operator import index
from sys import getsizeof as sys_getsizeof

from netlink_codec.errors import DecodeError, EncodeError

cdef extern from *:
    """
    #include <stddef.h>

    /* As Cython lays out `Base`; checked at import. The bytes of a record of one block begin at `outside`. */
    typedef struct {
        PyObject_HEAD
        uint32_t size;
        uint16_t type, flags;
        PyObject *owner;
        const uint8_t *outside;
    } nlc_record;

    #define NLC_BASE_SIZE ((Py_ssize_t)sizeof(nlc_record))

    /* What a struct gives 64 bits: 4 on some machines of 32. */
    struct nlc_wide { char before; uint64_t number; };
    #define NLC_ALIGN64 offsetof(struct nlc_wide, number)

    /* What Python would do on the way through the classes below, which hold nothing of their own. */
    static void nlc_deallocate(PyObject *record)
    {
        PyTypeObject *type = Py_TYPE(record);

        if (type->tp_finalize != NULL && !(type->tp_flags & Py_TPFLAGS_HAVE_GC)) {
            if (PyObject_CallFinalizerFromDealloc(record) < 0)
                return;
            type = Py_TYPE(record);
        }
        Py_XDECREF(((nlc_record *)record)->owner);
        type->tp_free(record);
        Py_DECREF(type);
    }

    /* Python gives every class that a class statement makes garbage collection: 16 bytes more an object, and a list to
       keep it in, although a record refers to nothing but the record that it is a part of. Without it, a million
       routes take 0.1 s instead of 0.45, and a full collection 8 ms instead of 60. So it is taken away again,
       right after the class was made and while there is no object of it; unless the class holds more than its base
       does, or this is built with -DNLC_TRACKED_RECORDS. Objects of a class that keeps it are allocated plainly. */
    static int nlc_untrack(PyTypeObject *type, PyTypeObject *base)
    {
    #ifdef NLC_TRACKED_RECORDS
        (void)type;
        (void)base;
        return 0;
    #else
        if (type->tp_basicsize != base->tp_basicsize || type->tp_itemsize || type->tp_dictoffset
            || type->tp_weaklistoffset || type->tp_alloc != PyType_GenericAlloc
            || !(type->tp_flags & Py_TPFLAGS_HEAPTYPE) || (base->tp_flags & Py_TPFLAGS_HAVE_GC)
            || base->tp_basicsize != NLC_BASE_SIZE)
            return 0;
    #if PY_VERSION_HEX >= 0x030C0000
        if (type->tp_flags & (Py_TPFLAGS_MANAGED_DICT | Py_TPFLAGS_MANAGED_WEAKREF))
            return 0;
    #endif
        type->tp_flags &= ~Py_TPFLAGS_HAVE_GC;
        type->tp_traverse = NULL;
        type->tp_clear = NULL;
        type->tp_free = PyObject_Free;
        type->tp_dealloc = nlc_deallocate;
        return 1;
    #endif
    }

    static inline int nlc_tracked(PyTypeObject *type)
    {
        return (type->tp_flags & Py_TPFLAGS_HAVE_GC) != 0;
    }

    /* Of a class without garbage collection; with room for `size` bytes. */
    static inline PyObject *nlc_allocate(PyTypeObject *type, size_t size)
    {
        size_t whole = offsetof(nlc_record, outside) + size;
        PyObject *made = PyObject_Malloc(whole < sizeof(nlc_record) ? sizeof(nlc_record) : whole);

        if (made == NULL)
            return PyErr_NoMemory();
        return PyObject_Init(made, type);
    }

    static inline PyObject *nlc_allocate_plain(PyTypeObject *type)
    {
        return type->tp_alloc(type, 0);
    }

    static inline uint8_t *nlc_inside(void *record)
    {
        return (uint8_t *)record + offsetof(nlc_record, outside);
    }

    static PyObject *nlc_ascii(const char *text, Py_ssize_t size)
    {
        PyObject *made = PyUnicode_New(size, 127);

        if (made != NULL)
            memcpy(PyUnicode_1BYTE_DATA(made), text, (size_t)size);
        return made;
    }
    """
    Py_ssize_t BASE_SIZE "NLC_BASE_SIZE"
    size_t ALIGN64 "NLC_ALIGN64"
    bint untrack "nlc_untrack" (PyTypeObject* type, PyTypeObject* base) noexcept
    bint tracked "nlc_tracked" (PyTypeObject* type) noexcept
    object allocate_inline "nlc_allocate" (PyTypeObject* type, size_t size)
    object allocate_plain "nlc_allocate_plain" (PyTypeObject* type)
    uint8_t* inside "nlc_inside" (void* record) noexcept
    object ascii_text "nlc_ascii" (const char* text, Py_ssize_t size)

ctypedef PyObject* (*newfunc)(PyTypeObject*, PyObject*, PyObject*)

cdef extern from "Python.h":
    ctypedef struct PyTypeObject:
        newfunc tp_new
        void* tp_vectorcall
        Py_ssize_t tp_basicsize
    void hold_on "Py_INCREF" (PyObject* object) noexcept
    void let_go "Py_XDECREF" (PyObject* object) noexcept

cdef enum:
    NESTED = 0x8000
    TYPE_MASK = 0x3fff
    MAX_LENGTH = 0xffff   # nla_len and rtnh_len are u16
    AF_INET = 2
    AF_INET6 = 10
    IPMR = 128            # RTNL_FAMILY_IPMR: multicast, with addresses of AF_INET
    IP6MR = 129


# ---------------------------------------------------------------------------------------------------------------------
# Memory
# ---------------------------------------------------------------------------------------------------------------------

cdef class Base:
    """What records are made of; see `netlink_codec.records.Record`."""
    def __dealloc__(self):
        let_go(self.owner)

    @property
    def message_type(self):
        return self.nlmsg_type

    @property
    def message_flags(self):
        return 0 if is_part(self) else self.nlmsg_flags

    @classmethod
    def from_bytes(cls, data, /):
        cdef Py_buffer view
        PyObject_GetBuffer(data, &view, PyBUF_SIMPLE)
        try:
            return copy_of(cls, schema_of(cls), <const uint8_t*>view.buf, <size_t>view.len)
        finally:
            PyBuffer_Release(&view)

    @classmethod
    def from_message(cls, Message message not None, /):
        return record_of(cls, schema_of(cls), message)

    @property
    def unknown(self):
        return unknown_of(self)

    def replace(self, **changes):
        return changed(self, changes)

    def __replace__(self, **changes):
        return changed(self, changes)

    def to_dict(self):
        return dict_of(self)

    def check(self):
        check_of(self)

    @classmethod
    def path_names(cls, path, Message message=None):
        cdef _Schema schema = schema_of(cls)
        cdef Base record = None
        if message is not None and message.nlmsg_len - MESSAGE_HEADER >= schema.least:
            record = record_of(cls, schema, message)
        return names_of(schema, record, path)

    def __repr__(self):
        return repr_of(self)

    def __eq__(self, other):
        if type(self) is not type(other):
            return NotImplemented
        return same_record(self, <Base>other)

    def __hash__(self):
        return hash((type(self), canonical_bytes(self)))

    def __copy__(self):
        return self

    def __deepcopy__(self, memo):
        return self

    def __reduce__(self):
        wire = PyBytes_FromStringAndSize(<const char*>start_of(self), self.size)
        made = _unpickled, (type(self), wire, self.nlmsg_type, self.message_flags)
        state = self.__getstate__()  # of a class that adds attributes
        return made if state is None else (*made, state)

    def __sizeof__(self):
        cdef object cls = type(self)
        cdef Py_ssize_t size = (<PyTypeObject*>cls).tp_basicsize
        if self.owner == NULL:
            return max(size, size - <Py_ssize_t>sizeof(void*) + self.size)
        return size if is_part(self) else size + sys_getsizeof(<object>self.owner)

    def __getbuffer__(self, Py_buffer* view, int flags):
        export_bytes(view, self, start_of(self), self.size, flags)


def _unpickled(cls, bytes data not None, uint16_t type, uint16_t flags):
    """A record out of a pickle."""
    cdef Base record = cls.from_bytes(data)
    record.nlmsg_type = type
    record.nlmsg_flags = flags
    return record


cdef bytes bytes_at(const uint8_t* at, size_t size):
    return PyBytes_FromStringAndSize(<const char*>at, <Py_ssize_t>size)


cdef inline const uint8_t* start_of(Base record) noexcept:
    if record.owner == NULL:
        return inside(<void*>record)
    return record.outside


cdef const uint8_t* origin_of(Base record) noexcept:
    """Where the outermost record's bytes begin: offsets in errors count from there."""
    if record.owner == NULL:
        return inside(<void*>record)
    if PyBytes_CheckExact(<object>record.owner):
        return <const uint8_t*>PyBytes_AS_STRING(<object>record.owner)
    return inside(<void*>record.owner)


cdef bint is_part(Base record) noexcept:
    """Whether it is a part of another one. (A struct at the very beginning of another may pass for a whole one.)"""
    if record.owner == NULL:
        return False
    return record.outside != origin_of(record) or not PyBytes_CheckExact(<object>record.owner)


cdef Base empty(object cls, size_t size, uint8_t** start):
    """A record of so many bytes, which are the caller's to write."""
    cdef Base made
    cdef bytes apart
    if size > 0xffffffff:
        raise EncodeError(f"a message of {size} bytes is too long")
    if tracked(<PyTypeObject*>cls):
        made = <Base>allocate_plain(<PyTypeObject*>cls)
        apart = PyBytes_FromStringAndSize(NULL, <Py_ssize_t>size)
        hold_on(<PyObject*>apart)
        made.owner = <PyObject*>apart
        made.outside = start[0] = <uint8_t*>PyBytes_AS_STRING(apart)
    else:
        made = <Base>allocate_inline(<PyTypeObject*>cls, size)
        made.owner = NULL
        start[0] = inside(<void*>made)
    made.size = <uint32_t>size
    made.nlmsg_type = 0
    made.nlmsg_flags = 0
    return made


cdef int too_short(_Schema schema, size_t size) except -1:
    raise DecodeError(f"{schema.name} takes {schema.least} bytes, and there are {size}", 0)


cdef inline Base copy_of(object cls, _Schema schema, const uint8_t* at, size_t size):
    cdef uint8_t* start = NULL
    cdef Base made
    if size < schema.least:
        too_short(schema, size)
    made = empty(cls, size, &start)
    memcpy(start, at, size)
    return made


cdef inline Base record_of(object cls, _Schema schema, Message message):
    cdef Base made = copy_of(cls, schema, message.wire + MESSAGE_HEADER, message.nlmsg_len - MESSAGE_HEADER)
    made.nlmsg_type = message.nlmsg_type
    made.nlmsg_flags = message.nlmsg_flags
    return made


cdef Base view_of(object cls, Field field, Base parent, const uint8_t* at, size_t size):
    """A record that is a part of another. How deep they nest is limited, since reading all of it is recursive."""
    cdef Base made
    cdef int depth = parent.nlmsg_flags if is_part(parent) else 0
    if field.how > GROWN:
        depth += 1
        if depth >= MAX_DEPTH:
            offset = at - origin_of(parent)
            raise DecodeError(
                f"{field.place(parent)} at offset {offset}: records nest deeper than {MAX_DEPTH} levels", offset
            )
    if tracked(<PyTypeObject*>cls):
        made = <Base>allocate_plain(<PyTypeObject*>cls)
    else:
        made = <Base>allocate_inline(<PyTypeObject*>cls, 0)
    made.owner = <PyObject*>parent if parent.owner == NULL else parent.owner
    hold_on(made.owner)
    made.outside = at
    made.size = <uint32_t>size
    made.nlmsg_type = 0
    made.nlmsg_flags = <uint16_t>depth
    return made


include "_fields.pxi"
include "_kinds.pxi"
include "_numbers.pxi"
include "_inside.pxi"
include "_addresses.pxi"
include "_declaring.pxi"
include "_building.pxi"
include "_telling.pxi"
include "_reader.pxi"
