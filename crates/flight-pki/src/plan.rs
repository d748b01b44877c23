//! What belongs to a set of certificates and keys, and in which order it is made.

use std::path::PathBuf;
use std::time::SystemTime;

use crate::authority::{Authority, Issued, ROOT_NAME, self_signed};
use crate::client::ClientName;
use crate::error::PkiError;
use crate::files::{CERT_MODE, Draft, KEY_MODE, Written, exists, refuse_existing, write_all};
use crate::form::{self, KeyForm, Password};
use crate::given::GivenAuthority;
use crate::host::Host;
use crate::key::KeyKind;
use crate::limits::{CLIENTS_MAX, DAYS_DEFAULT, HOSTS_MAX};
use crate::validity::{Life, Validity};

/// The one client of a plan that names none.
const CLIENT_DEFAULT: &str = "flight-client";

/// What to issue, and where to.
#[derive(Debug)]
pub struct Plan {
    /// Folder for the files; made when it is missing.
    pub out: PathBuf,
    /// A server certificate for each: `server-ec.pem` and `server-ec.key`, and so on.
    pub keys: Vec<KeyKind>,
    /// Names and addresses besides [`Host::loopback`].
    pub hosts: Vec<Host>,
    /// A client certificate for each, `client-NAME.pem`; empty: one, `client.pem`.
    pub clients: Vec<ClientName>,
    /// Of the authority's key and the intermediate's.
    pub ca_key: KeyKind,
    /// Of the clients' keys.
    pub client_key: KeyKind,
    /// Whether both servers and clients are made.
    pub only: Option<Only>,
    pub life: Life,
    pub signed_by: SignedBy,
    /// Of the servers' keys, and of those others that have it.
    pub key_form: KeyForm,
    /// Keys are written under it.
    pub password: Option<Password>,
    /// Replace files that exist.
    pub force: bool,
}

/// Who signs the certificates of servers and clients.
#[derive(Debug)]
pub enum SignedBy {
    /// A new root.
    Root,
    /// A new intermediate below a new root.
    Intermediate,
    /// An authority that was made before.
    Given(GivenAuthority),
    /// A new intermediate below an authority that was made before.
    IntermediateOf(GivenAuthority),
    /// Each server by itself; there are no clients.
    Itself,
}

/// The half of a set that is made alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Only {
    Servers,
    Clients,
}

impl Plan {
    /// EC P-256 and RSA-4096 servers, a client and their authority in `out`, for
    /// [`DAYS_DEFAULT`] days; nothing is overwritten.
    pub fn new(out: impl Into<PathBuf>) -> Self {
        Self {
            out: out.into(),
            keys: vec![KeyKind::P256, KeyKind::Rsa4096],
            hosts: Vec::new(),
            clients: Vec::new(),
            ca_key: KeyKind::P256,
            client_key: KeyKind::P256,
            only: None,
            life: Life::days(DAYS_DEFAULT).expect("the default is within bounds"),
            signed_by: SignedBy::Root,
            key_form: KeyForm::Pkcs8,
            password: None,
            force: false,
        }
    }

    fn has_servers(&self) -> bool {
        self.only != Some(Only::Clients)
    }

    fn has_clients(&self) -> bool {
        self.only != Some(Only::Servers) && !matches!(self.signed_by, SignedBy::Itself)
    }

    /// What each client's files are called, and its name.
    fn client_files(&self) -> Vec<(String, ClientName)> {
        if !self.has_clients() {
            return Vec::new();
        }
        if self.clients.is_empty() {
            let name = CLIENT_DEFAULT.parse().expect("the name is constant");
            return vec![("client".to_owned(), name)];
        }
        let stem = |name: &ClientName| format!("client-{}", name.file_stem());
        distinct(&self.clients).into_iter().map(|name| (stem(&name), name)).collect()
    }
}

/// Issues what `plan` says at the time `now`, and tells what was written, in the order of use:
/// authority, servers, client.
///
/// A private key is never readable by others, not even for a moment, and each file appears whole:
/// it is written under a temporary name that only its owner may read, then renamed.
///
/// # Errors
/// When the plan is out of bounds, when files are in the way (none is touched then, and all are
/// named), or when the folder cannot be written.
pub fn issue(plan: &Plan, now: SystemTime) -> Result<Vec<Written>, PkiError> {
    let kinds = distinct(&plan.keys);
    let hosts = distinct(&[Host::loopback(), plan.hosts.clone()].concat());
    refuse_out_of_bounds(plan, &kinds, &hosts)?;
    let names = file_names(plan);
    if !plan.force {
        refuse_existing(&plan.out, &names)?;
    }
    let drafts = draft(plan, &kinds, &hosts, now)?;
    write_all(&plan.out, &drafts, plan.force)
}

fn refuse_out_of_bounds(plan: &Plan, kinds: &[KeyKind], hosts: &[Host]) -> Result<(), PkiError> {
    if plan.has_servers() && kinds.is_empty() {
        return Err(PkiError::NoKeyKind);
    }
    if HOSTS_MAX < hosts.len() {
        return Err(PkiError::HostCount { count: hosts.len() });
    }
    if CLIENTS_MAX < plan.clients.len() {
        return Err(PkiError::ClientCount { count: plan.clients.len() });
    }
    if plan.password.is_some() && plan.key_form != KeyForm::Pkcs8 {
        return Err(PkiError::FormWithPassword { form: plan.key_form });
    }
    if plan.has_servers()
        && let Some(&kind) = kinds.iter().find(|kind| !plan.key_form.suits(**kind))
    {
        return Err(PkiError::NoSuchForm { kind, form: plan.key_form });
    }
    let clients = plan.client_files();
    for (index, (stem, name)) in clients.iter().enumerate() {
        // File systems may take names that differ in case alone for the same.
        let same = |(other, _): &&(String, ClientName)| other.eq_ignore_ascii_case(stem);
        if let Some((_, first)) = clients[..index].iter().find(same) {
            let (first, second) = (first.to_string(), name.to_string());
            return Err(PkiError::SameClientFile { first, second });
        }
    }
    Ok(())
}

/// Files in the plan's folder that bear a name of ours and that the plan does not write: once a new
/// authority was made, they belong to another. Clients with names of their own are not looked for.
pub fn leftovers(plan: &Plan) -> Vec<PathBuf> {
    if matches!(plan.signed_by, SignedBy::Given(_) | SignedBy::IntermediateOf(_)) {
        return Vec::new();
    }
    let ours = file_names(plan);
    let servers = KeyKind::ALL.map(server_stem);
    let every = ["ca", "intermediate"].map(str::to_owned).into_iter().chain(servers);
    let every = every.chain(["client".to_owned()]).flat_map(|stem| pair_names(&stem));
    let others = every.filter(|name| !ours.contains(name));
    others.map(|name| plan.out.join(name)).filter(|file| exists(file)).collect()
}

fn draft(
    plan: &Plan,
    kinds: &[KeyKind],
    hosts: &[Host],
    now: SystemTime,
) -> Result<Vec<Draft>, PkiError> {
    let mut drafts = Vec::new();
    let Some(authority) = authority(plan, now, &mut drafts)? else {
        let validity = Validity::lasting(now, plan.life)?;
        for &kind in kinds {
            let what = format!("self-signed server certificate, {kind}, until {validity}");
            let issued = self_signed(hosts, kind, validity)?;
            drafts.extend(pair(plan, &server_stem(kind), kind, &issued, what)?);
        }
        return Ok(drafts);
    };
    let validity = authority.validity();
    if plan.has_servers() {
        for &kind in kinds {
            let what = format!("server certificate, {kind}, until {validity}");
            let issued = authority.server(hosts, kind)?;
            drafts.extend(pair(plan, &server_stem(kind), kind, &issued, what)?);
        }
    }
    let kind = plan.client_key;
    for (stem, name) in plan.client_files() {
        let of = if plan.clients.is_empty() { String::new() } else { format!(" of {name}") };
        let what = format!("client certificate{of}, {kind}, until {validity}");
        let issued = authority.client_named(&name, kind)?;
        drafts.extend(pair(plan, &stem, kind, &issued, what)?);
    }
    Ok(drafts)
}

/// Who signs, `None` for each by itself; what of it is new is added to `drafts`.
fn authority(
    plan: &Plan,
    now: SystemTime,
    drafts: &mut Vec<Draft>,
) -> Result<Option<Authority>, PkiError> {
    let top = match &plan.signed_by {
        SignedBy::Itself => return Ok(None),
        SignedBy::Given(given) | SignedBy::IntermediateOf(given) => {
            Authority::existing(given, now, plan.life)?
        }
        SignedBy::Root | SignedBy::Intermediate => {
            let validity = Validity::lasting(now, plan.life)?;
            let root = Authority::root(ROOT_NAME, plan.ca_key, validity)?;
            let what = format!("certificate authority, {}, until {validity}", plan.ca_key);
            drafts.extend(pair(plan, "ca", plan.ca_key, &issued(&root), what)?);
            root
        }
    };
    if matches!(plan.signed_by, SignedBy::Root | SignedBy::Given(_)) {
        return Ok(Some(top));
    }
    let validity = top.validity();
    let middle = top.intermediate_of(plan.ca_key, validity, None)?;
    let what = format!("intermediate authority, {}, until {validity}", plan.ca_key);
    drafts.extend(pair(plan, "intermediate", plan.ca_key, &issued(&middle), what)?);
    Ok(Some(middle))
}

/// An authority's own certificate and key.
fn issued(authority: &Authority) -> Issued {
    Issued { cert_pem: authority.cert_pem(), key_pem: authority.key_pem() }
}

fn pair(
    plan: &Plan,
    stem: &str,
    kind: KeyKind,
    issued: &Issued,
    what: String,
) -> Result<[Draft; 2], PkiError> {
    let [cert, key] = pair_names(stem);
    let key_pem = match &plan.password {
        Some(password) => form::encrypted(&issued.key_pem, password.bytes())?,
        None => plan.key_form.or_pkcs8(kind).written(kind, &issued.key_pem)?,
    };
    let under = if plan.password.is_some() { ", encrypted" } else { "" };
    let of_key = format!("private key of {cert}{under}");
    let cert = Draft { name: cert, bytes: issued.cert_pem.clone().into(), mode: CERT_MODE, what };
    Ok([cert, Draft { name: key, bytes: key_pem.into(), mode: KEY_MODE, what: of_key }])
}

fn file_names(plan: &Plan) -> Vec<String> {
    let mut stems = Vec::new();
    if matches!(plan.signed_by, SignedBy::Root | SignedBy::Intermediate) {
        stems.push("ca".to_owned());
    }
    if matches!(plan.signed_by, SignedBy::Intermediate | SignedBy::IntermediateOf(_)) {
        stems.push("intermediate".to_owned());
    }
    if plan.has_servers() {
        stems.extend(distinct(&plan.keys).into_iter().map(server_stem));
    }
    stems.extend(plan.client_files().into_iter().map(|(stem, _)| stem));
    stems.iter().flat_map(|stem| pair_names(stem)).collect()
}

fn pair_names(stem: &str) -> [String; 2] {
    [format!("{stem}.pem"), format!("{stem}.key")]
}

fn server_stem(kind: KeyKind) -> String {
    format!("server-{}", kind.name())
}

fn distinct<T: Clone + PartialEq>(items: &[T]) -> Vec<T> {
    let mut kept = Vec::with_capacity(items.len());
    for item in items {
        if !kept.contains(item) {
            kept.push(item.clone());
        }
    }
    kept
}
