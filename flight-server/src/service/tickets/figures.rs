//! What is counted of tickets: how long they take, and why they are refused.

use std::time::Duration;

use flight_ticket::Refusal;
use prometheus_client::encoding::{EncodeLabelSet, LabelSetEncoder};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::registry::{Registry, Unit};

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Reason(Refusal);

impl EncodeLabelSet for Reason {
    fn encode(&self, encoder: &mut LabelSetEncoder<'_>) -> std::fmt::Result {
        use prometheus_client::encoding::EncodeLabel as _;
        ("reason", self.0.reason()).encode(encoder.encode_label())
    }
}

/// Figures of a server that signs tickets.
#[derive(Debug, Clone)]
pub struct TicketFigures {
    issued: Histogram,
    verified: Histogram,
    refused: Family<Reason, Counter>,
}

/// Buckets from half a microsecond, of an HMAC, to some 8 ms, each twice the one before.
fn seconds() -> Histogram {
    Histogram::new(exponential_buckets(500e-9, 2.0, 15))
}

impl Default for TicketFigures {
    fn default() -> Self {
        Self { issued: seconds(), verified: seconds(), refused: Family::default() }
    }
}

impl TicketFigures {
    pub(in crate::service) fn register(&self, registry: &mut Registry) {
        let mut duration = |name: &str, help: &str, figure: &Histogram| {
            registry.register_with_unit(name, help, Unit::Seconds, figure.clone());
        };
        duration("ticket_issue", "Time to make and sign a ticket", &self.issued);
        duration("ticket_verify", "Time to verify a ticket, good or not", &self.verified);
        let help = "Tickets that were refused, by the first check that failed";
        registry.register("tickets_refused", help, self.refused.clone());
    }

    pub(super) fn issued(&self, took: Duration) {
        self.issued.observe(took.as_secs_f64());
    }

    pub(super) fn verified(&self, took: Duration) {
        self.verified.observe(took.as_secs_f64());
    }

    pub(super) fn refused(&self, refusal: Refusal) {
        self.refused.get_or_create(&Reason(refusal)).inc();
    }
}
