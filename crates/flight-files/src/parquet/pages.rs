//! The pages of one column chunk, handed to the parquet crate's decoders once they are checked.
//!
//! Takes the place of that crate's `SerializedPageReader`, which unpacks without bound, sizes
//! buffers by claims, and takes every V2 page for the start of a row: a list that goes on over the
//! border of two such pages would be cut in two (apache/arrow-rs#10243).

use std::sync::Arc;

use bytes::Bytes;
use flight_wire::{BufferPool, PooledBuffer};
use parquet::basic::Encoding;
use parquet::column::page::{Page, PageMetadata, PageReader};
use parquet::errors::ParquetError;

use super::budget::{Budget, Refusal};
use super::codec::Unpacker;
use super::dictionaries::{Dictionaries, SharedDictionary};
use super::header::{self, DataV2, PageHeader, PageKind};
use super::levels::{Levels, levels_width};
use super::measure::{Column, Dictionary, Measure, measure};
use super::thrift::ThriftError;
use super::{Chunk, hybrid, int96};
use crate::access::FileAccess;
use crate::error::{FileError, within};
use crate::limits::PAGE_HEADER_BYTES_MAX;

/// Bytes read to find a page's header in; most are far shorter.
const HEADER_WINDOW_BYTES: u64 = 512;

pub(super) struct Pages {
    access: Arc<FileAccess>,
    budget: Arc<Budget>,
    /// Which leaf column this is, of the whole file.
    leaf: usize,
    column: Arc<Column>,
    unpacker: Unpacker,
    memory: BufferPool,
    page_bytes_max: u64,
    /// Of the next page's header, and the end of the chunk.
    position: u64,
    end: u64,
    next: Option<PageHeader>,
    /// With the bytes that it holds.
    dictionary: Option<(Arc<Dictionary>, u64)>,
    /// Those of all readers of this row group.
    dictionaries: Option<Arc<Dictionaries>>,
    first_data_page: bool,
}

impl Pages {
    pub(super) fn new(
        access: Arc<FileAccess>,
        budget: Arc<Budget>,
        leaf: usize,
        chunk: &Chunk,
        memory: BufferPool,
        dictionaries: Option<Arc<Dictionaries>>,
        page_bytes_max: u64,
    ) -> Result<Self, FileError> {
        Ok(Self {
            access,
            budget,
            leaf,
            unpacker: Unpacker::new(chunk.codec, &chunk.column.name)?,
            column: Arc::clone(&chunk.column),
            memory,
            page_bytes_max,
            position: chunk.range.start,
            end: chunk.range.end,
            next: None,
            dictionary: None,
            dictionaries,
            first_data_page: true,
        })
    }

    /// The next page's header, which stays the next one's.
    fn peek(&mut self) -> Result<Option<PageHeader>, FileError> {
        while self.next.is_none() && self.position < self.end {
            let header = self.read_header(self.position)?;
            match header.kind {
                PageKind::Index => self.position += self.page_bytes(&header),
                _ => self.next = Some(header),
            }
        }
        Ok(self.next.clone())
    }

    /// Reads and checks the header of the page at `position`.
    fn read_header(&self, position: u64) -> Result<PageHeader, FileError> {
        let left = self.end - position;
        let mut window = HEADER_WINDOW_BYTES;
        loop {
            let bytes = self.access.read(position, window.min(left))?;
            match header::parse(&bytes) {
                Ok(header) => {
                    self.check_header(&header, left)?;
                    return Ok(header);
                }
                Err(ThriftError::Short)
                    if window < left && window < PAGE_HEADER_BYTES_MAX as u64 =>
                {
                    window *= 8;
                }
                Err(_) => {
                    return Err(self.damaged("there is no page header where a page should begin"));
                }
            }
        }
    }

    fn check_header(&self, header: &PageHeader, left: u64) -> Result<(), FileError> {
        let claims = match &header.kind {
            PageKind::Data { values, .. } | PageKind::Dictionary { values, .. } => vec![*values],
            PageKind::DataV2(page) => {
                vec![
                    page.values,
                    page.nulls,
                    page.rows,
                    page.definition_bytes,
                    page.repetition_bytes,
                ]
            }
            PageKind::Index => vec![],
        };
        let sizes = [header.packed_bytes, header.unpacked_bytes];
        if sizes.iter().chain(&claims).any(|claim| *claim < 0) {
            return Err(self.damaged("a page header has a negative count or size"));
        }
        if header.header_bytes as u64 + header.packed_bytes as u64 > left {
            return Err(self.damaged("a page goes on beyond its column chunk"));
        }
        if let PageKind::DataV2(page) = &header.kind {
            let levels = i64::from(page.definition_bytes) + i64::from(page.repetition_bytes);
            let held = i64::from(header.packed_bytes.min(header.unpacked_bytes));
            let flat = self.column.repetition_max == 0;
            if levels > held || page.nulls > page.values || (flat && page.rows != page.values) {
                return Err(self.damaged("the counts in a page header contradict each other"));
            }
        }
        within("a Parquet page's bytes", header.unpacked_bytes as u64, self.page_bytes_max)
            .map_err(|error| error.in_column(&self.column.name))
    }

    fn page_bytes(&self, header: &PageHeader) -> u64 {
        header.header_bytes as u64 + header.packed_bytes as u64
    }

    /// Passes over the next page.
    fn take(&mut self) -> Result<Option<PageHeader>, FileError> {
        let header = self.peek()?;
        if let Some(header) = &header {
            self.position += self.page_bytes(header);
            self.next = None;
        }
        Ok(header)
    }

    fn next_page(&mut self) -> Result<Option<Page>, Refusal> {
        let Some(header) = self.take()? else { return Ok(None) };
        // The packed page is gone once it is unpacked, but both are held for a moment.
        self.budget.may_hold(header.packed_bytes as u64 + header.unpacked_bytes as u64)?;
        match header.kind {
            PageKind::Dictionary { values, encoding, sorted } => Ok(Some(Page::DictionaryPage {
                buf: self.dictionary_page(&header, values)?,
                num_values: values as u32,
                encoding,
                is_sorted: sorted,
            })),
            PageKind::Data { values, encoding, definition, repetition } => {
                let page = self.read_page(&header)?;
                let levels =
                    Levels::of_v1(&self.column, &page, values as u64, definition, repetition);
                let levels = levels.ok_or_else(|| self.damaged("a page's levels are cut off"))?;
                self.account(&page, &levels, encoding, values)?;
                Ok(Some(Page::DataPage {
                    buf: page,
                    num_values: values as u32,
                    encoding,
                    def_level_encoding: definition,
                    rep_level_encoding: repetition,
                    statistics: None,
                }))
            }
            PageKind::DataV2(ref v2) => {
                let page = self.read_page(&header)?;
                let levels = Levels::of_v2(&self.column, &page, v2);
                let levels = levels.ok_or_else(|| self.damaged("a page's levels are cut off"))?;
                self.account(&page, &levels, v2.encoding, v2.values)?;
                Ok(Some(v2.page(page)))
            }
            PageKind::Index => Ok(None), // `peek` passes over them.
        }
    }

    /// The dictionary, which other readers of the row group may have unpacked already.
    fn dictionary_page(&mut self, header: &PageHeader, values: i32) -> Result<Bytes, Refusal> {
        let shared = self.dictionaries.as_ref().and_then(|d| d.find(self.leaf, self.position));
        let shared = match shared {
            Some(shared) => shared,
            None => {
                let page = self.read_page(header)?;
                int96::check(&self.column, &page)?;
                let lengths = Arc::new(Dictionary::read(&self.column, &page, values as u64)?);
                let shared = SharedDictionary { end: self.position, page, lengths };
                if let Some(dictionaries) = &self.dictionaries {
                    dictionaries.keep(self.leaf, shared.clone());
                }
                shared
            }
        };
        // The page and the decoder's copy of it.
        let held = 2 * shared.page.len() as u64;
        self.budget.spend(self.leaf, held, Measure { total: 0, longest: 0 }, true)?;
        self.dictionary = Some((shared.lengths, held));
        Ok(shared.page)
    }

    /// The bytes of the page that was passed over last, unpacked.
    fn read_page(&mut self, header: &PageHeader) -> Result<Bytes, FileError> {
        let mut packed = self.memory(header.packed_bytes)?;
        let start = self.position - header.packed_bytes as u64;
        self.access.read_into(packed.as_mut_slice(), start)?;
        if header.crc.is_some_and(|crc| crc as u32 != crc32fast::hash(packed.as_ref())) {
            return Err(self.damaged("a page does not match its checksum"));
        }
        self.unpack(header, packed)
    }

    fn unpack(&mut self, header: &PageHeader, packed: PooledBuffer) -> Result<Bytes, FileError> {
        let (levels, compressed) = match &header.kind {
            PageKind::DataV2(page) => {
                ((page.definition_bytes + page.repetition_bytes) as usize, page.compressed)
            }
            _ => (0, true),
        };
        if self.unpacker.is_stored() || !compressed {
            if header.packed_bytes != header.unpacked_bytes {
                return Err(self.damaged("a page that is not compressed has two sizes"));
            }
            return Ok(Bytes::from_owner(packed));
        }
        let mut page = self.memory(header.unpacked_bytes)?;
        let (page_levels, values) = page.as_mut_slice().split_at_mut(levels);
        let (packed_levels, packed) = packed.as_ref().split_at(levels);
        page_levels.copy_from_slice(packed_levels);
        // A page without values may have nothing to unpack, not even an empty frame.
        if !values.is_empty() {
            let unpacked = self.unpacker.unpack(packed, values);
            unpacked.map_err(|error| error.in_column(&self.column.name))?;
        }
        Ok(Bytes::from_owner(page))
    }

    /// Memory for `bytes`, which were checked against the limit of a page.
    fn memory(&self, bytes: i32) -> Result<PooledBuffer, FileError> {
        let no_memory = || {
            let what = format!("there is no memory for a page of {bytes} bytes");
            FileError::invalid(what)
        };
        self.memory.take(bytes as usize).ok_or_else(no_memory)
    }

    /// Pays for a data page, and checks what only its bytes can tell.
    fn account(
        &mut self,
        page: &Bytes,
        levels: &Levels<'_>,
        encoding: Encoding,
        values: i32,
    ) -> Result<(), Refusal> {
        if std::mem::take(&mut self.first_data_page) && levels.first_repetition.unwrap_or(0) != 0 {
            return Err(self.damaged("its first row begins in the middle of a list").into());
        }
        if encoding == Encoding::PLAIN {
            int96::check(&self.column, levels.values)?;
        }
        let (dictionary, dictionary_bytes) =
            self.dictionary.as_ref().map_or((None, 0), |d| (Some(&*d.0), d.1));
        let values = values as u64;
        let mut measured = measure(&self.column, encoding, levels.values, values, dictionary)?;
        // Two levels of 16 bits each, in vectors that double.
        measured.total += values * 8;
        measured.longest += 8;
        let held = page.len() as u64 + dictionary_bytes;
        self.budget.spend(self.leaf, held, measured, self.column.repetition_max == 0)
    }

    /// Whether the page of this header begins a row. Only of V2 pages can that be told unpacked.
    fn begins_row(&self, header: &PageHeader, body: u64) -> Result<bool, FileError> {
        let PageKind::DataV2(page) = &header.kind else { return Ok(false) };
        let width = levels_width(self.column.repetition_max);
        // Enough for a run's head and its value.
        let levels = self.access.read(body, (page.repetition_bytes as u64).min(16))?;
        Ok(page.values == 0 || hybrid::first(&levels, width) == Some(0))
    }

    /// Whether the next page is the last or the one after it begins a row.
    fn ends_row(&self, header: &PageHeader) -> Result<bool, FileError> {
        let after = self.position + self.page_bytes(header);
        if after >= self.end {
            return Ok(true);
        }
        let next = self.read_header(after)?;
        self.begins_row(&next, after + next.header_bytes as u64)
    }

    /// Whether a page that will be skipped, and never decoded, has the rows that it claims.
    fn check_rows(&self, page: &DataV2, body: u64) -> Result<(), FileError> {
        if self.column.repetition_max == 0 {
            return Ok(());
        }
        let levels = self.access.read(body, page.repetition_bytes as u64)?;
        let width = levels_width(self.column.repetition_max);
        match hybrid::count(&levels, width, 0, page.values as u64) == page.rows as u64 {
            true => Ok(()),
            false => Err(self.damaged("a page has other rows than it claims")),
        }
    }

    fn peek_metadata(&mut self) -> Result<Option<PageMetadata>, FileError> {
        let Some(header) = self.peek()? else { return Ok(None) };
        let data = |num_rows: Option<usize>, values: i32| PageMetadata {
            num_rows,
            num_levels: Some(values as usize),
            is_dict: false,
        };
        Ok(Some(match &header.kind {
            PageKind::Data { values, .. } => data(None, *values),
            PageKind::DataV2(page) => {
                let body = self.position + header.header_bytes as u64;
                // Rows can only be skipped by the page where the page holds whole rows.
                let whole = self.column.repetition_max == 0
                    || (self.begins_row(&header, body)? && self.ends_row(&header)?);
                if whole {
                    self.check_rows(page, body)?;
                }
                data(whole.then_some(page.rows as usize), page.values)
            }
            PageKind::Dictionary { .. } | PageKind::Index => {
                PageMetadata { num_rows: None, num_levels: None, is_dict: true }
            }
        }))
    }

    fn damaged(&self, what: &str) -> FileError {
        self.column.damaged(what)
    }

    /// Keeps the reason where the scan finds it: the parquet crate would make a text of it.
    fn refuse(&self, refusal: Refusal) -> ParquetError {
        self.budget.refuse(refusal);
        ParquetError::General("refused".to_owned())
    }
}

impl PageReader for Pages {
    fn get_next_page(&mut self) -> Result<Option<Page>, ParquetError> {
        self.next_page().map_err(|refusal| self.refuse(refusal))
    }

    fn peek_next_page(&mut self) -> Result<Option<PageMetadata>, ParquetError> {
        self.peek_metadata().map_err(|error| self.refuse(error.into()))
    }

    fn skip_next_page(&mut self) -> Result<(), ParquetError> {
        match self.take() {
            Ok(header) => {
                let data = header.is_some_and(|h| !matches!(h.kind, PageKind::Dictionary { .. }));
                self.first_data_page &= !data;
                Ok(())
            }
            Err(error) => Err(self.refuse(error.into())),
        }
    }

    fn at_record_boundary(&mut self) -> Result<bool, ParquetError> {
        let boundary = self.peek().and_then(|next| match next {
            None => Ok(true),
            Some(header) => self.begins_row(&header, self.position + header.header_bytes as u64),
        });
        boundary.map_err(|error| self.refuse(error.into()))
    }
}

impl Iterator for Pages {
    type Item = Result<Page, ParquetError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.get_next_page().transpose()
    }
}
