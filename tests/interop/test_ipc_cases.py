"""Feather and IPC-stream files that public bug reports are about, each built here.

The numbers are those of the upstream reports: apache/arrow-rs and apache/arrow unless said.
"""

import os
import random

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.flight as flight
import pyarrow.ipc as ipc
import pyarrow.parquet as pq
import pytest

import raw
from servers import path, read_acknowledgements
from tables import assert_same, assert_same_values, read_ipc, write_ipc

# What the server keeps to unless a client asks for more.
MESSAGE_BYTES_MAX = 3_670_016


def coded(indices, values, index_type=pa.int8()):
    return pa.DictionaryArray.from_arrays(pa.array(indices, index_type), values)


def assert_served(server, name, want):
    """All four calls tell the same true story about the dataset."""
    client = server.client()
    info = client.get_flight_info(path(name))
    assert info.schema.equals(want.schema, check_metadata=True), info.schema.to_string()
    assert client.get_schema(path(name)).schema.equals(want.schema, check_metadata=True)
    assert info.total_records in (-1, want.num_rows)
    assert_same(server.get(name), want, name)


def message_sizes(server, name):
    """Bytes of the FlightData messages that a DoGet sends, the schema first."""
    ticket = server.info(name).endpoints[0].ticket.ticket
    with raw.connect(server) as channel:
        return [len(message) for message in raw.do_get(channel, ticket)]


def replaced_dictionaries():
    first = pa.array(["ash", "oak", "elm"])
    arrays = [coded([1, 0, None], first), coded([2, 1], first),
              coded([0, 1], pa.array(["fir", "yew"]))]
    return [pa.record_batch({"tree": array}) for array in arrays]


def test_a_dictionary_replaced_in_midstream_keeps_its_values(serve, data):
    """arrow#45055"""
    batches = replaced_dictionaries()
    write_ipc(data / "served.arrows", batches)
    server = serve(data)
    want = ["oak", "ash", None, "elm", "oak", "fir", "yew"]
    for name in ("served", "sent"):
        if name == "sent":
            server.put("sent", batches)
        got = server.get(name)
        assert got.schema.equals(batches[0].schema, check_metadata=True)
        assert got["tree"].to_pylist() == want
    server.kill()
    assert serve(data).get("sent")["tree"].to_pylist() == want


def test_a_dictionary_that_outgrows_its_key_type_is_an_error_before_it_is_stored(serve, data):
    server = serve(data)
    batches = [pa.record_batch({"n": coded(list(range(100)), pa.array([f"{part}-{i}"
                                                                     for i in range(100)]))})
               for part in range(2)]
    try:
        server.put("many", batches)
    except (pa.ArrowException, flight.FlightError) as error:
        assert "n" in str(error)
        assert server.names() == []
    else:
        want = [f"{part}-{i}" for part in range(2) for i in range(100)]
        assert server.get("many")["n"].to_pylist() == want


def growing_dictionaries():
    words = pa.array(["a", "b", "c", "d"])
    return [pa.record_batch({"d": coded([0, 1], words.slice(0, 2))}),
            pa.record_batch({"d": coded([2, 0, 1], words.slice(0, 3))}),
            pa.record_batch({"d": coded([3, 3], words)})]


def test_delta_dictionaries_are_read_and_taken(serve, data):
    """6783"""
    batches = growing_dictionaries()
    deltas = ipc.IpcWriteOptions(emit_dictionary_deltas=True)
    write_ipc(data / "file.arrow", batches, options=deltas)
    write_ipc(data / "stream.arrows", batches, options=deltas)
    server = serve(data)
    options = flight.FlightCallOptions(write_options=deltas)
    writer, reader = server.client().do_put(path("sent"), batches[0].schema, options=options)
    for batch in batches:
        writer.write_batch(batch)
    writer.done_writing()
    read_acknowledgements(reader)
    writer.close()
    for name in ("file", "stream", "sent"):
        assert server.get(name)["d"].to_pylist() == ["a", "b", "c", "a", "b", "d", "d"], name


def nested_dictionaries():
    words = coded([0, 1, None, 0, 1, 2], pa.array(["x", "y", "z"]))
    pair = pa.StructArray.from_arrays(
        [coded([0, 1], pa.array(["u", "v"]), pa.int32()), pa.array([7, 8], pa.int32())],
        ["code", "count"])
    starts, sizes = [0, 2], [2, 4]
    return {
        "list": pa.ListArray.from_arrays([0, 2, 6], words),
        "list_view": pa.ListViewArray.from_arrays(
            pa.array(starts, pa.int32()), pa.array(sizes, pa.int32()), words),
        "large_list_view": pa.LargeListViewArray.from_arrays(
            pa.array(starts, pa.int64()), pa.array(sizes, pa.int64()), words),
        "fixed_size_list": pa.FixedSizeListArray.from_arrays(words, 3),
        "runs": pa.RunEndEncodedArray.from_arrays(
            pa.array([1, 2], pa.int32()), coded([0, 1], pa.array(["r", "s"]))),
        "struct": pa.StructArray.from_arrays([coded([0, 1], pa.array(["m", "n"]))], ["f"]),
        "map": pa.MapArray.from_arrays(
            [0, 1, 3], coded([0, 1, 0], pa.array(["k", "l"])),
            coded([0, 1, 0], pa.array(["p", "q"]), pa.int32())),
        "dictionary": coded([1, 0], pair),
    }


@pytest.mark.parametrize("container", list(nested_dictionaries()))
def test_a_dictionary_inside_another_type_stays_a_dictionary(serve, data, container):
    """9555"""
    batch = pa.record_batch({container: nested_dictionaries()[container]})
    write_ipc(data / "nested.arrows", [batch, batch])
    server = serve(data)
    want = read_ipc(data / "nested.arrows")
    assert_served(server, "nested", want)
    server.put("sent", [batch, batch])
    assert_same(server.get("sent"), want)


def test_a_dictionary_inside_a_map_may_be_replaced(serve, data):
    """6644"""
    def batch(keys):
        values = coded([0, 1, 1], pa.array(["p", "q"]), pa.int32())
        return pa.record_batch({"m": pa.MapArray.from_arrays(
            [0, 1, 3], coded([0, 1, 0], pa.array(keys)), values)})
    batches = [batch(["k", "l"]), batch(["z1", "z2"])]
    write_ipc(data / "served.arrows", batches)
    server = serve(data)
    server.put("sent", batches)
    want = [[("k", "p")], [("l", "q"), ("k", "q")], [("z1", "p")], [("z2", "q"), ("z1", "q")]]
    for name in ("served", "sent"):
        assert server.get(name)["m"].to_pylist() == want, name


def test_rows_without_columns_keep_their_number(serve, data):
    """1783"""
    batch = pa.RecordBatch.from_struct_array(pa.array([{}] * 10, pa.struct([])))
    write_ipc(data / "file.arrow", [batch])
    write_ipc(data / "stream.arrows", [batch, batch])
    server = serve(data)
    server.put("sent", [batch])
    for name, rows in (("file", 10), ("stream", 20), ("sent", 10)):
        info = server.info(name)
        assert info.total_records in (rows, -1), name
        reader = server.client().do_get(info.endpoints[0].ticket)
        assert sum(chunk.data.num_rows for chunk in reader) == rows, name


def test_no_rows_still_have_a_schema(serve, data):
    """3591"""
    schema = pa.schema([("a", pa.int64()), ("s", pa.string()), ("l", pa.list_(pa.int32())),
                        ("d", pa.dictionary(pa.int8(), pa.string()))], metadata={"k": "v"})
    empty = pa.RecordBatch.from_pylist([], schema=schema)
    for extension in ("arrow", "arrows"):
        write_ipc(data / f"none-{extension}.{extension}", [], schema)
        write_ipc(data / f"one-{extension}.{extension}", [empty])
    pq.write_table(schema.empty_table(), data / "parquet.parquet")
    server = serve(data)
    for name, batches in (("put-none", []), ("put-one", [empty])):
        assert server.put(name, batches, schema)["rows"] == 0
    assert len(server.names()) == 7
    for name in server.names():
        if name == "parquet":
            # A list's child has another name in Parquet, and the file's say counts.
            assert server.get(name).cast(schema).equals(schema.empty_table())
        else:
            assert_served(server, name, schema.empty_table())


def test_messages_stay_below_the_limit_however_skewed_the_rows(serve, data):
    """3478"""
    words = ["x" * 20] * 20_000
    words[13], words[14], words[9_000] = "A" * 3_000_000, "B" * 3_000_000, "C" * 10_000_000
    table = pa.table({"id": pa.array(range(20_000), pa.int32()), "s": words})
    write_ipc(data / "skewed.arrow", table)
    server = serve(data)
    assert_same(server.get("skewed"), table)
    over = [size for size in message_sizes(server, "skewed") if size > MESSAGE_BYTES_MAX]
    assert len(over) == 1 and over[0] < 10_100_000, "only the row that cannot be split"
    ticket = server.info("skewed").endpoints[0].ticket.ticket
    with raw.connect(server, raw.DEFAULT_MESSAGE_BYTES_MAX) as channel:
        code, details = raw.code_of(lambda: list(raw.do_get(channel, ticket)))
    assert code.name == "RESOURCE_EXHAUSTED", (code, details)


def test_a_large_dictionary_is_sent_once_and_whole(serve, data):
    words = pa.array([f"word-{i:07}-" * 4 for i in range(200_000)])
    table = pa.table({"d": coded([i * 199 for i in range(1_000)], words, pa.int32())})
    write_ipc(data / "coded.arrow", table.to_batches(max_chunksize=100))
    server = serve(data)
    assert_served(server, "coded", table)
    over = [size for size in message_sizes(server, "coded") if size > MESSAGE_BYTES_MAX]
    assert len(over) == 1


def test_a_client_may_ask_for_smaller_and_for_larger_messages(serve, data):
    table = pa.table({"x": pa.array(range(2_000_000), pa.int64())})
    write_ipc(data / "wide.arrow", table)
    server = serve(data)
    for limit in (65_536, 1 << 20, 8 << 20):
        client = server.client()
        descriptor = flight.FlightDescriptor.for_command(
            '{"dataset":"wide","message_bytes":%d}' % limit)
        ticket = client.get_flight_info(descriptor).endpoints[0].ticket.ticket
        with raw.connect(server) as channel:
            sizes = [len(message) for message in raw.do_get(channel, ticket)]
        assert limit // 2 < max(sizes) <= limit, limit
        assert_same(server.command(dataset="wide", message_bytes=limit), table)


def test_columns_that_share_one_body_are_not_split_to_crumbs(serve, data):
    """9388: 480 messages of 47 KB in place of 6"""
    column = pa.array(range(100_000), pa.int32())
    write_ipc(data / "fifty.arrow", pa.table({f"c{i}": column for i in range(50)}))
    server = serve(data)
    sizes = message_sizes(server, "fifty")
    assert 1 + 5 <= len(sizes) <= 1 + 12, len(sizes)
    assert max(sizes) <= MESSAGE_BYTES_MAX


@pytest.mark.long
@pytest.mark.timeout(600)
def test_one_batch_over_two_gibibytes_is_streamed_within_bounded_memory(serve, data, tmp_path):
    """arrow#36254"""
    block, repeats = pa.array(range(1_000_000), pa.int64()), 290
    with open(tmp_path / "values", "wb") as values:
        for _ in range(repeats):
            values.write(block.buffers()[1])
    mapped = pa.memory_map(str(tmp_path / "values")).read_buffer()
    column = pa.Array.from_buffers(pa.int64(), len(block) * repeats, [None, mapped])
    write_ipc(data / "huge.arrow", [pa.record_batch({"x": column})])
    server = serve(data)
    client = server.client()
    rows = total = most = 0
    for chunk in client.do_get(server.info("huge").endpoints[0].ticket):
        rows += chunk.data.num_rows
        total += pc.sum(chunk.data.column(0)).as_py()
        most = max(most, server.memory_bytes())
    assert rows == len(block) * repeats
    assert total == pc.sum(block).as_py() * repeats
    assert most < 1 << 30, f"{most} bytes resident"


@pytest.mark.parametrize("batch_rows", [7, 1_000, 1_000_000])
def test_list_views_and_runs_survive_any_split(serve, data, batch_rows):
    """9002"""
    rows = 30_000
    views = pa.ListViewArray.from_arrays(
        pa.array([i * 7 % 1_000 for i in range(rows)], pa.int32()),
        pa.array([i % 5 for i in range(rows)], pa.int32()), pa.array(range(1_010), pa.int32()))
    runs = pa.RunEndEncodedArray.from_arrays(
        pa.array(range(10, rows + 1, 10), pa.int32()),
        pa.array([None if i % 7 == 0 else f"run {i}" for i in range(rows // 10)]))
    table = pa.table({"views": views, "runs": runs})
    write_ipc(data / "odd.arrow", table)
    server = serve(data)
    assert_same(server.command(dataset="odd", batch_rows=batch_rows), table)
    if batch_rows == 1_000:
        server.put("sent", table.to_batches(max_chunksize=batch_rows))
        assert_same(server.get("sent"), table)


def test_maps_keep_their_child_names_and_their_order_flag(serve, data):
    """1730"""
    named = pa.map_(pa.field("some_key", pa.string(), False), pa.field("some_value", pa.int32()))
    batch = pa.record_batch({
        "named": pa.array([[("a", 1), ("b", None)], [], None], named),
        "sorted": pa.array([[("a", 1), ("b", 2)], None, []],
                           pa.map_(pa.string(), pa.int32(), keys_sorted=True)),
    })
    write_ipc(data / "maps.arrow", [batch])
    server = serve(data)
    want = read_ipc(data / "maps.arrow")
    assert_served(server, "maps", want)
    server.put("sent", [batch])
    assert_same(server.get("sent"), want)
    # pyarrow itself forgets the names when it reads a schema: look for them in the message.
    with raw.connect(server) as channel:
        for name in ("maps", "sent"):
            schema = raw.call(channel, "GetSchema", raw.path_descriptor(name))
            assert b"some_key" in schema and b"some_value" in schema, name


def test_feather_of_the_first_version_is_refused_with_the_way_to_convert_it(serve, data):
    write_ipc(data / "good.feather", pa.table({"x": [1]}))
    (data / "old.feather").write_bytes(b"FEA1" + bytes(60) + b"FEA1")
    server = serve(data)
    assert "good" in server.names()
    with raw.connect(server) as channel:
        code, details = raw.code_of(
            lambda: raw.call(channel, "GetFlightInfo", raw.path_descriptor("old")))
    assert code.name not in ("INTERNAL", "UNKNOWN", "NOT_FOUND"), (code, details)
    assert "Feather V1" in details and "convert" in details, details
    assert server.get("good").num_rows == 1


def damaged_copies(good, count):
    """Copies of a file that are cut, or changed in a few bytes; the same ones every time."""
    chance = random.Random(20_240_229)
    for _ in range(count):
        copy = bytearray(good)
        if chance.random() < 0.3:
            del copy[chance.randrange(len(copy)):]
        else:
            for _ in range(chance.randrange(1, 6)):
                copy[chance.randrange(len(copy))] = chance.choice((0, 1, 127, 128, 255))
        yield bytes(copy)


@pytest.mark.parametrize("extension", ["arrow", "arrows", "parquet"])
def test_damaged_files_never_end_the_server_nor_come_out_as_internal_errors(
        serve, data, tmp_path, extension):
    """10521"""
    batch = pa.record_batch({
        "i": pa.array([1, None, 3] * 20), "s": pa.array(["a", "bb", None] * 20),
        "l": pa.array([[1], None, [2, 3]] * 20),
        "d": pa.array(["x", "y", "x"] * 20).dictionary_encode(),
    })
    source = tmp_path / f"good.{extension}"
    table = pa.Table.from_batches([batch, batch])
    pq.write_table(table, source) if extension == "parquet" else write_ipc(source, table)
    for number, copy in enumerate(damaged_copies(source.read_bytes(), 300)):
        (data / f"bad-{number}.{extension}").write_bytes(copy)
    write_ipc(data / "control.feather", table)
    server = serve(data)
    with raw.connect(server) as channel:
        for number in range(300):
            outcome = raw.try_get(channel, f"bad-{number}.{extension}")
            assert outcome.fair, f"bad-{number}: {outcome}"
            if number % 20 == 0:
                assert_same_values(server.get("control"), table)
    assert "control" in server.names()


def test_a_folder_of_many_broken_files_is_reported_and_served(serve, data):
    for number in range(20):
        (data / f"broken-{number}.parquet").write_bytes(os.urandom(100))
    (data / "empty.feather").write_bytes(b"")
    (data / "notes.txt").write_text("no dataset")
    write_ipc(data / "good.feather", pa.table({"x": [1]}))
    server = serve(data)
    assert server.get("good").num_rows == 1
    assert "notes" not in server.names() and "notes.txt" not in server.names()
    assert "broken-7" in server.log()
