//! Pages unpacked to exactly the size that their header claims, and not a byte more.
//!
//! The parquet crate has the same codecs but lets gzip, Brotli and framed LZ4 grow without bound.

use std::io::{ErrorKind, Read};

use parquet::basic::Compression;

use crate::error::FileError;

/// Unpacks the pages of one column chunk.
pub(super) enum Unpacker {
    Stored,
    Snappy(snap::raw::Decoder),
    Gzip,
    Brotli,
    Zstd(zstd::bulk::Decompressor<'static>),
    Lz4Raw,
    /// The deprecated codec LZ4: Hadoop's framing, or what other writers took it for.
    Lz4,
}

impl Unpacker {
    /// # Errors
    ///
    /// For a codec that has no decoder here; the error names it and `column`.
    pub(super) fn new(codec: Compression, column: &str) -> Result<Self, FileError> {
        Ok(match codec {
            Compression::UNCOMPRESSED => Self::Stored,
            Compression::SNAPPY => Self::Snappy(snap::raw::Decoder::new()),
            Compression::GZIP(_) => Self::Gzip,
            Compression::BROTLI(_) => Self::Brotli,
            Compression::ZSTD(_) => Self::Zstd(zstd::bulk::Decompressor::new()?),
            Compression::LZ4_RAW => Self::Lz4Raw,
            Compression::LZ4 => Self::Lz4,
            Compression::LZO => {
                return Err(FileError::column_not_supported(column, "codec LZO is not read"));
            }
        })
    }

    pub(super) fn is_stored(&self) -> bool {
        matches!(self, Self::Stored)
    }

    /// Unpacks `packed`, which has to hold as many bytes as `out`.
    pub(super) fn unpack(&mut self, packed: &[u8], out: &mut [u8]) -> Result<(), FileError> {
        let size = out.len();
        match self.fill(packed, out) {
            Some(unpacked) if unpacked == size => Ok(()),
            Some(unpacked) => Err(FileError::damaged(format!(
                "a page claims to unpack to {size} bytes and holds {unpacked} or more"
            ))),
            None => Err(FileError::damaged(format!("a page of {size} bytes cannot be unpacked"))),
        }
    }

    /// How many bytes `packed` holds, up to one more than `out` takes; `None` when it is not of this
    /// codec.
    fn fill(&mut self, packed: &[u8], out: &mut [u8]) -> Option<usize> {
        match self {
            Self::Stored => {
                out.get_mut(..packed.len())?.copy_from_slice(packed);
                Some(packed.len())
            }
            Self::Snappy(decoder) => {
                let size = snap::raw::decompress_len(packed).ok()?;
                if size == out.len() { decoder.decompress(packed, out).ok() } else { None }
            }
            Self::Gzip => read_to(flate2::read::MultiGzDecoder::new(packed), out),
            Self::Brotli => read_to(brotli::Decompressor::new(packed, 1 << 14), out),
            Self::Zstd(decoder) => decoder.decompress_to_buffer(packed, out).ok(),
            Self::Lz4Raw => lz4_block(packed, out),
            Self::Lz4 => {
                let whole = |attempt: &fn(&[u8], &mut [u8]) -> Option<usize>| {
                    attempt(packed, out).filter(|unpacked| *unpacked == out.len())
                };
                [lz4_hadoop as fn(&[u8], &mut [u8]) -> _, lz4_frame, lz4_block]
                    .iter()
                    .find_map(whole)
            }
        }
    }
}

fn read_to(mut from: impl Read, out: &mut [u8]) -> Option<usize> {
    let mut filled = 0;
    while filled < out.len() {
        match from.read(&mut out[filled..]) {
            Ok(0) => return Some(filled),
            Ok(count) => filled += count,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(_) => return None,
        }
    }
    // The end has to be looked for: gzip has its checksum there, and more may come.
    Some(filled + from.read(&mut [0]).ok()?)
}

fn lz4_block(packed: &[u8], out: &mut [u8]) -> Option<usize> {
    lz4_flex::block::decompress_into(packed, out).ok()
}

fn lz4_frame(packed: &[u8], out: &mut [u8]) -> Option<usize> {
    read_to(lz4_flex::frame::FrameDecoder::new(packed), out)
}

/// Blocks, each after its unpacked and its packed size as big-endian 32-bit numbers.
fn lz4_hadoop(mut packed: &[u8], out: &mut [u8]) -> Option<usize> {
    let mut filled = 0;
    while !packed.is_empty() {
        let (unpacked_size, rest) = packed.split_first_chunk::<4>()?;
        let (packed_size, rest) = rest.split_first_chunk::<4>()?;
        let unpacked_size = u32::from_be_bytes(*unpacked_size) as usize;
        let (block, rest) = rest.split_at_checked(u32::from_be_bytes(*packed_size) as usize)?;
        let target = out[filled..].get_mut(..unpacked_size)?;
        if lz4_block(block, target)? != unpacked_size {
            return None;
        }
        filled += unpacked_size;
        packed = rest;
    }
    Some(filled)
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn text() -> Vec<u8> {
        b"the same text over and over, ".repeat(500)
    }

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    fn brotli(bytes: &[u8]) -> Vec<u8> {
        let mut packed = Vec::new();
        brotli::CompressorWriter::new(&mut packed, 4096, 1, 20).write_all(bytes).unwrap();
        packed
    }

    fn lz4_hadoop(bytes: &[u8]) -> Vec<u8> {
        let block = |half: &[u8]| {
            let packed = lz4_flex::block::compress(half);
            let sizes = [(half.len() as u32).to_be_bytes(), (packed.len() as u32).to_be_bytes()];
            [sizes.as_flattened(), &packed].concat()
        };
        let (first, second) = bytes.split_at(bytes.len() / 3);
        [block(first), block(second)].concat()
    }

    fn lz4_frame(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = lz4_flex::frame::FrameEncoder::new(Vec::new());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    fn check(codec: Compression, packed: &[u8]) {
        let text = text();
        let unpack = |size: usize| {
            let mut out = vec![7; size]; // as recycled memory is: not zeroed
            Unpacker::new(codec, "c").unwrap().unpack(packed, &mut out).map(|()| out)
        };
        assert_eq!(unpack(text.len()).unwrap(), text, "{codec}");
        for wrong in [0, 1, text.len() - 1, text.len() + 1, text.len() * 2] {
            assert!(unpack(wrong).is_err(), "{codec} unpacks to {wrong} bytes");
        }
        for cut in [0, 1, packed.len() / 2, packed.len() - 1] {
            let mut out = vec![7; text.len()];
            let mut unpacker = Unpacker::new(codec, "c").unwrap();
            let result = unpacker.unpack(&packed[..cut], &mut out);
            assert!(result.is_err() || out == text, "{codec} cut to {cut}");
        }
    }

    #[test]
    fn every_codec_unpacks_to_the_claimed_size_and_to_no_other() {
        let text = text();
        check(Compression::UNCOMPRESSED, &text);
        check(Compression::SNAPPY, &snap::raw::Encoder::new().compress_vec(&text).unwrap());
        check(Compression::GZIP(Default::default()), &gzip(&text));
        check(Compression::BROTLI(Default::default()), &brotli(&text));
        check(Compression::ZSTD(Default::default()), &zstd::bulk::compress(&text, 1).unwrap());
        check(Compression::LZ4_RAW, &lz4_flex::block::compress(&text));
    }

    #[test]
    fn lz4_is_read_in_each_form_that_writers_gave_it() {
        check(Compression::LZ4, &lz4_hadoop(&text()));
        check(Compression::LZ4, &lz4_frame(&text()));
        check(Compression::LZ4, &lz4_flex::block::compress(&text()));
    }

    #[test]
    fn gzip_members_one_after_the_other_are_one_page() {
        let text = text();
        let (first, second) = text.split_at(1000);
        check(Compression::GZIP(Default::default()), &[gzip(first), gzip(second)].concat());
    }

    #[test]
    fn a_bomb_is_stopped_one_byte_past_its_claim() {
        for (codec, packed) in [
            (Compression::GZIP(Default::default()), gzip(&vec![0; 64 << 20])),
            (Compression::BROTLI(Default::default()), brotli(&vec![0; 64 << 20])),
            (Compression::LZ4, lz4_frame(&vec![0; 64 << 20])),
        ] {
            let result = Unpacker::new(codec, "c").unwrap().unpack(&packed, &mut [0; 100]);
            let error = result.unwrap_err().to_string();
            assert!(error.contains("100 bytes"), "{codec}: {error}");
        }
    }

    #[test]
    fn a_codec_without_decoder_is_named_with_its_column() {
        let error = Unpacker::new(Compression::LZO, "price").err().unwrap().to_string();
        assert!(error.contains("LZO") && error.contains("\"price\""), "{error}");
    }
}
