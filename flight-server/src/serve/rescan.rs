//! The scan that finds new, changed and removed files.

use std::sync::Arc;
use std::time::Duration;

use flight_store::{ScanReport, Store};

/// Scans once and logs what changed and what cannot be served.
pub(super) async fn once(store: &Arc<Store>) -> anyhow::Result<ScanReport> {
    let store = Arc::clone(store);
    let report = tokio::task::spawn_blocking(move || store.rescan()).await?;
    for problem in &report.problems {
        tracing::warn!("{problem}");
    }
    let (added, changed, removed) = (report.added, report.changed, report.removed);
    if added + changed + removed > 0 {
        tracing::debug!(added, changed, removed, datasets = report.datasets, "the folder changed");
    }
    Ok(report)
}

/// Scans every `interval`, counted from the end of the last scan.
pub(super) async fn run(store: Arc<Store>, interval: Duration) {
    loop {
        tokio::time::sleep(interval).await;
        if let Err(error) = once(&store).await {
            tracing::error!(%error, "a scan of the folder failed");
        }
    }
}
