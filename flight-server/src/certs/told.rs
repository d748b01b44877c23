//! What is printed after certificates were written: the files, and how to use them.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use flight_pki::{Only, Plan, SignedBy, Written};

/// Names the files, and the commands that use them.
pub(super) fn report(
    plan: &Plan,
    password: Option<&Path>,
    written: &[Written],
    leftovers: &[PathBuf],
) -> String {
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
    use_of(plan, password, &mut text);
    text
}

fn use_of(plan: &Plan, password: Option<&Path>, text: &mut String) {
    let alone = matches!(plan.signed_by, SignedBy::Itself);
    let given = match &plan.signed_by {
        SignedBy::Given(given) | SignedBy::IntermediateOf(given) => Some(&given.file),
        _ => None,
    };
    let opening = match password {
        Some(file) => format!(" --tls-key-password-file {}", shell_word(file)),
        None => String::new(),
    };
    let pair = |stem: &str| {
        let file = |end: &str| shell_word(&plan.out.join(format!("{stem}.{end}")));
        format!("--tls-cert {} --tls-key {}{opening}", file("pem"), file("key"))
    };
    let server = plan.keys.first().map(|kind| format!("server-{}", kind.name()));
    let server = server.filter(|_| plan.only != Some(Only::Clients));
    let trusted_path = match (given, &server) {
        (Some(file), _) => file.clone(),
        (None, Some(server)) if alone => plan.out.join(format!("{server}.pem")),
        (None, _) => plan.out.join("ca.pem"),
    };
    let trusted = shell_word(&trusted_path);
    if let Some(server) = server {
        line(text, &format!("flight-server serve --data DIR {}", pair(&server)));
        line(text, &format!("flight-bench get grpc+tls://localhost:8815 --tls-ca {trusted}"));
        line(
            text,
            &format!(
                "python: pyarrow.flight.connect(\"grpc+tls://localhost:8815\", \
                 tls_root_certs=open({trusted_path:?}, \"rb\").read())"
            ),
        );
    }
    if !alone && plan.only != Some(Only::Servers) {
        let client = match plan.clients.first() {
            Some(name) => format!("client-{}", name.file_stem()),
            None => "client".to_owned(),
        };
        line(
            text,
            &format!(
                "mutual TLS: serve … --tls-client-ca {trusted}; flight-bench … {}",
                pair(&client)
            ),
        );
    }
}

pub(super) fn line(text: &mut String, line: &str) {
    writeln!(text, "{line}").expect("writing to a string does not fail");
}

/// `file` as a shell reads it back.
pub(super) fn shell_word(file: &Path) -> String {
    let word = file.display().to_string();
    let plain = |c: char| c.is_alphanumeric() || "/._-+".contains(c);
    if word.chars().all(plain) { word } else { format!("'{}'", word.replace('\'', r"'\''")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_report(plan: &Plan, leftovers: &[PathBuf], expected: &str) {
        let what = "server certificate".to_owned();
        let written = [Written { file: plan.out.join("server-ec.pem"), what }];
        assert_eq!(report(plan, None, &written, leftovers), expected);
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
            &Plan { signed_by: SignedBy::Itself, ..Plan::new("certs") },
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

    #[test]
    fn clients_and_passwords_are_told_too() {
        let plan = Plan {
            clients: vec!["flight://role/data".parse().unwrap()],
            only: Some(Only::Clients),
            ..Plan::new("certs")
        };
        assert_eq!(
            report(&plan, Some(Path::new("my secret")), &[], &[]),
            "\n\
             How to use them:\n\
             mutual TLS: serve … --tls-client-ca certs/ca.pem; flight-bench … \
             --tls-cert certs/client-flight-role-data.pem \
             --tls-key certs/client-flight-role-data.key --tls-key-password-file 'my secret'\n",
        );
    }
}
