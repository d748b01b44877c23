//! What a started server needs: its program, sample data and certificates.
//!
//! Data and certificates are made by flight-server's own commands, so that the bench needs no
//! secrets and no writers of its own.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use anyhow::Context;

use super::child::run;
use crate::config::KeyKind;
use crate::exit::Stop;

/// The flight-server to start: the one given, or the one beside this program.
///
/// # Errors
///
/// There is none.
pub(crate) fn server_program(given: Option<&Path>) -> Result<PathBuf, Stop> {
    if let Some(program) = given {
        if program.is_file() {
            return Ok(program.to_owned());
        }
        return Err(Stop::usage(format!(
            "--server-bin {} is not a file; name the flight-server program",
            program.display()
        )));
    }
    let bench = std::env::current_exe().context("this program cannot find itself")?;
    let program = bench.with_file_name("flight-server");
    if program.is_file() {
        return Ok(program);
    }
    Err(Stop::usage(format!(
        "{} is not there to be started; build it, name it with --server-bin, or give a TARGET such \
         as grpc://127.0.0.1:8815",
        program.display()
    )))
}

/// Writes a sample of taxi trips.
///
/// # Errors
///
/// flight-server failed; its sentence.
pub(crate) async fn make_sample(program: &Path, rows: u64, file: &Path) -> anyhow::Result<()> {
    let rows = rows.to_string();
    let words = ["sample", "taxi", "--rows", &rows, "--seed", "42", "--out"].map(OsStr::new);
    run(program, &[&words[..], &[file.as_os_str()]].concat()).await
}

/// Writes an authority, a server certificate for each kind of key, and a client's into `folder`.
///
/// # Errors
///
/// flight-server failed; its sentence.
pub(crate) async fn make_certificates(
    program: &Path,
    keys: &[KeyKind],
    folder: &Path,
) -> anyhow::Result<()> {
    let keys = keys.iter().flat_map(|key| ["--key", key.name()]).map(OsStr::new);
    let mut words: Vec<&OsStr> = std::iter::once(OsStr::new("certs")).chain(keys).collect();
    words.extend([OsStr::new("--out"), folder.as_os_str()]);
    run(program, &words).await
}
