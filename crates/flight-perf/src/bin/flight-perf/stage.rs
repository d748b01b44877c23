//! What the arms need: the programs, data on tmpfs, certificates, running servers.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use flight_perf::sets::{ParquetCodec, SetName, WorkingSet};
use tempfile::TempDir;

use crate::arms::{Arm, ClientKind, ServerKind, Unit};
use crate::machine::{Scheduling, Side};
use crate::process::{self, Server};

/// Where the programs are.
pub(crate) struct Programs {
    pub(crate) folder: PathBuf,
    pub(crate) python: PathBuf,
    /// The folder of the two Python programs.
    pub(crate) scripts: PathBuf,
}

/// Everything that is set up once.
pub(crate) struct Stage {
    pub(crate) programs: Programs,
    pub(crate) scheduling: Scheduling,
    /// Bytes of an IPC body a row, of each set.
    body_bytes_per_row: BTreeMap<SetName, f64>,
    servers: BTreeMap<ServerKind, Server>,
    folder: TempDir,
}

impl Programs {
    fn named(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// The program of a client.
    pub(crate) fn client(&self, kind: ClientKind) -> PathBuf {
        match kind {
            ClientKind::Bench => self.named("flight-bench"),
            ClientKind::Stock => self.named("flight-stock"),
            ClientKind::Pyarrow => self.python.clone(),
        }
    }

    /// Why `arm` cannot run with these programs; `None` where it can.
    pub(crate) async fn missing(&self, arm: &Arm) -> Option<String> {
        let flag = match arm.server {
            Some((ServerKind::Mapped, _)) => Some("--map-files"),
            Some((ServerKind::OneThread | ServerKind::OneThreadFree, _)) => {
                Some("--decode-threads")
            }
            _ => None,
        };
        if let Some(flag) = flag
            && !process::mentions(&self.named("flight-server"), &["serve"], flag).await
        {
            return Some(format!("this flight-server has no {flag}"));
        }
        if arm.words.contains(&"--connect")
            && !process::mentions(&self.named("flight-bench"), &["unary"], "--connect").await
        {
            return Some("this flight-bench has no --connect".to_owned());
        }
        if matches!(arm.server, Some((ServerKind::OpenSsl, _))) && !self.has_openssl().await {
            return Some("these programs are built without the feature openssl".to_owned());
        }
        let python = arm.client == ClientKind::Pyarrow
            || matches!(arm.server, Some((ServerKind::Pyarrow, _)));
        if python {
            let words = ["-c", "import pyarrow.flight"].map(str::to_owned);
            let off = Scheduling::probe(false);
            if process::run(&off, Side::Client, &self.python, &words).await.is_err() {
                return Some(format!("{} has no pyarrow.flight", self.python.display()));
            }
        }
        None
    }

    /// Whether that engine is part of flight-bench, and so of what was built with it.
    async fn has_openssl(&self) -> bool {
        let words = "get grpc+tls://127.0.0.1:1 --source path:taxi --tls-engine openssl --dry-run";
        let words: Vec<String> = words.split(' ').map(str::to_owned).collect();
        let off = Scheduling::probe(false);
        process::run(&off, Side::Client, &self.named("flight-bench"), &words).await.is_ok()
    }
}

/// Where files lie: on tmpfs, where they are read and written at the speed of memory, or else where
/// temporary ones do.
pub(crate) fn folder() -> PathBuf {
    let memory = Path::new("/dev/shm");
    if memory.is_dir() { memory.to_owned() } else { std::env::temp_dir() }
}

impl Stage {
    /// Writes the data and the certificates.
    pub(crate) async fn set_up(programs: Programs, scheduling: Scheduling) -> Result<Self> {
        for name in ["flight-server", "flight-bench", "flight-stock"] {
            let program = programs.named(name);
            if !program.is_file() {
                bail!(
                    "{} is not there; build the workspace, or name the folder of the programs \
                     with --bin",
                    program.display()
                );
            }
        }
        let mut builder = tempfile::Builder::new();
        let folder = builder.prefix("flight-perf-").tempdir_in(folder());
        let folder = folder.context("cannot make a temporary folder")?;
        for name in ["data", "stored"] {
            std::fs::create_dir(folder.path().join(name))?;
        }
        let data = folder.path().join("data");
        let mut body_bytes_per_row = BTreeMap::new();
        for name in SetName::ALL {
            let set = WorkingSet::generate(name);
            let bytes: usize = set.bodies()?.iter().map(bytes::Bytes::len).sum();
            body_bytes_per_row.insert(name, bytes as f64 / set.rows() as f64);
            set.write_feather(&data.join(format!("{}.feather", name.name())))?;
            if name == SetName::Taxi {
                set.write_parquet(&data.join("taxi-zstd.parquet"), ParquetCodec::Zstd)?;
                set.write_parquet(&data.join("taxi-snappy.parquet"), ParquetCodec::Snappy)?;
            }
        }
        let certs = folder.path().join("certs").display().to_string();
        let words = ["certs", "--key", "ec", "--out", &certs].map(str::to_owned);
        let off = Scheduling::probe(false);
        process::run(&off, Side::Client, &programs.named("flight-server"), &words).await?;
        Ok(Self { programs, scheduling, body_bytes_per_row, servers: BTreeMap::new(), folder })
    }

    /// Bytes of IPC bodies a row of `set`.
    pub(crate) fn body_bytes_per_row(&self, set: SetName) -> f64 {
        self.body_bytes_per_row[&set]
    }

    /// The running server of `kind`, started if it is not there yet.
    pub(crate) async fn server(&mut self, kind: ServerKind) -> Result<&Server> {
        if !self.servers.contains_key(&kind) {
            let (program, words) = self.server_words(kind);
            let log = self.folder.path().join(format!("{kind:?}.log"));
            let side = match kind {
                ServerKind::OneThreadFree => Side::Either,
                _ => Side::Server,
            };
            let start = Server::start(&self.scheduling, side, (&program, &words), log);
            let server = start.await?;
            self.servers.insert(kind, server);
        }
        Ok(&self.servers[&kind])
    }

    fn server_words(&self, kind: ServerKind) -> (PathBuf, Vec<String>) {
        let inside = |name: &str| self.folder.path().join(name).display().to_string();
        let (cert, key) = (inside("certs/server-ec.pem"), inside("certs/server-ec.key"));
        let tls = ["--tls-cert", &cert, "--tls-key", &key].map(str::to_owned);
        let (data, stored) = (inside("data"), inside("stored"));
        let ours = |extra: &[&str]| {
            let words = [
                "serve",
                "--data",
                &data,
                "--listen",
                "grpc://127.0.0.1:0",
                "--listen",
                "grpc+tls://127.0.0.1:0",
                "--admin",
                "none",
                "--perf",
                "--ready",
                "json",
                "--exit-with-stdin",
            ];
            let words = words.iter().chain(extra).map(|word| (*word).to_owned());
            (self.programs.named("flight-server"), words.chain(tls.clone()).collect())
        };
        match kind {
            ServerKind::Mapped => ours(&["--map-files"]),
            ServerKind::Ring => ours(&["--map-files", "--tls-engine", "ring"]),
            ServerKind::OpenSsl => ours(&["--map-files", "--tls-engine", "openssl"]),
            ServerKind::Reading => ours(&[]),
            ServerKind::OneThread | ServerKind::OneThreadFree => ours(&["--decode-threads", "1"]),
            ServerKind::Stock => {
                let words = ["serve", "--data", &stored].map(str::to_owned);
                let words = words.into_iter().chain(tls.clone()).collect();
                (self.programs.named("flight-stock"), words)
            }
            ServerKind::Pyarrow => {
                let script = self.programs.scripts.join("serve.py").display().to_string();
                (self.programs.python.clone(), vec![script, data])
            }
        }
    }

    /// The words of a client of `arm` that makes so many passes.
    pub(crate) fn client_words(&self, arm: &Arm, url: &str, passes: u64) -> Vec<String> {
        let path = |name: &str| self.folder.path().join(name).display().to_string();
        let fill = |word: &&str| {
            word.replace("{url}", url)
                .replace("{ca}", &path("certs/ca.pem"))
                .replace("{data}", &path("data"))
        };
        let mut words: Vec<String> = arm.words.iter().map(fill).collect();
        let passes = passes.to_string();
        match arm.client {
            ClientKind::Pyarrow => {
                words.insert(0, self.programs.scripts.join("get.py").display().to_string());
                words.push(passes);
            }
            ClientKind::Stock => words.extend(["--passes".to_owned(), passes]),
            ClientKind::Bench => {
                // Calls and connections are counted as batches are.
                let count = if arm.unit == Unit::Calls { "--batches" } else { "--passes" };
                words.extend([count.to_owned(), passes]);
                let output = ["--repeats", "1", "--format", "json", "--quiet"];
                words.extend(output.map(str::to_owned));
            }
        }
        words
    }

    /// Stops all servers.
    pub(crate) async fn take_down(self) {
        for server in self.servers.into_values() {
            server.stop().await;
        }
    }
}
