"""flight-bench as a client of a foreign server: pyarrow's, which knows nothing of ours."""

import json
import subprocess

import pyarrow as pa
import pytest

from foreign import Foreign
from tables import assert_same, write_ipc

TABLE = pa.table({"id": pa.array(range(100_000), pa.int64()),
                  "share": pa.array([i / 4 for i in range(100_000)])})
BATCHES = 10


@pytest.fixture
def foreign():
    with Foreign({"numbers": TABLE}, TABLE.num_rows // BATCHES) as server:
        yield server


def bench(bench_bin, *arguments, code=0):
    """Runs flight-bench and parses its report, which is JSON in the strict sense."""
    command = [bench_bin, *map(str, arguments), "--format", "json", "--no-save"]
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
    large = pa.table({"x": pa.array(range(1 << 23), pa.int64())})
    with Foreign({"large": large}, 1 << 23) as server:
        report = bench(bench_bin, "get", f"grpc://127.0.0.1:{server.port}", "--source",
                       "path:large", "--batches", 2)
    batches, rows = counts(report)
    assert batches >= 2 and rows == batches << 23


@pytest.mark.parametrize("acknowledge", [True, False])
def test_put_stores_a_data_file_on_a_foreign_server(bench_bin, tmp_path, acknowledge):
    write_ipc(tmp_path / "file.feather", TABLE.to_batches(max_chunksize=10_000))
    with Foreign({}, TABLE.num_rows, acknowledge) as server:
        report = bench(bench_bin, "put", f"grpc://127.0.0.1:{server.port}", "--source",
                       "path:stored", "--data-file", tmp_path / "file.feather", "--passes", 1,
                       "--repeats", 1)
        assert_same(server.tables["stored"], TABLE)
    assert counts(report) == (BATCHES, TABLE.num_rows)
    variant, caps = report["variants"][0], report["target"]["caps"]
    assert variant["acks"] == ("batch" if acknowledge else "final")
    assert ("put.ack" in variant["latency"]) == acknowledge
    assert caps["put"] is True and caps["acks"] is acknowledge and caps["get"] is None


def test_a_missing_dataset_is_a_failure_with_a_sentence(bench_bin, foreign):
    said = bench(bench_bin, "get", f"grpc://127.0.0.1:{foreign.port}", "--source", "path:nope",
                 "--batches", 10, code=1)
    assert "nope" in said


def test_a_server_that_is_not_there_is_a_failure_with_its_address(bench_bin):
    said = bench(bench_bin, "get", "grpc://127.0.0.1:1", "--source", "path:x", "--batches", 10,
                 code=5)
    assert "127.0.0.1:1" in said


@pytest.mark.parametrize("call", ["info", "schema", "list", "action"])
def test_calls_of_a_foreign_server_are_counted(bench_bin, foreign, call):
    about = ["--source", "path:numbers"] if call in ("info", "schema") else []
    report = bench(bench_bin, "unary", call, f"grpc://127.0.0.1:{foreign.port}", *about,
                   "--batches", 50, "--repeats", 2, "--streams", 2)
    assert counts(report)[0] == 200
    assert report["variants"][0]["latency"]["unary.service"]["n"] == 200


def test_an_open_loop_keeps_its_rate_against_a_foreign_server(bench_bin, foreign):
    report = bench(bench_bin, "unary", "list", f"grpc://127.0.0.1:{foreign.port}",
                   "--rate", 100, "--duration", "1s", "--warmup", "100ms", "--repeats", 1,
                   "--streams", 4)
    assert 50 < report["summary"]["unary.calls_per_s"]["median"] < 150


def test_a_call_that_a_foreign_server_lacks_is_a_failure(bench_bin, foreign):
    said = bench(bench_bin, "unary", "poll", f"grpc://127.0.0.1:{foreign.port}", "--source",
                 "path:numbers", "--batches", 5, "--repeats", 1, code=1)
    assert "PollFlightInfo: UNIMPLEMENTED" in said and "'flight-bench unary info'" in said


@pytest.mark.parametrize("transport", ["own", "hyper"])
def test_batches_come_back_from_a_foreign_server(bench_bin, foreign, transport):
    report = bench(bench_bin, "exchange", f"grpc://127.0.0.1:{foreign.port}", "--batches", 40,
                   "--repeats", 2, "--batch-rows", 1000, "--transport", transport)
    assert counts(report) == (80, 80_000)


def test_connections_of_a_foreign_server_are_measured_in_plaintext_too(bench_bin, foreign):
    report = bench(bench_bin, "tls", f"grpc://127.0.0.1:{foreign.port}", "--batches", 10,
                   "--repeats", 2)
    assert counts(report)[0] == 20
    assert "tls.handshake" not in report["variants"][0]["latency"]
