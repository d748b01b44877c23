//! The processor time of both sides in the course of a window, as charts.

use flight_chart::{Caption, Series};

use super::super::results::{Measured, Results, Variant};
use super::charts::name;
use crate::load::CpuSample;

/// Of one variant both sides in one chart; of several a chart a side.
pub(super) fn timelines(results: &Results) -> String {
    let known = [client, server]
        .map(|side| results.variants.iter().any(|one| !cores(one, side).is_empty()));
    if !known[0] {
        return String::new();
    }
    let missing = match known[1] {
        true => "",
        false => " The server's process is not known (--server-pid): the client alone.",
    };
    let note = |what: &str| format!("{what}{missing}");
    if let [variant] = results.variants.as_slice() {
        let sides = [("client", client as Side), ("server", server)];
        let series = sides
            .map(|(name, side)| Series { name: name.to_owned(), points: cores(variant, side) });
        return draw(
            "cores",
            "Cores in use",
            &note("Within the window: the mean over repeats."),
            &series,
        );
    }
    let side = |chart: &str, title: &str, side: Side| {
        let of = |variant: &Variant| Series { name: name(variant), points: cores(variant, side) };
        let series: Vec<Series> = results.variants.iter().map(of).collect();
        draw(chart, title, &note("Within the window: the mean over repeats."), &series)
    };
    side("cores-client", "Cores that the client used", client)
        + &side("cores-server", "Cores that the server used", server)
}

fn draw(name: &str, title: &str, note: &str, series: &[Series]) -> String {
    let known: Vec<Series> = series.iter().filter(|one| !one.points.is_empty()).cloned().collect();
    if known.is_empty() {
        return String::new();
    }
    flight_chart::timeline(&Caption { name, title, note }, &known)
}

/// What a side had used by a sample.
type Side = fn(&CpuSample) -> Option<u64>;

fn client(sample: &CpuSample) -> Option<u64> {
    Some(sample.client_cpu_ns)
}

fn server(sample: &CpuSample) -> Option<u64> {
    sample.server_cpu_ns
}

/// Cores in use by the time in the window, in seconds: the mean over complete repeats. Each was
/// sampled at times of its own, so that what was used is read between two samples.
fn cores(variant: &Variant, side: Side) -> Vec<(f64, f64)> {
    let complete = variant.measured.iter().filter(|measured| measured.complete);
    let repeats: Vec<Vec<(f64, f64)>> = complete
        .map(|measured| used(measured, side))
        .filter(|used| used.len() > STEPS_MIN)
        .collect();
    let steps = repeats.iter().map(|used| used.len() - 1).min().unwrap_or_default();
    let ends = repeats.iter().filter_map(|used| Some(used.last()?.0));
    let Some(end) = ends.reduce(f64::min).filter(|end| *end > 0.0) else { return Vec::new() };
    let step_s = end / steps as f64;
    let rate = |index: usize| {
        let (from, to) = (index as f64 * step_s, (index + 1) as f64 * step_s);
        let cores = repeats.iter().map(|used| (at(used, to) - at(used, from)) / step_s);
        cores.sum::<f64>() / repeats.len() as f64
    };
    (0..steps).map(|index| ((index as f64 + 0.5) * step_s, rate(index))).collect()
}

/// One step is no course.
const STEPS_MIN: usize = 2;

/// Seconds since the window opened, and seconds of processor time used since then.
fn used(measured: &Measured, side: Side) -> Vec<(f64, f64)> {
    let point = |sample: &CpuSample| Some((sample.t_ns as f64 / 1e9, side(sample)? as f64 / 1e9));
    measured.repeat.timeline.iter().filter_map(point).collect()
}

/// What was used by `time`, on the line between the samples around it.
fn at(used: &[(f64, f64)], time: f64) -> f64 {
    let later = used.partition_point(|(at, _)| *at < time).clamp(1, used.len() - 1);
    let ((x0, y0), (x1, y1)) = (used[later - 1], used[later]);
    if x1 > x0 { y0 + (y1 - y0) * (time - x0) / (x1 - x0) } else { y1 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::Workload;
    use crate::report::results::tests::{single, six_rows};

    /// Samples every so many milliseconds of a second, in which the client uses one core in the
    /// first half and two in the second, the server half a core.
    fn sampled(mut results: Results, every_ms: &[u64], server: bool) -> Results {
        for variant in &mut results.variants {
            for (measured, every) in variant.measured.iter_mut().zip(every_ms.iter().cycle()) {
                let sample = |ms: u64| CpuSample {
                    t_ns: ms * 1_000_000,
                    client_cpu_ns: (ms + ms.saturating_sub(500)) * 1_000_000,
                    server_cpu_ns: server.then_some(ms * 500_000),
                };
                let times = (0..1000).step_by(*every as usize).chain([1000]);
                measured.repeat.timeline = times.map(sample).collect();
            }
        }
        results
    }

    fn check(results: &Results, want: &[&str]) -> String {
        let html = timelines(results);
        assert_eq!(html.matches("<figure").count(), want.len(), "{html}");
        for chart in want {
            assert!(html.contains(&format!("data-chart=\"{chart}\"")), "{chart}: {html}");
        }
        html
    }

    #[test]
    fn cores_are_means_over_repeats_that_were_sampled_at_their_own_times() {
        let run = sampled(single(Workload::Get), &[100, 250, 70], true);
        let got = cores(&run.variants[0], client);
        assert_eq!(got.len(), 4);
        for ((at, cores), want) in
            got.into_iter().zip([(0.125, 1.0), (0.375, 1.0), (0.625, 2.0), (0.875, 2.0)])
        {
            assert!((at - want.0).abs() < 1e-9 && (cores - want.1).abs() < 0.02, "{at} {cores}");
        }
        assert!(
            cores(&run.variants[0], server).iter().all(|(_, cores)| (cores - 0.5).abs() < 1e-9)
        );
    }

    #[test]
    fn both_sides_stand_in_one_chart_and_several_rows_in_one_a_side() {
        let html = check(&sampled(single(Workload::Get), &[200], true), &["cores"]);
        assert!(html.contains(">client<") || html.contains("client: mean CPU"), "{html}");
        assert!(!html.contains("not known"), "{html}");
        check(&sampled(six_rows(), &[200], true), &["cores-client", "cores-server"]);
    }

    #[test]
    fn a_server_that_is_not_known_is_said_to_be_missing() {
        let want = "The server&#39;s process is not known (--server-pid): the client alone.";
        for (run, chart) in [(single(Workload::Get), "cores"), (six_rows(), "cores-client")] {
            let html = check(&sampled(run, &[200], false), &[chart]);
            assert!(html.contains(want), "{html}");
        }
    }

    #[test]
    fn what_was_not_sampled_has_no_chart() {
        check(&single(Workload::Get), &[]);
        // The opening and the close alone are no course.
        check(&sampled(single(Workload::Get), &[1000], true), &[]);
    }
}
