//! Signed tickets: which are issued, and which are taken.
//!
//! How a ticket looks and what is checked of it is `flight-ticket`'s; whether the dataset is still the
//! one that a ticket names is the catalogue's.

mod caller;
mod endpoints;
mod figures;

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use flight_keys::{Algorithm, KeyError, KeyRing, KeyStore, Schedule, random};
use flight_ticket::limits::{DATASET_BYTES_MAX, TAIL_BYTES_MAX};
use flight_ticket::{
    Claims, Presented, Refusal, Right, Rights, Rows, Spent, VerifiedTicket, issue,
};
use tonic::Status;

use super::status::IntoStatus;

pub(super) use caller::Caller;
pub(super) use endpoints::endpoints;
pub use figures::TicketFigures;

/// Everything that tickets are signed and verified by.
pub struct Tickets {
    keys: Arc<KeyStore>,
    schedule: Schedule,
    algorithm: Algorithm,
    audience: [u8; 8],
    /// Whether a ticket is for the client certificate that asked for it.
    bound: bool,
    spent: Mutex<Spent>,
    figures: TicketFigures,
}

/// What a ticket is issued for.
pub(super) struct Grant {
    pub(super) right: Right,
    pub(super) once: bool,
    pub(super) dataset: String,
    pub(super) version: [u8; 16],
    pub(super) rows: Rows,
    pub(super) bytes_max: Option<u64>,
    pub(super) tail: Vec<u8>,
}

/// A signed ticket and the time at which it is over.
pub(super) struct Issued {
    pub(super) ticket: Vec<u8>,
    pub(super) expires_ms: u64,
}

/// Milliseconds of Unix time.
pub fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

impl Tickets {
    pub fn new(
        keys: Arc<KeyStore>,
        schedule: Schedule,
        algorithm: Algorithm,
        audience: [u8; 8],
        bound: bool,
    ) -> Self {
        let spent = Mutex::new(Spent::since(now_ms()));
        let figures = TicketFigures::default();
        Self { keys, schedule, algorithm, audience, bound, spent, figures }
    }

    pub fn figures(&self) -> &TicketFigures {
        &self.figures
    }

    /// Whether signing takes long enough to keep other calls waiting.
    pub(super) fn signs_slowly(&self) -> bool {
        self.algorithm != Algorithm::Hmac
    }

    /// Issues a ticket to a caller.
    ///
    /// # Errors
    ///
    /// `UNAUTHENTICATED` where tickets are bound to certificates and the caller showed none,
    /// `UNAVAILABLE` without a key.
    pub(super) fn issue(&self, grant: Grant, caller: &Caller) -> Result<Issued, Status> {
        let certificate = caller.peer.client_fingerprint.filter(|_| self.bound);
        if self.bound && certificate.is_none() {
            return Err(Status::unauthenticated(
                "tickets are bound to the client's certificate here; show one (mutual TLS)",
            ));
        }
        if DATASET_BYTES_MAX < grant.dataset.len() || TAIL_BYTES_MAX < grant.tail.len() {
            return Err(Status::resource_exhausted(format!(
                "a ticket holds a name of {DATASET_BYTES_MAX} bytes and {} columns at most; ask \
                 for fewer columns, or for all",
                TAIL_BYTES_MAX / 4 - 8
            )));
        }
        let now_ms = now_ms();
        let Grant { right, once, dataset, version, rows, bytes_max, tail } = grant;
        self.sign(&Claims {
            audience: self.audience,
            issued_ms: now_ms,
            not_before_ms: now_ms,
            expires_ms: now_ms.saturating_add(self.schedule.ttl_ms()),
            rights: Rights::only(right),
            once,
            dataset,
            version,
            rows,
            bytes_max,
            subject: caller.subject(),
            certificate,
            nonce: random().map_err(IntoStatus::into_status)?,
            tail,
        })
    }

    fn sign(&self, claims: &Claims) -> Result<Issued, Status> {
        let started = Instant::now();
        let ring = self.keys.ring();
        let Some(key) = ring.signer(self.algorithm, now_ms()) else {
            return Err(Status::unavailable("no key signs tickets at present; try again"));
        };
        let ticket = issue(claims, key).map_err(IntoStatus::into_status)?;
        self.figures.issued(started.elapsed());
        Ok(Issued { ticket, expires_ms: claims.expires_ms })
    }

    /// Verifies a ticket for a use of it. `dataset`: where the call names it too.
    ///
    /// # Errors
    ///
    /// One text for all that is wrong with a ticket; what it is, is counted and logged.
    pub(super) fn verify(
        &self,
        ticket: &[u8],
        right: Right,
        dataset: Option<&str>,
        caller: &Caller,
    ) -> Result<VerifiedTicket, Status> {
        self.check(&self.keys.ring(), ticket, right, dataset, caller)
            .map_err(|refusal| self.refuse(refusal, caller))
    }

    /// The same, for the use that is about to happen: a ticket for one use is used up.
    ///
    /// # Errors
    ///
    /// As [`verify`](Self::verify); `RESOURCE_EXHAUSTED` when no more can be remembered.
    pub(super) fn spend(
        &self,
        ticket: &[u8],
        right: Right,
        dataset: Option<&str>,
        caller: &Caller,
    ) -> Result<VerifiedTicket, Status> {
        let verified = self.verify(ticket, right, dataset, caller)?;
        let mut spent = self.spent.lock().unwrap_or_else(PoisonError::into_inner);
        match spent.spend(&verified, now_ms(), self.schedule.skew_ms()) {
            Ok(()) => Ok(verified),
            Err(flight_ticket::SpentError::Refused(refusal)) => Err(self.refuse(refusal, caller)),
            Err(full @ flight_ticket::SpentError::Full) => {
                Err(Status::resource_exhausted(full.to_string()))
            }
        }
    }

    /// The same ticket with a later end.
    ///
    /// # Errors
    ///
    /// As [`verify`](Self::verify) and [`issue`](Self::issue).
    pub(super) fn renew(&self, ticket: &[u8], caller: &Caller) -> Result<Issued, Status> {
        let verified = self.verify(ticket, Right::Read, None, caller)?;
        self.sign(&verified.renewed(now_ms(), self.schedule.ttl_ms()))
    }

    /// Cancels tickets, all or none. Blocks on the disk.
    ///
    /// # Errors
    ///
    /// As [`verify`](Self::verify); what keeps the keys from being written.
    pub(super) fn cancel(&self, tickets: &[&[u8]], caller: &Caller) -> Result<(), Status> {
        let ring = self.keys.ring();
        let mut nonces = Vec::with_capacity(tickets.len());
        for ticket in tickets {
            match self.check(&ring, ticket, Right::Read, None, caller) {
                Ok(verified) => nonces.push(verified.claims().nonce),
                // As it should be.
                Err(Refusal::Cancelled) => {}
                Err(refusal) => return Err(self.refuse(refusal, caller)),
            }
        }
        if nonces.is_empty() {
            return Ok(());
        }
        let now_ms = now_ms();
        // A renewal of before this moment is good until then, by the slowest clock.
        let (ttl_ms, skew_ms) = (self.schedule.ttl_ms(), self.schedule.skew_ms());
        let until_ms = now_ms.saturating_add(ttl_ms).saturating_add(skew_ms.saturating_mul(2));
        let cancelled = self.keys.update(|ring| ring.cancel(&nonces, now_ms, until_ms));
        cancelled.map_err(IntoStatus::into_status)
    }

    fn check(
        &self,
        ring: &KeyRing,
        ticket: &[u8],
        right: Right,
        dataset: Option<&str>,
        caller: &Caller,
    ) -> Result<VerifiedTicket, Refusal> {
        let started = Instant::now();
        let presented = Presented {
            audience: self.audience,
            now_ms: now_ms(),
            skew_ms: self.schedule.skew_ms(),
            right,
            dataset,
            certificate: caller.peer.client_fingerprint.as_ref(),
        };
        let verified = VerifiedTicket::verify(ticket, ring, &presented);
        self.figures.verified(started.elapsed());
        verified
    }

    fn refuse(&self, refusal: Refusal, caller: &Caller) -> Status {
        self.figures.refused(refusal);
        tracing::debug!(reason = refusal.reason(), peer = %caller.peer, "a ticket was refused");
        Status::permission_denied(refusal.to_string())
    }
}

impl IntoStatus for KeyError {
    fn into_status(self) -> Status {
        match self {
            Self::TooManyCancelled => Status::resource_exhausted(self.to_string()),
            // Paths and keys are the operator's affair.
            other => {
                tracing::error!("{other}");
                Status::internal("the server cannot use its keys")
            }
        }
    }
}
