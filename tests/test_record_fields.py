"""How the value of each kind stands in bytes: read, written, refused."""

import json
import struct
import sys
from enum import IntEnum
from ipaddress import IPv4Address, IPv6Address

import pytest

from netlink_codec import DecodeError, EncodeError
from netlink_codec import records as r
from record_classes import Flags, Lifetimes, Other, Pair, Scope
from support import stream


def one(kind, how=r.attr):
    """A record class with a field of this kind, in attribute 7."""

    class One(r.Record):
        value: object = how(7, kind)

    return One


def read(cls, payload):
    return cls.from_bytes(stream((7, payload))).value


INTEGERS = {
    **{"U8": "=B", "U16": "=H", "U32": "=I", "U64": "=Q", "S8": "=b", "S16": "=h", "S32": "=i", "S64": "=q"},
    **{"U16BE": ">H", "U32BE": ">I", "U64BE": ">Q", "S16BE": ">h", "S32BE": ">i", "S64BE": ">q"},
    **{"U16LE": "<H", "U32LE": "<I", "U64LE": "<Q"},
}


@pytest.mark.parametrize(("name", "code"), INTEGERS.items())
def test_integers_stand_as_struct_packs_them(name, code):
    kind = getattr(r, name)
    width = struct.calcsize(code)
    signed = code[1].islower()
    low, high = (-(1 << 8 * width - 1), (1 << 8 * width - 1) - 1) if signed else (0, (1 << 8 * width) - 1)
    for how in (r.attr, r.always, r.required):
        cls = one(kind, how)
        for value in (low, high, 0, 1, 0x5A, high // 3, -1 if signed else 2):
            record = cls(value=value)
            assert bytes(record) == stream((7, struct.pack(code, value)))
            assert record.value == value
            assert type(record.value) is int
    for value in (low - 1, high + 1, 1 << 64, -(1 << 63) - 1, 1 << 70, 10**5000):
        with pytest.raises(EncodeError, match=rf"^One\.value: .* is out of range for {8 * width} bits$") as caught:
            cls(value=value)
        assert caught.value.attribute == 7
    for wrong in ("1", 1.0, b"1", (), object()):
        with pytest.raises(TypeError, match=r"^One\.value: a number is wanted, not "):
            cls(value=wrong)
    for size in {0, 1, 2, 3, 4, 5, 7, 8, 9} - {width}:
        record = cls.from_bytes(stream((1, b"x"), (7, bytes(size))))
        text = rf"^One\.value at offset 12 has {size} bytes, and it takes {width}$"
        with pytest.raises(DecodeError, match=text) as caught:
            _ = record.value
        assert caught.value.offset == 12


class Index:
    def __init__(self, value):
        self.value = value

    def __index__(self):
        return self.value


def test_numbers_are_whatever_has_an_index():
    cls = one(r.U16)
    assert cls(value=Index(513)).value == 513
    assert cls(value=True).value == 1
    assert cls(value=Scope.SITE).value == 200
    with pytest.raises(EncodeError):
        cls(value=Index(1 << 16))
    with pytest.raises(TypeError):
        cls(value=Index("x"))


def test_a_number_in_the_struct_is_named_without_an_attribute():
    with pytest.raises(EncodeError, match=r"^Pair\.second: 65536 is out of range") as caught:
        Pair(first=1, second=65536)
    assert caught.value.attribute is None
    assert bytes(Pair(first=1, second=2)) == struct.pack("=I", 1) + b"\0\2\0\0"


@pytest.mark.parametrize(
    ("kind", "small", "large", "code"),
    [
        (r.UINT, [0, 1, 2**32 - 1], [2**32, 2**64 - 1], "IQ"),
        (r.SINT, [0, -1, 2**31 - 1, -(2**31)], [2**31, -(2**31) - 1, 2**63 - 1, -(2**63)], "iq"),
    ],
)
def test_a_variable_integer_takes_4_bytes_or_8(kind, small, large, code):
    cls = one(kind)
    for values, width, letter in ((small, 4, code[0]), (large, 8, code[1])):
        for value in values:
            assert bytes(cls(value=value)) == stream((7, struct.pack("=" + letter, value)))
            assert cls(value=value).value == value
            assert len(bytes(cls(value=value))) == 4 + width
    assert read(cls, struct.pack("=" + code[1], 5)) == 5
    for size in (0, 1, 2, 3, 5, 7, 9):
        with pytest.raises(DecodeError, match=r"One\.value at offset 4 has . bytes, and it takes 4 or 8"):
            read(cls, bytes(size))
    with pytest.raises(EncodeError):
        cls(value=2**64)


# Text and bytes -------------------------------------------------------------------------------------------------------


def test_text_has_a_nul_at_its_end():
    cls = one(r.STRING)
    for text in ("", "lan0", "grün", "\U0001f600", "\udcff\udc80", "x" * 3000, "a\n"):
        record = cls(value=text)
        assert bytes(record) == stream((7, text.encode("utf-8", "surrogateescape") + b"\0"))
        assert record.value == text
    assert read(cls, b"") == read(cls, b"\0\0") == ""
    assert read(cls, b"lan0") == read(cls, b"lan0\0\0") == "lan0"
    assert read(cls, b"a\0b\0") == "a\0b"
    assert read(cls, b"\xff\xc0") == "\udcff\udcc0"
    for wrong in (b"lan0", 1, None.__class__):
        with pytest.raises(TypeError, match=r"^One\.value: text is wanted, not "):
            cls(value=wrong)
    with pytest.raises(EncodeError, match=r"^One\.value: 'a\\x00b' has a NUL inside$"):
        cls(value="a\0b")
    with pytest.raises(EncodeError, match=r"^One\.value: .*surrogates not allowed"):
        cls(value="\ud800")


def test_characters_fill_their_place_in_the_struct():
    class Named(r.Struct):
        name: str = r.fixed(r.characters(8), default="")
        after: int = r.fixed(r.U8, default=0)

    assert bytes(Named(name="lan0", after=9)) == b"lan0\0\0\0\0\x09"
    assert Named.from_bytes(b"12345678\x01").name == "12345678"
    assert Named.from_bytes(b"a\0b\0\0\0\0\0\x01").name == "a"
    assert Named(name="\udcff").name == "\udcff"
    for text in ("12345678", "a\0", "\ud800"):
        with pytest.raises(EncodeError, match=r"^Named\.name: "):
            Named(name=text)
    with pytest.raises(TypeError, match=r"^Named\.name: text is wanted, not b'x'$"):
        Named(name=b"x")


def test_bytes_are_any_or_so_many():
    cls = one(r.BYTES)

    class Key(r.Struct):
        key: bytes = r.fixed(r.blob(40), default=bytes(40))

    for value in (b"", b"\0\xff", bytearray(b"abc"), memoryview(b"abcdef")[::2]):
        assert cls(value=value).value == bytes(value)
    assert bytes(Key(key=b"k" * 40)) == b"k" * 40
    assert Key(key=memoryview(bytes(80))[::2]).key == bytes(40)
    for wrong in ("x", 5, [1]):
        for make in (lambda value: cls(value=value), lambda value: Key(key=value)):
            with pytest.raises(TypeError, match=": bytes is wanted, not "):
                make(wrong)
    with pytest.raises(EncodeError, match=r"^Key\.key: b'x' has 1 bytes, and it takes 40$"):
        Key(key=b"x")


def test_what_is_missing_of_a_struct_reads_as_zero():
    class Long(r.Struct):
        before: int = r.fixed(r.U32, default=0)
        key: bytes = r.fixed(r.blob(100), default=bytes(100))
        name: str = r.fixed(r.characters(64), default="")
        pair: Pair = r.fixed(r.nested(Pair), default=Pair(first=0, second=0))
        address: IPv6Address = r.fixed(r.IP6, default=IPv6Address("::"))
        scope: Scope = r.fixed(r.as_enum(r.U8, Scope), default=Scope.UNIVERSE)
        valid: int | None = r.fixed(r.sentinel(r.U32, 0), default=None)
        seconds: float = r.fixed(r.scaled(r.U32, 0.001), default=0.0)

    whole = bytes(Long())
    for size in (*range(0, 10), *range(100, len(whole) + 1)):
        record = Long.from_bytes(whole[:size])
        assert (record.before, record.key, record.name) == (0, bytes(100), "")
        assert (record.pair.first, record.pair.second) == (0, 0)
        assert (record.address, record.scope, record.valid, record.seconds) == (IPv6Address("::"), 0, None, 0)
        json.dumps(record.to_dict())
        assert repr(record).startswith("Long(")
        record.check()


# Numbers that read as something else ----------------------------------------------------------------------------------


def test_enums_read_as_members_whether_they_have_a_name_or_not():
    cls = one(r.as_enum(r.U16BE, Scope))
    assert cls(value=Scope.SITE).value is Scope.SITE
    assert cls(value=200).value is Scope.SITE
    assert bytes(cls(value=Scope.SITE)) == stream((7, b"\0\xc8"))
    unknown = cls(value=77).value
    assert type(unknown) is Scope
    assert (unknown, unknown.name, int(unknown), hash(unknown)) == (77, "77", 77, hash(77))
    assert cls(value=unknown) == cls(value=77)
    assert cls(value=Scope.UNIVERSE).to_dict() == {"value": "global"}
    assert cls(value=Scope.NO_WHERE).to_dict() == {"value": "no-where"}
    assert cls(value=77).to_dict() == {"value": 77}
    assert one(r.as_enum(r.S8, Scope))(value=-3).value == -3
    with pytest.raises(TypeError, match=r"^One\.value: a number is wanted"):
        cls(value="global")


def test_unknown_members_are_not_kept():
    kind = one(r.as_enum(r.U32, Scope))
    before = len(Scope._value2member_map_)
    for number in range(1000, 1500):
        assert kind(value=number).value == number
    assert len(Scope._value2member_map_) == before


def test_open_enums_know_what_people_write():
    assert Scope.of("global") is Scope.of(0) is Scope.of("0") is Scope.UNIVERSE
    assert Scope.of("no-where") is Scope.NO_WHERE
    assert Scope.of("77") == 77
    assert Scope(77).word == "77"
    with pytest.raises(ValueError, match="'elsewhere' is none of global, site, no-where"):
        Scope.of("elsewhere")
    with pytest.raises(ValueError, match="x"):
        Scope("x")


def test_flags_keep_unknown_bits():
    cls = one(r.as_flags(r.U32, Flags))
    value = cls(value=Flags.UP | Flags.RUNNING | 8).value
    assert type(value) is Flags
    assert value == 73
    assert Flags.RUNNING in value
    assert value & Flags.UP is Flags.UP
    assert int(value | Flags.HIGH) == 0x149
    assert ~value & 0xFF == 0xB6
    assert cls(value=value).to_dict() == {"value": ["UP", "RUNNING", 8]}
    assert cls(value=Flags.UP).to_dict() == {"value": ["UP"]}
    assert cls(value=0).to_dict() == {"value": []}
    assert repr(cls(value=73)) == "One(value=Flags(UP|RUNNING|0x8))"


def test_combinations_of_flags_are_not_kept_for_ever():
    class Many(Flags.__base__):
        A = 1
        B = 2

    cls = one(r.as_flags(r.U32, Many))
    kept = len(Many._value2member_map_)
    for number in range(4, 40000, 4):
        assert cls(value=number | 1).value == number | 1
        assert cls(value=number | 1).to_dict() == {"value": ["A", number]}
    assert len(Many._value2member_map_) == kept


def test_a_list_of_names_is_the_callers_own():
    record = one(r.as_flags(r.U32, Flags))(value=3)
    record.to_dict()["value"].append("mine")
    assert record.to_dict() == {"value": ["UP", "BROADCAST"]}


def test_scaled_numbers_read_as_units():
    cls = one(r.scaled(r.U32, 0.001))
    for value, count in ((0, 0), (1.5, 1500), (0.1, 100), (3, 3000), (0.0004, 0), (4294967.295, 2**32 - 1)):
        assert bytes(cls(value=value)) == stream((7, struct.pack("=I", count)))
    assert cls(value=1.5).value == 1.5
    assert cls(value=0.3).value == 0.3
    assert one(r.scaled(r.S32, 0.01))(value=-1.25).value == -1.25
    assert one(r.scaled(r.U32, 8.0))(value=64).value == 64.0
    for wrong in (float("nan"), float("inf"), 1e30, 2**32, -1, 10**400):
        with pytest.raises(EncodeError, match=r"^One\.value: "):
            cls(value=wrong)
    with pytest.raises(TypeError, match=r"^One\.value: a number is wanted, not '1'$"):
        cls(value="1")


@pytest.mark.parametrize("number", [0xFFFFFFFF, -1])
def test_a_sentinel_reads_as_none(number):
    cls = one(r.sentinel(r.U32, number))
    assert read(cls, b"\xff" * 4) is None
    assert read(cls, b"\xfe" * 4) == 0xFEFEFEFE
    assert cls(value=5).value == 5
    assert bytes(cls(value=None)) == b""
    with pytest.raises(DecodeError, match="3 bytes, and it takes 4"):
        read(cls, b"\xff" * 3)


def test_sentinels_of_all_kinds_of_numbers():
    assert read(one(r.sentinel(r.S32, -1)), b"\xff" * 4) is None
    assert read(one(r.sentinel(r.U16BE, 256)), b"\1\0") is None
    assert read(one(r.sentinel(r.U16BE, 256)), b"\0\1") == 1
    assert read(one(r.sentinel(r.as_enum(r.U8, Scope), 255)), b"\xff") is None
    assert read(one(r.sentinel(r.as_enum(r.U8, Scope), 255)), b"\xc8") is Scope.SITE
    assert read(one(r.sentinel(r.scaled(r.U32BE, 0.5), 1)), b"\0\0\0\1") is None
    for value in (1 << 32, -(1 << 31) - 1):
        with pytest.raises(ValueError, match="is out of range for 32 bits"):
            r.sentinel(r.U32, value)
    for kind in (r.STRING, r.UINT, r.IP4):
        with pytest.raises(TypeError, match="a kind of numbers is wanted"):
            r.sentinel(kind, 0)


def test_a_sentinel_in_the_struct_is_written_for_none():
    assert bytes(Lifetimes(valid=None)) == b"\xff" * 8
    assert bytes(Lifetimes(preferred=None, valid=9)) == b"\xff" * 4 + struct.pack("=I", 9)
    assert (Lifetimes(valid=3).preferred, Lifetimes(valid=3).valid) == (None, 3)
    assert Lifetimes(valid=3).replace(valid=None) == Lifetimes(valid=None)
    assert Lifetimes(valid=None).to_dict() == {"preferred": None, "valid": None}
    with pytest.raises(TypeError, match=r"^Lifetimes\.valid is missing$"):
        Lifetimes()


# Addresses ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "wire"),
    [
        ("", ""),
        ("05", "05"),
        ("02:00:00:00:00:01", "020000000001"),
        ("80:00:00:48:fe:80:00:00:00:00:00:00:00:02:c9:03:00:43:71:21", "80000048fe800000000000000002c90300437121"),
        ("00:11:22:33:44:55:66:77", "0011223344556677"),
        ("10.0.0.1", "0a000001"),
        ("2001:db8::1", "20010db8000000000000000000000001"),
        ("::", "00" * 16),
        ("0011:0022:0033:0044:0055:0066:0077:0088", "00110022003300440055006600770088"),
        (":".join(["ab"] * 33), "ab" * 33),
    ],
)
def test_hardware_addresses(text, wire):
    cls = one(r.MAC)
    assert read(cls, bytes.fromhex(wire)) == text
    assert bytes(cls(value=text)) == stream((7, bytes.fromhex(wire)))
    assert cls(value=text.upper()).to_dict() == {"value": text}


@pytest.mark.parametrize(
    "text",
    [
        *("x", "02:0", "0:0", "+1:02", "-1:02", " 1:02", "1 :02", "0x:02", "02-00", "02:00:", ":", "1_:22", "zz:zz"),
        *("10.0.0", "10.0.0.1/8", "fe80::1%eth0", "02:\0\0", "\uff11\uff12", "\udcff\udcff"),
    ],
)
def test_what_is_no_hardware_address(text):
    with pytest.raises(EncodeError, match=r"^One\.value: .* is no hardware address$"):
        one(r.MAC)(value=text)


def test_hardware_addresses_are_text():
    with pytest.raises(TypeError, match=r"^One\.value: a hardware address as text .* is wanted, not b"):
        one(r.MAC)(value=b"\2\0\0\0\0\1")


def test_addresses_of_either_family_or_of_one():
    four, six = IPv4Address("10.0.0.1"), IPv6Address("2001:db8::1")
    either, only_four, only_six = one(r.IP), one(r.IP4), one(r.IP6)
    for cls, address in ((either, four), (either, six), (only_four, four), (only_six, six)):
        assert cls(value=address).value == address
        assert bytes(cls(value=address)) == stream((7, address.packed))
        assert cls(value=address).to_dict() == {"value": str(address)}
    for cls, wrong in ((only_four, six), (only_six, four), (either, "10.0.0.1"), (only_four, 5), (either, b"\0" * 4)):
        with pytest.raises(TypeError, match=r"^One\.value: an (address|IPv.Address) is wanted, not "):
            cls(value=wrong)
    for cls, sizes in ((either, "4 or 16"), (only_four, "4"), (only_six, "16")):
        for size in {0, 3, 4, 5, 8, 15, 16, 17} - {int(word) for word in sizes.split(" or ")}:
            with pytest.raises(DecodeError, match=f"at offset 4 has {size} bytes, and an address has {sizes}"):
                read(cls, bytes(size))
    with pytest.raises(EncodeError, match="has a scope, which is no part of its bytes"):
        either(value=IPv6Address("fe80::1%eth0"))


# Values of several ----------------------------------------------------------------------------------------------------


def test_packed_values_stand_one_after_another():
    numbers = Other(number=1, numbers=(1, 2, 2**32 - 1))
    assert numbers.numbers == (1, 2, 2**32 - 1)
    assert bytes(numbers)[8:] == stream((4, struct.pack("=III", 1, 2, 2**32 - 1)))
    assert Other(number=1, numbers=[]).numbers == ()
    pairs = Other(number=1, pairs=(Pair(first=1), Pair(first=2, second=3)))
    assert [(pair.first, pair.second) for pair in pairs.pairs] == [(1, 7), (2, 3)]
    assert pairs.to_dict()["pairs"] == [{"first": 1, "second": 7}, {"first": 2, "second": 3}]
    broken = Other.from_bytes(stream((4, bytes(6))))
    with pytest.raises(DecodeError, match=r"^Other\.numbers at offset 4 has 6 bytes, and it takes 4 each$"):
        _ = broken.numbers
    for wrong in (5, "12", {1: 2}, iter((1,))):
        with pytest.raises(TypeError, match=r"^Other\.numbers: a tuple is wanted, not "):
            Other(number=1, numbers=wrong)
    with pytest.raises(TypeError, match=r"^Other\.pairs: a Pair is wanted, not 5$"):
        Other(number=1, pairs=(5,))
    for kind in (r.STRING, r.IP, r.UINT, r.nested(Other), r.custom(bytes, bytes)):
        with pytest.raises(TypeError, match="values of one width are wanted"):
            r.packed(kind)


def test_arrays_have_an_attribute_for_each_value():
    numbered = one(r.array(r.U16))
    coded = one(r.array(r.U16, code=9))
    five, six = struct.pack("=H", 5), struct.pack("=H", 6)
    assert bytes(numbered(value=(5, 6))) == stream((0x8007, stream((1, five), (2, six))))
    assert bytes(coded(value=[5])) == stream((0x8007, stream((9, five))))
    assert read(coded, stream((77, b"\1\0"), (0, b"\2\0"))) == tuple(
        int.from_bytes(two, sys.byteorder) for two in (b"\1\0", b"\2\0")
    )
    assert read(coded, b"") == read(coded, b"\0\0\0") == ()
    twice = one(r.array(r.array(r.STRING)))
    assert twice(value=(("a", "b"), ())).value == (("a", "b"), ())
    broken = stream((9, b"\0\0")) + b"\x09\0\0\0"
    with pytest.raises(DecodeError, match=r"^One: the attribute at offset 12 says 9 bytes, and 4 are left$") as caught:
        read(coded, broken)
    assert caught.value.offset == 12
    with pytest.raises(DecodeError, match=r"^One\.value at offset 8 has 1 bytes, and it takes 2$"):
        read(coded, stream((9, b"\0")))
    with pytest.raises(TypeError, match=r"^One\.value: a number is wanted, not 'x'$"):
        coded(value=("x",))
    for code in (-2, 0x4000):
        with pytest.raises(ValueError, match="is no attribute's code"):
            r.array(r.U8, code=code)


def test_custom_kinds_raise_errors_that_name_the_field():
    assert Other(number=1, words=["a", "b"]).words == ["a", "b"]
    broken = Other.from_bytes(stream((8, b"\xff")))
    with pytest.raises(DecodeError, match=r"^Other\.words at offset 4: 'utf-8' codec can't decode") as caught:
        _ = broken.words
    assert caught.value.offset == 4
    assert isinstance(caught.value.__cause__, UnicodeDecodeError)
    with pytest.raises(TypeError, match=r"^Other\.words: sequence item 0"):
        Other(number=1, words=[1])
    with pytest.raises(EncodeError, match=r"^Other\.words: 'utf-8' codec can't encode"):
        Other(number=1, words=["\ud800"])
    with pytest.raises(TypeError, match=r"^One\.value: bytes is wanted, not 'text'"):
        one(r.custom(bytes, lambda value: "text"))(value=1)


class Plain(IntEnum):
    A = 1


def test_whatever_a_custom_kind_returns_is_ready_for_json():
    for value, plain in (
        ({"a": (1, b"\1")}, {"a": [1, "01"]}),
        ({1: None}, {"1": None}),
        (Plain.A, "A"),
        (Flags.UP, ["UP"]),
        (True, True),
        (1.5, 1.5),
        (bytearray(b"\1"), "01"),
        (IPv4Address("10.0.0.1"), "10.0.0.1"),
        (complex(1), "(1+0j)"),
    ):
        record = one(r.custom(lambda data, value=value: value, bytes))(value=b"")
        assert record.to_dict() == {"value": plain}
        json.dumps(record.to_dict())
