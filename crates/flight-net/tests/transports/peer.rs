//! A server made of frames alone, which says what no server of a library would.

use std::net::SocketAddr;

use flight_net::client::{ConnectOptions, Connector, StreamConnection, Transport};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

// Types of frames and flags (RFC 9113, 6).
pub(crate) const DATA: u8 = 0;
pub(crate) const HEADERS: u8 = 1;
pub(crate) const RESET: u8 = 3;
pub(crate) const SETTINGS: u8 = 4;
pub(crate) const PUSH_PROMISE: u8 = 5;
pub(crate) const PING: u8 = 6;
pub(crate) const GOAWAY: u8 = 7;
pub(crate) const WINDOW_UPDATE: u8 = 8;
pub(crate) const CONTINUATION: u8 = 9;
pub(crate) const ACK: u8 = 1;
pub(crate) const END_STREAM: u8 = 1;
pub(crate) const END_HEADERS: u8 = 4;
pub(crate) const PADDED: u8 = 8;

/// A frame.
pub(crate) fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).unwrap().to_be_bytes();
    [&length[1..], &[kind, flags], &stream.to_be_bytes(), payload].concat()
}

/// A literal header field.
pub(crate) fn field(name: &str, value: &str) -> Vec<u8> {
    let length = |text: &str| u8::try_from(text.len()).unwrap();
    [&[0, length(name)], name.as_bytes(), &[length(value)], value.as_bytes()].concat()
}

/// `:status 200`, indexed.
pub(crate) const STATUS_200: &[u8] = &[0x88];

/// Settings of the server, none.
pub(crate) fn greeting() -> Vec<u8> {
    frame(SETTINGS, 0, 0, &[])
}

/// The head of an answer to stream 1.
pub(crate) fn head() -> Vec<u8> {
    frame(HEADERS, END_HEADERS, 1, STATUS_200)
}

/// The trailers of an answer that ends well.
pub(crate) fn trailers() -> Vec<u8> {
    frame(HEADERS, END_HEADERS | END_STREAM, 1, &field("grpc-status", "0"))
}

/// A gRPC message of `FlightData` with this body.
pub(crate) fn message(body: &[u8]) -> Vec<u8> {
    let mut message = vec![0x12, 1, b'h', 0xc2, 0x3e];
    let mut length = body.len();
    while length >= 128 {
        message.push(length as u8 | 0x80);
        length >>= 7;
    }
    message.push(length as u8);
    message.extend_from_slice(body);
    let length = u32::try_from(message.len()).unwrap().to_be_bytes();
    [&[0][..], &length, &message].concat()
}

/// Starts a server that waits for a request, says `words` and reads until the client hangs up (or
/// hangs up itself at once, if `leaves`); what it heard comes from the task.
pub(crate) async fn saying(
    words: Vec<u8>,
    leaves: bool,
) -> (SocketAddr, tokio::task::JoinHandle<Vec<u8>>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let server = tokio::spawn(async move {
        let (mut socket, _) = listener.accept().await.unwrap();
        let mut heard = request(&mut socket).await;
        let (mut reader, mut writer) = socket.split();
        let talking = async {
            // The client may hang up before it has heard everything.
            let _refused = writer.write_all(&words).await;
            if leaves {
                let _gone = writer.shutdown().await;
            }
        };
        let mut rest = Vec::new();
        let listening = async {
            // A reset is as good as an end here.
            let _reset = reader.read_to_end(&mut rest).await;
        };
        tokio::join!(talking, listening);
        heard.append(&mut rest);
        heard
    });
    (address, server)
}

/// Reads until a frame with END_STREAM has come: the request.
async fn request(socket: &mut TcpStream) -> Vec<u8> {
    let mut heard = vec![0; 24];
    socket.read_exact(&mut heard).await.unwrap();
    loop {
        let mut head = [0; 9];
        socket.read_exact(&mut head).await.unwrap();
        let length = u32::from_be_bytes([0, head[0], head[1], head[2]]) as usize;
        let mut payload = vec![0; length];
        socket.read_exact(&mut payload).await.unwrap();
        heard.extend_from_slice(&head);
        heard.append(&mut payload);
        if head[3] <= HEADERS && head[4] & END_STREAM != 0 {
            return heard;
        }
    }
}

/// Connects to a server in plaintext.
pub(crate) async fn connect(address: SocketAddr, transport: Transport) -> StreamConnection {
    let endpoint = format!("grpc://{address}").parse().unwrap();
    let options = ConnectOptions { transport, ..ConnectOptions::default() };
    Connector::new(endpoint, None, options).connect_streams().await.unwrap()
}

/// The frames in `heard`, as (type, flags, stream, payload), preface left out.
pub(crate) fn frames_of(heard: &[u8]) -> Vec<(u8, u8, u32, Vec<u8>)> {
    let mut rest = &heard[24..];
    let mut frames = Vec::new();
    while rest.len() >= 9 {
        let length = u32::from_be_bytes([0, rest[0], rest[1], rest[2]]) as usize;
        let stream = u32::from_be_bytes([rest[5], rest[6], rest[7], rest[8]]);
        frames.push((rest[3], rest[4], stream, rest[9..9 + length].to_vec()));
        rest = &rest[9 + length..];
    }
    frames
}
