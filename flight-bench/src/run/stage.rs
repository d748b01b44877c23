//! What a run sets up and takes down: child servers, a temporary folder, uploads.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context;
use flight_net::Endpoint;
use flight_net::client::{ConnectOptions, Connector};
use flight_net::limits::Http2Settings;
use flight_tls::{ClientOptions, ClientTls};
use tempfile::TempDir;

use crate::config::{KeyKind, LinkConfig, QuickWork};
use crate::exit::Stop;
use crate::limits::CHILD_READY_TIMEOUT;
use crate::progress::Progress;
use crate::report::{Name, ServerRecord};
use crate::target::{self, ChildServer, TlsSide, Uploads};

/// Everything that must be stopped or deleted in the end.
pub(super) struct Stage {
    /// How long a server that is started may take to be ready.
    ready_within: Duration,
    // Stopped before the folder that it serves is removed.
    servers: Vec<ChildServer>,
    folder: Option<TempDir>,
    /// With the row that each belongs to.
    pub(super) uploads: Vec<(Connector, Uploads)>,
    /// Whether the death of a server is told already.
    death_told: bool,
}

/// A server as one row sees it.
#[derive(Clone)]
pub(super) struct Site {
    pub(super) connector: Connector,
    pub(super) url: String,
    /// `plain`, `tls`, `tls-ec`, `tls-rsa`, or of an engine: `aws-lc-aes128`.
    pub(super) transport: Name,
    pub(super) label: String,
    pub(super) tls: Option<TlsSide>,
    /// The server's process, if this run started it.
    pub(super) pid: Option<u32>,
}

/// What the started servers of quick serve.
pub(super) struct QuickData {
    pub(super) components: Vec<String>,
    pub(super) file: PathBuf,
}

impl Stage {
    pub(super) fn new(link: &LinkConfig) -> Self {
        Self {
            ready_within: link.ready_timeout.unwrap_or(CHILD_READY_TIMEOUT),
            servers: Vec::new(),
            folder: None,
            uploads: Vec::new(),
            death_told: false,
        }
    }

    /// A folder of this run, removed in the end.
    pub(super) fn folder(&mut self) -> Result<&Path, Stop> {
        if self.folder.is_none() {
            let made = tempfile::Builder::new().prefix("flight-bench-").tempdir();
            self.folder = Some(made.context("cannot make a temporary folder")?);
        }
        Ok(self.folder.as_ref().expect("just made").path())
    }

    /// Starts a flight-server over `data`; what reports say about it.
    pub(super) async fn start(
        &mut self,
        program: &Path,
        data: &Path,
        args: &[OsString],
    ) -> Result<(ServerRecord, Vec<Endpoint>), Stop> {
        let name = format!("server-{}.log", self.servers.len());
        let log = self.folder()?.join(name);
        let args =
            [&["--data".into(), data.into(), "--admin".into(), "none".into()], args].concat();
        let server = ChildServer::start_serving(program, &args, log, self.ready_within).await?;
        let record = ServerRecord {
            kind: "child".into(),
            name: Some("flight-server".to_owned()),
            version: Some(server.version().to_owned()),
            pid: Some(server.pid()),
            ..ServerRecord::default()
        };
        let endpoints = server.endpoints().to_vec();
        self.servers.push(server);
        Ok((record, endpoints))
    }

    /// Starts the two servers of quick, with an EC and with an RSA certificate; the first also
    /// serves in plaintext.
    pub(super) async fn start_quick(
        &mut self,
        program: &Path,
        work: &QuickWork,
        link: &LinkConfig,
        progress: &Progress,
    ) -> Result<(ServerRecord, QuickData, Vec<Site>), Stop> {
        let keys = [KeyKind::Ec, KeyKind::Rsa];
        let (data, root) = self.quick_data(program, work, progress).await?;
        let certs = self.certificates(program, work, &keys, progress).await?;
        progress.step("starting flight-server");
        let ca = certs.join("ca.pem");
        let mut sites = Vec::new();
        let mut record = None;
        for (key, transport) in keys.into_iter().zip(["tls-ec", "tls-rsa"]) {
            let label = key.label();
            let mut args = secure(&certs, key);
            if record.is_none() {
                args.extend(["--listen".into(), "grpc://127.0.0.1:0".into()]);
            }
            let (server, endpoints) = self.start(program, &root, &args).await?;
            let pid = server.pid;
            record.get_or_insert(server);
            for endpoint in endpoints {
                let site = if endpoint.is_tls() {
                    let options = ClientOptions::default();
                    let (tls, side) = TlsSide::of_child(ca.clone(), label, None, options)?;
                    Site::new(endpoint, Some((tls, side)), transport, format!("TLS {label}"), link)
                } else {
                    Site::new(endpoint, None, "plain", "plaintext".to_owned(), link)
                };
                sites.push(Site { pid, ..site });
            }
        }
        sites.sort_by(|one, other| one.transport.cmp(&other.transport));
        Ok((record.expect("two were started"), data, sites))
    }

    /// What the servers of quick serve, and its folder.
    pub(super) async fn quick_data(
        &mut self,
        program: &Path,
        work: &QuickWork,
        progress: &Progress,
    ) -> Result<(QuickData, PathBuf), Stop> {
        check_folder("--data", work.data.as_deref())?;
        check_folder("--certs", work.certs.as_deref())?;
        let (Some(root), Some(name)) = (&work.data, &work.dataset) else {
            let folder = self.folder()?.join("data");
            let file = sample(program, work.sample_rows, &folder, progress).await?;
            return Ok((QuickData { components: vec![SAMPLE.to_owned()], file }, folder));
        };
        let candidates = ["feather", "arrow", "arrows", "parquet"];
        let file = candidates
            .iter()
            .map(|extension| root.join(format!("{name}.{extension}")))
            .find(|file| file.is_file());
        let file = file.ok_or_else(|| {
            Stop::usage(format!(
                "--dataset {name}: {} holds no {name}.feather, .arrow, .arrows or .parquet; name \
                 one of its files without extension",
                root.display()
            ))
        })?;
        let components = name.split('/').map(str::to_owned).collect();
        Ok((QuickData { components, file }, root.clone()))
    }

    /// The folder of the certificates that were given, or are made now.
    pub(super) async fn certificates(
        &mut self,
        program: &Path,
        work: &QuickWork,
        keys: &[KeyKind],
        progress: &Progress,
    ) -> Result<PathBuf, Stop> {
        if let Some(certs) = &work.certs {
            return Ok(certs.clone());
        }
        progress.step("making certificates");
        let certs = self.folder()?.join("certs");
        target::make_certificates(program, keys, &certs).await?;
        Ok(certs)
    }

    /// The reason why a run stopped: a server that died by itself comes before its consequences.
    pub(super) fn explained(&mut self, stop: Stop) -> Stop {
        match self.servers.iter_mut().find_map(ChildServer::death) {
            Some(death) => {
                self.death_told = true;
                Stop::failed(anyhow::anyhow!("{stop}; {death}"))
            }
            None => stop,
        }
    }

    /// Deletes uploads and stops servers; every step is tried.
    ///
    /// # Errors
    ///
    /// The first step that failed.
    pub(super) async fn take_down(mut self) -> Result<(), Stop> {
        let mut first = Ok(());
        let alive = self.servers.iter_mut().all(|server| server.death().is_none());
        for (connector, uploads) in &self.uploads {
            if alive {
                first = first.and(uploads.delete(connector).await);
            }
        }
        for mut server in self.servers {
            let told = self.death_told && server.death().is_some();
            let stopped = server.stop().await;
            if !told {
                first = first.and(stopped.map_err(Stop::from));
            }
        }
        first
    }
}

impl Site {
    pub(super) fn new(
        endpoint: Endpoint,
        tls: Option<(ClientTls, TlsSide)>,
        transport: impl Into<Name>,
        label: String,
        link: &LinkConfig,
    ) -> Self {
        let defaults = Http2Settings::default();
        let http2 = Http2Settings {
            stream_window_bytes: link.stream_window.unwrap_or(defaults.stream_window_bytes),
            connection_window_bytes: link
                .connection_window
                .unwrap_or(defaults.connection_window_bytes),
            ..defaults
        };
        let options = ConnectOptions {
            timeout: link.connect_timeout,
            http2,
            message_bytes_max: link.max_message_bytes,
            transport: link.transport,
            reset_on_close: link.reset_on_close,
            metadata: link.metadata.clone(),
            ..ConnectOptions::default()
        };
        let url = endpoint.to_string();
        let (config, side) = tls.unzip();
        Self {
            connector: Connector::new(endpoint, config, options),
            url,
            transport: transport.into(),
            label,
            tls: side,
            pid: None,
        }
    }
}

/// The options of a server that speaks TLS with a certificate of this kind of key.
pub(super) fn secure(certs: &Path, key: KeyKind) -> Vec<OsString> {
    let mut args = vec![OsString::from("--listen"), "grpc+tls://127.0.0.1:0".into()];
    for (flag, suffix) in [("--tls-cert", "pem"), ("--tls-key", "key")] {
        args.extend([flag.into(), certs.join(format!("server-{}.{suffix}", key.name())).into()]);
    }
    args
}

fn check_folder(flag: &str, given: Option<&Path>) -> Result<(), Stop> {
    match given {
        Some(folder) if !folder.is_dir() => Err(Stop::usage(format!(
            "{flag} {} is not a folder; name one, or leave it out for one of this run",
            folder.display()
        ))),
        _ => Ok(()),
    }
}

/// The dataset that a started server serves.
pub(super) const SAMPLE: &str = "taxi";

/// Makes the sample in `folder`; its file.
pub(super) async fn sample(
    program: &Path,
    rows: u64,
    folder: &Path,
    progress: &Progress,
) -> Result<PathBuf, Stop> {
    progress.step(&format!("making a sample of {rows} rows"));
    std::fs::create_dir_all(folder)
        .with_context(|| format!("cannot make the folder {}", folder.display()))?;
    let file = folder.join(format!("{SAMPLE}.feather"));
    target::make_sample(program, rows, &file).await?;
    Ok(file)
}
