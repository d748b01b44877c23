//! What is measured, what is counted of it, and what that is called.

use crate::record::Transfer;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Workload {
    Get,
    Put,
    Unary,
    Tls,
    Exchange,
}

impl Workload {
    pub(crate) const ALL: [Self; 5] =
        [Self::Get, Self::Put, Self::Unary, Self::Tls, Self::Exchange];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Get => "get",
            Self::Put => "put",
            Self::Unary => "unary",
            Self::Tls => "tls",
            Self::Exchange => "exchange",
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
        }
    }

    /// Whether what is moved is batches, and so has bytes.
    pub(crate) fn moves_batches(self) -> bool {
        matches!(self, Self::Get | Self::Put | Self::Exchange)
    }

    /// One of what is counted.
    pub(crate) fn unit(self) -> &'static str {
        match self {
            Self::Get | Self::Put | Self::Exchange => "batch",
            Self::Unary => "call",
            Self::Tls => "connection",
        }
    }

    /// What is counted; the first says how fast the workload is.
    pub(crate) fn rates(self) -> &'static [Rate] {
        match self {
            Self::Get | Self::Put | Self::Exchange => &RATES,
            Self::Unary => &CALL_RATES,
            Self::Tls => &CONNECTION_RATES,
        }
    }
}

/// A rate: its name, its unit, and what is counted.
pub(crate) type Rate = (&'static str, &'static str, fn(&Transfer) -> u64);

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
