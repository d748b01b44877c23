"""flight-bench as a client of a foreign server: pyarrow's, which knows nothing of ours."""

import json
import subprocess
import threading

import pyarrow as pa
import pyarrow.flight as flight
import pytest

from tables import assert_same, write_ipc

TABLE = pa.table({"id": pa.array(range(100_000), pa.int64()),
                  "share": pa.array([i / 4 for i in range(100_000)])})
BATCHES = 10


class Foreign(flight.FlightServerBase):
    """Serves tables from memory and keeps what it is given, as the Arrow cookbook does.

    It acknowledges batches when `acknowledge` is set; the cookbook's does not.
    """

    def __init__(self, batch_rows, acknowledge=False):
        super().__init__("grpc://127.0.0.1:0")
        self.acknowledge = acknowledge
        self.tables = {"numbers": TABLE}
        self.batch_rows = batch_rows
        self.lock = threading.Lock()

    def get_flight_info(self, context, descriptor):
        name = b"/".join(descriptor.path).decode()
        if name not in self.tables:
            raise flight.FlightServerError(f"no table {name!r}")
        table = self.tables[name]
        endpoint = flight.FlightEndpoint(name.encode(), [])
        return flight.FlightInfo(table.schema, descriptor, [endpoint], table.num_rows, -1)

    def do_get(self, context, ticket):
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


@pytest.fixture
def foreign():
    with Foreign(TABLE.num_rows // BATCHES) as server:
        yield server


def bench(bench_bin, *arguments, code=0):
    """Runs flight-bench and parses its report, which is JSON in the strict sense."""
    command = [bench_bin, *map(str, arguments), "--format", "json"]
    result = subprocess.run(command, capture_output=True, timeout=100)
    assert result.returncode == code, result.stderr.decode()
    if code:
        return result.stderr.decode()

    def no_constant(text):
        raise AssertionError(f"{text} is no JSON")

    return json.loads(result.stdout, parse_constant=no_constant)


def counts(report):
    """Batches and rows over all repeats of a report."""
    totals = [repeat["counts"] for repeat in report["repeats"]]
    return sum(c["batches"] for c in totals), sum(c["rows"] for c in totals)


def test_get_counts_every_batch_and_row_of_a_foreign_server(bench_bin, foreign):
    report = bench(bench_bin, "get", f"grpc://127.0.0.1:{foreign.port}", "--source",
                   "path:numbers", "--batches", 100)
    batches, rows = counts(report)
    assert batches >= 100 and rows == batches * TABLE.num_rows // BATCHES


def test_get_takes_batches_of_64_mebibytes(bench_bin):
    with Foreign(1 << 23) as server:
        server.tables["large"] = pa.table({"x": pa.array(range(1 << 23), pa.int64())})
        report = bench(bench_bin, "get", f"grpc://127.0.0.1:{server.port}", "--source",
                       "path:large", "--batches", 2)
    batches, rows = counts(report)
    assert batches >= 2 and rows == batches << 23


@pytest.mark.parametrize("acknowledge", [True, False])
def test_put_stores_a_data_file_on_a_foreign_server(bench_bin, tmp_path, acknowledge):
    write_ipc(tmp_path / "file.feather", TABLE.to_batches(max_chunksize=10_000))
    with Foreign(TABLE.num_rows, acknowledge) as server:
        report = bench(bench_bin, "put", f"grpc://127.0.0.1:{server.port}", "--source",
                       "path:stored", "--data-file", tmp_path / "file.feather", "--passes", 1,
                       "--repeats", 1)
        assert_same(server.tables["stored"], TABLE)
    assert counts(report) == (BATCHES, TABLE.num_rows)


def test_a_missing_dataset_is_a_failure_with_a_sentence(bench_bin, foreign):
    said = bench(bench_bin, "get", f"grpc://127.0.0.1:{foreign.port}", "--source", "path:nope",
                 "--batches", 10, code=1)
    assert "nope" in said


def test_a_server_that_is_not_there_is_a_failure_with_its_address(bench_bin):
    said = bench(bench_bin, "get", "grpc://127.0.0.1:1", "--source", "path:x", "--batches", 10,
                 code=5)
    assert "127.0.0.1:1" in said
