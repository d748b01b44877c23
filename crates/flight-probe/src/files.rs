//! Files of the kernel, below a root that tests replace. What cannot be read is absent.

use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use procfs::{FromRead, ProcResult};

use crate::limits::FILE_BYTES_MAX;

/// Where `/proc` and `/sys` are.
#[derive(Debug, Clone)]
pub(crate) struct Files {
    root: PathBuf,
}

impl Files {
    pub(crate) fn of_this_host() -> Self {
        Self { root: PathBuf::from("/") }
    }

    #[cfg(test)]
    pub(crate) fn below(root: &Path) -> Self {
        Self { root: root.to_owned() }
    }

    /// The whole file, up to the limit.
    pub(crate) fn text(&self, path: impl AsRef<Path>) -> Option<String> {
        let mut text = String::new();
        let file = File::open(self.at(path.as_ref())).ok()?;
        file.take(FILE_BYTES_MAX).read_to_string(&mut text).ok()?;
        Some(text)
    }

    /// The file without the space around it; absent where nothing is left.
    pub(crate) fn line(&self, path: impl AsRef<Path>) -> Option<String> {
        let text = self.text(path)?;
        Some(text.trim().to_owned()).filter(|line| !line.is_empty())
    }

    /// A file that holds one value.
    pub(crate) fn value<T: FromStr>(&self, path: impl AsRef<Path>) -> Option<T> {
        self.line(path)?.parse().ok()
    }

    /// A file that holds 0 or 1.
    pub(crate) fn switch(&self, path: impl AsRef<Path>) -> Option<bool> {
        self.value::<u8>(path).map(|value| value != 0)
    }

    /// A file that holds `N` numbers between spaces.
    pub(crate) fn numbers<const N: usize>(&self, path: impl AsRef<Path>) -> Option<[u64; N]> {
        let line = self.line(path)?;
        let numbers: Result<Vec<u64>, _> = line.split_whitespace().map(str::parse).collect();
        numbers.ok()?.try_into().ok()
    }

    /// A table of `/proc` as its type.
    pub(crate) fn table<T: FromRead>(&self, path: impl AsRef<Path>) -> Option<T> {
        parsed(self.text(path)?.as_bytes())
    }

    /// Names in a folder, sorted; none where it cannot be read.
    pub(crate) fn names(&self, path: impl AsRef<Path>) -> Option<Vec<String>> {
        let entries = fs::read_dir(self.at(path.as_ref())).ok()?.flatten();
        let mut names: Vec<String> =
            entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        Some(names)
    }

    fn at(&self, path: &Path) -> PathBuf {
        self.root.join(path.strip_prefix("/").unwrap_or(path))
    }
}

fn parsed<T: FromRead>(text: &[u8]) -> Option<T> {
    let table: ProcResult<T> = T::from_read(text);
    table.ok()
}
