//! Certificates of X.509 version 1, which the library that issues the others cannot make: one of
//! version 3 with its extensions taken out, signed anew.

use pkcs8::Document;
use pkcs8::der::asn1::{AnyRef, BitStringRef};
use pkcs8::der::pem::LineEnding;
use pkcs8::der::{Decode, Encode, Tagged};
use rcgen::{KeyPair, SigningKey};

use crate::error::PkiError;

/// The first certificate of `pem` in version 1, signed by `signer`, which signed it before.
pub(crate) fn downgraded(pem: &str, signer: &KeyPair) -> Result<String, PkiError> {
    let (_, cert) = Document::from_pem(pem)?;
    let parts = Vec::<AnyRef<'_>>::from_der(cert.as_bytes())?;
    let [to_be_signed, algorithm, _] = parts[..] else {
        return Err(pkcs8::Error::ParametersMalformed.into());
    };
    let mut fields = Vec::<AnyRef<'_>>::from_der(&to_be_signed.to_der()?)
        .map(|fields| fields.iter().map(Encode::to_der).collect::<Result<Vec<_>, _>>())??;
    // The version and the extensions are the tagged ones; without a version it is 1 (RFC 5280, 4.1).
    fields
        .retain(|field| AnyRef::from_der(field).is_ok_and(|any| !any.tag().is_context_specific()));
    let fields: Vec<_> =
        fields.iter().map(|field| AnyRef::from_der(field)).collect::<Result<_, _>>()?;
    let to_be_signed = fields.to_der()?;
    let signature = signer.sign(&to_be_signed)?;
    let signature = BitStringRef::from_bytes(&signature)?.to_der()?;
    let whole = vec![AnyRef::from_der(&to_be_signed)?, algorithm, AnyRef::from_der(&signature)?];
    Ok(Document::try_from(whole.to_der()?)?.to_pem("CERTIFICATE", LineEnding::LF)?)
}
