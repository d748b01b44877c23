//! Which file names are datasets.

use flight_files::Format;

/// The extensions of dataset files, in the order in which candidates are named.
const EXTENSIONS: [(&str, Format); 5] = [
    ("arrow", Format::Feather),
    ("arrows", Format::Stream),
    ("feather", Format::Feather),
    ("ipc", Format::Feather),
    ("parquet", Format::Parquet),
];

/// The path without its extension, and the extension; `None` where the path has none of a dataset.
pub(crate) fn split(path: &str) -> Option<(&str, &str)> {
    let (bare, extension) = path.rsplit_once('.')?;
    let named = !bare.is_empty() && !bare.ends_with('/');
    (named && format_of(extension).is_some()).then_some((bare, extension))
}

/// The format of a file with this extension.
pub(crate) fn format_of(extension: &str) -> Option<Format> {
    EXTENSIONS.iter().find(|(known, _)| *known == extension).map(|(_, format)| *format)
}

/// The paths that a name without extension may stand for.
pub(crate) fn candidates(bare: &str) -> impl Iterator<Item = String> {
    EXTENSIONS.iter().map(move |(extension, _)| format!("{bare}.{extension}"))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    fn check(path: &str, want: Option<(&str, &str)>) {
        assert_eq!(split(path), want, "{path}");
        if let Some((_, extension)) = want {
            assert_eq!(Format::of_path(Path::new(path)), format_of(extension), "{path}");
        }
    }

    #[test]
    fn the_last_extension_counts_and_a_bare_one_is_none() {
        check("a.feather", Some(("a", "feather")));
        check("a/b.c.parquet", Some(("a/b.c", "parquet")));
        check("a.arrow", Some(("a", "arrow")));
        check("a.ipc", Some(("a", "ipc")));
        check("a.arrows", Some(("a", "arrows")));
        check("..feather", Some((".", "feather")));
        for none in ["a", "a.csv", ".feather", "a/.parquet", "a.", "a.parquet/b", "a.PARQUET", ""] {
            check(none, None);
        }
    }
}
