//! The part of Thrift's compact protocol that Parquet's footers and page headers are written in.
//!
//! Protocol: <https://github.com/apache/thrift/blob/master/doc/specs/thrift-compact-protocol.md>.
//! Only walks: it allocates nothing, recurses no deeper than [`DEPTH_MAX`] and takes no length on
//! trust. What is wanted of a structure is picked out by the caller, field by field.

/// How deep structures, lists and maps may nest. Parquet's own nest six deep.
const DEPTH_MAX: usize = 32;

pub(super) const I32: u8 = 5;
pub(super) const BINARY: u8 = 8;
pub(super) const LIST: u8 = 9;
pub(super) const STRUCT: u8 = 12;
const TRUE: u8 = 1;
const FALSE: u8 = 2;

/// Why bytes are not what they should be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ThriftError {
    /// They end too early: more bytes may help.
    Short,
    Malformed,
}

/// A position in bytes that hold compact Thrift.
#[derive(Debug, Clone)]
pub(super) struct Compact<'a> {
    bytes: &'a [u8],
    position: usize,
}

/// A field of a structure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FieldHead {
    pub(super) id: i64,
    pub(super) kind: u8,
}

impl<'a> Compact<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, position: 0 }
    }

    /// Bytes walked over so far.
    pub(super) fn position(&self) -> usize {
        self.position
    }

    /// Walks over the fields of a structure: `field` either takes a field's value and answers
    /// `true`, or leaves it alone and answers `false`.
    pub(super) fn structure<E: From<ThriftError>>(
        &mut self,
        mut field: impl FnMut(FieldHead, &mut Self) -> Result<bool, E>,
    ) -> Result<(), E> {
        let mut last = 0;
        while let Some(head) = self.field(last)? {
            last = head.id;
            if !field(head, self)? {
                self.skip(head.kind, 0)?;
            }
        }
        Ok(())
    }

    /// Element kind and count of a list; the rest can hold that many elements.
    pub(super) fn list(&mut self) -> Result<(u8, usize), ThriftError> {
        let head = self.byte()?;
        let short = usize::from(head >> 4);
        let count = if short == 15 { self.varint()? } else { short as u64 };
        let count = usize::try_from(count).map_err(|_| ThriftError::Malformed)?;
        if count > self.bytes.len() - self.position {
            return Err(ThriftError::Short);
        }
        Ok((head & 0x0F, count))
    }

    pub(super) fn i64(&mut self) -> Result<i64, ThriftError> {
        let value = self.varint()?;
        Ok((value >> 1) as i64 ^ -((value & 1) as i64))
    }

    pub(super) fn i32(&mut self) -> Result<i32, ThriftError> {
        i32::try_from(self.i64()?).map_err(|_| ThriftError::Malformed)
    }

    pub(super) fn binary(&mut self) -> Result<&'a [u8], ThriftError> {
        let length = usize::try_from(self.varint()?).map_err(|_| ThriftError::Malformed)?;
        let end = self.position.checked_add(length).ok_or(ThriftError::Malformed)?;
        let value = self.bytes.get(self.position..end).ok_or(ThriftError::Short)?;
        self.position = end;
        Ok(value)
    }

    /// The value that a Boolean field's kind holds.
    pub(super) fn boolean(head: FieldHead) -> Option<bool> {
        match head.kind {
            TRUE => Some(true),
            FALSE => Some(false),
            _ => None,
        }
    }

    fn field(&mut self, last: i64) -> Result<Option<FieldHead>, ThriftError> {
        let head = self.byte()?;
        let kind = head & 0x0F;
        if kind == 0 {
            return Ok(None);
        }
        let delta = i64::from(head >> 4);
        let id = if delta == 0 { self.i64()? } else { last.saturating_add(delta) };
        Ok(Some(FieldHead { id, kind }))
    }

    fn skip(&mut self, kind: u8, depth: usize) -> Result<(), ThriftError> {
        if depth > DEPTH_MAX {
            return Err(ThriftError::Malformed);
        }
        match kind {
            TRUE | FALSE => {}
            3 => drop(self.byte()?),
            4..=6 => drop(self.varint()?),
            7 => self.advance(8)?,
            BINARY => drop(self.binary()?),
            LIST | 10 => {
                let (element, count) = self.list()?;
                for _ in 0..count {
                    self.skip_element(element, depth)?;
                }
            }
            11 => self.skip_map(depth)?,
            STRUCT => {
                let mut last = 0;
                while let Some(head) = self.field(last)? {
                    last = head.id;
                    self.skip(head.kind, depth + 1)?;
                }
            }
            13 => self.advance(16)?,
            _ => return Err(ThriftError::Malformed),
        }
        Ok(())
    }

    /// Unlike a field's, a Boolean element has a byte of its own.
    fn skip_element(&mut self, kind: u8, depth: usize) -> Result<(), ThriftError> {
        match kind {
            TRUE | FALSE => self.advance(1),
            other => self.skip(other, depth + 1),
        }
    }

    fn skip_map(&mut self, depth: usize) -> Result<(), ThriftError> {
        let count = self.varint()?;
        if count == 0 {
            return Ok(());
        }
        let kinds = self.byte()?;
        for _ in 0..count {
            self.skip_element(kinds >> 4, depth)?;
            self.skip_element(kinds & 0x0F, depth)?;
        }
        Ok(())
    }

    fn advance(&mut self, bytes: usize) -> Result<(), ThriftError> {
        if bytes > self.bytes.len() - self.position {
            return Err(ThriftError::Short);
        }
        self.position += bytes;
        Ok(())
    }

    fn byte(&mut self) -> Result<u8, ThriftError> {
        let byte = *self.bytes.get(self.position).ok_or(ThriftError::Short)?;
        self.position += 1;
        Ok(byte)
    }

    fn varint(&mut self) -> Result<u64, ThriftError> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7F) << shift;
            if byte & 0x80 == 0 {
                return Ok(value);
            }
        }
        Err(ThriftError::Malformed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Walks a structure and gives the fields that it found.
    fn fields(bytes: &[u8]) -> Result<Vec<(i64, u8)>, ThriftError> {
        let mut found = Vec::new();
        Compact::new(bytes).structure(|head, _| {
            found.push((head.id, head.kind));
            Ok::<_, ThriftError>(false)
        })?;
        Ok(found)
    }

    #[test]
    fn fields_of_every_kind_are_walked_over() {
        let bytes = [
            0x11, 0x12, 0x13, 7, 0x15, 0x80, 1, 0x18, 2, b'h', b'i', // 1: true … 5: "hi"
            0x19, 0x25, 2, 4, 0x1C, 0x15, 2, 0, 0x1B,
            0, // 6: list, 7: structure, 8: empty map
            0x17, 0, 0, 0, 0, 0, 0, 0, 0, 0, // 9: a double
        ];
        let expected = [(1, 1), (2, 2), (3, 3), (4, 5), (5, 8), (6, 9), (7, 12), (8, 11), (9, 7)];
        assert_eq!(fields(&bytes).unwrap(), expected);
    }

    #[test]
    fn every_cut_is_short() {
        let bytes = [0x15, 0x80, 1, 0x18, 2, b'h', b'i', 0x19, 0x25, 2, 4, 0];
        assert!(fields(&bytes).is_ok());
        for end in 0..bytes.len() {
            assert_eq!(fields(&bytes[..end]), Err(ThriftError::Short), "{end}");
        }
    }

    #[test]
    fn forged_counts_and_depths_are_refused() {
        // A list of 2^31 elements in a few bytes; a binary of 2^40; a varint without an end.
        assert_eq!(fields(&[0x19, 0xF5, 0xFF, 0xFF, 0xFF, 0xFF, 7, 0]), Err(ThriftError::Short));
        assert_eq!(fields(&[0x18, 0x80, 0x80, 0x80, 0x80, 0x80, 1, 0]), Err(ThriftError::Short));
        assert_eq!(fields(&[[0x15].as_slice(), &[0xFF; 20]].concat()), Err(ThriftError::Malformed));
        // A hundred thousand structures within each other.
        assert_eq!(fields(&[0x1C; 100_000]), Err(ThriftError::Malformed));
        // A list of a million Booleans costs a million bytes.
        assert_eq!(fields(&[0x19, 0xF1, 0xC0, 0x84, 0x3D, 0]), Err(ThriftError::Short));
    }
}
