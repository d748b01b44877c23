"""pyarrow uploads datasets: modes, formats, acknowledgements, what survives, what is refused."""

import json
import os
import threading
import time

import pyarrow as pa
import pyarrow.flight as flight
import pyarrow.ipc as ipc
import pyarrow.parquet as pq
import pytest

import raw
from servers import command, path, read_acknowledgements
from tables import assert_same, read_ipc, write_ipc

TABLE = pa.table({"id": pa.array(range(500), pa.int64()),
                  "word": pa.array(["a", "b", None, "c", ""] * 100)}) \
    .replace_schema_metadata({"k": "v"})


@pytest.fixture
def server(serve, data):
    return serve(data)


def refused(work, kinds, *words):
    with pytest.raises(kinds) as caught:
        work()
    for word in words:
        assert word in str(caught.value), str(caught.value)


def stored_files(data):
    """Every file of the folder but the server's own records."""
    return sorted(str(file.relative_to(data)) for file in data.rglob("*")
                  if file.is_file() and ".flight" not in file.parts)


def test_what_was_uploaded_is_read_back_and_stands_in_the_folder(server, data):
    summary = server.put("new/one", TABLE.to_batches(max_chunksize=100))
    assert summary["rows"] == 500
    assert summary["version"]
    assert stored_files(data) == ["new/one.feather"]
    assert summary["bytes"] == (data / "new" / "one.feather").stat().st_size
    assert_same(server.get("new/one"), TABLE)
    assert_same(read_ipc(data / "new" / "one.feather"), TABLE)
    assert server.names() == ["new/one"]


def test_an_upload_survives_a_restart_and_a_kill(serve, data):
    server = serve(data)
    server.put("kept", TABLE)
    server.kill()
    assert_same(serve(data).get("kept"), TABLE)


@pytest.mark.parametrize("form", ["feather", "parquet"])
@pytest.mark.parametrize("codec", ["none", "lz4", "zstd"])
def test_the_stored_format_and_codec_are_the_clients_choice(server, data, form, codec):
    server.put("x", TABLE, format=form, codec=codec)
    file = data / f"x.{form}"
    assert_same(read_ipc(file) if form == "feather" else pq.read_table(file), TABLE)
    assert_same(server.get("x"), TABLE)


@pytest.mark.parametrize("codec", ["snappy", "gzip", "brotli"])
def test_parquet_has_codecs_of_its_own(server, data, codec):
    server.put("x", TABLE, format="parquet", codec=codec)
    chunk = pq.ParquetFile(data / "x.parquet").metadata.row_group(0).column(0)
    assert chunk.compression == codec.upper()
    refused(lambda: server.put("y", TABLE, format="feather", codec=codec),
            (pa.ArrowException, flight.FlightError), codec)
    assert server.names() == ["x"]


def test_create_refuses_what_exists_and_replace_takes_its_place(server):
    server.put("x", TABLE)
    refused(lambda: server.put("x", TABLE.slice(0, 1)), pa.ArrowException, "x")
    assert server.get("x").num_rows == 500
    server.put("x", TABLE.slice(0, 3), mode="replace")
    assert server.get("x").num_rows == 3
    server.put("y", TABLE.slice(0, 4), mode="replace")
    assert server.get("y").num_rows == 4
    refused(lambda: server.put("z", TABLE, mode="append"), pa.ArrowInvalid, "append")


def test_of_two_uploads_of_one_name_one_wins(server):
    outcomes = []

    def upload(rows):
        try:
            server.put("raced", TABLE.slice(0, rows), client=flight.FlightClient(server.endpoint))
            outcomes.append(rows)
        except pa.ArrowException:
            outcomes.append(None)

    threads = [threading.Thread(target=upload, args=(rows,)) for rows in range(1, 9)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    winners = [rows for rows in outcomes if rows is not None]
    assert len(winners) == 1
    assert server.get("raced").num_rows == winners[0]


def test_the_same_upload_id_again_gives_the_same_answer_once(server):
    first = server.put("x", TABLE, upload_id="7f3e")
    assert server.put("x", TABLE, upload_id="7f3e") == first
    assert_same(server.get("x"), TABLE)
    refused(lambda: server.put("x", TABLE, upload_id="other"), pa.ArrowException, "x")


def test_metadata_of_each_batch_is_acknowledged_in_order(server):
    client = server.client()
    writer, reader = client.do_put(path("x"), TABLE.schema)
    batches = TABLE.to_batches(max_chunksize=50)
    for index, batch in enumerate(batches):
        writer.write_with_metadata(batch, f"batch {index}".encode())
        assert reader.read().to_pybytes() == f"batch {index}".encode()
    writer.done_writing()
    *rest, last = read_acknowledgements(reader)
    writer.close()
    assert rest == []
    assert json.loads(last)["rows"] == 500


def test_batches_without_metadata_get_one_final_answer(server):
    client = server.client()
    writer, reader = client.do_put(path("x"), TABLE.schema)
    for batch in TABLE.to_batches(max_chunksize=50):
        writer.write_batch(batch)
    writer.done_writing()
    answers = [json.loads(answer) for answer in read_acknowledgements(reader)]
    writer.close()
    assert [answer["rows"] for answer in answers] == [500]
    assert set(answers[0]) == {"rows", "bytes", "version"}


def test_a_cut_upload_leaves_nothing(server, data):
    staging = data / ".flight" / "staging"
    messages = raw.upload(raw.path_descriptor("cut"), TABLE.to_batches(max_chunksize=50))
    sent, never = threading.Event(), threading.Event()

    def cut_short():
        yield from messages
        sent.set()
        never.wait(30)

    with raw.connect(server) as channel:
        call = channel.stream_stream(raw.SERVICE + "DoPut")(cut_short(), timeout=30)
        assert sent.wait(20)
        wait_until(lambda: any(staging.glob("*")), "the upload has begun")
        call.cancel()
        never.set()
    wait_until(lambda: not any(staging.glob("*")), "the server has cleared up")
    assert server.names() == [] and stored_files(data) == []


def wait_until(holds, what):
    deadline = time.monotonic() + 20
    while not holds():
        assert time.monotonic() < deadline, f"20 s passed before {what}"
        threading.Event().wait(0.02)


def test_an_upload_that_the_server_did_not_survive_leaves_nothing(serve, data):
    server = serve(data)
    client = flight.FlightClient(server.endpoint)
    writer, _ = client.do_put(path("half"), TABLE.schema)
    writer.write_batch(TABLE.to_batches()[0])
    server.kill()
    with pytest.raises((pa.ArrowException, flight.FlightError)):
        writer.close()
    client.close()
    server = serve(data)
    assert server.names() == [] and stored_files(data) == []
    server.put("half", TABLE)
    assert_same(server.get("half"), TABLE)


@pytest.mark.parametrize("components", [
    ["..", "x"], ["/etc/x"], ["a\0b"], [""], [], ["a", "..", "b"], [".flight", "x"], ["."],
    ["x" * 300],
], ids=lambda components: repr(components)[:30])
def test_a_bad_name_is_refused_on_the_first_message(server, data, components):
    with raw.connect(server) as channel:
        messages = raw.upload(raw.path_descriptor(*components), TABLE.to_batches())
        code, details = raw.code_of(lambda: raw.do_put(channel, messages))
    assert code.name == "INVALID_ARGUMENT", (code, details)
    assert stored_files(data) == []


@pytest.mark.parametrize("request_text, word", [
    ('{"dataset":"x","colour":"red"}', "colour"),
    ('{"mode":"create"}', "dataset"),
    ('{"dataset":"x","format":"csv"}', "csv"),
    ('{"dataset":"x","upload_id":""}', "upload_id"),
    ('[]', "JSON"),
])
def test_a_bad_upload_command_is_refused_by_the_word_that_is_wrong(server, request_text, word):
    with raw.connect(server) as channel:
        descriptor = raw.command_descriptor(request_text.encode())
        messages = raw.upload(descriptor, TABLE.to_batches())
        code, details = raw.code_of(lambda: raw.do_put(channel, messages))
    assert code.name == "INVALID_ARGUMENT" and word in details, (code, details)
    assert server.names() == []


def test_types_of_every_family_are_stored_and_read_back(server):
    rows = 40
    every = range(rows)
    table = pa.table({
        "bool": pa.array([None if i % 11 == 0 else i % 3 == 0 for i in every]),
        "struct": pa.array([None if i % 9 == 0 else {"a": i, "b": str(i)} for i in every]),
        "sparse": pa.UnionArray.from_sparse(
            pa.array([i % 2 for i in every], pa.int8()),
            [pa.array(every, pa.int64()), pa.array([f"v{i}" for i in every])]),
        "dense": pa.UnionArray.from_dense(
            pa.array([i % 2 for i in every], pa.int8()),
            pa.array([i // 2 for i in every], pa.int32()),
            [pa.array(range(rows), pa.int64()), pa.array([f"u{i}" for i in every])]),
        "fixed": pa.array([bytes([i]) * 5 for i in every], pa.binary(5)),
        "flags": pa.array([[True, i % 2 == 0, None] for i in every], pa.list_(pa.bool_(), 3)),
        "null": pa.nulls(rows),
        "view": pa.array([b"z" * i * 3 for i in every], pa.binary_view()),
        "runs": pa.RunEndEncodedArray.from_arrays(
            pa.array([10, 20, rows], pa.int32()), pa.array(["a", None, "c"])),
        "list_view": pa.array([None if i % 6 == 0 else [i] * (i % 4) for i in every],
                              pa.list_view(pa.int32())),
        "map": pa.array([[("k", i)] * (i % 3) for i in every], pa.map_(pa.string(), pa.int64())),
        "code": pa.array([f"c{i % 3}" for i in every]).dictionary_encode(),
        "interval": pa.array([(i, i, i) for i in every], pa.month_day_nano_interval()),
        "decimal": pa.array(every, pa.int32()).cast(pa.decimal256(60, 2)),
        "half": pa.array([i / 2 for i in every], pa.float16()),
        "zoned": pa.array(every, pa.timestamp("ns", "Europe/Berlin")),
    })
    server.put("whole", table)
    assert_same(server.get("whole"), table)
    # A slice begins in the middle of bitmaps, offsets, views and runs.
    server.put("slice", table.slice(3, 21))
    assert_same(server.get("slice"), table.slice(3, 21))


def test_a_stored_file_may_be_uploaded_as_it_was_read(server, data):
    write_ipc(data / "source.feather", TABLE.to_batches(max_chunksize=77))
    client = server.client()
    reader = client.do_get(server.info("source").endpoints[0].ticket)
    writer, _ = client.do_put(command(dataset="copy", codec="zstd"), reader.schema)
    with writer:
        for chunk in reader:
            writer.write_batch(chunk.data)
    assert_same(server.get("copy"), TABLE)
    assert os.path.exists(data / "copy.feather")


def test_uploads_may_be_compressed_on_the_wire(server):
    for codec in ("lz4", "zstd"):
        options = flight.FlightCallOptions(write_options=ipc.IpcWriteOptions(compression=codec))
        writer, reader = server.client().do_put(path(codec), TABLE.schema, options=options)
        writer.write_table(TABLE)
        writer.done_writing()
        assert json.loads(read_acknowledgements(reader)[-1])["rows"] == 500
        writer.close()
        assert_same(server.get(codec), TABLE)
