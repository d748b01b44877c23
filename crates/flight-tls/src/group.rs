//! Key exchange groups: which are offered, in which order, by which name.

use std::fmt;
use std::str::FromStr;

use rustls::NamedGroup;

use crate::engine::Engine;
use crate::error::TlsError;

/// A key exchange group. [`FromStr`] takes the name of IANA in any case, and `P-256` and `P-384`;
/// [`Display`](fmt::Display) gives IANA's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Group {
    /// X25519 with ML-KEM-768 (draft-ietf-tls-ecdhe-mlkem): protects against a recording that a
    /// quantum computer opens later; both ends pay about 1.2 KB in the handshake for it.
    X25519MlKem768,
    X25519,
    /// NIST P-256.
    Secp256r1,
    /// NIST P-384.
    Secp384r1,
}

impl Group {
    pub const ALL: [Self; 4] =
        [Self::X25519MlKem768, Self::X25519, Self::Secp256r1, Self::Secp384r1];

    /// IANA's name.
    pub fn name(self) -> &'static str {
        match self {
            Self::X25519MlKem768 => "X25519MLKEM768",
            Self::X25519 => "X25519",
            Self::Secp256r1 => "secp256r1",
            Self::Secp384r1 => "secp384r1",
        }
    }

    pub(crate) fn id(self) -> NamedGroup {
        match self {
            Self::X25519MlKem768 => NamedGroup::X25519MLKEM768,
            Self::X25519 => NamedGroup::X25519,
            Self::Secp256r1 => NamedGroup::secp256r1,
            Self::Secp384r1 => NamedGroup::secp384r1,
        }
    }

    fn other_name(self) -> &'static str {
        match self {
            Self::Secp256r1 => "P-256",
            Self::Secp384r1 => "P-384",
            other => other.name(),
        }
    }
}

/// The groups of `chosen` in that order, or all that `engine` has when there are none.
///
/// # Errors
/// When the engine lacks one that was chosen.
pub(crate) fn offered(
    engine: Engine,
    chosen: &[Group],
    has: impl Fn(Group) -> bool,
) -> Result<Vec<Group>, TlsError> {
    if chosen.is_empty() {
        return Ok(Group::ALL.into_iter().filter(|group| has(*group)).collect());
    }
    match chosen.iter().find(|group| !has(**group)) {
        Some(group) => Err(TlsError::GroupOfEngine { group: *group, engine }),
        None => Ok(chosen.to_vec()),
    }
}

impl FromStr for Group {
    type Err = TlsError;

    fn from_str(name: &str) -> Result<Self, TlsError> {
        let is_meant = |group: &Self| {
            [group.name(), group.other_name()].iter().any(|known| known.eq_ignore_ascii_case(name))
        };
        let known = Self::ALL.into_iter().find(is_meant);
        known.ok_or_else(|| TlsError::UnknownGroup { name: name.to_owned() })
    }
}

impl fmt::Display for Group {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_group_is_known_by_its_names_in_any_case() {
        for (name, group) in [
            ("x25519mlkem768", Group::X25519MlKem768),
            ("X25519", Group::X25519),
            ("p-256", Group::Secp256r1),
            ("secp384r1", Group::Secp384r1),
        ] {
            assert_eq!(name.parse::<Group>().unwrap(), group);
            assert_eq!(group.name().parse::<Group>().unwrap(), group);
        }
        let error = "ffdhe2048".parse::<Group>().unwrap_err().to_string();
        assert_eq!(
            error,
            "unknown key exchange group 'ffdhe2048'; the known ones are X25519MLKEM768, X25519, \
             secp256r1, secp384r1"
        );
    }

    #[test]
    fn a_chosen_group_is_offered_or_refused_and_never_left_out() {
        let old = |group| group != Group::X25519MlKem768;
        assert_eq!(offered(Engine::Ring, &[], old).unwrap(), Group::ALL[1..]);
        let chosen = [Group::Secp384r1, Group::X25519];
        assert_eq!(offered(Engine::Ring, &chosen, old).unwrap(), chosen);
        let error = offered(Engine::Ring, &Group::ALL, old).unwrap_err().to_string();
        assert_eq!(
            error,
            "the TLS engine ring has no key exchange X25519MLKEM768; leave it out of --tls-groups, \
             or choose another --tls-engine"
        );
    }
}
