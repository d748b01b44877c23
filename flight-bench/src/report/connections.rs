//! The connections of calls without batches, in words: what `--connect` made of them.

use super::figures::nanos;
use super::lines::counted;
use super::results::{Results, RunRecord, Variant};
use super::workload::Workload;

/// `4 connections`; how many they are where each call has its own is another matter.
pub(super) fn of_load(record: &RunRecord) -> String {
    match record.connect.as_deref() {
        Some("per-call" | "resumed") => "a connection each call".to_owned(),
        _ => counted(record.connections, "connection"),
    }
}

/// `per-call: 4120 opened, 4120 full handshakes, 0 resumed`; `None` of other runs.
pub(super) fn told(results: &Results, variant: &Variant) -> Option<String> {
    let made = variant.merged().counts.connections;
    if variant.workload != Workload::Unary || variant.part.is_some() || made.opened == 0 {
        return None;
    }
    let record = &results.record;
    let how = record.connect.as_deref().unwrap_or("shared");
    let mut told = format!("{how}: {} opened", made.opened);
    if made.full + made.resumed > 0 {
        told += &format!(", handshakes {} full, {} resumed", made.full, made.resumed);
    }
    if record.extent.warmup_ns.is_some_and(|warmup| warmup > 0) {
        told += ", warm-up included";
    }
    if matches!(how, "per-call" | "resumed") {
        told += "; their time is part of their calls'";
    }
    if let Some(linger) = record.linger_ns {
        told += &format!("; each left open for {}", nanos(linger as f64));
    }
    Some(told)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::Connections;
    use crate::report::results::tests::single;

    #[test]
    fn connections_are_told_as_they_were_made() {
        let check = |connect: &'static str, linger_ns, [full, resumed]: [u64; 2], want: &str| {
            let mut run = single(Workload::Unary);
            (run.record.connect, run.record.linger_ns) = (Some(connect.into()), linger_ns);
            let made = Connections { opened: 9, full, resumed };
            run.variants[0].measured.truncate(1);
            run.variants[0].measured[0].repeat.recording.counts.connections = made;
            assert_eq!(told(&run, &run.variants[0]).as_deref(), Some(want));
        };
        check("shared", None, [0, 0], "shared: 9 opened, warm-up included");
        check(
            "resumed",
            None,
            [1, 8],
            "resumed: 9 opened, handshakes 1 full, 8 resumed, warm-up included; their time is part \
             of their calls'",
        );
        check(
            "pooled:4",
            Some(5_000_000_000),
            [0, 0],
            "pooled:4: 9 opened, warm-up included; each left open for 5.00 s",
        );
        assert_eq!(told(&single(Workload::Unary), &single(Workload::Unary).variants[0]), None);
    }
}
