//! What every transport does alike, in plaintext and over TLS.

use flight_net::client::PutSink;
use flight_net::limits::Http2Settings;
use flight_wire::Frame;
use tonic::{Code, Status};

use crate::support::{
    Fixture, HANG, TRANSPORTS, check, decode, everywhere, frames, metadata, read, sent,
};

#[tokio::test]
async fn batches_arrive_as_they_were_sent() {
    everywhere(async |server| {
        for script in ["one message each", "split"] {
            let (messages, end) = read(server.get(script).await.unwrap()).await;
            end.unwrap();
            assert!(messages.iter().skip(1).any(|message| message.app_metadata == "m"));
            let got = decode(&messages);
            let rows = |batches: &[_]| {
                batches.iter().map(arrow_array::RecordBatch::num_rows).sum::<usize>()
            };
            assert_eq!(rows(&got), rows(sent()));
            if script == "one message each" {
                assert!(got == sent(), "{:?}: the batches differ", server.transport);
            }
        }
    })
    .await;
}

#[tokio::test]
async fn messages_longer_than_the_windows_arrive() {
    let small = Http2Settings {
        stream_window_bytes: 65_535,
        connection_window_bytes: 65_535,
        frame_bytes_max: 16_384,
        send_buffer_bytes: 1 << 20,
    };
    for transport in TRANSPORTS {
        for secure in [false, true] {
            let server = Fixture::start(transport, secure, small);
            let reading = async { read(server.get("one message each").await.unwrap()).await };
            let (messages, end) = tokio::time::timeout(HANG, reading).await.unwrap();
            end.unwrap();
            assert!(messages.iter().any(|message| message.bytes > 1 << 20), "one is long");
            assert!(decode(&messages) == sent(), "{transport:?}: the batches differ");
        }
    }
}

#[tokio::test]
async fn a_refusal_in_trailers_alone_is_told() {
    everywhere(async |server| {
        let refusal = server.get("refused").await.err().unwrap();
        check(&refusal, Code::NotFound, "there is no dataset \"ticket\" – none");
    })
    .await;
}

#[tokio::test]
async fn an_error_after_batches_comes_after_them() {
    everywhere(async |server| {
        let (messages, end) = read(server.get("fails").await.unwrap()).await;
        assert!(decode(&messages).len() >= sent().len());
        check(&end.unwrap_err(), Code::DataLoss, "the file changed");
    })
    .await;
}

#[tokio::test]
async fn a_stream_that_is_broken_off_is_an_error() {
    everywhere(async |server| {
        let (_, end) = read(server.get("breaks off").await.unwrap()).await;
        let status = end.unwrap_err();
        assert_eq!(status.code(), Code::Unavailable, "{status:?}");
        // h2's words for CANCEL, and ours.
        let words = ["stream no longer needed", "RST_STREAM, CANCEL"];
        assert!(words.iter().any(|words| status.message().contains(words)), "{status:?}");
    })
    .await;
}

#[tokio::test]
async fn a_server_that_dies_amid_a_stream_is_an_error() {
    everywhere(async |server| {
        let mut stream = server.get("goes on").await.unwrap();
        assert!(stream.next().await.unwrap().is_ok());
        server.server.abort();
        let (_, end) = read(stream).await;
        assert_eq!(end.unwrap_err().code(), Code::Unavailable);
    })
    .await;
}

#[tokio::test]
async fn what_is_no_grpc_answer_is_told() {
    everywhere(async |server| {
        let refusal = server.get("page").await.err().unwrap();
        check(&refusal, Code::Unavailable, "the server answered HTTP 502 Bad Gateway");
    })
    .await;
}

#[tokio::test]
async fn large_headers_are_read() {
    everywhere(async |server| {
        let (messages, end) = read(server.get("large headers").await.unwrap()).await;
        assert_eq!(messages.len(), 0);
        end.unwrap();
    })
    .await;
}

#[tokio::test]
async fn large_metadata_is_sent() {
    everywhere(async |server| {
        let mut metadata = metadata("one message each");
        for index in 0..20 {
            let name: tonic::metadata::AsciiMetadataKey = format!("x-{index}").parse().unwrap();
            metadata.insert(name, "v".repeat(2_000).parse().unwrap());
        }
        let stream = server.connect().await.do_get(b"", metadata).await.unwrap();
        read(stream).await.1.unwrap();
    })
    .await;
}

#[tokio::test]
async fn a_deadline_reaches_the_server() {
    everywhere(async |server| {
        let mut metadata = metadata("deadline");
        metadata.insert("grpc-timeout", "50m".parse().unwrap());
        let refusal = server.connect().await.do_get(b"", metadata).await.err().unwrap();
        check(&refusal, Code::DeadlineExceeded, "the deadline has passed");
    })
    .await;
}

#[tokio::test]
async fn many_streams_share_a_connection() {
    everywhere(async |server| {
        let connection = server.connect().await;
        let mut readers = tokio::task::JoinSet::new();
        // More than the server takes at once: the rest wait their turn.
        for _ in 0..150 {
            let connection = connection.clone();
            readers.spawn(async move {
                let stream = connection.do_get(b"", metadata("split")).await.unwrap();
                let (messages, end) = read(stream).await;
                end.unwrap();
                messages.iter().map(|message| message.bytes).sum::<usize>()
            });
        }
        let mut sizes = Vec::new();
        while let Some(size) = readers.join_next().await {
            sizes.push(size.unwrap());
        }
        assert!(sizes.windows(2).all(|pair| pair[0] == pair[1] && pair[0] > 1 << 20), "{sizes:?}");
        assert!(!connection.is_closed());
    })
    .await;
}

#[tokio::test]
async fn a_reader_that_stalls_holds_up_no_other() {
    everywhere(async |server| {
        let connection = server.connect().await;
        let mut stalled = connection.do_get(b"", metadata("goes on")).await.unwrap();
        assert!(stalled.next().await.unwrap().is_ok());
        for _ in 0..5 {
            let other = connection.do_get(b"", metadata("one message each")).await.unwrap();
            read(other).await.1.unwrap();
        }
        // And has lost nothing: the batches come, however late.
        for _ in 0..sent().len() {
            assert!(stalled.next().await.unwrap().is_ok());
        }
    })
    .await;
}

#[tokio::test]
async fn a_stream_that_is_given_up_leaves_the_connection_whole() {
    everywhere(async |server| {
        let connection = server.connect().await;
        for _ in 0..20 {
            let mut stream = connection.do_get(b"", metadata("one message each")).await.unwrap();
            assert!(stream.next().await.unwrap().is_ok());
        }
        let stream = connection.do_get(b"", metadata("one message each")).await.unwrap();
        let (messages, end) = read(stream).await;
        end.unwrap();
        assert!(decode(&messages) == sent());
    })
    .await;
}

/// Sends `batches` as one upload; whether the server took them all.
async fn upload(sink: PutSink, frames: Vec<Frame>) -> bool {
    for frame in frames {
        if !sink.send(frame).await {
            return false;
        }
    }
    sink.finish().await
}

#[tokio::test]
async fn every_batch_of_an_upload_is_acknowledged() {
    everywhere(async |server| {
        let frames: Vec<Frame> =
            std::iter::repeat_n(frames(sent(), 256 << 10), 10).flatten().collect();
        let count = frames.len();
        let (sink, results) = server.connect().await.do_put(metadata("acks"));
        let acknowledged = async {
            let mut results = results.await?;
            let mut acknowledged = Vec::new();
            while let Some(result) = results.next().await {
                acknowledged.push(result?);
            }
            Ok::<_, Status>(acknowledged)
        };
        let (taken, acknowledged) = tokio::join!(upload(sink, frames), acknowledged);
        let acknowledged = acknowledged.unwrap();
        assert!(taken);
        assert_eq!(acknowledged.len(), count);
        assert!(acknowledged.iter().all(|metadata| metadata.is_empty() || metadata == "m"));
    })
    .await;
}

#[tokio::test]
async fn a_server_that_ends_an_upload_early_is_heard() {
    everywhere(async |server| {
        let endless =
            std::iter::repeat_n(frames(&sent()[..1], 64 << 20), 10_000).flatten().collect();
        let (sink, results) = server.connect().await.do_put(metadata("stops early"));
        let ended = async {
            let mut results = match results.await {
                Ok(results) => results,
                Err(status) => return status,
            };
            loop {
                match results.next().await {
                    Some(Ok(_)) => {}
                    Some(Err(status)) => return status,
                    None => panic!("the server failed the upload"),
                }
            }
        };
        let (_, status) = tokio::join!(upload(sink, endless), ended);
        check(&status, Code::ResourceExhausted, "the disk is full");
    })
    .await;
}

#[tokio::test]
async fn an_upload_that_is_given_up_leaves_the_connection_whole() {
    everywhere(async |server| {
        let connection = server.connect().await;
        let (sink, results) = connection.do_put(metadata("acks"));
        let sending = async {
            for frame in frames(sent(), 64 << 20) {
                assert!(sink.send(frame).await);
            }
        };
        let (results, ()) = tokio::join!(results, sending);
        drop(results);
        drop(sink);
        let stream = connection.do_get(b"", metadata("one message each")).await.unwrap();
        read(stream).await.1.unwrap();
    })
    .await;
}

#[tokio::test]
async fn calls_on_a_lost_connection_are_refused() {
    everywhere(async |server| {
        let connection = server.connect().await;
        let stream = connection.do_get(b"", metadata("goes on")).await.unwrap();
        server.server.abort();
        read(stream).await.1.unwrap_err();
        let refusal = connection.do_get(b"", metadata("split")).await.err().unwrap();
        assert_eq!(refusal.code(), Code::Unavailable, "{refusal:?}");
        assert!(connection.is_closed());
        let (sink, results) = connection.do_put(metadata("acks"));
        let mut frames = frames(&sent()[..1], 64 << 20).into_iter();
        // hyper learns of it only when it sends.
        let _taken = sink.send(frames.next().unwrap()).await;
        let status = match results.await {
            Err(status) => status,
            Ok(mut results) => results.next().await.unwrap().unwrap_err(),
        };
        assert_eq!(status.code(), Code::Unavailable, "{status:?}");
    })
    .await;
}
