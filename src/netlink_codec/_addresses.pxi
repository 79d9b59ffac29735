# Objects of the standard library's ipaddress, made in one step. Included by _records.pyx.
#
# Their constructors check and convert what is known to be right here: 380 ns instead of 100. What is made is checked
# once, at import, to be what the constructor makes; where it is not, the constructor does it.

from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network

cdef extern from *:
    """
    #include <structmember.h>

    /* Where a slot is in the objects of its class; 0 if it is none. */
    static Py_ssize_t nlc_slot(PyObject *owner, PyObject *descriptor)
    {
        if (!Py_IS_TYPE(descriptor, &PyMemberDescr_Type) || PyDescr_TYPE(descriptor) != (PyTypeObject *)owner)
            return 0;
        return ((PyMemberDescrObject *)descriptor)->d_member->offset;
    }

    static inline void nlc_set_slot(PyObject *object, Py_ssize_t offset, PyObject *value)
    {
        Py_INCREF(value);
        *(PyObject **)((char *)object + offset) = value;
    }

    /* It refers to a number, which refers to nothing: there is no cycle to look for. */
    static inline void nlc_leave(PyObject *object)
    {
        if (PyObject_IS_GC(object) && PyObject_GC_IsTracked(object))
            PyObject_GC_UnTrack(object);
    }
    """
    Py_ssize_t slot_of "nlc_slot" (object owner, object descriptor) noexcept
    void set_slot "nlc_set_slot" (object made, Py_ssize_t offset, object value) noexcept
    void leave "nlc_leave" (object made) noexcept

cdef extern from "Python.h":
    object _PyLong_FromByteArray(const unsigned char* bytes, size_t n, int little_endian, int is_signed)

cdef object IP4_CLASS = IPv4Address
cdef object IP6_CLASS = IPv6Address
cdef object NET4_CLASS = IPv4Network
cdef object NET6_CLASS = IPv6Network
cdef Py_ssize_t IP4_NUMBER = slot_of(IPv4Address, vars(IPv4Address).get("_ip"))
cdef Py_ssize_t IP6_NUMBER = slot_of(IPv6Address, vars(IPv6Address).get("_ip"))
cdef Py_ssize_t IP6_SCOPE = slot_of(IPv6Address, vars(IPv6Address).get("_scope_id"))
cdef bint FAST_ADDRESSES = False
cdef bint FAST_NETWORKS = False
cdef bint FAST_TEXTS = False


cdef object address4(uint32_t number):
    if not FAST_ADDRESSES:
        return IP4_CLASS(number)
    made = allocate_plain(<PyTypeObject*>IP4_CLASS)
    set_slot(made, IP4_NUMBER, number)
    leave(made)
    return made


cdef object address6(const uint8_t* at):
    cdef object number = _PyLong_FromByteArray(at, 16, 0, 0)
    if not FAST_ADDRESSES:
        return IP6_CLASS(number)
    made = allocate_plain(<PyTypeObject*>IP6_CLASS)
    set_slot(made, IP6_NUMBER, number)
    set_slot(made, IP6_SCOPE, None)
    leave(made)
    return made


cdef object text6(const uint8_t* at):
    """As `str` of the address: the first of the longest runs of zeros is left out."""
    cdef uint16_t[8] groups
    cdef char[40] text
    cdef Py_ssize_t size = 0
    cdef int i, shift, run, start = 8, longest = 1
    for i in range(8):
        groups[i] = <uint16_t>load(at + 2 * i, 2, not BIG_HOST)
    if not FAST_TEXTS or not (groups[0] | groups[1] | groups[2] | groups[3] | groups[4]) and groups[5] == 0xffff:
        return str(address6(at))  # of an IPv4 address in there, Python 3.13 has a form of its own
    i = 0
    while i < 8:
        run = 0
        while i + run < 8 and groups[i + run] == 0:
            run += 1
        if run > longest:
            start, longest = i, run
        i += run + 1
    i = 0
    while i < 8:
        if i == start:
            text[size] = text[size + 1] = 58  # colons
            size += 2
            i += longest
            continue
        if i and i != start + longest:
            text[size] = 58
            size += 1
        shift = 12
        while shift and not groups[i] >> shift:
            shift -= 4
        while shift >= 0:
            text[size] = HEX[groups[i] >> shift & 15]
            size += 1
            shift -= 4
        i += 1
    return ascii_text(text, size)


cdef list MASKS4 = [IPv4Network((0, length)).netmask for length in range(33)]
cdef list MASKS6 = [IPv6Network((0, length)).netmask for length in range(129)]


cdef object network_of(object cls, object address, int length, int longest, object mask):
    """As the constructor has it: three attributes, and another way to list the hosts of a network of one or two."""
    made = allocate_plain(<PyTypeObject*>cls)
    made.network_address = address
    made._prefixlen = length
    made.netmask = mask
    if length == longest:
        made.hosts = [address].copy  # a list of its own for who calls it
    elif length == longest - 1:
        made.hosts = made.__iter__
    return made


cdef object network4(uint32_t number, int length):
    cdef uint32_t mask = 0
    if length > 32:
        raise ValueError(f"{length} bits are more than 32")
    if length:
        mask = <uint32_t>0xffffffff << (32 - length)
    if not FAST_NETWORKS:
        return NET4_CLASS((number & mask, length))
    return network_of(NET4_CLASS, address4(number & mask), length, 32, MASKS4[length])


cdef int mask6(uint8_t* masked, const uint8_t* at, int length) except -1:
    cdef int whole = length >> 3
    if length > 128:
        raise ValueError(f"{length} bits are more than 128")
    memset(masked, 0, 16)
    memcpy(masked, at, <size_t>whole)
    if length & 7:
        masked[whole] = <uint8_t>(at[whole] & (0xff00 >> (length & 7)))
    return 0


cdef object network6(const uint8_t* at, int length):
    cdef uint8_t[16] masked
    mask6(masked, at, length)
    if not FAST_NETWORKS:
        return NET6_CLASS((_PyLong_FromByteArray(masked, 16, 0, 0), length))
    return network_of(NET6_CLASS, address6(masked), length, 128, MASKS6[length])


cdef bint same(object made, object wanted):
    """Whether nobody can tell them apart."""
    mine, its = [
        {name: value for name, value in vars(one).items() if name != "hosts"} if hasattr(one, "__dict__") else None
        for one in (made, wanted)
    ]
    return (
        type(made) is type(wanted)
        and made == wanted
        and hash(made) == hash(wanted)
        and str(made) == str(wanted)
        and repr(made) == repr(wanted)
        and made.__reduce__() == wanted.__reduce__()
        and mine == its
        and (mine is None or wanted.num_addresses > 16 or list(made.hosts()) == list(wanted.hosts()))
        and (mine is not None or made.packed == wanted.packed)
    )


cdef int check_addresses() except -1:
    """Turn the short ways on if what they make is right."""
    global FAST_ADDRESSES, FAST_NETWORKS, FAST_TEXTS
    cdef bytes wire = bytes.fromhex("20010db8000000000000000000000a01")
    cdef const uint8_t* at = <const uint8_t*>PyBytes_AS_STRING(wire)
    cdef int length
    try:
        FAST_ADDRESSES = IP4_NUMBER > 0 and IP6_NUMBER > 0 and IP6_SCOPE > 0
        FAST_ADDRESSES = (
            FAST_ADDRESSES
            and same(address4(0x0a010203), IP4_CLASS("10.1.2.3"))
            and same(address6(at), IP6_CLASS(wire))
        )
        FAST_NETWORKS = FAST_ADDRESSES
        for length in (0, 24, 31, 32):
            FAST_NETWORKS = FAST_NETWORKS and same(
                network4(0x0a010203, length), NET4_CLASS((0x0a010203, length), strict=False)
            )
        for length in (0, 61, 125, 127, 128):
            FAST_NETWORKS = FAST_NETWORKS and same(network6(at, length), NET6_CLASS((wire, length), strict=False))
        FAST_TEXTS = True
        for text in ("::", "::1", "fe80::", "1:0:0:2::3", "1::2:0:0:3", "1:2:3:0:5:6:7:8", "ffff:a0::9", "::b:0:0:1:2"):
            wire = IP6_CLASS(text).packed
            FAST_TEXTS = FAST_TEXTS and text6(<const uint8_t*>PyBytes_AS_STRING(wire)) == str(IP6_CLASS(text))
    except Exception:
        FAST_ADDRESSES = FAST_NETWORKS = FAST_TEXTS = False
    return 0


check_addresses()
