//! New certificates, authorities of clients and lists of what these revoked, taken while the server
//! runs; connections that are open live on.
//!
//! The files are read at an interval and told apart by content. What is new must have settled, that
//! is, be the same at two looks: a certificate and its key are two files, and may be written one
//! after the other. Then it is judged as at the start, and against what it is to replace. What is
//! refused is reported once, and what was there before stays in use.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use anyhow::Context;
use flight_tls::ServerTls;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::watch;
use tokio::task::{JoinHandle, spawn_blocking};
use tokio::time::{Instant, sleep};

use super::args::Reload;
use super::certificate::{Contents, Expiry, Loaded};
use super::config::Tls;
use crate::service::TlsFigures;

/// Time after which what was refused is judged again: a certificate may have become valid.
const AGAIN: Duration = Duration::from_secs(60);
/// Between looks at the expiry where the files are not watched.
const UNWATCHED: Duration = Duration::from_secs(60 * 60);

/// The settings of all listeners, and what changes them.
pub(super) struct Rotation {
    config: Arc<Tls>,
    loaded: Loaded,
    files: Files,
    current: watch::Sender<ServerTls>,
    expiry: Expiry,
    figures: TlsFigures,
}

/// What came of new contents.
enum Outcome {
    Taken(Box<Loaded>),
    Refused(String),
    /// The files changed while they were being judged.
    Unsettled,
}

impl Rotation {
    /// Loads what the server starts with, and tells what it is.
    pub(super) async fn start(config: Tls) -> anyhow::Result<Self> {
        let config = Arc::new(config);
        let of_files = Arc::clone(&config);
        let (contents, loaded) =
            spawn_blocking(move || (Contents::read(&of_files), Loaded::load(&of_files))).await?;
        let loaded = loaded?;
        let mut rotation = Self {
            config,
            files: Files::new(contents),
            current: watch::Sender::new(loaded.tls.clone()),
            loaded,
            expiry: Expiry::default(),
            figures: TlsFigures::default(),
        };
        rotation.tell("serving");
        Ok(rotation)
    }

    pub(super) fn settings(&self) -> watch::Receiver<ServerTls> {
        self.current.subscribe()
    }

    pub(super) fn figures(&self) -> &TlsFigures {
        &self.figures
    }

    /// Looks at the files from now on, at each interval and when SIGHUP asks for it.
    pub(super) fn spawn(self) -> std::io::Result<JoinHandle<()>> {
        Ok(tokio::spawn(self.run(signal(SignalKind::hangup())?)))
    }

    async fn run(mut self, mut hangup: Signal) {
        let (pause, watched) = match self.config.reload {
            Reload::Every(interval) => (interval, true),
            Reload::Off => (UNWATCHED, false),
        };
        loop {
            let asked = tokio::select! {
                Some(()) = hangup.recv() => true,
                () = sleep(pause) => false,
            };
            if asked || watched {
                self.look(asked).await;
            }
            self.warn_of_expiry();
        }
    }

    async fn look(&mut self, asked: bool) {
        let config = Arc::clone(&self.config);
        let Ok(contents) = spawn_blocking(move || Contents::read(&config)).await else { return };
        match self.files.look(&contents, asked, Instant::now()) {
            Step::Unchanged if asked => tracing::info!("SIGHUP: the files of TLS are unchanged"),
            Step::Back => tracing::info!("the files of TLS are again what is in use"),
            Step::Unchanged | Step::Wait => {}
            Step::Judge => match self.judge(&contents).await {
                Outcome::Unsettled => self.files.seen = None,
                Outcome::Taken(loaded) => self.take(contents, *loaded),
                Outcome::Refused(why) => {
                    if self.files.refuse(contents, &why, asked) {
                        self.figures.refused.inc();
                        tracing::warn!(
                            "new files of TLS are refused, the old ones serve on: {why}"
                        );
                    }
                }
            },
        }
    }

    /// Judges what the files hold, which was `contents` when it was looked at.
    async fn judge(&self, contents: &Contents) -> Outcome {
        let (config, looked_at) = (Arc::clone(&self.config), contents.clone());
        // A pair that did not change is not judged again: it may have expired, and what was revoked
        // must count all the same.
        let same_pair = contents.pair == self.files.taken.pair;
        let identity = same_pair.then(|| Arc::clone(&self.loaded.identity));
        let load = move || {
            let loaded = match identity {
                Some(identity) => Loaded::with(&config, identity),
                None => Loaded::load(&config),
            };
            // It is by this content that they will be known.
            (Contents::read(&config) == looked_at).then_some(loaded)
        };
        let loaded = match spawn_blocking(load).await.context("reading them failed") {
            Ok(None) => return Outcome::Unsettled,
            Ok(Some(Ok(loaded))) => loaded,
            Ok(Some(Err(error))) | Err(error) => return Outcome::Refused(format!("{error:#}")),
        };
        let may_lose_names = self.config.allow_lost_names;
        match self.loaded.tls.check_successor(&loaded.tls, may_lose_names).await {
            Ok(()) => Outcome::Taken(Box::new(loaded)),
            Err(error) => Outcome::Refused(error.to_string()),
        }
    }

    fn take(&mut self, contents: Contents, loaded: Loaded) {
        let new_pair = contents.pair != self.files.taken.pair;
        self.current.send_replace(loaded.tls.clone());
        self.loaded = loaded;
        self.files = Files::new(contents);
        self.figures.taken.inc();
        if new_pair {
            self.expiry = Expiry::default();
            self.tell("now serving");
        } else {
            tracing::info!("what TLS asks of clients has changed: new connections go by it");
        }
    }

    /// Logs which certificate is served, and what is odd about it.
    fn tell(&mut self, what: &str) {
        tracing::info!("{what} the certificate of {}", self.loaded.certificate);
        for warning in self.loaded.identity.warnings() {
            tracing::warn!("{warning}");
        }
        self.figures.not_after_s.set(self.loaded.certificate.not_after_s);
        self.warn_of_expiry();
    }

    fn warn_of_expiry(&mut self) {
        if let Some(warning) = self.expiry.warning(&self.loaded.certificate, SystemTime::now()) {
            tracing::warn!("{warning}");
        }
    }
}

/// What the files held at earlier looks.
struct Files {
    /// What is in use.
    taken: Contents,
    /// At the last look, where that is not in use.
    seen: Option<Contents>,
    refused: Option<Refused>,
}

struct Refused {
    contents: Contents,
    why: String,
    at: Instant,
}

/// What to do about what the files hold.
#[derive(Debug, PartialEq, Eq)]
enum Step {
    Unchanged,
    /// Unchanged, after something that was refused.
    Back,
    /// It is new and may still be changing, or was judged already.
    Wait,
    Judge,
}

impl Files {
    fn new(taken: Contents) -> Self {
        Self { taken, seen: None, refused: None }
    }

    fn look(&mut self, contents: &Contents, asked: bool, now: Instant) -> Step {
        if *contents == self.taken {
            self.seen = None;
            return if self.refused.take().is_some() { Step::Back } else { Step::Unchanged };
        }
        let settled = self.seen.replace(contents.clone()).as_ref() == Some(contents);
        let known = |refused: &Refused| {
            refused.contents == *contents && now.duration_since(refused.at) < AGAIN
        };
        if asked || settled && !self.refused.as_ref().is_some_and(known) {
            return Step::Judge;
        }
        Step::Wait
    }

    /// Remembers what was refused. Whether it must be told: it was not before, or somebody asked.
    fn refuse(&mut self, contents: Contents, why: &str, asked: bool) -> bool {
        let same = |refused: &Refused| refused.contents == contents && refused.why == why;
        let told = !asked && self.refused.as_ref().is_some_and(same);
        self.refused = Some(Refused { contents, why: why.to_owned(), at: Instant::now() });
        !told
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;

    /// What is done about one look after the other; names are contents, `+` after one is SIGHUP,
    /// `!` a minute that passes.
    fn check(looks: &str, expected: &str) {
        let folder = tempfile::tempdir().unwrap();
        let contents = |name: &str| {
            let file: PathBuf = folder.path().join(name);
            std::fs::write(&file, name).unwrap();
            Contents::read(&Tls::of_files(file.clone(), file))
        };
        let mut files = Files::new(contents("old"));
        let mut now = Instant::now();
        let mut done = Vec::new();
        for look in looks.split(' ') {
            if look == "!" {
                now += AGAIN + AGAIN;
                continue;
            }
            let asked = look.ends_with('+');
            let contents = contents(look.trim_end_matches('+'));
            done.push(match files.look(&contents, asked, now) {
                Step::Unchanged => "-",
                Step::Back => "back",
                Step::Wait => "wait",
                Step::Judge if look.starts_with("good") => {
                    files = Files::new(contents);
                    "take"
                }
                Step::Judge if files.refuse(contents, "it is bad", asked) => "tell",
                Step::Judge => "judge",
            });
        }
        assert_eq!(done.join(" "), expected, "{looks}");
    }

    #[test]
    fn what_is_new_is_judged_once_it_is_the_same_twice() {
        check("old old good good good", "- - wait take -");
        check("half good good", "wait wait take");
        check("half old half old", "wait - wait -");
    }

    #[test]
    fn what_was_refused_is_told_once_and_judged_again_later() {
        check("bad bad bad bad", "wait tell wait wait");
        check("bad bad bad ! bad bad", "wait tell wait judge judge");
        check("bad bad worse worse bad bad", "wait tell wait tell wait tell");
        check("bad bad old old bad bad", "wait tell back - wait tell");
    }

    #[test]
    fn who_asks_is_answered_at_once() {
        check("old+ good+ good", "- take -");
        check("bad+ bad bad+ bad+", "tell wait tell tell");
    }
}
