//! Header blocks (HPACK, RFC 7541): ours written as literals, the peer's decoded.
//!
//! Neither end keeps a dynamic table: our settings forbid the peer's, and what we send is never
//! indexed, so that blocks stand alone.

use bytes::{BufMut, BytesMut};
use http::{HeaderMap, HeaderName, HeaderValue};
use loona_hpack::Decoder;

use super::frame::FrameError;
use crate::limits::{CONTINUATIONS_MAX, HEADER_LIST_BYTES};

/// What a header block of the peer says.
#[derive(Debug, Default)]
pub(crate) struct Fields {
    /// `:status`; absent in trailers.
    pub(crate) status: Option<u16>,
    pub(crate) headers: HeaderMap,
}

/// Decodes the header blocks of a connection.
pub(crate) struct HeaderDecoder(Decoder<'static>);

impl HeaderDecoder {
    pub(crate) fn new() -> Self {
        let mut decoder = Decoder::new();
        decoder.set_max_table_size(0);
        decoder.set_max_allowed_table_size(0);
        Self(decoder)
    }

    /// # Errors
    ///
    /// What is no header block of an answer, or decodes to more than [`HEADER_LIST_BYTES`].
    pub(crate) fn decode(&mut self, block: &[u8]) -> Result<Fields, FrameError> {
        let (mut fields, mut bytes, mut wrong) = (Fields::default(), 0, None);
        let decoded = self.0.decode_with_cb(block, |name, value| {
            // As RFC 7541, 4.1 counts: an entry that is named by one byte costs memory too.
            bytes += name.len() + value.len() + ENTRY_BYTES;
            if bytes <= HEADER_LIST_BYTES as usize
                && wrong.is_none()
                && let Err(why) = fields.add(&name, &value)
            {
                wrong = Some(why);
            }
        });
        if bytes > HEADER_LIST_BYTES as usize {
            let max = HEADER_LIST_BYTES as usize;
            return Err(FrameError::HeadersTooLarge { max, frames: CONTINUATIONS_MAX });
        }
        match (decoded, wrong) {
            (Err(error), _) => Err(FrameError::Headers { why: error.to_string() }),
            (Ok(()), Some(why)) => Err(FrameError::Headers { why: why.to_owned() }),
            (Ok(()), None) => Ok(fields),
        }
    }
}

const ENTRY_BYTES: usize = 32;

impl Fields {
    fn add(&mut self, name: &[u8], value: &[u8]) -> Result<(), &'static str> {
        if name == b":status" {
            let digits = std::str::from_utf8(value).ok().and_then(|text| text.parse().ok());
            let status = digits.filter(|code| (100..=999).contains(code));
            self.status = Some(status.ok_or("the status is no number of three digits")?);
            return Ok(());
        }
        let name = HeaderName::from_lowercase(name).map_err(|_| "a name is none of HTTP/2")?;
        let value = HeaderValue::from_bytes(value).map_err(|_| "a value holds control bytes")?;
        self.headers.try_append(name, value).map_err(|_| "there are too many")?;
        Ok(())
    }
}

/// Puts a request's header block, every field as a literal.
pub(crate) fn put_request(
    out: &mut BytesMut,
    scheme: &str,
    authority: &str,
    path: &str,
    headers: &HeaderMap,
) {
    put_literal(out, NOT_INDEXED, b":method", b"POST");
    put_literal(out, NOT_INDEXED, b":scheme", scheme.as_bytes());
    put_literal(out, NOT_INDEXED, b":authority", authority.as_bytes());
    put_literal(out, NOT_INDEXED, b":path", path.as_bytes());
    for (name, value) in headers {
        let form = if value.is_sensitive() { NEVER_INDEXED } else { NOT_INDEXED };
        put_literal(out, form, name.as_str().as_bytes(), value.as_bytes());
    }
}

// RFC 7541, 6.2.2 and 6.2.3: a literal whose name is no entry of a table.
const NOT_INDEXED: u8 = 0;
const NEVER_INDEXED: u8 = 0x10;

fn put_literal(out: &mut BytesMut, form: u8, name: &[u8], value: &[u8]) {
    out.put_u8(form);
    for text in [name, value] {
        put_length(out, text.len());
        out.put_slice(text);
    }
}

/// A length as an integer with a prefix of 7 bits (RFC 7541, 5.1); no Huffman code.
fn put_length(out: &mut BytesMut, length: usize) {
    const PREFIX_MAX: usize = 127;
    if length < PREFIX_MAX {
        out.put_u8(length as u8);
        return;
    }
    out.put_u8(PREFIX_MAX as u8);
    let mut rest = length - PREFIX_MAX;
    while rest >= 128 {
        out.put_u8(rest as u8 | 0x80);
        rest >>= 7;
    }
    out.put_u8(rest as u8);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decode(block: &[u8]) -> String {
        match HeaderDecoder::new().decode(block) {
            Ok(fields) => format!("{:?} {:?}", fields.status, fields.headers),
            Err(error) => error.to_string(),
        }
    }

    fn check(block: &[u8], want: &str) {
        let got = decode(block);
        assert!(got.contains(want), "{block:?}: {got}");
    }

    #[test]
    fn what_is_written_reads_back() {
        let mut headers = HeaderMap::new();
        let long = "v".repeat(20_000);
        headers.insert("short", HeaderValue::from_static("1"));
        headers.insert("long", HeaderValue::from_str(&long).unwrap());
        let mut secret = HeaderValue::from_static("bearer");
        secret.set_sensitive(true);
        headers.insert("authorization", secret);
        let mut block = BytesMut::new();
        put_request(&mut block, "http", "h:1", "/Do", &headers);
        let decoded = Decoder::new().decode(&block).unwrap();
        let want: Vec<(&[u8], &[u8])> = vec![
            (b":method", b"POST"),
            (b":scheme", b"http"),
            (b":authority", b"h:1"),
            (b":path", b"/Do"),
            (b"short", b"1"),
            (b"long", long.as_bytes()),
            (b"authorization", b"bearer"),
        ];
        let got: Vec<_> = decoded.iter().map(|(n, v)| (n.as_slice(), v.as_slice())).collect();
        assert_eq!(got, want);
        assert!(block.windows(1).any(|byte| byte == [NEVER_INDEXED]));
    }

    #[test]
    fn indexed_literal_and_huffman_fields_are_read() {
        // :status 200 from the static table; a literal; `302` in Huffman code (RFC 7541, C.6.1).
        check(&[0x88], "Some(200)");
        check(b"\x00\x01a\x01b", r#"{"a": "b"}"#);
        check(&[0x08, 0x82, 0x64, 0x02], "Some(302)");
    }

    #[test]
    fn a_field_for_the_dynamic_table_is_read_and_not_kept() {
        check(b"\x20\x40\x01a\x01b", r#"{"a": "b"}"#);
        check(b"\x40\x01a\x01b\xbe", "index out of bounds");
        check(&[0x3f, 0xe1, 0x1f, 0x88], "exceeds the maximum size");
    }

    #[test]
    fn what_is_no_header_block_is_refused() {
        check(&[0x80], "cannot be read");
        check(&[0x00, 0x05, b'a'], "cannot be read");
        check(&[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff], "cannot be read");
        check(b"\x00\x01A\x01b", "a name is none of HTTP/2");
        check(b"\x00\x01a\x01\x00", "control bytes");
        check(b"\x08\x03abc", "three digits");
    }

    #[test]
    fn a_short_block_that_stands_for_much_is_refused() {
        // accept-encoding: gzip, deflate; each byte stands for 60.
        check(&[0x90; 60_000], "more than 65536 bytes");
        check(&[0x90; 700], "gzip, deflate");
    }
}
