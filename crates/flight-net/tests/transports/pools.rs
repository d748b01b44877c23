//! Connections that callers share.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use arrow_flight::Action;
use arrow_flight::flight_service_client::FlightServiceClient;
use flight_net::Endpoint;
use flight_net::client::{ConnectOptions, Connection, Connector, Pool, PoolOptions};
use flight_net::limits::ServerLimits;
use flight_net::server::{Counters, Listener, Server};
use tokio::sync::watch;
use tokio::task::{JoinHandle, JoinSet};
use tonic::{Code, Request, Status};

use crate::support::{HANG, Script};

/// A server that can be stopped and started again at the same address.
struct Restarted {
    endpoint: Endpoint,
    counters: Arc<Counters>,
    running: Option<(JoinHandle<()>, watch::Sender<bool>)>,
}

impl Restarted {
    fn start() -> Self {
        let endpoint = "grpc://127.0.0.1:0".parse().unwrap();
        let mut server = Self { endpoint, counters: Arc::default(), running: None };
        server.listen();
        server
    }

    fn listen(&mut self) {
        let listener = Listener::bind(&self.endpoint).unwrap();
        self.endpoint = listener.endpoint().clone();
        let counters = Arc::clone(&self.counters);
        let server = Server { limits: ServerLimits::default(), tls: None, counters };
        let (stop, stopped) = watch::channel(false);
        let running = tokio::spawn(server.serve(vec![listener], Script, stopped));
        self.running = Some((running, stop));
    }

    async fn stop(&mut self) {
        if let Some((running, stop)) = self.running.take() {
            stop.send(true).unwrap();
            running.await.unwrap();
        }
    }

    fn pool(&self, connections: usize, idle: Duration) -> Pool {
        let connector = Connector::new(self.endpoint.clone(), None, ConnectOptions::default());
        Pool::new(connector, PoolOptions { connections, idle })
    }

    fn accepted(&self) -> u64 {
        self.counters.accepted.load(Relaxed)
    }
}

/// A call that the server answers at its deadline, or at once.
async fn call(connection: Connection, script: &'static str) -> Result<(), Status> {
    let mut request = Request::new(Action::new("any", ""));
    request.metadata_mut().insert("script", script.parse().unwrap());
    if script == "deadline" {
        request.set_timeout(Duration::from_millis(300));
    }
    match FlightServiceClient::new(connection).do_action(request).await {
        Err(status) if status.code() == Code::Unavailable => Err(status),
        _ => Ok(()),
    }
}

async fn called(pool: &Pool, script: &'static str) -> Result<(), Status> {
    let called = pool.repeatable(|connection| call(connection, script));
    tokio::time::timeout(HANG, called).await.expect("it hangs")
}

#[tokio::test]
async fn calls_at_once_are_spread_over_as_many_connections_as_there_may_be() {
    let server = Restarted::start();
    let pool = server.pool(3, HANG);
    let mut calls = JoinSet::new();
    for _ in 0..50 {
        let pool = pool.clone();
        calls.spawn(async move { called(&pool, "deadline").await });
    }
    for called in calls.join_all().await {
        called.unwrap();
    }
    assert_eq!((server.accepted(), pool.open_connections()), (3, 3));
}

#[tokio::test]
async fn calls_one_after_another_share_one_connection() {
    let server = Restarted::start();
    let pool = server.pool(3, HANG);
    assert!(pool.get().await.unwrap().is_new());
    for _ in 0..20 {
        called(&pool, "refused").await.unwrap();
    }
    assert!(!pool.get().await.unwrap().is_new());
    assert_eq!(server.accepted(), 1);
}

#[tokio::test]
async fn idle_connections_are_closed_and_made_again_when_they_are_needed() {
    let server = Restarted::start();
    let pool = server.pool(3, Duration::from_millis(50));
    for round in 1..=2 {
        called(&pool, "refused").await.unwrap();
        assert_eq!(server.accepted(), round);
        let closed = async {
            while pool.open_connections() > 0 || server.counters.open.load(Relaxed) > 0 {
                tokio::task::yield_now().await;
            }
        };
        tokio::time::timeout(HANG, closed).await.expect("it stays open");
    }
}

#[tokio::test]
async fn a_server_that_was_restarted_is_found_without_an_error() {
    let mut server = Restarted::start();
    let pool = server.pool(2, HANG);
    for _ in 0..5 {
        let at_once = tokio::join!(called(&pool, "deadline"), called(&pool, "deadline"));
        assert!(at_once.0.is_ok() && at_once.1.is_ok(), "{at_once:?}");
        server.stop().await;
        server.listen();
        called(&pool, "refused").await.unwrap();
    }
}

#[tokio::test]
async fn without_a_server_each_caller_is_told_and_the_next_tries_again() {
    let mut server = Restarted::start();
    let pool = server.pool(1, HANG);
    server.stop().await;
    let refused = tokio::join!(called(&pool, "refused"), called(&pool, "refused"));
    for status in [refused.0.unwrap_err(), refused.1.unwrap_err()] {
        assert_eq!(status.code(), Code::Unavailable);
        assert!(status.message().contains("cannot reach grpc://127.0.0.1:"), "{status}");
    }
    server.listen();
    called(&pool, "refused").await.unwrap();
}

#[tokio::test]
async fn a_caller_that_gives_up_while_it_connects_holds_up_nobody() {
    let server = Restarted::start();
    let pool = server.pool(1, HANG);
    for _ in 0..10 {
        // Polled once, and dropped.
        drop(tokio::time::timeout(Duration::ZERO, pool.get()).await);
    }
    called(&pool, "refused").await.unwrap();
    assert_eq!(pool.open_connections(), 1);
}
