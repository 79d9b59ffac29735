# cython: language_level=3, freethreading_compatible=True, auto_pickle=False, autotestdict=False
"""Elements of nftables' sets, out of the lists that the kernel tells: a set has tens of thousands of them.

What keys and intervals mean is said in `netlink_codec.nft.elements`; here is how that is read fast.
"""

cimport cython
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from libc.stdint cimport uint8_t, uint16_t, uint32_t
from libc.string cimport memcmp, memcpy

from netlink_codec._core cimport (
    ATTRIBUTE_HEADER,
    BIG_HOST,
    HEADER_CUT,
    MESSAGE_HEADER,
    OK,
    Check,
    Message,
    aligned,
    check_attribute,
    load,
)
from netlink_codec._records cimport address4, address6, network4, network6

cdef extern from *:
    """
    static PyObject *nlc_bare(PyTypeObject *type, PyObject *nothing)
    {
        return type->tp_new(type, nothing, NULL);
    }
    """
    object new_object "nlc_bare" (type, tuple nothing)

from operator import itemgetter

from netlink_codec.errors import DecodeError

cdef enum:
    TYPE_MASK = 0x3FFF
    NFGENMSG = 4
    LIST_ELEMENTS = 3   # NFTA_SET_ELEM_LIST_ELEMENTS
    LIST_ELEM = 1       # NFTA_LIST_ELEM
    ELEM_KEY = 1        # NFTA_SET_ELEM_KEY
    ELEM_FLAGS = 3      # NFTA_SET_ELEM_FLAGS
    ELEM_KEY_END = 10   # NFTA_SET_ELEM_KEY_END
    DATA_VALUE = 1      # NFTA_DATA_VALUE
    INTERVAL_END = 1    # NFT_SET_ELEM_*
    CATCHALL = 2
    MOST_BYTES = 64     # of a key: NFT_DATA_VALUE_MAXLEN

cdef object FIRST = itemgetter(0)
cdef tuple NOTHING = ()


cdef class BareElement:
    """The key of an element; what else there is to it, as a subclass likes; the shape of its set, if it was read."""
    cdef public object key
    cdef public object _rest
    cdef public object _shape


# --- attributes -------------------------------------------------------------------------------------------------------

cdef struct Span:
    const uint8_t* at   # NULL: there is none
    size_t size


cdef int broken(const uint8_t* at, const uint8_t* end, uint16_t length, const uint8_t* origin) except -1:
    offset = at - origin
    raise DecodeError(
        f"elements of a set: the attribute at offset {offset} says {length} bytes, and {end - at} are left", offset
    )


cdef inline int take(const uint8_t** at, const uint8_t* end, int* code, Span* payload, const uint8_t* origin) except -1:
    """The next attribute; 0 if there is none."""
    cdef uint16_t length = 0
    cdef const uint8_t* here = at[0]
    cdef Check check = check_attribute(here, <size_t>(end - here), &length)
    if check != OK:
        return 0 if check == HEADER_CUT else broken(here, end, length, origin)
    code[0] = <int>load(here + 2, 2, False) & TYPE_MASK
    payload.at = here + ATTRIBUTE_HEADER
    payload.size = <size_t>length - ATTRIBUTE_HEADER
    at[0] = here + min(aligned(length), <size_t>(end - here))
    return 1


cdef inline int find(Span among, int wanted, Span* found, const uint8_t* origin) except -1:
    """The first attribute of this code."""
    cdef const uint8_t* at = among.at
    cdef int code = 0
    while take(&at, among.at + among.size, &code, found, origin):
        if code == wanted:
            return 1
    found.at = NULL
    found.size = 0
    return 0


cdef struct Raw:
    Span key
    Span last       # of the interval
    uint32_t flags
    bint more       # than these


cdef int read_raw(Span element, Raw* raw, const uint8_t* origin) except -1:
    cdef const uint8_t* at = element.at
    cdef Span payload
    cdef int code = 0
    raw.key.at = raw.last.at = payload.at = NULL
    raw.key.size = raw.last.size = payload.size = 0
    raw.flags = 0
    raw.more = False
    while take(&at, element.at + element.size, &code, &payload, origin):
        if code == ELEM_KEY and raw.key.at == NULL:
            if not find(payload, DATA_VALUE, &raw.key, origin):
                return no_key(element.at - origin)
        elif code == ELEM_KEY_END and raw.last.at == NULL:
            if not find(payload, DATA_VALUE, &raw.last, origin):
                return no_key(element.at - origin)
        elif code == ELEM_FLAGS and payload.size >= 4:
            raw.flags = <uint32_t>load(payload.at, 4, not BIG_HOST)
        else:
            raw.more = True
    return 0


cdef int no_key(Py_ssize_t offset) except -1:
    raise DecodeError(f"the element of a set at offset {offset} has no key", offset)


# --- values -----------------------------------------------------------------------------------------------------------

cdef int common_bits(const uint8_t* low, const uint8_t* high, size_t size) noexcept:
    """How many bits the network has that is from low to high; -1 if that is none."""
    cdef size_t i = 0
    cdef int different, bits
    while i < size and low[i] == high[i]:
        i += 1
    bits = <int>(8 * i)
    if i == size:
        return bits
    different = low[i] ^ high[i]
    if different & (different + 1) or low[i] & different:
        return -1
    bits += 8
    while different:
        bits -= 1
        different >>= 1
    for i in range(i + 1, size):
        if low[i] != 0 or high[i] != 0xFF:
            return -1
    return bits


def network_between(bytes first not None, bytes last not None):
    """The network from this address to that, or None; ValueError if they are not of 4 or 16 bytes."""
    cdef const uint8_t* low = <const uint8_t*>PyBytes_AS_STRING(first)
    cdef Py_ssize_t size = PyBytes_GET_SIZE(first)
    cdef int bits
    if PyBytes_GET_SIZE(last) != size or size not in (4, 16):
        raise ValueError("these are no addresses")
    bits = common_bits(low, <const uint8_t*>PyBytes_AS_STRING(last), <size_t>size)
    if bits < 0:
        return None
    return network4(<uint32_t>load(low, 4, not BIG_HOST), bits) if size == 4 else network6(low, bits)


cdef enum How:
    IP4
    IP6
    NUMBER
    OTHER   # as the type does it


@cython.final
cdef class _Part:
    """How a part of a key is read. Its type is a `netlink_codec.nft.datatypes.DataType`."""
    cdef How how
    cdef size_t size
    cdef size_t padded
    cdef bint swap
    cdef object type
    cdef type range

    def __cinit__(self, kind, type range):
        self.type = kind
        self.range = range
        self.size = kind.size
        self.padded = kind.padded
        self.swap = (kind.order == "big") != BIG_HOST
        self.how = OTHER
        if kind.make is not None:
            self.how = IP4 if self.size == 4 else IP6
        elif kind.plain and self.size in (1, 2, 4, 8):
            self.how = NUMBER

    cdef object value(self, const uint8_t* at):
        if self.how == IP4:
            return address4(<uint32_t>load(at, 4, not BIG_HOST))
        if self.how == IP6:
            return address6(at)
        if self.how == NUMBER:
            return load(at, self.size, self.swap)
        return self.type.read(PyBytes_FromStringAndSize(<const char*>at, <Py_ssize_t>self.size))

    cdef object between(self, const uint8_t* first, const uint8_t* last):
        cdef int bits
        if self.how == OTHER:
            return self.type.between(
                PyBytes_FromStringAndSize(<const char*>first, <Py_ssize_t>self.size),
                PyBytes_FromStringAndSize(<const char*>last, <Py_ssize_t>self.size),
            )
        if self.how == NUMBER:
            if not memcmp(first, last, self.size):
                return self.value(first)
        else:
            bits = common_bits(first, last, self.size)
            if bits >= 0 and self.how == IP4:
                return network4(<uint32_t>load(first, 4, not BIG_HOST), bits)
            if bits >= 0:
                return network6(first, bits)
        # Not by its constructor, which would refuse what stands the wrong way round, and takes its time.
        made = new_object(self.range, NOTHING)
        made.first = self.value(first)
        made.last = self.value(last)
        return made


# --- elements ---------------------------------------------------------------------------------------------------------

cdef class ElementReader:
    """Makes elements of a set of what a dump of them brings: `feed` each message, then ask for the `rest`.

    `element` is a subclass of BareElement, `range` the class of what is no network, and `catchall` the key of the
    element for all others.
    """
    cdef type element
    cdef object shape
    cdef object catchall
    cdef tuple parts
    cdef list ends       # (key and whether an interval begins there, what else there is) each
    cdef bint interval
    cdef bint split
    cdef size_t size

    def __cinit__(self, type element not None, shape, type range not None, catchall):
        if not issubclass(element, BareElement):
            raise TypeError(f"{element!r} is no BareElement")
        self.element = element
        self.shape = shape
        self.catchall = catchall
        self.parts = tuple([_Part(one, range) for one in shape.key])
        self.interval = shape.interval
        self.split = shape.split
        self.ends = []
        self.size = (<_Part>self.parts[0]).size
        if len(self.parts) > 1:
            self.size = sum([(<_Part>part).padded for part in self.parts])

    def feed(self, Message message not None):
        """The elements that are in it. Those of intervals are not whole before the last."""
        cdef Span payload
        payload.at = message.wire + MESSAGE_HEADER
        payload.size = message.nlmsg_len - MESSAGE_HEADER
        # Protects `ends`.
        with cython.critical_section(self):
            found = self.listed(payload)
        return found

    def take(self, bytes data not None):
        """As `feed`, of what stands in such a message behind its header."""
        cdef Span payload
        payload.at = <const uint8_t*>PyBytes_AS_STRING(data)
        payload.size = <size_t>PyBytes_GET_SIZE(data)
        with cython.critical_section(self):
            found = self.listed(payload)
        return found

    cdef list listed(self, Span payload):
        cdef const uint8_t* origin = payload.at
        cdef const uint8_t* at
        cdef Span elements, element
        cdef Raw raw
        cdef int code = 0
        cdef list found = []
        element.at = elements.at = NULL
        element.size = elements.size = 0
        if payload.size < NFGENMSG:
            raise DecodeError(f"{payload.size} bytes are less than a struct nfgenmsg, which takes 4", 0)
        payload.at += NFGENMSG
        payload.size -= NFGENMSG
        if not find(payload, LIST_ELEMENTS, &elements, origin):
            return found
        at = elements.at
        while take(&at, elements.at + elements.size, &code, &element, origin):
            if code != LIST_ELEM:
                continue
            read_raw(element, &raw, origin)
            rest = None
            if raw.more:
                rest = PyBytes_FromStringAndSize(<const char*>element.at, <Py_ssize_t>element.size)
            if raw.key.at == NULL or raw.flags & CATCHALL:
                if self.split and not raw.flags & CATCHALL:
                    no_key(element.at - origin)
                found.append(self.made(self.catchall, rest))
                continue
            self.check(raw.key, origin)
            if self.split:
                self.ends.append((self.end_of(raw), rest))
                continue
            if raw.last.at == NULL:
                raw.last = raw.key
            else:
                self.check(raw.last, origin)
            found.append(self.made(self.key_of(raw.key.at, raw.last.at), rest))
        return found

    cdef int check(self, Span key, const uint8_t* origin) except -1:
        if key.size == self.size and key.size <= MOST_BYTES:
            return 0
        offset = key.at - origin
        raise DecodeError(
            f"the key at offset {offset} has {key.size} bytes, and those of its set have {self.size}", offset
        )

    cdef object made(self, key, rest):
        cdef BareElement made = <BareElement>new_object(self.element, NOTHING)
        made.key = key
        made._rest = rest
        made._shape = self.shape
        return made

    cdef object key_of(self, const uint8_t* first, const uint8_t* last):
        cdef _Part part
        cdef list values
        if len(self.parts) == 1:
            return (<_Part>self.parts[0]).value(first)
        values = []
        for part in self.parts:
            values.append(part.between(first, last) if self.interval else part.value(first))
            first += part.padded
            last += part.padded
        return tuple(values)

    cdef bytes end_of(self, Raw raw):
        """What sorts it: where one interval begins behind another, the end of that comes first."""
        cdef bytes made = PyBytes_FromStringAndSize(NULL, <Py_ssize_t>self.size + 1)
        cdef char* at = PyBytes_AS_STRING(made)
        memcpy(at, raw.key.at, self.size)
        at[self.size] = not raw.flags & INTERVAL_END
        return made

    def rest(self):
        """Of intervals, which the kernel tells in an order of its own: the elements, from low to high."""
        with cython.critical_section(self):
            ends = self.ends
            self.ends = []
        return self.intervals(ends)

    cdef list intervals(self, list ends):
        cdef uint8_t[MOST_BYTES] last
        cdef const uint8_t* after
        cdef const char* first
        cdef size_t i
        cdef Py_ssize_t number, count = len(ends)
        cdef list found = []
        cdef _Part part = <_Part>self.parts[0]
        ends.sort(key=FIRST)
        for number in range(count):
            key, rest = ends[number]
            first = PyBytes_AS_STRING(<bytes>key)
            if not first[self.size]:
                continue
            for i in range(self.size):
                last[i] = 0xFF
            if number + 1 < count:
                after = <const uint8_t*>PyBytes_AS_STRING(<bytes>ends[number + 1][0])
                if not memcmp(first, after, self.size):
                    continue  # told twice, by a dump that was interrupted
                memcpy(last, after, self.size)
                # Minus one. It is more than another, so not 0.
                i = self.size - 1
                while last[i] == 0:
                    last[i] = 0xFF
                    i -= 1
                last[i] -= 1
            found.append(self.made(part.between(<const uint8_t*>first, last), rest))
        return found
