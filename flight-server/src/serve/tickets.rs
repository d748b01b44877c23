//! The flags about tickets, what they mean together, and the keys while the server runs.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use clap::ValueEnum;
use flight_keys::{Algorithm, KeyStore, RootKey, Schedule, fingerprint};

use super::args::parse_duration;
use super::config::ConfigError;
use crate::service::{Tickets, now_ms};

#[derive(clap::Args, Debug)]
pub struct TicketArgs {
    /// Sign tickets with this algorithm, and take no others; or off.
    ///
    /// hmac is the fastest by far; who can verify it can sign. ed25519, es256 and rs256 sign with a
    /// private key. Reading needs a ticket of GetFlightInfo, uploads and deletions one of the action
    /// ticket.issue. With off whoever knows a dataset's name and version can write a ticket.
    #[arg(
        long,
        value_name = "ALGORITHM",
        env = "FLIGHT_SERVER_TICKETS",
        help_heading = "Tickets",
        default_value = "off"
    )]
    pub tickets: TicketMode,

    #[command(flatten)]
    pub schedule: ScheduleArgs,

    /// To whom a ticket is of use: none for whoever has it, mtls for the client certificate that
    /// asked for it alone.
    ///
    /// mtls needs --tls-client-ca.
    #[arg(
        long,
        value_name = "TO",
        env = "FLIGHT_SERVER_TICKET_BIND",
        help_heading = "Tickets",
        default_value = "none"
    )]
    pub ticket_bind: TicketBind,

    /// Name of the servers that take each other's tickets; they share --keys.
    #[arg(
        long,
        value_name = "NAME",
        env = "FLIGHT_SERVER_CLUSTER",
        help_heading = "Tickets",
        default_value = "default"
    )]
    pub cluster: String,

    /// File of the keys that sign, sealed under --root-key; made when missing.
    ///
    /// Several servers may share it. Without it keys are kept in memory: a ticket does not outlive
    /// the server. `flight-server keys` tells and changes what is in it.
    #[arg(
        long,
        value_name = "FILE",
        env = "FLIGHT_SERVER_KEYS",
        help_heading = "Tickets",
        requires = "root_key"
    )]
    pub keys: Option<PathBuf>,

    /// File of the key that --keys is sealed under, as `flight-server keys init` writes it.
    ///
    /// Who can read both files can sign. One that others may read is warned about.
    #[arg(
        long,
        value_name = "FILE",
        env = "FLIGHT_SERVER_ROOT_KEY",
        help_heading = "Tickets",
        requires = "keys"
    )]
    pub root_key: Option<PathBuf>,
}

/// How long tickets and keys are good for; of `serve` and of `keys`.
#[derive(clap::Args, Debug, Clone, Copy)]
pub struct ScheduleArgs {
    /// How long a ticket is good for.
    #[arg(long, value_name = "DURATION", env = "FLIGHT_SERVER_TICKET_TTL",
          help_heading = "Tickets", default_value = "5m", value_parser = parse_duration)]
    pub ticket_ttl: Duration,

    /// How far the clocks of servers that share keys may differ.
    ///
    /// A ticket is taken this long before and after its time.
    #[arg(long, value_name = "DURATION", env = "FLIGHT_SERVER_TICKET_SKEW",
          help_heading = "Tickets", default_value = "30s", value_parser = parse_duration)]
    pub ticket_skew: Duration,

    /// How long a key signs before the next one does.
    #[arg(long, value_name = "DURATION", env = "FLIGHT_SERVER_KEY_ROTATE",
          help_heading = "Tickets", default_value = "1h", value_parser = parse_duration)]
    pub key_rotate: Duration,

    /// How long what a key signed is taken.
    ///
    /// At least the sum of --ticket-ttl, --key-rotate, --ticket-skew and --key-check, so that no
    /// ticket outlives its key.
    #[arg(long, value_name = "DURATION", env = "FLIGHT_SERVER_KEY_VALID",
          help_heading = "Tickets", default_value = "3h", value_parser = parse_duration)]
    pub key_valid: Duration,

    /// How often --keys is looked at: a key that is revoked elsewhere is refused this much later at
    /// most.
    ///
    /// A new key signs only after this time, once all servers know it.
    #[arg(long, value_name = "DURATION", env = "FLIGHT_SERVER_KEY_CHECK",
          help_heading = "Tickets", default_value = "10s", value_parser = parse_duration)]
    pub key_check: Duration,
}

impl ScheduleArgs {
    /// # Errors
    ///
    /// Durations that contradict each other, by the names of their flags.
    pub(crate) fn schedule(&self) -> Result<Schedule, ConfigError> {
        let Self { ticket_ttl, ticket_skew, key_rotate, key_valid, key_check } = *self;
        Schedule::new(ticket_ttl, key_rotate, key_valid, ticket_skew, key_check)
            .map_err(ConfigError::Schedule)
    }
}

/// Whether and how tickets are signed.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub enum TicketMode {
    Off,
    Hmac,
    Ed25519,
    Es256,
    Rs256,
}

impl TicketMode {
    fn algorithm(self) -> Option<Algorithm> {
        match self {
            Self::Off => None,
            Self::Hmac => Some(Algorithm::Hmac),
            Self::Ed25519 => Some(Algorithm::Ed25519),
            Self::Es256 => Some(Algorithm::Es256),
            Self::Rs256 => Some(Algorithm::Rs256),
        }
    }
}

/// To whom a ticket is of use.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub enum TicketBind {
    None,
    Mtls,
}

/// Signed tickets as they were asked for.
#[derive(Debug, Clone)]
pub struct TicketConfig {
    algorithm: Algorithm,
    schedule: Schedule,
    bind: TicketBind,
    cluster: String,
    /// The file of keys and that of the root key.
    files: Option<(PathBuf, PathBuf)>,
}

impl TicketConfig {
    pub(super) fn new(args: TicketArgs, client_ca: bool) -> Result<Option<Self>, ConfigError> {
        let files = args.keys.zip(args.root_key);
        let Some(algorithm) = args.tickets.algorithm() else {
            if files.is_some() || args.ticket_bind == TicketBind::Mtls {
                return Err(ConfigError::UnusedKeys);
            }
            return Ok(None);
        };
        if args.ticket_bind == TicketBind::Mtls && !client_ca {
            return Err(ConfigError::NothingToBind);
        }
        let (schedule, cluster) = (args.schedule.schedule()?, args.cluster);
        Ok(Some(Self { algorithm, schedule, bind: args.ticket_bind, cluster, files }))
    }
}

/// Opens the keys and makes the first, if there is none.
///
/// # Errors
///
/// What is wrong with the files, naming the option.
pub(super) async fn start(config: TicketConfig) -> anyhow::Result<(Tickets, Keeper)> {
    let TicketConfig { algorithm, schedule, bind, cluster, files } = config;
    let keys = match files {
        None => KeyStore::in_memory(),
        Some((keys, root)) => {
            if let Some(warning) = RootKey::warning(&root) {
                tracing::warn!("{warning}");
            }
            let root = RootKey::read(&root).context("--root-key")?;
            KeyStore::open(keys, root).context("--keys")?
        }
    };
    let keeper = Keeper { keys: Arc::new(keys), schedule, algorithm };
    keeper.look().await.context("--keys")?;
    let audience = fingerprint(cluster.as_bytes());
    let audience = audience.first_chunk().copied().expect("SHA-256 has 32 bytes");
    let (keys, bound) = (Arc::clone(&keeper.keys), bind == TicketBind::Mtls);
    Ok((Tickets::new(keys, schedule, algorithm, audience, bound), keeper))
}

/// Looks after the keys: takes what others changed, and makes the next one in time.
pub(super) struct Keeper {
    keys: Arc<KeyStore>,
    schedule: Schedule,
    algorithm: Algorithm,
}

impl Keeper {
    /// Looks every `--key-check`, counted from the end of the last look.
    pub(super) async fn run(self) {
        loop {
            tokio::time::sleep(self.schedule.check()).await;
            if let Err(error) = self.look().await {
                tracing::error!("the keys stay as they were: {error:#}");
            }
        }
    }

    async fn look(&self) -> anyhow::Result<()> {
        let (keys, schedule, algorithm) = (Arc::clone(&self.keys), self.schedule, self.algorithm);
        let look = move || {
            let changed = keys.refresh()?;
            let made = keys.rotate_if_due(&schedule, algorithm, now_ms())?;
            Ok::<_, flight_keys::KeyError>((changed, made))
        };
        let (changed, made) = tokio::task::spawn_blocking(look).await??;
        if changed {
            tracing::info!("the keys of tickets were changed elsewhere");
        }
        if made {
            tracing::info!(%algorithm, "a new key for tickets was made");
        }
        Ok(())
    }
}
