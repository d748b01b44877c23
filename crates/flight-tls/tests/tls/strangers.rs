//! Peers that do not speak TLS at all.

use flight_pki::KeyKind;
use flight_tls::{ServerOptions, Trust};

use crate::check::{check, of_kind, preferred};
use crate::ends::{be_met_by_stranger, client_of, meet_stranger, on_every_engine, server_of};

const SERVER_IS_NO_TLS: &str = "the server does not answer in TLS; if it serves plaintext, use \
    grpc:// instead of grpc+tls://";

#[tokio::test]
async fn a_server_that_speaks_no_tls_is_told_from_one_that_hangs_up() {
    on_every_engine(async || {
        let client = client_of(|_| Trust::Insecure, "");
        let settings = [0, 0, 12, 4, 0, 0, 0, 0, 0, 0, 5, 0, 1, 0, 0, 0, 6, 0, 0, 0x40, 0];
        for greeting in
            [&settings[..], b"HTTP/1.1 400 Bad Request\r\n\r\n", b"SSH-2.0-OpenSSH_9\r\n"]
        {
            let saw = meet_stranger(&client, greeting).await;
            assert_eq!(saw, Err(SERVER_IS_NO_TLS.to_owned()));
        }
        let silent = "the server closed the connection during the TLS handshake; if it serves \
                  plaintext, use grpc:// instead of grpc+tls://";
        assert_eq!(meet_stranger(&client, b"").await, Err(silent.to_owned()));
    })
    .await;
}

#[tokio::test]
async fn clients_that_speak_no_tls_are_one_short_line_each() {
    on_every_engine(async || {
        let (root, issued) = of_kind(KeyKind::P256);
        let server = server_of(&issued, ServerOptions::default());
        for (words, expected) in [
            (&b""[..], "the client closed the connection during the TLS handshake"),
            (b"\x16\x03\x01", "the client closed the connection during the TLS handshake"),
            (b"GET / HTTP/1.1\r\n\r\n", "the client does not speak TLS"),
            (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "the client does not speak TLS"),
        ] {
            assert_eq!(be_met_by_stranger(&server, words).await, Err(expected.to_owned()));
        }
        // The server is as good as before.
        let client = client_of(Trust::Roots, &root.cert_pem());
        check(&server, &client, "localhost", &preferred()).await;
    })
    .await;
}

#[test]
fn errors_that_have_nothing_to_do_with_tls_are_left_to_others() {
    use std::io::ErrorKind;
    for kind in [ErrorKind::ConnectionRefused, ErrorKind::UnexpectedEof, ErrorKind::BrokenPipe] {
        let error = std::io::Error::from(kind);
        assert_eq!(flight_tls::explain(&error), None);
        assert_eq!(flight_tls::explain_accept(&error), None);
    }
}
