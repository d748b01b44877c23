//! A tiny Parquet writer, for page layouts that no library writes and claims that none would make.

/// A thrift structure under construction.
#[derive(Default)]
pub(crate) struct Structure {
    bytes: Vec<u8>,
    last: u8,
}

impl Structure {
    fn head(mut self, id: u8, kind: u8) -> Self {
        self.bytes.push(((id - self.last) << 4) | kind);
        self.last = id;
        self
    }

    pub(crate) fn i32(self, id: u8, value: i64) -> Self {
        self.integer(id, 5, value)
    }

    pub(crate) fn i64(self, id: u8, value: i64) -> Self {
        self.integer(id, 6, value)
    }

    fn integer(self, id: u8, kind: u8, value: i64) -> Self {
        let mut this = self.head(id, kind);
        this.bytes.extend(varint(((value << 1) ^ (value >> 63)) as u64));
        this
    }

    pub(crate) fn boolean(self, id: u8, value: bool) -> Self {
        self.head(id, if value { 1 } else { 2 })
    }

    pub(crate) fn text(self, id: u8, value: &str) -> Self {
        let mut this = self.head(id, 8);
        this.bytes.extend(text(value));
        this
    }

    pub(crate) fn structure(self, id: u8, value: Self) -> Self {
        let mut this = self.head(id, 12);
        this.bytes.extend(value.end());
        this
    }

    fn list(self, id: u8, kind: u8, elements: &[Vec<u8>]) -> Self {
        let mut this = self.head(id, 9);
        this.bytes.push(0xF0 | kind);
        this.bytes.extend(varint(elements.len() as u64));
        this.bytes.extend(elements.concat());
        this
    }

    pub(crate) fn structures(self, id: u8, elements: Vec<Self>) -> Self {
        let elements: Vec<_> = elements.into_iter().map(Self::end).collect();
        self.list(id, 12, &elements)
    }

    pub(crate) fn end(mut self) -> Vec<u8> {
        self.bytes.push(0);
        self.bytes
    }
}

fn text(value: &str) -> Vec<u8> {
    [varint(value.len() as u64), value.as_bytes().to_vec()].concat()
}

pub(crate) fn varint(mut value: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    while value > 127 {
        bytes.push(value as u8 | 128);
        value >>= 7;
    }
    bytes.push(value as u8);
    bytes
}

/// Levels or keys, each a run of its own length.
pub(crate) fn runs(values: &[u32], width: u32) -> Vec<u8> {
    let mut bytes = Vec::new();
    for run in values.chunk_by(|a, b| a == b) {
        bytes.extend(varint((run.len() as u64) << 1));
        bytes.extend(&run[0].to_le_bytes()[..width.div_ceil(8) as usize]);
    }
    bytes
}

/// A leaf column: how its schema elements look and what its pages are.
pub(crate) struct Leaf {
    pub(crate) schema: Vec<Structure>,
    pub(crate) path: Vec<&'static str>,
    pub(crate) physical: i64,
    pub(crate) codec: i64,
    pub(crate) values: i64,
    /// Whether the first page is a dictionary.
    pub(crate) dictionary: bool,
    pub(crate) pages: Vec<u8>,
}

/// A page: its header and body, sizes as they are.
pub(crate) fn page(kind: i64, header: (u8, Structure), unpacked: usize, body: &[u8]) -> Vec<u8> {
    let head = Structure::default()
        .i32(1, kind)
        .i32(2, unpacked as i64)
        .i32(3, body.len() as i64)
        .structure(header.0, header.1);
    [head.end(), body.to_vec()].concat()
}

/// A V1 data page of `values` values without levels.
pub(crate) fn data_page(values: i64, encoding: i64, unpacked: usize, body: &[u8]) -> Vec<u8> {
    let header = Structure::default().i32(1, values).i32(2, encoding).i32(3, 3).i32(4, 3);
    page(0, (5, header), unpacked, body)
}

pub(crate) fn dictionary_page(values: i64, unpacked: usize, body: &[u8]) -> Vec<u8> {
    page(2, (7, Structure::default().i32(1, values).i32(2, 0)), unpacked, body)
}

/// A file of one row group.
pub(crate) fn file(leaves: Vec<Leaf>, rows: i64) -> Vec<u8> {
    let mut bytes = b"PAR1".to_vec();
    let roots = leaves.len() as i64;
    let mut schema = vec![Structure::default().text(4, "schema").i32(5, roots)];
    let mut chunks = Vec::new();
    for leaf in leaves {
        let start = bytes.len() as i64;
        bytes.extend(&leaf.pages);
        let path: Vec<_> = leaf.path.iter().map(|part| text(part)).collect();
        let data = if leaf.dictionary { start + 1 } else { start };
        let metadata = Structure::default()
            .i32(1, leaf.physical)
            .list(2, 5, &[varint(0)])
            .list(3, 8, &path)
            .i32(4, leaf.codec)
            .i64(5, leaf.values)
            .i64(6, leaf.pages.len() as i64)
            .i64(7, leaf.pages.len() as i64)
            .i64(9, data);
        let metadata = if leaf.dictionary { metadata.i64(11, start) } else { metadata };
        chunks.push(Structure::default().i64(2, start).structure(3, metadata));
        schema.extend(leaf.schema);
    }
    let group =
        Structure::default().structures(1, chunks).i64(2, bytes.len() as i64 - 4).i64(3, rows);
    let footer = Structure::default()
        .i32(1, 2)
        .structures(2, schema)
        .i64(3, rows)
        .structures(4, vec![group])
        .text(6, "handmade")
        .end();
    bytes.extend(&footer);
    bytes.extend((footer.len() as u32).to_le_bytes());
    bytes.extend(b"PAR1");
    bytes
}

/// A required column of text (physical type 6, UTF8).
pub(crate) fn text_column(name: &'static str) -> Vec<Structure> {
    vec![Structure::default().i32(1, 6).i32(3, 0).text(4, name).i32(6, 0)]
}
