# How values stand in bytes: text, bytes, addresses. Included by _records.pyx.

cdef object bad(Field field, Base record, const uint8_t* at, size_t size, str wanted):
    """Raise: these bytes are not what the field is."""
    offset = at - origin_of(record)
    raise DecodeError(f"{field.place(record)} at offset {offset} has {size} bytes, and {wanted}", offset)


cdef str shown(object value):
    """For the text of an error: short, and without an error of its own."""
    try:
        text = repr(value)
    except Exception:
        text = f"<{type(value).__name__}>"
    return text if len(text) <= 200 else f"{text[:200]}..."


cdef object wrong_type(Field field, object value, str wanted):
    raise TypeError(f"{field.full}: {wanted} is wanted, not {shown(value)}")


cdef object does_not_fit(Field field, object value, str why):
    raise EncodeError(f"{field.full}: {shown(value)} {why}", field.code if field.code >= 0 else None)


cdef class Kind:
    """How a value stands in bytes."""

    def __class_getitem__(cls, item):
        return cls

    cdef object read(self, Field field, Base record, const uint8_t* at, size_t size):
        raise NotImplementedError

    cdef int write(self, Field field, Writer* writer, object value) except -1:
        """Append the value's bytes."""
        self.put(field, room(writer, self.width), value)
        return 0

    cdef int put(self, Field field, uint8_t* at, object value) except -1:
        """Store a value of fixed width."""
        raise NotImplementedError

    cdef object plain(self, Field field, Base record, const uint8_t* at, size_t size):
        """The value for JSON."""
        return plain_of(self.read(field, record, at, size))

    cdef object canonical(self, Field field, Base record, const uint8_t* at, size_t size):
        """Bytes that are equal where the values are."""
        return PyBytes_FromStringAndSize(<const char*>at, <Py_ssize_t>size)

    cdef object number(self, uint64_t number):
        """The value that this number stands for, where the kind is one of numbers."""
        raise NotImplementedError

    cdef bint nested(self) except -1:
        """Whether it is written with NLA_F_NESTED."""
        return False

    cdef object zero(self, Field field, Base record):
        """What is read where a struct ends before it."""
        cdef bytes zeros = bytes(self.width)
        return self.read(field, record, <const uint8_t*>PyBytes_AS_STRING(zeros), self.width)


cdef object plain_of(object value):
    if value is None or isinstance(value, (bool, str, float)):
        return value
    if isinstance(value, IntEnum):
        return getattr(value, "word", value.name) if value.name in type(value).__members__ else int(value)
    if isinstance(value, IntFlag):
        number = int(value)
        known = [member for member in type(value) if number & int(member)]
        rest = number & ~sum([int(member) for member in known])
        names = [member.name for member in known]
        return [*names, rest] if rest else names
    if isinstance(value, int):
        return int(value)
    if isinstance(value, Base):
        return dict_inside(<Base>value)
    if isinstance(value, (bytes, bytearray, memoryview)):
        return bytes(value).hex()
    if isinstance(value, (tuple, list)):
        return [plain_of(item) for item in value]
    if isinstance(value, dict):
        return {str(key): plain_of(item) for key, item in value.items()}
    return str(value)


# Bytes ---------------------------------------------------------------------------------------------------------------

@cython.final
cdef class _Text(Kind):
    cdef object read(self, Field field, Base record, const uint8_t* at, size_t size):
        while size and at[size - 1] == 0:
            size -= 1
        return PyUnicode_DecodeUTF8(<const char*>at, <Py_ssize_t>size, "surrogateescape")

    cdef int write(self, Field field, Writer* writer, object value) except -1:
        cdef Py_ssize_t size = 0
        cdef const char* start
        if not isinstance(value, str):
            wrong_type(field, value, "text")
        try:
            start = PyUnicode_AsUTF8AndSize(value, &size)
        except UnicodeEncodeError:
            try:
                encoded = PyUnicode_AsEncodedString(value, "utf-8", "surrogateescape")
            except UnicodeEncodeError as error:
                raise EncodeError(f"{field.full}: {error}", field.code) from None
            start = PyBytes_AS_STRING(encoded)
            size = PyBytes_GET_SIZE(encoded)
        if memchr(start, 0, <size_t>size) != NULL:
            does_not_fit(field, value, "has a NUL inside")
        memcpy(room(writer, <size_t>size + 1), start, <size_t>size)
        writer.base[writer.size - 1] = 0
        return 0

    cdef object plain(self, Field field, Base record, const uint8_t* at, size_t size):
        return self.read(field, record, at, size)

    cdef object canonical(self, Field field, Base record, const uint8_t* at, size_t size):
        while size and at[size - 1] == 0:
            size -= 1
        return PyBytes_FromStringAndSize(<const char*>at, <Py_ssize_t>size)


def text():
    return _Text.__new__(_Text)


@cython.final
cdef class _Characters(Kind):
    """char[n] in a struct: text, filled up with NULs."""

    cdef object read(self, Field field, Base record, const uint8_t* at, size_t size):
        return bytes_at(at, size).partition(b"\0")[0].decode("utf-8", "surrogateescape")

    cdef int put(self, Field field, uint8_t* at, object value) except -1:
        cdef bytes encoded = b""
        if not isinstance(value, str):
            wrong_type(field, value, "text")
        try:
            encoded = PyUnicode_AsEncodedString(value, "utf-8", "surrogateescape")
        except UnicodeEncodeError:
            does_not_fit(field, value, "has no bytes in UTF-8")
        if <size_t>len(encoded) >= self.width or b"\0" in encoded:
            does_not_fit(field, value, f"does not fit into {self.width} bytes with a NUL at the end")
        memset(at, 0, self.width)
        memcpy(at, PyBytes_AS_STRING(encoded), <size_t>len(encoded))
        return 0


def characters(size_t width):
    cdef _Characters kind = _Characters.__new__(_Characters)
    kind.width = width
    kind.alignment = 1
    return kind


@cython.final
cdef class _Data(Kind):
    """Bytes: all there are, or so many in a struct."""

    cdef object read(self, Field field, Base record, const uint8_t* at, size_t size):
        return PyBytes_FromStringAndSize(<const char*>at, <Py_ssize_t>size)

    cdef int write(self, Field field, Writer* writer, object value) except -1:
        return append_buffer(field, writer, value)

    cdef int put(self, Field field, uint8_t* at, object value) except -1:
        cdef Py_buffer view
        get_bytes(field, value, &view)
        try:
            if <size_t>view.len != self.width:
                does_not_fit(field, value, f"has {view.len} bytes, and it takes {self.width}")
            memcpy(at, view.buf, self.width)
        finally:
            PyBuffer_Release(&view)
        return 0


cdef int get_bytes(Field field, object value, Py_buffer* view) except -1:
    if not isinstance(value, (bytes, bytearray, memoryview)):
        wrong_type(field, value, "bytes")
    try:
        PyObject_GetBuffer(value, view, PyBUF_SIMPLE)
    except BufferError:  # of a view with gaps
        PyObject_GetBuffer(bytes(value), view, PyBUF_SIMPLE)
    return 0


cdef int append_buffer(Field field, Writer* writer, object value) except -1:
    cdef Py_buffer view
    get_bytes(field, value, &view)
    try:
        memcpy(room(writer, <size_t>view.len), view.buf, <size_t>view.len)
    finally:
        PyBuffer_Release(&view)
    return 0


def data(size_t width=0):
    cdef _Data kind = _Data.__new__(_Data)
    kind.width = width
    kind.alignment = 1
    return kind


@cython.final
cdef class _Custom(Kind):
    cdef object decode, encode

    cdef object read(self, Field field, Base record, const uint8_t* at, size_t size):
        try:
            return self.decode(PyBytes_FromStringAndSize(<const char*>at, <Py_ssize_t>size))
        except Exception as error:
            offset = at - origin_of(record)
            raise DecodeError(f"{field.place(record)} at offset {offset}: {error}", offset) from error

    cdef int write(self, Field field, Writer* writer, object value) except -1:
        try:
            encoded = self.encode(value)
        except (TypeError, AttributeError) as error:
            raise TypeError(f"{field.full}: {error}") from error
        except Exception as error:
            raise EncodeError(f"{field.full}: {error}", field.code) from error
        return append_buffer(field, writer, encoded)


def custom(decode, encode):
    cdef _Custom kind = _Custom.__new__(_Custom)
    kind.decode = decode
    kind.encode = encode
    return kind


# Addresses -----------------------------------------------------------------------------------------------------------

cdef const char* HEX = b"0123456789abcdef"


@cython.final
cdef class _Hardware(Kind):
    cdef object read(self, Field field, Base record, const uint8_t* at, size_t size):
        cdef char[96] text
        cdef size_t i
        if size == 4:  # of tunnels
            return dotted(at)
        if size == 16:
            address = address6(at)
            text6 = str(address)
            # Eight groups of two digits would be read as eight bytes.
            return text6 if len(text6) != 23 or text6.count(":") != 7 else address.exploded
        if size > 32:
            return bytes_at(at, size).hex(":")
        for i in range(size):
            text[3 * i] = HEX[at[i] >> 4]
            text[3 * i + 1] = HEX[at[i] & 15]
            text[3 * i + 2] = 58  # a colon
        return ascii_text(text, <Py_ssize_t>(3 * size - 1 if size else 0))

    cdef int write(self, Field field, Writer* writer, object value) except -1:
        if not isinstance(value, str):
            wrong_type(field, value, 'a hardware address as text ("02:00:00:00:00:01")')
        try:
            encoded = hardware_bytes(value)
        except ValueError:
            encoded = does_not_fit(field, value, "is no hardware address")  # raises
        return append_buffer(field, writer, encoded)

    cdef object plain(self, Field field, Base record, const uint8_t* at, size_t size):
        return self.read(field, record, at, size)


cdef bytes hardware_bytes(str value):
    parts = value.split(":")
    if all([len(part) == 2 and part.isascii() and part.isalnum() for part in parts]):
        return bytes([int(part, 16) for part in parts])
    if "%" in value:
        raise ValueError("a scope is no part of an address's bytes")
    return ip_address(value).packed if value else b""


def hardware():
    return _Hardware.__new__(_Hardware)


@cython.final
cdef class _Address(Kind):
    cdef object cls   # None for both

    cdef object read(self, Field field, Base record, const uint8_t* at, size_t size):
        if size == 4 and self.width != 16:
            return address4(<uint32_t>load(at, 4, not BIG_HOST))
        if size == 16 and self.width != 4:
            return address6(at)
        return bad(field, record, at, size, f"an address has {self.width or '4 or 16'}")

    cdef int put(self, Field field, uint8_t* at, object value) except -1:
        memcpy(at, PyBytes_AS_STRING(packed_address(field, value, self.cls)), self.width)
        return 0

    cdef int write(self, Field field, Writer* writer, object value) except -1:
        cdef bytes wire = packed_address(field, value, self.cls)
        cdef size_t size = <size_t>PyBytes_GET_SIZE(wire)
        writer.family = AF_INET if size == 4 else AF_INET6
        memcpy(room(writer, size), PyBytes_AS_STRING(wire), size)
        return 0

    cdef object plain(self, Field field, Base record, const uint8_t* at, size_t size):
        if size == 4 and self.width != 16:
            return dotted(at)
        if size == 16 and self.width != 4:
            return text6(at)
        return str(self.read(field, record, at, size))


cdef bytes packed_address(Field field, object value, object cls):
    """Of an address of this class, or of either if it is None: 4 bytes or 16, whatever a subclass says."""
    cdef bint four = isinstance(value, IP4_CLASS)
    if not (four or isinstance(value, IP6_CLASS)) or (cls is not None and (cls is IP4_CLASS) != four):
        wrong_type(field, value, "an address" if cls is None else f"an {cls.__name__}")
    if not four and value.scope_id is not None:
        does_not_fit(field, value, "has a scope, which is no part of its bytes")
    wire = value.packed
    if type(wire) is not bytes or len(wire) != (4 if four else 16):
        wrong_type(field, value, "an address")
    return wire


cdef object dotted(const uint8_t* at, int bits=-1):
    """As text, with the length of a network if it is one."""
    cdef char[20] text
    cdef Py_ssize_t size = 0
    cdef int i
    for i in range(4):
        if at[i] >= 100:
            text[size] = <char>(48 + at[i] // 100)
            size += 1
        if at[i] >= 10:
            text[size] = <char>(48 + at[i] // 10 % 10)
            size += 1
        text[size] = <char>(48 + at[i] % 10)
        text[size + 1] = 46  # a dot
        size += 2
    size -= 1
    if bits >= 0:
        text[size] = 47  # a slash
        size += 1
        if bits >= 10:
            text[size] = <char>(48 + bits // 10)
            size += 1
        text[size] = <char>(48 + bits % 10)
        size += 1
    return ascii_text(text, size)


def ip(int version=0):
    cdef _Address kind = _Address.__new__(_Address)
    kind.width = {0: 0, 4: 4, 6: 16}[version]
    kind.alignment = 4
    kind.cls = {0: None, 4: IP4_CLASS, 6: IP6_CLASS}[version]
    return kind
