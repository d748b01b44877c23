"""pyarrow lists, describes and reads datasets: names, versions, JSON commands, refusals."""

import json
import os

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.flight as flight
import pyarrow.parquet as pq
import pytest

import raw
from servers import command, path, read_all
from tables import assert_same, read_ipc, write_ipc

TABLE = pa.table(
    {"id": pa.array(range(1000), pa.int64()), "name": [f"n{i % 7}" for i in range(1000)],
     "share": [i / 8 for i in range(1000)]},
).replace_schema_metadata({"origin": "made here", "é": "ü"})


@pytest.fixture
def served(serve, data):
    """A server over `trips.feather`, `deep/er/trips.parquet` and `other.arrows`."""
    (data / "deep" / "er").mkdir(parents=True)
    write_ipc(data / "trips.feather", TABLE.to_batches(max_chunksize=100))
    write_ipc(data / "other.arrows", TABLE.slice(0, 10))
    pq.write_table(TABLE, data / "deep" / "er" / "trips.parquet")
    return serve(data)


def refused(work, kind, *words):
    """`work` fails with this kind of error, whose text holds the words and fits a screen."""
    with pytest.raises(kind) as caught:
        work()
    text = str(caught.value)
    for word in words:
        assert word in text, text
    assert len(text) < 1500, text


def test_every_dataset_of_the_folder_is_listed(served):
    assert served.names() == ["deep/er/trips", "other", "trips"]


def test_criteria_are_a_prefix_of_the_name(served):
    assert served.names(b"deep/") == ["deep/er/trips"]
    assert served.names(b"t") == ["trips"]
    assert served.names(b"nothing") == []


def test_a_listed_flight_is_read_by_its_own_ticket(served):
    client = served.client()
    for info in client.list_flights():
        assert read_all(client, info).num_rows == info.total_records


def test_info_tells_schema_and_size_by_path_and_by_command(served):
    client = served.client()
    for descriptor in (path("trips"), path("trips.feather"), command(dataset="trips"),
                       command(dataset=["trips"])):
        info = client.get_flight_info(descriptor)
        assert info.descriptor == descriptor
        assert info.schema.equals(TABLE.schema, check_metadata=True)
        assert info.total_records == 1000
        assert info.total_bytes == -1 or info.total_bytes > 0
        assert client.get_schema(descriptor).schema.equals(TABLE.schema, check_metadata=True)


def test_a_path_of_one_component_may_hold_the_slashes(served):
    client = served.client()
    info = client.get_flight_info(flight.FlightDescriptor.for_path("deep/er/trips"))
    assert read_all(client, info).num_rows == 1000


def test_feather_stream_and_parquet_are_read_as_pyarrow_reads_them(served, data):
    assert_same(served.get("trips"), read_ipc(data / "trips.feather"))
    assert_same(served.get("other"), read_ipc(data / "other.arrows"))
    assert_same(served.get("deep/er/trips"), TABLE)


@pytest.mark.parametrize("name", ["trips", "deep/er/trips"])
def test_a_command_picks_columns_and_rows(served, name):
    got = served.command(dataset=name, columns=["share", "id"], offset=90, limit=25)
    assert got.equals(TABLE.select(["share", "id"]).slice(90, 25))
    assert served.command(dataset=name, columns=[1]).equals(TABLE.select(["name"]))
    assert served.command(dataset=name, offset=1000).num_rows == 0
    assert served.command(dataset=name, offset=995, limit=100).num_rows == 5
    assert served.command(dataset=name, limit=0).num_rows == 0


@pytest.mark.parametrize("name", ["trips", "deep/er/trips"])
def test_no_batch_is_longer_than_the_command_allows(served, name):
    client = served.client()
    info = client.get_flight_info(command(dataset=name, batch_rows=64))
    chunks = [chunk.data for e in info.endpoints for chunk in client.do_get(e.ticket)]
    assert max(chunk.num_rows for chunk in chunks) <= 64
    assert pa.Table.from_batches(chunks).equals(TABLE)


@pytest.mark.parametrize("codec", ["none", "lz4", "zstd"])
def test_the_wire_is_compressed_on_request(served, codec):
    assert_same(served.command(dataset="trips", compression=codec), TABLE)


@pytest.mark.parametrize("name", ["trips", "deep/er/trips"])
@pytest.mark.parametrize("endpoints", [1, 3, 8])
def test_endpoints_in_order_make_up_the_dataset(served, name, endpoints):
    client = served.client()
    info = client.get_flight_info(command(dataset=name, endpoints=endpoints, ordered=True))
    assert len(info.endpoints) == endpoints
    assert info.ordered
    assert info.total_records == 1000
    assert_same(read_all(client, info), TABLE)


def test_a_missing_dataset_is_not_found_by_name(served):
    client = served.client()
    for descriptor in (path("nope"), path("deep"), path("trips/nope"), command(dataset="nope")):
        refused(lambda: client.get_flight_info(descriptor), KeyError, "nope" if b"nope" in
                repr(descriptor).encode() else "deep")
    refused(lambda: client.get_schema(path("nope")), KeyError, "nope")


@pytest.mark.parametrize("components", [
    ["..", "data", "trips"], [".."], ["deep", "..", "trips"], ["."], [""], ["", "trips"],
    ["/etc/passwd"], ["../data/trips"], ["a\0b"], ["deep/"], [], [".flight"],
    [".flight", "staging"],
], ids=repr)
def test_a_name_that_could_leave_the_folder_is_refused(served, components):
    with raw.connect(served) as channel:
        request = raw.path_descriptor(*components)
        code, details = raw.code_of(lambda: raw.call(channel, "GetFlightInfo", request))
    assert code.name in ("INVALID_ARGUMENT", "NOT_FOUND"), (code, details)
    assert "passwd:" not in details and str(served) not in details


def test_a_link_that_leaves_the_folder_is_not_followed(serve, data, tmp_path):
    write_ipc(tmp_path / "secret.feather", TABLE)
    (tmp_path / "elsewhere").mkdir()
    write_ipc(tmp_path / "elsewhere" / "secret.feather", TABLE)
    write_ipc(data / "open.feather", TABLE)
    os.symlink(tmp_path / "secret.feather", data / "link.feather")
    os.symlink(tmp_path / "elsewhere", data / "sub")
    os.symlink("../secret.feather", data / "relative.feather")
    server = serve(data)
    assert server.names() == ["open"]
    for name in ("link", "link.feather", "sub/secret", "relative"):
        with raw.connect(server) as channel:
            request = raw.path_descriptor(*name.split("/"))
            code, _ = raw.code_of(lambda: raw.call(channel, "GetFlightInfo", request))
        assert code.name in ("NOT_FOUND", "INVALID_ARGUMENT", "PERMISSION_DENIED"), name


@pytest.mark.parametrize("request_text, word", [
    ('{"dataset":"trips","colums":["id"]}', "colums"),
    ('{"columns":["id"]}', "dataset"),
    ('{"dataset":"trips","columns":["nope"]}', "nope"),
    ('{"dataset":"trips","columns":[99]}', "99"),
    ('{"dataset":"trips","endpoints":0}', "endpoints"),
    ('{"dataset":"trips","batch_rows":0}', "batch_rows"),
    ('{"dataset":"trips","message_bytes":1}', "message_bytes"),
    ('{"dataset":"trips","offset":-1}', "-1"),
    ('{"dataset":"trips","compression":"brotli"}', "brotli"),
    ('{"dataset":', "JSON"),
])
def test_a_bad_command_is_refused_by_the_word_that_is_wrong(served, request_text, word):
    descriptor = flight.FlightDescriptor.for_command(request_text)
    refused(lambda: served.client().get_flight_info(descriptor), pa.ArrowInvalid, word)


def test_a_command_that_is_no_json_and_no_sql_is_refused(served):
    with raw.connect(served) as channel:
        for body in (b"x", b"", b"\xff\xfe", b"SELECT 1"):
            request = raw.command_descriptor(body)
            code, details = raw.code_of(lambda: raw.call(channel, "GetFlightInfo", request))
            assert code.name in ("INVALID_ARGUMENT", "UNIMPLEMENTED"), (body, code, details)


def test_flight_sql_is_refused_as_not_implemented(served):
    url = b"type.googleapis.com/arrow.flight.protocol.sql.CommandStatementQuery"
    request = raw.command_descriptor(raw.field(1, url) + raw.field(2, raw.field(1, b"SELECT 1")))
    with raw.connect(served) as channel:
        code, details = raw.code_of(lambda: raw.call(channel, "GetFlightInfo", request))
    assert code.name == "UNIMPLEMENTED" and "SQL" in details, (code, details)


def test_a_foreign_ticket_is_refused(served):
    for ticket in (b"", b"x", b"trips", b"\0" * 64, b"x" * 100_000):
        refused(lambda: served.client().do_get(flight.Ticket(ticket)).read_all(),
                (pa.ArrowInvalid, KeyError), "ticket")


def test_files_that_come_change_and_go_are_seen(served, data):
    write_ipc(data / "new.feather", TABLE.slice(0, 5))
    assert served.get("new").num_rows == 5
    write_ipc(data / ".new", TABLE.slice(0, 7))
    os.rename(data / ".new", data / "new.feather")
    assert served.get("new").num_rows == 7
    os.remove(data / "new.feather")
    refused(lambda: served.get("new"), KeyError, "new")


def test_a_ticket_of_an_older_version_says_to_ask_again(served, data):
    client = served.client()
    ticket = client.get_flight_info(path("trips")).endpoints[0].ticket
    write_ipc(data / ".new", TABLE.slice(0, 7))
    os.rename(data / ".new", data / "trips.feather")
    with raw.connect(served) as channel:
        code, details = raw.code_of(lambda: list(raw.do_get(channel, ticket.ticket)))
    assert code.name == "FAILED_PRECONDITION" and "GetFlightInfo" in details, (code, details)
    assert served.get("trips").num_rows == 7


def test_two_files_that_differ_by_extension_alone_have_full_names_only(serve, data):
    write_ipc(data / "twin.feather", TABLE.slice(0, 1))
    pq.write_table(TABLE.slice(0, 2), data / "twin.parquet")
    server = serve(data)
    assert server.names() == ["twin.feather", "twin.parquet"]
    assert server.get("twin.feather").num_rows == 1
    assert server.get("twin.parquet").num_rows == 2
    with pytest.raises((KeyError, pa.ArrowInvalid)):
        server.info("twin")


def test_many_readers_at_once_read_the_same(served):
    client = served.client()
    ticket = client.get_flight_info(path("trips")).endpoints[0].ticket
    readers = [client.do_get(ticket) for _ in range(20)]
    total = pc.sum(TABLE["id"]).as_py()
    assert [pc.sum(reader.read_all()["id"]).as_py() for reader in readers] == [total] * 20


def test_a_reader_that_leaves_early_leaves_the_server_well(served):
    client = served.client()
    ticket = client.get_flight_info(path("trips")).endpoints[0].ticket
    for _ in range(20):
        reader = client.do_get(ticket)
        reader.read_chunk()
        reader.cancel()
    assert_same(served.get("trips"), TABLE)


def test_the_health_service_answers_on_the_flight_port(served):
    with raw.connect(served) as channel:
        check = channel.unary_unary("/grpc.health.v1.Health/Check")
        assert raw.fields(check(b"", timeout=10)) == {1: 1}


def test_actions_are_listed_and_answer(served):
    client = served.client()
    actions = {action.type for action in client.list_actions()}
    assert {"healthcheck", "ping", "delete-dataset"} <= actions
    assert [result.body.to_pybytes() for result in client.do_action("healthcheck")] == [b"ok"]
    echo = client.do_action(flight.Action("ping", b"hello"))
    assert [result.body.to_pybytes() for result in echo] == [b"hello"]


def test_delete_dataset_deletes_it_once(served, data):
    client = served.client()
    action = flight.Action("delete-dataset", json.dumps({"dataset": "trips"}).encode())
    list(client.do_action(action))
    assert not (data / "trips.feather").exists()
    assert served.names() == ["deep/er/trips", "other"]
    refused(lambda: list(client.do_action(action)), KeyError, "trips")
    for name in ("../data", "", ".flight"):
        action = flight.Action("delete-dataset", json.dumps({"dataset": name}).encode())
        refused(lambda: list(client.do_action(action)), (KeyError, pa.ArrowInvalid))
    wrong = flight.Action("delete-dataset", b'{"name":"other"}')
    refused(lambda: list(client.do_action(wrong)), pa.ArrowInvalid, "name")
    assert served.names() == ["deep/er/trips", "other"]


def test_an_unknown_action_is_refused_by_name(served):
    for action in ("nope", ""):
        with raw.connect(served) as channel:
            call = channel.unary_stream(raw.SERVICE + "DoAction")
            code, details = raw.code_of(
                lambda: list(call(raw.field(1, action.encode()), timeout=10)))
        assert code.name in ("UNIMPLEMENTED", "INVALID_ARGUMENT"), (code, details)
        assert action in details
