"""What the kernel tests need of nf_tables: tables, and a set with elements."""

import struct

import netlink_codec as nl

NEWTABLE, NEWSET, NEWSETELEM, GETSETELEM = (10 << 8 | number for number in (0, 9, 12, 13))
BEGIN, END = 16, 17
TABLE_NAME = 1
SET_TABLE, SET_NAME, SET_KEY_TYPE, SET_KEY_LEN, SET_ID = 1, 2, 4, 5, 10
LIST_TABLE, LIST_SET, LIST_ELEMENTS = 1, 2, 3
LIST_ELEM, ELEM_KEY, DATA_VALUE = 1, 1, 1
MOST_ELEMENTS = 4095  # of 16 bytes in one attribute
CREATE = nl.NLM_F_REQUEST | nl.NLM_F_CREATE


def _header(resource=0):
    return struct.pack(">BBH", 2, 0, resource)


def batch(*messages):
    """A transaction."""
    nftables = _header(10)
    return [nl.Message(BEGIN, nl.NLM_F_REQUEST, nftables), *messages, nl.Message(END, nl.NLM_F_REQUEST, nftables)]


def table(name, flags=0):
    encoder = nl.AttributeEncoder(_header())
    encoder.string(TABLE_NAME, name)
    return nl.Message(NEWTABLE, CREATE | flags, encoder)


def address_set(table, name):
    encoder = nl.AttributeEncoder(_header(), byteorder="big")
    encoder.string(SET_TABLE, table)
    encoder.string(SET_NAME, name)
    encoder.u32(SET_KEY_TYPE, 7)
    encoder.u32(SET_KEY_LEN, 4)
    encoder.u32(SET_ID, 1)
    return nl.Message(NEWSET, CREATE, encoder)


def elements(table, name, first, count=MOST_ELEMENTS, flags=0):
    element = struct.Struct("=HHHHHH4s")
    encoder = nl.AttributeEncoder(_header())
    encoder.string(LIST_TABLE, table)
    encoder.string(LIST_SET, name)
    nested = nl.NLA_F_NESTED
    encoder.data(
        LIST_ELEMENTS | nested,
        b"".join(
            element.pack(
                16, LIST_ELEM | nested, 12, ELEM_KEY | nested, 8, DATA_VALUE, struct.pack(">I", first + number)
            )
            for number in range(count)
        ),
    )
    return nl.Message(NEWSETELEM, CREATE | flags, encoder)


def count_elements(conn, table, name):
    encoder = nl.AttributeEncoder(_header())
    encoder.string(LIST_TABLE, table)
    encoder.string(LIST_SET, name)
    return sum(
        len(message.attributes(4).find(LIST_ELEMENTS).nested().find_all(LIST_ELEM))
        for message in conn.execute_iter(nl.Message(GETSETELEM, nl.NLM_F_DUMP, encoder))
    )


def tables(conn):
    return [
        message.attributes(4).find(TABLE_NAME).string()
        for message in conn.execute_iter(nl.Message(10 << 8 | 1, nl.NLM_F_DUMP, _header()))
    ]
