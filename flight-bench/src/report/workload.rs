//! What is measured, what is counted of it, and what that is called.

use crate::record::Transfer;
use crate::workload::Kind;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Workload {
    Get,
    Put,
    Unary,
    Tls,
    Exchange,
    /// All operations of a mix together.
    Mixed,
}

impl Workload {
    pub(crate) const ALL: [Self; 6] =
        [Self::Get, Self::Put, Self::Unary, Self::Tls, Self::Exchange, Self::Mixed];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Get => "get",
            Self::Put => "put",
            Self::Unary => "unary",
            Self::Tls => "tls",
            Self::Exchange => "exchange",
            Self::Mixed => "mixed",
        }
    }

    /// That of an operation of a mix by itself.
    pub(crate) fn of(kind: Kind) -> Self {
        match kind {
            Kind::Get => Self::Get,
            Kind::Put => Self::Put,
            Kind::Exchange => Self::Exchange,
            Kind::Info | Kind::Schema | Kind::List => Self::Unary,
        }
    }

    pub(crate) fn of_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|workload| workload.name() == name)
    }

    /// As the Flight specification writes the call, where there is one.
    pub(crate) fn call(self) -> &'static str {
        match self {
            Self::Get => "DoGet",
            Self::Put => "DoPut",
            Self::Unary => "Calls",
            Self::Tls => "Connections",
            Self::Exchange => "DoExchange",
            Self::Mixed => "Mix",
        }
    }

    /// Whether what is moved is batches, and so has bytes.
    pub(crate) fn moves_batches(self) -> bool {
        matches!(self, Self::Get | Self::Put | Self::Exchange | Self::Mixed)
    }

    /// How many of what is counted were done.
    pub(crate) fn count(self, amount: &Transfer) -> u64 {
        match self {
            Self::Mixed => amount.operations,
            _ => amount.batches,
        }
    }

    /// One of what is counted.
    pub(crate) fn unit(self) -> &'static str {
        match self {
            Self::Get | Self::Put | Self::Exchange => "batch",
            Self::Unary => "call",
            Self::Tls => "connection",
            Self::Mixed => "operation",
        }
    }

    /// What is counted; the first says how fast the workload is.
    pub(crate) fn rates(self) -> &'static [Rate] {
        match self {
            Self::Get | Self::Put | Self::Exchange => &RATES,
            Self::Unary => &CALL_RATES,
            Self::Tls => &CONNECTION_RATES,
            Self::Mixed => &MIXED_RATES,
        }
    }
}

/// A rate: its name, its unit, and what is counted.
pub(crate) type Rate = (&'static str, &'static str, fn(&Transfer) -> u64);

/// Whole operations of a mix, or of one of its kinds.
pub(crate) const OPERATIONS: Rate = ("operations_per_s", "1/s", |amount| amount.operations);

const MIXED_RATES: [Rate; 2] = [OPERATIONS, ("bytes_per_s", "B/s", |amount| amount.logical_bytes)];

const CONNECTION_RATES: [Rate; 1] = [("connections_per_s", "1/s", |amount| amount.batches)];

const CALL_RATES: [Rate; 2] = [
    ("calls_per_s", "1/s", |amount| amount.batches),
    ("bytes_per_s", "B/s", |amount| amount.encoded_bytes),
];

const RATES: [Rate; 3] = [
    ("bytes_per_s", "B/s", |amount| amount.logical_bytes),
    ("batches_per_s", "1/s", |amount| amount.batches),
    ("rows_per_s", "1/s", |amount| amount.rows),
];
