# What a class statement makes: where the fields of a record class are. Included by _records.pyx.

cdef set RESERVED = {
    "message_type", "message_flags", "from_bytes", "from_message", "unknown", "replace", "to_dict", "check",
    "path_names", "identity",
}


cdef inline _Schema schema_of(object cls):
    """Of a record class. That it is the class's own, and not one that it inherits or has taken, makes sure that the
    class is one of records, and that its class statement succeeded."""
    schema = getattr(cls, "_schema", None)
    if not isinstance(schema, _Schema) or (<_Schema>schema).cls is not cls:
        raise TypeError(f"{shown(cls)} is no class of records with fields")
    return <_Schema>schema


cdef enum:
    LOW_CODES = 256   # a list of those is looked into faster than a dict


def declare(cls, *, bint struct, kind, identity, family):
    """Make the class statement's class a record class: where its fields are."""
    cdef _Schema schema = _Schema.__new__(_Schema)
    cdef _Schema above
    cdef list parents = []
    if not isinstance(cls, type) or not issubclass(cls, Base) or "_schema" in vars(cls):
        raise TypeError(f"{shown(cls)} cannot be made a class of records")
    for parent in cls.__mro__[1:]:
        inherited = vars(parent).get("_schema")
        if isinstance(inherited, _Schema) and (<_Schema>inherited).cls is parent:
            parents.append(inherited)
    schema.cls = cls
    schema.name = cls.__name__
    schema.fields = []
    schema.by_name = {}
    schema.by_code = {}
    schema.needed = []
    schema.chosen = []
    schema.choices = {}
    schema.struct = struct
    schema.tells = cls.to_dict is not Base.to_dict
    schema.kind = kind
    schema.alignment = 1
    for above in reversed(parents):
        add_fields(schema, above.fields)
    own = [value for value in vars(cls).values() if isinstance(value, Field)]
    add_fields(schema, own)
    lay_out(schema)
    for above in parents:
        if schema.kind is None:
            schema.kind = above.kind
        if not identity:
            identity = [(<Field>one).name for one in above.identity]
        if family is None and above.family is not None:
            family = above.family.name
        if kind is not None and kind in above.choices:
            raise TypeError(f"{schema.name}: {kind!r} is {above.choices[kind].__name__} already")
    schema.identity = tuple([field_named(schema, name) for name in identity])
    if family is not None:
        schema.family = field_named(schema, family)
        if not is_number(schema.family):
            raise TypeError(f"{schema.name}.{family}: an address family is a number in the struct")
    for one in own:
        relate(schema, <Field>one)
    schema.early = [one for one in schema.fields if (<Field>one).how <= GROWN or (<Field>one).how == MERGED]
    highest = max(schema.by_code, default=-1)
    schema.low_codes = [schema.by_code.get(code) for code in range(min(highest + 1, LOW_CODES))]
    if len(schema.early) > 10:
        schema.blank = {(<Field>one).name: ... for one in schema.early}
    schema.after = [one for one in schema.fields if (<Field>one).how in (MERGED, NETWORK)]
    schema.template = template_of(schema)
    schema.holes = holes_of(schema)
    # Nothing can fail from here on.
    for one in own:
        (<Field>one).schema = schema
    for above in parents:
        if kind is not None:
            above.choices[kind] = cls
    cls._schema = schema
    untrack(<PyTypeObject*>cls, <PyTypeObject*>Base)


cdef Field field_named(_Schema schema, object name):
    one = schema.by_name.get(name)
    if one is None:
        raise TypeError(f"{schema.name} has no field {name!r}")
    return <Field>one


cdef bint is_number(Field field):
    """Whether it is an integer in the struct, under whatever name."""
    return field.how == FIXED and isinstance(field.kind, (_Integer, _Enumerated, _Flagged))


cdef int add_fields(_Schema schema, list fields) except -1:
    cdef Field field, before
    for one in fields:
        field = <Field>one
        if field.name in RESERVED or field.name.startswith("_"):
            raise TypeError(f"{schema.name}.{field.name}: that name is taken")
        before = schema.by_name.get(field.name)
        if before is not None and before is not field:
            del schema.by_name[field.name]
            schema.fields.remove(before)
            if before.code >= 0:
                del schema.by_code[before.code]
    for one in fields:
        field = <Field>one
        if field.name in schema.by_name:  # of a class that two of the parents have in common
            continue
        schema.fields.append(field)
        schema.by_name[field.name] = field
        if field.code >= 0:
            before = schema.by_code.setdefault(field.code, field)
            if before is not field:
                raise TypeError(f"{schema.name}: {before.name} and {field.name} are both attribute {field.code}")
    return 0


cdef int lay_out(_Schema schema) except -1:
    """Where fields are: those in the struct as a C compiler has them, the attributes after it."""
    cdef Field field
    cdef size_t offset = 0
    cdef size_t wide
    for one in schema.fields:
        field = <Field>one
        if field.how <= GROWN:
            if not field.kind.width:
                raise TypeError(f"{field.full}: in a struct, values have one width")
            wide = field.kind.alignment
            if not wide:
                wide = ALIGN64 if field.kind.width == 8 else field.kind.width
            offset = (offset + wide - 1) // wide * wide
            if field.schema is None:
                field.offset = offset
            elif field.offset != offset:
                raise TypeError(f"{schema.name}: the struct of {field.schema.name} cannot be added to")
            offset += field.kind.width
            schema.alignment = max(schema.alignment, wide)
            if field.how == GROWN:
                schema.grows = True
            elif schema.grows:
                raise TypeError(f"{field.full}: a struct grows at its end")
            else:
                schema.oldest = offset
                if field.default is ...:
                    schema.needed.append(field)
            if isinstance(field.kind, _Integer) and (<_Integer>field.kind).length:
                if field.how == GROWN:
                    raise TypeError(f"{field.full}: a length is fixed")
                schema.length = field
        elif schema.struct:
            raise TypeError(f"{field.full}: a struct has no attributes")
        elif field.how == REQUIRED:
            schema.needed.append(field)
        if isinstance(field.kind, _Chosen):
            schema.chosen.append(field)
    schema.header = (offset + schema.alignment - 1) // schema.alignment * schema.alignment
    if not schema.struct:
        schema.least = schema.oldest if schema.grows else schema.header
    schema.begin = aligned(schema.header)
    for one in schema.fields:
        field = <Field>one
        if field.schema is None:
            field.begin = schema.begin
            field.plain = (
                field.how == FIXED and isinstance(field.kind, _Integer) and not (<_Integer>field.kind).is_signed
            )
            if field.plain:
                field.width = <uint8_t>field.kind.width
                field.swap = (<_Integer>field.kind).swap
        elif field.begin != schema.begin and field.code >= 0:
            raise TypeError(f"{schema.name}: the struct of {field.schema.name} cannot be added to")
    return 0


cdef int relate(_Schema schema, Field field) except -1:
    """Find the field beside it, if it has one."""
    cdef Kind kind = field.kind
    while isinstance(kind, _Array):
        kind = (<_Array>kind).inner
    if isinstance(kind, _Chosen):
        field.other = field_named(schema, (<_Chosen>kind).by)
        kind = field.other.kind
        while isinstance(kind, _Array):
            kind = (<_Array>kind).inner
        if isinstance(kind, _Chosen):
            raise TypeError(f"{field.full}: {field.other.name} is chosen itself")
    if field.how < MERGED:
        return 0
    field.other = field_named(schema, field.over)
    if not is_number(field.other) or field.how != MERGED and field.other.kind.width != 1:
        raise TypeError(f"{field.full}: {field.other.name} is no number in the struct, or too wide")
    if field.how == MERGED and not (
        isinstance(kind, _Integer) and not (<_Integer>kind).is_signed or isinstance(kind, (_Enumerated, _Flagged))
    ):
        raise TypeError(f"{field.full}: an unsigned number is wanted, not {field.kind!r}")
    if field.how == MERGED and field.other.kind.width >= kind.width:
        raise TypeError(f"{field.full}: {field.other.name} is not narrower")
    if field.how == NETWORK and schema.family is None:
        raise TypeError(f"{field.full}: {schema.name} does not say which field is its family")
    return 0


cdef bytes template_of(_Schema schema):
    cdef bytes template = bytes(schema.header)
    cdef uint8_t* at = <uint8_t*>PyBytes_AS_STRING(template)
    cdef Field field
    if schema.header == 0:
        return b""
    # An empty bytes object is shared; this one, just made, is not.
    for one in schema.fields:
        field = <Field>one
        if field.how == FIXED and field.default is not ...:
            if field.default is not None or isinstance(field.kind, _Sentinel):
                field.kind.put(field, at + field.offset, field.default)
    return template


cdef bytes holes_of(_Schema schema):
    cdef bytes holes
    cdef uint8_t* at
    cdef Field field
    cdef size_t filled = 0
    for one in schema.fields:
        if (<Field>one).how <= GROWN:
            filled += (<Field>one).kind.width
    if filled == schema.header:
        return None
    holes = bytes(schema.header)
    at = <uint8_t*>PyBytes_AS_STRING(holes)
    for one in schema.fields:
        field = <Field>one
        if field.how <= GROWN:
            memset(at + field.offset, 255, field.kind.width)
    return holes
