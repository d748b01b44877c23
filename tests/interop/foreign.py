"""Flight servers that are not ours, for flight-bench to measure: pyarrow's, and one of Flight SQL."""

import contextlib
import os
import pathlib
import queue
import re
import subprocess
import sys
import threading

import pyarrow as pa
import pyarrow.flight as flight

import raw

READY_WITHIN_S = 60


class Foreign(flight.FlightServerBase):
    """Serves tables from memory and keeps what it is given, as the Arrow cookbook does.

    It acknowledges batches when `acknowledge` is set; the cookbook's does not.
    """

    def __init__(self, tables, batch_rows, acknowledge=False, listen="grpc://127.0.0.1:0",
                 **options):
        super().__init__(listen, **options)
        self.acknowledge = acknowledge
        self.tables = dict(tables)
        self.batch_rows = batch_rows
        self.lock = threading.Lock()
        self.reads = 0

    def endpoints(self, name):
        return [flight.FlightEndpoint(name.encode(), [])]

    def get_flight_info(self, context, descriptor):
        name = b"/".join(descriptor.path).decode()
        if name not in self.tables:
            raise flight.FlightServerError(f"no table {name!r}")
        table = self.tables[name]
        return flight.FlightInfo(table.schema, descriptor, self.endpoints(name), table.num_rows,
                                 -1)

    def do_get(self, context, ticket):
        with self.lock:
            self.reads += 1
        table = self.tables[ticket.ticket.decode()]
        batches = table.to_batches(max_chunksize=self.batch_rows)
        return flight.GeneratorStream(table.schema, iter(batches))

    def do_put(self, context, descriptor, reader, writer):
        batches = []
        for chunk in reader:
            batches.append(chunk.data)
            if self.acknowledge and chunk.app_metadata is not None:
                writer.write(chunk.app_metadata)
        with self.lock:
            name = b"/".join(descriptor.path).decode()
            self.tables[name] = pa.Table.from_batches(batches, reader.schema)

    def list_flights(self, context, criteria):
        for name in self.tables:
            yield self.get_flight_info(context, flight.FlightDescriptor.for_path(name))

    def get_schema(self, context, descriptor):
        return flight.SchemaResult(self.get_flight_info(context, descriptor).schema)

    def do_action(self, context, action):
        yield b"pong"

    def do_exchange(self, context, descriptor, reader, writer):
        writer.begin(reader.schema)
        for chunk in reader:
            writer.write_with_metadata(chunk.data, chunk.app_metadata)


class Elsewhere(Foreign):
    """Names places for what it has, one after another."""

    def __init__(self, places, *arguments, **options):
        super().__init__(*arguments, **options)
        self.places = places

    def endpoints(self, name):
        return [flight.FlightEndpoint(name.encode(), self.places)]


class OnlyDoGet(flight.FlightServerBase):
    """Implements nothing else."""

    def __init__(self, table):
        super().__init__("grpc://127.0.0.1:0")
        self.table = table

    def do_get(self, context, ticket):
        return flight.RecordBatchStream(self.table)


class Nothing(flight.FlightServerBase):
    """Implements nothing at all."""

    def __init__(self):
        super().__init__("grpc://127.0.0.1:0")


class Perf(flight.FlightServerBase):
    """Speaks Arrow's perf protocol, and lists nothing, as Arrow's own server does."""

    def __init__(self):
        super().__init__("grpc://127.0.0.1:0")

    def get_flight_info(self, context, descriptor):
        asked = raw.fields(descriptor.command)
        streams, records = asked[2], asked[3]
        endpoints = [flight.FlightEndpoint(str(records), ["grpc://localhost:1"])] * streams
        schema = self.rows(0).schema
        return flight.FlightInfo(schema, descriptor, endpoints, streams * records, -1)

    def rows(self, count):
        return pa.table({name: pa.array(range(count), pa.int64()) for name in "abcd"})

    def do_get(self, context, ticket):
        return flight.RecordBatchStream(self.rows(int(ticket.ticket)))


STATEMENT = b"type.googleapis.com/arrow.flight.protocol.sql.CommandStatementQuery"


class Sql(flight.FlightServerBase):
    """Answers a statement query of Flight SQL, message by message; tickets are good once."""

    def __init__(self, table):
        super().__init__("grpc://127.0.0.1:0")
        self.table = table
        self.lock = threading.Lock()
        self.queries = []
        self.open = set()

    def query(self, descriptor):
        """The text of a query; the fields are those of the Any, and of the message in it."""
        message = raw.fields(descriptor.command or b"")
        if message.get(1) != STATEMENT:
            raise NotImplementedError(f"a command of type {message.get(1)!r}")
        statement = raw.fields(message[2])
        assert set(message) == {1, 2} and set(statement) == {1}, "no field but those that are set"
        return statement[1].decode()

    def get_flight_info(self, context, descriptor):
        query = self.query(descriptor)
        with self.lock:
            self.queries.append(query)
            tickets = [f"{len(self.queries)}/{part}".encode() for part in range(2)]
            self.open.update(tickets)
        endpoints = [flight.FlightEndpoint(ticket, []) for ticket in tickets]
        return flight.FlightInfo(self.table.schema, descriptor, endpoints, -1, -1)

    def get_schema(self, context, descriptor):
        self.query(descriptor)
        return flight.SchemaResult(self.table.schema)

    def do_get(self, context, ticket):
        with self.lock:
            if ticket.ticket not in self.open:
                raise flight.FlightServerError("this ticket was read already")
            self.open.discard(ticket.ticket)
        return flight.RecordBatchStream(self.table)


@contextlib.contextmanager
def roapi(tables):
    """A running ROAPI over files by the names of their tables; where it takes Flight SQL."""
    program = pathlib.Path(sys.executable).with_name("roapi")
    command = [program]
    for kind in ("http", "postgres", "flight-sql"):
        command += [f"--addr-{kind}", "127.0.0.1:0"]
    for name, file in tables.items():
        command += ["--table", f"{name}={file}"]
    environment = {**os.environ, "RUST_LOG": "info", "NO_COLOR": "1"}
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                               stderr=subprocess.STDOUT, env=environment)
    found = queue.Queue()

    def read():
        log = []
        for line in process.stdout:
            log.append(line.decode(errors="replace"))
            match = re.search(r"Listening on (\S+) for FlightSQL", log[-1])
            if match:
                found.put(match[1])
        found.put(AssertionError("roapi ended:\n" + "".join(log[-20:])))

    reader = threading.Thread(target=read, daemon=True)
    reader.start()
    try:
        address = found.get(timeout=READY_WITHIN_S)
        if isinstance(address, AssertionError):
            raise address
        yield f"grpc://{address}"
    finally:
        process.kill()
        process.wait()
        reader.join()
        process.stdout.close()
