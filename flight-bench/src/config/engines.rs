//! What a command line of `engines` means.

use flight_tls::{CipherSuite, Engine, TlsError};
use flight_wire::limits::RECEIVE_MESSAGE_BYTES_MAX;

use super::{Checks, Config, KeyKind, LinkConfig, Load, Output, QuickWork, Target, Work};
use crate::cli::{EnginesArgs, Format, TargetArgs};
use crate::exit::Stop;

/// Rows of DoGet and DoPut, in plaintext and with each engine and suite.
#[derive(Debug)]
pub(crate) struct EnginesWork {
    pub(crate) data: QuickWork,
    pub(crate) engines: Vec<Engine>,
    pub(crate) suites: Vec<CipherSuite>,
    pub(crate) key: KeyKind,
    /// What is not measured though nobody left it out: a sentence each.
    pub(crate) missing: Vec<String>,
}

impl Config {
    pub(super) fn engines(args: EnginesArgs) -> Result<Self, Stop> {
        if args.output.format == Format::Arrow {
            return Err(Stop::usage(
                "--format arrow has one measurement and engines makes several; use get or put",
            ));
        }
        let target = TargetArgs::from(args.server);
        let load = Load::of_rows(&args.load)?;
        let missing = missing(&args.rows.engines);
        let work = EnginesWork {
            data: QuickWork::new(args.work)?,
            engines: named_or(args.rows.engines, Engine::built()),
            suites: named_or(args.rows.suites, CipherSuite::of_tls13()),
            key: args.rows.key,
            missing,
        };
        Ok(Self {
            work: Work::Engines(work),
            link: LinkConfig::new(&target, None, RECEIVE_MESSAGE_BYTES_MAX as u64)?,
            server_pid: None,
            target: Target::Child { program: target.server_bin },
            checks: Checks::rows("engines", args.check, &load)?,
            load,
            pace: None,
            output: Output::new(args.output)?,
        })
    }
}

/// What was named, each once, or all that there is.
pub(super) fn named_or<T: PartialEq>(named: Vec<T>, all: impl Iterator<Item = T>) -> Vec<T> {
    let mut kept = Vec::new();
    for one in named {
        if !kept.contains(&one) {
            kept.push(one);
        }
    }
    if kept.is_empty() { all.collect() } else { kept }
}

/// Engines that are not part of this build; one that was named is refused before.
pub(super) fn missing(named: &[Engine]) -> Vec<String> {
    let not_built = |engine: &Engine| !Engine::built().any(|built| built == *engine);
    let all = Engine::ALL.into_iter().filter(not_built).filter(|_| named.is_empty());
    all.map(|engine| TlsError::NotBuilt { engine }.to_string()).collect()
}

/// How rows name a suite of TLS 1.3, for programs and for people.
pub(crate) fn names_of(suite: CipherSuite) -> (&'static str, &'static str) {
    match suite.to_string().as_str() {
        "TLS_AES_128_GCM_SHA256" => ("aes128", "AES-128-GCM"),
        "TLS_AES_256_GCM_SHA384" => ("aes256", "AES-256-GCM"),
        _ => ("chacha20", "CHACHA20-POLY1305"),
    }
}
