//! Findings as text, within 100 columns.

use std::fmt::Write as _;

use super::findings::{By, Certificate, Connection, Findings, Judged, Key, Serving};

const COLUMNS: usize = 100;
/// Where values begin.
const INDENT: usize = 17;
/// Names of one certificate that are shown; JSON has them all.
const NAMES_SHOWN: usize = 20;

pub(super) fn text(findings: &Findings) -> String {
    let mut text = format!("{}\n", findings.source);
    if let Some(connection) = &findings.connection {
        connected(&mut text, connection);
    }
    for (index, cert) in findings.certificates.iter().enumerate() {
        certificate(&mut text, index + 1, cert);
    }
    if let Some(found) = &findings.key {
        text.push('\n');
        row(&mut text, "private key", &key(found, !findings.certificates.is_empty()));
    }
    text.push('\n');
    if let Some(serving) = &findings.serving {
        served(&mut text, serving);
    }
    if let Some(judged) = &findings.verdict {
        verdict(&mut text, judged, findings.certificates.len());
    }
    text.trim_end().to_owned() + "\n"
}

fn connected(text: &mut String, connection: &Connection) {
    match (&connection.handshake, &connection.failure) {
        (Some(handshake), _) => {
            row(text, "handshake", handshake);
            row(text, "protocol", connection.protocol.as_deref().unwrap_or("none chosen (ALPN)"));
        }
        (None, Some(failure)) => row(text, "handshake", &format!("failed: {failure}")),
        (None, None) => {}
    }
    let asks = if connection.asks_for_client_certificate { "asked for" } else { "not asked for" };
    row(text, "client's", &format!("certificate {asks}"));
}

fn certificate(text: &mut String, position: usize, cert: &Certificate) {
    write!(text, "\ncertificate {position}\n").expect("writing to a string does not fail");
    row(text, "subject", &cert.subject);
    row(text, "issuer", &cert.issuer);
    row(text, "names", &names(&cert.names));
    let valid = format!("{} to {}, {}", cert.not_before, cert.not_after, left(cert));
    row(text, "valid", &valid);
    row(text, "key", &cert.key);
    row(text, "signature", &cert.signature);
    row(text, "authority", if cert.authority { "yes (CA:TRUE)" } else { "no" });
    let purposes = match cert.purposes.is_empty() {
        true => "anything".to_owned(),
        false => cert.purposes.join(", "),
    };
    row(text, "good for", &purposes);
    if cert.x509_version != 3 {
        row(text, "X.509 version", &cert.x509_version.to_string());
    }
    row(text, "SHA-256", &cert.sha256);
}

fn names(names: &[String]) -> String {
    if names.is_empty() {
        return "none".to_owned();
    }
    let shown = names.iter().take(NAMES_SHOWN).map(String::as_str).collect::<Vec<_>>().join(", ");
    match names.len().checked_sub(NAMES_SHOWN) {
        Some(more @ 1..) => format!("{shown} and {more} more"),
        _ => shown,
    }
}

fn left(cert: &Certificate) -> String {
    if 0 < cert.seconds_until_valid {
        return format!("begins in {}", span(cert.seconds_until_valid));
    }
    match cert.seconds_left {
        left @ 0.. => format!("{} left", span(left)),
        past => format!("expired {} ago", span(past.saturating_neg())),
    }
}

/// A span in its largest unit, so that what counts is seen.
fn span(seconds: i64) -> String {
    let units = [(86_400, "day"), (3_600, "hour"), (60, "minute")];
    // Two of a unit at least: `36 hours` says more than `1 day`.
    let unit = units.into_iter().find(|(size, _)| 2 * size <= seconds);
    let (size, name) = unit.unwrap_or((1, "second"));
    let count = seconds / size;
    if count == 1 { format!("1 {name}") } else { format!("{count} {name}s") }
}

fn key(key: &Key, beside_certificates: bool) -> String {
    let (Some(form), Some(kind)) = (key.form, &key.key) else {
        return "encrypted; its password is given with --key-password-file FILE".to_owned();
    };
    let of = match key.of_certificate {
        Some(position) => format!(", of certificate {position}"),
        None if beside_certificates => ", of none of these certificates".to_owned(),
        None => String::new(),
    };
    format!("{kind}, {form}{of}")
}

fn served(text: &mut String, serving: &Serving) {
    let said = match (&serving.refused, serving.warnings.is_empty()) {
        (Some(why), _) => format!("refuses it: {why}"),
        (None, true) => "serves it".to_owned(),
        (None, false) => format!("serves it and warns: {}", serving.warnings.join("; ")),
    };
    row(text, "flight-server", &said);
}

fn verdict(text: &mut String, judged: &Judged, certificates: usize) {
    let trusting = judged.trusting.as_deref().unwrap_or("this machine's authorities");
    let (label, who) = match (judged.by, &judged.name) {
        (By::Client, Some(name)) => {
            ("client", format!("connecting to {name} and trusting {trusting}"))
        }
        (By::Client, None) => ("client", format!("trusting {trusting}")),
        (By::Server, _) => ("server", format!("whose --tls-client-ca is {trusting}")),
        (By::Dates, _) => {
            let many = if certificates == 1 { "an authority" } else { "authorities" };
            ("--tls-ca", format!("as {many} that a client trusts"))
        }
    };
    let outcome = match &judged.why {
        None => "accepted".to_owned(),
        Some(why) => format!("refused: {why}"),
    };
    row(text, label, &format!("{who}: {outcome}"));
}

/// A label and its value, broken between words; a word that is longer than a line stays whole.
fn row(text: &mut String, label: &str, value: &str) {
    let mut line = format!("  {label:width$}", width = INDENT - 2);
    let mut filled = INDENT;
    for (index, word) in value.split(' ').enumerate() {
        let width = word.chars().count();
        if 0 < index && COLUMNS < filled + 1 + width {
            line.push('\n');
            line.push_str(&" ".repeat(INDENT));
            filled = INDENT;
        } else if 0 < index {
            line.push(' ');
            filled += 1;
        }
        line.push_str(word);
        filled += width;
    }
    text.push_str(line.trim_end());
    text.push('\n');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_are_told_in_a_unit_of_which_there_are_two() {
        let check = |seconds, expected: &str| assert_eq!(span(seconds), expected);
        check(0, "0 seconds");
        check(1, "1 second");
        check(119, "119 seconds");
        check(120, "2 minutes");
        check(7_199, "119 minutes");
        check(7_200, "2 hours");
        check(172_799, "47 hours");
        check(172_800, "2 days");
        check(i64::MAX, "106751991167300 days");
    }

    #[test]
    fn long_values_are_broken_between_words() {
        let mut text = String::new();
        row(&mut text, "names", &"word ".repeat(40));
        assert!(text.lines().all(|line| line.len() <= COLUMNS), "{text}");
        assert!(text.lines().skip(1).all(|line| line.starts_with(&" ".repeat(INDENT))), "{text}");
        assert_eq!(text.split_whitespace().count(), 41);
    }

    #[test]
    fn of_many_names_the_first_are_shown() {
        let many: Vec<_> = (0..23).map(|n| format!("h{n}")).collect();
        assert!(names(&many).ends_with("h18, h19 and 3 more"));
        assert!(names(&many[..20]).ends_with("h18, h19"));
        assert_eq!(names(&[]), "none");
    }
}
