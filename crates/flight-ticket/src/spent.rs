//! Tickets for one use that were used: remembered until they expire.

use std::collections::HashMap;

use crate::limits::SPENT_MAX;
use crate::{Refusal, VerifiedTicket};

/// The nonces of used tickets. A process remembers its own alone: a ticket that was issued before it
/// began may have been used before, and is refused.
#[derive(Debug)]
pub struct Spent {
    since_ms: u64,
    /// By nonce, the time from which on the ticket is refused as expired.
    until_ms: HashMap<[u8; 16], u64>,
}

/// Why a ticket for one use cannot be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SpentError {
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// Nobody is at fault; the client may try again once others have expired.
    #[error("{SPENT_MAX} tickets for one use are remembered, no more; try again later")]
    Full,
}

impl Spent {
    pub fn since(since_ms: u64) -> Self {
        Self { since_ms, until_ms: HashMap::new() }
    }

    /// Uses a ticket; one that may be used often always can be.
    ///
    /// # Errors
    ///
    /// When it was used before, or may have been.
    pub fn spend(
        &mut self,
        ticket: &VerifiedTicket,
        now_ms: u64,
        skew_ms: u64,
    ) -> Result<(), SpentError> {
        let claims = ticket.claims();
        if !claims.once {
            return Ok(());
        }
        if claims.issued_ms < self.since_ms || self.until_ms.contains_key(&claims.nonce) {
            return Err(Refusal::UsedBefore.into());
        }
        if SPENT_MAX <= self.until_ms.len() {
            self.until_ms.retain(|_, until_ms| now_ms < *until_ms);
        }
        if SPENT_MAX <= self.until_ms.len() {
            return Err(SpentError::Full);
        }
        let until_ms = claims.expires_ms.saturating_add(skew_ms);
        self.until_ms.insert(claims.nonce, until_ms);
        Ok(())
    }
}
