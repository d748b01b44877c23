//! Servers that break the protocol: each is an error in words, and none a hang or a panic.

use flight_net::client::Transport;
use tonic::metadata::MetadataMap;

use crate::peer::{
    CONTINUATION, DATA, END_HEADERS, END_STREAM, GOAWAY, HEADERS, PADDED, PING, PUSH_PROMISE,
    RESET, SETTINGS, STATUS_200, WINDOW_UPDATE, connect, field, frame, frames_of, greeting, head,
    message, saying, trailers,
};
use crate::support::{HANG, read};

/// A call to a server that says `words` fails with an error that says `want`, and the server is
/// told `code` in GOAWAY or RST_STREAM.
async fn check(words: &[Vec<u8>], want: &str, code: u32) {
    let (address, server) = saying(words.concat(), false).await;
    let calling = async {
        let connection = connect(address, Transport::Own).await;
        match connection.do_get(b"t", MetadataMap::new()).await {
            Ok(stream) => read(stream).await.1,
            Err(status) => Err(status),
        }
    };
    let end = tokio::time::timeout(HANG, calling).await.expect("it hangs");
    let status = end.expect_err(want);
    assert!(status.message().contains(want), "{status:?}");
    let heard = tokio::time::timeout(HANG, server).await.expect("the client hangs up").unwrap();
    let told = frames_of(&heard).into_iter().any(|(kind, _, _, payload)| match kind {
        GOAWAY => payload[4..8] == code.to_be_bytes(),
        RESET => payload == code.to_be_bytes(),
        _ => false,
    });
    assert!(told, "{want}: the server was not told {code}");
}

const PROTOCOL: u32 = 1;
const FLOW_CONTROL: u32 = 3;
const CLOSED: u32 = 5;
const SIZE: u32 = 6;
const COMPRESSION: u32 = 9;
const CALM: u32 = 11;

#[tokio::test]
async fn what_is_no_http2_is_named() {
    let page = b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n".to_vec();
    check(&[page], "does not speak HTTP/2; if the server serves TLS", PROTOCOL).await;
    check(&[head()], "does not speak HTTP/2", PROTOCOL).await;
    check(&[frame(SETTINGS, 1, 0, &[])], "does not speak HTTP/2", PROTOCOL).await;
}

#[tokio::test]
async fn frames_of_the_wrong_size_are_refused() {
    let huge = [0xff, 0xff, 0xff, DATA, 0, 0, 0, 0, 1].to_vec();
    check(&[greeting(), head(), huge], "a DATA frame of 16777215 bytes, where at most", SIZE).await;
    check(&[greeting(), frame(PING, 0, 0, b"1234567")], "a PING frame of 7 bytes", SIZE).await;
    check(&[greeting(), frame(RESET, 0, 1, b"12345")], "a RST_STREAM frame of 5", SIZE).await;
    check(&[greeting(), frame(WINDOW_UPDATE, 0, 1, b"1")], "a WINDOW_UPDATE frame of 1", SIZE)
        .await;
    check(&[greeting(), frame(GOAWAY, 0, 0, b"1234567")], "a GOAWAY frame of 7", SIZE).await;
    check(&[greeting(), frame(SETTINGS, 0, 0, b"12345")], "a SETTINGS frame of 5", SIZE).await;
    check(&[greeting(), frame(SETTINGS, 1, 0, b"123456")], "a SETTINGS frame of 6", SIZE).await;
    check(&[greeting(), frame(SETTINGS, 0, 0, &[0; 16_386])], "at most 16384", SIZE).await;
    check(&[greeting(), frame(2, 0, 1, b"1234")], "a PRIORITY frame of 4", SIZE).await;
}

#[tokio::test]
async fn frames_on_the_wrong_stream_are_refused() {
    let wrong = |kind, stream, payload: &[u8]| frame(kind, END_HEADERS, stream, payload);
    check(&[greeting(), wrong(DATA, 0, b"")], "a DATA frame on stream 0", PROTOCOL).await;
    check(&[greeting(), wrong(DATA, 2, b"")], "a DATA frame on stream 2", PROTOCOL).await;
    check(&[greeting(), wrong(DATA, 3, b"")], "a DATA frame on stream 3", PROTOCOL).await;
    check(&[greeting(), wrong(HEADERS, 3, STATUS_200)], "a HEADERS frame on stream 3", PROTOCOL)
        .await;
    check(&[greeting(), wrong(SETTINGS, 1, b"")], "a SETTINGS frame on stream 1", PROTOCOL).await;
    check(&[greeting(), wrong(PING, 1, b"12345678")], "a PING frame on stream 1", PROTOCOL).await;
    check(&[greeting(), wrong(RESET, 5, b"1234")], "a RST_STREAM frame on stream 5", PROTOCOL)
        .await;
    check(&[greeting(), wrong(WINDOW_UPDATE, 5, b"1234")], "WINDOW_UPDATE frame on", PROTOCOL)
        .await;
    check(&[greeting(), wrong(PUSH_PROMISE, 1, b"1234")], "a PUSH_PROMISE frame", PROTOCOL).await;
}

#[tokio::test]
async fn data_on_a_closed_stream_is_refused() {
    let late = frame(DATA, 0, 1, b"late");
    // The call itself ended well before; another one fails with the connection.
    let words = [greeting(), head(), trailers(), late].concat();
    let (address, server) = saying(words, false).await;
    let calling = async {
        let connection = connect(address, Transport::Own).await;
        let stream = connection.do_get(b"t", MetadataMap::new()).await;
        let _ended = read(stream.unwrap()).await;
        drop(connection);
    };
    tokio::time::timeout(HANG, calling).await.expect("it hangs");
    tokio::time::timeout(HANG, server).await.expect("the client hangs up").unwrap();

    let reset = frame(RESET, 0, 1, &[0, 0, 0, 8]);
    let words = [greeting(), head(), reset, frame(DATA, 0, 1, b"late")];
    check(&words, "RST_STREAM, CANCEL", CLOSED).await;
}

#[tokio::test]
async fn windows_are_kept() {
    let mebibyte = vec![0; 1 << 20];
    // A message of 100 MiB begins; nobody grants more than 16 MiB ahead, and what is granted as it
    // comes is not waited for.
    let begun =
        [&message(&[])[..0], &[0, 6, 0x40, 0, 12, 0xc2, 0x3e, 0x80, 0x80, 0x80, 0x32]].concat();
    let flood = (0..96).map(|_| frame(DATA, 0, 1, &mebibyte));
    let closing = [frame(DATA, 0, 3, &mebibyte)];
    let words: Vec<_> = [greeting(), head(), frame(DATA, 0, 1, &begun)]
        .into_iter()
        .chain(flood)
        .chain(closing)
        .collect();
    check(&words, "a DATA frame on stream 3", PROTOCOL).await;
    let wide = frame(WINDOW_UPDATE, 0, 0, &0x7fff_ffffu32.to_be_bytes());
    check(&[greeting(), wide], "raised a window beyond", FLOW_CONTROL).await;
    let wide = frame(WINDOW_UPDATE, 0, 1, &0x7fff_ffffu32.to_be_bytes());
    check(&[greeting(), wide], "raised a window beyond", FLOW_CONTROL).await;
    check(&[greeting(), frame(WINDOW_UPDATE, 0, 1, &[0; 4])], "raised a window", FLOW_CONTROL)
        .await;
}

#[tokio::test]
async fn a_server_that_sends_more_than_the_window_is_refused() {
    // Nobody reads, so that nothing is granted once half of the stream's 16 MiB lie there.
    let one = frame(DATA, 0, 1, &message(&vec![7; (1 << 20) - 100]));
    let words = [greeting(), head(), one.repeat(60), trailers()].concat();
    let (address, server) = saying(words, false).await;
    let connection = connect(address, Transport::Own).await;
    let stream = connection.do_get(b"t", MetadataMap::new()).await.unwrap();
    let heard = tokio::time::timeout(HANG, server).await.expect("the client hangs up").unwrap();
    let (messages, end) = read(stream).await;
    assert!((17..=30).contains(&messages.len()), "{} messages of 1 MiB", messages.len());
    let end = end.unwrap_err();
    assert!(end.message().contains("more on a stream than its window allows"), "{end:?}");
    let told = |frame: &(u8, u8, u32, Vec<u8>)| frame.0 == GOAWAY && frame.3[7] == 3;
    assert!(frames_of(&heard).iter().any(told));
}

#[tokio::test]
async fn settings_out_of_bounds_are_refused() {
    let set =
        |id: u8, value: u32| frame(SETTINGS, 0, 0, &[&[0, id][..], &value.to_be_bytes()].concat());
    check(&[set(4, 1 << 31)], "set INITIAL_WINDOW_SIZE to 2147483648", PROTOCOL).await;
    check(&[set(5, 16_383)], "set MAX_FRAME_SIZE to 16383", PROTOCOL).await;
    check(&[set(5, 1 << 24)], "set MAX_FRAME_SIZE to 16777216", PROTOCOL).await;
    check(&[set(2, 1)], "set ENABLE_PUSH to 1", PROTOCOL).await;
}

#[tokio::test]
async fn bad_padding_is_refused() {
    let padded = |kind, payload: &[u8]| frame(kind, PADDED | END_HEADERS, 1, payload);
    let longer = "padding is longer than itself";
    check(&[greeting(), head(), padded(DATA, &[])], longer, PROTOCOL).await;
    check(&[greeting(), head(), padded(DATA, &[1])], longer, PROTOCOL).await;
    check(&[greeting(), head(), padded(DATA, &[9, 0, 0])], longer, PROTOCOL).await;
    check(&[greeting(), padded(HEADERS, &[])], longer, PROTOCOL).await;
    check(&[greeting(), padded(HEADERS, &[2, 0x88])], longer, PROTOCOL).await;
    let priority = frame(HEADERS, END_HEADERS | 0x20, 1, &[0; 4]);
    check(&[greeting(), priority], "a HEADERS frame of 4 bytes", SIZE).await;
}

#[tokio::test]
async fn header_blocks_are_bounded_and_whole() {
    let begun = frame(HEADERS, 0, 1, STATUS_200);
    let interrupted = [greeting(), begun.clone(), frame(PING, 0, 0, b"12345678")];
    check(&interrupted, "a PING frame in the middle of a header block", PROTOCOL).await;
    let other = [greeting(), begun.clone(), frame(CONTINUATION, 0, 3, &[])];
    check(&other, "a CONTINUATION frame in the middle", PROTOCOL).await;
    let lone = [greeting(), frame(CONTINUATION, END_HEADERS, 1, &[])];
    check(&lone, "a CONTINUATION frame on stream 1", PROTOCOL).await;
    let too_large = "headers of more than 65536 bytes or 128 frames";
    let empty = std::iter::repeat_with(|| frame(CONTINUATION, 0, 1, &[])).take(1_000);
    let flood: Vec<_> = [greeting(), begun.clone()].into_iter().chain(empty).collect();
    check(&flood, too_large, CALM).await;
    let full = std::iter::repeat_with(|| frame(CONTINUATION, 0, 1, &[0; 16_000])).take(10);
    let long: Vec<_> = [greeting(), begun].into_iter().chain(full).collect();
    check(&long, too_large, CALM).await;
    check(&[greeting(), frame(HEADERS, END_HEADERS, 1, &[0x88; 70_000])], too_large, CALM).await;
    check(&[greeting(), frame(HEADERS, END_HEADERS, 1, &[0x90; 60_000])], too_large, CALM).await;
    let garbage = [greeting(), frame(HEADERS, END_HEADERS, 1, &[0xff; 40])];
    check(&garbage, "headers that cannot be read", COMPRESSION).await;
}

#[tokio::test]
async fn floods_of_control_frames_are_refused() {
    let flood = "more than 1000 control frames without any data";
    for one in [
        greeting(),
        frame(PING, 0, 0, b"12345678"),
        frame(DATA, 0, 1, &[]),
        frame(0x42, 0, 0, &[]),
        frame(2, 0, 1, &[0; 5]),
        frame(SETTINGS, 1, 0, &[]),
    ] {
        let words: Vec<_> = [greeting(), head()].into_iter().chain(vec![one; 5_000]).collect();
        check(&words, flood, CALM).await;
    }
    let interim = frame(HEADERS, END_HEADERS, 1, &[&[0x08, 3][..], b"103"].concat());
    let words: Vec<_> = [greeting()].into_iter().chain(vec![interim; 50]).collect();
    check(&words, "more than 16 control frames", CALM).await;
}

#[tokio::test]
async fn answers_out_of_order_are_refused() {
    let early = [greeting(), frame(DATA, 0, 1, b"data")];
    check(&early, "data came before its headers", PROTOCOL).await;
    let nameless = [greeting(), frame(HEADERS, END_HEADERS, 1, &field("a", "b"))];
    check(&nameless, "the answer has no :status", PROTOCOL).await;
    let amid = [greeting(), head(), head()];
    check(&amid, "headers came amid the answer", PROTOCOL).await;
    let nothing = frame(HEADERS, END_HEADERS | END_STREAM, 1, STATUS_200);
    let (address, _server) = saying([greeting(), nothing].concat(), false).await;
    let connection = connect(address, Transport::Own).await;
    let stream = connection.do_get(b"t", MetadataMap::new()).await;
    let end = read(stream.unwrap()).await.1.unwrap_err();
    assert!(end.message().contains("ended without a status"), "{end:?}");
}
