"""The public test files, served and compared with what pyarrow reads; hostile ones survived.

What is not equal stands in a table below, with its reason; an entry that no longer holds fails too.
"""

import shutil

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import fuzz_messages
import raw
from corpus_exceptions import ENCRYPTED, IPC, PARQUET
from servers import path, read_all
from tables import assert_same, assert_same_values, read_ipc, write_ipc

CONTROL = pa.table({"x": pa.array(range(1_000), pa.int64())})
LITTLE_ENDIAN = ["0.14.1", "0.17.1", "1.0.0-littleendian", "2.0.0-compression",
                 "4.0.0-shareddict", "cpp-21.0.0"]


def check_each(files, exceptions, check):
    """Runs `check` on every file; those that fail must be exactly those of `exceptions`."""
    assert files, "the corpus lacks the files"
    failed = {}
    for key, file in files.items():
        try:
            check(file)
        except Exception as error:  # Any failure is compared with the table of exceptions.
            failed[key] = f"{type(error).__name__}: {error}"
    unexpected = {key: text for key, text in failed.items()
                  if key not in exceptions or exceptions[key].error not in text}
    healed = [key for key in exceptions if key in files and key not in failed]
    report = "\n".join(f"{key}: {text[:600]}" for key, text in unexpected.items())
    assert not unexpected, f"{len(unexpected)} of {len(files)} files:\n{report}"
    assert not healed, f"these work, strike them from the table: {healed}"


def copy_golden(folder, data):
    """Copies golden IPC files under the extensions by which the server knows them."""
    extensions = {".stream": ".arrows", ".arrow_file": ".arrow"}
    files = {}
    for file in sorted(folder.iterdir()):
        if file.suffix in extensions:
            target = data / (file.stem + extensions[file.suffix])
            shutil.copyfile(file, target)
            files[f"{folder.name}/{file.name}"] = target
    return files


@pytest.mark.timeout(300)
@pytest.mark.parametrize("version", LITTLE_ENDIAN)
def test_golden_ipc_files_are_served_and_taken_as_pyarrow_reads_them(serve, data, corpus, version):
    folder = corpus / "arrow-testing/arrow-ipc-stream/integration" / version
    files = copy_golden(folder, data)
    server = serve(data)

    def check(file):
        want = read_ipc(file)
        client = server.client()
        info = client.get_flight_info(path(file.name))
        assert info.schema.equals(want.schema, check_metadata=True)
        assert client.get_schema(path(file.name)).schema.equals(want.schema, check_metadata=True)
        assert info.total_records in (-1, want.num_rows)
        assert_same(read_all(client, info), want, file.name)
        server.put(f"sent/{file.name}-again", want.to_batches(), want.schema)
        assert_same(server.get(f"sent/{file.name}-again"), want, f"{file.name}, uploaded")

    check_each(files, IPC, check)


def test_big_endian_files_are_refused_as_such(serve, data, corpus):
    folder = corpus / "arrow-testing/arrow-ipc-stream/integration/1.0.0-bigendian"
    files = copy_golden(folder, data)
    assert files
    server = serve(data)
    with raw.connect(server) as channel:
        for key, file in files.items():
            outcome = raw.try_get(channel, file.name)
            assert outcome.fair and "endian" in outcome.details, f"{key}: {outcome}"


def test_a_file_of_a_later_format_is_refused(serve, data, corpus):
    shutil.copyfile(corpus / "arrow-testing/forward-compatibility/schema_v6.arrow",
                    data / "later.arrow")
    server = serve(data)
    with raw.connect(server) as channel:
        outcome = raw.try_get(channel, "later")
    assert outcome.code and outcome.fair, outcome


def test_real_feather_of_the_first_version_is_refused_with_the_way_to_convert_it(
        serve, data, corpus):
    for file in (corpus / "feather-v1").glob("*.feather"):
        shutil.copyfile(file, data / file.name)
    write_ipc(data / "control.feather", CONTROL)
    server = serve(data)
    with raw.connect(server) as channel:
        for name in ("iris", "mtcars"):
            outcome = raw.try_get(channel, name)
            assert outcome.fair and "Feather V1" in outcome.details, f"{name}: {outcome}"
    assert_same(server.get("control"), CONTROL)


def parquet_files(corpus):
    roots = [corpus / "parquet-testing/data", corpus / "parquet-testing/shredded_variant",
             corpus / "arrow-testing/parquet"]
    for root in roots:
        for file in sorted(root.rglob("*.parquet")):
            yield f"{root.name}/{file.relative_to(root)}", file


@pytest.mark.timeout(600)
def test_parquet_files_have_the_values_that_pyarrow_reads(serve, data, corpus):
    files = {}
    for key, file in parquet_files(corpus):
        target = data / key
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(file, target)
        files[key] = target
    server = serve(data)

    def check(file):
        got = server.get(str(file.relative_to(data)))
        want = pq.ParquetFile(file).read()
        assert want.column_names == got.column_names
        columns = [column.cast(field.type) if column.type != field.type else column
                   for column, field in zip(want.columns, got.schema)]
        assert_same_values(got, pa.table(columns, schema=got.schema), file.name)

    check_each(files, PARQUET, check)


def test_instants_of_96_bits_are_right_or_refused(serve, data, corpus):
    name = "int96_from_spark.parquet"
    shutil.copyfile(corpus / "parquet-testing/data" / name, data / name)
    want = pq.ParquetFile(data / name, coerce_int96_timestamp_unit="us").read()
    with raw.connect(serve(data)) as channel:
        outcome = raw.try_get(channel, name)
    if outcome.code is None:
        got = serve(data).get(name)["a"].cast(want.schema.field("a").type, safe=False)
        assert got.equals(want["a"])
    else:
        assert outcome.fair and '"a"' in outcome.details, outcome


def test_encrypted_parquet_files_are_refused_as_encrypted(serve, data, corpus):
    files = sorted((corpus / "parquet-testing/data").rglob("*.parquet.encrypted"))
    assert files
    for number, file in enumerate(files):
        shutil.copyfile(file, data / f"{number}.parquet")
    server = serve(data)
    with raw.connect(server) as channel:
        for number, file in enumerate(files):
            outcome = raw.try_get(channel, str(number))
            assert outcome.fair and ENCRYPTED in outcome.details, f"{file.name}: {outcome}"


HOSTILE = {
    "arrow-testing/arrow-ipc-stream": ("arrows", "[cC]*"),
    "arrow-testing/arrow-ipc-file": ("arrow", "*"),
    "arrow-testing/arrow-ipc-tensor-stream": ("arrows", "*"),
    "arrow-testing/parquet/fuzzing": ("parquet", "*"),
    "arrow-testing/parquet/encoding-fuzzing": ("parquet", "*"),
    "parquet-testing/bad_data": ("parquet", "*.parquet"),
}


@pytest.mark.timeout(900)
@pytest.mark.parametrize("folder", list(HOSTILE))
def test_hostile_files_are_served_and_sent_without_harm(serve, data, corpus, folder):
    extension, pattern = HOSTILE[folder]
    sources = sorted(file for file in (corpus / folder).rglob(pattern) if file.is_file())
    assert sources
    for number, file in enumerate(sources):
        shutil.copyfile(file, data / f"{number}.{extension}")
    write_ipc(data / "control.feather", CONTROL)
    server = serve(data)
    before = server.memory_bytes()
    unfair = []
    with raw.connect(server) as channel:
        for number, file in enumerate(sources):
            outcome = raw.try_get(channel, f"{number}.{extension}", timeout=30)
            if not outcome.fair:
                unfair.append(f"{file.name} served: {outcome}")
            if extension != "parquet":
                outcome = send(channel, file.read_bytes(), f"sent-{number}")
                if not outcome.fair:
                    unfair.append(f"{file.name} sent: {outcome}")
            assert server.running(), file.name
            assert_same(server.get("control"), CONTROL, f"after {file.name}")
    assert not unfair, "\n".join(unfair)
    grown = server.memory_bytes() - before
    assert grown < 256 << 20, f"{grown} bytes more than at the start"
    assert "control" in server.names()


def send(channel, content, name):
    try:
        answers = raw.do_put(channel, fuzz_messages.messages(content, name))
        return raw.Outcome(sum(map(len, answers)))
    except raw.grpc.RpcError as error:
        return raw.Outcome(0, error.code().name, error.details() or "")


@pytest.mark.timeout(300)
@pytest.mark.parametrize("secure", [False, True], ids=["plain", "tls"])
def test_real_datasets_are_listed_read_and_uploaded_again(serve, data, corpus, certs, secure):
    names = ["flights-3m.parquet", "flights-200k.arrow", "yellow_tripdata_sample.parquet"]
    for name in names:
        shutil.copyfile(corpus / "real" / name, data / name)
    arguments = ["--tls-cert", certs / "server-ec.pem", "--tls-key", certs / "server-ec.key"]
    server = serve(data, *arguments, listen="grpc+tls://127.0.0.1:0") if secure else serve(data)
    options = {"tls_root_certs": (certs / "ca.pem").read_bytes()} if secure else {}
    client = server.client(**options)
    listed = {info.descriptor.path[-1].decode(): info for info in client.list_flights()}
    assert sorted(listed) == sorted(name.rsplit(".", 1)[0] for name in names)
    for name in names:
        file = data / name
        want = pq.read_table(file) if name.endswith("parquet") else read_ipc(file)
        stem = name.rsplit(".", 1)[0]
        assert listed[stem].total_records in (-1, want.num_rows)
        got = read_all(client, client.get_flight_info(path(stem)))
        assert_same_values(got, want.cast(got.schema), name)
        batches = got.to_batches(max_chunksize=65_536)
        assert server.put(f"again/{stem}", batches, client=client)["rows"] == want.num_rows
        assert_same(read_all(client, client.get_flight_info(path(f"again/{stem}"))), got, name)
