"""Parquet files that public bug reports are about, each built here.

The numbers are those of the upstream reports: apache/arrow-rs unless said.
"""

import base64

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.flight as flight
import pyarrow.parquet as pq
import pyarrow.parquet.encryption as encryption
import pytest

import raw
from parquet_pages import write_lists
from servers import read_all
from tables import assert_same, write_ipc


@pytest.mark.long
@pytest.mark.timeout(900)
def test_a_column_chunk_over_two_gibibytes_is_streamed_within_bounded_memory(serve, data):
    """7973: index overflow decoding byte array"""
    one, blocks = pa.array([b"0" * 5_068_563] * 10, pa.binary()), 50
    table = pa.table({"html": pa.chunked_array([one] * blocks)})
    with pq.ParquetWriter(data / "big.parquet", table.schema, compression="zstd",
                          use_dictionary=False, data_page_size=1 << 20) as writer:
        writer.write_table(table, row_group_size=500)
    server = serve(data)
    rows = most = 0
    for chunk in server.client().do_get(server.info("big").endpoints[0].ticket):
        lengths = pc.unique(pc.binary_length(chunk.data.column(0)))
        assert lengths.to_pylist() == [5_068_563]
        rows += chunk.data.num_rows
        most = max(most, server.memory_bytes())
    assert rows == 500
    assert most < 2 << 30, f"{most} bytes resident"


@pytest.mark.parametrize("codec", ["none", "snappy", "gzip", "brotli", "zstd", "lz4"])
@pytest.mark.parametrize("page_version", ["1.0", "2.0"])
def test_every_codec_and_page_version_is_read(serve, data, codec, page_version):
    """2988, 7388"""
    rows = 5_000
    table = pa.table({"i": pa.array(range(rows), pa.int64()),
                      "s": [f"s{i % 97}" for i in range(rows)],
                      "f": [None if i % 5 == 0 else i / 3 for i in range(rows)]})
    for name, statistics in (("a", True), ("b", False)):
        pq.write_table(table, data / f"{name}.parquet", compression=codec, row_group_size=1_777,
                       data_page_version=page_version, write_statistics=statistics)
    server = serve(data)
    for name in ("a", "b"):
        assert_same(server.get(name), table)
    assert_same(server.command(dataset="a", offset=1_700, limit=200), table.slice(1_700, 200))


def test_a_page_without_a_value_is_read(serve, data):
    """7388: nothing to unpack in a page of nulls"""
    table = pa.table({"n": pa.nulls(3_000, pa.int64()), "s": pa.nulls(3_000, pa.string())})
    for codec in ("snappy", "zstd", "gzip"):
        pq.write_table(table, data / f"{codec}.parquet", compression=codec,
                       data_page_version="2.0", use_dictionary=False)
    server = serve(data)
    for name in ("snappy", "zstd", "gzip"):
        assert_same(server.get(name), table)


def test_a_list_that_goes_on_over_a_page_border_is_whole(serve, data):
    """10243: Not all children array length are the same!"""
    over = [([1, 2], [0, 1], 1), ([3, 4, 5, 6], [1, 1, 0, 1], 1)]
    single = [([10, 20, 30], [0, 0, 1], 2)]
    write_lists(data / "two.parquet", {b"c1": over, b"c2": single}, rows=2)
    write_lists(data / "one.parquet", {b"c1": over}, rows=2)
    server = serve(data)
    c1, c2 = [[1, 2, 3, 4], [5, 6]], [[10], [20, 30]]
    assert pq.read_table(data / "two.parquet").to_pydict() == {"c1": c1, "c2": c2}
    assert server.get("two").to_pydict() == {"c1": c1, "c2": c2}
    assert server.get("one").to_pydict() == {"c1": c1}
    for column, want in (("c1", c1), ("c2", c2)):
        assert server.command(dataset="two", columns=[column]).to_pydict() == {column: want}


ODD_NAMES = ["", "a.b", "a", "aa", "名前", "sp ace", "q\"uo'te", "a/b", "\U0001f680", "A"]


@pytest.mark.parametrize("extension", ["feather", "parquet"])
def test_columns_of_any_name_are_kept_and_picked_exactly(serve, data, extension):
    """8443, datafusion#24381"""
    table = pa.table([pa.array([i, i * 10]) for i in range(len(ODD_NAMES))], names=ODD_NAMES)
    file = data / f"odd.{extension}"
    pq.write_table(table, file) if extension == "parquet" else write_ipc(file, table)
    server = serve(data)
    assert_same(server.get("odd"), table)
    for index, name in enumerate(ODD_NAMES):
        got = server.command(dataset="odd", columns=[name])
        assert got.column_names == [name]
        assert got.column(0).to_pylist() == [index, index * 10], name
    with pytest.raises(pa.ArrowInvalid, match="b"):
        server.command(dataset="odd", columns=["b"])


@pytest.mark.parametrize("extension", ["feather", "parquet"])
def test_columns_of_the_same_name_are_all_there_and_told_apart_by_index(serve, data, extension):
    """duckdb#13053"""
    table = pa.table([pa.array([i]) for i in range(3)], names=["id", "value", "value"])
    file = data / f"twice.{extension}"
    pq.write_table(table, file) if extension == "parquet" else write_ipc(file, table)
    server = serve(data)
    assert_same(server.get("twice"), table)
    assert server.command(dataset="twice", columns=[2]).column(0).to_pylist() == [2]
    assert server.command(dataset="twice", columns=["id"]).column(0).to_pylist() == [0]
    with pytest.raises(pa.ArrowInvalid, match="value"):
        server.command(dataset="twice", columns=["value"])


def test_files_of_any_name_are_listed_and_read(serve, data):
    names = ["pl.us name.feather", "naïve 日本.parquet", "a%20b.feather", "...arrow",
             "-dash.feather", "CON.feather", "x.tar.gz.feather", "\U0001f680.parquet"]
    table = pa.table({"x": [1, 2]})
    for name in names:
        file = data / name
        pq.write_table(table, file) if name.endswith("parquet") else write_ipc(file, table)
    server = serve(data)
    client = server.client()
    infos = list(client.list_flights())
    assert len(infos) == len(names), [info.descriptor for info in infos]
    for info in infos:
        again = client.get_flight_info(info.descriptor)
        assert_same(read_all(client, again), table, str(info.descriptor))
    for name in names:
        assert_same(server.get(name), table, name)


class LocalKeys(encryption.KmsClient):
    """Wraps keys by writing the master key before them: enough to make such files."""

    def __init__(self, config):
        super().__init__()
        self.keys = config.custom_kms_conf

    def wrap_key(self, key, master):
        return base64.b64encode(self.keys[master].encode() + key)

    def unwrap_key(self, wrapped, master):
        return base64.b64decode(wrapped)[len(self.keys[master]):]


@pytest.mark.parametrize("options", [
    {"column_keys": {"kc": ["secret"]}},
    {"column_keys": {"kc": ["secret"]}, "double_wrapping": False},
    {"column_keys": {"kc": ["secret"]}, "plaintext_footer": True},
    {"column_keys": {"kc": ["secret"]}, "encryption_algorithm": "AES_GCM_CTR_V1"},
    {"uniform_encryption": True},
], ids=["double", "single", "plaintext footer", "ctr", "uniform"])
def test_encrypted_files_are_refused_as_encrypted(serve, data, options):
    """7256, arrow#47435"""
    keys = {"kf": "0123456789012345", "kc": "1234567890123450"}
    connection = encryption.KmsConnectionConfig(custom_kms_conf=keys)
    factory = encryption.CryptoFactory(LocalKeys)
    table = pa.table({"a": [1, 2, 3], "secret": ["x", "y", "z"]})
    configuration = encryption.EncryptionConfiguration(footer_key="kf", **options)
    properties = factory.file_encryption_properties(connection, configuration)
    with pq.ParquetWriter(data / "locked.parquet", table.schema,
                          encryption_properties=properties) as writer:
        writer.write_table(table)
    write_ipc(data / "open.feather", table)
    server = serve(data)
    with raw.connect(server) as channel:
        outcome = raw.try_get(channel, "locked")
    assert outcome.fair and "encrypted" in outcome.details, outcome
    assert_same(server.get("open"), table)
    assert "open" in server.names()


def test_types_that_parquet_alone_has_are_read_as_pyarrow_reads_them(serve, data):
    rows = range(100)
    table = pa.table({
        "decimal": pa.array(rows, pa.int32()).cast(pa.decimal128(20, 3)),
        "date": pa.array(rows, pa.date32()),
        "instant": pa.array(rows, pa.timestamp("us", "UTC")),
        "naive": pa.array(rows, pa.timestamp("ms")),
        "time": pa.array(rows, pa.time64("us")),
        "code": pa.array([f"c{i % 3}" for i in rows]).dictionary_encode(),
        "nested": pa.array([{"l": [{"m": i}] * (i % 3)} for i in rows]),
        "map": pa.array([[("k", i)] for i in rows], pa.map_(pa.string(), pa.int32())),
        "large": pa.array([f"{i}" for i in rows], pa.large_string()),
        "view": pa.array([f"{i}" * 9 for i in rows], pa.string_view()),
        "fixed": pa.array([bytes([i] * 4) for i in rows], pa.binary(4)),
    })
    pq.write_table(table, data / "types.parquet", store_schema=True)
    server = serve(data)
    got = server.get("types")
    assert got.column_names == table.column_names
    for name in table.column_names:
        assert got[name].to_pylist() == table[name].to_pylist(), name


def test_an_upload_stored_as_parquet_is_readable_by_pyarrow(serve, data):
    """4459: statistics of columns of nulls"""
    table = pa.table({"n": pa.nulls(100, pa.int32()), "x": pa.array(range(100)),
                      "s": pa.array([None, "a"] * 50)})
    server = serve(data)
    client = server.client()
    server.put("x", table, client=client, format="parquet")
    assert_same(pq.read_table(data / "x.parquet"), table)
    assert_same(server.get("x"), table)
    with pytest.raises((pa.ArrowException, flight.FlightError)):
        union = pa.UnionArray.from_sparse(pa.array([0], pa.int8()), [pa.array([1])])
        server.put("u", pa.table({"u": union}), format="parquet")
    assert server.names() == ["x"]
