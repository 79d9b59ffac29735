# The fields of a record, and how they are read. Included by _records.pyx.

cdef const uint8_t* find(const uint8_t* at, const uint8_t* end, int code, uint16_t* length) noexcept nogil:
    """The first attribute of this code, its header; NULL if there is none, with a length of 1 where one is broken."""
    cdef Check check
    while True:
        check = check_attribute(at, <size_t>(end - at), length)
        if check != OK:
            length[0] = check != HEADER_CUT
            return NULL
        if <int>load(at + 2, 2, False) & TYPE_MASK == code:
            return at
        at += min(aligned(length[0]), <size_t>(end - at))


cdef bint attributes_end(Base record, const uint8_t* at, const uint8_t* end, uint16_t* length) except -1:
    """Whether there is no further attribute; DecodeError if there is half of one."""
    cdef Check check = check_attribute(at, <size_t>(end - at), length)
    if check == OK:
        return False
    if check == HEADER_CUT:
        return True
    offset = at - origin_of(record)
    raise DecodeError(
        f"{type(record).__name__}: the attribute at offset {offset} says {length[0]} bytes, "
        f"and {end - at} are left", offset
    )


cdef int broken(Field field, Base record) except -1:
    """Raise for the attribute that ended the search."""
    cdef const uint8_t* at = start_of(record) + field.begin
    cdef const uint8_t* end = start_of(record) + record.size
    cdef uint16_t length = 0
    while not attributes_end(record, at, end, &length):
        at += min(aligned(length), <size_t>(end - at))
    return 0


cdef dict HOWS = {
    "fixed": FIXED, "grown": GROWN, "attr": ATTR, "always": ALWAYS, "required": REQUIRED, "repeated": REPEATED,
    "present": PRESENT, "merged": MERGED, "prefix": PREFIX, "network": NETWORK,
}


@cython.final
cdef class _Schema:
    """Where the fields of a class are."""


cdef object DECLARED = count()


@cython.final
cdef class Field:
    """Field(how, kind, code=-1, *, default=..., over=None)\n--\n\n\
    One field of a record class: where its value is, and of which kind. `record.field` reads it."""

    def __cinit__(self, str how not None, Kind kind not None, code=-1, *, default=..., str over=None):
        self.how = HOWS[how]
        self.kind = kind
        self.code = index(code)
        self.order = next(DECLARED)
        if not -1 <= self.code <= TYPE_MASK or (self.code < 0) != (self.how <= GROWN):
            raise ValueError(f"{code} is no attribute's code")
        self.default = default
        self.over = over
        self.name = self.full = ""

    def __set_name__(self, owner, str name not None):
        if self.name:
            raise TypeError(f"{name}: a field belongs to one class, and this is {self.full}")
        self.name = name
        self.full = f"{owner.__name__}.{name}"

    def __get__(self, instance, owner):
        if instance is None:
            return self
        if not isinstance(instance, Base):
            raise TypeError(f"{self.name} is a field of records, not of {shown(instance)}")
        if self.schema is None:
            raise TypeError(f"{self.name} is a field of no class")
        return read_field(self, <Base>instance)

    def __set__(self, instance, value):
        raise AttributeError(f"{type(instance).__name__}.{self.name} cannot be set: records are immutable")

    def __delete__(self, instance):
        raise AttributeError(f"{type(instance).__name__}.{self.name} cannot be deleted: records are immutable")

    @property
    def __doc__(self):
        where = "in the struct" if self.code < 0 else f"attribute {self.code}"
        return f"{where}, {type(self.kind).__name__[1:].lower()}"

    def __repr__(self):
        return f"<Field {self.full}>"

    cdef str place(self, Base record):
        return f"{type(record).__name__}.{self.name}"


cdef object read_fixed(Field self, Base record):
    if self.offset + self.kind.width > record.size:
        # Of a struct that this kernel has shorter.
        return None if self.how == GROWN or isinstance(self.kind, _Sentinel) else self.kind.zero(self, record)
    return self.kind.read(self, record, start_of(record) + self.offset, self.kind.width)


cdef object read_field(Field self, Base record):
    cdef const uint8_t* at
    cdef const uint8_t* found = NULL
    cdef uint16_t length = 0
    if self.plain and self.offset + self.width <= record.size:
        return load(start_of(record) + self.offset, self.width, self.swap)
    if self.how <= GROWN:
        return read_fixed(self, record)
    if self.begin < record.size:
        at = start_of(record)
        found = find(at + self.begin, at + record.size, self.code, &length)
    if found != NULL and self.how <= REQUIRED:
        return self.kind.read(self, record, found + ATTRIBUTE_HEADER, length - ATTRIBUTE_HEADER)
    return read_otherwise(self, record, found, length)


cdef object read_otherwise(Field self, Base record, const uint8_t* found, uint16_t length):
    """What is not there, or is more than the value of one attribute."""
    cdef list values
    cdef const uint8_t* end = start_of(record) + record.size
    if found == NULL:
        if length:
            broken(self, record)
        return absent(self, record)
    if self.how == PRESENT:
        return True
    if self.how == MERGED:
        return self.kind.read(self, record, found + ATTRIBUTE_HEADER, length - ATTRIBUTE_HEADER)
    if self.how == REPEATED:
        values = []
        while found != NULL:
            values.append(self.kind.read(self, record, found + ATTRIBUTE_HEADER, length - ATTRIBUTE_HEADER))
            found += min(aligned(length), <size_t>(end - found))
            found = find(found, end, self.code, &length)
        if length:
            broken(self, record)
        return tuple(values)
    return network_in(self, record, found + ATTRIBUTE_HEADER, length - ATTRIBUTE_HEADER)


cdef object network_in(Field self, Base record, const uint8_t* at, size_t size):
    cdef int bits = <int>beside(self, record)
    cdef int version = version_of(self, record, size)
    if version == 4:
        return network4(<uint32_t>load(at, 4, not BIG_HOST), bits)
    if version == 6:
        return network6(at, bits)
    return bad(self, record, at, size, f"that is no network of family {family_in(self, record)} and /{bits}")


cdef uint64_t beside(Field field, Base record) noexcept:
    """The number in the struct that belongs to the field."""
    cdef Field other = field.other
    if other.offset + other.kind.width > record.size:
        return 0
    return load(start_of(record) + other.offset, other.kind.width, swapped_inside(other.kind))


cdef int family_in(Field field, Base record) noexcept:
    """The address family that the struct says, 0 if it says none."""
    cdef Field family = field.schema.family
    if family is None or family.offset + family.kind.width > record.size:
        return 0
    return <int>load(start_of(record) + family.offset, family.kind.width, swapped_inside(family.kind))


cdef int version_of(Field field, Base record, size_t size) noexcept:
    """4 or 6 if an address of so many bytes is one; 0 if it is a label, say, or the prefix is longer."""
    cdef int family = family_in(field, record)
    cdef uint64_t bits = beside(field, record)
    if size == 4 and bits <= 32 and (family == 0 or family == AF_INET or family == IPMR):
        return 4
    if size == 16 and bits <= 128 and (family == 0 or family == AF_INET6 or family == IP6MR):
        return 6
    return 0


cdef object absent(Field self, Base record):
    cdef int family
    if self.how == REPEATED:
        return ()
    if self.how == PRESENT:
        return False
    if self.how == MERGED:
        return self.kind.number(beside(self, record))
    if self.how == NETWORK:
        family = family_in(self, record)
        if family == AF_INET or family == IPMR:
            return network4(0, <int>min(beside(self, record), <uint64_t>32))
        if family == AF_INET6 or family == IP6MR:
            return network6(<const uint8_t*>ZEROS, <int>min(beside(self, record), <uint64_t>128))
    if self.how == ALWAYS or self.how == REQUIRED or self.how == NETWORK:
        offset = start_of(record) + record.size - origin_of(record)
        raise DecodeError(f"{self.place(record)} (attribute {self.code}) is missing", offset)
    return None


cdef const char* ZEROS = b"\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"
