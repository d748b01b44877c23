//! Forms of sweeps whose figures are made up.

use serde_json::Value;

use super::*;

/// A sweep of get over one or two parameters: the same value in each round, but for a small drift.
pub(super) fn sweep(vary: &[&str], rates: &[f64], rounds: usize) -> SweepResults {
    let vary: Vec<Vary> = vary.iter().map(|one| one.parse().expect("a parameter")).collect();
    let workload = Workload::Get;
    let figure = Figure::rate(workload, 0);
    let setting = |index: usize| {
        let width = vary.last().map_or(1, |one| one.values.len());
        let at = [index / width, index % width];
        let at = &at[2 - vary.len()..];
        SweepSetting {
            values: vary.iter().zip(at).map(|(one, at)| one.values[*at].clone()).collect(),
            record: RunRecord::default(),
            points: (0..rounds).map(|round| point(&figure, rates[index], round, index)).collect(),
        }
    };
    SweepResults {
        started: SystemTime::UNIX_EPOCH,
        host: Host::default(),
        server: None,
        command: "get".to_owned(),
        workload,
        metric: figure.clone(),
        by_load: false,
        settings: (0..rates.len()).map(setting).collect(),
        vary: vary.clone(),
        rounds,
        seed: 42,
        slo: None,
        warnings: Vec::new(),
        outcome: Outcome { exit: Exit::Done, error: None, complete: true },
    }
}

/// Settings differ from round to round by a thousandth, each in its own way.
fn point(figure: &Figure, rate: f64, round: usize, index: usize) -> SweepPoint {
    let drift = 1.0 + [0.001, -0.001, 0.0][(round + index) % 3];
    let cost = Cost {
        cpu_s_per_gb: Some(0.25),
        cpu_ns_per_batch: Some(1e5),
        cores: None,
        switches_per_batch: None,
        peak_bytes: None,
        descriptors: None,
    };
    SweepPoint {
        round,
        order: index,
        values: vec![(figure.clone(), rate * drift)],
        offered: None,
        saturated: None,
        costs: Some(Costs { client: Some(cost), server: None }),
    }
}

/// The same sweep as an open loop of calls, saturated from `from` on.
pub(super) fn load(from: usize) -> SweepResults {
    let mut results = sweep(&["rate=25%..100%:25%"], &[1e3, 2e3, 3e3, 3.5e3], 3);
    results.workload = Workload::Unary;
    results.command = "unary GetFlightInfo".to_owned();
    let calls = Figure::rate(Workload::Unary, 0);
    let responses: Vec<Figure> = results.responses().into_iter().map(|(_, one)| one).collect();
    results.metric = calls.clone();
    for (index, setting) in results.settings.iter_mut().enumerate() {
        for point in &mut setting.points {
            let rate = point.values[0].1;
            point.values = vec![
                (calls.clone(), rate),
                (responses[0].clone(), 1e5 * (index + 1) as f64),
                (responses[1].clone(), 1e6 * (index + 1) as f64),
            ];
            point.offered = Some(1e3 * (index + 1) as f64);
            point.saturated = Some(index >= from);
        }
    }
    results
}

pub(super) fn searched(answer: Option<Answer>) -> SweepResults {
    let mut results = load(9);
    results.settings.clear();
    results.vary.clear();
    results.metric = "unary.response.p99 <= 2ms"
        .parse::<crate::threshold::Threshold>()
        .expect("an expression")
        .figure;
    let trial = |rate: f64, values: &[f64], holds| SloTrial {
        rate,
        confirms: values.len() > 1,
        achieved: values.iter().map(|_| rate).collect(),
        values: values.to_vec(),
        behind: usize::from(rate > 30_000.0),
        errors: 0,
        holds,
    };
    results.slo = Some(SloResults {
        expr: "unary.response.p99 <= 2ms".to_owned(),
        ceiling: Some(40_000.0),
        least: Some(39.0),
        least_is_of_events: false,
        trials: vec![
            trial(40_000.0, &[9e6], false),
            trial(20_000.0, &[1.9e6], true),
            trial(20_800.0, &[2.2e6], false),
            trial(20_000.0, &[1.7e6, 1.9e6, 1.8e6], true),
        ],
        answer,
    });
    results
}

pub(super) const FOUND: Answer = Answer::Holds { rate: 20_000.0, broke: Some(20_800.0) };

#[test]
fn a_table_has_each_setting_with_its_interval_and_says_which_to_choose() {
    let results = sweep(&["streams=1,2,4,8"], &[1e9, 1.96e9, 2e9, 1.5e9], 3);
    let got = results.render(Format::Text, Reason::OnStderr);
    // Three values of 1 ± 0.001: their interval is 4.3027 × 0.001 / √3, so 0.25 %.
    let want = "\
streams  MB/s   ±95 %  client CPU s/GB  server CPU s/GB
1        1000  ±0.2 %            0.250                –
2        1960  ±0.2 %            0.250                –  knee
4        2000  ±0.2 %            0.250                –  best
8        1500  ±0.2 %            0.250                –

Knee: streams=2, the smallest within 3 % of the best, which is streams=4 (2000 MB/s).
3 rounds tell the best from every other setting at 95 %.
";
    assert!(got.ends_with(want), "{got}");
}

#[test]
fn rounds_that_cannot_tell_settings_apart_say_so() {
    says(&sweep(&["streams=1,2,4"], &[1e9, 2e9, 2.001e9], 3), "cannot tell from the best");
    says(
        &sweep(&["streams=1,2"], &[2e9, 2e9], 3),
        "3 rounds cannot tell any setting from the best",
    );
    says(&sweep(&["streams=1,2"], &[1e9, 2e9], 1), "One round cannot tell any setting");
    says(&sweep(&["streams=1,2"], &[1e9, 2e9], 3), "nothing smaller comes within 3 % of it");
    let mut lacking = sweep(&["streams=1,2"], &[1e9, 2e9], 3);
    lacking.metric = Figure::parse("get.wait.p99").expect("a name");
    says(&lacking, "get.wait.p99 was not measured at streams=1, streams=2; it needs 1000 events");
}

#[test]
fn words_have_no_knee() {
    let results = sweep(&["transport=own,hyper"], &[2e9, 1.99e9], 3);
    assert_eq!(results.judged().and_then(|judged| judged.knee), None);
    says(&results, "Best: transport=own (2000 MB/s); within 3 % of it: transport=hyper.");
}

#[test]
fn a_sweep_that_was_broken_off_judges_the_whole_rounds() {
    let mut results = sweep(&["streams=1,2"], &[1e9, 2e9], 3);
    results.settings[1].points.pop();
    let judged = results.judged().expect("two rounds are whole");
    assert_eq!((judged.best, judged.rounds), (1, 2));
    says(&results, "NOT COMPLETE: 5 of 6 measurements.");
    let mut none = sweep(&["streams=1,2"], &[1e9, 2e9], 1);
    none.settings.iter_mut().for_each(|setting| setting.points.clear());
    none.outcome = Outcome { exit: Exit::Interrupted, error: Some("x".into()), complete: false };
    let text = none.render(Format::Text, Reason::InReport);
    assert!(text.contains("NOT COMPLETE: 0 of 2") && !text.contains("MB/s"), "{text}");
    follows_the_schema(&none);
}

#[test]
fn load_becomes_latency_and_saturation_is_said() {
    let results = load(3);
    let text = results.render(Format::Text, Reason::OnStderr);
    for want in [
        "rate  offered/s  calls/s   ±95 %  response p50  response p99  client CPU",
        "100%       4000     3500  ±0.2 %        400 µs       4.00 ms      100 µs",
        "saturated",
        "Saturated: rate=100%. More was offered than was taken in",
    ] {
        assert!(text.contains(want), "{want:?} is missing in\n{text}");
    }
    let html = results.render(Format::Html, Reason::OnStderr);
    assert_eq!(html.matches("data-chart=\"load\"").count(), 1);
}

/// The same sweep, judged by what a load does.
fn by_load(from: usize) -> SweepResults {
    let mut results = load(from);
    results.by_load = true;
    results.metric = Figure::response_p99(Workload::Unary);
    results
}

#[test]
fn a_sweep_over_the_rate_is_read_by_what_is_held_and_by_its_latency() {
    let results = by_load(3);
    says(
        &results,
        "Highest rate that is held: rate=75% (3000/s), with unary.response.p99 of 3.00 ms; rate=100% \
         (4000/s) was not taken in. Up to rate=50% (2000/s) it is within twice that of the lowest \
         rate. Beyond what is held, more is offered than is taken in",
    );
    assert_eq!(results.judged(), None, "a higher throughput is what a higher rate is");
    let text = results.render(Format::Text, Reason::OnStderr);
    assert_eq!(text.matches("highest held").count(), 1, "{text}");
    assert!(!text.contains("best"), "{text}");
    let document = follows_the_schema(&results);
    assert_eq!(
        document["held"],
        serde_json::json!([{ "at": null, "highest": 2, "broke": 3, "knee": 1 }])
    );
    says(&by_load(9), "4.00 ms; nothing higher was tried. Up to rate=50%");
    says(&by_load(0), "No rate is held: even rate=25% (1000/s) was not taken in.");
}

#[test]
fn one_round_that_is_not_taken_in_breaks_a_rate_and_those_above_it() {
    let mut results = by_load(9);
    results.settings[1].points[2].saturated = Some(true);
    says(
        &results,
        "held: rate=25% (1000/s), with unary.response.p99 of 1.00 ms; rate=50% (2000/s)",
    );
    let mut rare = by_load(9);
    rare.settings.iter_mut().flat_map(|one| &mut one.points).for_each(|point| {
        point.values.truncate(2);
    });
    let want = "rate=100% (4000/s); unary.response.p99 was not measured, which takes 1000 events a";
    says(&rare, want);
}

#[test]
fn each_value_of_another_parameter_has_its_highest_rate() {
    let mut results = by_load(9);
    // Four settings of two rates each: with one stream the second is not taken in.
    results.vary =
        ["streams=1,2", "rate=1k,2k"].map(|one| one.parse().expect("a parameter")).to_vec();
    for (index, setting) in results.settings.iter_mut().enumerate() {
        let (streams, rate) = (index / 2, index % 2);
        setting.values = [["1", "2"][streams], ["1k", "2k"][rate]].map(str::to_owned).to_vec();
        for point in &mut setting.points {
            point.offered = Some(1e3 * (rate + 1) as f64);
            point.saturated = Some(streams == 0 && rate == 1);
        }
    }
    says(
        &results,
        "held at streams=1: rate=1k (1000/s), with unary.response.p99 of 1.00 ms; rate=2k",
    );
    says(
        &results,
        "held at streams=2: rate=2k (2000/s), with unary.response.p99 of 4.00 ms; nothing",
    );
    let text = results.render(Format::Text, Reason::OnStderr);
    assert_eq!(text.matches('*').count(), 3, "two cells and their legend: {text}");
    follows_the_schema(&results);
}

#[test]
fn two_parameters_are_a_grid_with_marks() {
    let rates = [1e9, 2e9, 1.2e9, 1.1e9, 1.3e9, 2.001e9];
    let results = sweep(&["streams=1,2", "batch-rows=10,20,30"], &rates, 3);
    let text = results.render(Format::Text, Reason::OnStderr);
    let want = "\
get.bytes_per_s, in MB/s
streams \\ batch-rows            10            20            30
1                     1000 ±0.2 %   2000 ±0.2 %~  1200 ±0.2 % \n";
    assert!(text.replace(" \n", "\n").contains(&want.replace(" \n", "\n")), "{text}");
    assert!(text.contains("2001 ±0.2 %*"), "{text}");
    says(&results, "within 3 % of it: streams=1, batch-rows=20.");
    let html = results.render(Format::Html, Reason::OnStderr);
    assert_eq!(html.matches("class=\"chart heatmap\"").count(), 1);
    follows_the_schema(&results);
}

#[test]
fn a_grid_that_is_too_wide_is_a_list() {
    let results = sweep(&["streams=1,2", "batch-rows=1..20:1"], &[1e9; 40], 3);
    let text = results.render(Format::Text, Reason::OnStderr);
    assert!(text.lines().any(|line| line.starts_with("streams  batch-rows  MB/s")), "{text}");
}

#[test]
fn the_answer_of_a_search_says_what_it_rests_on() {
    let holds = "highest rate that holds unary.response.p99 <= 2ms: 20000/s";
    says(&searched(Some(FOUND)), &format!("{holds} (confirmed by 3 repeats; 20800/s broke it)"));
    let ceiling = Answer::Holds { rate: 20_000.0, broke: None };
    says(&searched(Some(ceiling)), "all that a closed loop of these streams reaches");
    says(&searched(Some(Answer::Never { least: 39.0 })), "even 39.0/s broke it, a thousandth");
    let unconfirmed = Answer::Unconfirmed { probed: 20_000.0, broke: 14_430.0 };
    says(&searched(Some(unconfirmed)), "a probe at 20000/s held it, and repeats down to 14430/s");
    says(&searched(None), "The search was broken off before there was an answer.");
    assert_eq!(searched(Some(FOUND)).exit(), Exit::Done);
    assert_eq!(searched(Some(unconfirmed)).exit(), Exit::Regressed);
    assert_eq!(searched(Some(Answer::Never { least: 39.0 })).exit(), Exit::Regressed);
}

#[test]
fn a_search_says_what_it_had_to_try_again() {
    let mut results = searched(Some(FOUND));
    let slo = results.slo.as_mut().expect("a search");
    let failed = SloTrial { rate: 21_000.0, holds: false, ..slo.trials[3].clone() };
    slo.trials.insert(3, failed.clone());
    says(&results, "confirmed by 3 repeats, after a higher rate was not; 20800/s broke it");
    let slo = results.slo.as_mut().expect("a search");
    slo.trials.insert(3, failed);
    says(&results, "confirmed by 3 repeats, after 2 higher rates were not; 20800/s");
    let text = results.render(Format::Text, Reason::OnStderr);
    assert!(!text.contains("second probe"), "{text}");
    let slo = results.slo.as_mut().expect("a search");
    let unlucky = SloTrial { holds: false, ..slo.trials[1].clone() };
    slo.trials.insert(1, unlucky);
    says(&results, "1 rate held it only in a second probe");
}

#[test]
fn the_path_of_a_search_is_a_row_a_trial() {
    let text = searched(Some(FOUND)).render(Format::Text, Reason::OnStderr);
    for want in ["closed loop: 40000/s", "breaks: not taken in", "1.70 ms to 1.90 ms  holds"] {
        assert!(text.contains(want), "{want:?} is missing in\n{text}");
    }
    assert_eq!(text.lines().filter(|line| line.starts_with("probe ")).count(), 3, "{text}");
}

#[test]
fn every_document_follows_the_schema_and_is_the_data_of_its_page() {
    for results in [
        sweep(&["streams=1,2,4"], &[1e9, 2e9, 2e9], 3),
        sweep(&["transport=own,hyper"], &[1e9, 2e9], 1),
        load(2),
        by_load(2),
        searched(Some(FOUND)),
        searched(None),
    ] {
        let document = follows_the_schema(&results);
        let page = results.render(Format::Html, Reason::OnStderr);
        let embedded = flight_chart::embedded(&page).expect("a page with data");
        assert_eq!(serde_json::from_str::<Value>(&embedded).expect("JSON"), document);
        let csv = results.render(Format::Csv, Reason::OnStderr);
        assert!(csv.lines().all(|line| line.split(',').count() >= 9), "{csv}");
        assert!(results.render(Format::Md, Reason::OnStderr).starts_with("### flight-bench sweep"));
    }
}

#[test]
fn a_document_that_lacks_something_does_not_follow_the_schema() {
    for key in ["vary", "settings", "judged", "held", "slo", "metric"] {
        let mut document = sweep(&["streams=1,2"], &[1e9, 2e9], 3).document();
        document.as_object_mut().expect("an object").remove(key);
        assert!(!validator().is_valid(&document), "{key}");
    }
    let mut document = sweep(&["streams=1,2"], &[1e9, 2e9], 3).document();
    document["settings"][0]["points"][0]["round"] = Value::from("first");
    assert!(!validator().is_valid(&document));
}

#[test]
fn long_names_and_wild_figures_fit_100_columns() {
    let mut results = load(2);
    results.vary = vec![Vary { name: "a".repeat(60), values: results.vary[0].values.clone() }];
    results.settings[0].values[0] = "v".repeat(80);
    for (round, point) in results.settings[1].points.iter_mut().enumerate() {
        point.values[0].1 = 10f64.powi(round as i32 * 4);
    }
    says(&results, "vvvvv…");
    results.workload = Workload::Put;
    results.metric = Figure::parse("put.write_wait.p99.9").expect("a name");
    says(&results, "put.write_wait.p99.9 was not measured");
}

fn says(results: &SweepResults, want: &str) {
    let text = results.render(Format::Text, Reason::OnStderr);
    let joined = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(joined.contains(want), "{want:?} is missing in\n{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
}

fn follows_the_schema(results: &SweepResults) -> Value {
    let text = results.render(Format::Json, Reason::OnStderr);
    let document: Value = serde_json::from_str(&text).expect("one document");
    let errors: Vec<String> = validator()
        .iter_errors(&document)
        .map(|error| format!("{}: {error}", error.instance_path()))
        .collect();
    assert!(errors.is_empty(), "{errors:#?}");
    document
}

fn validator() -> jsonschema::Validator {
    let schema = include_str!("../../../../docs/flight-bench.sweep.schema.json");
    let schema = serde_json::from_str(schema).expect("the schema is JSON");
    jsonschema::validator_for(&schema).expect("the schema is a JSON Schema")
}
