# Records out of messages. Included by _records.pyx.

@cython.final
cdef class Reader(Decoder):
    """Reader(record, type, where, /)\n--\n\n\
    `reader(message)`: the record in a message of the right type, or None; made by `netlink_codec.records.reader`."""
    cdef object cls
    cdef _Schema schema
    cdef int type
    cdef dict where
    cdef list conditions

    def __cinit__(self, cls, int type, dict where not None):
        self.cls = cls
        self.schema = schema_of(cls)
        self.type = type
        self.where = dict(where)
        self.conditions = [condition(field_named(self.schema, name), value) for name, value in where.items()]

    def __class_getitem__(cls, item):
        return cls

    def __call__(self, Message message not None, group=None):
        return self.decoded(message)

    cdef object decoded(self, Message message):
        cdef Base record
        if self.type >= 0 and message.nlmsg_type != self.type:
            return None
        record = record_of(self.cls, self.schema, message)
        for one in self.conditions:
            if differs(<_Condition>one, record):
                return None
        return record

    def __repr__(self):
        return f"<Reader of {self.schema.name}>"

    def of(self, cls):
        """The same for another class, a subclass as a rule."""
        return Reader(cls, self.type, self.where)


@cython.final
cdef class Without:
    """Without(bits)\n--\n\n\
    In the place of a value for `reader`: any number that has none of these bits."""
    cdef readonly uint64_t bits

    def __cinit__(self, bits):
        self.bits = index(bits)

    def __eq__(self, other):
        return self.bits == (<Without>other).bits if isinstance(other, Without) else NotImplemented

    def __hash__(self):
        return hash(self.bits)

    def __repr__(self):
        return f"Without({self.bits:#x})"


cdef enum How_wanted:
    ANY_VALUE      # by Python's own comparison
    THIS_NUMBER
    ONE_OF_SMALL   # a bit for each number that is wanted
    WITHOUT_BITS


@cython.final
cdef class _Condition:
    """What a field is wanted to be; numbers are compared as they stand on the wire, without making objects of them."""
    cdef Field field
    cdef object wanted
    cdef How_wanted how
    cdef uint64_t bits


cdef _Condition condition(Field field, object wanted):
    cdef _Condition made = _Condition.__new__(_Condition)
    made.field = field
    made.wanted = wanted
    made.how = ANY_VALUE
    if not is_number(field) and not (field.how == MERGED or field.how == ATTR and isinstance(field.kind, _Integer)):
        return made
    if isinstance(wanted, Without):
        made.how = WITHOUT_BITS
        made.bits = (<Without>wanted).bits
    elif isinstance(wanted, frozenset) and all([isinstance(one, int) and 0 <= one < 64 for one in wanted]):
        made.how = ONE_OF_SMALL
        made.bits = sum([1 << int(one) for one in wanted])
    elif isinstance(wanted, int) and 0 <= wanted < 1 << 31:
        made.how = THIS_NUMBER
        made.bits = int(wanted)
    return made


cdef bint number_there(Field field, Base record, uint64_t* number) noexcept:
    """The number in a field, if it is there and of its width."""
    cdef const uint8_t* at = start_of(record)
    cdef const uint8_t* found = NULL
    cdef uint16_t length = 0
    if field.how <= GROWN:
        if field.offset + field.kind.width > record.size:
            return False
        number[0] = load(at + field.offset, field.kind.width, swapped_inside(field.kind))
        return True
    if field.begin < record.size:
        found = find(at + field.begin, at + record.size, field.code, &length)
    if found != NULL:
        if length != ATTRIBUTE_HEADER + field.kind.width:
            return False
        number[0] = load(found + ATTRIBUTE_HEADER, field.kind.width, swapped_inside(field.kind))
        return True
    if field.how != MERGED or length:
        return False
    number[0] = beside(field, record)
    return True


cdef bint differs(_Condition self, Base record) except -1:
    cdef uint64_t number = 0
    if self.how != ANY_VALUE and number_there(self.field, record, &number):
        if self.how == THIS_NUMBER:
            return number != self.bits
        if self.how == ONE_OF_SMALL:
            return number >= 64 or not self.bits >> number & 1
        return number & self.bits != 0
    try:
        value = read_field(self.field, record)
    except DecodeError:  # what is missing, or no such value, is none that is wanted
        return True
    if isinstance(self.wanted, frozenset):
        return value not in self.wanted
    if isinstance(self.wanted, Without):
        return not isinstance(value, int) or int(value) & (<Without>self.wanted).bits != 0
    return value != self.wanted
