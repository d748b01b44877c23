//! Sets up quick: rows of get and put, plain and over TLS, over one table.

use std::sync::Arc;

use super::rows::{get_row, pool, put_row};
use super::site::site;
use super::stage::Stage;
use crate::cli::{Follow, Source, Verify};
use crate::config::{Config, GetWork, PutData, PutWork, QuickWork, Target};
use crate::exit::Stop;
use crate::limits;
use crate::load::Job;
use crate::progress::Progress;
use crate::report::Results;
use crate::target::server_program;

pub(super) async fn prepare(
    config: &Config,
    work: &QuickWork,
    stage: &mut Stage,
    results: &mut Results,
    progress: &Progress,
) -> Result<Vec<Arc<Job>>, Stop> {
    let (mut get, mut put) = works(work);
    let sites = match &config.target {
        Target::Given { .. } => {
            if let Some(name) = &work.dataset {
                get.sources = vec![Source::Path(name.split('/').map(str::to_owned).collect())];
            }
            // Two rows, each with a connection of its own.
            let first = site(config, false, None, stage, results, progress).await?;
            vec![first]
        }
        Target::Child { program } => {
            let program = server_program(program.as_deref())?;
            let (server, data, sites) =
                stage.start_quick(&program, work, &config.link, progress).await?;
            results.server = Some(server);
            get.sources = vec![Source::Path(data.components)];
            put.data = PutData::File(data.file);
            sites
        }
    };
    progress.step("preparing batches");
    let pool = pool(&put.data, put.batch_rows, put.message_bytes)?;
    let mut jobs = Vec::new();
    for site in &sites {
        jobs.push(get_row(config, site.clone(), &get, results).await?);
    }
    for site in sites {
        jobs.push(put_row(config, site, &put, &pool, stage, results).await?);
    }
    Ok(jobs)
}

/// What all rows read and write, as far as that is known before there is a server.
pub(super) fn works(work: &QuickWork) -> (GetWork, PutWork) {
    let get = GetWork {
        sources: Vec::new(),
        sample_rows: work.sample_rows,
        records_per_stream: 1,
        batch_rows: None,
        message_bytes: None,
        verify: Verify::Count,
        follow: Follow::Never,
    };
    let put = PutWork {
        destination: None,
        data: PutData::Generated { pool: POOL_OF_QUICK, seed: 42 },
        batch_rows: None,
        inflight: None,
        upload_bytes: limits::UPLOAD_BYTES_QUICK,
        message_bytes: flight_wire::limits::SEND_MESSAGE_BYTES_DEFAULT,
        verify: Verify::Count,
    };
    (get, put)
}

/// Generated batches where quick has no file to upload, as the defaults of `put`.
const POOL_OF_QUICK: u64 = 16;
