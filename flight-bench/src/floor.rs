//! How far equal sides differ on this machine: what `doctor --aa` found, kept as `floor.json` beside
//! the folder of runs, and used by whatever judges differences here.
//!
//! A floor is of one machine and ages: one of another, an old one, and one that cannot be read are
//! told in a sentence and left alone.

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail, ensure};
use flight_stats::Band;
use serde::{Deserialize, Serialize};
use time::format_description::well_known::Rfc3339;
use time::{Duration, OffsetDateTime};

use crate::limits::{FLOOR_DAYS_MAX, FLOOR_FILE_BYTES_MAX};
use crate::report::Host;
use crate::saved::Saved;

const SCHEMA: &str = "flight-bench.floor/1";

/// The least differences that mean something on a machine, as shares.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Floor {
    /// When it was measured, in RFC 3339.
    pub(crate) measured: String,
    /// Of the program that measured it.
    pub(crate) version: String,
    pub(crate) pairs: usize,
    pub(crate) throughput: f64,
    /// Of the middle and the tail of latencies, where they were measured.
    pub(crate) p50: Option<f64>,
    pub(crate) p99: Option<f64>,
}

/// The floor that holds here, or why there is none.
#[derive(Debug, Clone, Default)]
pub(crate) struct Known {
    kept: Option<Kept>,
    /// A sentence about a floor that is there and is not used.
    pub(crate) trouble: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Kept {
    schema: String,
    host: Machine,
    #[serde(flatten)]
    floor: Floor,
}

/// What tells a machine from others.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Machine {
    /// A hash of its name: a file that is passed on does not tell it.
    name_hash: Option<String>,
    cpu: Option<String>,
    cores_online: Option<usize>,
    cores_usable: Option<usize>,
    kernel: Option<String>,
}

impl Floor {
    /// The day on which it was measured.
    pub(crate) fn day(&self) -> &str {
        self.measured.get(..10).unwrap_or(&self.measured)
    }

    /// `noise floor 3.1 % (doctor --aa, 2026-11-30)`, with those of latencies.
    pub(crate) fn told(&self) -> String {
        let of = |name, share: Option<f64>| share.map(|share| format!("{name} {}", percent(share)));
        let latencies: Vec<_> =
            [of("p50", self.p50), of("p99", self.p99)].into_iter().flatten().collect();
        let latencies = if latencies.is_empty() {
            String::new()
        } else {
            format!(" · of {}", latencies.join(", "))
        };
        let (floor, day) = (percent(self.throughput), self.day());
        format!("noise floor {floor} (doctor --aa, {day}){latencies}")
    }

    /// Refuses numbers that no measurement gives; they decide verdicts.
    ///
    /// # Errors
    ///
    /// A share below zero or beyond all bounds, or a date that is none.
    pub(crate) fn checked(self) -> anyhow::Result<Self> {
        let shares = [Some(self.throughput), self.p50, self.p99];
        for share in shares.into_iter().flatten() {
            ensure!((0.0..=SHARE_MAX).contains(&share), "{share} is no noise floor");
        }
        self.time()?;
        Ok(self)
    }

    fn time(&self) -> anyhow::Result<OffsetDateTime> {
        OffsetDateTime::parse(&self.measured, &Rfc3339).context("\"measured\" is no time")
    }
}

/// Noise beyond this is kept as this: nothing can be told there anyway.
pub(crate) const SHARE_MAX: f64 = 1e6;

/// A share as people read it.
pub(crate) fn percent(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}

/// Whether all of an interval of ratios lies beyond a floor, on either side.
pub(crate) fn is_beyond(interval: Option<(f64, f64)>, floor: f64) -> bool {
    interval.is_some_and(|(lo, hi)| lo > 1.0 + floor || hi < 1.0 / (1.0 + floor))
}

/// A floor as a band, which reaches to twice and half at most.
pub(crate) fn band(floor: f64) -> Band {
    Band::new(floor.clamp(0.0, Band::RATIO_MAX)).unwrap_or(Band::NONE)
}

impl Known {
    /// Looks for the floor of this machine beside the runs.
    pub(crate) fn here(saved: Option<&Saved>) -> Self {
        let Some(path) = saved.map(Saved::floor) else { return Self::default() };
        Self::of(&path, &Machine::this(&Host::read()), OffsetDateTime::now_utc())
    }

    fn of(path: &Path, here: &Machine, now: OffsetDateTime) -> Self {
        let found = match read(path) {
            Ok(None) => return Self::default(),
            Ok(Some(kept)) => kept.check(here, now).map(|()| kept),
            Err(error) => Err(error.context(format!("{} cannot be used", path.display()))),
        };
        match found {
            Ok(kept) => Self { kept: Some(kept), trouble: None },
            Err(why) => Self {
                kept: None,
                trouble: Some(format!(
                    "the noise floor of this machine is not known: {why:#}; measure it with \
                     'flight-bench doctor --aa'"
                )),
            },
        }
    }

    pub(crate) fn floor(&self) -> Option<&Floor> {
        self.kept.as_ref().map(|kept| &kept.floor)
    }

    /// The floor, if runs on this host are runs on its machine, as far as a run's document tells.
    ///
    /// # Errors
    ///
    /// It is of another machine, in a sentence.
    pub(crate) fn for_host(&self, host: &Host) -> Result<Option<&Floor>, String> {
        let Some(kept) = &self.kept else { return Ok(None) };
        // Runs do not tell the machine's name.
        let theirs = Machine { name_hash: kept.host.name_hash.clone(), ..Machine::of(host) };
        match kept.host.differs_from(&theirs) {
            None => Ok(Some(&kept.floor)),
            Some(what) => Err(format!(
                "the noise floor of this machine is not used: a run was made on another ({what})"
            )),
        }
    }

    #[cfg(test)]
    pub(crate) fn test(floor: Floor, host: &Host) -> Self {
        let kept = Kept { schema: SCHEMA.to_owned(), host: Machine::of(host), floor };
        Self { kept: Some(kept), trouble: None }
    }
}

impl Saved {
    /// Keeps the floor of this machine, readable by its owner alone; the name of the file.
    ///
    /// # Errors
    ///
    /// The folder cannot be made or written to.
    pub(crate) fn keep_floor(&self, floor: &Floor) -> anyhow::Result<PathBuf> {
        let host = Machine::this(&Host::read());
        let kept = Kept { schema: SCHEMA.to_owned(), host, floor: floor.clone() };
        let text = serde_json::to_string_pretty(&kept).context("a floor is always JSON")? + "\n";
        let path = self.floor();
        self.write_private(&path, &text)?;
        Ok(path)
    }
}

/// What stands in the file; `None` where there is none.
fn read(path: &Path) -> anyhow::Result<Option<Kept>> {
    match fs::metadata(path) {
        // Reading a pipe would wait for whoever writes to it.
        Ok(found) if !found.is_file() => bail!("it is no file"),
        Ok(_) => {}
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error.into()),
    }
    let mut text = String::new();
    fs::File::open(path)?.take(FLOOR_FILE_BYTES_MAX + 1).read_to_string(&mut text)?;
    if text.len() as u64 > FLOOR_FILE_BYTES_MAX {
        bail!("it is larger than {FLOOR_FILE_BYTES_MAX} bytes");
    }
    let kept: Kept = serde_json::from_str(&text).context("it is broken")?;
    ensure!(kept.schema == SCHEMA, "it is a {:?}, not a {SCHEMA}", kept.schema);
    Ok(Some(Kept { floor: kept.floor.checked().context("it is broken")?, ..kept }))
}

impl Kept {
    fn check(&self, here: &Machine, now: OffsetDateTime) -> anyhow::Result<()> {
        if let Some(what) = self.host.differs_from(here) {
            bail!("the one that is kept is of another machine ({what})");
        }
        let days = (now - self.floor.time()?).whole_days();
        ensure!(
            days <= FLOOR_DAYS_MAX,
            "the one that is kept is {days} days old, {FLOOR_DAYS_MAX} may be"
        );
        // A clock that is set an hour wrong is no reason.
        let ahead = self.floor.time()? > now + Duration::DAY;
        ensure!(!ahead, "the one that is kept is of {}, which is to come", self.floor.day());
        Ok(())
    }
}

impl Machine {
    /// The machine of this process.
    fn this(host: &Host) -> Self {
        Self { name_hash: name_hash(), ..Self::of(host) }
    }

    fn of(host: &Host) -> Self {
        Self {
            name_hash: None,
            cpu: host.cpu.model.clone(),
            cores_online: host.cpu.online,
            cores_usable: host.cpu.usable,
            kernel: host.kernel.clone(),
        }
    }

    /// What tells them apart, first of all: `kernel: 6.1.0 and 6.2.0`.
    fn differs_from(&self, other: &Self) -> Option<String> {
        let text = |value: &Option<String>| value.clone().unwrap_or_else(|| "unknown".to_owned());
        let count = |value: Option<usize>| text(&value.map(|count| count.to_string()));
        let parts = [
            ("processor", text(&self.cpu), text(&other.cpu)),
            ("cores", count(self.cores_online), count(other.cores_online)),
            ("usable cores", count(self.cores_usable), count(other.cores_usable)),
            ("kernel", text(&self.kernel), text(&other.kernel)),
            ("hash of the name", text(&self.name_hash), text(&other.name_hash)),
        ];
        let differs = parts.into_iter().find(|(_, ours, theirs)| ours != theirs);
        differs.map(|(what, ours, theirs)| format!("{what}: {ours} and {theirs}"))
    }
}

fn name_hash() -> Option<String> {
    let mut name = String::new();
    let file = fs::File::open("/proc/sys/kernel/hostname").ok()?;
    file.take(HOST_NAME_BYTES_MAX).read_to_string(&mut name).ok()?;
    // FNV-1a of 64 bits: the same in every version of this program.
    let hash = name.trim().bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    Some(format!("{hash:016x}"))
}

/// As of hostname(7), and some.
const HOST_NAME_BYTES_MAX: u64 = 256;

#[cfg(test)]
#[path = "floor_tests.rs"]
pub(crate) mod tests;
