//! Why a file could not be read or written, in sentences that a client may see.
//!
//! No text holds a path (the caller knows the dataset's name), a panic's message or a stack trace,
//! and all are below 1 KiB: what varies in them is cut to [`TEXT_BYTES_MAX`] and
//! [`COLUMN_BYTES_MAX`]. A cause is part of the text and no `source()`, so that whoever prints the
//! chain prints it once.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

use arrow_schema::ArrowError;
use flight_wire::DecodeError;
use flight_wire::guard::GuardError;
use parquet::errors::ParquetError;

/// Bytes of a foreign error's text that are passed on.
const TEXT_BYTES_MAX: usize = 400;
/// Bytes of a column's name that are shown. Quoting may make five of one.
const COLUMN_BYTES_MAX: usize = 96;
const _: () = assert!(TEXT_BYTES_MAX + 5 * COLUMN_BYTES_MAX < 960, "a text is below 1 KiB");

/// Why a file could not be read or written.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// The disk's or the operating system's fault.
    #[error("the disk did not do as asked: {0}")]
    Io(std::io::Error),
    /// The file's fault: it contradicts its format or itself, in this column if it can be told.
    #[error("the file is damaged: {}{what}", prefix(.column.as_deref()))]
    Damaged { what: String, column: Option<String> },
    /// Someone wrote to the file after it was opened.
    #[error("the file changed while it was read; ask for it again to get its new version")]
    Changed,
    #[error(
        "the file is Feather V1, which is not read; convert it with Python: \
         pyarrow.feather.write_feather(pyarrow.feather.read_table(OLD), NEW, version=2)"
    )]
    FeatherV1,
    #[error("the file is encrypted Parquet, which is not read; write it again unencrypted")]
    Encrypted,
    /// The file or batch is fine, but something in it has no reader or writer here.
    #[error("{}{what}", prefix(.column.as_deref()))]
    NotSupported { what: String, column: Option<String> },
    /// A claim of the file, or what it would unpack to, passes a limit of this crate.
    #[error(
        "{}{limit} would be {value}, more than the limit of {max}",
        prefix(.column.as_deref())
    )]
    TooLarge { limit: &'static str, value: u64, max: u64, column: Option<String> },
    /// The caller's fault: a column that is not there, a batch of another schema.
    #[error("{what}")]
    Invalid { what: String },
}

fn prefix(column: Option<&str>) -> String {
    column.map(|name| format!("column {:?}: ", cut(name, COLUMN_BYTES_MAX))).unwrap_or_default()
}

impl FileError {
    pub(crate) fn damaged(what: impl Into<String>) -> Self {
        Self::Damaged { what: one_line(&what.into()), column: None }
    }

    pub(crate) fn invalid(what: impl Into<String>) -> Self {
        Self::Invalid { what: one_line(&what.into()) }
    }

    pub(crate) fn not_supported(what: impl Into<String>) -> Self {
        Self::NotSupported { what: one_line(&what.into()), column: None }
    }

    pub(crate) fn column_not_supported(column: &str, what: impl Into<String>) -> Self {
        Self::NotSupported { what: one_line(&what.into()), column: Some(column.to_owned()) }
    }

    /// The same error, said of a column unless it names one already.
    pub(crate) fn in_column(mut self, name: &str) -> Self {
        if let Self::Damaged { column, .. }
        | Self::NotSupported { column, .. }
        | Self::TooLarge { column, .. } = &mut self
        {
            column.get_or_insert_with(|| name.to_owned());
        }
        self
    }
}

/// Fails when `value` passes `max`, the limit called `limit`.
pub(crate) fn within(limit: &'static str, value: u64, max: u64) -> Result<(), FileError> {
    if value > max {
        return Err(FileError::TooLarge { limit, value, max, column: None });
    }
    Ok(())
}

// Not thiserror's `#[from]`, which would make it a source.
impl From<std::io::Error> for FileError {
    fn from(error: std::io::Error) -> Self {
        Self::Io(error)
    }
}

impl From<DecodeError> for FileError {
    fn from(error: DecodeError) -> Self {
        match error {
            DecodeError::Guard(GuardError::Limit { name, value, max, .. }) => {
                Self::TooLarge { limit: name, value, max, column: None }
            }
            DecodeError::Guard(
                GuardError::BigEndian | GuardError::Kind(_) | GuardError::Version(_),
            ) => Self::not_supported(error.to_string()),
            DecodeError::UnionNulls { .. } => Self::not_supported(error.to_string()),
            other => Self::damaged(other.to_string()),
        }
    }
}

/// What the Parquet reader says about bytes that it was given.
pub(crate) fn parquet_damage(error: &ParquetError) -> FileError {
    match error {
        ParquetError::NYI(what) => FileError::not_supported(what),
        ParquetError::General(what) | ParquetError::EOF(what) => FileError::damaged(what),
        other => FileError::damaged(other.to_string()),
    }
}

/// Like [`parquet_damage`], where that reader has made an Arrow error of it.
pub(crate) fn arrow_damage(error: &ArrowError) -> FileError {
    let text = error.to_string();
    let what = text.trim_start_matches("Parquet argument error: ");
    FileError::damaged(what.trim_start_matches("Parquet error: "))
}

/// What a writer says about a batch; the disk's own errors stay what they are.
pub(crate) fn arrow_write(error: ArrowError) -> FileError {
    match error {
        ArrowError::IoError(_, error) => FileError::Io(error),
        other => FileError::not_supported(other.to_string()),
    }
}

/// Like [`arrow_write`], for the Parquet writer.
pub(crate) fn parquet_write(error: ParquetError) -> FileError {
    match error {
        ParquetError::External(source) => match source.downcast::<std::io::Error>() {
            Ok(error) => FileError::Io(*error),
            Err(other) => FileError::not_supported(other.to_string()),
        },
        other => FileError::not_supported(other.to_string()),
    }
}

/// Runs a decoder or encoder of another crate, some of which answer malformed input with a panic.
pub(crate) fn unwinding<T>(work: impl FnOnce() -> T) -> Result<T, Box<dyn Any + Send>> {
    // What the closure borrows is dropped, not used, after a panic.
    catch_unwind(AssertUnwindSafe(work))
}

fn one_line(text: &str) -> String {
    cut(text.lines().next().unwrap_or_default(), TEXT_BYTES_MAX).to_owned()
}

/// The characters of `text` that fit into `bytes`.
fn cut(text: &str, bytes: usize) -> &str {
    let end = text.char_indices().map(|(at, c)| at + c.len_utf8()).take_while(|end| *end <= bytes);
    &text[..end.last().unwrap_or(0)]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(error: &FileError, expected: &str) {
        let text = error.to_string();
        assert!(text.contains(expected), "{text:?} lacks {expected:?}");
        assert!(text.len() < 1024, "{} bytes", text.len());
    }

    #[test]
    fn a_column_is_named() {
        check(&FileError::column_not_supported("a.b", "no"), "column \"a.b\": no");
        check(&FileError::damaged("no").in_column("a"), "the file is damaged: column \"a\": no");
        check(&within("x", 7, 5).unwrap_err().in_column("a"), "column \"a\": x would be 7");
        check(&FileError::damaged("no").in_column("a").in_column("b"), "column \"a\": no");
        check(&FileError::Changed.in_column("a"), "the file changed");
    }

    #[test]
    fn a_cause_is_told_in_the_text_and_not_in_the_chain() {
        let error = FileError::from(std::io::Error::other("no disk"));
        check(&error, "the disk did not do as asked: no disk");
        assert!(std::error::Error::source(&error).is_none());
    }

    #[test]
    fn foreign_texts_are_cut_to_one_line() {
        check(&FileError::damaged("x\n".repeat(5000)), "the file is damaged: x");
        check(&FileError::damaged("y".repeat(5000)), "yyy");
        check(&FileError::column_not_supported(&"c".repeat(5000), "no"), "ccc");
        // Long in bytes, or once they are quoted.
        let worst =
            |text: &str| FileError::damaged(text.repeat(5000)).in_column(&text.repeat(5000));
        for text in ["\u{1}", "\u{1F980}", "\"", "\u{e0001}", "'"] {
            check(&worst(text), "the file is damaged: column");
        }
    }

    #[test]
    fn a_full_disk_stays_an_error_of_the_disk() {
        let full = || std::io::Error::from(std::io::ErrorKind::StorageFull);
        let wrapped = ParquetError::External(Box::new(full()));
        assert!(matches!(parquet_write(wrapped), FileError::Io(_)));
        assert!(matches!(arrow_write(full().into()), FileError::Io(_)));
    }

    #[test]
    fn a_limit_says_value_and_bound() {
        check(
            &within("columns", 7, 5).unwrap_err(),
            "columns would be 7, more than the limit of 5",
        );
        assert!(within("columns", 5, 5).is_ok());
    }
}
