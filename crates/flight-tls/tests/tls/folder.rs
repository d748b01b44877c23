//! A temporary folder of PEM files, and certificates to put into it.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use flight_pki::{Authority, Host, Issued, KeyKind, Validity};
use tempfile::TempDir;

pub(crate) struct Folder(TempDir);

impl Folder {
    pub(crate) fn new() -> Self {
        Self(TempDir::new().unwrap())
    }

    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }

    /// Writes a file and gives back its path.
    pub(crate) fn write(&self, name: &str, contents: impl AsRef<[u8]>) -> PathBuf {
        let file = self.0.path().join(name);
        fs::write(&file, contents).unwrap();
        file
    }

    /// Writes `NAME.pem` and `NAME.key`.
    pub(crate) fn write_pair(&self, name: &str, issued: &Issued) -> (PathBuf, PathBuf) {
        let cert = self.write(&format!("{name}.pem"), &issued.cert_pem);
        (cert, self.write(&format!("{name}.key"), &issued.key_pem))
    }

    /// The error as a person sees it, this folder left out.
    pub(crate) fn without_path(&self, sentence: &impl ToString) -> String {
        sentence.to_string().replace(&format!("{}/", self.path().display()), "")
    }
}

pub(crate) fn week() -> Validity {
    Validity::starting(SystemTime::now(), 7).unwrap()
}

pub(crate) fn authority() -> Authority {
    Authority::new(week()).unwrap()
}

pub(crate) fn server(authority: &Authority) -> Issued {
    authority.server(&Host::loopback(), KeyKind::P256).unwrap()
}

pub(crate) fn client(authority: &Authority) -> Issued {
    authority.client(&"ann.example".parse().unwrap(), KeyKind::P256).unwrap()
}

/// The folder of Arrow's own test certificates, where the public test files are at hand.
#[allow(clippy::print_stderr, reason = "a test that did not run says so")]
pub(crate) fn arrow_certificates() -> Option<PathBuf> {
    let Some(corpus) = std::env::var_os("FLIGHT_CORPUS") else {
        eprintln!("did not run: FLIGHT_CORPUS is unset");
        return None;
    };
    Some(Path::new(&corpus).join("arrow-testing/flight"))
}
