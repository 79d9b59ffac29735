# Building a record, changing one. Included by _records.pyx.

# Bytes ---------------------------------------------------------------------------------------------------------------

cdef enum:
    ON_STACK = 1024


cdef uint8_t* room(Writer* writer, size_t size) except NULL:
    """Where the next so many bytes go."""
    cdef size_t start = writer.size
    cdef size_t capacity
    cdef void* base
    if size > writer.capacity - start:
        capacity = 2 * (start + size)
        base = PyMem_Realloc(writer.base if writer.on_heap else NULL, capacity)
        if base == NULL:
            raise MemoryError
        if not writer.on_heap:
            memcpy(base, writer.base, start)
        writer.base = <uint8_t*>base
        writer.capacity = capacity
        writer.on_heap = True
    writer.size = start + size
    return writer.base + start


cdef void begin_writing(Writer* writer, uint8_t* stack) noexcept:
    writer.base = stack
    writer.size = 0
    writer.capacity = ON_STACK
    writer.on_heap = False
    writer.family = 0


cdef void end_writing(Writer* writer) noexcept:
    if writer.on_heap:
        PyMem_Free(writer.base)


cdef int append_attribute(Field field, Writer* writer, Kind kind, int code, object value) except -1:
    cdef size_t start = writer.size
    cdef size_t length
    room(writer, ATTRIBUTE_HEADER)
    kind.write(field, writer, value)
    length = writer.size - start
    if length > MAX_LENGTH:
        raise EncodeError(
            f"{field.full}: {length - ATTRIBUTE_HEADER} bytes, "
            f"and an attribute holds {MAX_LENGTH - ATTRIBUTE_HEADER}",
            field.code,
        )
    store(writer.base + start, 2, length, False)
    store(writer.base + start + 2, 2, <uint64_t>(code | (NESTED if kind.nested() else 0)), False)
    length = aligned(length) - length
    memset(room(writer, length), 0, length)
    return 0


# Building ------------------------------------------------------------------------------------------------------------

cdef enum:
    MOST_FIELDS = 200


cdef int write_field(Field field, Writer* writer, object value) except -1:
    """Write a value where it belongs; the struct stands at the writer's beginning."""
    cdef uint64_t number
    if field.how <= GROWN:
        return field.kind.put(field, writer.base + field.offset, value)
    if field.how == REPEATED:
        for item in sequence_of(field, value):
            append_attribute(field, writer, field.kind, field.code, item)
        return 0
    if field.how == PRESENT:
        if value:
            append_attribute(field, writer, field.kind, field.code, b"")
        return 0
    if field.how == MERGED:
        return write_merged(field, writer, value)
    if field.how == PREFIX or field.how == NETWORK:
        return write_network(field, writer, value)
    return append_attribute(field, writer, field.kind, field.code, value)


cdef int write_merged(Field field, Writer* writer, object value) except -1:
    cdef Field other = field.other
    cdef uint64_t number = number_of(field, value, field.kind.width, False)
    cdef uint64_t most = (<uint64_t>1 << (8 * other.kind.width)) - 1
    if number > most:
        append_attribute(field, writer, field.kind, field.code, value)
        number = number & most if isinstance(field.kind, _Flagged) else 0
    store(writer.base + other.offset, other.kind.width, number, swapped_inside(other.kind))
    return 0


cdef int write_network(Field field, Writer* writer, object value) except -1:
    if not isinstance(value, (NET4_CLASS, NET6_CLASS)):
        wrong_type(field, value, "an IPv4Network or IPv6Network")
    if value.prefixlen:  # the kernel refuses an address where none is meant
        append_attribute(field, writer, field.kind, field.code, value.network_address)
    writer.family = AF_INET if isinstance(value, NET4_CLASS) else AF_INET6
    return field.other.kind.put(field.other, writer.base + field.other.offset, value.prefixlen)


cdef int fill_chosen(_Schema schema, dict values) except -1:
    """What is chosen says by which value."""
    cdef Field field
    for one in schema.chosen:
        field = <Field>one
        value = values.get(field.name)
        if not isinstance(value, Base):
            continue
        kind = schema_of(type(value)).kind
        if kind is None:
            continue
        given = values.get(field.other.name)
        if given is None:
            values[field.other.name] = kind
        elif given != kind:
            raise EncodeError(f"{field.full}: a {type(value).__name__} is for {kind!r}, not for {shown(given)}")
    return 0


cdef int sort_fields(_Schema schema, dict values, PyObject** fields, Py_ssize_t* count) except -1:
    """The fields that are given, in the order of declaration. (Few are, in mostly the right order.)"""
    cdef Py_ssize_t here, before
    cdef Field field
    count[0] = 0
    for name in values:
        if count[0] == MOST_FIELDS:  # counted here: whoever holds the dict may be changing it
            raise TypeError(f"{schema.name}: more than {MOST_FIELDS} fields at once")
        one = schema.by_name.get(name)
        if one is None:
            raise TypeError(f"{schema.name} has no field {name!r}")
        field = <Field>one
        here = count[0]
        while here and (<Field>fields[here - 1]).order > field.order:
            fields[here] = fields[here - 1]
            here -= 1
        fields[here] = <PyObject*>field
        count[0] += 1
    return 0


cdef int finish(_Schema schema, Writer* writer, bint family_given) except -1:
    """What follows from the rest."""
    cdef Field field = schema.family
    if field is not None and writer.family and not family_given:
        store(writer.base + field.offset, field.kind.width, <uint64_t>writer.family, swapped_inside(field.kind))
    if schema.length is not None:
        store(writer.base + schema.length.offset, 2, min(writer.size, <size_t>MAX_LENGTH), False)
    return 0


cdef PyObject* build(PyTypeObject* kind, PyObject* given, PyObject* named) except NULL:
    """tp_new."""
    cdef object cls = <object>kind
    cdef _Schema schema
    cdef dict values
    cdef Base made
    cdef PyObject* result
    if (<tuple>given):
        raise TypeError(f"{cls.__name__} takes its fields by name")
    if cls is Base:
        raise TypeError("records are made of subclasses of Record")
    schema = schema_of(cls)
    values = {} if named == NULL else <dict>named
    if schema.chosen:
        values = dict(values)
        fill_chosen(schema, values)
    made = built(schema, values)
    result = <PyObject*>made
    hold_on(result)
    return result


(<PyTypeObject*>Base).tp_new = <newfunc>build
(<PyTypeObject*>Base).tp_vectorcall = NULL


cdef size_t size_given(_Schema schema, dict values) except? 0:
    """How much of a struct that grows there is: up to the last field that is given."""
    cdef Field field
    cdef size_t size = schema.oldest
    cdef size_t missing = schema.header
    for one in schema.fields:
        field = <Field>one
        if field.how == GROWN:
            if values.get(field.name) is not None:
                size = field.offset + field.kind.width
                missing = schema.header
            elif missing == schema.header:
                missing = field.offset
    return min((size + schema.alignment - 1) // schema.alignment * schema.alignment, missing)


cdef Base built(_Schema schema, dict values):
    cdef uint8_t[ON_STACK] stack
    cdef (PyObject*)[MOST_FIELDS] fields
    cdef Py_ssize_t count = 0
    cdef Py_ssize_t i
    cdef Writer writer
    cdef Field field
    cdef bint family_given = False
    begin_writing(&writer, stack)
    try:
        memcpy(room(&writer, schema.header), PyBytes_AS_STRING(schema.template), schema.header)
        if not schema.struct:
            memset(room(&writer, schema.begin - schema.header), 0, schema.begin - schema.header)
        sort_fields(schema, values, fields, &count)
        for i in range(count):
            field = <Field>fields[i]
            value = values[field.name]
            if value is None and (field.how > GROWN or not isinstance(field.kind, _Sentinel)):
                continue
            family_given = family_given or field is schema.family
            write_field(field, &writer, value)
        for one in schema.needed:
            field = <Field>one
            value = values.get(field.name)
            if value is None and not (field.name in values and isinstance(field.kind, _Sentinel)):
                raise TypeError(f"{field.full} is missing")
        if schema.grows and writer.size <= schema.begin:
            writer.size = size_given(schema, values)
        finish(schema, &writer, family_given)
        return copy_of(schema.cls, schema, writer.base, writer.size)
    finally:
        end_writing(&writer)


# Changing ------------------------------------------------------------------------------------------------------------

cdef Base changed(Base record, dict changes):
    """A copy in which some fields are others: the rest as it is on the wire."""
    cdef _Schema schema = schema_of(type(record))
    cdef uint8_t[ON_STACK] stack
    cdef (PyObject*)[MOST_FIELDS] fields
    cdef Py_ssize_t count = 0
    cdef Py_ssize_t i
    cdef Writer writer
    cdef Field field
    cdef Base made
    cdef const uint8_t* at = start_of(record)
    cdef const uint8_t* end = at + record.size
    cdef size_t begin = record.size if schema.struct else min(schema.begin, <size_t>record.size)
    cdef size_t needed = begin
    cdef uint16_t length = 0
    cdef set done = set()
    if schema.chosen:
        changes = dict(changes)
        fill_chosen(schema, changes)
    begin_writing(&writer, stack)
    try:
        sort_fields(schema, changes, fields, &count)
        memcpy(room(&writer, begin), at, begin)
        if begin < schema.begin:
            memset(room(&writer, schema.begin - begin), 0, schema.begin - begin)
        at += begin
        for i in range(count):  # the struct
            field = <Field>fields[i]
            if field.how <= GROWN:
                done.add(field.name)
                value = changes[field.name]
                if value is not None:
                    needed = max(needed, field.offset + field.kind.width)
                if value is None and not isinstance(field.kind, _Sentinel):
                    memcpy(
                        writer.base + field.offset,
                        PyBytes_AS_STRING(schema.template) + field.offset,
                        field.kind.width,
                    )
                else:
                    write_field(field, &writer, value)
        while not schema.struct and not attributes_end(record, at, end, &length):
            one = schema.by_code.get(<int>load(at + 2, 2, False) & TYPE_MASK)
            if one is None or (<Field>one).name not in changes:
                memcpy(room(&writer, length), at, length)
                memset(room(&writer, aligned(length) - length), 0, aligned(length) - length)
            elif (<Field>one).name not in done:
                field = <Field>one
                done.add(field.name)
                change_field(schema, field, &writer, changes[field.name])
            at += min(aligned(length), <size_t>(end - at))
        for i in range(count):  # what was not there
            field = <Field>fields[i]
            if field.name not in done:
                change_field(schema, field, &writer, changes[field.name])
        if writer.size <= schema.begin:  # it ends where it ended before, or where it is given more
            writer.size = needed
        cut_off(schema, changes, &writer)
        finish(schema, &writer, schema.family is None or schema.family.name in changes)
        made = copy_of(type(record), schema, writer.base, writer.size)
        made.nlmsg_type = record.nlmsg_type
        made.nlmsg_flags = record.nlmsg_flags
        return made
    finally:
        end_writing(&writer)


cdef int cut_off(_Schema schema, dict changes, Writer* writer) except -1:
    """What a struct has grown by goes, from its end, where it is to be None."""
    cdef Field field
    for one in reversed(schema.fields):
        field = <Field>one
        if field.how == GROWN:
            if not field.offset + field.kind.width <= writer.size <= schema.begin:
                continue
            if changes.get(field.name, ...) is not None:
                break
            writer.size = field.offset
    return 0


cdef int change_field(_Schema schema, Field field, Writer* writer, object value) except -1:
    if value is not None:
        return write_field(field, writer, value)
    if field.other is not None and field.how >= MERGED:  # its part in the struct goes, too
        memcpy(
            writer.base + field.other.offset,
            PyBytes_AS_STRING(schema.template) + field.other.offset,
            field.other.kind.width,
        )
    return 0
