//! `flight-server certs`: writes development certificates and says how to use them.
//!
//! What is in them is decided in `flight-pki`.

use std::fmt::Write as _;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use anyhow::Context as _;
use flight_pki::limits::{DAYS_DEFAULT, DAYS_MAX};
use flight_pki::{Host, KeyKind, Plan, Written, issue, leftovers};
use indicatif::ProgressBar;

const TICK: Duration = Duration::from_millis(100);

/// Writes certificates for development: an authority, servers and a client.
///
/// ca.pem is what clients trust (ca.key signs; serve does not need it). Each kind of key gives a
/// pair server-KIND.pem and server-KIND.key; client.pem and client.key are for mutual TLS. Keys are
/// readable by their owner only.
#[derive(Debug, Clone, clap::Args)]
pub struct Args {
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

    /// Days until the certificates expire, 1 to 3650.
    #[arg(
        long,
        value_name = "N",
        default_value_t = DAYS_DEFAULT,
        value_parser = clap::value_parser!(u32).range(1..=i64::from(DAYS_MAX)),
        env = "FLIGHT_SERVER_CERTS_DAYS"
    )]
    pub days: u32,

    /// Makes servers that are their own authority; no ca.pem, no client.
    ///
    /// Clients then trust the server's certificate itself.
    #[arg(long, env = "FLIGHT_SERVER_CERTS_SELF_SIGNED")]
    pub self_signed: bool,

    /// Replaces files that exist.
    ///
    /// A new authority is made, so clients need the new ca.pem.
    #[arg(long, env = "FLIGHT_SERVER_CERTS_FORCE")]
    pub force: bool,
}

/// Writes the certificates and prints to standard output what they are and how to use them.
///
/// # Errors
/// When files are in the way and `--force` is not given, or the folder cannot be written.
pub fn run(args: &Args) -> anyhow::Result<()> {
    let plan = Plan {
        out: args.out.clone(),
        keys: args.key.clone(),
        hosts: args.host.clone(),
        days: args.days,
        self_signed: args.self_signed,
        force: args.force,
    };
    // Drawn on a terminal only.
    let spinner = ProgressBar::new_spinner().with_message("making keys; RSA takes some seconds");
    spinner.enable_steady_tick(TICK);
    let written = issue(&plan, SystemTime::now());
    spinner.finish_and_clear();
    let report = report(&plan, &written?, &leftovers(&plan));
    io::stdout().write_all(report.as_bytes()).context("standard output")
}

fn report(plan: &Plan, written: &[Written], leftovers: &[PathBuf]) -> String {
    let mut text = String::new();
    for Written { file, what } in written {
        line(&mut text, &format!("{}: {what}", file.display()));
    }
    if !leftovers.is_empty() {
        line(&mut text, "\nLeft from an earlier run, of no use with the new ones:");
        for file in leftovers {
            line(&mut text, &file.display().to_string());
        }
    }
    line(&mut text, "\nHow to use them:");
    let file = |name: &str| shell_word(&plan.out.join(name));
    let server = format!("server-{}", plan.keys[0].name());
    let (cert, key) = (file(&format!("{server}.pem")), file(&format!("{server}.key")));
    let trusted_name = if plan.self_signed { format!("{server}.pem") } else { "ca.pem".to_owned() };
    let trusted_path = plan.out.join(&trusted_name);
    let trusted = shell_word(&trusted_path);
    line(&mut text, &format!("flight-server serve --data DIR --tls-cert {cert} --tls-key {key}"));
    line(&mut text, &format!("flight-bench get grpc+tls://localhost:8815 --tls-ca {trusted}"));
    line(
        &mut text,
        &format!(
            "python: pyarrow.flight.connect(\"grpc+tls://localhost:8815\", \
             tls_root_certs=open({trusted_path:?}, \"rb\").read())"
        ),
    );
    if !plan.self_signed {
        let (cert, key) = (file("client.pem"), file("client.key"));
        line(
            &mut text,
            &format!(
                "mutual TLS: serve … --tls-client-ca {trusted}; \
                 flight-bench … --tls-cert {cert} --tls-key {key}"
            ),
        );
    }
    text
}

fn line(text: &mut String, line: &str) {
    writeln!(text, "{line}").expect("writing to a string does not fail");
}

/// `file` as a shell reads it back.
fn shell_word(file: &Path) -> String {
    let word = file.display().to_string();
    let plain = |c: char| c.is_alphanumeric() || "/._-+".contains(c);
    if word.chars().all(plain) { word } else { format!("'{}'", word.replace('\'', r"'\''")) }
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

    fn check_report(plan: &Plan, leftovers: &[PathBuf], expected: &str) {
        let what = "server certificate".to_owned();
        let written = [Written { file: plan.out.join("server-ec.pem"), what }];
        assert_eq!(report(plan, &written, leftovers), expected);
    }

    #[test]
    fn the_report_says_how_to_serve_and_trust() {
        check_report(
            &Plan::new("certs"),
            &[],
            "certs/server-ec.pem: server certificate\n\
             \n\
             How to use them:\n\
             flight-server serve --data DIR --tls-cert certs/server-ec.pem \
             --tls-key certs/server-ec.key\n\
             flight-bench get grpc+tls://localhost:8815 --tls-ca certs/ca.pem\n\
             python: pyarrow.flight.connect(\"grpc+tls://localhost:8815\", \
             tls_root_certs=open(\"certs/ca.pem\", \"rb\").read())\n\
             mutual TLS: serve … --tls-client-ca certs/ca.pem; \
             flight-bench … --tls-cert certs/client.pem --tls-key certs/client.key\n",
        );
    }

    #[test]
    fn a_self_signed_server_is_trusted_by_its_own_certificate() {
        check_report(
            &Plan { self_signed: true, ..Plan::new("certs") },
            &[PathBuf::from("certs/ca.pem")],
            "certs/server-ec.pem: server certificate\n\
             \n\
             Left from an earlier run, of no use with the new ones:\n\
             certs/ca.pem\n\
             \n\
             How to use them:\n\
             flight-server serve --data DIR --tls-cert certs/server-ec.pem \
             --tls-key certs/server-ec.key\n\
             flight-bench get grpc+tls://localhost:8815 --tls-ca certs/server-ec.pem\n\
             python: pyarrow.flight.connect(\"grpc+tls://localhost:8815\", \
             tls_root_certs=open(\"certs/server-ec.pem\", \"rb\").read())\n",
        );
    }

    #[test]
    fn paths_with_blanks_are_quoted() {
        assert_eq!(shell_word(Path::new("my certs/ca.pem")), "'my certs/ca.pem'");
        assert_eq!(shell_word(Path::new("it's")), r"'it'\''s'");
        assert_eq!(shell_word(Path::new("/tmp/a-b_c.pem")), "/tmp/a-b_c.pem");
    }
}
