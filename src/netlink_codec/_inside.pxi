# Kinds whose values are records, or several of another kind. Included by _records.pyx.

@cython.final
cdef class _Nested(Kind):
    cdef object cls
    cdef _Schema schema_found

    cdef _Schema schema(self):
        if self.schema_found is None:
            found = schema_of(self.cls() if not isinstance(self.cls, type) else self.cls)
            # Protects what all threads see from being set twice.
            with cython.critical_section(self):
                if self.schema_found is None:
                    self.schema_found = found
        return self.schema_found

    cdef object read(self, Field field, Base record, const uint8_t* at, size_t size):
        cdef _Schema schema = self.schema_found
        if schema is None:
            schema = self.schema()
        if size < schema.least:
            bad(field, record, at, size, f"{schema.name} takes {schema.least}")
        return view_of(schema.cls, field, record, at, size)

    cdef int write(self, Field field, Writer* writer, object value) except -1:
        return append_record(writer, record_in(field, value, self.schema()))

    cdef int put(self, Field field, uint8_t* at, object value) except -1:
        cdef Base record = record_in(field, value, self.schema())
        memset(at, 0, self.width)
        memcpy(at, start_of(record), min(record.size, self.width))
        return 0

    cdef object canonical(self, Field field, Base record, const uint8_t* at, size_t size):
        return canonical_bytes(self.read(field, record, at, size))

    cdef object plain(self, Field field, Base record, const uint8_t* at, size_t size):
        cdef Base value = self.read(field, record, at, size)
        return value.to_dict() if self.schema_found.tells else dict_by(self.schema_found, value)

    cdef object zero(self, Field field, Base record):
        """As much of it as there is."""
        cdef size_t offset = min(field.offset, <size_t>record.size)
        return view_of(self.schema().cls, field, record, start_of(record) + offset, record.size - offset)

    cdef bint nested(self) except -1:
        return not self.schema().struct


cdef Base record_in(Field field, object value, _Schema schema):
    """A value that is a record. (That it is one of the class anything may say; that it is a record is looked at.)"""
    if not isinstance(value, Base) or not isinstance(value, schema.cls):
        wrong_type(field, value, f"a {schema.name}")
    return <Base>value


cdef int append_record(Writer* writer, Base value) except -1:
    memcpy(room(writer, value.size), start_of(value), value.size)
    return 0


def nested(record):
    cdef _Nested kind = _Nested.__new__(_Nested)
    cdef _Schema schema
    kind.cls = record
    if isinstance(record, type):
        schema = schema_of(record)
        kind.schema_found = schema
        if schema.struct:
            kind.width = schema.header
            kind.alignment = schema.alignment
    elif not callable(record):
        raise TypeError(f"a record class, or a function that returns one, is wanted, not {record!r}")
    return kind


@cython.final
cdef class _Chosen(Kind):
    cdef _Schema base
    cdef str by

    cdef bint nested(self) except -1:
        return not self.base.struct

    cdef object choice(self, Field field, Base record):
        try:
            value = read_field(field.other, record)
            return self.base.choices.get(value, self.base.cls)
        except (DecodeError, TypeError):
            return self.base.cls

    cdef object read(self, Field field, Base record, const uint8_t* at, size_t size):
        cls = self.choice(field, record)
        if size < schema_of(cls).least:
            cls = self.base.cls
        if size < self.base.least:
            bad(field, record, at, size, f"{self.base.name} takes {self.base.least}")
        return view_of(cls, field, record, at, size)

    cdef int write(self, Field field, Writer* writer, object value) except -1:
        return append_record(writer, record_in(field, value, self.base))

    cdef object plain(self, Field field, Base record, const uint8_t* at, size_t size):
        cdef Base value = self.read(field, record, at, size)
        try:
            return dict_inside(value)
        except DecodeError:
            if type(value) is not self.base.cls:
                raise
            return bytes_at(at, size).hex()  # of a kind that is not known, and no attributes

    cdef object canonical(self, Field field, Base record, const uint8_t* at, size_t size):
        return canonical_bytes(self.read(field, record, at, size))


def chosen(base, str by not None):
    cdef _Chosen kind = _Chosen.__new__(_Chosen)
    kind.base = schema_of(base)
    kind.by = by
    return kind


@cython.final
cdef class _Array(Kind):
    cdef Kind inner
    cdef int code

    cdef bint nested(self) except -1:
        return True

    cdef object read(self, Field field, Base record, const uint8_t* at, size_t size):
        cdef const uint8_t* end = at + size
        cdef uint16_t length = 0
        cdef list values = []
        while not attributes_end(record, at, end, &length):
            values.append(self.inner.read(field, record, at + ATTRIBUTE_HEADER, length - ATTRIBUTE_HEADER))
            at += min(aligned(length), <size_t>(end - at))
        return tuple(values)

    cdef object plain(self, Field field, Base record, const uint8_t* at, size_t size):
        cdef const uint8_t* end = at + size
        cdef uint16_t length = 0
        cdef list values = []
        while not attributes_end(record, at, end, &length):
            values.append(self.inner.plain(field, record, at + ATTRIBUTE_HEADER, length - ATTRIBUTE_HEADER))
            at += min(aligned(length), <size_t>(end - at))
        return values

    cdef int write(self, Field field, Writer* writer, object value) except -1:
        cdef int number = 0
        for item in sequence_of(field, value):
            number += 1
            append_attribute(field, writer, self.inner, number if self.code < 0 else self.code, item)
        return 0

    cdef object canonical(self, Field field, Base record, const uint8_t* at, size_t size):
        cdef const uint8_t* end = at + size
        cdef uint16_t length = 0
        cdef list values = []
        while not attributes_end(record, at, end, &length):
            values.append(self.inner.canonical(field, record, at + ATTRIBUTE_HEADER, length - ATTRIBUTE_HEADER))
            at += min(aligned(length), <size_t>(end - at))
        return tuple(values)


cdef object sequence_of(Field field, object value):
    if not isinstance(value, (tuple, list)):
        wrong_type(field, value, "a tuple")
    return value


def array(Kind kind not None, int code):
    cdef _Array made = _Array.__new__(_Array)
    if not -1 <= code <= TYPE_MASK:
        raise ValueError(f"{code} is no attribute's code")
    made.inner = kind
    made.code = code
    return made


@cython.final
cdef class _Packed(Kind):
    cdef Kind inner

    cdef object read(self, Field field, Base record, const uint8_t* at, size_t size):
        cdef size_t width = self.inner.width
        cdef size_t position
        cdef list values = []
        if size % width:
            bad(field, record, at, size, f"it takes {width} each")
        for position in range(size // width):
            values.append(self.inner.read(field, record, at + position * width, width))
        return tuple(values)

    cdef object plain(self, Field field, Base record, const uint8_t* at, size_t size):
        values = self.read(field, record, at, size)
        return list(values) if isinstance(self.inner, _Integer) else plain_of(values)

    cdef int write(self, Field field, Writer* writer, object value) except -1:
        for item in sequence_of(field, value):
            self.inner.put(field, room(writer, self.inner.width), item)
        return 0


def packed(Kind kind not None):
    cdef _Packed made = _Packed.__new__(_Packed)
    made.inner = kind
    if not made.inner.width:
        raise TypeError(f"values of one width are wanted, not {kind!r}")
    return made


@cython.final
cdef class _Sequence(Kind):
    cdef _Nested inner

    cdef object read(self, Field field, Base record, const uint8_t* at, size_t size):
        cdef size_t length
        cdef list values = []
        while size >= 2:
            length = <size_t>load(at, 2, False)
            if length > size or length < max(self.inner.schema().least, <size_t>2):
                bad(field, record, at, size, f"the record that begins there says {length}")
            values.append(view_of(self.inner.schema().cls, field, record, at, length))
            length = min(aligned(length), size)
            at += length
            size -= length
        return tuple(values)

    cdef int write(self, Field field, Writer* writer, object value) except -1:
        cdef size_t size
        for item in sequence_of(field, value):
            size = record_in(field, item, self.inner.schema()).size
            if not 2 <= size <= MAX_LENGTH:
                does_not_fit(field, item, f"takes {size} bytes, and its length counts from 2 to {MAX_LENGTH}")
            append_record(writer, <Base>item)
            store(writer.base + writer.size - size, 2, size, False)
            size = aligned(size) - size
            memset(room(writer, size), 0, size)
        return 0

    cdef object canonical(self, Field field, Base record, const uint8_t* at, size_t size):
        return tuple([canonical_bytes(<Base>one) for one in self.read(field, record, at, size)])


def sequence(record):
    cdef _Sequence made = _Sequence.__new__(_Sequence)
    cdef _Schema schema = schema_of(record)
    cdef Field first = schema.fields[0] if schema.fields else None
    if first is None or first.how != FIXED or not isinstance(first.kind, _Integer) or first.kind.width != 2:
        raise TypeError(f"{schema.name} does not begin with its length")
    made.inner = nested(record)
    return made


# All of these are made by the functions above: one that was not would have no width.

cdef PyObject* refuse(PyTypeObject* cls, PyObject* given, PyObject* named) except NULL:
    """tp_new."""
    raise TypeError(f"cannot create '{(<object>cls).__name__}' instances")


for _refused in (
    Kind, _Integer, _Variable, _Numbered, _Enumerated, _Flagged, _Scaled, _Sentinel, _Text, _Characters, _Data, _Custom,
    _Hardware, _Address, _Nested, _Chosen, _Array, _Packed, _Sequence, _Schema,
):
    (<PyTypeObject*>_refused).tp_new = <newfunc>refuse
    (<PyTypeObject*>_refused).tp_vectorcall = NULL
