//! A client's sessions: rustls' own store, with more tickets of TLS 1.3.
//!
//! Its own keeps eight a server, and each is good for one connection: a hundred callers that connect
//! at once would make full handshakes all but eight.

use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};

use rustls::NamedGroup;
use rustls::client::{
    ClientSessionMemoryCache, ClientSessionStore, Tls12ClientSessionValue, Tls13ClientSessionValue,
};
use rustls_pki_types::ServerName;

use crate::limits::{SESSION_SERVERS_MAX, SESSIONS_PER_SERVER};

#[derive(Debug)]
pub(super) struct Sessions {
    /// What there is one of for each server.
    single: ClientSessionMemoryCache,
    tickets: Mutex<HashMap<ServerName<'static>, VecDeque<Tls13ClientSessionValue>>>,
}

impl Sessions {
    pub(super) fn new() -> Self {
        let single = ClientSessionMemoryCache::new(SESSION_SERVERS_MAX);
        Self { single, tickets: Mutex::default() }
    }

    fn tickets(
        &self,
    ) -> MutexGuard<'_, HashMap<ServerName<'static>, VecDeque<Tls13ClientSessionValue>>> {
        self.tickets.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ClientSessionStore for Sessions {
    fn set_kx_hint(&self, server: ServerName<'static>, group: NamedGroup) {
        self.single.set_kx_hint(server, group);
    }

    fn kx_hint(&self, server: &ServerName<'_>) -> Option<NamedGroup> {
        self.single.kx_hint(server)
    }

    fn set_tls12_session(&self, server: ServerName<'static>, session: Tls12ClientSessionValue) {
        self.single.set_tls12_session(server, session);
    }

    fn tls12_session(&self, server: &ServerName<'_>) -> Option<Tls12ClientSessionValue> {
        self.single.tls12_session(server)
    }

    fn remove_tls12_session(&self, server: &ServerName<'static>) {
        self.single.remove_tls12_session(server);
    }

    fn insert_tls13_ticket(&self, server: ServerName<'static>, ticket: Tls13ClientSessionValue) {
        let mut all = self.tickets();
        if all.len() >= SESSION_SERVERS_MAX && !all.contains_key(&server) {
            all.clear();
        }
        let of_server = all.entry(server).or_default();
        if of_server.len() >= SESSIONS_PER_SERVER {
            of_server.pop_front();
        }
        of_server.push_back(ticket);
    }

    /// The newest: it lives longest.
    fn take_tls13_ticket(&self, server: &ServerName<'static>) -> Option<Tls13ClientSessionValue> {
        self.tickets().get_mut(server)?.pop_back()
    }
}
