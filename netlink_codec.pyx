# cython: language_level=3, freethreading_compatible=True, auto_pickle=False, autotestdict=False
"""The codec: netlink messages and attributes, to and from bytes.

    nlmsghdr   | length u32 | type u16 | flags u16 | seq u32 | pid u32 | payload, padded to 4
    nlattr     | length u16 | type u16 (0x8000 nested, 0x4000 network order) | payload, padded to 4

Lengths count the header and the payload, never the padding. Mirrors struct
nlmsghdr and struct nlattr of linux/netlink.h.

**Lifetime.** A `Message` or an `Attribute` is a view: it keeps the buffer that
it was read from alive, and a mutable buffer (a bytearray, say) cannot be resized
while a view of it lives. Whoever changes such a buffer's bytes meanwhile reads
changed values, or gets a `DecodeError`; never anything outside the buffer.
`unmarshal_messages` and `unmarshal_attributes` take a snapshot instead. A buffer
that itself refers to its reader (an object of your own that exports a buffer) is a
cycle that garbage collection does not see.

**Reuse.** Iterators hand out a scratch object again only when nobody else
refers to it, so a plain `for` loop allocates nothing, and an object that was
kept (in a list, in a name) never changes. Free-threaded builds always make a
new one.

**Threads.** `Message` and `Attribute` are immutable and may be shared. A
decoder, a message iterator or an encoder may be used from several threads
without harm to memory; each item goes to one of them.
"""

cimport cython
from cpython.buffer cimport (
    PyBUF_SIMPLE, PyBUF_WRITABLE, PyBuffer_Release, PyObject_GetBuffer,
)
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_CheckExact, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from cpython.list cimport PyList_New, PyList_SET_ITEM
from cpython.long cimport PyLong_AsLongLongAndOverflow, PyLong_AsUnsignedLongLong
from cpython.mem cimport PyMem_Free, PyMem_Malloc, PyMem_Realloc
from cpython.ref cimport Py_INCREF
from cpython.unicode cimport PyUnicode_AsEncodedString, PyUnicode_AsUTF8AndSize, PyUnicode_DecodeUTF8
from libc.stdint cimport INT32_MAX, INT32_MIN, UINT32_MAX
from libc.string cimport memchr, memcmp, memcpy, memset

from functools import partial
from operator import index

from netlink_codec.errors import DecodeError, EncodeError

cdef extern from "Python.h":
    Py_ssize_t PyNumber_AsSsize_t(object number, void* overflow) except? -1

cdef enum:
    TYPE_MASK = 0x3fff        # NLA_TYPE_MASK
    FLAG_MASK = 0xc000
    NESTED = 0x8000           # NLA_F_NESTED
    NET_BYTEORDER = 0x4000    # NLA_F_NET_BYTEORDER
    MAX_ATTRIBUTE = 0xffff    # nla_len is a u16
    MAX_PAYLOAD = MAX_ATTRIBUTE - ATTRIBUTE_HEADER
    FIRST_CAPACITY = 256

# What an object holds that was made by __new__ alone.
cdef bytes EMPTY_MESSAGE = (16).to_bytes(4, "big" if BIG_HOST else "little") + bytes(12)
cdef bytes EMPTY_ATTRIBUTE = (4).to_bytes(2, "big" if BIG_HOST else "little") + bytes(2)


# ---------------------------------------------------------------------------------------------------------------------
# Buffers
# ---------------------------------------------------------------------------------------------------------------------

@cython.final
@cython.no_gc
cdef class _Export:
    def __dealloc__(self):
        PyBuffer_Release(&self.buffer)


cdef object hold(object buffer, const uint8_t** start, size_t* size):
    """Find a buffer's bytes; as long as the object returned lives, they stay where they are."""
    cdef _Export export
    if PyBytes_CheckExact(buffer):
        start[0] = <const uint8_t*>PyBytes_AS_STRING(buffer)
        size[0] = <size_t>PyBytes_GET_SIZE(buffer)
        return buffer
    export = _Export.__new__(_Export)
    PyObject_GetBuffer(buffer, &export.buffer, PyBUF_SIMPLE)
    size[0] = <size_t>export.buffer.len
    # An empty buffer may have no address, and one is needed to count from.
    start[0] = <const uint8_t*>export.buffer.buf if size[0] else <const uint8_t*>PyBytes_AS_STRING(EMPTY_MESSAGE)
    return export


cdef bytes snapshot(object buffer):
    cdef Py_buffer view
    if PyBytes_CheckExact(buffer):
        return buffer
    PyObject_GetBuffer(buffer, &view, PyBUF_SIMPLE)
    try:
        return PyBytes_FromStringAndSize(<char*>view.buf, view.len)
    finally:
        PyBuffer_Release(&view)


cdef Py_ssize_t skip(object offset, size_t start, size_t end) except -1:
    """The offset, which must be between `start` and `end`."""
    # Clipped where it does not fit, which is out of any buffer.
    cdef Py_ssize_t number = PyNumber_AsSsize_t(offset, NULL)
    if number < 0:
        raise ValueError(f"the offset {said(offset)} is negative")
    if <size_t>number > end - start:
        raise DecodeError(f"{said(offset)} bytes are to be skipped, and there are {end - start}", end)
    return number


cdef object said(object number):
    """A number as an error names it; Python refuses to print very large ones."""
    bits = index(number).bit_length()
    return number if bits <= 128 else f"(an integer of {bits} bits)"


cdef int order_of(object byteorder) except -1:
    if byteorder == "native":
        return NATIVE_UNLESS_FLAGGED
    if byteorder == "little":
        return LITTLE
    if byteorder == "big":
        return BIG
    raise ValueError(f"byteorder is 'native', 'little' or 'big', not {byteorder!r}")


cdef inline bint swaps(int order, uint16_t raw_type) noexcept:
    """Whether integers of such an attribute are not in this machine's order."""
    if order == NATIVE_UNLESS_FLAGGED:
        return not BIG_HOST and raw_type & NET_BYTEORDER != 0
    return (order == BIG) != BIG_HOST


# ---------------------------------------------------------------------------------------------------------------------
# Messages
# ---------------------------------------------------------------------------------------------------------------------

cdef uint64_t header_field(object value, int bits, str name) except? 0xbad:
    cdef int overflow = 0
    cdef int64_t number = PyLong_AsLongLongAndOverflow(value, &overflow)
    if overflow or not 0 <= number < <int64_t>1 << bits:
        raise EncodeError(f"{name} {said(value)} is out of range for {bits} bits")
    return <uint64_t>number


cdef inline void write_header(
    uint8_t* at, uint32_t length, uint16_t type, uint16_t flags, uint32_t seq, uint32_t pid
) noexcept:
    store(at, 4, length, False)
    store(at + 4, 2, type, False)
    store(at + 6, 2, flags, False)
    store(at + 8, 4, seq, False)
    store(at + 12, 4, pid, False)


cdef int build_message(
    Message self, object type, object flags, const uint8_t* data, size_t size, object seq, object pid
) except -1:
    cdef uint16_t nlmsg_type = <uint16_t>header_field(type, 16, "nlmsg_type")
    cdef uint16_t nlmsg_flags = <uint16_t>header_field(flags, 16, "nlmsg_flags")
    cdef uint32_t nlmsg_seq = <uint32_t>header_field(seq, 32, "nlmsg_seq")
    cdef uint32_t nlmsg_pid = <uint32_t>header_field(pid, 32, "nlmsg_pid")
    cdef uint32_t nlmsg_len = <uint32_t>(MESSAGE_HEADER + size)
    cdef bytes wire
    cdef uint8_t* at
    if size > UINT32_MAX - MESSAGE_HEADER:
        raise EncodeError(f"{size} bytes of payload are more than a message holds ({UINT32_MAX - MESSAGE_HEADER})")
    wire = PyBytes_FromStringAndSize(NULL, nlmsg_len)
    at = <uint8_t*>PyBytes_AS_STRING(wire)
    write_header(at, nlmsg_len, nlmsg_type, nlmsg_flags, nlmsg_seq, nlmsg_pid)
    memcpy(at + MESSAGE_HEADER, data, size)
    # Protects all fields: they are set once, together, and after the caller's own code (__index__) has run.
    with cython.critical_section(self):
        if self.owner is not None:
            raise TypeError("a Message does not change")
        self.owner = wire
        self.wire = at
        self.nlmsg_len = nlmsg_len
        self.nlmsg_type = nlmsg_type
        self.nlmsg_flags = nlmsg_flags
        self.nlmsg_seq = nlmsg_seq
        self.nlmsg_pid = nlmsg_pid
    return 0


@cython.final
@cython.no_gc
cdef class Message:
    """Message(type, flags=0, data=b'', *, seq=0, pid=0)\n--\n\n\
    One netlink message: struct nlmsghdr and its payload, immutable.

    The buffer protocol gives the message as it stands on the wire, without
    padding: `bytes(message)`, `memoryview(message)`, `sock.send(message)`.
    Equal when those bytes are.

    Raises EncodeError for a number that its header field cannot hold or a
    payload of 4 GiB.
    """

    def __cinit__(self):
        self.wire = <const uint8_t*>PyBytes_AS_STRING(EMPTY_MESSAGE)
        self.nlmsg_len = MESSAGE_HEADER

    def __init__(self, type, flags=0, data=b"", *, seq=0, pid=0):
        cdef const uint8_t* start = NULL
        cdef size_t size = 0
        _held = hold(data, &start, &size)
        build_message(self, type, flags, start, size, seq, pid)

    @property
    def length(self):
        """nlmsg_len: header and payload in bytes, without padding."""
        return self.nlmsg_len

    @property
    def type(self):
        """nlmsg_type: NLMSG_* below 16, else the protocol's own."""
        return self.nlmsg_type

    @property
    def flags(self):
        """nlmsg_flags: NLM_F_*."""
        return self.nlmsg_flags

    @property
    def seq(self):
        """nlmsg_seq: a reply carries its request's."""
        return self.nlmsg_seq

    @property
    def pid(self):
        """nlmsg_pid: the port id of the socket that asked, 0 for the kernel."""
        return self.nlmsg_pid

    @property
    def data(self):
        """The payload, copied at each touch."""
        return PyBytes_FromStringAndSize(<const char*>self.wire + MESSAGE_HEADER, self.nlmsg_len - MESSAGE_HEADER)

    @property
    def view(self):
        """The payload without a copy: a read-only memoryview."""
        return memoryview(self)[MESSAGE_HEADER:]

    def attributes(self, offset=0, byteorder="native", *, bint strict=False):
        """Decode the attributes that follow `offset` bytes of the payload.

        `offset` is the size of the family's own header: 16 for ifinfomsg, 4 for
        genlmsghdr. As `AttributeDecoder(message.view, offset)` without the copy;
        offsets in errors count from the start of the message.
        """
        cdef AttributeDecoder decoder = AttributeDecoder.__new__(AttributeDecoder)
        cdef Py_ssize_t start = skip(offset, MESSAGE_HEADER, self.nlmsg_len)
        decoder.owner = self.owner
        decoder.origin = self.wire
        decoder.begin = decoder.position = MESSAGE_HEADER + <size_t>start
        decoder.end = self.nlmsg_len
        decoder.order = <uint8_t>order_of(byteorder)
        decoder.strict = strict
        return decoder

    def replace(self, *, type=None, flags=None, data=None, seq=None, pid=None):
        """A copy with these fields changed."""
        cdef Message copy = Message.__new__(Message)
        cdef const uint8_t* start = self.wire + MESSAGE_HEADER
        cdef size_t size = self.nlmsg_len - MESSAGE_HEADER
        _held = None if data is None else hold(data, &start, &size)
        build_message(
            copy,
            self.nlmsg_type if type is None else type,
            self.nlmsg_flags if flags is None else flags,
            start,
            size,
            self.nlmsg_seq if seq is None else seq,
            self.nlmsg_pid if pid is None else pid,
        )
        return copy

    def sent(self, seq, pid, flags):
        """As it is sent: with this sequence number and port id, unless it has its own, and these flags added."""
        cdef Message copy = Message.__new__(Message)
        build_message(
            copy,
            self.nlmsg_type,
            self.nlmsg_flags | <uint16_t>flags,
            self.wire + MESSAGE_HEADER,
            self.nlmsg_len - MESSAGE_HEADER,
            self.nlmsg_seq if self.nlmsg_seq else seq,
            self.nlmsg_pid if self.nlmsg_pid else pid,
        )
        return copy

    def __replace__(self, *, type=None, flags=None, data=None, seq=None, pid=None):
        return self.replace(type=type, flags=flags, data=data, seq=seq, pid=pid)

    def __len__(self):
        """As `length`."""
        return self.nlmsg_len

    def __eq__(self, other):
        if not isinstance(other, Message):
            return NotImplemented
        return (
            self.nlmsg_len == (<Message>other).nlmsg_len
            and memcmp(self.wire, (<Message>other).wire, self.nlmsg_len) == 0
        )

    def __hash__(self):
        return hash(PyBytes_FromStringAndSize(<const char*>self.wire, self.nlmsg_len))

    def __repr__(self):
        return (
            f"<Message type={self.nlmsg_type} flags={self.nlmsg_flags:#x} seq={self.nlmsg_seq} pid={self.nlmsg_pid} "
            f"data={shown(self.wire + MESSAGE_HEADER, self.nlmsg_len - MESSAGE_HEADER)}>"
        )

    def __copy__(self):
        return self

    def __reduce__(self):
        return partial(Message, seq=self.nlmsg_seq, pid=self.nlmsg_pid), (self.nlmsg_type, self.nlmsg_flags, self.data)

    def __getbuffer__(self, Py_buffer* view, int flags):
        export_bytes(view, self, self.wire, self.nlmsg_len, flags)


cdef str shown(const uint8_t* start, size_t size):
    """Bytes for a repr: the first of them, and how many there are."""
    cdef size_t most = 24
    text = PyBytes_FromStringAndSize(<const char*>start, <Py_ssize_t>min(size, most)).hex()
    return text if size <= most else f"{text}... ({size} bytes)"


cdef int bad_message(Check check, size_t offset, size_t rest, uint32_t length) except -1:
    if check == HEADER_CUT:
        raise DecodeError(f"{rest} bytes at offset {offset} are less than a struct nlmsghdr, which takes 16", offset)
    if check == LENGTH_SHORT:
        raise DecodeError(f"nlmsg_len {length} at offset {offset} is less than its header, which takes 16", offset)
    raise DecodeError(f"nlmsg_len {length} at offset {offset} is more than the {rest} bytes left", offset)


@cython.no_gc
cdef class _MessageIterator:
    def __cinit__(self):
        self.origin = <const uint8_t*>PyBytes_AS_STRING(EMPTY_MESSAGE)

    def __iter__(self):
        return self

    def __next__(self):
        cdef Message message
        # Protects the cursor: each message goes to one thread.
        with cython.critical_section(self):
            message = next_message(self)
        if message is None:
            raise StopIteration
        return message


cdef Message next_message(_MessageIterator self):
    """The next message, None at the end."""
    cdef const uint8_t* at = self.origin + self.position
    cdef size_t rest = self.end - self.position
    cdef uint32_t length = 0
    cdef Check check = check_message(at, rest, &length)
    cdef Message message
    if check != OK:
        if check == HEADER_CUT and (rest == 0 or not self.strict and self.position != self.begin):
            return None
        bad_message(check, self.position, rest, length)
    if unshared(<void*>self.first):
        message = self.first
    elif unshared(<void*>self.second):
        message = self.second
    else:
        message = Message.__new__(Message)
        message.owner = self.owner
        if HAS_SCRATCH:
            self.second = self.first
            self.first = message
    message.wire = at
    message.nlmsg_len = length
    message.nlmsg_type = <uint16_t>load(at + 4, 2, False)
    message.nlmsg_flags = <uint16_t>load(at + 6, 2, False)
    message.nlmsg_seq = <uint32_t>load(at + 8, 4, False)
    message.nlmsg_pid = <uint32_t>load(at + 12, 4, False)
    self.position += min(aligned(length), rest)
    return message


cdef _MessageIterator message_iterator(object buffer, object offset, bint strict):
    cdef _MessageIterator iterator = _MessageIterator.__new__(_MessageIterator)
    cdef size_t size = 0
    iterator.owner = hold(buffer, &iterator.origin, &size)
    iterator.begin = iterator.position = <size_t>skip(offset, 0, size)
    iterator.end = size
    iterator.strict = strict
    return iterator


def iter_messages(buffer, offset=0, *, bint strict=False):
    """Walk the messages of a datagram, or of several one after another.

    Lazy: a message's header is looked at when it is asked for. As the kernel and
    libmnl do, the last message may lack its padding, and fewer than 16 bytes
    after the last message are ignored, unless `strict`. A length below 16 or past
    the end, and a buffer that holds bytes but not one header, raise DecodeError
    when the walk gets there; what came before has been delivered.
    """
    return message_iterator(buffer, offset, strict)


def unmarshal_messages(buffer, offset=0, *, bint strict=False):
    """All messages of a buffer, of which a mutable one is copied first.

    As `iter_messages`, but all or nothing.
    """
    return list(message_iterator(snapshot(buffer), offset, strict))


cdef size_t sizes_of(tuple messages) except? 0xbad:
    cdef size_t total = 0
    for item in messages:
        if not isinstance(item, Message):
            raise TypeError(f"a Message is wanted, not {type(item).__name__!r}")
        total += aligned((<Message>item).nlmsg_len)
    return total


cdef void write_messages(uint8_t* at, tuple messages) noexcept:
    cdef Message message
    cdef size_t length
    for item in messages:
        message = <Message>item
        length = message.nlmsg_len
        write_header(
            at,
            message.nlmsg_len,
            message.nlmsg_type,
            message.nlmsg_flags,
            message.nlmsg_seq,
            message.nlmsg_pid,
        )
        memcpy(at + MESSAGE_HEADER, message.wire + MESSAGE_HEADER, length - MESSAGE_HEADER)
        memset(at + length, 0, aligned(length) - length)
        at += aligned(length)


cdef bint any_inside(tuple messages, const uint8_t* start, size_t size) noexcept:
    """Whether one of the messages is a view of these bytes."""
    cdef Message message
    for item in messages:
        message = <Message>item
        if message.wire < start + size and start < message.wire + message.nlmsg_len:
            return True
    return False


def message_size(messages):
    """How many bytes these messages take on the wire, padding included."""
    return sizes_of(tuple(messages))


def marshal_messages(messages):
    """The messages one after another, each padded with zeros to 4 bytes.

    One allocation: the sizes are summed first. (For one message without padding,
    `bytes(message)`.)
    """
    cdef tuple items = tuple(messages)
    cdef bytes wire = PyBytes_FromStringAndSize(NULL, <Py_ssize_t>sizes_of(items))
    write_messages(<uint8_t*>PyBytes_AS_STRING(wire), items)
    return wire


def marshal_into(messages, buffer, offset=0):
    """Write the messages into a writable buffer; returns the bytes written.

    The messages may be views of that buffer: they are written as they are before.
    Raises EncodeError, with nothing written, where they do not fit.
    """
    cdef tuple items = tuple(messages)
    cdef size_t total = sizes_of(items)
    cdef Py_buffer view
    cdef Py_ssize_t start = skip(offset, 0, <size_t>-1)
    cdef uint8_t* at
    PyObject_GetBuffer(buffer, &view, PyBUF_WRITABLE)
    try:
        if start > view.len or total > <size_t>(view.len - start):
            raise EncodeError(f"{total} bytes at offset {said(offset)} do not fit into a buffer of {view.len}")
        at = <uint8_t*>view.buf + start
        if any_inside(items, at, total):
            apart = marshal_messages(items)
            memcpy(at, PyBytes_AS_STRING(apart), total)
        else:
            write_messages(at, items)
    finally:
        PyBuffer_Release(&view)
    return total


# What belongs to an exchange: in a file of its own, and of this module, since each message passes through both.
include "src/netlink_codec/_scan.pxi"


# ---------------------------------------------------------------------------------------------------------------------
# Reading attributes
# ---------------------------------------------------------------------------------------------------------------------

cdef int bad_width(Attribute self, str wanted) except -1:
    raise DecodeError(
        f"attribute {self.nla_type & TYPE_MASK} at offset {self.position} has "
        f"{self.nla_len - ATTRIBUTE_HEADER} bytes, and {wanted}",
        self.position,
    )


cdef inline uint64_t integer(Attribute self, size_t width, bint swap, str name) except? 0xbad:
    if self.nla_len != ATTRIBUTE_HEADER + width:
        bad_width(self, f"a {name} has {width}")
    return load(self.wire + ATTRIBUTE_HEADER, width, swap)


cdef inline bint swapped(Attribute self) noexcept:
    return swaps(self.order, self.nla_type)


@cython.final
@cython.no_gc
cdef class Attribute:
    """Attribute(type, data=b'')\n--\n\n\
    One attribute: struct nlattr and its payload, immutable.

    `type` may carry NLA_F_NESTED and NLA_F_NET_BYTEORDER. The buffer protocol
    gives the attribute as it stands on the wire, without padding. `len()` is the
    payload's length. Equal when the wire's bytes are.

    The integer readers want exactly their width, as the kernel's policies do, and
    raise DecodeError otherwise. Readers without an order in their name read in
    the order the decoder was given; where it was given none, in native order, or
    big-endian if the attribute carries NLA_F_NET_BYTEORDER.

    Raises EncodeError for a type outside 0..65535 or more than 65531 bytes.
    """

    def __cinit__(self):
        self.wire = <const uint8_t*>PyBytes_AS_STRING(EMPTY_ATTRIBUTE)
        self.nla_len = ATTRIBUTE_HEADER
        self.depth = 1

    def __init__(self, type, data=b""):
        cdef const uint8_t* start = NULL
        cdef size_t size = 0
        cdef int nla_type = type_number(type)
        cdef bytes wire
        cdef uint8_t* at
        _held = hold(data, &start, &size)
        if size > MAX_PAYLOAD:
            too_long(nla_type, size)
        wire = PyBytes_FromStringAndSize(NULL, <Py_ssize_t>(ATTRIBUTE_HEADER + size))
        at = <uint8_t*>PyBytes_AS_STRING(wire)
        store(at, 2, ATTRIBUTE_HEADER + size, False)
        store(at + 2, 2, <uint64_t>nla_type, False)
        memcpy(at + ATTRIBUTE_HEADER, start, size)
        # Protects all fields: they are set once, together, and after the caller's own code (__index__) has run.
        with cython.critical_section(self):
            if self.owner is not None:
                raise TypeError("an Attribute does not change")
            self.owner = wire
            self.wire = at
            self.nla_len = <uint16_t>(ATTRIBUTE_HEADER + size)
            self.nla_type = <uint16_t>nla_type

    @property
    def type(self):
        """nla_type without the two flag bits."""
        return self.nla_type & TYPE_MASK

    @property
    def type_flags(self):
        """The flag bits of nla_type: NLA_F_NESTED, NLA_F_NET_BYTEORDER."""
        return self.nla_type & FLAG_MASK

    @property
    def offset(self):
        """Where its header is, counted as the offsets of errors are."""
        return self.position

    @property
    def data(self):
        """The payload, copied at each touch."""
        return PyBytes_FromStringAndSize(<const char*>self.wire + ATTRIBUTE_HEADER, self.nla_len - ATTRIBUTE_HEADER)

    @property
    def view(self):
        """The payload without a copy: a read-only memoryview."""
        return memoryview(self)[ATTRIBUTE_HEADER:]

    def u8(self):
        return <uint8_t>integer(self, 1, False, "u8")

    def s8(self):
        return <int8_t>integer(self, 1, False, "s8")

    def u16(self):
        return <uint16_t>integer(self, 2, swapped(self), "u16")

    def s16(self):
        return <int16_t>integer(self, 2, swapped(self), "s16")

    def u32(self):
        return <uint32_t>integer(self, 4, swapped(self), "u32")

    def s32(self):
        return <int32_t>integer(self, 4, swapped(self), "s32")

    def u64(self):
        return <uint64_t>integer(self, 8, swapped(self), "u64")

    def s64(self):
        return <int64_t>integer(self, 8, swapped(self), "s64")

    def u16be(self):
        return <uint16_t>integer(self, 2, not BIG_HOST, "u16")

    def s16be(self):
        return <int16_t>integer(self, 2, not BIG_HOST, "s16")

    def u32be(self):
        return <uint32_t>integer(self, 4, not BIG_HOST, "u32")

    def s32be(self):
        return <int32_t>integer(self, 4, not BIG_HOST, "s32")

    def u64be(self):
        return <uint64_t>integer(self, 8, not BIG_HOST, "u64")

    def s64be(self):
        return <int64_t>integer(self, 8, not BIG_HOST, "s64")

    def u16le(self):
        return <uint16_t>integer(self, 2, BIG_HOST, "u16")

    def s16le(self):
        return <int16_t>integer(self, 2, BIG_HOST, "s16")

    def u32le(self):
        return <uint32_t>integer(self, 4, BIG_HOST, "u32")

    def s32le(self):
        return <int32_t>integer(self, 4, BIG_HOST, "s32")

    def u64le(self):
        return <uint64_t>integer(self, 8, BIG_HOST, "u64")

    def s64le(self):
        return <int64_t>integer(self, 8, BIG_HOST, "s64")

    def uint(self):
        """NLA_UINT: an unsigned integer of 4 or 8 bytes."""
        if self.nla_len == ATTRIBUTE_HEADER + 4:
            return load(self.wire + ATTRIBUTE_HEADER, 4, swapped(self))
        if self.nla_len != ATTRIBUTE_HEADER + 8:
            bad_width(self, "a uint has 4 or 8")
        return load(self.wire + ATTRIBUTE_HEADER, 8, swapped(self))

    def sint(self):
        """NLA_SINT: a signed integer of 4 or 8 bytes."""
        if self.nla_len == ATTRIBUTE_HEADER + 4:
            return <int32_t>load(self.wire + ATTRIBUTE_HEADER, 4, swapped(self))
        if self.nla_len != ATTRIBUTE_HEADER + 8:
            bad_width(self, "a sint has 4 or 8")
        return <int64_t>load(self.wire + ATTRIBUTE_HEADER, 8, swapped(self))

    def string(self):
        """Text up to its trailing NULs, of which there may be none or many.

        NULs inside are kept. UTF-8; other bytes become surrogates, which the
        encoder turns back (PEP 383).
        """
        cdef const char* start = <const char*>self.wire + ATTRIBUTE_HEADER
        cdef Py_ssize_t size = self.nla_len - ATTRIBUTE_HEADER
        cdef object held = None
        if not PyBytes_CheckExact(self.owner):
            # CPython's decoder may load a byte twice; these may be changing.
            held = PyBytes_FromStringAndSize(start, size)
            start = PyBytes_AS_STRING(held)
        while size and start[size - 1] == 0:
            size -= 1
        return PyUnicode_DecodeUTF8(start, size, "surrogateescape")

    def flag(self):
        """True: a flag is there or it is not. DecodeError if it has a payload."""
        if self.nla_len != ATTRIBUTE_HEADER:
            bad_width(self, "a flag has none")
        return True

    def nested(self, offset=0):
        """Decode the payload, from `offset` on, as attributes.

        NLA_F_NESTED is not asked for: kernels differ in setting it. Byte order and
        strictness are the parent's. DecodeError deeper than 32 levels.
        """
        cdef AttributeDecoder decoder
        cdef Py_ssize_t start
        if self.depth == MAX_DEPTH:
            too_deep(self.position)
        start = skip(offset, self.position + ATTRIBUTE_HEADER, self.position + self.nla_len)
        decoder = AttributeDecoder.__new__(AttributeDecoder)
        decoder.owner = self.owner
        decoder.origin = self.wire - self.position
        decoder.begin = decoder.position = self.position + ATTRIBUTE_HEADER + <size_t>start
        decoder.end = self.position + self.nla_len
        decoder.order = self.order
        decoder.depth = self.depth + 1
        decoder.strict = self.strict
        return decoder

    def do(self, function):
        """`function(view)`; what it raises gets a note that names the attribute."""
        try:
            return function(self.view)
        except Exception as error:
            error.add_note(f"in attribute {self.type} at offset {self.position}")
            raise

    def __len__(self):
        return self.nla_len - ATTRIBUTE_HEADER

    def __bool__(self):
        """True, of any length: what `find` found is there."""
        return True

    def __eq__(self, other):
        if not isinstance(other, Attribute):
            return NotImplemented
        return (
            self.nla_len == (<Attribute>other).nla_len
            and memcmp(self.wire, (<Attribute>other).wire, self.nla_len) == 0
        )

    def __hash__(self):
        return hash(PyBytes_FromStringAndSize(<const char*>self.wire, self.nla_len))

    def __repr__(self):
        flags = f" type_flags={self.type_flags:#x}" if self.type_flags else ""
        data = shown(self.wire + ATTRIBUTE_HEADER, self.nla_len - ATTRIBUTE_HEADER)
        return f"<Attribute type={self.type}{flags} data={data}>"

    def __copy__(self):
        return self

    def __reduce__(self):
        return _attribute, (self.nla_type, self.data, self.order, self.strict)

    def __getbuffer__(self, Py_buffer* view, int flags):
        export_bytes(view, self, self.wire, self.nla_len, flags)


def _attribute(type, data, uint8_t order, bint strict):
    """An attribute out of a pickle: what it reads is what it read before."""
    cdef Attribute attribute = Attribute(type, data)
    attribute.order = order
    attribute.strict = strict
    return attribute


cdef int too_deep(size_t offset) except -1:
    raise DecodeError(f"attributes nest deeper than {MAX_DEPTH} levels at offset {offset}", offset)


cdef int bad_attribute(AttributeDecoder self, Check check, size_t offset, size_t rest, uint16_t length) except -1:
    if check == HEADER_CUT:
        raise DecodeError(f"{rest} bytes at offset {offset} are less than a struct nlattr, which takes 4", offset)
    number = load(self.origin + offset + 2, 2, False) & TYPE_MASK
    if check == LENGTH_SHORT:
        raise DecodeError(
            f"attribute {number}: nla_len {length} at offset {offset} is less than its header, which takes 4", offset
        )
    raise DecodeError(
        f"attribute {number}: nla_len {length} at offset {offset} is more than the {rest} bytes left", offset
    )


cdef inline bint present(AttributeDecoder self, size_t position, size_t end, uint16_t* length) except -1:
    """Whether there is an attribute, and its length; False at the end, an error where it is bad."""
    cdef size_t rest = end - position
    cdef Check check = check_attribute(self.origin + position, rest, length)
    if check == OK:
        return True
    if check == HEADER_CUT and (rest == 0 or not self.strict):
        return False
    bad_attribute(self, check, position, rest, length[0])
    return False


cdef inline size_t after(size_t position, size_t end, uint16_t length) noexcept:
    """Where the next attribute begins, if there is one."""
    return position + min(aligned(length), end - position)


cdef bint seek(AttributeDecoder self, size_t* position, size_t end, int wanted, uint16_t* length) except -1:
    """Move to the first attribute of this type and load its length; False if there is none."""
    while present(self, position[0], end, length):
        if load(self.origin + position[0] + 2, 2, False) & TYPE_MASK == <uint64_t>wanted:
            return True
        position[0] = after(position[0], end, length[0])
    return False


cdef inline void look_at(Attribute attribute, AttributeDecoder decoder, size_t position, uint16_t length) noexcept:
    attribute.wire = decoder.origin + position
    attribute.position = position
    attribute.nla_len = length
    attribute.nla_type = <uint16_t>load(attribute.wire + 2, 2, False)
    attribute.depth = decoder.depth


cdef inline void belong(Attribute attribute, AttributeDecoder decoder) noexcept:
    """What all attributes of a decoder have in common."""
    attribute.owner = decoder.owner
    attribute.order = decoder.order
    attribute.strict = decoder.strict


cdef inline Attribute scratch(AttributeDecoder self):
    """An attribute that nobody else has: one handed out before, if it was not kept."""
    cdef Attribute attribute
    if unshared(<void*>self.first):
        return self.first
    if unshared(<void*>self.second):
        return self.second
    attribute = Attribute.__new__(Attribute)
    belong(attribute, self)
    if HAS_SCRATCH:
        self.second = self.first
        self.first = attribute
    return attribute


cdef Attribute next_attribute(AttributeDecoder self):
    """The next attribute, None at the end."""
    cdef size_t position = self.position
    cdef uint16_t length = 0
    cdef Attribute attribute
    if not present(self, position, self.end, &length):
        return None
    self.position = after(position, self.end, length)
    attribute = scratch(self)
    look_at(attribute, self, position, length)
    return attribute


@cython.final
@cython.no_gc
cdef class AttributeDecoder:
    """AttributeDecoder(buffer, offset=0, byteorder='native', *, strict=False)\n--\n\n\
    An iterator over the attributes of a buffer, from `offset` on.

    Lazy: nothing is scanned ahead, and an attribute that is passed over costs no
    allocation. The last attribute may lack its padding; 1 to 3 stray bytes after
    it are ignored, as the kernel's lax parser and libmnl do, unless `strict`. A
    length below 4 or past the end raises DecodeError when the walk gets there;
    the cursor stays, so asking again raises again.

    `byteorder` is that of the integer readers without an order in their name;
    headers are always native. "native", the default, lets an attribute's own
    NLA_F_NET_BYTEORDER say big-endian; "little" and "big" are final.

    Raises DecodeError at once if the buffer is shorter than `offset`, ValueError
    for a negative offset or another byte order.
    """

    def __cinit__(self):
        self.origin = <const uint8_t*>PyBytes_AS_STRING(EMPTY_ATTRIBUTE)
        self.depth = 1

    def __init__(self, buffer, offset=0, byteorder="native", *, bint strict=False):
        cdef const uint8_t* start = NULL
        cdef size_t size = 0
        cdef int order = order_of(byteorder)
        cdef Py_ssize_t position
        held = hold(buffer, &start, &size)
        position = skip(offset, 0, size)
        # Protects all fields: they are set once, together.
        with cython.critical_section(self):
            if self.owner is not None:
                raise TypeError("an AttributeDecoder stays with its buffer")
            self.owner = held
            self.origin = start
            self.begin = self.position = <size_t>position
            self.end = size
            self.order = <uint8_t>order
            self.strict = strict

    def __iter__(self):
        return self

    def __next__(self):
        cdef Attribute attribute
        # Protects the cursor: each attribute goes to one thread.
        with cython.critical_section(self):
            attribute = next_attribute(self)
        if attribute is None:
            raise StopIteration
        return attribute

    def find(self, type, /, *path):
        """The first attribute of this type, or None; further types descend.

        `find(IFLA_LINKINFO, IFLA_INFO_KIND)` looks for the kind inside the first
        link info. Flag bits do not count. Starts at the beginning, wherever the
        iteration is, and does not move it. Only what is passed on the way is
        checked.
        """
        cdef size_t position = self.begin
        cdef size_t end = self.end
        cdef uint8_t depth = self.depth
        cdef uint16_t length = 0
        cdef Attribute attribute
        if not seek(self, &position, end, wanted_type(type), &length):
            return None
        for step in path:
            if depth == MAX_DEPTH:
                too_deep(position)
            depth += 1
            end = position + length
            position += ATTRIBUTE_HEADER
            if not seek(self, &position, end, wanted_type(step), &length):
                return None
        attribute = scratch(self)
        look_at(attribute, self, position, length)
        attribute.depth = depth
        return attribute

    def find_all(self, type, /):
        """Every attribute of this type, in order. Does not move the iteration."""
        cdef size_t position = self.begin
        cdef uint16_t length = 0
        cdef int wanted = wanted_type(type)
        cdef list found = []
        cdef Attribute attribute
        while seek(self, &position, self.end, wanted, &length):
            attribute = Attribute.__new__(Attribute)
            belong(attribute, self)
            look_at(attribute, self, position, length)
            found.append(attribute)
            position = after(position, self.end, length)
        return found


cdef int wanted_type(object type) except -1:
    cdef int overflow = 0
    cdef int64_t number = PyLong_AsLongLongAndOverflow(type, &overflow)
    if overflow or not 0 <= number <= 0xffff:
        raise ValueError(f"attribute types are 0 to 65535, not {said(type)}")
    return number & TYPE_MASK


def unmarshal_attributes(buffer, offset=0, byteorder="native", *, bint strict=False):
    """All attributes of a buffer, of which a mutable one is copied first.

    As `AttributeDecoder`, but all or nothing.
    """
    cdef AttributeDecoder decoder = AttributeDecoder(snapshot(buffer), offset, byteorder, strict=strict)
    cdef size_t position = decoder.begin
    cdef uint16_t length = 0
    cdef Py_ssize_t count = 0
    cdef list attributes
    cdef Attribute attribute
    while present(decoder, position, decoder.end, &length):
        position = after(position, decoder.end, length)
        count += 1
    attributes = PyList_New(count)
    position = decoder.begin
    for i in range(count):
        present(decoder, position, decoder.end, &length)
        attribute = Attribute.__new__(Attribute)
        belong(attribute, decoder)
        look_at(attribute, decoder, position, length)
        Py_INCREF(attribute)
        PyList_SET_ITEM(attributes, i, attribute)
        position = after(position, decoder.end, length)
    return attributes


# ---------------------------------------------------------------------------------------------------------------------
# Writing attributes
# ---------------------------------------------------------------------------------------------------------------------

cdef inline int type_number(object type) except -1:
    cdef int overflow = 0
    cdef int64_t number = PyLong_AsLongLongAndOverflow(type, &overflow)
    if overflow or not 0 <= number <= 0xffff:
        bad_type(type)
    return <int>number


cdef int bad_type(object type) except -1:
    raise EncodeError(f"attribute types are 0 to 65535, not {said(type)}")


cdef int too_long(int raw_type, size_t size) except -1:
    raise EncodeError(
        f"attribute {raw_type & TYPE_MASK}: {size} bytes are more than its payload holds ({MAX_PAYLOAD})",
        raw_type & TYPE_MASK,
    )


cdef int out_of_range(int raw_type, object value, str kind) except -1:
    raise EncodeError(
        f"attribute {raw_type & TYPE_MASK}: {said(value)} is out of range for {kind}", raw_type & TYPE_MASK
    )


cdef inline uint64_t unsigned(object value, size_t width, int raw_type, str kind) except? 0xbad:
    cdef int overflow = 0
    cdef int64_t number = PyLong_AsLongLongAndOverflow(value, &overflow)
    if overflow == 0 and number >= 0 and (width == 8 or <uint64_t>number >> (8 * width) == 0):
        return <uint64_t>number
    if overflow > 0 and width == 8:
        exact = index(value)
        if 0 <= exact < 1 << 64:
            return PyLong_AsUnsignedLongLong(exact)
    out_of_range(raw_type, value, kind)
    return 0


cdef inline int64_t signed(object value, size_t width, int raw_type, str kind) except? 0xbad:
    cdef int overflow = 0
    cdef int64_t number = PyLong_AsLongLongAndOverflow(value, &overflow)
    cdef int64_t top = <int64_t>((<uint64_t>1 << (8 * width - 1)) - 1)
    if overflow or not -top - 1 <= number <= top:
        out_of_range(raw_type, value, kind)
    return number


cdef int writable(AttributeEncoder self) except -1:
    if self.exports:
        raise BufferError("the encoder's bytes are in use: release the view first")
    return 0


cdef int grow(AttributeEncoder self, size_t needed) except -1:
    cdef size_t capacity = max(2 * self.capacity, needed)
    cdef void* base = PyMem_Realloc(self.base, capacity)
    if base == NULL:
        raise MemoryError
    self.base = <uint8_t*>base
    self.capacity = capacity
    return 0


cdef uint8_t* append(AttributeEncoder self, int raw_type, size_t size) except NULL:
    """Write a header, and zeros as padding; returns where the `size` bytes of payload go."""
    cdef size_t start = aligned(self.size)
    cdef size_t end = start + ATTRIBUTE_HEADER + aligned(size)
    writable(self)
    if size > MAX_PAYLOAD:
        too_long(raw_type, size)
    if end > self.capacity:
        grow(self, end)
    # A header of the caller's may need padding too.
    memset(self.base + self.size, 0, start - self.size)
    store(self.base + start, 2, ATTRIBUTE_HEADER + size, False)
    store(self.base + start + 2, 2, <uint64_t>raw_type, False)
    memset(self.base + start + ATTRIBUTE_HEADER + size, 0, aligned(size) - size)
    self.size = end
    return self.base + start + ATTRIBUTE_HEADER


cdef int put_unsigned(AttributeEncoder self, object type, object value, size_t width, int order, str kind) except -1:
    cdef int raw_type = type_number(type)
    cdef uint64_t number = unsigned(value, width, raw_type, kind)
    store(append(self, raw_type, width), width, number, swaps(order, <uint16_t>raw_type))
    return 0


cdef int put_signed(AttributeEncoder self, object type, object value, size_t width, int order, str kind) except -1:
    cdef int raw_type = type_number(type)
    cdef int64_t number = signed(value, width, raw_type, kind)
    store(append(self, raw_type, width), width, <uint64_t>number, swaps(order, <uint16_t>raw_type))
    return 0


cdef int put_bytes(AttributeEncoder self, int raw_type, object value) except -1:
    cdef const uint8_t* start = NULL
    cdef size_t size = 0
    _held = hold(value, &start, &size)
    memcpy(append(self, raw_type, size), start, size)
    return 0


@cython.final
cdef class AttributeEncoder:
    """AttributeEncoder(header=b'', byteorder='native')\n--\n\n\
    Grows one buffer of attributes, after the bytes of `header`.

    The writers mirror the readers of `Attribute`. The buffer protocol gives what
    was written so far (`bytes(encoder)`, or hand the encoder to `Message`), while
    no nested attribute is open; while a view of it lives, writing raises
    BufferError. `len()` is the bytes so far.

    Types are written as given, flags included. `byteorder` is that of writers
    without an order in their name: "native", the default, writes big-endian where
    the type carries NLA_F_NET_BYTEORDER; "little" and "big" are final.

    Raises EncodeError, naming the attribute and with nothing written, for a type
    outside 0..65535, an integer out of range, a payload over 65531 bytes, text with
    a NUL inside, or nesting deeper than 32 levels.
    """

    def __cinit__(self, header=b"", byteorder="native"):
        cdef const uint8_t* start = NULL
        cdef size_t size = 0
        self.order = <uint8_t>order_of(byteorder)
        _held = hold(header, &start, &size)
        self.capacity = max(size, <size_t>FIRST_CAPACITY)
        self.base = <uint8_t*>PyMem_Malloc(self.capacity)
        if self.base == NULL:
            raise MemoryError
        memcpy(self.base, start, size)
        self.size = self.header = size

    def __dealloc__(self):
        PyMem_Free(self.base)

    @cython.critical_section
    def u8(self, type, value):
        put_unsigned(self, type, value, 1, self.order, "u8")

    @cython.critical_section
    def s8(self, type, value):
        put_signed(self, type, value, 1, self.order, "s8")

    @cython.critical_section
    def u16(self, type, value):
        put_unsigned(self, type, value, 2, self.order, "u16")

    @cython.critical_section
    def s16(self, type, value):
        put_signed(self, type, value, 2, self.order, "s16")

    @cython.critical_section
    def u32(self, type, value):
        put_unsigned(self, type, value, 4, self.order, "u32")

    @cython.critical_section
    def s32(self, type, value):
        put_signed(self, type, value, 4, self.order, "s32")

    @cython.critical_section
    def u64(self, type, value):
        put_unsigned(self, type, value, 8, self.order, "u64")

    @cython.critical_section
    def s64(self, type, value):
        put_signed(self, type, value, 8, self.order, "s64")

    @cython.critical_section
    def u16be(self, type, value):
        put_unsigned(self, type, value, 2, BIG, "u16")

    @cython.critical_section
    def s16be(self, type, value):
        put_signed(self, type, value, 2, BIG, "s16")

    @cython.critical_section
    def u32be(self, type, value):
        put_unsigned(self, type, value, 4, BIG, "u32")

    @cython.critical_section
    def s32be(self, type, value):
        put_signed(self, type, value, 4, BIG, "s32")

    @cython.critical_section
    def u64be(self, type, value):
        put_unsigned(self, type, value, 8, BIG, "u64")

    @cython.critical_section
    def s64be(self, type, value):
        put_signed(self, type, value, 8, BIG, "s64")

    @cython.critical_section
    def u16le(self, type, value):
        put_unsigned(self, type, value, 2, LITTLE, "u16")

    @cython.critical_section
    def s16le(self, type, value):
        put_signed(self, type, value, 2, LITTLE, "s16")

    @cython.critical_section
    def u32le(self, type, value):
        put_unsigned(self, type, value, 4, LITTLE, "u32")

    @cython.critical_section
    def s32le(self, type, value):
        put_signed(self, type, value, 4, LITTLE, "s32")

    @cython.critical_section
    def u64le(self, type, value):
        put_unsigned(self, type, value, 8, LITTLE, "u64")

    @cython.critical_section
    def s64le(self, type, value):
        put_signed(self, type, value, 8, LITTLE, "s64")

    @cython.critical_section
    def uint(self, type, value):
        """NLA_UINT: in 4 bytes if they hold the value, else in 8."""
        cdef int raw_type = type_number(type)
        cdef uint64_t number = unsigned(value, 8, raw_type, "a uint")
        cdef size_t width = 4 if number <= UINT32_MAX else 8
        store(append(self, raw_type, width), width, number, swaps(self.order, <uint16_t>raw_type))

    @cython.critical_section
    def sint(self, type, value):
        """NLA_SINT: in 4 bytes if they hold the value, else in 8."""
        cdef int raw_type = type_number(type)
        cdef int64_t number = signed(value, 8, raw_type, "a sint")
        cdef size_t width = 4 if INT32_MIN <= number <= INT32_MAX else 8
        store(append(self, raw_type, width), width, <uint64_t>number, swaps(self.order, <uint16_t>raw_type))

    @cython.critical_section
    def string(self, type, value):
        """UTF-8 text and one NUL (surrogates become the bytes they stand for)."""
        cdef int raw_type = type_number(type)
        cdef Py_ssize_t size = 0
        cdef const char* start
        cdef uint8_t* at
        cdef bytes encoded
        if not isinstance(value, str):
            raise TypeError(f"attribute {raw_type & TYPE_MASK}: text is wanted, not {value!r}")
        try:
            start = PyUnicode_AsUTF8AndSize(value, &size)
        except UnicodeEncodeError:
            encoded = escaped(value, raw_type)
            start = PyBytes_AS_STRING(encoded)
            size = PyBytes_GET_SIZE(encoded)
        if memchr(start, 0, <size_t>size) != NULL:
            raise EncodeError(
                f"attribute {raw_type & TYPE_MASK}: {value!r} has a NUL inside", raw_type & TYPE_MASK
            )
        at = append(self, raw_type, <size_t>size + 1)
        memcpy(at, start, <size_t>size + 1)

    @cython.critical_section
    def data(self, type, value):
        """Bytes as they are."""
        put_bytes(self, type_number(type), value)

    @cython.critical_section
    def flag(self, type, bint value=True):
        """An attribute without payload if `value`, else nothing."""
        cdef int raw_type = type_number(type)
        if value:
            append(self, raw_type, 0)

    def do(self, type, function):
        """The bytes that `function()` returns; what it raises gets a note that names the attribute."""
        cdef int raw_type = type_number(type)
        try:
            value = function()
        except Exception as error:
            error.add_note(f"in attribute {raw_type & TYPE_MASK}")
            raise
        self.data(raw_type, value)

    @cython.critical_section
    def attribute(self, Attribute attribute not None):
        """An attribute as it was read, its flags included."""
        cdef size_t size = attribute.nla_len - ATTRIBUTE_HEADER
        memcpy(append(self, attribute.nla_type, size), attribute.wire + ATTRIBUTE_HEADER, size)

    def nested(self, type):
        """`with encoder.nested(type):` puts what is written inside into one attribute.

        NLA_F_NESTED is added to the type. If the body raises, or the attribute
        passes 65535 bytes (EncodeError), the encoder is as it was before.
        """
        cdef _Nested nested = _Nested.__new__(_Nested)
        nested.nla_type = <uint16_t>type_number(type) | NESTED
        nested.encoder = self
        return nested

    @cython.critical_section
    def clear(self):
        """Forget the attributes; the header stays."""
        writable(self)
        closed(self)
        self.size = self.header

    def __len__(self):
        return <Py_ssize_t>self.size

    def __repr__(self):
        return f"<AttributeEncoder {self.size} bytes>"

    @cython.critical_section
    def __getbuffer__(self, Py_buffer* view, int flags):
        closed(self)
        export_bytes(view, self, self.base, self.size, flags)
        self.exports += 1

    @cython.critical_section
    def __releasebuffer__(self, Py_buffer* view):
        self.exports -= 1


cdef bytes escaped(object value, int raw_type):
    try:
        return PyUnicode_AsEncodedString(value, "utf-8", "surrogateescape")
    except UnicodeEncodeError as error:
        raise EncodeError(f"attribute {raw_type & TYPE_MASK}: {error}", raw_type & TYPE_MASK) from None


cdef int closed(AttributeEncoder self) except -1:
    cdef size_t start
    if self.depth:
        start = aligned(self.before[self.depth - 1])
        raise BufferError(f"nested attribute {load(self.base + start + 2, 2, False) & TYPE_MASK} is still open")
    return 0


@cython.final
cdef class _Nested:
    def __enter__(self):
        cdef AttributeEncoder encoder = self.encoder
        if encoder is None or self.level:
            raise TypeError("a nested attribute is entered once, and made by AttributeEncoder.nested")
        # Protects the encoder's buffer and its stack of open attributes.
        with cython.critical_section(encoder):
            open_nested(self, encoder)
        return encoder

    def __exit__(self, kind, error, traceback, /):
        cdef AttributeEncoder encoder = self.encoder
        if encoder is None or not self.level:
            raise TypeError("a nested attribute is left after it was entered")
        with cython.critical_section(encoder):
            close_nested(self, encoder, kind is None)


cdef int open_nested(_Nested self, AttributeEncoder encoder) except -1:
    cdef size_t before = encoder.size
    if encoder.depth == MAX_DEPTH:
        raise EncodeError(
            f"attribute {self.nla_type & TYPE_MASK}: attributes nest deeper than {MAX_DEPTH} levels",
            self.nla_type & TYPE_MASK,
        )
    append(encoder, self.nla_type, 0)
    encoder.before[encoder.depth] = before
    encoder.opened[encoder.depth] = <void*>self
    encoder.depth += 1
    self.level = encoder.depth
    return 0


cdef int close_nested(_Nested self, AttributeEncoder encoder, bint keep) except -1:
    cdef int level = self.level
    cdef bint innermost = level == encoder.depth
    cdef size_t before, length
    self.level = 0
    if level > encoder.depth or encoder.opened[level - 1] != <void*>self:
        raise BufferError(f"nested attribute {self.nla_type & TYPE_MASK} ended with the one around it")
    # With what is still open inside.
    encoder.depth = level - 1
    before = encoder.before[level - 1]
    length = encoder.size - aligned(before)
    if keep and innermost and length <= MAX_ATTRIBUTE:
        store(encoder.base + aligned(before), 2, length, False)
        return 0
    encoder.size = before
    if keep and not innermost:
        raise BufferError(f"nested attribute {self.nla_type & TYPE_MASK} held another that was still open")
    if keep:
        too_long(self.nla_type, length - ATTRIBUTE_HEADER)
    return 0


def marshal_attributes(attributes):
    """The attributes one after another, each padded with zeros to 4 bytes.

    One allocation: the sizes are summed first.
    """
    cdef tuple items = tuple(attributes)
    cdef Attribute attribute
    cdef size_t total = 0
    cdef size_t size
    cdef bytes wire
    cdef uint8_t* at
    for item in items:
        if not isinstance(item, Attribute):
            raise TypeError(f"an Attribute is wanted, not {type(item).__name__!r}")
        total += aligned((<Attribute>item).nla_len)
    wire = PyBytes_FromStringAndSize(NULL, <Py_ssize_t>total)
    at = <uint8_t*>PyBytes_AS_STRING(wire)
    for item in items:
        attribute = <Attribute>item
        size = attribute.nla_len
        store(at, 2, size, False)
        store(at + 2, 2, attribute.nla_type, False)
        memcpy(at + ATTRIBUTE_HEADER, attribute.wire + ATTRIBUTE_HEADER, size - ATTRIBUTE_HEADER)
        memset(at + size, 0, aligned(size) - size)
        at += aligned(size)
    return wire
