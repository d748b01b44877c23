//! Health and metrics over HTTP/1.1, on an address of their own.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use bytes::Bytes;
use flight_net::server::Counters;
use http::{Method, Request, Response, StatusCode, header};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::TcpListener;
use tokio::sync::Semaphore;

use super::config::{Admin, Config};
use crate::service::Metrics;

/// Requests that are answered at once.
const CONNECTIONS_MAX: usize = 32;
/// Time for a request's head.
const HEAD_WITHIN: Duration = Duration::from_secs(10);

/// A running admin endpoint; it ends with the process.
pub(super) struct Running {
    pub(super) address: SocketAddr,
}

pub(super) async fn start(
    config: &Config,
    metrics: Arc<Metrics>,
    counters: Arc<Counters>,
) -> anyhow::Result<Option<Running>> {
    let listener = match config.admin {
        Admin::Off => return Ok(None),
        Admin::At(address) => TcpListener::bind(address)
            .await
            .with_context(|| format!("--admin {address}: cannot listen"))?,
        Admin::Default(address) => match TcpListener::bind(address).await {
            Ok(listener) => listener,
            Err(error) => {
                tracing::warn!(
                    "no health and metrics endpoint: {address}: {error}; \
                     choose another with --admin, or --admin none"
                );
                return Ok(None);
            }
        },
    };
    let address = listener.local_addr()?;
    tokio::spawn(accept(listener, metrics, counters));
    Ok(Some(Running { address }))
}

async fn accept(listener: TcpListener, metrics: Arc<Metrics>, counters: Arc<Counters>) {
    let slots = Arc::new(Semaphore::new(CONNECTIONS_MAX));
    loop {
        let Ok(slot) = Arc::clone(&slots).acquire_owned().await else { return };
        let Ok((stream, _)) = listener.accept().await else {
            tokio::time::sleep(Duration::from_millis(100)).await;
            continue;
        };
        let (metrics, counters) = (Arc::clone(&metrics), Arc::clone(&counters));
        tokio::spawn(async move {
            let service = service_fn(|request| {
                let response = answer(&request, &metrics, &counters);
                async move { Ok::<_, Infallible>(response) }
            });
            let connection = http1::Builder::new()
                .timer(TokioTimer::new())
                .header_read_timeout(HEAD_WITHIN)
                .keep_alive(false)
                .serve_connection(TokioIo::new(stream), service);
            // A broken scrape is the scraper's to notice.
            let _ = connection.await;
            drop(slot);
        });
    }
}

fn answer(
    request: &Request<Incoming>,
    metrics: &Metrics,
    counters: &Counters,
) -> Response<Full<Bytes>> {
    let text = |status, text: String, kind: &'static str| {
        let mut response = Response::new(Full::new(Bytes::from(text)));
        *response.status_mut() = status;
        let kind = header::HeaderValue::from_static(kind);
        response.headers_mut().insert(header::CONTENT_TYPE, kind);
        response
    };
    const PLAIN: &str = "text/plain; charset=utf-8";
    if request.method() != Method::GET {
        return text(StatusCode::METHOD_NOT_ALLOWED, "only GET\n".into(), PLAIN);
    }
    match request.uri().path() {
        "/metrics" => text(
            StatusCode::OK,
            metrics.encode(counters),
            "application/openmetrics-text; version=1.0.0; charset=utf-8",
        ),
        "/healthz" => text(StatusCode::OK, "ok\n".into(), PLAIN),
        _ => text(StatusCode::NOT_FOUND, "there are /metrics and /healthz\n".into(), PLAIN),
    }
}
