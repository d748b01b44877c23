"""Cuts a hostile IPC stream or file into Flight messages, trusting none of its numbers."""

import raw

MESSAGES_MAX = 64


def messages(content, name):
    """An upload of what the bytes hold; the first message carries the name."""
    if content.startswith(b"ARROW1"):
        content = content[8:]
    out, at = [], 0
    while at + 8 <= len(content) and len(out) < MESSAGES_MAX:
        if content[at:at + 4] == b"\xff\xff\xff\xff":
            at += 4
        length = int.from_bytes(content[at:at + 4], "little")
        at += 4
        if length == 0 or length > len(content) - at:
            break
        header = content[at:at + length]
        at += length
        body_length = min(max(_body_length(header), 0), len(content) - at)
        out.append((header, content[at:at + body_length]))
        at += body_length
    out = out or [(content[:100_000], b"")]
    descriptor = raw.path_descriptor(name)
    return [raw.flight_data(header, body, descriptor=None if index else descriptor)
            for index, (header, body) in enumerate(out)]


def _body_length(header):
    """Field 3 of the flatbuffer table `Message`, or 0 where the table is not to be followed."""
    def number(at, size, signed=False):
        if not 0 <= at <= len(header) - size:
            raise ValueError
        return int.from_bytes(header[at:at + size], "little", signed=signed)

    try:
        table = number(0, 4)
        vtable = table - number(table, 4, signed=True)
        if number(vtable, 2) < 12:
            return 0
        offset = number(vtable + 10, 2)
        return number(table + offset, 8, signed=True) if offset else 0
    except ValueError:
        return 0
