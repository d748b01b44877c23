//! A set of certificates that are each to be refused, for tests of clients and servers.
//!
//! What is said about each stands in one table, from which the README of the set is written; the
//! tests of `flight-server` hold our own server and client to it.

mod make;

use std::fmt::Write as _;
use std::path::Path;
use std::time::SystemTime;

use crate::authority::{Authority, Issued};
use crate::error::PkiError;
use crate::files::{CERT_MODE, Draft, KEY_MODE, Written, refuse_existing, write_all};
use crate::host::Host;
use crate::key::KeyKind;
use crate::validity::{Life, Validity};
use make::{Ground, Made};

/// Under which `encrypted-key.key` is written.
const PASSWORD: &str = "flight";

/// One broken certificate of the set.
#[derive(Clone, Debug)]
pub struct Bad {
    /// Of its files: `NAME.pem` and `NAME.key`.
    pub name: &'static str,
    /// What is wrong with it.
    pub wrong: &'static str,
    /// What flight-server says when it is told to serve it.
    pub server: ByServer,
    /// What a client that trusts `ca.pem` says when it connects to `localhost`; `None` where no
    /// server can show it.
    pub client: Option<String>,
}

/// What flight-server says about a certificate; files are named without their folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ByServer {
    /// It does not start.
    Refuses(String),
    /// It starts, and warns.
    Warns(Vec<String>),
    /// It cannot see what is wrong.
    Serves,
}

/// An entry of the table. `{old}` and `{new}` stand for the days on which what is expired ended and
/// what is not yet valid begins.
struct Entry {
    name: &'static str,
    wrong: &'static str,
    server: Says,
    client: Option<&'static str>,
    make: fn(&Ground) -> Result<Made, PkiError>,
}

enum Says {
    Refuses(&'static str),
    Warns(&'static [&'static str]),
    Nothing,
}

const UNKNOWN: &str = "the server's certificate is not signed by an authority that this client \
    trusts; name the authority with --tls-ca FILE, trust exactly this certificate with --tls-pin \
    FILE, or verify nothing with --tls-insecure";
const AUTHORITY: &str = "the server's certificate is an authority's own, as plain `openssl req \
    -x509` makes it; trust exactly this one with --tls-pin FILE, or verify nothing with \
    --tls-insecure";
const SIGNATURE: &str = "a signature of the server does not verify: its certificate is from another \
    authority of the same name (give the present one with --tls-ca FILE), or it does not hold the \
    key of the certificate that it shows";
const EXPIRED: &str = "the server's certificate expired on {old}; renew it on the server, or set the \
    clock of this machine right";

const TABLE: &[Entry] = &[
    Entry {
        name: "expired",
        wrong: "Its time is over.",
        server: Says::Refuses(
            "the certificate of O=flight development, CN=localhost in expired.pem expired on {old}; \
             renew it",
        ),
        client: Some(EXPIRED),
        make: make::expired,
    },
    Entry {
        name: "not-yet-valid",
        wrong: "Its time has not come.",
        server: Says::Refuses(
            "the certificate of O=flight development, CN=localhost in not-yet-valid.pem is not \
             valid before {new}; wait, or set the clock of this machine right",
        ),
        client: Some(
            "the server's certificate is not valid before {new}; wait, or set the clock of this \
             machine right",
        ),
        make: make::not_yet_valid,
    },
    Entry {
        name: "wrong-host",
        wrong: "It is for other.example, not for localhost.",
        server: Says::Nothing,
        client: Some(
            "the server's certificate is for other.example, not for localhost; connect by such a \
             name, or expect one with --tls-server-name NAME",
        ),
        make: make::wrong_host,
    },
    Entry {
        name: "no-san",
        wrong: "It has a common name and no subject alternative name.",
        server: Says::Warns(&[
            "the certificate in no-san.pem names no host (subject alternative name), so many \
             clients refuse it unless they pin it (--tls-pin)",
        ]),
        client: Some(
            "the server's certificate names no host (subject alternative name), so not localhost \
             either; trust exactly this certificate with --tls-pin FILE",
        ),
        make: make::no_san,
    },
    Entry {
        name: "self-signed",
        wrong: "It signed itself, and ca.pem did not.",
        server: Says::Nothing,
        client: Some(UNKNOWN),
        make: make::self_signed,
    },
    Entry {
        name: "unknown-ca",
        wrong: "An authority that is not ca.pem signed it.",
        server: Says::Nothing,
        client: Some(UNKNOWN),
        make: make::unknown_ca,
    },
    Entry {
        name: "same-name-ca",
        wrong: "An authority with the name of ca.pem and another key signed it.",
        server: Says::Nothing,
        client: Some(SIGNATURE),
        make: make::same_name_ca,
    },
    Entry {
        name: "ca-as-server",
        wrong: "It is an authority's certificate (CA:TRUE) that poses as a server's.",
        server: Says::Warns(&[
            "the certificate in ca-as-server.pem is an authority's own (CA:TRUE), which many \
             clients refuse from a server unless they pin it (--tls-pin)",
        ]),
        client: Some(AUTHORITY),
        make: make::ca_as_server,
    },
    Entry {
        name: "client-only",
        wrong: "Its extended key usage is for clients.",
        server: Says::Refuses(
            "the certificate in client-only.pem is not meant for a server (extended key usage); \
             give one that is",
        ),
        client: Some(
            "the server's certificate is not meant for a server (extended key usage); have the \
             server use another, or trust exactly this one with --tls-pin FILE",
        ),
        make: make::client_only,
    },
    Entry {
        name: "wrong-key",
        wrong: "The key beside it is another's.",
        server: Says::Refuses(
            "the private key in wrong-key.key does not match the certificate in wrong-key.pem; \
             give the matching pair",
        ),
        client: Some(SIGNATURE),
        make: make::wrong_key,
    },
    Entry {
        name: "broken-signature",
        wrong: "The authority's signature on it was changed.",
        server: Says::Nothing,
        client: Some(SIGNATURE),
        make: make::broken_signature,
    },
    Entry {
        name: "missing-intermediate",
        wrong: "The intermediate that signed it is not in the file.",
        server: Says::Nothing,
        client: Some(UNKNOWN),
        make: make::missing_intermediate,
    },
    Entry {
        name: "wrong-order",
        wrong: "The intermediate stands before the server's certificate.",
        server: Says::Refuses(
            "the private key belongs to certificate 2 in wrong-order.pem, not to the first; put \
             the certificate of the server or client first, then those that signed it",
        ),
        client: Some(AUTHORITY),
        make: make::wrong_order,
    },
    Entry {
        name: "expired-intermediate",
        wrong: "The intermediate that signed it is over; it is not.",
        server: Says::Refuses(
            "the certificate of O=flight development, CN=flight development intermediate CA in \
             expired-intermediate.pem expired on {old}; renew it",
        ),
        client: Some(EXPIRED),
        make: make::expired_intermediate,
    },
    Entry {
        name: "name-constraints",
        wrong: "The intermediate that signed it may vouch for other.example alone.",
        server: Says::Nothing,
        client: Some(
            "the server's certificate is for a name that the authority above it may not vouch for \
             (name constraints); have the server use another, or trust exactly this one with \
             --tls-pin FILE",
        ),
        make: make::name_constraints,
    },
    Entry {
        name: "version-1",
        wrong: "It is X.509 version 1: no extensions, so no names.",
        server: Says::Warns(&[
            "the certificate in version-1.pem is X.509 version 1, which many clients refuse; use \
             one of version 3 with the server's names",
        ]),
        client: Some(
            "the server's certificate is X.509 version 1, which cannot be verified; have the \
             server use one of version 3 (flight-server certs makes such)",
        ),
        make: make::version_1,
    },
    Entry {
        name: "truncated",
        wrong: "The file ends in the middle of the certificate.",
        server: Says::Refuses(
            "truncated.pem is cut off: CERTIFICATE does not end; copy the whole file again",
        ),
        client: None,
        make: make::truncated,
    },
    Entry {
        name: "der",
        wrong: "The file holds DER, not PEM.",
        server: Says::Refuses(
            "der.pem is DER, not PEM; convert it: openssl x509 -inform DER -in der.pem -out \
             der.pem.pem",
        ),
        client: None,
        make: make::der,
    },
    Entry {
        name: "encrypted-key",
        wrong: "The key is encrypted; the password is in encrypted-key.password.",
        server: Says::Refuses(
            "the private key in encrypted-key.key is encrypted; give its password with \
             --tls-key-password-file FILE, or decrypt it into a file that only this user may read: \
             openssl pkey -in encrypted-key.key -out encrypted-key.key.new",
        ),
        client: None,
        make: make::encrypted_key,
    },
];

/// Writes one of each kind of broken certificate into `out`, the authority that a client is to trust
/// (`ca.pem`), a good pair to compare with, and a README; tells what was written and what is to be
/// said about each.
///
/// # Errors
/// When files are in the way and `force` is not given, or the folder cannot be written.
pub fn issue_bad(
    out: &Path,
    life: Life,
    force: bool,
    now: SystemTime,
) -> Result<(Vec<Written>, Vec<Bad>), PkiError> {
    let validity = Validity::lasting(now, life)?;
    let ground = Ground { root: Authority::new(validity)?, validity, hosts: Host::loopback() };
    let bad: Vec<_> = TABLE.iter().map(|entry| entry.told(validity)).collect();
    let mut drafts = vec![draft("README.md", readme(&bad), CERT_MODE, "what is wrong with each")];
    let what = "the authority that a client is to trust";
    drafts.push(draft("ca.pem", ground.root.cert_pem(), CERT_MODE, what));
    let good = ground.root.server(&ground.hosts, KeyKind::P256)?;
    drafts.extend(pair("good", good.into(), "a good server certificate, to compare with"));
    for entry in TABLE {
        drafts.extend(pair(entry.name, (entry.make)(&ground)?, entry.wrong));
    }
    let password = format!("{PASSWORD}\n");
    let what = "the password of encrypted-key.key";
    drafts.push(draft("encrypted-key.password", password, KEY_MODE, what));
    if !force {
        let names: Vec<_> = drafts.iter().map(|draft| draft.name.clone()).collect();
        refuse_existing(out, &names)?;
    }
    Ok((write_all(out, &drafts, force)?, bad))
}

impl Entry {
    fn told(&self, validity: Validity) -> Bad {
        let dated = |text: &str| {
            let (old, new) = (validity.past().not_after, validity.future().not_before);
            text.replace("{old}", &old.date().to_string()).replace("{new}", &new.date().to_string())
        };
        let server = match self.server {
            Says::Refuses(text) => ByServer::Refuses(dated(text)),
            Says::Warns(texts) => ByServer::Warns(texts.iter().map(|text| dated(text)).collect()),
            Says::Nothing => ByServer::Serves,
        };
        Bad { name: self.name, wrong: self.wrong, server, client: self.client.map(dated) }
    }
}

fn draft(name: &str, bytes: impl Into<Vec<u8>>, mode: u32, what: &str) -> Draft {
    Draft { name: name.to_owned(), bytes: bytes.into(), mode, what: what.to_owned() }
}

fn pair(name: &str, made: Made, what: &str) -> [Draft; 2] {
    let (cert, key) = (format!("{name}.pem"), format!("{name}.key"));
    let of_key = format!("private key of {cert}");
    [draft(&cert, made.cert, CERT_MODE, what), draft(&key, made.key, KEY_MODE, &of_key)]
}

const README_HEAD: &str = "# Certificates that are to be refused

Written by `flight-server certs --bad`. Each `NAME.pem` with its `NAME.key` has one fault and is right
in all else. `good` has none: a test that refuses it too refuses everything.

A client is to trust `ca.pem` and to connect to `localhost`. Most of what flight-server does not serve
can be shown to a client by OpenSSL, which minds only keys that do not fit:

```text
openssl s_server -accept 8815 -alpn h2 -cert NAME.pem -cert_chain NAME.pem -key NAME.key
flight-bench unary info grpc+tls://localhost:8815 --tls-ca ca.pem
```
";

fn readme(bad: &[Bad]) -> String {
    let mut text = README_HEAD.to_owned();
    for Bad { name, wrong, server, client } in bad {
        let served = match server {
            ByServer::Refuses(sentence) => format!("refuses it: {sentence}"),
            ByServer::Warns(sentences) => format!("serves it and warns: {}", sentences.join("; ")),
            ByServer::Serves => "serves it: the fault is for clients to see".to_owned(),
        };
        let client = match client {
            Some(sentence) => format!("says: {sentence}"),
            None => "never sees it: no server can show it".to_owned(),
        };
        write!(text, "\n## {name}\n\n{wrong}\n\n- flight-server {served}.\n- A client {client}.\n")
            .expect("writing to a string does not fail");
    }
    text
}

impl From<Issued> for Made {
    fn from(issued: Issued) -> Self {
        Self { cert: issued.cert_pem.into(), key: issued.key_pem.into() }
    }
}
