//! Why a ticket is refused: for logs and counters.

use flight_keys::KeyRefusal;

/// Why a ticket is refused. All print the same: a peer must not learn which check failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, thiserror::Error)]
#[error(
    "the ticket does not permit this, or no more; ask for a new one: GetFlightInfo to read, the \
     action ticket.issue to write and delete"
)]
pub enum Refusal {
    /// No ticket, or none of ours.
    Malformed,
    UnknownKey,
    ExpiredKey,
    RevokedKey,
    Signature,
    Audience,
    NotYetValid,
    Expired,
    Cancelled,
    Dataset,
    Right,
    Range,
    Certificate,
    UsedBefore,
}

impl Refusal {
    /// Its name in counters and logs.
    pub fn reason(self) -> &'static str {
        match self {
            Self::Malformed => "malformed",
            Self::UnknownKey => "unknown_key",
            Self::ExpiredKey => "expired_key",
            Self::RevokedKey => "revoked_key",
            Self::Signature => "signature",
            Self::Audience => "audience",
            Self::NotYetValid => "not_yet_valid",
            Self::Expired => "expired",
            Self::Cancelled => "cancelled",
            Self::Dataset => "dataset",
            Self::Right => "right",
            Self::Range => "range",
            Self::Certificate => "certificate",
            Self::UsedBefore => "used_before",
        }
    }
}

impl From<KeyRefusal> for Refusal {
    fn from(refusal: KeyRefusal) -> Self {
        match refusal {
            KeyRefusal::Unknown => Self::UnknownKey,
            KeyRefusal::Expired => Self::ExpiredKey,
            KeyRefusal::Revoked => Self::RevokedKey,
        }
    }
}
