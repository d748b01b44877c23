"""Flight messages by hand over plain gRPC: what no well-behaved client would send, and exact codes.

Protobuf is written field by field, so that a message can be wrong in any place.
"""

import contextlib

import grpc
import pyarrow as pa

SERVICE = "/arrow.flight.protocol.FlightService/"
# What grpc-java, Go and Rust clients take by default.
DEFAULT_MESSAGE_BYTES_MAX = 4 << 20


@contextlib.contextmanager
def connect(server, message_bytes_max=-1):
    """A channel to a plaintext server; -1 takes messages of any size."""
    options = [("grpc.max_receive_message_length", message_bytes_max),
               ("grpc.max_send_message_length", -1),
               ("grpc.use_local_subchannel_pool", 1)]
    target = server.endpoint.split("://", 1)[1]
    with grpc.insecure_channel(target, options=options) as channel:
        yield channel


def do_put(channel, messages, timeout=30):
    """The answers of a DoPut that sends these messages."""
    return list(channel.stream_stream(SERVICE + "DoPut")(iter(messages), timeout=timeout))


def do_get(channel, ticket, timeout=60):
    """The FlightData messages of a DoGet, as bytes, one by one."""
    return channel.unary_stream(SERVICE + "DoGet")(field(1, ticket), timeout=timeout)


def call(channel, method, request, timeout=30):
    """The answer of a unary call."""
    return channel.unary_unary(SERVICE + method)(request, timeout=timeout)


def code_of(work):
    """The status code and details with which `work` fails."""
    try:
        result = work()
    except grpc.RpcError as error:
        return error.code(), error.details()
    raise AssertionError(f"was to fail, and gave {result!r:.200}")


def varint(value):
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)
    return bytes(out)


def field(number, value):
    """One protobuf field: an integer, or bytes."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    return varint(number << 3 | 2) + varint(len(value)) + value


def fields(message):
    """The fields of a protobuf message, last one wins: number to integer or bytes."""
    found, at = {}, 0
    while at < len(message):
        key, at = _varint_at(message, at)
        value, at = _varint_at(message, at)
        if key & 7 == 2:
            value, at = message[at:at + value], at + value
        found[key >> 3] = value
    return found


def _varint_at(message, at):
    value = shift = 0
    while True:
        byte = message[at]
        value |= (byte & 127) << shift
        at, shift = at + 1, shift + 7
        if byte < 128:
            return value, at


def path_descriptor(*components):
    return field(1, 1) + b"".join(field(3, part.encode()) for part in components)


def command_descriptor(command):
    return field(1, 2) + field(2, command)


def flight_data(header=b"", body=b"", app_metadata=b"", descriptor=None):
    parts = [field(1, descriptor)] if descriptor is not None else []
    parts += [field(2, header)] if header else []
    parts += [field(3, app_metadata)] if app_metadata else []
    return b"".join(parts + ([field(1000, body)] if body else []))


def ipc_messages(batches, schema=None):
    """The (header, body) pairs of a stream: schema, dictionaries, batches."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, schema or batches[0].schema) as writer:
        for batch in batches:
            writer.write_batch(batch)
    reader = pa.ipc.MessageReader.open_stream(sink.getvalue())
    messages = []
    with contextlib.suppress(StopIteration):
        while True:
            message = reader.read_next_message()
            body = message.body.to_pybytes() if message.body is not None else b""
            messages.append((message.metadata.to_pybytes(), body))
    return messages


def upload(descriptor, batches, schema=None):
    """The messages of a faultless upload."""
    pairs = ipc_messages(batches, schema)
    first = flight_data(*pairs[0], descriptor=descriptor)
    return [first] + [flight_data(header, body) for header, body in pairs[1:]]


def items(message):
    """Every field of a protobuf message in order, repeated ones too."""
    at = 0
    while at < len(message):
        key, at = _varint_at(message, at)
        value, at = _varint_at(message, at)
        if key & 7 == 2:
            value, at = message[at:at + value], at + value
        yield key >> 3, value


class Outcome:
    """How a reading went: the bytes that came, or the code and text of the error."""

    def __init__(self, received=0, code=None, details=""):
        self.received, self.code, self.details = received, code, details

    @property
    def fair(self):
        """Data, or an error that blames the file and not the server, in a short text."""
        blames_the_server = self.code in ("INTERNAL", "UNKNOWN", "UNAVAILABLE", "DEADLINE_EXCEEDED")
        return not blames_the_server and len(self.details) < 1024 \
            and "panic" not in self.details and ".rs:" not in self.details

    def __repr__(self):
        return f"{self.received} bytes, {self.code} {self.details!r}"


def try_get(channel, *components, timeout=20, bytes_max=64 << 20):
    """Reads a dataset without decoding it, as no client library takes hostile bytes well."""
    received = 0
    try:
        info = call(channel, "GetFlightInfo", path_descriptor(*components), timeout)
        endpoints = [value for number, value in items(info) if number == 3]
        for endpoint in endpoints:
            ticket = fields(fields(endpoint)[1]).get(1, b"")
            stream = do_get(channel, ticket, timeout)
            for message in stream:
                received += len(message)
                if received > bytes_max:
                    stream.cancel()
                    return Outcome(received)
        return Outcome(received)
    except grpc.RpcError as error:
        return Outcome(received, error.code().name, error.details() or "")
