//! Peers that keep the protocol in ways that our own server does not.

use std::net::SocketAddr;

use flight_net::client::{ConnectOptions, Connector, Sockets, Transport};
use flight_wire::Frame;
use tonic::metadata::MetadataMap;
use tonic::{Code, Status};

use crate::peer::{
    ACK, CONTINUATION, DATA, END_HEADERS, END_STREAM, GOAWAY, HEADERS, PADDED, PING, RESET,
    SETTINGS, STATUS_200, WINDOW_UPDATE, connect, field, frame, frames_of, greeting, head, message,
    saying, trailers,
};
use crate::support::{HANG, TRANSPORTS, check, read};

/// Bodies of a stream over `transport` from a server that says `words`, and how it ended.
async fn hear(words: &[Vec<u8>], transport: Transport) -> (Vec<Vec<u8>>, Result<(), Status>) {
    let (address, _server) = saying(words.concat(), false).await;
    get(address, transport).await
}

async fn get(address: SocketAddr, transport: Transport) -> (Vec<Vec<u8>>, Result<(), Status>) {
    let reading = async {
        let connection = connect(address, transport).await;
        match connection.do_get(b"t", MetadataMap::new()).await {
            Ok(stream) => read(stream).await,
            Err(status) => (Vec::new(), Err(status)),
        }
    };
    let (messages, end) = tokio::time::timeout(HANG, reading).await.expect("it hangs");
    (messages.iter().map(|message| message.body.to_vec()).collect(), end)
}

fn body(length: usize) -> Vec<u8> {
    (0..length).map(|index| (index % 251) as u8).collect()
}

#[tokio::test]
async fn messages_are_cut_into_frames_anyhow() {
    for transport in TRANSPORTS {
        for size in [1, 7, 1000, 16_384] {
            let bodies = [body(0), body(1), body(3_000), body(40_000)];
            let stream: Vec<u8> = bodies.iter().flat_map(|body| message(body)).collect();
            let data = stream.chunks(size).map(|part| frame(DATA, 0, 1, part));
            let words: Vec<_> =
                [greeting(), head()].into_iter().chain(data).chain([trailers()]).collect();
            let (got, end) = hear(&words, transport).await;
            end.unwrap();
            assert_eq!(got, bodies, "{transport:?}, frames of {size}");
        }
    }
}

#[tokio::test]
async fn padding_is_skipped() {
    for transport in TRANSPORTS {
        let stream = message(&body(5_000));
        let mut words = vec![greeting(), frame(HEADERS, END_HEADERS | PADDED, 1, b"\x02\x88\0\0")];
        for (index, part) in stream.chunks(1_000).enumerate() {
            let padding = [0, 1, 255, 17][index % 4];
            let payload = [&[padding][..], part, &vec![0; usize::from(padding)]].concat();
            words.push(frame(DATA, PADDED, 1, &payload));
        }
        words.push(frame(DATA, PADDED, 1, &[3, 0, 0, 0]));
        words.push(trailers());
        let (got, end) = hear(&words, transport).await;
        end.unwrap();
        assert_eq!(got, [body(5_000)], "{transport:?}");
    }
}

#[tokio::test]
async fn interim_answers_unknown_frames_and_continuations_are_read() {
    for transport in TRANSPORTS {
        let interim = [&[0x08, 3][..], b"103"].concat();
        let status = field("grpc-status", "0");
        let (first, second) = status.split_at(5);
        let words = [
            greeting(),
            frame(0x42, 0xff, 7, &body(300)),
            frame(HEADERS, END_HEADERS, 1, &interim),
            frame(HEADERS, 0, 1, STATUS_200),
            frame(CONTINUATION, 0, 1, &[]),
            frame(CONTINUATION, END_HEADERS, 1, &field("x", "y")),
            frame(DATA, 0, 1, &message(b"body")),
            frame(HEADERS, END_STREAM, 1, first),
            frame(CONTINUATION, END_HEADERS, 1, second),
        ];
        let (got, end) = hear(&words, transport).await;
        end.unwrap();
        assert_eq!(got, [b"body"], "{transport:?}");
    }
}

#[tokio::test]
async fn settings_and_pings_are_answered() {
    for transport in TRANSPORTS {
        let words = [greeting(), frame(PING, 0, 0, b"12345678"), head(), trailers()].concat();
        let (address, server) = saying(words, false).await;
        let (_, end) = get(address, transport).await;
        end.unwrap();
        let heard = tokio::time::timeout(HANG, server).await.expect("it hangs up").unwrap();
        let frames = frames_of(&heard);
        let has = |kind, payload: &[u8]| {
            frames.iter().any(|(k, flags, _, p)| *k == kind && flags & ACK != 0 && p == payload)
        };
        assert!(has(SETTINGS, b""), "{transport:?}: {frames:?}");
        assert!(has(PING, b"12345678"), "{transport:?}: {frames:?}");
    }
}

#[tokio::test]
async fn a_reset_is_told_with_its_reason() {
    for transport in TRANSPORTS {
        let reset = frame(RESET, 0, 1, &11u32.to_be_bytes());
        let words = [greeting(), head(), frame(DATA, 0, 1, &message(b"body")), reset];
        let (_, end) = hear(&words, transport).await;
        let status = end.unwrap_err();
        assert_eq!(status.code(), Code::Unavailable);
        let text = status.message().to_lowercase().replace('_', " ");
        assert!(text.contains("calm") || text.contains("excessive load"), "{status:?}");
    }
}

#[tokio::test]
async fn a_server_that_goes_away_finishes_what_it_began() {
    for transport in TRANSPORTS {
        // The last stream that it will look at is 1; the code is NO_ERROR.
        let goaway = frame(GOAWAY, 0, 0, &[0, 0, 0, 1, 0, 0, 0, 0]);
        let words = [greeting(), head(), goaway, frame(DATA, 0, 1, &message(b"body")), trailers()];
        let (got, end) = hear(&words, transport).await;
        end.unwrap();
        assert_eq!(got, [b"body"], "{transport:?}");
    }
}

#[tokio::test]
async fn a_call_that_a_leaving_server_did_not_look_at_is_refused() {
    for transport in TRANSPORTS {
        let goaway = frame(GOAWAY, 0, 0, &[0, 0, 0, 0, 0, 0, 0, 0, b'b', b'y', b'e']);
        let (_, end) = hear(&[greeting(), goaway], transport).await;
        assert_eq!(end.unwrap_err().code(), Code::Unavailable, "{transport:?}");
    }
}

#[tokio::test]
async fn a_call_that_waits_is_refused_by_a_leaving_server() {
    // One stream at a time; the second call waits when GOAWAY comes.
    let one = frame(SETTINGS, 0, 0, &[0, 3, 0, 0, 0, 1]);
    let goaway = frame(GOAWAY, 0, 0, &[0x7f, 0xff, 0xff, 0xff, 0, 0, 0, 0]);
    let first = [head(), frame(DATA, 0, 1, &message(b"body"))].concat();
    let (address, server) = saying([one, first, goaway, trailers()].concat(), false).await;
    let calling = async {
        let connection = connect(address, Transport::Own).await;
        let mut first = connection.do_get(b"t", MetadataMap::new()).await.unwrap();
        assert!(first.next().await.unwrap().is_ok());
        let second = connection.do_get(b"t", MetadataMap::new()).await.err().unwrap();
        check(&second, Code::Unavailable, "GOAWAY, NO_ERROR");
        assert!(first.next().await.is_none());
    };
    tokio::time::timeout(HANG, calling).await.expect("it hangs");
    let heard = tokio::time::timeout(HANG, server).await.expect("it hangs up").unwrap();
    let opened = frames_of(&heard).iter().filter(|(kind, ..)| *kind == HEADERS).count();
    assert_eq!(opened, 1);
}

#[tokio::test]
async fn the_own_transport_tells_why_a_server_goes_away() {
    let goaway = frame(GOAWAY, 0, 0, &[0, 0, 0, 0, 0, 0, 0, 11, b'b', b'y', b'e']);
    let (_, end) = hear(&[greeting(), goaway], Transport::Own).await;
    let words = "the server is closing the connection (GOAWAY, ENHANCE_YOUR_CALM: \"bye\")";
    check(&end.unwrap_err(), Code::Unavailable, words);
}

#[tokio::test]
async fn a_stream_without_trailers_is_cut() {
    for transport in TRANSPORTS {
        let data = frame(DATA, END_STREAM, 1, &message(b"body"));
        let (got, end) = hear(&[greeting(), head(), data], transport).await;
        assert_eq!(got, [b"body"]);
        check(&end.unwrap_err(), Code::Unavailable, "the stream ended without a status");
    }
}

#[tokio::test]
async fn a_stream_that_ends_within_a_message_is_cut_whatever_its_status() {
    for transport in TRANSPORTS {
        let cut = &message(&body(100))[..50];
        let words = [greeting(), head(), frame(DATA, 0, 1, cut), trailers()];
        let (_, end) = hear(&words, transport).await;
        check(&end.unwrap_err(), Code::Internal, "in the middle of a message");
    }
}

#[tokio::test]
async fn bytes_that_are_no_messages_are_refused() {
    for transport in TRANSPORTS {
        let words = [greeting(), head(), frame(DATA, 0, 1, &[1, 0, 0, 0, 9]), trailers()];
        let (_, end) = hear(&words, transport).await;
        check(&end.unwrap_err(), Code::Internal, "compressed by gRPC");
    }
}

#[tokio::test]
async fn a_server_that_hangs_up_is_told() {
    for transport in TRANSPORTS {
        let words = [greeting(), head(), frame(DATA, 0, 1, &message(b"body"))].concat();
        let (address, _server) = saying(words, true).await;
        let (_, end) = get(address, transport).await;
        assert_eq!(end.unwrap_err().code(), Code::Unavailable, "{transport:?}");
    }
}

#[tokio::test]
async fn the_socket_of_a_connection_that_ended_is_closed_whoever_holds_it() {
    for transport in TRANSPORTS {
        let (address, server) = saying([greeting(), head()].concat(), true).await;
        let sockets = Sockets::default();
        let options = ConnectOptions { transport, ..ConnectOptions::default() };
        let connector = Connector::new(format!("grpc://{address}").parse().unwrap(), None, options);
        let connection = connector.watched(sockets.clone()).connect_streams().await.unwrap();
        assert_eq!(sockets.open().len(), 1, "{transport:?}");
        let mut stream = connection.do_get(b"t", MetadataMap::new()).await.unwrap();
        let end = stream.next().await.unwrap();
        assert_eq!(end.unwrap_err().code(), Code::Unavailable, "{transport:?}");
        // The server reads until every descriptor of the client's socket is closed.
        let heard = tokio::time::timeout(HANG, server).await;
        assert!(heard.is_ok(), "{transport:?}: the server still waits for the client to close");
        assert!(sockets.open().is_empty(), "{transport:?}");
        assert!(connection.is_closed(), "{transport:?}");
    }
}

#[tokio::test]
async fn a_server_that_hangs_up_amid_a_frame_is_told() {
    for transport in TRANSPORTS {
        // A frame of a mebibyte, most of which never comes: the client waits for much of it.
        let mut frame = frame(DATA, 0, 1, &message(&body((1 << 20) - 100)));
        frame.truncate(1_000);
        let (address, _server) = saying([greeting(), head(), frame].concat(), true).await;
        let (got, end) = get(address, transport).await;
        assert_eq!(got.len(), 0);
        assert_eq!(end.unwrap_err().code(), Code::Unavailable, "{transport:?}");
    }
}

#[tokio::test]
async fn uploads_keep_within_small_frames_and_windows() {
    for transport in TRANSPORTS {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let server = tokio::spawn(async move {
            let (socket, _) = listener.accept().await.unwrap();
            let mut builder = h2::server::Builder::new();
            builder.initial_window_size(1_000).initial_connection_window_size(70_000);
            let mut connection = builder.handshake::<_, bytes::Bytes>(socket).await.unwrap();
            let (request, mut respond) = connection.accept().await.unwrap().unwrap();
            let serving = tokio::spawn(async move { while connection.accept().await.is_some() {} });
            let mut body = request.into_body();
            let (mut total, mut largest) = (0, 0);
            while let Some(data) = body.data().await {
                let length = data.unwrap().len();
                total += length;
                largest = largest.max(length);
                body.flow_control().release_capacity(length).unwrap();
            }
            let mut stream = respond.send_response(http::Response::new(()), false).unwrap();
            let mut trailers = http::HeaderMap::new();
            trailers.insert("grpc-status", "0".parse().unwrap());
            stream.send_trailers(trailers).unwrap();
            serving.await.unwrap();
            (total, largest)
        });
        let uploading = async {
            let connection = connect(address, transport).await;
            let (sink, results) = connection.do_put(MetadataMap::new());
            let sending = async {
                for _ in 0..3 {
                    assert!(sink.send(Frame::metadata_only(&body(50_000))).await);
                }
                assert!(sink.finish().await);
            };
            let answer = async { results.await.unwrap().next().await };
            assert!(tokio::join!(sending, answer).1.is_none());
        };
        tokio::time::timeout(HANG, uploading).await.expect("it hangs");
        let (total, largest) = tokio::time::timeout(HANG, server).await.unwrap().unwrap();
        let each = Frame::metadata_only(&body(50_000)).bytes();
        assert_eq!(total, 3 * each, "{transport:?}");
        // Frames that went out before the settings came may be of the default size.
        assert!(largest <= 16_384, "{transport:?}: a frame of {largest} bytes");
    }
}

#[tokio::test]
async fn a_refusal_is_heard_though_the_server_hung_up_on_the_upload() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let server = async {
        let (socket, _) = listener.accept().await.unwrap();
        let window = 1u32 << 30;
        let wide = frame(SETTINGS, 0, 0, &[&[0, 4][..], &window.to_be_bytes()].concat());
        let wide = [wide, frame(WINDOW_UPDATE, 0, 0, &window.to_be_bytes())].concat();
        socket.writable().await.unwrap();
        assert_eq!(socket.try_write(&wide).unwrap(), wide.len());
        let mut heard = vec![0; 64 << 10];
        let mut total = 0;
        while total < 1 << 20 {
            socket.readable().await.unwrap();
            total += socket.try_read(&mut heard).unwrap_or(0);
        }
        let refusal = [field("grpc-status", "3"), field("grpc-message", "no such mode")].concat();
        let end = frame(HEADERS, END_HEADERS | END_STREAM, 1, &refusal);
        let words = [head(), end].concat();
        assert_eq!(socket.try_write(&words).unwrap(), words.len());
        // Closed with bytes unread, which resets the connection.
        socket.readable().await.unwrap();
    };
    let uploading = async {
        let connection = connect(address, Transport::Own).await;
        let (sink, results) = connection.do_put(MetadataMap::new());
        let sending = async { while sink.send(Frame::metadata_only(&body(1 << 20))).await {} };
        let answer = async {
            match results.await {
                Ok(mut results) => results.next().await.unwrap().unwrap_err(),
                Err(status) => status,
            }
        };
        tokio::join!(sending, answer).1
    };
    let both = Box::pin(async { tokio::join!(server, uploading).1 });
    let status = tokio::time::timeout(HANG, both).await.expect("it hangs");
    assert_eq!((status.code(), status.message()), (Code::InvalidArgument, "no such mode"));
}
