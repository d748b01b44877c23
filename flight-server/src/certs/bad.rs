//! `flight-server certs --bad`: certificates that are to be refused.

use std::path::Path;
use std::time::SystemTime;

use flight_pki::issue_bad;

use super::told::{line, shell_word};
use super::{Args, life};

/// Writes them to `folder`, or to `bad` below `--out`; what is printed.
pub(super) fn write(args: &Args, folder: Option<&Path>) -> anyhow::Result<String> {
    let out = folder.map_or_else(|| args.out.join("bad"), Path::to_owned);
    let (_, bad) = issue_bad(&out, life(args)?, args.force, SystemTime::now())?;
    let mut text = String::new();
    line(&mut text, &format!("Broken certificates in {}, each with its key:", out.display()));
    let width = bad.iter().map(|bad| bad.name.len()).max().unwrap_or_default();
    for bad in &bad {
        line(&mut text, &format!("  {:width$}  {}", bad.name, bad.wrong));
    }
    let readme = shell_word(&out.join("README.md"));
    line(
        &mut text,
        "\nA client is to trust ca.pem there and to connect to localhost; good.pem is good.",
    );
    line(&mut text, &format!("{readme} says what flight-server and a client say about each."));
    Ok(text)
}

#[cfg(test)]
#[path = "bad_tests.rs"]
mod tests;
