//! What every call carries: `--header` and `--token-file`.
//!
//! Values are secrets until somebody says otherwise: no sentence of here has one in it.

use std::path::Path;

use flight_net::Endpoint;
use http::header::{AUTHORIZATION, CONTENT_TYPE, TE};
use http::{HeaderMap, HeaderName, HeaderValue};

use crate::cli::{Follow, TargetArgs};
use crate::exit::Stop;
use crate::limits::METADATA_BYTES_MAX;

/// # Errors
///
/// One sentence, exit code 2: there is no TARGET, a header is none or is gRPC's own, a file cannot be
/// read, the token would go over the network in clear, or all together are too large.
pub(super) fn metadata(args: &TargetArgs) -> Result<HeaderMap, Stop> {
    let mut all = HeaderMap::new();
    if args.header.is_empty() && args.token_file.is_none() {
        return Ok(all);
    }
    let Some(endpoint) = &args.target else {
        return Err(Stop::usage(
            "--header and --token-file are for a TARGET; the server of this run wants neither",
        ));
    };
    for (index, header) in args.header.iter().enumerate() {
        let (name, value) = header_of(header, index)?;
        all.append(name, value);
    }
    if let Some(file) = &args.token_file {
        if all.contains_key(AUTHORIZATION) {
            return Err(Stop::usage(
                "--token-file and --header 'authorization: …' are the same; leave one of them out",
            ));
        }
        if !is_private(endpoint) {
            return Err(Stop::usage(format!(
                "--token-file: TARGET {endpoint} is plaintext, and anyone on the way could read the \
                 token; write grpc+tls://HOST:PORT"
            )));
        }
        let token = read("--token-file", file)?;
        all.insert(AUTHORIZATION, secret("--token-file", &format!("Bearer {token}"))?);
    }
    let bytes: usize = all.iter().map(|(name, value)| name.as_str().len() + value.len()).sum();
    if bytes > METADATA_BYTES_MAX {
        return Err(Stop::usage(format!(
            "--header and --token-file are {bytes} bytes together; servers take about \
             {METADATA_BYTES_MAX}"
        )));
    }
    Ok(all)
}

/// Refuses to show what every call carries to whomever a server names.
///
/// # Errors
///
/// Any place is followed, and nothing proves who the server is that names it.
pub(super) fn check_places(
    metadata: &HeaderMap,
    follow: Follow,
    is_verified: bool,
) -> Result<(), Stop> {
    if metadata.is_empty() || follow != Follow::Always || is_verified {
        return Ok(());
    }
    Err(Stop::usage(
        "--follow-locations always would send --header and --token-file to any host that a server \
         names, whoever that is; verify servers over TLS, or follow no other host with same",
    ))
}

/// The name and value of `NAME: VALUE`, which is the `index`th of its kind.
fn header_of(text: &str, index: usize) -> Result<(HeaderName, HeaderValue), Stop> {
    let flag = format!("--header number {}", index + 1);
    let Some((name, value)) = text.split_once(':') else {
        return Err(Stop::usage(format!("{flag} has no colon; write 'NAME: VALUE'")));
    };
    let name: HeaderName = name.trim().parse().map_err(|_| {
        Stop::usage(format!(
            "{flag} has no name of letters, digits, '-', '_' and '.' before its colon"
        ))
    })?;
    let flag = format!("--header {name}");
    if name == TE || name == CONTENT_TYPE || name.as_str().starts_with("grpc-") {
        return Err(Stop::usage(format!("{flag} is gRPC's own; leave it out")));
    }
    let value = match value.trim().strip_prefix('@') {
        Some(file) => read(&flag, Path::new(file))?,
        None => value.trim().to_owned(),
    };
    Ok((name, secret(&flag, &value)?))
}

/// The text of a small file, without the white space around it.
fn read(flag: &str, file: &Path) -> Result<String, Stop> {
    let refused = |why: String| Stop::usage(format!("{flag}: {}: {why}", file.display()));
    let length = std::fs::metadata(file).map_err(|error| refused(error.to_string()))?.len();
    if length > METADATA_BYTES_MAX as u64 {
        return Err(refused(format!("{length} bytes are more than {METADATA_BYTES_MAX}")));
    }
    let text = std::fs::read_to_string(file).map_err(|error| refused(error.to_string()))?;
    match text.trim() {
        "" => Err(refused("the file is empty".to_owned())),
        text => Ok(text.to_owned()),
    }
}

fn secret(flag: &str, value: &str) -> Result<HeaderValue, Stop> {
    let mut value = HeaderValue::from_str(value).map_err(|_| {
        Stop::usage(format!("{flag}: the value has characters that no header takes"))
    })?;
    value.set_sensitive(true);
    Ok(value)
}

/// Whether nobody on a network can read what goes there.
fn is_private(endpoint: &Endpoint) -> bool {
    match endpoint {
        Endpoint::Tls { .. } | Endpoint::Unix(_) => true,
        Endpoint::Tcp { host, .. } => {
            let host = host.trim_start_matches('[').trim_end_matches(']');
            host == "localhost"
                || host.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
        }
    }
}
