//! Connections after their handshake: large, half closed, cut off.

use std::io::ErrorKind;

use flight_pki::KeyKind;
use flight_tls::{ServerOptions, TlsStream, Trust};
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream};

use crate::check::of_kind;
use crate::ends::{client_of, on_every_engine, server_of};

type End = TlsStream<DuplexStream>;

/// A connection: its client's and its server's end.
async fn connected() -> (End, End) {
    connected_through(1 << 16).await
}

/// The same through a pipe of so many bytes.
async fn connected_through(room: usize) -> (End, End) {
    let (root, issued) = of_kind(KeyKind::P256);
    let server = server_of(&issued, ServerOptions::default());
    let client = client_of(Trust::Roots, &root.cert_pem());
    let (near, far) = tokio::io::duplex(room);
    let (client, server) = tokio::join!(client.connect("localhost", near), server.accept(far));
    (client.unwrap(), server.unwrap())
}

#[tokio::test]
async fn many_megabytes_pass_both_ways_at_once() {
    const BYTES: usize = 20 << 20;
    on_every_engine(async || {
        let (client, server) = connected().await;
        let sent: Vec<u8> = (0..BYTES).map(|at| (at % 251) as u8).collect();
        let pass = async |end: End| {
            let (mut read, mut write) = tokio::io::split(end);
            let mut got = Vec::new();
            let writing = async {
                write.write_all(&sent).await.unwrap();
                write.shutdown().await.unwrap();
            };
            let reading = read.read_to_end(&mut got);
            let ((), count) = tokio::join!(writing, reading);
            assert_eq!(count.unwrap(), BYTES);
            assert!(got == sent);
        };
        tokio::join!(pass(client), pass(server));
    })
    .await;
}

#[tokio::test]
async fn an_end_that_has_said_all_still_hears() {
    on_every_engine(async || {
        let (mut client, mut server) = connected().await;
        client.write_all(b"all").await.unwrap();
        client.shutdown().await.unwrap();
        let mut heard = String::new();
        server.read_to_string(&mut heard).await.unwrap();
        assert_eq!(heard, "all");
        server.write_all(b"answer").await.unwrap();
        server.shutdown().await.unwrap();
        heard.clear();
        client.read_to_string(&mut heard).await.unwrap();
        assert_eq!(heard, "answer");
    })
    .await;
}

#[tokio::test]
async fn an_end_without_a_goodbye_is_an_error() {
    on_every_engine(async || {
        let (mut client, mut server) = connected().await;
        server.write_all(b"half").await.unwrap();
        server.flush().await.unwrap();
        drop(server);
        let mut heard = Vec::new();
        let error = client.read_to_end(&mut heard).await.unwrap_err();
        assert_eq!((error.kind(), &heard[..]), (ErrorKind::UnexpectedEof, &b"half"[..]));
        let (client, mut server) = connected().await;
        drop(client);
        let error = server.read_to_end(&mut heard).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::UnexpectedEof);
    })
    .await;
}

#[tokio::test]
async fn a_pipe_that_takes_little_at_a_time_is_no_failure() {
    on_every_engine(async || {
        for room in [1000, 3000] {
            let (mut client, mut server) = connected_through(room).await;
            let sent = vec![7; 1 << 20];
            let sending = async {
                client.write_all(&sent).await.unwrap();
                client.shutdown().await.unwrap();
            };
            let mut got = Vec::new();
            let ((), read) = tokio::join!(sending, server.read_to_end(&mut got));
            assert_eq!(read.unwrap(), sent.len(), "room {room}");
        }
    })
    .await;
}
