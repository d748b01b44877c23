//! Uploads when the server is killed: what was acknowledged is there, what was not is not in part.

use std::collections::BTreeMap;
use std::time::Duration;

use flight_testkit::{ServerProcess, rng};
use rand::RngExt;
use tempfile::tempdir;
use tokio::task::JoinSet;

use crate::client::{Client, table, tag_of};

const ROWS: usize = 20_000;
const WRITERS: i64 = 4;

/// What is known of a dataset: the last acknowledged upload, and those of unknown outcome since.
#[derive(Default, Debug, Clone)]
struct Known {
    acknowledged: Option<i64>,
    unknown: Vec<i64>,
}

/// Writers that create, then replace, their own datasets until the server dies.
async fn write_until_killed(endpoint: String, writer: i64, round: i64) -> BTreeMap<String, Known> {
    let mut known = BTreeMap::<String, Known>::new();
    // The server may be dead before the first connection.
    let Ok(client) = Client::try_connect(&endpoint).await else { return known };
    for turn in 0..1000 {
        let name = format!("w{writer}-{}", turn % 3);
        let tag = round * 1_000_000 + writer * 10_000 + turn;
        let dataset = known.entry(name.clone()).or_default();
        let command = format!(r#"{{"dataset":"{name}","mode":"replace"}}"#);
        match client.put(&command, &[table(tag, ROWS / 2), after(tag)]).await {
            Ok(_) => *dataset = Known { acknowledged: Some(tag), unknown: vec![] },
            Err(_) => {
                dataset.unknown.push(tag);
                break;
            }
        }
    }
    known
}

/// The second half of a table of `ROWS` rows.
fn after(tag: i64) -> arrow_array::RecordBatch {
    table(tag, ROWS).slice(ROWS / 2, ROWS / 2)
}

/// Kills the server `kills` times at random moments of uploads and checks the folder after each.
async fn check(kills: usize, seed: u64) {
    let data = tempdir().unwrap();
    let mut rng = rng(seed);
    let mut all = BTreeMap::<String, Known>::new();
    for round in 0..kills as i64 {
        let mut server = ServerProcess::start(data.path());
        let mut writers = JoinSet::new();
        for writer in 0..WRITERS {
            writers.spawn(write_until_killed(server.endpoint().to_owned(), writer, round));
        }
        let moment = Duration::from_micros(rng.random_range(500..60_000));
        tokio::time::sleep(moment).await;
        server.kill();
        while let Some(known) = writers.join_next().await {
            for (name, new) in known.unwrap() {
                let dataset = all.entry(name).or_default();
                if new.acknowledged.is_some() {
                    *dataset = new;
                } else {
                    dataset.unknown.extend(new.unknown);
                }
            }
        }
        let server = ServerProcess::start(data.path());
        let mut client = Client::connect(server.endpoint()).await;
        verify(&mut client, &mut all, round).await;
        let staging = std::fs::read_dir(data.path().join(".flight/staging")).unwrap();
        assert_eq!(staging.count(), 0, "round {round}: staging was not cleaned");
    }
}

async fn verify(client: &mut Client, all: &mut BTreeMap<String, Known>, round: i64) {
    let listed = client.names().await;
    for (name, known) in all {
        if !listed.contains(name) {
            let lost = known.acknowledged;
            assert_eq!(lost, None, "round {round}: the acknowledged upload to {name} is lost");
            continue;
        }
        let got = client.get(&format!(r#"{{"dataset":"{name}"}}"#)).await;
        let tag = tag_of(&got.unwrap_or_else(|e| panic!("round {round}: {name}: {e}")), ROWS);
        let possible = known.acknowledged.into_iter().chain(known.unknown.iter().copied());
        assert!(possible.clone().any(|t| t == tag), "round {round}: {name} holds {tag}: {known:?}");
        *known = Known { acknowledged: Some(tag), unknown: vec![] };
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hundred_kills_lose_nothing_that_was_acknowledged() {
    let kills = std::env::var("FLIGHT_KILLS").ok().and_then(|kills| kills.parse().ok());
    check(kills.unwrap_or(100), 11).await;
}

#[tokio::test]
async fn of_simultaneous_creates_one_wins() {
    let data = tempdir().unwrap();
    let server = ServerProcess::start(data.path());
    for turn in 0..20 {
        let mut racers = JoinSet::new();
        for racer in 0..4 {
            let client = Client::connect(server.endpoint()).await;
            racers.spawn(async move {
                let command = format!(r#"{{"dataset":"race-{turn}"}}"#);
                client.put(&command, &[table(racer, 1000)]).await.map(|_| racer)
            });
        }
        let outcomes: Vec<_> = racers.join_all().await;
        let winners: Vec<_> = outcomes.iter().filter_map(|o| o.as_ref().ok()).collect();
        assert_eq!(winners.len(), 1, "{outcomes:?}");
        for loser in outcomes.iter().filter_map(|o| o.as_ref().err()) {
            assert_eq!(loser.code(), tonic::Code::AlreadyExists, "{loser}");
        }
        let mut client = Client::connect(server.endpoint()).await;
        let got = client.get(&format!(r#"{{"dataset":"race-{turn}"}}"#)).await.unwrap();
        assert_eq!(tag_of(&got, 1000), **winners.first().unwrap());
    }
}
