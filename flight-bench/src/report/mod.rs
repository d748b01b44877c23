//! What a run found, and the forms in which it is told.
//!
//! Forms are functions of [`Results`] alone, so that each can be tested without a server.

mod arrow;
mod figures;
mod host;
mod json;
mod quick;
mod results;
mod text;

use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use anyhow::Context;

use crate::cli::Format;
use crate::config::Output;
pub(crate) use host::Host;
pub(crate) use results::{
    Measured, Outcome, Results, RunRecord, ServerRecord, Variant, VerifyRecord, Workload,
};

/// Prints the report and writes the files that were asked for.
///
/// # Errors
///
/// Stdout is gone or a file cannot be written; the other outputs are made all the same.
pub(crate) fn publish(results: &Results, output: &Output) -> anyhow::Result<()> {
    let printed = std::io::stdout()
        .write_all(render(results, output.format).as_bytes())
        .context("cannot write to stdout");
    let written: Vec<_> = output
        .files
        .iter()
        .map(|(path, format)| write_whole(path, &render(results, *format)))
        .collect();
    printed.and_then(|()| written.into_iter().collect())
}

fn render(results: &Results, format: Format) -> String {
    match format {
        Format::Json => json::render(results),
        Format::Arrow => arrow::render(results),
        Format::Text if results.record.command == "quick" => quick::render(results),
        Format::Text => text::render(results),
    }
}

/// Writes a file under a temporary name beside its place and renames it: whole or not at all.
fn write_whole(path: &Path, text: &str) -> anyhow::Result<()> {
    let place = || format!("--out {}", path.display());
    let folder = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    let folder = folder.unwrap_or(Path::new("."));
    // The rights of any new file, less what the umask takes.
    let rights = std::fs::Permissions::from_mode(0o666);
    let mut file =
        tempfile::Builder::new().permissions(rights).tempfile_in(folder).with_context(place)?;
    file.write_all(text.as_bytes()).with_context(place)?;
    file.as_file().sync_all().with_context(place)?;
    file.persist(path).with_context(place)?;
    Ok(())
}
