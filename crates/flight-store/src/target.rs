//! Which file an upload goes to.
//!
//! Uploads keep one file for each name. The extension comes from the name, else from the file
//! that is there, else from the stated format, else it is `.feather`.

use flight_files::Format;

use crate::error::StoreError;
use crate::extension;
use crate::limits::COMPONENT_BYTES_MAX;
use crate::name::{DatasetName, shown};
use crate::root::{Found, Root, prefixes, split};
use crate::upload::Mode;

/// The file that an upload will be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Target {
    /// Path below the root, with the extension.
    pub(crate) path: String,
    /// The same without extension: what may exist once only.
    pub(crate) bare: String,
    pub(crate) format: Format,
    /// Whether any file has that bare name.
    pub(crate) exists: bool,
}

/// Finds the target of an upload to `name`, of which the format may be stated.
pub(crate) fn find(
    root: &Root,
    name: &DatasetName,
    stated: Option<Format>,
    mode: Mode,
) -> Result<Target, StoreError> {
    let (bare, extension) = parse(root, name)?;
    if stated == Some(Format::Stream) || extension == Some("arrows") {
        return Err(stream_refused(name));
    }
    let of_extension = extension.and_then(extension::format_of);
    if let (Some(stated), Some(named)) = (stated, of_extension)
        && stated != named
    {
        let reason = format!(
            "format {} contradicts the extension of the name; leave one of them out",
            word(stated)
        );
        return Err(StoreError::bad_upload(name, reason));
    }
    let existing = existing(root, name, bare)?;
    let path = match choose(name, bare, extension, stated, &existing) {
        // Why a file that is there cannot be replaced does not matter to who wants a new one.
        Err(_) if mode == Mode::Create && !existing.is_empty() => {
            return Err(StoreError::AlreadyExists { name: shown(name.as_str()) });
        }
        chosen => chosen?,
    };
    check_place(root, name, &path)?;
    let format = extension::split(&path)
        .and_then(|(_, extension)| extension::format_of(extension))
        .expect("the path was made with an extension of the table");
    Ok(Target { bare: bare.to_owned(), format, exists: !existing.is_empty(), path })
}

/// The files that a name without extension stands for.
pub(crate) fn existing(
    root: &Root,
    name: &DatasetName,
    bare: &str,
) -> Result<Vec<String>, StoreError> {
    let mut existing = Vec::new();
    for candidate in extension::candidates(bare) {
        let found = root.look(&candidate).map_err(StoreError::io(name, "looking for its file"))?;
        if matches!(found, Found::File(_)) {
            existing.push(candidate);
        }
    }
    Ok(existing)
}

/// The name without extension, and the extension that it states. A name that looks as if it had
/// one may be the bare name of a file with two: `a.feather` of `a.feather.parquet`.
fn parse<'a>(root: &Root, name: &'a DatasetName) -> Result<(&'a str, Option<&'a str>), StoreError> {
    let Some((bare, extension)) = extension::split(name.as_str()) else {
        return Ok((name.as_str(), None));
    };
    let exact = root.look(name.as_str()).map_err(StoreError::io(name, "looking for its file"))?;
    if !matches!(exact, Found::File(_)) && !existing(root, name, name.as_str())?.is_empty() {
        return Ok((name.as_str(), None));
    }
    Ok((bare, Some(extension)))
}

fn choose(
    name: &DatasetName,
    bare: &str,
    extension: Option<&str>,
    stated: Option<Format>,
    existing: &[String],
) -> Result<String, StoreError> {
    match (existing, extension) {
        ([], _) => {
            let extension =
                extension.unwrap_or_else(|| stated.unwrap_or(Format::Feather).extension());
            Ok(format!("{bare}.{extension}"))
        }
        ([only], None) => keep(name, only, stated),
        ([..], Some(extension)) => {
            let path = format!("{bare}.{extension}");
            if existing.contains(&path) { Ok(path) } else { Err(stored_otherwise(name, existing)) }
        }
        ([..], None) => Err(ambiguous(name, existing)),
    }
}

/// The one file there is stays the one file, whatever its extension.
fn keep(name: &DatasetName, only: &str, stated: Option<Format>) -> Result<String, StoreError> {
    let format = extension::split(only).and_then(|(_, extension)| extension::format_of(extension));
    if stated.is_some() && stated != format {
        return Err(stored_otherwise(name, &[only.to_owned()]));
    }
    if format == Some(Format::Stream) {
        return Err(stream_refused(name));
    }
    Ok(only.to_owned())
}

/// Refuses early what the rename at the end would stumble over, or silently replace.
fn check_place(root: &Root, name: &DatasetName, path: &str) -> Result<(), StoreError> {
    let (folder, file) = split(path);
    if file.len() > COMPONENT_BYTES_MAX {
        let reason = format!(
            "is too long: its file \"{}\" would have {} bytes, more than {COMPONENT_BYTES_MAX}",
            shown(file),
            file.len()
        );
        return Err(StoreError::BadName { name: shown(name.as_str()), reason });
    }
    let look = |path: &str| root.look(path).map_err(StoreError::io(name, "looking for its place"));
    let Found::Folder((device, _)) = look(".")? else {
        return Err(StoreError::conflict(name, "the data folder is gone".to_owned()));
    };
    for prefix in prefixes(folder) {
        let reason = match look(prefix)? {
            Found::Folder((other, _)) if other != device => {
                return Err(other_file_system(name, prefix));
            }
            Found::Folder(_) => continue,
            Found::Absent => return Ok(()),
            Found::File(_) => "is a file, not a folder",
            Found::Refused(reason) => reason,
        };
        return Err(StoreError::conflict(name, format!("\"{}\" {reason}", shown(prefix))));
    }
    let reason = match look(path)? {
        Found::File(_) | Found::Absent => return Ok(()),
        Found::Folder(_) => "is a folder, not a file",
        Found::Refused(reason) => reason,
    };
    Err(StoreError::conflict(name, format!("\"{}\" {reason}", shown(path))))
}

/// A name that stands for several files.
pub(crate) fn ambiguous(name: &DatasetName, existing: &[String]) -> StoreError {
    let candidates = existing.iter().map(|path| shown(path)).collect();
    StoreError::Ambiguous { name: shown(name.as_str()), candidates }
}

/// A folder into which nothing can be renamed from `.flight`.
pub(crate) fn other_file_system(name: &DatasetName, folder: &str) -> StoreError {
    let reason = format!(
        "\"{}\" is on another file system than the data folder, so that an upload cannot be moved \
         there in one step; use another folder",
        shown(folder)
    );
    StoreError::conflict(name, reason)
}

fn stored_otherwise(name: &DatasetName, existing: &[String]) -> StoreError {
    let stored = existing.iter().map(|path| shown(path)).collect::<Vec<_>>().join(", ");
    let reason = format!(
        "is stored as {stored} and a name keeps one file; upload in that format, or delete it first"
    );
    StoreError::conflict(name, reason)
}

fn stream_refused(name: &DatasetName) -> StoreError {
    let reason = "the stream format (.arrows) is served but not written; \
                  use feather or parquet, under a name that is not stored as a stream"
        .to_owned();
    StoreError::bad_upload(name, reason)
}

fn word(format: Format) -> &'static str {
    match format {
        Format::Feather => "feather",
        Format::Stream => "stream",
        Format::Parquet => "parquet",
    }
}

#[cfg(test)]
mod tests {
    use Format::{Feather, Parquet, Stream};

    use super::*;

    /// With `files` in the folder, where does an upload to `name` go (or why does it not)?
    fn check(files: &[&str], name: &str, stated: Option<Format>, want: &str) {
        check_mode(files, name, stated, Mode::Replace, want);
    }

    fn check_mode(files: &[&str], name: &str, stated: Option<Format>, mode: Mode, want: &str) {
        let temp = tempfile::tempdir().unwrap();
        for file in files {
            let path = temp.path().join(file);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, "").unwrap();
        }
        let root = Root::open(temp.path()).unwrap();
        let name = DatasetName::parse(name).unwrap();
        let got = match find(&root, &name, stated, mode) {
            Ok(target) => target.path,
            Err(error) => error.to_string(),
        };
        assert!(got == want || got.contains(want) && want.contains(' '), "{got}, not {want}");
    }

    #[test]
    fn a_new_dataset_takes_its_extension_from_name_or_format() {
        check(&[], "a", None, "a.feather");
        check(&[], "a", Some(Feather), "a.feather");
        check(&[], "a", Some(Parquet), "a.parquet");
        check(&[], "a.parquet", None, "a.parquet");
        check(&[], "a.arrow", None, "a.arrow");
        check(&[], "a.ipc", Some(Feather), "a.ipc");
        check(&[], "x/a.b", None, "x/a.b.feather");
        check(&[], ".feather", None, ".feather.feather");
    }

    #[test]
    fn a_stored_dataset_keeps_its_extension() {
        check(&["a.arrow"], "a", None, "a.arrow");
        check(&["a.arrow"], "a", Some(Feather), "a.arrow");
        check(&["a.parquet"], "a", None, "a.parquet");
        check(&["a.parquet"], "a.parquet", Some(Parquet), "a.parquet");
        check(&["a.feather.parquet"], "a.feather", None, "a.feather.parquet");
        check(&["a.feather.parquet", "a.feather"], "a.feather", None, "a.feather");
        check(&["a.feather", "a.parquet"], "a.parquet", None, "a.parquet");
    }

    #[test]
    fn a_second_file_under_one_name_is_refused() {
        let stored = "is stored as a.parquet and a name keeps one file";
        check(&["a.parquet"], "a", Some(Feather), stored);
        check(&["a.parquet"], "a.feather", None, stored);
        check(&["a.arrow"], "a.feather", None, "is stored as a.arrow and");
        check(&["a.arrow", "a.ipc"], "a.parquet", None, "is stored as a.arrow, a.ipc and");
        check(&["a.arrow", "a.ipc"], "a", None, "ask for one of a.arrow, a.ipc");
    }

    #[test]
    fn a_new_dataset_must_be_new_in_every_format() {
        let check = |files: &[&str], name, stated| {
            check_mode(files, name, stated, Mode::Create, "exists already");
        };
        check(&["a.parquet"], "a", Some(Feather));
        check(&["a.parquet"], "a.feather", None);
        check(&["a.arrows"], "a", None);
        check(&["a.arrow", "a.ipc"], "a", None);
        // Its own file is left to the caller, who may know it as this very upload.
        check_mode(&["a.feather"], "a", None, Mode::Create, "a.feather");
    }

    #[test]
    fn streams_are_not_written() {
        for (files, name, stated) in
            [(&[][..], "a.arrows", None), (&[], "a", Some(Stream)), (&["a.arrows"], "a", None)]
        {
            check(files, name, stated, "is served but not written");
        }
    }

    #[test]
    fn a_format_that_contradicts_the_name_is_refused() {
        check(&[], "a.feather", Some(Parquet), "format parquet contradicts the extension");
        check(&[], "a.parquet", Some(Feather), "format feather contradicts the extension");
    }

    #[test]
    fn a_place_that_is_taken_by_something_else_is_refused() {
        check(&["a"], "a/b", None, "\"a\" is a file, not a folder");
        check(&["a.feather/x"], "a", None, "\"a.feather\" is a folder, not a file");
        check(&[], &"x".repeat(248), None, "would have 256 bytes, more than 255");
        check(&[], &"x".repeat(247), None, &format!("{}.feather", "x".repeat(247)));
    }
}
