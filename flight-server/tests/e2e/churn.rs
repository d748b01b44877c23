//! Clients that come and go over TLS, some in the middle of their handshake: nothing of them stays,
//! and who reads meanwhile goes on.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use flight_tls::{ClientOptions, ClientTls};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tokio::time::{MissedTickBehavior, interval};

use crate::client::table;
use crate::rotating::{Files, Rotating, call};

const A_SECOND: u32 = 200;
/// Of the connections, one in so many is broken off half-way.
const BROKEN: u32 = 5;
const READERS: usize = 2;
const ROWS: usize = 100_000;
/// Of what running streams moved before.
const KEPT: f64 = 0.7;
/// The first bytes of a TLS 1.3 ClientHello, which says that 512 are to come.
const HALF_A_HELLO: &[u8] = b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03half of it";

/// How long the clients come and go; `FLIGHT_LONG=1` makes it a minute.
fn span() -> (Duration, bool) {
    let long = std::env::var("FLIGHT_LONG").is_ok_and(|long| long == "1");
    (Duration::from_secs(if long { 60 } else { 2 }), long)
}

#[tokio::test(flavor = "multi_thread")]
async fn connections_that_come_and_go_leave_nothing() {
    let (span, long) = span();
    let served = Files::new().serve_and_log("warn", &[]);
    let endpoint: Arc<str> = served.server.endpoint().into();
    let tls = served.client_tls(None, ClientOptions::default());
    let writer = served.call(&tls).await.unwrap();
    writer.put(r#"{"dataset":"t"}"#, &[table(1, ROWS), table(1, ROWS)]).await.unwrap();
    let (rows, stop) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicBool::new(false)));
    let mut readers = JoinSet::new();
    for _ in 0..READERS {
        let (rows, stop) = (Arc::clone(&rows), Arc::clone(&stop));
        readers.spawn(read(Arc::clone(&endpoint), tls.clone(), rows, stop));
    }
    // All of them read by now, and one by one a pass more.
    served.until("the readers read", async || rows.load(Relaxed) > 4 * ROWS as u64).await;
    let [descriptors, threads] = held(&served);
    let connections = served.figure("open_connections");

    let before = moved_in(&rows, if long { span / 6 } else { Duration::from_millis(500) }).await;
    let options = ClientOptions { no_resumption: true, ..ClientOptions::default() };
    let churn = come_and_go(endpoint, served.client_tls(None, options), span);
    let churn = tokio::spawn(churn);
    let during = moved_in(&rows, span).await;
    churn.await.unwrap();

    let back = async || served.figure("open_connections") == connections;
    served.until("only the readers' connections are left", back).await;
    served.until("as many descriptors as before", async || held(&served)[0] <= descriptors).await;
    // The runtime's threads for blocking work come and go; none may be for a connection.
    assert!(held(&served)[1] <= threads + 8, "{threads} threads, then {}", held(&served)[1]);
    stop.store(true, Relaxed);
    while let Some(reader) = readers.join_next().await {
        reader.unwrap();
    }
    let kept = during / before;
    eprintln!("the running streams kept {:.0} % of their rate", kept * 100.0);
    assert!(!long || kept >= KEPT, "kept {kept:.2} of {before:.0} rows/s");
}

/// Reads the dataset again and again, until told to stop.
async fn read(endpoint: Arc<str>, tls: ClientTls, rows: Arc<AtomicU64>, stop: Arc<AtomicBool>) {
    let mut client = call(&endpoint, &tls).await.unwrap();
    let info = client.info(r#"{"dataset":"t"}"#).await.unwrap();
    let ticket = info.endpoint[0].ticket.clone().unwrap().ticket;
    while !stop.load(Relaxed) {
        let mut stream = client.stream(&ticket).await.unwrap();
        while let Some(batch) = stream.next().await.unwrap() {
            rows.fetch_add(batch.num_rows() as u64, Relaxed);
        }
    }
}

/// Rows a second.
async fn moved_in(rows: &AtomicU64, window: Duration) -> f64 {
    let (began, first) = (tokio::time::Instant::now(), rows.load(Relaxed));
    tokio::time::sleep(window).await;
    (rows.load(Relaxed) - first) as f64 / began.elapsed().as_secs_f64()
}

/// New connections at a steady rate, each with a full handshake and a call, or broken off.
async fn come_and_go(endpoint: Arc<str>, tls: ClientTls, span: Duration) {
    let mut ticks = interval(Duration::from_secs(1) / A_SECOND);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Burst);
    let mut clients = JoinSet::new();
    for number in 0..A_SECOND * span.as_secs() as u32 {
        ticks.tick().await;
        let (endpoint, tls) = (Arc::clone(&endpoint), tls.clone());
        clients.spawn(async move {
            if number % BROKEN == 0 {
                let address = endpoint.strip_prefix("grpc+tls://").unwrap();
                TcpStream::connect(address).await.unwrap().write_all(HALF_A_HELLO).await.unwrap();
            } else {
                call(&endpoint, &tls).await.unwrap();
            }
        });
    }
    while let Some(client) = clients.join_next().await {
        client.unwrap();
    }
}

/// The server's open descriptors, and its threads.
fn held(served: &Rotating) -> [usize; 2] {
    ["fd", "task"].map(|what| {
        std::fs::read_dir(format!("/proc/{}/{what}", served.server.pid())).unwrap().count()
    })
}
