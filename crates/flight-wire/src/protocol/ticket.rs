//! The ticket that names a stream: opaque to clients, a fixed head and a bounded tail.
//!
//! ```text
//! offset  bytes  little-endian
//!      0      4  "FTK1"
//!      4      1  compression (0 none, 1 lz4, 2 zstd)
//!      5      1  checksum (0 none, 1 xxh3)
//!      6      2  length of the name
//!      8     16  version of the dataset
//!     24      8  first row
//!     32      8  rows
//!     40      8  bytes of a message at most, 0 = default
//!     48      4  rows of a message at most, 0 = any
//!     52      4  number of columns, u32::MAX = all
//!     56      …  name (UTF-8, components joined by '/'), then columns (u32 each)
//! ```

use std::collections::HashSet;

use super::{ChecksumKind, ProtocolError, WireCompression};
use crate::limits::{COMMAND_BYTES_MAX, SEND_MESSAGE_BYTES_MAX, SEND_MESSAGE_BYTES_MIN};

const MAGIC: &[u8; 4] = b"FTK1";
const ALL_COLUMNS: u32 = u32::MAX;

/// A range of rows of one version of a dataset, and how to send it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ticket {
    /// Components joined by `/`.
    pub dataset: String,
    pub version: [u8; 16],
    pub first_row: u64,
    pub rows: u64,
    pub columns: Option<Vec<u32>>,
    pub message_bytes_max: Option<u64>,
    pub batch_rows_max: Option<u32>,
    pub compression: WireCompression,
    pub checksum: Option<ChecksumKind>,
}

impl Ticket {
    /// Whether `bytes` claim to be one of these tickets.
    pub fn is_ours(bytes: &[u8]) -> bool {
        bytes.starts_with(MAGIC)
    }

    /// # Panics
    ///
    /// When the name is longer than 65 535 bytes; names are checked long before.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(64 + self.dataset.len());
        out.extend_from_slice(MAGIC);
        out.extend_from_slice(&self.forms());
        let name = u16::try_from(self.dataset.len()).expect("names are at most 65 535 bytes");
        out.extend_from_slice(&name.to_le_bytes());
        out.extend_from_slice(&self.version);
        out.extend_from_slice(&self.first_row.to_le_bytes());
        out.extend_from_slice(&self.rows.to_le_bytes());
        out.extend_from_slice(&self.numbers());
        out.extend_from_slice(self.dataset.as_bytes());
        self.write_columns(&mut out);
        out
    }

    /// All of a dataset, as it is.
    pub fn whole(dataset: String, version: [u8; 16]) -> Self {
        Self {
            dataset,
            version,
            first_row: 0,
            rows: u64::MAX,
            columns: None,
            message_bytes_max: None,
            batch_rows_max: None,
            compression: WireCompression::None,
            checksum: None,
        }
    }

    /// How the rows are sent, and not which they are: the tail of a signed ticket.
    ///
    /// ```text
    /// compression 1 | checksum 1 | bytes of a message 8 | rows of a message 4 | columns 4 | columns
    /// ```
    pub fn encode_sending(&self) -> Vec<u8> {
        let mut out = [&self.forms()[..], &self.numbers()].concat();
        self.write_columns(&mut out);
        out
    }

    /// This ticket, sent as [`encode_sending`](Self::encode_sending) wrote it.
    ///
    /// # Errors
    ///
    /// Whatever that did not write; the reason is not told.
    pub fn with_sending(self, tail: &[u8]) -> Result<Self, ProtocolError> {
        self.sent_by(&mut Rest(tail)).ok_or(ProtocolError::Ticket)
    }

    fn sent_by(self, tail: &mut Rest<'_>) -> Option<Self> {
        let (compression, checksum) = tail.forms()?;
        let (message_bytes_max, batch_rows_max, columns) = tail.numbers()?;
        let columns = tail.columns(columns)?;
        Some(Self { columns, message_bytes_max, batch_rows_max, compression, checksum, ..self })
    }

    /// Compression and checksum.
    fn forms(&self) -> [u8; 2] {
        let compression = match self.compression {
            WireCompression::None => 0,
            WireCompression::Lz4 => 1,
            WireCompression::Zstd => 2,
        };
        [compression, u8::from(self.checksum.is_some())]
    }

    /// Limits of a message and the number of columns.
    fn numbers(&self) -> [u8; 16] {
        let mut out = [0; 16];
        out[..8].copy_from_slice(&self.message_bytes_max.unwrap_or(0).to_le_bytes());
        out[8..12].copy_from_slice(&self.batch_rows_max.unwrap_or(0).to_le_bytes());
        let columns = self.columns.as_ref().map_or(ALL_COLUMNS, |c| c.len() as u32);
        out[12..].copy_from_slice(&columns.to_le_bytes());
        out
    }

    fn write_columns(&self, out: &mut Vec<u8>) {
        for column in self.columns.iter().flatten() {
            out.extend_from_slice(&column.to_le_bytes());
        }
    }

    /// # Errors
    ///
    /// Whatever [`encode`](Self::encode) did not write; the reason is not told.
    pub fn parse(bytes: &[u8]) -> Result<Self, ProtocolError> {
        if bytes.len() > COMMAND_BYTES_MAX {
            return Err(ProtocolError::TooLong { bytes: bytes.len(), max: COMMAND_BYTES_MAX });
        }
        let mut rest = Rest(bytes);
        rest.parse().ok_or(ProtocolError::Ticket)
    }
}

/// What is left to parse.
struct Rest<'a>(&'a [u8]);

impl<'a> Rest<'a> {
    fn parse(&mut self) -> Option<Ticket> {
        if self.array::<4>()? != *MAGIC {
            return None;
        }
        let (compression, checksum) = self.forms()?;
        let name_bytes = usize::from(u16::from_le_bytes(self.array()?));
        let version = self.array()?;
        let first_row = u64::from_le_bytes(self.array()?);
        let rows = u64::from_le_bytes(self.array()?);
        let (message_bytes_max, batch_rows_max, columns) = self.numbers()?;
        let dataset = std::str::from_utf8(self.bytes(name_bytes)?).ok()?.to_owned();
        let columns = self.columns(columns)?;
        first_row.checked_add(rows)?;
        Some(Ticket {
            dataset,
            version,
            first_row,
            rows,
            columns,
            message_bytes_max,
            batch_rows_max,
            compression,
            checksum,
        })
    }

    fn forms(&mut self) -> Option<(WireCompression, Option<ChecksumKind>)> {
        let [compression, checksum] = self.array()?;
        let compression = match compression {
            0 => WireCompression::None,
            1 => WireCompression::Lz4,
            2 => WireCompression::Zstd,
            _ => return None,
        };
        match checksum {
            0 => Some((compression, None)),
            1 => Some((compression, Some(ChecksumKind::Xxh3))),
            _ => None,
        }
    }

    /// Limits of a message and the number of columns.
    fn numbers(&mut self) -> Option<(Option<u64>, Option<u32>, u32)> {
        let message_bytes = Some(u64::from_le_bytes(self.array()?)).filter(|bytes| *bytes > 0);
        let batch_rows = Some(u32::from_le_bytes(self.array()?)).filter(|rows| *rows > 0);
        let bounds = SEND_MESSAGE_BYTES_MIN as u64..=SEND_MESSAGE_BYTES_MAX as u64;
        if message_bytes.is_some_and(|bytes| !bounds.contains(&bytes)) {
            return None;
        }
        Some((message_bytes, batch_rows, u32::from_le_bytes(self.array()?)))
    }

    fn bytes(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(taken)
    }

    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        self.bytes(N)?.try_into().ok()
    }

    /// The last part: it must be all that is left. `None` within stands for all columns.
    fn columns(&mut self, count: u32) -> Option<Option<Vec<u32>>> {
        if count == ALL_COLUMNS {
            return self.0.is_empty().then_some(None);
        }
        if u64::from(count) * 4 != self.0.len() as u64 {
            return None;
        }
        // Each once, as GetFlightInfo gives them: a column named ten thousand times would cost as
        // much as ten thousand columns.
        let mut seen = HashSet::new();
        (0..count)
            .map(|_| Some(u32::from_le_bytes(self.array()?)).filter(|column| seen.insert(*column)))
            .collect::<Option<_>>()
            .map(Some)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ticket() -> Ticket {
        Ticket {
            dataset: "a/späte Daten".into(),
            version: *b"0123456789abcdef",
            first_row: 7,
            rows: 1 << 40,
            columns: Some(vec![2, 0, 1]),
            message_bytes_max: Some(5 << 20),
            batch_rows_max: Some(4096),
            compression: WireCompression::Zstd,
            checksum: Some(ChecksumKind::Xxh3),
        }
    }

    #[test]
    fn a_ticket_reads_back_as_it_was_written() {
        let plain = Ticket {
            columns: None,
            message_bytes_max: None,
            batch_rows_max: None,
            checksum: None,
            compression: WireCompression::None,
            ..ticket()
        };
        let none = Ticket { columns: Some(vec![]), ..ticket() };
        for ticket in [ticket(), plain, none] {
            assert_eq!(Ticket::parse(&ticket.encode()), Ok(ticket.clone()));
            let Ticket { first_row, rows, .. } = ticket;
            let whole = Ticket::whole(ticket.dataset.clone(), ticket.version);
            let part = Ticket { first_row, rows, ..whole };
            assert_eq!(part.with_sending(&ticket.encode_sending()), Ok(ticket));
        }
    }

    #[test]
    fn a_ticket_cut_or_extended_anywhere_is_refused() {
        let bytes = ticket().encode();
        for end in 0..bytes.len() {
            assert_eq!(Ticket::parse(&bytes[..end]), Err(ProtocolError::Ticket), "cut at {end}");
        }
        assert_eq!(Ticket::parse(&[&bytes[..], &[0]].concat()), Err(ProtocolError::Ticket));
        let tail = ticket().encode_sending();
        let whole = || Ticket::whole("d".into(), [0; 16]);
        for end in 0..tail.len() {
            assert!(whole().with_sending(&tail[..end]).is_err(), "cut at {end}");
        }
        assert!(whole().with_sending(&[&tail[..], &[0]].concat()).is_err());
    }

    #[test]
    fn a_ticket_asks_for_no_more_than_get_flight_info_gives() {
        let twice = Ticket { columns: Some(vec![3, 1, 3]), ..ticket() };
        assert_eq!(Ticket::parse(&twice.encode()), Err(ProtocolError::Ticket));
        for bytes in [1, 1 << 10, 65 << 20] {
            let odd = Ticket { message_bytes_max: Some(bytes), ..ticket() };
            assert_eq!(Ticket::parse(&odd.encode()), Err(ProtocolError::Ticket), "{bytes}");
        }
    }

    #[test]
    fn rows_beyond_counting_are_refused() {
        let endless = Ticket { first_row: 2, rows: u64::MAX - 1, ..ticket() };
        assert_eq!(Ticket::parse(&endless.encode()), Err(ProtocolError::Ticket));
    }
}
