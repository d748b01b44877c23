//! Looking datasets up for callers that only want to know what they are.
//!
//! A lookup asks the disk whether the file still is what it was, on a thread that may block, so one
//! costs two changes of thread. Callers that ask for the same name while one is under way share the
//! next: it begins after each of them asked, so that each sees every change that was made before.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use flight_store::{DatasetInfo, DatasetName};
use tokio::sync::oneshot;
use tonic::Status;

use super::Flight;
use super::status::IntoStatus;

type Answer = Result<Arc<DatasetInfo>, Status>;

/// Who waits for a lookup, by name. A name is here as long as somebody looks it up.
#[derive(Default)]
pub struct Lookups(Mutex<HashMap<DatasetName, Vec<oneshot::Sender<Answer>>>>);

impl Lookups {
    fn waiting(&self) -> MutexGuard<'_, HashMap<DatasetName, Vec<oneshot::Sender<Answer>>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Flight {
    /// What the dataset of this name is now.
    pub(super) async fn look_up(self: &Arc<Self>, name: DatasetName) -> Answer {
        let (answer, answered) = oneshot::channel();
        let under_way = {
            let mut waiting = self.lookups.waiting();
            let under_way = waiting.contains_key(&name);
            waiting.entry(name.clone()).or_default().push(answer);
            under_way
        };
        if !under_way {
            let flight = Arc::clone(self);
            tokio::task::spawn_blocking(move || flight.answer_all(&name));
        }
        answered.await.unwrap_or_else(|_| Err(Status::internal("the server failed on this call")))
    }

    /// Looks `name` up until nobody waits for it any more.
    fn answer_all(&self, name: &DatasetName) {
        // Those who wait are told when the lookup below panics, since their senders are dropped.
        let _forget = Forget { flight: self, name };
        loop {
            let callers = {
                let mut waiting = self.lookups.waiting();
                let callers = waiting.get_mut(name).map(std::mem::take).unwrap_or_default();
                if callers.is_empty() {
                    waiting.remove(name);
                    return;
                }
                callers
            };
            let found = self.store.lookup(name).map_err(IntoStatus::into_status);
            let found = found.map(|dataset| Arc::new(dataset.info));
            for caller in callers {
                // A caller may have gone.
                let _ = caller.send(found.clone());
            }
        }
    }
}

/// Forgets a name whose lookup panicked.
struct Forget<'a> {
    flight: &'a Flight,
    name: &'a DatasetName,
}

impl Drop for Forget<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.flight.lookups.waiting().remove(self.name);
        }
    }
}
