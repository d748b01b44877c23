"""The public files that are not served equal to what pyarrow reads, each with its reason."""

from typing import NamedTuple


class Difference(NamedTuple):
    """A part of the text of the failure, and why it is right or not ours to mend."""

    error: str
    reason: str


# What the refusal of an encrypted file says.
ENCRYPTED = "encrypted"

IPC = {}

_CHECKSUM = Difference("does not match its checksum", "the file holds a damaged page on purpose; "
                       "pyarrow does not look at checksums unless it is asked to")

PARQUET = {
    "data/datapage_v1-corrupt-checksum.parquet": _CHECKSUM,
    "data/rle-dict-uncompressed-corrupt-checksum.parquet": _CHECKSUM,
    "data/dict-page-offset-zero.parquet": Difference(
        "the file is damaged", "the parquet crate does not read its footer (a list of another "
        "element type than the format asks for); refused cleanly"),
    "data/nation.dict-malformed.parquet": Difference(
        "a page goes on beyond its column chunk", "the chunk's length leaves out the dictionary "
        "page; pyarrow guesses, the parquet crate does not"),
    "data/incorrect_map_schema.parquet": Difference(
        "Map keys must be annotated as required", "pyarrow refuses the file; it is served as the "
        "parquet crate reads it"),
    "data/large_string_map.brotli.parquet": Difference(
        "more than the limit", "4 KB that unpack to more than 2 GiB: over the bound for one page; "
        "pyarrow does not read it either"),
    "data/int96_from_spark.parquet": Difference(
        "", "it holds years beyond what 64 bits of nanoseconds reach, where pyarrow's own reading "
        "wraps; a test of its own asks for right values or a refusal"),
    "parquet/ARROW-17100.parquet": Difference(
        "two sizes", "an old writer called compressed pages uncompressed; pyarrow knows that "
        "writer by name, the parquet crate does not"),
}
