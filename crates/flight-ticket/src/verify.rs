//! What is checked of a ticket, the cheap first: nothing is parsed before its signature holds but
//! what lies at fixed places.

use flight_keys::KeyRing;

use crate::claims::{Claims, Right};
use crate::encoded::{self, LABEL};
use crate::limits::TICKET_BYTES_MAX;
use crate::refusal::Refusal;

/// A ticket whose signature, audience, times, right and bearer were checked. `verify` is the only way
/// to get one.
#[derive(Debug)]
pub struct VerifiedTicket {
    claims: Claims,
}

/// How a ticket was presented.
#[derive(Debug, Clone, Copy)]
pub struct Presented<'a> {
    /// Of the server that it was presented to.
    pub audience: [u8; 8],
    pub now_ms: u64,
    /// How far the clock of who issued may be from this one.
    pub skew_ms: u64,
    /// What is to be done.
    pub right: Right,
    /// To which dataset, where that is not for the ticket to say.
    pub dataset: Option<&'a str>,
    /// SHA-256 of the bearer's certificate, if one was shown.
    pub certificate: Option<&'a [u8; 32]>,
}

impl VerifiedTicket {
    /// # Errors
    ///
    /// The first check that failed: for logs, since all print the same.
    pub fn verify(
        ticket: &[u8],
        ring: &KeyRing,
        presented: &Presented<'_>,
    ) -> Result<Self, Refusal> {
        let claims = genuine(ticket, ring, presented.now_ms)?;
        if claims.audience != presented.audience {
            return Err(Refusal::Audience);
        }
        let earliest_ms = claims.not_before_ms.max(claims.issued_ms);
        if presented.now_ms.saturating_add(presented.skew_ms) < earliest_ms {
            return Err(Refusal::NotYetValid);
        }
        if claims.expires_ms.saturating_add(presented.skew_ms) <= presented.now_ms {
            return Err(Refusal::Expired);
        }
        if ring.is_cancelled(&claims.nonce) {
            return Err(Refusal::Cancelled);
        }
        if presented.dataset.is_some_and(|dataset| dataset != claims.dataset) {
            return Err(Refusal::Dataset);
        }
        if !claims.rights.has(presented.right) {
            return Err(Refusal::Right);
        }
        if claims.certificate.as_ref().is_some_and(|bound| presented.certificate != Some(bound)) {
            return Err(Refusal::Certificate);
        }
        Ok(Self { claims })
    }

    pub fn claims(&self) -> &Claims {
        &self.claims
    }

    /// The same ticket with a new lease: nonce and bearer stay, so that what cancels it cancels all.
    #[must_use]
    pub fn renewed(&self, now_ms: u64, ttl_ms: u64) -> Claims {
        let expires_ms = now_ms.saturating_add(ttl_ms).max(self.claims.expires_ms);
        Claims { expires_ms, ..self.claims.clone() }
    }
}

/// What a ticket says, once its signature holds.
fn genuine(ticket: &[u8], ring: &KeyRing, now_ms: u64) -> Result<Claims, Refusal> {
    if TICKET_BYTES_MAX < ticket.len() {
        return Err(Refusal::Malformed);
    }
    let key = ring.verifier(encoded::key_id(ticket).ok_or(Refusal::Malformed)?, now_ms)?;
    let body_bytes = ticket.len().checked_sub(key.algorithm().signature_bytes());
    let body_bytes = body_bytes.filter(|bytes| encoded::HEAD_BYTES <= *bytes);
    let (body, signature) = ticket.split_at(body_bytes.ok_or(Refusal::Malformed)?);
    if !key.verifies(LABEL, body, signature) {
        return Err(Refusal::Signature);
    }
    encoded::parse(body).ok_or(Refusal::Malformed)
}
