//! A ladder's document read back, so that every form can be made of it again.

use std::collections::BTreeSet;
use std::time::{Duration, SystemTime};

use anyhow::{Context, anyhow, bail};
use serde::Deserialize;

use super::read::{checked, time_of};
use super::{Host, LadderResults, Outcome};
use crate::exit::Exit;
use crate::ladder::{Rung, Sample};

/// Reads what [`LadderResults`] wrote.
///
/// # Errors
///
/// The text is no document of a ladder, or lacks what one has.
pub(crate) fn read_ladder(text: &str) -> anyhow::Result<LadderResults> {
    let document = checked(text, super::ladder::SCHEMA)?;
    let document: Document =
        serde_json::from_value(document).context("a ladder that is not whole")?;
    document.into_results()
}

#[derive(Deserialize)]
struct Document {
    started: Option<String>,
    complete: bool,
    exit: u8,
    error: Option<String>,
    target: TargetPart,
    env: EnvironmentPart,
    config: ConfigPart,
    rungs: Vec<RungPart>,
}

#[derive(Deserialize)]
struct TargetPart {
    version: Option<String>,
    args: Vec<String>,
}

#[derive(Deserialize)]
struct EnvironmentPart {
    host: Host,
}

#[derive(Deserialize)]
struct ConfigPart {
    sample_rows: u64,
    message_bytes_max: usize,
    messages: usize,
    pass_bytes: u64,
    warmup_ns: u64,
    window_ns: u64,
    rounds: usize,
}

#[derive(Deserialize)]
struct RungPart {
    id: String,
    samples: Vec<SamplePart>,
}

#[derive(Deserialize)]
struct SamplePart {
    round: usize,
    bytes: u64,
    window_s: f64,
    client_cpu_s: Option<f64>,
    server_cpu_s: Option<f64>,
}

impl Document {
    fn into_results(self) -> anyhow::Result<LadderResults> {
        let started = self.started.as_deref().map(time_of).transpose()?;
        let mut known = BTreeSet::new();
        if let Some(twice) = self.rungs.iter().find(|rung| !known.insert(rung.id.as_str())) {
            bail!("it has the rung {:?} twice", twice.id);
        }
        let rungs = self.rungs.into_iter().map(RungPart::into_rung);
        let (target, config) = (self.target, self.config);
        Ok(LadderResults {
            started: started.unwrap_or(SystemTime::UNIX_EPOCH),
            host: self.env.host,
            server_version: target.version,
            server_args: target.args.into_iter().map(Into::into).collect(),
            sample_rows: config.sample_rows,
            message_bytes_max: config.message_bytes_max,
            messages: config.messages,
            pass_bytes: config.pass_bytes,
            warmup: Duration::from_nanos(config.warmup_ns),
            duration: Duration::from_nanos(config.window_ns),
            rounds: config.rounds,
            rungs: rungs.collect::<anyhow::Result<_>>()?,
            outcome: Outcome {
                exit: Exit::from_code(self.exit),
                error: self.error,
                complete: self.complete,
            },
        })
    }
}

impl RungPart {
    fn into_rung(self) -> anyhow::Result<(Rung, Vec<Sample>)> {
        let rung = Rung::of_id(&self.id)
            .ok_or_else(|| anyhow!("{:?} is no rung that this program knows", self.id))?;
        let sample = |sample: SamplePart| Sample {
            round: sample.round,
            bytes: sample.bytes,
            seconds: sample.window_s,
            client_cpu_s: sample.client_cpu_s,
            server_cpu_s: sample.server_cpu_s,
        };
        Ok((rung, self.samples.into_iter().map(sample).collect()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::Format;
    use crate::report::Reason;
    use crate::report::ladder::tests::ladder;

    const FORMS: [Format; 6] =
        [Format::Text, Format::Json, Format::Ndjson, Format::Csv, Format::Md, Format::Html];

    fn check(results: &LadderResults) {
        let told =
            |results: &LadderResults| FORMS.map(|format| results.render(format, Reason::InReport));
        let again = read_ladder(&results.json()).expect("a ladder");
        assert_eq!(told(&again), told(results));
        let page = results.render(Format::Html, Reason::InReport);
        let embedded = flight_chart::embedded(&page).expect("a document in the page");
        assert_eq!(told(&read_ladder(&embedded).expect("a ladder")), told(results));
    }

    #[test]
    fn a_ladder_that_is_read_back_is_told_as_it_was() {
        check(&ladder(3));
        let mut odd = ladder(2);
        // Numbers whose last digit a reader in a hurry would lose.
        odd.rungs[0].1[0].seconds = 0.100_000_000_000_000_02;
        odd.rungs[1].1[1].seconds = 1.000_000_123_456_789;
        odd.server_args = vec!["--decode-threads".into(), "2".into()];
        check(&odd);
        let mut broken = ladder(0);
        broken.outcome.exit = Exit::Failed;
        broken.outcome.error = Some("raw TCP: not done".to_owned());
        broken.outcome.complete = false;
        check(&broken);
    }

    #[test]
    fn what_is_no_ladder_is_refused_by_what_it_lacks() {
        let refused = |text: &str, want: &str| {
            let error = read_ladder(text).err().map(|error| format!("{error:#}"));
            assert!(error.as_ref().is_some_and(|error| error.contains(want)), "{error:?}");
        };
        refused("{}", "it has no \"schema\"");
        refused(r#"{"schema":"flight-bench.run/1"}"#, "it is a flight-bench.run/1");
        refused(r#"{"schema":"flight-bench.ladder/1"}"#, "missing field `");
        let text = ladder(1).json();
        refused(&text.replace("\"memcpy\"", "\"x\""), "\"x\" is no rung");
        refused(&text.replace("\"tcp\"", "\"memcpy\""), "it has the rung \"memcpy\" twice");
    }
}
