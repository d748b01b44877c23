//! Where the endpoints of a plan are read: at the target, or at a place that the server names.
//!
//! A place is followed only as `--follow-locations` says, and only if it is encrypted as the target
//! is: then what is trusted, and what this client shows of itself, is as the options of the target
//! say.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use arrow_flight::Location;
use flight_net::Endpoint;
use flight_net::client::Connector;
use serde::{Deserialize, Serialize};

use super::Control;
use crate::cli::Follow;
use crate::exit::Stop;
use crate::limits::{LOCATION_CHARS_MAX, LOCATIONS_MAX, LOCATIONS_TIMEOUT};
use crate::record::one_line;
use crate::report::Warning;

/// A place that a server named, and what became of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct PlaceRecord {
    pub(crate) location: String,
    /// Whether anything is read there.
    pub(crate) read: bool,
    /// Why not; absent too where another place was there first.
    pub(crate) why: Option<String>,
}

/// The places that servers named, each looked at once, before the clock starts.
pub(crate) struct Places {
    target: Connector,
    follow: Follow,
    followed: Vec<Connector>,
    fates: Fates,
    records: Vec<PlaceRecord>,
    /// Of the time for looking at places.
    left: Duration,
}

/// What became of each place, by the name that the server gives it.
type Fates = BTreeMap<String, Fate>;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    Target,
    /// The index of its connector.
    Followed(usize),
    /// One that is not to be followed.
    PassedOver,
    /// The index of its record, which says why.
    Unreachable(usize),
}

/// What is known of places once the clock runs.
#[derive(Debug, Clone, Default)]
pub(crate) struct KnownPlaces {
    fates: Arc<Fates>,
}

impl KnownPlaces {
    /// Where an endpoint of these locations is read; `None` is the target.
    pub(crate) fn of(&self, locations: &[Location]) -> Option<usize> {
        match first(&self.fates, locations) {
            Some(Fate::Followed(index)) => Some(index),
            _ => None,
        }
    }
}

/// The first that can be read.
fn first(fates: &Fates, locations: &[Location]) -> Option<Fate> {
    let known = locations.iter().filter_map(|location| fates.get(&location.uri).copied());
    let mut usable = known.filter(|fate| matches!(fate, Fate::Target | Fate::Followed(_)));
    usable.next()
}

impl Places {
    pub(crate) fn new(target: Connector, follow: Follow) -> Self {
        let (followed, records) = (Vec::new(), Vec::new());
        let left = LOCATIONS_TIMEOUT;
        Self { target, follow, followed, fates: Fates::default(), records, left }
    }

    /// Finds out where endpoints of these locations are read.
    ///
    /// # Errors
    ///
    /// None of the places that may be followed can be reached, or there are too many.
    pub(crate) async fn look_at(&mut self, locations: &[Location]) -> Result<(), Stop> {
        for location in locations {
            if !self.fates.contains_key(&location.uri) {
                if self.fates.len() >= LOCATIONS_MAX {
                    if self.follow == Follow::Never {
                        continue;
                    }
                    return Err(Stop::failed(anyhow::anyhow!(
                        "the server names more than {LOCATIONS_MAX} places to read from, which is \
                         more than are looked at"
                    )));
                }
                let fate = self.fate(&location.uri).await;
                self.fates.insert(location.uri.clone(), fate);
            }
            // The others are there for when this one is not.
            if matches!(self.fates[&location.uri], Fate::Target | Fate::Followed(_)) {
                return Ok(());
            }
        }
        let unreachable = |one: &Location| match self.fates.get(&one.uri) {
            Some(Fate::Unreachable(record)) => Some(*record),
            _ => None,
        };
        let Some(record) = locations.iter().find_map(unreachable) else { return Ok(()) };
        let why = self.records[record].why.as_deref().unwrap_or_default();
        Err(Stop::failed(anyhow::anyhow!(
            "no place that the server names for an endpoint can be read: {why}; to read from the \
             target, leave --follow-locations out"
        )))
    }

    async fn fate(&mut self, uri: &str) -> Fate {
        let target = self.target.endpoint().clone();
        if uri.is_empty() || uri == REUSE {
            return Fate::Target;
        }
        let endpoint = uri.parse::<Endpoint>().ok();
        if endpoint.as_ref().is_some_and(|endpoint| is_same(endpoint, &target)) {
            return Fate::Target;
        }
        let (fate, why) = match endpoint {
            None => (Fate::PassedOver, Some("it is no place that this program can read".into())),
            Some(endpoint) => match refusal(self.follow, &endpoint, &target) {
                Some(why) => (Fate::PassedOver, Some(why.to_owned())),
                None => self.reach(endpoint).await,
            },
        };
        let read = matches!(fate, Fate::Followed(_));
        self.records.push(PlaceRecord { location: shown(uri), read, why });
        fate
    }

    async fn reach(&mut self, endpoint: Endpoint) -> (Fate, Option<String>) {
        let same = self.followed.iter().position(|one| *one.endpoint() == endpoint);
        if let Some(index) = same {
            return (Fate::Followed(index), None);
        }
        let unreachable = Fate::Unreachable(self.records.len());
        let name = endpoint.to_string();
        let connector = self.target.at(endpoint);
        let began = Instant::now();
        let connected = match self.left {
            Duration::ZERO => None,
            left => tokio::time::timeout(left, Control::connect(&connector)).await.ok(),
        };
        self.left = self.left.saturating_sub(began.elapsed());
        match connected {
            Some(Ok(_)) => {
                self.followed.push(connector);
                (Fate::Followed(self.followed.len() - 1), None)
            }
            Some(Err(stop)) => {
                let why = stop.to_string().replace(&name, &shown(&name));
                (unreachable, Some(one_line(&why)))
            }
            None => {
                let why = format!(
                    "{} was not reached within the {LOCATIONS_TIMEOUT:?} for all places together; \
                     a shorter --connect-timeout leaves time for more",
                    shown(&name)
                );
                (unreachable, Some(why))
            }
        }
    }

    pub(crate) fn known(&self) -> KnownPlaces {
        KnownPlaces { fates: Arc::new(self.fates.clone()) }
    }

    /// What makes connections to the places that are followed.
    pub(crate) fn followed(&self) -> &[Connector] {
        &self.followed
    }

    /// The places other than the target that were named, and what became of them.
    pub(crate) fn records(&self) -> &[PlaceRecord] {
        &self.records
    }

    /// What the figures must not be read without.
    pub(crate) fn warning(&self) -> Option<Warning> {
        let passed: Vec<&PlaceRecord> = self.records.iter().filter(|one| !one.read).collect();
        let names = |places: &[&PlaceRecord]| {
            let names: Vec<&str> = places.iter().map(|one| &*one.location).collect();
            let more = names.len().saturating_sub(PLACES_SHOWN);
            let shown = names[..names.len() - more].join(", ");
            if more > 0 { format!("{shown} and {more} more") } else { shown }
        };
        if passed.is_empty() {
            return None;
        }
        let warned = |text: String, why: &str, hint: &str| {
            Some(Warning::of_run("locations", text, why, hint))
        };
        if self.follow == Follow::Never {
            return warned(
                format!("other places that the server names were not followed: {}", names(&passed)),
                "all was read from the target, which may be the slower way",
                "--follow-locations same, or always",
            );
        }
        warned(
            format!("not all places that the server names were followed: {}", names(&passed)),
            passed[0].why.as_deref().unwrap_or_default(),
            "the places one by one, each as TARGET",
        )
    }
}

/// Stands for the server that was asked.
const REUSE: &str = "arrow-flight-reuse-connection://?";
/// Names in a sentence.
const PLACES_SHOWN: usize = 3;

/// Why a place is not followed; `None` if it is.
fn refusal(follow: Follow, place: &Endpoint, target: &Endpoint) -> Option<&'static str> {
    match follow {
        Follow::Never => Some("places are not followed unless --follow-locations says so"),
        Follow::Same if !is_same_host(place, target) => {
            Some("it is another host than the target's; --follow-locations always goes there")
        }
        Follow::Same | Follow::Always if place.is_tls() == target.is_tls() => None,
        Follow::Same | Follow::Always if place.is_tls() => {
            Some("it is encrypted and the target is not, so that nothing says whom to trust there")
        }
        Follow::Same | Follow::Always => Some("it is not encrypted, and the target is"),
    }
}

/// Whether both name the same server; the names of this machine are one.
fn is_same(one: &Endpoint, other: &Endpoint) -> bool {
    let port = |endpoint: &Endpoint| match endpoint {
        Endpoint::Tcp { port, .. } | Endpoint::Tls { port, .. } => Some(*port),
        Endpoint::Unix(_) => None,
    };
    let same_port = port(one).is_some() && port(one) == port(other);
    one == other || same_port && one.is_tls() == other.is_tls() && is_same_host(one, other)
}

fn is_same_host(one: &Endpoint, other: &Endpoint) -> bool {
    if one.is_local() && other.is_local() {
        return true;
    }
    match (one.host(), other.host()) {
        (Some(one), Some(other)) => one.eq_ignore_ascii_case(other),
        _ => false,
    }
}

/// A place as it may be told: nothing of a query or fragment, nothing before an `@`, and no path
/// but a socket's, since any of them may hold a key.
fn shown(uri: &str) -> String {
    let scheme_of = |scheme: &str| scheme.chars().all(|c| c.is_ascii_alphanumeric() || c == '+');
    let told = match uri.split_once("://").filter(|(scheme, _)| scheme_of(scheme)) {
        Some((scheme, rest)) => {
            let (place, keys) = rest.split_at(rest.find(['?', '#']).unwrap_or(rest.len()));
            // Of a name and a word with such a character in it, nothing can be told apart.
            let place = if keys.contains('@') { "" } else { place };
            let place = place.rsplit('@').next().unwrap_or_default();
            match format!("{scheme}://{place}").parse::<Endpoint>() {
                Ok(endpoint) if keys.is_empty() => endpoint.to_string(),
                Ok(endpoint) => format!("{endpoint}…"),
                Err(_) => match place.split('/').next() {
                    None | Some("") => format!("{scheme}://…"),
                    Some(host) => format!("{scheme}://{host}/…"),
                },
            }
        }
        None => "a place that is no URI".to_owned(),
    };
    one_line(&told).chars().take(LOCATION_CHARS_MAX).collect()
}

#[cfg(test)]
mod tests {
    use flight_net::client::ConnectOptions;

    use super::*;

    #[test]
    fn a_place_is_followed_as_the_option_says() {
        let check = |follow, place: &str, target: &str, want: Option<&str>| {
            let [place, target] = [place, target].map(|uri| uri.parse().expect("an endpoint"));
            let got = refusal(follow, &place, &target);
            assert_eq!(got.is_some(), want.is_some(), "{follow:?} {place} {target}: {got:?}");
            assert!(got.unwrap_or_default().contains(want.unwrap_or_default()), "{got:?}");
        };
        check(Follow::Never, "grpc://h:2", "grpc://h:1", Some("unless --follow-locations"));
        check(Follow::Same, "grpc://h:2", "grpc://H:1", None);
        check(Follow::Same, "grpc://localhost:2", "grpc://127.0.0.1:1", None);
        check(Follow::Same, "grpc+unix:///run/x", "grpc://127.0.0.1:1", None);
        check(Follow::Same, "grpc://other:1", "grpc://h:1", Some("another host"));
        check(Follow::Same, "grpc+unix:///run/x", "grpc://h:1", Some("another host"));
        check(Follow::Always, "grpc://other:1", "grpc://h:1", None);
        check(Follow::Always, "grpc+tls://other:1", "grpc+tls://h:1", None);
        check(Follow::Always, "grpc://other:1", "grpc+tls://h:1", Some("is not encrypted"));
        check(Follow::Always, "grpc+unix:///run/x", "grpc+tls://h:1", Some("is not encrypted"));
        check(Follow::Always, "grpc+tls://other:1", "grpc://h:1", Some("whom to trust"));
    }

    #[test]
    fn the_target_is_known_by_each_of_its_names() {
        let check = |one: &str, other: &str, want: bool| {
            let [one, other] = [one, other].map(|uri| uri.parse().expect("an endpoint"));
            assert_eq!(is_same(&one, &other), want, "{one} {other}");
        };
        check("grpc+tcp://h:1", "grpc://h:1", true);
        check("grpc://localhost:1", "grpc://127.0.0.1:1", true);
        check("grpc://localhost:2", "grpc://127.0.0.1:1", false);
        check("grpc+tls://h:1", "grpc://h:1", false);
        check("grpc+unix:///a", "grpc+unix:///a", true);
        check("grpc+unix:///a", "grpc+unix:///b", false);
    }

    fn places(follow: Follow) -> Places {
        let target = "grpc://127.0.0.1:1".parse().expect("an endpoint");
        Places::new(Connector::new(target, None, ConnectOptions::default()), follow)
    }

    #[tokio::test]
    async fn places_are_not_looked_at_for_longer_than_all_of_them_have() {
        let mut places = places(Follow::Always);
        places.left = Duration::ZERO;
        let location = |port: u16| Location { uri: format!("grpc://127.0.0.1:{port}") };
        let refused = places.look_at(&[location(2), location(3)]).await.err();
        let refused = refused.expect("there is no time").to_string();
        let want = "grpc://127.0.0.1:2 was not reached within the 60s for all places together";
        assert!(refused.contains(want), "{refused}");
        assert!(places.look_at(&[location(4), location(1)]).await.is_ok(), "the target is known");
        assert_eq!(places.records().len(), 3);
        assert!(places.followed().is_empty());
    }

    #[tokio::test]
    async fn why_a_place_cannot_be_reached_is_told_without_its_keys() {
        let mut places = places(Follow::Always);
        for uri in ["grpc+unix:///nowhere?word", "grpc+unix:///nowhere?other"] {
            let refused = places.look_at(&[Location { uri: uri.to_owned() }]).await.err();
            let refused = refused.expect("nobody is there").to_string();
            let want = "can be read: cannot reach grpc+unix:///nowhere…: ";
            assert!(refused.contains(want) && !refused.contains('?'), "{refused}");
        }
        assert_eq!(places.records().len(), 2);
    }

    #[test]
    fn a_place_is_told_without_what_may_be_a_key() {
        let check = |uri: &str, want: &str| assert_eq!(shown(uri), want);
        check("grpc+tcp://h:1", "grpc://h:1");
        check("https://user:word@h/path?signature=x", "https://h/…");
        check("s3://bucket/key#x", "s3://bucket/…");
        check("s3://user:pa/ss@host/key", "s3://host/…");
        check("s3://user:pa?ss@host/key", "s3://…");
        check("https://h/path?mail=a@b", "https://…");
        check("grpc+unix:///p?key=word", "grpc+unix:///p…");
        check("grpc+unix:///p#word", "grpc+unix:///p…");
        check("grpc://user:word@h:1", "grpc://h:1");
        check("grpc://h:1?key=word", "grpc://h:1…");
        check("user:word@x://h", "a place that is no URI");
        check("s3://a\u{1b}[2Jb/key", "s3://a [2Jb/…");
        check("word", "a place that is no URI");
        check(&format!("x://{}", "h".repeat(999)), &format!("x://{}", "h".repeat(196)));
    }
}
