//! `flight-server certs`: writes development certificates, good ones or bad ones, and inspects others.
//!
//! What is in them is decided in `flight-pki`, what others say about them in `flight-tls`.

mod bad;
mod inspect;
mod told;

use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, SystemTime};

use anyhow::Context as _;
use flight_pki::limits::{DAYS_DEFAULT, DAYS_MAX};
use flight_pki::{
    ClientName, GivenAuthority, Host, KeyForm, KeyKind, Life, Only, Password, Plan, SignedBy,
    issue, leftovers,
};
use flight_tls::{KeyPassword, read_certificates, read_private_key};
use indicatif::ProgressBar;

const TICK: Duration = Duration::from_millis(100);

/// Writes certificates for development: an authority, servers and clients; inspects others.
///
/// ca.pem is what clients trust (ca.key signs; serve does not need it). Each kind of key gives a
/// pair server-KIND.pem and server-KIND.key; client.pem and client.key are for mutual TLS. Keys are
/// readable by their owner only.
#[derive(Debug, Clone, clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct Args {
    #[command(subcommand)]
    pub command: Option<Command>,

    /// Folder to write to; made when missing.
    #[arg(long, value_name = "DIR", default_value = "certs", env = "FLIGHT_SERVER_CERTS_OUT")]
    pub out: PathBuf,

    /// Kind of key of a server certificate: ec, p384, rsa, rsa2048 or ed25519; several allowed.
    ///
    /// ec is P-256, rsa has 4096 bits. Each kind gives a server certificate of its own.
    #[arg(
        long,
        value_name = "KIND",
        value_delimiter = ',',
        default_values = ["ec", "rsa"],
        env = "FLIGHT_SERVER_CERTS_KEY"
    )]
    pub key: Vec<KeyKind>,

    /// Name or address that servers answer to, besides localhost, 127.0.0.1 and ::1.
    ///
    /// A DNS name (*.example.com covers one level) or an IP address; may be given several times.
    #[arg(long, value_name = "NAME", value_delimiter = ',', env = "FLIGHT_SERVER_CERTS_HOST")]
    pub host: Vec<Host>,

    /// Name of a client, which gets client-NAME.pem; may be given several times.
    ///
    /// A URI (flight://role/data), a DNS name or an address stands in the certificate as a
    /// subject alternative name and as the common name, other text as the common name alone.
    /// Without any, client.pem is made.
    #[arg(long, value_name = "NAME", env = "FLIGHT_SERVER_CERTS_CLIENT")]
    pub client: Vec<ClientName>,

    /// Kind of key of the clients' certificates; kinds as for --key.
    #[arg(long, value_name = "KIND", default_value = "ec", env = "FLIGHT_SERVER_CERTS_CLIENT_KEY")]
    pub client_key: KeyKind,

    /// Makes servers' certificates alone, or clients'.
    ///
    /// With --ca, one end's certificates are renewed and the other's stay.
    #[arg(
        long,
        value_name = "END",
        conflicts_with = "self_signed",
        env = "FLIGHT_SERVER_CERTS_ONLY"
    )]
    pub only: Option<End>,

    /// Puts an intermediate authority between the authority and all other certificates.
    ///
    /// Files of servers and clients then hold their chain: the certificate, then intermediate.pem.
    #[arg(long, conflicts_with = "self_signed", env = "FLIGHT_SERVER_CERTS_INTERMEDIATE")]
    pub intermediate: bool,

    /// Signs with an authority that exists: its certificate, or a folder with ca.pem and ca.key.
    ///
    /// The key is beside the certificate, under the same name with .key. No certificate holds
    /// longer than its authority. An intermediate is taken too. Without --ca a new authority is
    /// made.
    #[arg(
        long,
        value_name = "DIR|FILE",
        conflicts_with_all = ["self_signed", "ca_key"],
        env = "FLIGHT_SERVER_CERTS_CA"
    )]
    pub ca: Option<PathBuf>,

    /// Kind of key of the authorities; kinds as for --key, ec when not given.
    #[arg(
        long,
        value_name = "KIND",
        conflicts_with = "self_signed",
        env = "FLIGHT_SERVER_CERTS_CA_KEY"
    )]
    pub ca_key: Option<KeyKind>,

    /// Days until the certificates expire, 1 to 3650.
    #[arg(
        long,
        value_name = "N",
        default_value_t = DAYS_DEFAULT,
        value_parser = clap::value_parser!(u32).range(1..=i64::from(DAYS_MAX)),
        env = "FLIGHT_SERVER_CERTS_DAYS"
    )]
    pub days: u32,

    /// Time until the certificates expire, in place of --days: 90s, 30m, 12h or 30d.
    ///
    /// Short ones are for tests of renewal. They begin an hour in the past all the same.
    #[arg(long, value_name = "TIME", conflicts_with = "days", env = "FLIGHT_SERVER_CERTS_VALID")]
    pub valid: Option<Life>,

    /// Form of the keys: pkcs8, pkcs1 (RSA alone) or sec1 (EC alone).
    ///
    /// It is for the servers' keys. Those of authorities and clients are PKCS#8 where their kind
    /// has no such form.
    #[arg(
        long,
        value_name = "FORM",
        default_value = "pkcs8",
        env = "FLIGHT_SERVER_CERTS_KEY_FORMAT"
    )]
    pub key_format: KeyForm,

    /// File whose first line is a password under which all keys are written.
    ///
    /// PBES2 with PBKDF2 and AES-256. With --ca it is also the one that opens the authority's key.
    #[arg(long, value_name = "FILE", env = "FLIGHT_SERVER_CERTS_KEY_PASSWORD_FILE")]
    pub key_password_file: Option<PathBuf>,

    /// Makes servers that are their own authority; no ca.pem, no client.
    ///
    /// Clients then trust the server's certificate itself.
    #[arg(long, conflicts_with = "client", env = "FLIGHT_SERVER_CERTS_SELF_SIGNED")]
    pub self_signed: bool,

    /// Writes one of each kind of broken certificate instead, to bad/ below --out or to DIR.
    ///
    /// Expired, for another host, in the wrong order and so on, with a README.md that says what is
    /// wrong with each and what a good client says. For tests of clients and servers.
    #[arg(
        long,
        value_name = "DIR",
        num_args = 0..=1,
        conflicts_with_all = [
            "key", "host", "client", "client_key", "only", "intermediate", "ca", "ca_key",
            "key_format", "key_password_file", "self_signed",
        ],
        env = "FLIGHT_SERVER_CERTS_BAD"
    )]
    pub bad: Option<Option<PathBuf>>,

    /// Replaces files that exist.
    ///
    /// Without --ca a new authority is made, so clients need the new ca.pem.
    #[arg(long, env = "FLIGHT_SERVER_CERTS_FORCE")]
    pub force: bool,
}

/// What else can be done with certificates.
#[derive(Debug, Clone, clap::Subcommand)]
pub enum Command {
    Inspect(inspect::Args),
}

/// One end of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum End {
    Servers,
    Clients,
}

/// Writes the certificates and prints to standard output what they are and how to use them, or
/// inspects what is there.
///
/// # Errors
/// When files are in the way and `--force` is not given, the folder cannot be written, or what is to
/// be read will not do.
pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    if let Some(Command::Inspect(args)) = &args.command {
        return inspect::run(args);
    }
    let text = match &args.bad {
        Some(folder) => bad::write(args, folder.as_deref())?,
        None => write(args)?,
    };
    io::stdout().write_all(text.as_bytes()).context("standard output")?;
    Ok(ExitCode::SUCCESS)
}

fn write(args: &Args) -> anyhow::Result<String> {
    let opened = match &args.key_password_file {
        None => None,
        Some(file) => Some(KeyPassword::read(file).context("--key-password-file")?),
    };
    let plan = plan(args, opened.as_ref())?;
    // Drawn on a terminal only.
    let spinner = ProgressBar::new_spinner().with_message("making keys; RSA takes some seconds");
    spinner.enable_steady_tick(TICK);
    let written = issue(&plan, SystemTime::now());
    spinner.finish_and_clear();
    let text = told::report(&plan, args.key_password_file.as_deref(), &written?, &leftovers(&plan));
    Ok(text)
}

/// What the flags mean together.
fn plan(args: &Args, password: Option<&KeyPassword>) -> anyhow::Result<Plan> {
    let signed_by = match &args.ca {
        _ if args.self_signed => SignedBy::Itself,
        Some(place) => {
            let given = given(place, password).context("--ca")?;
            match args.intermediate {
                true => SignedBy::IntermediateOf(given),
                false => SignedBy::Given(given),
            }
        }
        None if args.intermediate => SignedBy::Intermediate,
        None => SignedBy::Root,
    };
    Ok(Plan {
        out: args.out.clone(),
        keys: args.key.clone(),
        hosts: args.host.clone(),
        clients: args.client.clone(),
        ca_key: args.ca_key.unwrap_or(KeyKind::P256),
        client_key: args.client_key,
        only: args.only.map(|end| match end {
            End::Servers => Only::Servers,
            End::Clients => Only::Clients,
        }),
        life: life(args)?,
        signed_by,
        key_form: args.key_format,
        password: password.map(|password| Password::new(password.bytes())),
        force: args.force,
    })
}

fn life(args: &Args) -> anyhow::Result<Life> {
    Ok(match args.valid {
        Some(life) => life,
        None => Life::days(args.days)?,
    })
}

/// The authority at `place`, a certificate or a folder that holds ca.pem.
fn given(place: &Path, password: Option<&KeyPassword>) -> anyhow::Result<GivenAuthority> {
    let file = if place.is_dir() { place.join("ca.pem") } else { place.to_owned() };
    let certs = read_certificates(&file)?;
    let key = read_private_key(&file.with_extension("key"), password)?;
    Ok(GivenAuthority { file, certs, key })
}

#[cfg(test)]
mod tests {
    use clap::Parser;
    use flight_tls::{ClientIdentity, ServerIdentity};
    use tempfile::TempDir;

    use super::*;

    #[derive(Parser)]
    struct Cli {
        #[command(flatten)]
        args: Args,
    }

    fn parse(line: &str) -> Result<Args, String> {
        let words = std::iter::once("certs").chain(line.split_whitespace());
        match Cli::try_parse_from(words) {
            Ok(cli) => Ok(cli.args),
            Err(error) => Err(error.to_string()),
        }
    }

    /// Arguments that write to `folder`, with keys that are made fast.
    fn into(folder: &TempDir, line: &str) -> Args {
        let out = folder.path().join("certs");
        Args { out, ..parse(&format!("--key ec {line}")).unwrap() }
    }

    fn check_refused(line: &str, sentence: &str) {
        let error = parse(line).unwrap_err();
        assert!(error.contains(sentence), "{error}");
    }

    #[test]
    fn defaults_are_an_ec_and_an_rsa_server_for_a_year_in_certs() {
        let args = parse("").unwrap();
        assert_eq!(args.out, Path::new("certs"));
        assert_eq!(args.key, [KeyKind::P256, KeyKind::Rsa4096]);
        assert_eq!((args.days, args.self_signed, args.force), (365, false, false));
        assert_eq!((args.valid, args.key_format), (None, KeyForm::Pkcs8));
        assert!(args.client.is_empty() && args.ca.is_none() && args.bad.is_none());
        assert!(args.host.is_empty());
    }

    #[test]
    fn kinds_and_hosts_are_repeated_or_listed() {
        let args = parse("--key p384 --key rsa2048,ed25519 --host db --host 10.0.0.7,db2").unwrap();
        assert_eq!(args.key, [KeyKind::P384, KeyKind::Rsa2048, KeyKind::Ed25519]);
        let hosts: Vec<_> = args.host.iter().map(Host::to_string).collect();
        assert_eq!(hosts, ["db", "10.0.0.7", "db2"]);
    }

    #[test]
    fn wrong_values_are_refused_with_what_is_allowed() {
        check_refused("--key dsa", "unknown key kind 'dsa'; the known ones are ec, p384, rsa");
        check_refused("--host db:8815", "'db:8815' is neither a DNS name nor an IP address");
        check_refused("--days 0", "0 is not in 1..=3650");
        check_refused("--days 3651", "3651 is not in 1..=3650");
        check_refused("--valid 90", "'90' is not how long a certificate is valid");
        check_refused(
            "--client a://",
            "client name 'a://' is no URI that a certificate could hold",
        );
        check_refused("--key-format pem", "unknown key format 'pem'; the known ones are pkcs8,");
        check_refused("--only ca", "[possible values: servers, clients]");
    }

    #[test]
    fn flags_that_contradict_each_other_are_refused() {
        for line in [
            "--days 3 --valid 3d",
            "--self-signed --ca certs",
            "--self-signed --intermediate",
            "--self-signed --client ann",
            "--ca certs --ca-key rsa",
            "--bad --ca certs",
            "--bad bad --client ann",
        ] {
            check_refused(line, "cannot be used with");
        }
        check_refused("--out certs inspect a.pem", "cannot be used with");
    }

    #[test]
    fn what_is_written_can_be_served_and_shown() {
        let folder = TempDir::new().unwrap();
        let args = into(&folder, "--host db.example");
        run(&args).unwrap();
        let file = |name: &str| args.out.join(name);
        let server = ServerIdentity::load(&file("server-ec.pem"), &file("server-ec.key")).unwrap();
        assert!(server.warnings().is_empty());
        ClientIdentity::load(&file("client.pem"), &file("client.key")).unwrap();
    }

    #[test]
    fn a_second_run_needs_force() {
        let folder = TempDir::new().unwrap();
        let args = into(&folder, "");
        run(&args).unwrap();
        let error = run(&args).unwrap_err().to_string();
        assert!(error.contains("certs/ca.pem") && error.contains("--force"), "{error}");
        run(&Args { force: true, ..args }).unwrap();
    }
}
