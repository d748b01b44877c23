//! The Markdown of a run, and its place in docs/performance.md or docs/security-cost.md.

use std::fmt::Write;
use std::path::Path;

use anyhow::{Context, Result, bail};

use crate::arms::{ARMS, Arm, Unit};
use crate::bound::Limits;
use crate::measure::{Absent, Extent, Sample, Samples};
use crate::rows::{Bound, Figure, Row, Verdict};
use crate::statistics::{Median, median};

/// What a run found.
pub(crate) struct Report {
    /// Machine, versions, date and scheduling: a sentence each.
    pub(crate) conditions: Vec<String>,
    pub(crate) extent: Extent,
    pub(crate) limits: Option<Limits>,
    pub(crate) rows: Vec<&'static Row>,
    pub(crate) samples: Samples,
}

/// What stands around the generated part of the page.
const BEGIN: &str = "<!-- flight-perf: begin -->";
const END: &str = "<!-- flight-perf: end -->";

impl Report {
    /// Whether an arm ran and failed.
    pub(crate) fn failed(&self) -> bool {
        self.samples.values().any(|samples| matches!(samples, Err(Absent::Failed(_))))
    }

    pub(crate) fn render(&self) -> String {
        let mut out = String::new();
        for condition in &self.conditions {
            line(&mut out, &format!("- {condition}."));
        }
        let Extent { rounds, seconds } = self.extent;
        line(
            &mut out,
            &format!(
                "- Rounds: {rounds}, interleaved, of about {seconds} s an arm, forwards and backwards \
                 in turn; ratios within each round, their median and its 95 % interval from order \
                 statistics.{}",
                if rounds < 6 {
                    " Fewer than 6 rounds: their range, which covers less."
                } else {
                    ""
                }
            ),
        );
        self.bounds(&mut out);
        self.table(&mut out);
        self.arms(&mut out);
        out
    }

    fn table(&self, out: &mut String) {
        line(out, "\n### Speed to reach\n");
        line(out, "| figure | bound | median | 95 % interval | verdict |");
        line(out, "|---|---|---|---|---|");
        let mut notes = Vec::new();
        for row in &self.rows {
            let bound = match row.bound {
                Bound::AtLeast(bound) => format!("≥ {bound} ×"),
                Bound::AtMost(bound) => format!("≤ {bound} ×"),
            };
            let measured = match self.ratio(row) {
                Ok(ratio) => {
                    let verdict = match row.bound.judge(&ratio) {
                        Verdict::Reached => "reached",
                        Verdict::WithinNoise => "within noise",
                        Verdict::Short => "**short**",
                    };
                    let Median { value, low, high, .. } = ratio;
                    format!("{value:.2} × | {low:.2} to {high:.2} | {verdict}")
                }
                Err(absent) => {
                    let (verdict, why) = match absent {
                        Absent::Missing(why) => ("skipped", why),
                        Absent::Failed(why) => ("**failed**", why),
                    };
                    notes.push(format!("{} has no figure: {why}.", row.id));
                    format!("– | – | {verdict}")
                }
            };
            line(out, &format!("| {} (`{}`) | {bound} | {measured} |", row.what, row.id));
        }
        if !notes.is_empty() {
            line(out, "");
        }
        for note in notes {
            line(out, &format!("- {note}"));
        }
    }

    /// The ratio of a row's arms within each round.
    fn ratio(&self, row: &Row) -> Result<Median, Absent> {
        let arms = row.arms();
        // An arm that cannot run explains why its partner did not.
        if let Some(Err(why)) =
            arms.iter().filter_map(|arm| self.samples.get(arm.id)).find(|s| s.is_err())
        {
            return Err(why.clone());
        }
        let [ours, reference] = arms.map(|arm| self.samples_of(arm));
        let figure = |sample: &Sample| match row.figure {
            Figure::Rate => Some(sample.rate),
            Figure::ServerCpu => sample.server_cpu_per_gb,
        };
        let ratio = |(a, b): (&Sample, &Sample)| Some(figure(a)? / figure(b)?);
        let pairs = ours?.iter().zip(reference?).map(ratio).collect::<Option<Vec<f64>>>();
        let ratios = pairs.filter(|ratios| ratios.iter().all(|ratio| ratio.is_finite()));
        let failed = |why: &str| Absent::Failed(why.to_owned());
        let unread = "the runs were too short to read the server's processor time";
        let ratios = ratios.ok_or_else(|| failed(unread))?;
        median(&ratios).ok_or_else(|| failed("no round was measured"))
    }

    fn samples_of(&self, arm: &Arm) -> Result<&[Sample], Absent> {
        match self.samples.get(arm.id) {
            None => Err(Absent::Missing(format!("{} did not run", arm.id))),
            Some(Err(why)) => Err(why.clone()),
            Some(Ok(samples)) => Ok(samples),
        }
    }

    fn rate(&self, arm: &Arm) -> Option<Median> {
        let samples = self.samples_of(arm).ok()?;
        median(&samples.iter().map(|sample| sample.rate).collect::<Vec<_>>())
    }

    fn arms(&self, out: &mut String) {
        line(out, "\n### What ran\n");
        line(out, "MB/s are 10^6 bytes of IPC bodies a second, counted by the receiver.\n");
        line(out, "| arm | rate, median | 95 % interval | server CPU s/GB | client CPU s/GB |");
        line(out, "|---|---|---|---|---|");
        for arm in ARMS {
            let Some(rate) = self.rate(arm) else { continue };
            let (scale, unit) =
                if arm.unit == Unit::Calls { (1.0, "calls/s") } else { (1e6, "MB/s") };
            let samples = self.samples_of(arm).unwrap_or(&[]);
            let cpu = |of: fn(&Sample) -> Option<f64>| {
                let cpu: Vec<f64> = samples.iter().filter_map(of).collect();
                median(&cpu).map_or("–".to_owned(), |cpu| format!("{:.3}", cpu.value))
            };
            let server = cpu(|sample| sample.server_cpu_per_gb);
            let client = cpu(|sample| sample.client_cpu_per_gb);
            let [value, low, high] = [rate.value, rate.low, rate.high].map(|rate| rate / scale);
            let transport = samples.first().and_then(|sample| sample.transport.as_deref());
            let transport = transport.map_or(String::new(), |name| format!(", transport {name}"));
            let what = format!("{}{transport}", arm.what);
            let rate = format!("{value:.0} {unit} | {low:.0} to {high:.0}");
            line(out, &format!("| {what} | {rate} | {server} | {client} |"));
        }
    }

    /// The sketch: what memory, wire and cipher allow, and what was reached of it.
    fn bounds(&self, out: &mut String) {
        let Some(limits) = &self.limits else { return };
        let gigabytes = |median: &Median| format!("{:.1} GB/s", median.value / 1e9);
        line(out, "\n### What bounds it\n");
        line(out, "| of one core | measured |");
        line(out, "|---|---|");
        line(out, &format!("| memcpy of batches, m | {} |", gigabytes(&limits.memcpy)));
        let [read, write] = [&limits.read, &limits.write].map(gigabytes);
        line(out, &format!("| the same read from a file on tmpfs, r | {read} |"));
        line(out, &format!("| the same written to a new file there, removed again, t | {write} |"));
        line(out, &format!("| AES-128-GCM seal, 16 KiB, s | {} |", gigabytes(&limits.seal)));
        let open = gigabytes(&limits.open);
        line(out, &format!("| the same opened, copied into place before, o | {open} |"));
        let wire = ARMS.iter().find(|arm| arm.id == "get-raw").and_then(|arm| self.rate(arm));
        let Some(wire) = wire else { return };
        line(out, &format!("| raw TCP, the same bodies, w | {} |", gigabytes(&wire)));
        line(
            out,
            "\nw is what one core sends while another receives: the kernel copies each byte in and \
             out. What a\nrow does beyond that, on the core that is busy, adds its seconds a byte; \
             a kernel that is asked for\nfewer, larger reads than the raw loop's can exceed it.\n",
        );
        line(out, "| row | at most | MB/s | measured | share |");
        line(out, "|---|---|---|---|---|");
        let w = wire.value;
        let with = |other: f64| 1.0 / (1.0 / w + 1.0 / other);
        let sealed = with(limits.seal.value.min(limits.open.value));
        let local = |id| {
            let arm = ARMS.iter().find(|arm| arm.id == id);
            arm.and_then(|arm| self.rate(arm)).map_or(w, |rate| with(rate.value))
        };
        let decoded = "1 / (1/l + 1/w), l the local read: one core decodes and sends";
        for (id, formula, bound) in [
            ("get-mapped", "w", w),
            ("get-read", "1 / (1/w + 1/r)", with(limits.read.value)),
            ("put", "w", w),
            ("store", "1 / (1/w + 1/t)", with(limits.write.value)),
            ("tls", "1 / (1/w + 1/min(s, o))", sealed),
            ("tls-put", "1 / (1/w + 1/min(s, o))", sealed),
            ("zstd", decoded, local("zstd-local")),
            ("snappy", decoded, local("snappy-local")),
        ] {
            let Some(arm) = ARMS.iter().find(|arm| arm.id == id) else { continue };
            let Some(rate) = self.rate(arm) else { continue };
            let (most, measured) = (bound / 1e6, rate.value / 1e6);
            let share = rate.value / bound * 100.0;
            let what = arm.what;
            line(
                out,
                &format!("| {what} | {formula} | {most:.0} | {measured:.0} | {share:.0} % |"),
            );
        }
    }
}

/// Puts `text` between the markers of the page at `path`.
///
/// # Errors
///
/// The page cannot be read or written, or lacks a marker.
pub(crate) fn write_into(path: &Path, text: &str) -> Result<()> {
    let named = || format!("--write {}", path.display());
    let page = std::fs::read_to_string(path).with_context(named)?;
    let Some(page) = between(&page, text) else {
        bail!("{}: it lacks the lines {BEGIN} and {END}, in this order", named());
    };
    std::fs::write(path, page).with_context(named)
}

fn between(page: &str, text: &str) -> Option<String> {
    let (before, rest) = page.split_once(BEGIN)?;
    let (_, after) = rest.split_once(END)?;
    Some(format!("{before}{BEGIN}\n{}\n{END}{after}", text.trim_end()))
}

fn line(out: &mut String, text: &str) {
    writeln!(out, "{text}").expect("a string takes whatever is written");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_generated_part_is_replaced_and_the_rest_of_the_page_is_kept() {
        let page = format!("# Title\n\n{BEGIN}\nold\n{END}\nend\n");
        let want = format!("# Title\n\n{BEGIN}\nnew\n{END}\nend\n");
        assert_eq!(between(&page, "new\n").as_ref(), Some(&want));
        assert_eq!(between(&want, "new\n"), Some(want));
    }

    #[test]
    fn a_page_without_its_markers_is_left_alone() {
        for page in ["", BEGIN, &format!("{END}{BEGIN}")] {
            assert_eq!(between(page, "new"), None, "{page:?}");
        }
    }

    #[test]
    fn ratios_are_taken_within_rounds() {
        // The machine was half as fast in the second round, for both.
        check(&[30.0, 15.0, 30.0], &[10.0, 5.0, 10.0], "3.00 × | 3.00 to 3.00 | reached");
        check(&[20.0, 10.0, 20.0], &[10.0, 5.0, 10.0], "2.00 × | 2.00 to 2.00 | **short**");
        check(&[20.0, 26.0, 20.0], &[10.0, 10.0, 10.0], "2.00 × | 2.00 to 2.60 | within noise");
    }

    #[test]
    fn a_row_without_its_arms_says_why() {
        let missing = Absent::Missing("this flight-server has no --map-files".to_owned());
        check_absent(missing, false, "skipped |", "this flight-server has no --map-files.");
        let failed = Absent::Failed("the server ended".to_owned());
        check_absent(failed, true, "**failed** |", "the server ended.");
    }

    fn check_absent(absent: Absent, failed: bool, verdict: &str, why: &str) {
        let mut report = report(&[1.0], &[1.0]);
        // Nor did its partner run, which had nothing to be compared with.
        report.samples.remove("get-stock");
        report.samples.insert("get-mapped", Err(absent));
        let text = report.render();
        assert_eq!(report.failed(), failed);
        for want in [&format!("| – | – | {verdict}"), &format!("get-stock has no figure: {why}")]
        {
            assert!(text.contains(want), "{want} is not in {text}");
        }
    }

    fn check(ours: &[f64], stock: &[f64], want: &str) {
        let text = report(ours, stock).render();
        assert!(text.contains(want), "{want} is not in {text}");
    }

    fn report(ours: &[f64], stock: &[f64]) -> Report {
        let samples = |rates: &[f64]| {
            let sample = |rate: &f64| Sample {
                rate: *rate,
                server_cpu_per_gb: None,
                client_cpu_per_gb: None,
                transport: None,
            };
            Ok(rates.iter().map(sample).collect())
        };
        let samples = [("get-mapped", samples(ours)), ("get-stock", samples(stock))].into();
        let rows = crate::rows::ROWS.iter().filter(|row| row.id == "get-stock").collect();
        let extent = Extent { rounds: ours.len(), seconds: 1.0 };
        Report { conditions: Vec::new(), extent, limits: None, rows, samples }
    }
}
