//! One growing dictionary a field, whatever dictionaries its batches bring.
//!
//! A stream may replace a dictionary from batch to batch; a file may only extend it. So the values
//! of every batch are added to the field's own dictionary, each once, and the batch's keys are
//! rewritten to it. A batch that brings the same dictionary, a part of it or an extension of it
//! keeps its keys.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::types::ArrowDictionaryKeyType;
use arrow_array::{
    Array, ArrayRef, DictionaryArray, PrimitiveArray, RecordBatch, RecordBatchOptions, UInt64Array,
    downcast_dictionary_array,
};
use arrow_buffer::ArrowNativeType;
use arrow_row::{RowConverter, Rows, SortField};
use arrow_schema::DataType;
use arrow_select::concat::concat;
use arrow_select::take::take;

use super::rebuild::{child_types, children, with_children};
use crate::error::{FileError, arrow_write};

/// The dictionaries of a column, at whatever depth they are.
#[derive(Debug)]
pub(super) enum Dictionaries {
    /// There are none.
    None,
    /// The column is dictionary-encoded.
    Own(Box<Unifier>),
    /// Some children have some.
    Nested(Vec<Dictionaries>),
}

impl Dictionaries {
    /// All those of `column`, which is how errors name it.
    pub(super) fn of(column: &str, data_type: &DataType) -> Self {
        Self::with_keys(column, data_type, |_| true)
    }

    /// Those whose keys have 8 or 16 bits, and so may run out.
    pub(super) fn with_narrow_keys(column: &str, data_type: &DataType) -> Self {
        Self::with_keys(column, data_type, |key| key.primitive_width().is_some_and(|w| w <= 2))
    }

    fn with_keys(column: &str, data_type: &DataType, wanted: fn(&DataType) -> bool) -> Self {
        if let DataType::Dictionary(key, value) = data_type {
            return match wanted(key) {
                true => Self::Own(Box::new(Unifier::new(column, value))),
                false => Self::None,
            };
        }
        let children = child_types(data_type).into_iter();
        let children: Vec<Self> =
            children.map(|child| Self::with_keys(column, child, wanted)).collect();
        match children.iter().all(|child| matches!(child, Self::None)) {
            true => Self::None,
            false => Self::Nested(children),
        }
    }

    /// `batch`, of which these are the columns' dictionaries, by the keys of the growing ones.
    pub(super) fn unify_batch(
        columns: &mut [Self],
        batch: &RecordBatch,
    ) -> Result<RecordBatch, FileError> {
        if columns.iter().all(|dictionaries| matches!(dictionaries, Self::None)) {
            return Ok(batch.clone());
        }
        let unified = columns.iter_mut().zip(batch.columns());
        let unified = unified.map(|(dictionaries, column)| dictionaries.unify(column));
        let unified = unified.collect::<Result<Vec<_>, _>>()?;
        let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
        RecordBatch::try_new_with_options(batch.schema(), unified, &options).map_err(arrow_write)
    }

    fn unify(&mut self, array: &ArrayRef) -> Result<ArrayRef, FileError> {
        match self {
            Self::None => Ok(Arc::clone(array)),
            Self::Own(unifier) => unifier.unify(array),
            Self::Nested(parts) => {
                let children = children(array);
                let children = parts.iter_mut().zip(&children).map(|(part, c)| part.unify(c));
                let children = children.collect::<Result<Vec<_>, _>>()?;
                with_children(array, children).map_err(arrow_write)
            }
        }
    }
}

/// The growing dictionary of one field.
#[derive(Debug)]
pub(super) struct Unifier {
    column: String,
    /// Dictionaries within the values.
    inner: Dictionaries,
    /// What is written so far; replaced by longer ones that begin with it.
    unified: Option<ArrayRef>,
    index: Index,
    /// The batches' latest dictionary and how its keys are rewritten.
    latest: Option<(ArrayRef, Keys)>,
}

/// How a batch's keys become those of the growing dictionary.
#[derive(Debug)]
enum Keys {
    Same,
    Mapped(Box<Mapping>),
}

#[derive(Debug)]
struct Mapping {
    /// The batch's dictionary, its own dictionaries unified.
    values: ArrayRef,
    /// Its values in comparable form, where the type has one.
    rows: Option<Rows>,
    /// For each of its values the key in the growing dictionary, once a row has asked for it.
    keys: Vec<Option<usize>>,
}

impl Unifier {
    fn new(column: &str, value: &DataType) -> Self {
        Self {
            column: column.to_owned(),
            inner: Dictionaries::of(column, value),
            unified: None,
            index: Index::new(value),
            latest: None,
        }
    }

    fn unify(&mut self, array: &ArrayRef) -> Result<ArrayRef, FileError> {
        downcast_dictionary_array! {
            array => self.unify_keys(array),
            other => Err(FileError::invalid(format!(
                "column {:?} is {other}, and not dictionary-encoded",
                self.column
            ))),
        }
    }

    fn unify_keys<K: ArrowDictionaryKeyType>(
        &mut self,
        array: &DictionaryArray<K>,
    ) -> Result<ArrayRef, FileError> {
        let known = self.latest.as_ref();
        if !known.is_some_and(|(latest, _)| same_buffers(latest, array.values())) {
            let keys = self.adopt(array.values())?;
            self.latest = Some((Arc::clone(array.values()), keys));
        }
        let (raw, mut keys) = self.latest.take().expect("set above where it was not");
        let rewritten = match &mut keys {
            Keys::Same => Ok(array.keys().clone()),
            Keys::Mapped(mapping) => self.map(array.keys(), mapping),
        }?;
        self.latest = Some((raw, keys));
        let values = self.unified.as_ref().expect("`adopt` has begun it");
        if same_buffers(values, array.values()) {
            return Ok(Arc::new(array.clone()));
        }
        let unified = DictionaryArray::try_new(rewritten, Arc::clone(values));
        Ok(Arc::new(unified.map_err(arrow_write)?))
    }

    /// Takes in a dictionary that was not the latest, and says how its keys are rewritten.
    fn adopt(&mut self, raw: &ArrayRef) -> Result<Keys, FileError> {
        let values = self.inner.unify(raw)?;
        let Some(mut unified) = self.unified.take() else {
            self.unified = Some(values);
            return Ok(Keys::Same);
        };
        if !matches!(self.inner, Dictionaries::None) {
            // So that both parts of a longer dictionary share their inner dictionaries.
            unified = self.inner.unify(&unified)?;
        }
        let common = values.len().min(unified.len());
        if values.slice(0, common).to_data() == unified.slice(0, common).to_data() {
            let longer = if values.len() > unified.len() { values } else { unified };
            self.unified = Some(longer);
            return Ok(Keys::Same);
        }
        self.unified = Some(unified);
        let rows = self.index.rows(&values)?;
        let keys = vec![None; values.len()];
        Ok(Keys::Mapped(Box::new(Mapping { values, rows, keys })))
    }

    fn map<K: ArrowDictionaryKeyType>(
        &mut self,
        keys: &PrimitiveArray<K>,
        mapping: &mut Mapping,
    ) -> Result<PrimitiveArray<K>, FileError> {
        let unified = self.unified.as_ref().expect("there is one before there is a mapping");
        self.index.catch_up(unified)?;
        let mut length = unified.len();
        let mut added = Vec::new();
        let mut mapped = Vec::with_capacity(keys.len());
        for key in keys {
            let Some(value) = key.map(|key| key.as_usize()) else {
                mapped.push(K::Native::default());
                continue;
            };
            let new = match mapping.keys[value] {
                Some(known) => known,
                None => {
                    let row = mapping.rows.as_ref().map(|rows| rows.row(value));
                    let row = row.as_ref().map_or(&[][..], AsRef::as_ref);
                    let key = self.index.key_of(row, mapping.rows.is_some(), length);
                    if key == length {
                        added.push(value as u64);
                        length += 1;
                    }
                    mapping.keys[value] = Some(key);
                    key
                }
            };
            mapped.push(K::Native::from_usize(new).ok_or_else(|| self.overflow::<K>())?);
        }
        if !added.is_empty() {
            let new = take(&mapping.values, &UInt64Array::from(added), None);
            let new = new.map_err(arrow_write)?;
            self.unified = Some(concat(&[unified, &new]).map_err(arrow_write)?);
            self.index.indexed = length;
        }
        Ok(PrimitiveArray::new(mapped.into(), keys.nulls().cloned()))
    }

    fn overflow<K: ArrowDictionaryKeyType>(&self) -> FileError {
        let what = format!(
            "its batches bring more distinct dictionary values than {} keys can name; \
             use a wider key type",
            K::DATA_TYPE
        );
        FileError::column_not_supported(&self.column, what)
    }
}

/// Finds a value among those of a growing dictionary.
#[derive(Debug)]
struct Index {
    /// `None` where the type has no comparable form: its values are then all taken for new.
    converter: Option<RowConverter>,
    keys: HashMap<Box<[u8]>, usize>,
    /// How many values of the growing dictionary are in `keys`.
    indexed: usize,
}

impl Index {
    fn new(value: &DataType) -> Self {
        let fields = vec![SortField::new(value.clone())];
        let comparable = RowConverter::supports_fields(&fields);
        let converter = comparable.then(|| RowConverter::new(fields).ok()).flatten();
        Self { converter, keys: HashMap::new(), indexed: 0 }
    }

    fn rows(&self, values: &ArrayRef) -> Result<Option<Rows>, FileError> {
        let columns = std::slice::from_ref(values);
        let rows = self.converter.as_ref().map(|converter| converter.convert_columns(columns));
        rows.transpose().map_err(arrow_write)
    }

    /// Takes in what has come to the growing dictionary by extension.
    fn catch_up(&mut self, unified: &ArrayRef) -> Result<(), FileError> {
        let new = unified.slice(self.indexed, unified.len() - self.indexed);
        for (at, row) in self.rows(&new)?.iter().flatten().enumerate() {
            let key = self.indexed + at;
            self.keys.entry(row.as_ref().into()).or_insert(key);
        }
        self.indexed = unified.len();
        Ok(())
    }

    /// The key of a value, which is `next` when it was not there and now is.
    fn key_of(&mut self, row: &[u8], comparable: bool, next: usize) -> usize {
        match comparable {
            true => *self.keys.entry(row.into()).or_insert(next),
            false => next,
        }
    }
}

fn same_buffers(left: &ArrayRef, right: &ArrayRef) -> bool {
    Arc::ptr_eq(left, right) || left.to_data().ptr_eq(&right.to_data())
}
