"""Reads dataset files with pyarrow alone, writes them, and compares tables to the last bit."""

import pyarrow as pa
import pyarrow.ipc as ipc


def read_ipc(file):
    """The file's rows as pyarrow reads them, schema metadata included."""
    with pa.memory_map(str(file)) as source:
        if source.read(6) == b"ARROW1":
            return ipc.open_file(source).read_all()
        source.seek(0)
        return ipc.open_stream(source).read_all()


def write_ipc(file, batches, schema=None, options=None):
    """Writes batches as a Feather file, or as a stream where the name ends in `.arrows`."""
    batches = list(batches.to_batches() if isinstance(batches, pa.Table) else batches)
    make = ipc.new_stream if str(file).endswith(".arrows") else ipc.new_file
    with pa.OSFile(str(file), "wb") as sink:
        with make(sink, schema or batches[0].schema, options=options) as writer:
            for batch in batches:
                writer.write_batch(batch)


def assert_same(got, want, what=""):
    """Schema with all metadata, rows and values are equal; chunks may differ."""
    assert got.schema.equals(want.schema, check_metadata=True), \
        f"{what}: schema\n{got.schema.to_string()}\nin place of\n{want.schema.to_string()}"
    assert_same_values(got, want, what)


def assert_same_values(got, want, what=""):
    assert got.num_rows == want.num_rows, f"{what}: {got.num_rows} rows, not {want.num_rows}"
    assert got.num_columns == want.num_columns, what
    for index, name in enumerate(want.column_names):
        left, right = got.column(index), want.column(index)
        if not left.equals(right):
            # Equal values may sit in other dictionaries or other runs, and NaN is not NaN to
            # `equals`; the decoded texts are compared before this counts as a difference.
            assert_same_texts(left, right, f"{what}: column {index} {name!r}")


def assert_same_texts(left, right, what):
    left, right = _texts(left), _texts(right)
    for row, (one, other) in enumerate(zip(left, right, strict=True)):
        assert one == other, f"{what}, row {row}: {one} in place of {other}"


def _texts(column):
    # Nanoseconds have no Python type; their count says the same.
    if pa.types.is_temporal(column.type) and not pa.types.is_interval(column.type):
        column = column.cast(pa.int64() if column.type.bit_width == 64 else pa.int32())
    return [repr(value) for value in column.to_pylist()]
