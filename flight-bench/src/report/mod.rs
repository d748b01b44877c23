//! What a run found, and the forms in which it is told.
//!
//! Forms are functions of [`Results`] alone, so that each can be tested without a server.

mod arrow;
mod bounds;
mod connections;
mod cost;
mod csv;
mod ending;
mod engines;
pub(crate) mod facts;
pub(crate) mod figures;
#[cfg(test)]
mod golden_tests;
mod handshakes;
mod histogram;
pub(crate) mod html;
mod json;
mod kind;
mod ladder;
mod lines;
pub(crate) mod markdown;
mod ndjson;
mod quick;
mod read;
mod read_ladder;
mod results;
mod rows;
#[cfg(test)]
pub(crate) mod schema_check;
mod summary;
mod sweep;
pub(crate) mod tables;
mod text;
mod threshold;
mod warning;
mod warnings;
mod wire;
mod workload;

use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use anyhow::{Context, anyhow};
use tempfile::NamedTempFile;

use crate::cli::{Format, Semantics};
use crate::config::Output;
use crate::exit::Stop;
pub(crate) use cost::Costs;
pub(crate) use ending::{Reason, warnings};
pub(crate) use flight_probe::host::Host;
pub(crate) use json::tool;
pub(crate) use kind::Kind;
pub(crate) use ladder::LadderResults;
#[cfg(test)]
pub(crate) use ladder::tests as ladder_tests;
pub(crate) use lines::wrapped;
pub(crate) use read::{checked, read, time_of};
pub(crate) use read_ladder::read_ladder;
#[cfg(test)]
pub(crate) use results::tests;
pub(crate) use results::{
    Measured, Name, Outcome, Part, Results, RunRecord, ServerRecord, Variant, VerifyRecord,
};
pub(crate) use sweep::{
    RATE, SloResults, SloTrial, SweepPoint, SweepResults, SweepSetting, read as read_sweep,
};
pub(crate) use threshold::of_thresholds;
pub(crate) use warning::Warning;
pub(crate) use warnings::{findings, is_saturated, is_untrusted};
pub(crate) use workload::Workload;

/// Refuses files that could not be written in the end, before anything is measured.
///
/// # Errors
///
/// The file's folder is missing or not writable, or the file is a folder itself: one sentence that
/// names what the user wrote, exit code 2.
pub(crate) fn check_files(output: &Output) -> Result<(), Stop> {
    for (path, _) in &output.files {
        let refused = |why: String| Stop::usage(format!("--out {}: {why}", path.display()));
        if path.is_dir() {
            return Err(refused("it is a folder; name a file".to_owned()));
        }
        let folder = folder_of(path);
        if !folder.is_dir() {
            return Err(refused(format!(
                "there is no folder {}; make it, or name a file elsewhere",
                folder.display()
            )));
        }
        // Made as the report will be, and gone at once.
        temporary_in(folder, RIGHTS).map_err(|error| {
            let why = kind_of(&error);
            refused(format!("cannot write to the folder {}: {why}", folder.display()))
        })?;
    }
    Ok(())
}

/// Prints the report and writes the files that were asked for.
///
/// # Errors
///
/// Stdout is gone or a file cannot be written; the other outputs are made all the same.
pub(crate) fn publish(results: &Results, output: &Output) -> anyhow::Result<()> {
    publish_as(output, |format, reason| render(results, format, reason))
}

/// Prints to stdout.
///
/// # Errors
///
/// Stdout is gone.
pub(crate) fn print(text: &str) -> anyhow::Result<()> {
    std::io::stdout().write_all(text.as_bytes()).context("cannot write to stdout")
}

/// Prints and writes what `render` makes of a run.
///
/// # Errors
///
/// As for [`publish`].
pub(crate) fn publish_as(
    output: &Output,
    render: impl Fn(Format, Reason) -> String,
) -> anyhow::Result<()> {
    let printed = print(&render(output.format, Reason::OnStderr));
    let written: Vec<_> = output
        .files
        .iter()
        .map(|(path, format)| {
            let written = write_whole(path, &render(*format, Reason::InReport));
            written.map_err(|error| anyhow!("--out {}: cannot be written: {error}", path.display()))
        })
        .collect();
    printed.and_then(|()| written.into_iter().collect())
}

/// The document of a run, as it is kept and as `--format json` prints it.
pub(crate) fn document(results: &Results) -> String {
    json::render(results)
}

/// The last line of `--progress json`.
pub(crate) fn summary_line(results: &Results) -> String {
    ndjson::summary(results)
}

/// The page of a run, which holds it.
#[cfg(test)]
pub(crate) fn html_page(results: &Results) -> String {
    html::render(results)
}

/// Refuses Arrow's definitions for a run whose time by them is unknown.
///
/// # Errors
///
/// Its repeats did not end by themselves, or it was measured before that time was kept.
pub(crate) fn check_arrows_own(results: &Results) -> Result<(), Stop> {
    match arrow::knows_arrows_time(results) {
        true => Ok(()),
        false => Err(Stop::usage(
            "--semantics arrow needs a run of get or put that ended by itself, by --batches or \
             --passes; take --semantics own",
        )),
    }
}

/// A run in one of its forms.
pub(crate) fn render(results: &Results, format: Format, reason: Reason) -> String {
    match format {
        Format::Json => json::render(results),
        Format::Ndjson => ndjson::render(results),
        Format::Csv => csv::render(results),
        Format::Md => markdown::render(results),
        Format::Html => html::render(results),
        Format::Arrow => arrow::render(results, Semantics::Own),
        Format::ArrowsOwn => arrow::render(results, Semantics::Arrow),
        Format::Text if results.record.command == "quick" => quick::render(results, reason),
        Format::Text if results.record.command == "engines" => engines::render(results, reason),
        Format::Text if handshakes::is_told_in_rows(results) => handshakes::render(results, reason),
        Format::Text => text::render(results, reason),
    }
}

/// Writes a file under a temporary name beside its place and renames it: whole or not at all.
pub(crate) fn write_whole(path: &Path, text: &str) -> anyhow::Result<()> {
    write_as(RIGHTS, path, text)
}

/// The same for its owner's eyes alone.
pub(crate) fn write_private(path: &Path, text: &str) -> anyhow::Result<()> {
    write_as(0o600, path, text)
}

fn write_as(rights: u32, path: &Path, text: &str) -> anyhow::Result<()> {
    let write = || {
        let mut file = temporary_in(folder_of(path), rights)?;
        file.write_all(text.as_bytes())?;
        file.as_file().sync_all()?;
        file.persist(path).map_err(|failed| failed.error)?;
        Ok(())
    };
    write().map_err(|error| kind_of(&error).into())
}

/// Those of any new file, less what the umask takes.
const RIGHTS: u32 = 0o666;

fn temporary_in(folder: &Path, rights: u32) -> std::io::Result<NamedTempFile> {
    let rights = std::fs::Permissions::from_mode(rights);
    tempfile::Builder::new().permissions(rights).tempfile_in(folder)
}

fn folder_of(path: &Path) -> &Path {
    let folder = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    folder.unwrap_or(Path::new("."))
}

/// What went wrong, without the name of a temporary file that nobody wrote.
fn kind_of(error: &std::io::Error) -> std::io::Error {
    std::io::Error::from(error.kind())
}

#[cfg(test)]
mod file_tests {
    use super::*;
    use crate::cli::Progress;
    use crate::exit::Exit;

    #[test]
    fn files_that_cannot_be_written_are_refused_by_the_name_that_was_given() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let inside = |name: &str| folder.path().join(name);
        std::fs::create_dir(inside("folder.json")).expect("a new folder");
        std::fs::write(inside("file"), "").expect("a new file");
        check(&inside("run.json"), None);
        check(Path::new("run.json"), None);
        check(&inside("folder.json"), Some("it is a folder; name a file"));
        let missing = inside("missing");
        check(&missing.join("x.json"), Some(&format!("there is no folder {}", missing.display())));
        let file = inside("file");
        check(&file.join("x.json"), Some(&format!("there is no folder {}", file.display())));
        // The file system of the kernel takes no files of ours, whoever asks.
        check(Path::new("/proc/x.json"), Some("cannot write to the folder /proc: "));
        let left = std::fs::read_dir(folder.path()).expect("a folder").count();
        assert_eq!(left, 2, "the check leaves nothing behind");
    }

    #[test]
    fn a_file_that_cannot_be_written_in_the_end_is_named_as_it_was_given() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("gone").join("x.json");
        let files = vec![(path.clone(), Format::Json)];
        let (format, progress) = (Format::Text, Progress::None);
        let output =
            Output { format, files, progress, quiet: true, dry_run: false, keep: None, runs: None };
        let error = publish_as(&output, |_, _| String::new()).expect_err("there is no such folder");
        let want = format!("--out {}: cannot be written: entity not found", path.display());
        assert_eq!(error.to_string(), want);
    }

    fn check(path: &Path, want: Option<&str>) {
        let files = vec![(path.to_owned(), Format::Json)];
        let (format, progress) = (Format::Text, Progress::None);
        let output =
            Output { format, files, progress, quiet: true, dry_run: false, keep: None, runs: None };
        let got = check_files(&output).err();
        let Some(want) = want else {
            assert!(got.is_none(), "{got:?}");
            return;
        };
        let stop = got.expect("it cannot be written");
        assert_eq!(stop.exit, Exit::Usage);
        assert!(
            stop.to_string().starts_with(&format!("--out {}: {want}", path.display())),
            "{stop}"
        );
    }
}
