# A record as a whole. Included by _records.pyx.


def identity(Base record not None):
    """The values of the fields that its class names."""
    cdef _Schema schema = schema_of(type(record))
    if not schema.identity:
        raise TypeError(f"{schema.name} has no identity")
    return tuple([read_field(<Field>field, record) for field in schema.identity])


cdef object unknown_of(Base record):
    cdef _Schema schema = schema_of(type(record))
    cdef const uint8_t* at = start_of(record)
    cdef const uint8_t* end = at + record.size
    cdef uint16_t length = 0
    cdef int code
    cdef list found = []
    if schema.struct or record.size < schema.begin:
        return ()
    at += schema.begin
    while not attributes_end(record, at, end, &length):
        code = <int>load(at + 2, 2, False) & TYPE_MASK
        if code not in schema.by_code:
            found.append((code, bytes(at[ATTRIBUTE_HEADER:length])))
        at += min(aligned(length), <size_t>(end - at))
    return tuple(found)


cdef dict dict_of(Base record):
    return dict_by(schema_of(type(record)), record)


cdef dict dict_by(_Schema schema, Base record):
    """What `to_dict` returns of a record of this schema."""
    cdef const uint8_t* start = start_of(record)
    cdef const uint8_t* at = start
    cdef const uint8_t* end = at + record.size
    cdef uint16_t length = 0
    cdef int code
    cdef Field field
    # A copy has room for many at once, but only a whole struct has all of them.
    cdef dict told = schema.blank.copy() if schema.blank is not None and record.size >= schema.header else {}
    cdef list unknown = None
    cdef uint64_t[16] seen  # a bit for each code; those that are higher are looked for in `told`
    cdef uint64_t bit
    cdef bint again
    memset(seen, 0, sizeof(seen))
    for one in schema.early:
        field = <Field>one
        if field.plain and field.offset + field.width <= record.size:
            told[field.name] = load(start + field.offset, field.width, field.swap)
        elif field.how <= GROWN:
            if field.offset + field.kind.width <= record.size:
                told[field.name] = field.kind.plain(field, record, start + field.offset, field.kind.width)
        else:
            told[field.name] = ...  # its place
    if not schema.struct and record.size > schema.begin:
        at += schema.begin
    else:
        at = end
    while not attributes_end(record, at, end, &length):
        code = <int>load(at + 2, 2, False) & TYPE_MASK
        if code < PyList_GET_SIZE(schema.low_codes):
            one = schema.low_codes[code]
        else:
            one = schema.by_code.get(code)
        if one is None:
            if unknown is None:
                unknown = []
            unknown.append([code, bytes(at[ATTRIBUTE_HEADER:length]).hex()])
        else:
            field = <Field>one
            if code < 64 * 16:
                bit = <uint64_t>1 << (code & 63)
                again = seen[code >> 6] & bit != 0
                seen[code >> 6] |= bit
            else:
                again = told.get(field.name, ...) is not ...
            if field.how == REPEATED:
                value = field.kind.plain(field, record, at + ATTRIBUTE_HEADER, length - ATTRIBUTE_HEADER)
                if again:
                    told[field.name].append(value)
                else:
                    told[field.name] = [value]
            elif not again:
                told[field.name] = tell(field, record, at + ATTRIBUTE_HEADER, length - ATTRIBUTE_HEADER)
        at += min(aligned(length), <size_t>(end - at))
    for one in schema.after:
        field = <Field>one
        if told.get(field.name, ...) is not ...:
            continue
        if field.how == MERGED:
            told[field.name] = plain_of(absent(field, record))
        elif is_there(field, record):
            short = family_in(field, record) == AF_INET and beside(field, record) == 0
            told[field.name] = "0.0.0.0/0" if short else str(absent(field, record))
    if unknown is not None:
        told["unknown"] = unknown
    return told


cdef object dict_inside(Base record):
    return record.to_dict() if schema_of(type(record)).tells else dict_of(record)


cdef object tell(Field field, Base record, const uint8_t* at, size_t size):
    if field.how == PRESENT:
        return True
    if field.how == PREFIX or field.how == NETWORK:
        return tell_network(field, record, at, size)
    return field.kind.plain(field, record, at, size)


cdef object tell_network(Field field, Base record, const uint8_t* at, size_t size):
    cdef int bits = <int>beside(field, record)
    cdef int version = version_of(field, record, size)
    cdef uint32_t number
    cdef uint8_t[16] masked
    if version == 4:
        number = <uint32_t>load(at, 4, not BIG_HOST)
        store(masked, 4, number & (<uint64_t>0xffffffff << (32 - bits)), not BIG_HOST)
        return dotted(masked, bits)
    if version == 6:
        mask6(masked, at, bits)
        return f"{text6(masked)}/{bits}"
    return bytes_at(at, size).hex()  # a label, or what is no network


cdef str repr_of(Base record):
    """Never raises: what cannot be decoded is shown as such."""
    cdef Field field
    cdef list parts = []
    cdef _Schema schema = schema_of(type(record))
    for one in schema.fields:
        field = <Field>one
        try:
            if not is_there(field, record):
                continue
            value = read_field(field, record)
            if field.how <= GROWN and (value is None or value == (0 if field.default is ... else field.default)):
                continue
            parts.append(f"{field.name}={shown_value(value)}")
        except Exception as error:
            parts.append(f"{field.name}=<{type(error).__name__}>")
    try:
        parts.extend([f"attribute {code}=0x{data.hex()}" for code, data in unknown_of(record)])
    except Exception:
        parts.append("<broken>")
    return f"{schema.name}({', '.join(parts)})"


cdef bint is_there(Field field, Base record) except -1:
    cdef uint16_t length = 0
    cdef int family
    if field.how <= GROWN or field.how == MERGED:
        return True
    if field.begin < record.size:
        if find(start_of(record) + field.begin, start_of(record) + record.size, field.code, &length) != NULL:
            return True
    if field.how != NETWORK:
        return False
    family = family_in(field, record)  # of others, no network is what is meant by none
    return family == AF_INET or family == AF_INET6 or family == IPMR or family == IP6MR


cdef str shown_value(object value):
    if isinstance(value, Base):
        return repr_of(<Base>value)
    if isinstance(value, tuple):
        inside_it = [shown_value(item) for item in value]
        return f"({', '.join(inside_it)}{',' if len(inside_it) == 1 else ''})"
    if isinstance(value, IntFlag):
        return f"{type(value).__name__}({value.name or int(value)})"
    if isinstance(value, IntEnum):
        return f"{type(value).__name__}.{value.name}"
    return repr(value)


cdef int check_of(Base record) except -1:
    cdef _Schema schema = schema_of(type(record))
    for one in schema.fields:
        if is_there(<Field>one, record):
            check_value(read_field(<Field>one, record))
    unknown_of(record)
    return 0


cdef int check_value(object value) except -1:
    if isinstance(value, Base):
        check_of(<Base>value)
    elif isinstance(value, tuple):
        for item in value:
            check_value(item)
    return 0


# Equality ------------------------------------------------------------------------------------------------------------

cdef bint same_record(Base one, Base other) except -1:
    if one.size == other.size and memcmp(start_of(one), start_of(other), one.size) == 0:
        return True
    return canonical_bytes(one) == canonical_bytes(other)


cdef object canonical_bytes(Base record):
    """The struct, and the attributes sorted by code, without flags, padding, and a final NUL of text."""
    cdef _Schema schema = schema_of(type(record))
    cdef const uint8_t* start = start_of(record)
    cdef const uint8_t* at = start
    cdef const uint8_t* end = at + record.size
    cdef uint16_t length = 0
    cdef Check check
    cdef int code
    cdef list parts = []
    cdef Field field
    if schema.struct:
        return bytes_of_struct(schema, start, record.size)
    at += min(schema.begin, <size_t>record.size)
    while True:
        check = check_attribute(at, <size_t>(end - at), &length)
        if check == HEADER_CUT:
            break
        if check != OK:
            parts.append((TYPE_MASK + 1, bytes(at[:end - at])))
            break
        code = <int>load(at + 2, 2, False) & TYPE_MASK
        one = schema.by_code.get(code)
        value = None
        if one is not None:
            field = <Field>one
            try:
                value = field.kind.canonical(field, record, at + ATTRIBUTE_HEADER, length - ATTRIBUTE_HEADER)
            except DecodeError:
                pass  # then its bytes count
        parts.append((code, bytes(at[ATTRIBUTE_HEADER:length]) if value is None else value))
        at += min(aligned(length), <size_t>(end - at))
    parts.sort(key=first_of)
    return (bytes_of_struct(schema, start, min(schema.header, <size_t>record.size)), *parts)


cdef bytes bytes_of_struct(_Schema schema, const uint8_t* start, size_t size):
    """With zeros in its holes."""
    cdef bytes made = PyBytes_FromStringAndSize(<const char*>start, <Py_ssize_t>size)
    cdef uint8_t* at = <uint8_t*>PyBytes_AS_STRING(made)
    cdef const uint8_t* holes
    cdef size_t i
    if schema.holes is not None and size > 1:  # bytes of one or none are shared
        holes = <const uint8_t*>PyBytes_AS_STRING(schema.holes)
        for i in range(min(size, schema.header)):
            at[i] &= holes[i]
    return made


cdef object first_of(tuple pair):
    return pair[0]


# Errors --------------------------------------------------------------------------------------------------------------

cdef str names_of(_Schema schema, Base record, object path):
    """Codes on the way down, by the names of their fields where there are any; `record` tells what was chosen."""
    cdef Field field
    cdef list names = []
    cdef Kind kind = None
    for code in path:
        one = None if schema is None else schema.by_code.get(code)
        if one is None:
            names.append(str(code))
            # In an array, the code is a number that stands for one of its values.
            schema = schema_inside((<_Array>kind).inner) if schema is None and isinstance(kind, _Array) else None
            record = kind = None
            continue
        field = <Field>one
        names.append(field.name)
        kind = field.kind
        schema = schema_inside(kind)
        if record is not None:
            try:
                value = read_field(field, record)
            except DecodeError:
                value = None
            record = <Base>value if isinstance(value, Base) else None
            if record is not None:
                schema = schema_of(type(record))
    return ".".join(names)


cdef _Schema schema_inside(Kind kind):
    if isinstance(kind, _Nested):
        return (<_Nested>kind).schema()
    if isinstance(kind, _Chosen):
        return (<_Chosen>kind).base
    return None
