//! Histograms as documents hold them: the V2 form of HdrHistogram, deflated, in base64.

use std::io::Read;

use anyhow::{Context, anyhow, bail, ensure};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use flate2::read::ZlibDecoder;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::{Deserializer, Serializer, V2DeflateSerializer};

use crate::limits::{HISTOGRAM_BYTES_MAX, LATENCY_DIGITS, LATENCY_MAX};

/// The form that the tools of HdrHistogram exchange.
pub(super) fn written(histogram: &Histogram<u64>) -> Option<String> {
    let mut bytes = Vec::new();
    V2DeflateSerializer::new().serialize(histogram, &mut bytes).ok()?;
    Some(STANDARD.encode(bytes))
}

/// # Errors
///
/// The text is no such form, or of a histogram with other bounds than those that are recorded: only
/// such can be added up.
pub(super) fn read(text: &str) -> anyhow::Result<Histogram<u64>> {
    let bytes = STANDARD.decode(text).context("not base64")?;
    let plain = inflated(&bytes)?;
    check_head(&plain)?;
    check_counts(&plain[HEAD_BYTES..])?;
    let histogram: Histogram<u64> = Deserializer::new()
        .deserialize(&mut plain.as_slice())
        .map_err(|error| anyhow!("not a V2 histogram: {error:?}"))?;
    let same = histogram.low() == 1
        && histogram.sigfig() == LATENCY_DIGITS
        && histogram.high() == LATENCY_MAX.as_nanos() as u64;
    ensure!(same, "it has other bounds than this program's");
    Ok(histogram)
}

/// Cookie and length of the deflated form.
const COOKIE_DEFLATED: [u8; 4] = 0x1c84_9314_u32.to_be_bytes();
/// Cookie, length, offset, digits, both bounds and a ratio.
const HEAD_BYTES: usize = 40;

/// The plain form, which is bounded before any of it is kept.
fn inflated(bytes: &[u8]) -> anyhow::Result<Vec<u8>> {
    let Some((&COOKIE_DEFLATED, rest)) = bytes.split_first_chunk() else {
        bail!("not a V2 histogram, deflated");
    };
    let (_, deflated) = rest.split_first_chunk::<4>().context("not a whole V2 histogram")?;
    let mut plain = Vec::new();
    ZlibDecoder::new(deflated)
        .take(HISTOGRAM_BYTES_MAX + 1)
        .read_to_end(&mut plain)
        .context("not deflated")?;
    ensure!(plain.len() as u64 <= HISTOGRAM_BYTES_MAX, "it is larger than any of this program's");
    Ok(plain)
}

/// Refuses what would make its reader set aside memory that nothing fills.
fn check_head(plain: &[u8]) -> anyhow::Result<()> {
    let number = |at: usize| -> Option<u64> {
        Some(u32::from_be_bytes(plain.get(at..at + 4)?.try_into().ok()?).into())
    };
    let claimed = number(4).context("not a whole V2 histogram")?;
    ensure!(claimed + HEAD_BYTES as u64 == plain.len() as u64, "its length is not what it says");
    let (low, high) = (number(20), number(24).zip(number(28)));
    let known = number(12) == Some(LATENCY_DIGITS.into())
        && (number(16), low) == (Some(0), Some(1))
        && high.is_some_and(|(upper, lower)| {
            u128::from(upper << 32 | lower) == LATENCY_MAX.as_nanos()
        });
    ensure!(known, "it has other bounds than this program's");
    Ok(())
}

/// Bytes of a count: 2^41 events of one length are a month's of a million a second.
const COUNT_BYTES_MAX: usize = 6;

/// Refuses counts whose sums would not fit 64 bits. All but the last byte of one have their highest
/// bit set.
fn check_counts(counts: &[u8]) -> anyhow::Result<()> {
    let longest = counts.split(|byte| byte & 0x80 == 0).map(<[u8]>::len).max();
    let fits = longest.unwrap_or_default() < COUNT_BYTES_MAX;
    ensure!(fits, "it counts more events than any run has");
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use flate2::Compression;
    use flate2::write::ZlibEncoder;

    use super::*;
    use crate::record::{Latencies, Metric};
    use crate::report::Workload;
    use crate::report::tests::single;

    fn recorded() -> Histogram<u64> {
        let latencies: Latencies = single(Workload::Get).variants[0].latencies();
        latencies.histogram(Metric::GetWait).expect("waits").clone()
    }

    /// The plain form of a histogram, changed and deflated again.
    fn changed(change: impl FnOnce(&mut Vec<u8>)) -> String {
        let text = written(&recorded()).expect("a text");
        let mut plain = inflated(&STANDARD.decode(text).expect("base64")).expect("deflated");
        change(&mut plain);
        let mut deflated = ZlibEncoder::new(Vec::new(), Compression::fast());
        deflated.write_all(&plain).expect("memory");
        let deflated = deflated.finish().expect("memory");
        let length = (deflated.len() as u32).to_be_bytes();
        STANDARD.encode([&COOKIE_DEFLATED[..], &length, &deflated].concat())
    }

    fn check(text: &str, want: &str) {
        let error = read(text).expect_err("no histogram of this program");
        assert!(format!("{error:#}").contains(want), "{error:#}, not {want}");
    }

    #[test]
    fn what_is_written_is_read() {
        assert_eq!(read(&written(&recorded()).expect("a text")).expect("a histogram"), recorded());
        assert_eq!(read(&changed(|_| {})).expect("a histogram"), recorded());
    }

    #[test]
    fn what_is_no_histogram_of_this_program_is_refused() {
        check("?", "not base64");
        check("", "not a V2 histogram, deflated");
        check("AAAAFAAAAAA=", "not a V2 histogram, deflated");
        check(&STANDARD.encode([&COOKIE_DEFLATED[..], &[0; 4], &[7; 40]].concat()), "not deflated");
        check(&changed(|plain| plain.truncate(20)), "its length is not what it says");
        check(&changed(|plain| plain.truncate(6)), "not a whole V2 histogram");
        check(&changed(|plain| plain[15] = 5), "it has other bounds");
        check(&changed(|plain| plain[24] = 0x7f), "it has other bounds");
        check(&changed(|plain| plain[3] = 0), "not a V2 histogram");
    }

    #[test]
    fn a_length_that_is_only_claimed_sets_no_memory_aside() {
        // Four gigabytes, by their reader's own account.
        check(&changed(|plain| plain[4..8].fill(0xff)), "its length is not what it says");
        let bomb = |plain: &mut Vec<u8>| plain.resize(64 << 20, 0);
        check(&changed(bomb), "it is larger than any of this program's");
    }

    #[test]
    fn counts_that_are_no_counts_are_refused_and_not_trusted() {
        // The least number there is, of which there is no positive one.
        let least = |plain: &mut Vec<u8>| {
            plain.truncate(HEAD_BYTES);
            plain.extend([0xff; 9]);
            let length = (plain.len() - HEAD_BYTES) as u32;
            plain[4..8].copy_from_slice(&length.to_be_bytes());
        };
        check(&changed(least), "it counts more events than any run has");
        // A run of zeros that leads beyond all counts.
        let beyond = |plain: &mut Vec<u8>| {
            plain.truncate(HEAD_BYTES);
            plain.extend([0xff, 0xff, 0xff, 0xff, 0x0f, 0x02]);
            plain[4..8].copy_from_slice(&6_u32.to_be_bytes());
        };
        check(&changed(beyond), "not a V2 histogram");
    }
}
