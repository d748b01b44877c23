//! Certificates that change under load: no handshake fails, no stream is cut.

use std::sync::Arc;
use std::time::Duration;

use flight_tls::ClientOptions;
use tokio::sync::{Barrier, watch};
use tokio::task::JoinSet;

use crate::client::table;
use crate::rotating::{Files, call, server_of};

/// Streams, and changes of the certificate; `FLIGHT_LONG=1` makes them 64 and 100.
fn load() -> (usize, usize, bool) {
    let long = std::env::var("FLIGHT_LONG").is_ok_and(|long| long == "1");
    if long { (64, 100, long) } else { (16, 10, long) }
}

const BATCHES: usize = 400;
const ROWS: usize = 2_000;
/// Of a server as it is without options: two looks half a second apart, and some more.
const IN_USE_WITHIN: Duration = Duration::from_secs(2);

#[tokio::test(flavor = "multi_thread")]
async fn certificates_change_under_load_and_nobody_notices() {
    let (streams, changes, long) = load();
    // The long run is of the defaults, on a machine with nothing else to do.
    let interval = if long { "500ms" } else { "100ms" };
    // The readers wait for the changes: longer than a reader may who takes nothing.
    let served = Files::new().serve(&["--tls-reload", interval, "--stall-timeout", "15m"]);
    let endpoint = served.server.endpoint().to_owned();
    let tls = served.client_tls(None, ClientOptions::default());
    let writer = served.call(&tls).await.unwrap();
    let batches: Vec<_> = (0..BATCHES).map(|_| table(1, ROWS)).collect();
    writer.put(r#"{"dataset":"t","codec":"none"}"#, &batches).await.unwrap();

    let (change, changed) = watch::channel(0);
    let all_run = Arc::new(Barrier::new(streams + 1));
    let mut readers = JoinSet::new();
    for _ in 0..streams {
        let (endpoint, tls, mut changed) = (endpoint.clone(), tls.clone(), changed.clone());
        let all_run = Arc::clone(&all_run);
        // From before the first change to after the last, a batch at each.
        readers.spawn(async move {
            let mut client = call(&endpoint, &tls).await.unwrap();
            let info = client.info(r#"{"dataset":"t","batch_rows":2000}"#).await.unwrap();
            let ticket = info.endpoint[0].ticket.clone().unwrap().ticket;
            let mut stream = client.stream(&ticket).await.unwrap();
            let mut rows = stream.next().await.unwrap().unwrap().num_rows();
            all_run.wait().await;
            while changed.changed().await.is_ok() {
                rows += stream.next().await.unwrap().map_or(0, |batch| batch.num_rows());
            }
            while let Some(batch) = stream.next().await.unwrap() {
                rows += batch.num_rows();
            }
            rows
        });
    }
    // And new connections all the while, some of which resume sessions.
    let mut newcomers = JoinSet::new();
    for _ in 0..2 {
        let (endpoint, tls, changed) = (endpoint.clone(), tls.clone(), changed.clone());
        newcomers.spawn(async move {
            let mut calls = 0;
            while changed.has_changed().is_ok() {
                call(&endpoint, &tls).await.unwrap();
                calls += 1;
            }
            calls
        });
    }
    drop(changed);
    all_run.wait().await;
    let mut slowest = Duration::ZERO;
    for count in 0..changes {
        let new = server_of(&served.files.root);
        served.files.write_pair(&new);
        slowest = slowest.max(served.until_served(&new).await);
        change.send_replace(count);
    }
    drop(change);
    while let Some(rows) = readers.join_next().await {
        assert_eq!(rows.unwrap(), BATCHES * ROWS);
    }
    while let Some(calls) = newcomers.join_next().await {
        assert!(calls.unwrap() > 0);
    }
    assert_eq!(served.figure("tls_reloads_taken_total"), changes as i64);
    assert_eq!(served.figure("tls_handshakes_failed_total"), 0, "{}", served.server.stderr());
    assert!(!long || slowest < IN_USE_WITHIN, "in use after {slowest:?}");
}
