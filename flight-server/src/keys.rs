//! `flight-server keys`: makes a root key, and tells and changes the keys in a file.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::PathBuf;

use anyhow::Context as _;
use clap::Subcommand;
use flight_keys::{Algorithm, Key, KeyFacts, KeyId, KeyState, KeyStore, RootKey};
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use crate::serve::ScheduleArgs;
use crate::service::now_ms;

/// Makes, lists, rotates and revokes the keys that sign tickets.
///
/// Running servers see a change of their --keys at their next look at it (--key-check).
#[derive(clap::Args, Debug)]
pub struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand, Debug)]
enum Command {
    /// Writes a new root key, for its owner alone; the file must not exist.
    Init {
        /// File to write.
        #[arg(long, value_name = "FILE", env = "FLIGHT_SERVER_ROOT_KEY")]
        root_key: PathBuf,
    },
    /// Lists the keys: what each does, and until when. No secret is shown.
    List(Files),
    /// Adds a key, which signs after --key-check.
    Rotate(Rotate),
    /// Erases a key: nothing that it signed is taken any more.
    ///
    /// Where no other key signs, a new one is made that signs at once.
    Revoke(Revoke),
}

#[derive(clap::Args, Debug)]
struct Files {
    /// File of the keys.
    #[arg(long, value_name = "FILE", env = "FLIGHT_SERVER_KEYS")]
    keys: PathBuf,

    /// File of the key that they are sealed under.
    #[arg(long, value_name = "FILE", env = "FLIGHT_SERVER_ROOT_KEY")]
    root_key: PathBuf,
}

#[derive(clap::Args, Debug)]
struct Rotate {
    #[command(flatten)]
    files: Files,

    /// What the key signs with: hmac, ed25519, es256 or rs256; default: as the newest there is, or
    /// hmac.
    #[arg(long, value_name = "ALGORITHM")]
    algorithm: Option<Algorithm>,

    #[command(flatten)]
    schedule: ScheduleArgs,
}

#[derive(clap::Args, Debug)]
struct Revoke {
    /// The key's id, as list prints it.
    #[arg(value_name = "ID")]
    id: KeyId,

    #[command(flatten)]
    files: Files,

    #[command(flatten)]
    schedule: ScheduleArgs,
}

/// # Errors
///
/// What keeps the files from being read or written.
pub fn run(args: Args) -> anyhow::Result<()> {
    match args.command {
        Command::Init { root_key } => {
            RootKey::create(&root_key).context("--root-key")?;
            print(&format!("{}: a new root key; keep a copy of it\n", root_key.display()))
        }
        Command::List(files) => print(&table(&files.open()?.ring().facts(now_ms()))),
        Command::Rotate(rotate) => {
            let (store, schedule) = (rotate.files.open()?, rotate.schedule.schedule()?);
            let now_ms = now_ms();
            store.update(|ring| {
                let newest = ring.facts(now_ms).last().map(|key| key.algorithm);
                let algorithm = rotate.algorithm.or(newest).unwrap_or(Algorithm::Hmac);
                ring.add(Key::generate(algorithm, schedule.announced(now_ms))?, now_ms)
            })?;
            print(&table(&store.ring().facts(now_ms)))
        }
        Command::Revoke(revoke) => {
            let (store, schedule) = (revoke.files.open()?, revoke.schedule.schedule()?);
            let now_ms = now_ms();
            store.update(|ring| {
                let algorithm = ring.verifier(revoke.id, now_ms).map(|key| key.algorithm());
                let algorithm = algorithm.unwrap_or(Algorithm::Hmac);
                ring.revoke(revoke.id)?;
                if ring.signer(algorithm, now_ms).is_some() {
                    return Ok(());
                }
                ring.add(Key::generate(algorithm, schedule.at_once(now_ms))?, now_ms)
            })?;
            print(&table(&store.ring().facts(now_ms)))
        }
    }
}

impl Files {
    fn open(&self) -> anyhow::Result<KeyStore> {
        let root = RootKey::read(&self.root_key).context("--root-key")?;
        KeyStore::open(self.keys.clone(), root).context("--keys")
    }
}

fn table(keys: &[KeyFacts]) -> String {
    let mut text = format!(
        "{:32}  {:9}  {:8}  {:20}  {:20}\n",
        "id", "algorithm", "state", "signs from", "taken until"
    );
    for key in keys {
        let state = match key.state {
            KeyState::Next => "next",
            KeyState::Signs => "signs",
            KeyState::Verifies => "verifies",
            KeyState::Expired => "expired",
            KeyState::Revoked => "revoked",
        };
        let (from, until) = (key.lifetime.signs_from_ms, key.lifetime.not_after_ms);
        let (id, algorithm, from, until) = (key.id, key.algorithm, date(from), date(until));
        writeln!(text, "{id}  {algorithm:9}  {state:8}  {from:20}  {until:20}")
            .expect("a String takes all text");
    }
    text
}

/// To the second, in UTC.
fn date(ms: u64) -> String {
    let seconds = i64::try_from(ms / 1000).ok();
    let date = seconds.and_then(|seconds| OffsetDateTime::from_unix_timestamp(seconds).ok());
    date.and_then(|date| date.format(&Rfc3339).ok()).unwrap_or_else(|| "never".to_owned())
}

fn print(text: &str) -> anyhow::Result<()> {
    std::io::stdout().write_all(text.as_bytes()).context("cannot write to stdout")
}
