"""The public files that are not served equal to what pyarrow reads, each with its reason."""

from typing import NamedTuple


class Exception_(NamedTuple):
    """A part of the text of the failure, and why it is right or not ours to mend."""

    error: str
    reason: str


# What the refusal of an encrypted file says.
ENCRYPTED = "encrypted"

IPC = {}

PARQUET = {}
