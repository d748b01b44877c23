//! A client's sessions, kept for its next connections: OpenSSL leaves that to its caller.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use openssl::error::ErrorStack;
use openssl::ex_data::Index;
use openssl::ssl::{Ssl, SslContextBuilder, SslRef, SslSession, SslSessionCacheMode, SslVersion};

use super::raw;
use crate::limits::{SESSION_SERVERS_MAX, SESSIONS_PER_SERVER};

type Kept = HashMap<String, VecDeque<SslSession>>;

/// Clones share them.
#[derive(Clone, Default)]
pub(super) struct Sessions(Arc<Mutex<Kept>>);

impl Sessions {
    /// Has the connections of a context leave their sessions here.
    pub(super) fn kept_by(builder: &mut SslContextBuilder) -> Result<Self, ErrorStack> {
        let (sessions, name) = (Self::default(), name_index()?);
        builder
            .set_session_cache_mode(SslSessionCacheMode::CLIENT | SslSessionCacheMode::NO_INTERNAL);
        let kept = sessions.clone();
        builder.set_new_session_callback(move |ssl, session| {
            if let Some(name) = ssl.ex_data(name) {
                kept.keep(name, session);
            }
        });
        Ok(sessions)
    }

    /// Offers the server of `ssl` its newest session, if there is one, and keeps those that come.
    pub(super) fn resume(&self, ssl: &mut Ssl, server: &str) -> Result<(), ErrorStack> {
        let newest = self.lock().get_mut(server).and_then(VecDeque::pop_back);
        ssl.set_ex_data(name_index()?, server.to_owned());
        let Some(session) = newest else { return Ok(()) };
        raw::resume(ssl, &session)
    }

    /// Keeps the session of a connection that resumed one of TLS 1.2: it is good for further ones,
    /// and no other is told.
    pub(super) fn keep_resumed(&self, ssl: &SslRef, server: &str) {
        if let Some(session) = ssl.session().filter(|_| ssl.session_reused())
            && session.protocol_version() == SslVersion::TLS1_2
        {
            self.keep(server, session.to_owned());
        }
    }

    fn keep(&self, server: &str, session: SslSession) {
        let mut kept = self.lock();
        if kept.len() >= SESSION_SERVERS_MAX && !kept.contains_key(server) {
            kept.clear();
        }
        let of_server = kept.entry(server.to_owned()).or_default();
        if of_server.len() >= SESSIONS_PER_SERVER {
            of_server.pop_front();
        }
        of_server.push_back(session);
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Kept> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Where a connection holds the name of its server.
fn name_index() -> Result<Index<Ssl, String>, ErrorStack> {
    static INDEX: OnceLock<Index<Ssl, String>> = OnceLock::new();
    match INDEX.get() {
        Some(index) => Ok(*index),
        None => {
            let index = Ssl::new_ex_index()?;
            Ok(*INDEX.get_or_init(|| index))
        }
    }
}
