//! What the safe bindings of OpenSSL leave to their caller, or leave out.

#![allow(unsafe_code)]

use std::ptr;

use foreign_types::ForeignTypeRef;
use openssl::error::ErrorStack;
use openssl::ssl::{Ssl, SslRef, SslSession};
use openssl::x509::X509CrlRef;
use openssl::x509::store::X509StoreBuilderRef;

use crate::group::Group;

/// ssl.h; bindings lack it and its macro `SSL_get_negotiated_group`.
const SSL_CTRL_GET_NEGOTIATED_GROUP: i32 = 134;
/// A group that has no identifier of OpenSSL's own is told as its number of IANA's beyond this.
const NUMBERS_OF_IANA: i64 = 0x0100_0000;

/// Offers `session` to the server. It must come from the context of `ssl`: each context has its own
/// [`Sessions`](super::sessions::Sessions), which its callback alone fills.
pub(super) fn resume(ssl: &mut Ssl, session: &SslSession) -> Result<(), ErrorStack> {
    // SAFETY: the session is of this context, as said above.
    unsafe { ssl.set_session(session) }
}

/// The key exchange that was negotiated (OpenSSL 3 and later).
pub(super) fn group(ssl: &SslRef) -> Option<Group> {
    // SAFETY: the pointer is that of a live connection, and this control reads and takes nothing.
    let told = unsafe {
        openssl_sys::SSL_ctrl(ssl.as_ptr(), SSL_CTRL_GET_NEGOTIATED_GROUP, 0, ptr::null_mut())
    };
    Group::ALL.into_iter().find(|group| {
        let by_iana = i64::from(u16::from(group.id())) | NUMBERS_OF_IANA;
        told == by_iana || nid(*group) == Some(told)
    })
}

/// Whether the peer has said that it closes. An end without that is told as an end by the bindings.
pub(super) fn peer_has_closed(ssl: &SslRef) -> bool {
    // SAFETY: the pointer is that of a live connection.
    let shutdown = unsafe { openssl_sys::SSL_get_shutdown(ssl.as_ptr()) };
    shutdown & openssl_sys::SSL_RECEIVED_SHUTDOWN != 0
}

unsafe extern "C" {
    /// x509_vfy.h of libcrypto; bindings lack it.
    fn X509_STORE_add_crl(
        store: *mut openssl_sys::X509_STORE,
        crl: *mut openssl_sys::X509_CRL,
    ) -> std::ffi::c_int;
}

/// Adds what an authority revoked to a store that is being made.
pub(super) fn add_revocation_list(
    store: &mut X509StoreBuilderRef,
    list: &X509CrlRef,
) -> Result<(), ErrorStack> {
    // SAFETY: both pointers are of live values, and the store takes a reference of its own.
    let added = unsafe { X509_STORE_add_crl(store.as_ptr(), list.as_ptr()) };
    if added == 1 { Ok(()) } else { Err(ErrorStack::get()) }
}

/// OpenSSL's own identifier (obj_mac.h).
fn nid(group: Group) -> Option<i64> {
    match group {
        Group::X25519MlKem768 => None,
        Group::X25519 => Some(1034),
        Group::Secp256r1 => Some(415),
        Group::Secp384r1 => Some(715),
    }
}
