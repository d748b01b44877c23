//! What a ticket says.

use std::fmt;

/// Something that a ticket lets its bearer do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Right {
    Read,
    Write,
    Delete,
}

/// A set of rights; not empty in a ticket.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Rights(u8);

impl Rights {
    const ALL: [Right; 3] = [Right::Read, Right::Write, Right::Delete];

    pub fn only(right: Right) -> Self {
        Self(bit(right))
    }

    #[must_use]
    pub fn and(self, right: Right) -> Self {
        Self(self.0 | bit(right))
    }

    pub fn has(self, right: Right) -> bool {
        self.0 & bit(right) != 0
    }

    pub(crate) fn to_bits(self) -> u8 {
        self.0
    }

    pub(crate) fn from_bits(bits: u8) -> Option<Self> {
        (1..=7).contains(&bits).then_some(Self(bits))
    }
}

fn bit(right: Right) -> u8 {
    match right {
        Right::Read => 1,
        Right::Write => 2,
        Right::Delete => 4,
    }
}

impl fmt::Debug for Rights {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(Self::ALL.into_iter().filter(|right| self.has(*right))).finish()
    }
}

/// A part of a dataset.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rows {
    /// Rows by their number.
    Rows { first: u64, count: u64 },
    /// Row groups by their number.
    Groups { first: u64, count: u64 },
}

impl Rows {
    /// Everything, by rows.
    pub const ALL: Self = Self::Rows { first: 0, count: u64::MAX };
}

/// Everything that is signed. Times are milliseconds of Unix time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claims {
    /// Of the servers that take it: the start of the SHA-256 of their cluster's name.
    pub audience: [u8; 8],
    pub issued_ms: u64,
    pub not_before_ms: u64,
    /// The first millisecond at which it is over.
    pub expires_ms: u64,
    pub rights: Rights,
    /// Good for one use.
    pub once: bool,
    pub dataset: String,
    /// Zero where it does not matter, as for a dataset that is yet to be written.
    pub version: [u8; 16],
    pub rows: Rows,
    /// Bytes that may be moved; `None` for any number.
    pub bytes_max: Option<u64>,
    /// Whom it was issued to, for logs; empty where nobody is known.
    pub subject: String,
    /// SHA-256 of the certificate that its bearer must show; `None` for any bearer.
    pub certificate: Option<[u8; 32]>,
    /// Random; names the ticket when it is cancelled or used.
    pub nonce: [u8; 16],
    /// How the rows are sent, in the words of who issues.
    pub tail: Vec<u8>,
}
