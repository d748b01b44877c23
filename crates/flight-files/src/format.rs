//! The formats and codecs of dataset files.

use std::path::Path;

/// Key of the footer of a Feather file that names what wrote it; Parquet's footers have a field of
/// that name.
pub(crate) const CREATED_BY: &str = "created_by";
/// What the name of this library begins with, as Parquet's convention is.
const WRITER: &str = "flight-files version ";

/// What new Feather files name as their writer.
pub(crate) fn created_by() -> String {
    format!("{WRITER}{}", env!("CARGO_PKG_VERSION"))
}

/// Whether a name of a writer is that of this library, in any version.
pub(crate) fn is_this_library(writer: &str) -> bool {
    writer.starts_with(WRITER)
}

/// How a dataset is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Format {
    /// Feather V2, which is the Arrow IPC file format.
    Feather,
    /// The Arrow IPC stream format.
    Stream,
    Parquet,
}

impl Format {
    /// The format that the extension of `path` names, in lower case as it is written everywhere.
    pub fn of_path(path: &Path) -> Option<Self> {
        match path.extension()?.to_str()? {
            "feather" | "arrow" | "ipc" => Some(Self::Feather),
            "arrows" => Some(Self::Stream),
            "parquet" => Some(Self::Parquet),
            _ => None,
        }
    }

    /// The extension of new files of this format, without a dot.
    pub fn extension(self) -> &'static str {
        match self {
            Self::Feather => "feather",
            Self::Stream => "arrows",
            Self::Parquet => "parquet",
        }
    }
}

/// How the buffers or pages of a new file are compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Codec {
    None,
    /// LZ4 frames in Feather, raw LZ4 blocks in Parquet.
    Lz4,
    /// At level 1.
    Zstd,
    /// Parquet only.
    Snappy,
    /// Parquet only.
    Gzip,
    /// Parquet only.
    Brotli,
}

impl Codec {
    /// What a file of this format is compressed with unless the client asks otherwise: Feather is
    /// for speed, Parquet for size.
    pub fn default_of(format: Format) -> Self {
        match format {
            Format::Feather | Format::Stream => Self::None,
            Format::Parquet => Self::Zstd,
        }
    }

    /// The name by which clients ask for it.
    pub fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Lz4 => "lz4",
            Self::Zstd => "zstd",
            Self::Snappy => "snappy",
            Self::Gzip => "gzip",
            Self::Brotli => "brotli",
        }
    }

    /// The codec of this name.
    pub fn of_name(name: &str) -> Option<Self> {
        let all = [Self::None, Self::Lz4, Self::Zstd, Self::Snappy, Self::Gzip, Self::Brotli];
        all.into_iter().find(|codec| codec.name() == name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(path: &str, expected: Option<Format>) {
        assert_eq!(Format::of_path(Path::new(path)), expected, "{path}");
    }

    #[test]
    fn the_extension_names_the_format() {
        check("a/b.feather", Some(Format::Feather));
        check("b.arrow", Some(Format::Feather));
        check("b.ipc", Some(Format::Feather));
        check("日本.v2.arrows", Some(Format::Stream));
        check("...parquet", Some(Format::Parquet));
        check("parquet", None);
        check(".parquet", None);
        check("b.PARQUET", None);
        check("b.csv", None);
    }

    #[test]
    fn every_format_has_the_extension_that_names_it() {
        for format in [Format::Feather, Format::Stream, Format::Parquet] {
            check(&format!("x.{}", format.extension()), Some(format));
        }
    }

    #[test]
    fn codecs_are_found_by_name() {
        assert_eq!(Codec::of_name("zstd"), Some(Codec::Zstd));
        assert_eq!(Codec::of_name("lzo"), None);
        assert_eq!(Codec::default_of(Format::Feather), Codec::None);
    }
}
