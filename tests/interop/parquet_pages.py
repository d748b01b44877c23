"""Writes a Parquet file page by page: layouts that are legal and that no library writes.

Columns are optional lists of optional 32-bit integers, plain encoding, no compression, data pages
of version 2. Thrift's compact protocol is written by hand.
"""

I32, I64, BINARY, LIST, STRUCT, FALSE = 5, 6, 8, 9, 12, 2


def write_lists(file, columns, rows):
    """`columns` maps a name to its pages; a page is (values, repetition levels, rows begun)."""
    out, chunks = bytearray(b"PAR1"), []
    schema = [thrift((4, BINARY, b"schema"), (5, I32, len(columns)))]
    for name, pages in columns.items():
        offset, data = len(out), b"".join(_page(*page) for page in pages)
        out += data
        count = sum(len(repetitions) for _, repetitions, _ in pages)
        optional, repeated, as_list = 1, 2, 3
        schema += [
            thrift((3, I32, optional), (4, BINARY, name), (5, I32, 1), (6, I32, as_list)),
            thrift((3, I32, repeated), (4, BINARY, b"list"), (5, I32, 1)),
            thrift((1, I32, 1), (3, I32, optional), (4, BINARY, b"element")),
        ]
        about = thrift(
            (1, I32, 1), (2, LIST, (I32, [0, 3])),
            (3, LIST, (BINARY, [name, b"list", b"element"])), (4, I32, 0), (5, I64, count),
            (6, I64, len(data)), (7, I64, len(data)), (9, I64, offset))
        chunks.append(thrift((2, I64, offset), (3, STRUCT, about)))
    group = thrift((1, LIST, (STRUCT, chunks)), (2, I64, len(out) - 4), (3, I64, rows))
    footer = thrift((1, I32, 2), (2, LIST, (STRUCT, schema)), (3, I64, rows),
                    (4, LIST, (STRUCT, [group])))
    file.write_bytes(bytes(out) + footer + len(footer).to_bytes(4, "little") + b"PAR1")


def _page(values, repetitions, rows):
    """A data page of version 2: header, levels, values; every value is present."""
    present = 3
    levels = _runs(repetitions), _runs([present] * len(repetitions))
    body = b"".join(levels) + b"".join(v.to_bytes(4, "little", signed=True) for v in values)
    version_2 = thrift((1, I32, len(repetitions)), (2, I32, 0), (3, I32, rows), (4, I32, 0),
                       (5, I32, len(levels[1])), (6, I32, len(levels[0])), (7, FALSE, None))
    header = thrift((1, I32, 3), (2, I32, len(body)), (3, I32, len(body)), (8, STRUCT, version_2))
    return header + body


def _runs(levels):
    """Levels of at most 8 bits in the RLE form of the hybrid encoding."""
    out, at = bytearray(), 0
    while at < len(levels):
        end = at
        while end < len(levels) and levels[end] == levels[at]:
            end += 1
        out += _varint(end - at << 1) + bytes([levels[at]])
        at = end
    return bytes(out)


def thrift(*members):
    """A struct in Thrift's compact protocol; members are (id, type, value) with rising ids."""
    out, last = bytearray(), 0
    for number, kind, value in members:
        out += bytes([number - last << 4 | kind]) + _value(kind, value)
        last = number
    return bytes(out) + b"\0"


def _value(kind, value):
    if kind in (I32, I64):
        return _varint(value << 1 ^ value >> 63)
    if kind == BINARY:
        return _varint(len(value)) + value
    if kind == LIST:
        inner, elements = value
        assert len(elements) < 15, "longer lists have another header"
        return bytes([len(elements) << 4 | inner]) + b"".join(_value(inner, e) for e in elements)
    return value if kind == STRUCT else b""


def _varint(value):
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes(out + bytes([value]))
