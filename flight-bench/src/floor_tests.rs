//! What becomes of a floor that is kept, and of one that is not as it should be.

use std::os::unix::fs::PermissionsExt;

use super::*;

pub(crate) fn floor(throughput: f64) -> Floor {
    Floor {
        measured: "2026-11-30T08:00:00Z".to_owned(),
        version: "0.1.0".to_owned(),
        pairs: 10,
        throughput,
        p50: Some(0.042),
        p99: None,
    }
}

fn machine() -> Machine {
    Machine {
        name_hash: Some("0123456789abcdef".to_owned()),
        cpu: Some("Model 7".to_owned()),
        cores_online: Some(4),
        cores_usable: Some(2),
        kernel: Some("6.1.0".to_owned()),
    }
}

fn text(change: fn(&mut Kept)) -> String {
    let mut kept = Kept { schema: SCHEMA.to_owned(), host: machine(), floor: floor(0.031) };
    change(&mut kept);
    serde_json::to_string(&kept).expect("JSON")
}

/// What is known of a file with this text, so many days after the floor was measured.
fn known(text: &str, days: i64) -> Known {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("floor.json");
    fs::write(&path, text).expect("room for a floor");
    Known::of(&path, &machine(), at(days))
}

fn at(days: i64) -> OffsetDateTime {
    floor(0.0).time().expect("a time") + Duration::days(days)
}

fn check(text: &str, days: i64, want: Option<&str>) {
    let got = known(text, days);
    match want {
        None => assert_eq!((got.floor(), &got.trouble), (Some(&floor(0.031)), &None), "{text}"),
        Some(want) => {
            assert_eq!(got.floor(), None, "{text}");
            let trouble = got.trouble.expect("a sentence");
            assert!(trouble.contains(want), "{want:?} is not in {trouble}");
            assert!(trouble.ends_with("measure it with 'flight-bench doctor --aa'"), "{trouble}");
            assert_eq!(trouble.lines().count(), 1, "{trouble}");
        }
    }
}

#[test]
fn a_floor_of_this_machine_holds_for_thirty_days() {
    let kept = text(|_| {});
    check(&kept, 0, None);
    check(&kept, 30, None);
    check(&kept, 31, Some("the one that is kept is 31 days old, 30 may be"));
    check(&kept, -3, Some("is of 2026-11-30, which is to come"));
}

#[test]
fn one_of_another_machine_is_told_by_what_differs() {
    check(&text(|kept| kept.host.kernel = None), 1, Some("(kernel: unknown and 6.1.0)"));
    check(&text(|kept| kept.host.cores_online = Some(8)), 1, Some("(cores: 8 and 4)"));
    check(&text(|kept| kept.host.cores_usable = Some(4)), 1, Some("(usable cores: 4 and 2)"));
    check(&text(|kept| kept.host.cpu = Some("x".into())), 1, Some("(processor: x and Model 7)"));
    check(&text(|kept| kept.host.name_hash = None), 1, Some("(hash of the name: unknown and 01"));
}

#[test]
fn one_that_is_broken_is_told_and_never_used() {
    check("", 1, Some("it is broken"));
    check("{}", 1, Some("it is broken: missing field"));
    check("[[[[", 1, Some("it is broken"));
    check(&text(|kept| kept.schema = "x/1".into()), 1, Some("it is a \"x/1\", not a flight-bench"));
    check(&text(|kept| kept.floor.throughput = -0.1), 1, Some("-0.1 is no noise floor"));
    check(&text(|kept| kept.floor.p99 = Some(1e30)), 1, Some("is no noise floor"));
    check(&text(|kept| kept.floor.measured = "today".into()), 1, Some("\"measured\" is no time"));
    check(&text(|_| {}).replace("0.031", "null"), 1, Some("it is broken"));
    check(&text(|_| {}).replace("0.031", "1e999"), 1, Some("it is broken"));
    let long = " ".repeat(FLOOR_FILE_BYTES_MAX as usize) + &text(|_| {});
    check(&long, 1, Some("it is larger than 65536 bytes"));
    let folder = tempfile::tempdir().expect("a temporary folder");
    let got = Known::of(folder.path(), &machine(), at(1));
    assert!(got.trouble.is_some_and(|why| why.contains("it is no file")));
}

#[test]
fn no_floor_is_no_trouble() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let got = Known::of(&folder.path().join("floor.json"), &machine(), at(1));
    assert!(got.floor().is_none() && got.trouble.is_none(), "{got:?}");
    assert!(Known::here(None).trouble.is_none());
}

#[test]
fn what_is_kept_is_found_again_by_its_owner_alone() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let saved = Saved::new(Some(&folder.path().join("state"))).expect("a folder was given");
    let now = OffsetDateTime::now_utc().format(&Rfc3339).expect("a time");
    let floor = Floor { measured: now, ..floor(0.031) };
    let path = saved.keep_floor(&floor).expect("room for a floor");
    assert_eq!(path, folder.path().join("state/floor.json"));
    let rights = fs::metadata(&path).expect("a file").permissions().mode() & 0o777;
    assert_eq!(rights, 0o600);
    assert_eq!(Known::here(Some(&saved)).floor(), Some(&floor));
    assert!(saved.ids().expect("a folder").is_empty(), "a floor is no run");
}

#[test]
fn it_is_told_in_words() {
    let want = "noise floor 3.1 % (doctor --aa, 2026-11-30) · of p50 4.2 %";
    assert_eq!(floor(0.031).told(), want);
    let all = Floor { p99: Some(0.12), ..floor(0.031) }.told();
    assert!(all.ends_with(" · of p50 4.2 %, p99 12.0 %"), "{all}");
    let one = Floor { p50: None, ..floor(0.031) }.told();
    assert_eq!(one, "noise floor 3.1 % (doctor --aa, 2026-11-30)");
}

#[test]
fn runs_of_another_host_do_not_use_it() {
    let mut host = Host { kernel: Some("6.1.0".into()), ..Host::default() };
    let known = Known::test(floor(0.03), &host);
    assert_eq!(known.for_host(&host), Ok(Some(&floor(0.03))));
    host.kernel = Some("6.2.0".to_owned());
    let why = known.for_host(&host).expect_err("another kernel");
    assert!(why.contains("made on another (kernel: 6.1.0 and 6.2.0)"), "{why}");
    assert_eq!(Known::default().for_host(&host), Ok(None));
}
