//! What a file holds, to be told from what it held before.
//!
//! By content and not by events or times of change: a mounted secret gives no events, a symbolic
//! link that is swapped changes no file, and a copy may keep its times.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use aws_lc_rs::digest::{SHA256, SHA256_OUTPUT_LEN, digest};

use crate::limits::PEM_FILE_BYTES_MAX;

/// The content of a file at one moment. Equal where the bytes are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Content(Result<[u8; SHA256_OUTPUT_LEN], io::ErrorKind>);

impl Content {
    /// Reads `file`, which blocks. That it cannot be read is a content too. Of a file larger than
    /// [`PEM_FILE_BYTES_MAX`], which is no PEM file for us, as much is read.
    pub fn of(file: &Path) -> Self {
        let mut bytes = Vec::new();
        let read = File::open(file)
            .and_then(|opened| opened.take(PEM_FILE_BYTES_MAX + 1).read_to_end(&mut bytes));
        Self(read.map_err(|error| error.kind()).map(|_| {
            let mut sum = [0; SHA256_OUTPUT_LEN];
            sum.copy_from_slice(digest(&SHA256, &bytes).as_ref());
            sum
        }))
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn files_are_told_apart_by_what_they_hold() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, bytes: &[u8]| {
            let file = folder.path().join(name);
            fs::write(&file, bytes).unwrap();
            Content::of(&file)
        };
        let (one, same, other) = (write("a", b"1"), write("b", b"1"), write("c", b"2"));
        assert_eq!(one, same);
        assert_ne!(one, other);
        let missing = Content::of(&folder.path().join("none"));
        assert_ne!(missing, write("empty", b""));
        assert_eq!(missing, Content::of(&folder.path().join("neither")));
        assert_ne!(missing, Content::of(folder.path()), "a folder is no missing file");
    }

    #[test]
    fn a_file_without_end_is_read_in_part() {
        assert_eq!(Content::of(Path::new("/dev/zero")), Content::of(Path::new("/dev/zero")));
    }
}
