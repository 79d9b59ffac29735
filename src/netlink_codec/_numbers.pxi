# Kinds whose values are numbers, or read as something else. Included by _records.pyx.

@cython.final
cdef class _Integer(Kind):
    cdef bint is_signed
    cdef bint swap
    cdef bint length   # of the record that it is in: filled in

    cdef object read(self, Field field, Base record, const uint8_t* at, size_t size):
        if size != self.width:
            bad(field, record, at, size, f"it takes {self.width}")
        return self.number(load(at, self.width, self.swap))

    cdef object number(self, uint64_t number):
        if not self.is_signed:
            return number
        if self.width == 4:
            return <int32_t>number
        if self.width == 8:
            return <int64_t>number
        return <int16_t>number if self.width == 2 else <int8_t>number

    cdef int put(self, Field field, uint8_t* at, object value) except -1:
        store(at, self.width, number_of(field, value, self.width, self.is_signed), self.swap)
        return 0

    cdef object plain(self, Field field, Base record, const uint8_t* at, size_t size):
        return self.read(field, record, at, size)


cdef uint64_t number_of(Field field, object value, size_t width, bint is_signed) except? 0xbad:
    cdef int overflow = 0
    cdef int64_t number
    cdef int64_t top
    if not isinstance(value, int):
        if not hasattr(type(value), "__index__"):
            wrong_type(field, value, "a number")
        value = index(value)
    number = PyLong_AsLongLongAndOverflow(value, &overflow)
    if is_signed:
        top = <int64_t>((<uint64_t>1 << (8 * width - 1)) - 1)
        if not overflow and -top - 1 <= number <= top:
            return <uint64_t>number
    elif not overflow and number >= 0 and (width == 8 or <uint64_t>number >> (8 * width) == 0):
        return <uint64_t>number
    elif overflow > 0 and width == 8 and value < 1 << 64:
        return PyLong_AsUnsignedLongLong(int(value))
    does_not_fit(field, value, f"is out of range for {8 * width} bits")
    return 0


def integer(size_t width, *, bint signed=False, str order="native", bint length=False):
    if width not in (1, 2, 4, 8) or order not in ("native", "little", "big") or length and width != 2:
        raise ValueError(f"no integer has {width} bytes in {order} order")
    cdef _Integer kind = _Integer.__new__(_Integer)
    kind.width = width
    kind.is_signed = signed
    kind.swap = order != "native" and (order == "big") != BIG_HOST
    kind.length = length
    return kind


@cython.final
cdef class _Variable(Kind):
    cdef bint is_signed

    cdef object read(self, Field field, Base record, const uint8_t* at, size_t size):
        if size != 4 and size != 8:
            bad(field, record, at, size, "it takes 4 or 8")
        if not self.is_signed:
            return load(at, size, False)
        return <int32_t>load(at, 4, False) if size == 4 else <int64_t>load(at, 8, False)

    cdef int write(self, Field field, Writer* writer, object value) except -1:
        cdef uint64_t number = number_of(field, value, 8, self.is_signed)
        cdef int64_t as_signed = <int64_t>number
        cdef bint small = -0x80000000 <= as_signed <= 0x7fffffff if self.is_signed else number >> 32 == 0
        store(room(writer, 4 if small else 8), 4 if small else 8, number, False)
        return 0

    cdef object canonical(self, Field field, Base record, const uint8_t* at, size_t size):
        if size == 4 or size == 8:
            return self.read(field, record, at, size)
        return PyBytes_FromStringAndSize(<const char*>at, <Py_ssize_t>size)


def variable(*, bint signed=False):
    cdef _Variable kind = _Variable.__new__(_Variable)
    kind.is_signed = signed
    return kind


cdef class _Numbered(Kind):
    """Numbers that read as something else."""
    cdef Kind inner
    cdef object cls

    cdef object read(self, Field field, Base record, const uint8_t* at, size_t size):
        if size != self.width:
            bad(field, record, at, size, f"it takes {self.width}")
        return self.number(load(at, self.width, (<_Integer>self.inner).swap))

    cdef int put(self, Field field, uint8_t* at, object value) except -1:
        return self.inner.put(field, at, value)


cdef object numbers_alone(object kind):
    if not isinstance(kind, _Integer):
        raise TypeError(f"a kind of numbers is wanted, not {kind!r}")
    return kind


@cython.final
cdef class _Enumerated(_Numbered):
    cdef dict members
    cdef dict words

    cdef object number(self, uint64_t number):
        value = self.inner.number(number)
        member = self.members.get(value)
        return self.cls(value) if member is None else member

    cdef object plain(self, Field field, Base record, const uint8_t* at, size_t size):
        if size != self.width:
            bad(field, record, at, size, f"it takes {self.width}")
        value = self.inner.number(load(at, self.width, (<_Integer>self.inner).swap))
        return self.words.get(value, value)


def enumerated(kind, enum):
    cdef _Enumerated made = _Enumerated.__new__(_Enumerated)
    made.inner = numbers_alone(kind)
    made.width = made.inner.width
    made.cls = enum
    made.members = {int(member): member for member in enum}
    made.words = {int(member): member.word for member in enum}
    return made


cdef enum:
    # Flags make an object for each combination that is met; so many are kept.
    MOST_COMBINATIONS = 1024


@cython.final
cdef class _Flagged(_Numbered):
    cdef dict members
    cdef dict names

    cdef object number(self, uint64_t number):
        value = self.inner.number(number)
        member = self.members.get(value)
        if member is None:
            member = flags_of(self.cls, value)
            if len(self.members) < MOST_COMBINATIONS:
                member = self.members.setdefault(value, member)
        return member

    cdef object plain(self, Field field, Base record, const uint8_t* at, size_t size):
        value = self.read(field, record, at, size)
        names = self.names.get(value)
        if names is None:
            names = plain_of(value)
            if len(self.names) < MOST_COMBINATIONS:
                self.names[value] = names
        return list(names)


cdef object flags_of(object cls, object value):
    """As `cls(value)`, which would keep what it makes for ever."""
    known = [member for member in cls if value & int(member)]
    rest = value & ~sum([int(member) for member in known])
    made = int.__new__(cls, value)
    made._value_ = value
    made._name_ = "|".join([*[member.name for member in known], *([hex(rest)] if rest else [])]) or None
    return made


def flagged(kind, flags):
    cdef _Flagged made = _Flagged.__new__(_Flagged)
    made.inner = numbers_alone(kind)
    made.width = made.inner.width
    made.cls = flags
    made.members = {int(member): member for member in flags}
    made.names = {}
    return made


@cython.final
cdef class _Scaled(_Numbered):
    cdef double unit
    cdef double per   # 1 / unit, where that is a whole number: dividing by it rounds once

    cdef object number(self, uint64_t number):
        value = self.inner.number(number)
        return value / self.per if self.per else value * self.unit

    cdef int put(self, Field field, uint8_t* at, object value) except -1:
        if not isinstance(value, (int, float)):
            wrong_type(field, value, "a number")
        try:
            count = round(value * self.per if self.per else value / self.unit)
        except (OverflowError, ValueError):
            count = does_not_fit(field, value, "is no number of units")  # raises
        return self.inner.put(field, at, count)


def scaled(kind, double unit):
    cdef _Scaled made = _Scaled.__new__(_Scaled)
    made.inner = numbers_alone(kind)
    made.width = made.inner.width
    made.unit = unit
    made.per = round(1 / unit) if abs(1 / unit - round(1 / unit)) < 1e-6 else 0
    return made


@cython.final
cdef class _Sentinel(Kind):
    cdef Kind inner
    cdef uint64_t none

    cdef object read(self, Field field, Base record, const uint8_t* at, size_t size):
        if size == self.width and load(at, size, swapped_inside(self.inner)) == self.none:
            return None
        return self.inner.read(field, record, at, size)

    cdef int put(self, Field field, uint8_t* at, object value) except -1:
        if value is not None:
            return self.inner.put(field, at, value)
        store(at, self.width, self.none, swapped_inside(self.inner))
        return 0


cdef bint swapped_inside(Kind kind) noexcept:
    if isinstance(kind, _Numbered):
        kind = (<_Numbered>kind).inner
    return isinstance(kind, _Integer) and (<_Integer>kind).swap


def sentinel(Kind kind not None, value):
    cdef _Sentinel made = _Sentinel.__new__(_Sentinel)
    if not isinstance(kind, (_Integer, _Numbered)):
        raise TypeError(f"a kind of numbers is wanted, not {kind!r}")
    made.inner = kind
    made.width = kind.width
    bits = <object>(8 * made.width)
    if not -(1 << bits - 1) <= value < 1 << bits:
        raise ValueError(f"{value} is out of range for {bits} bits")
    made.none = value & (1 << bits) - 1
    return made
