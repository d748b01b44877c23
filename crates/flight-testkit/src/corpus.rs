//! Finds the public test files (arrow-testing, parquet-testing, real datasets).

use std::path::PathBuf;

/// The folder of public test files that `FLIGHT_CORPUS` names.
///
/// Without the variable, says on stderr that `test` did not run and returns `None`; the test then
/// returns, and passes.
///
/// # Panics
/// When the variable names no folder, since the caller then asked for a run that cannot happen.
#[expect(clippy::print_stderr, reason = "the one line that says that a test did not run")]
pub fn corpus(test: &str) -> Option<PathBuf> {
    let Some(folder) = std::env::var_os("FLIGHT_CORPUS") else {
        eprintln!("{test}: did not run, because FLIGHT_CORPUS is unset");
        return None;
    };
    let folder = PathBuf::from(folder);
    assert!(
        folder.is_dir(),
        "FLIGHT_CORPUS={} is not a folder; unset it, or name the folder that holds arrow-testing",
        folder.display()
    );
    Some(folder)
}
