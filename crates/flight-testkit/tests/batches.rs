//! The generators make what they say: legal arrays of every type, the same for the same seed.

use arrow_array::{Array, RecordBatch};
use arrow_schema::DataType;
use flight_testkit::{batches, rng, schemas};

fn check(batch: &RecordBatch, rows: usize) {
    assert_eq!(batch.num_rows(), rows);
    for (field, column) in batch.schema().fields().iter().zip(batch.columns()) {
        column.to_data().validate_full().unwrap_or_else(|e| panic!("{}: {e}", field.name()));
        assert_eq!(field.data_type(), column.data_type(), "{}", field.name());
        assert!(field.is_nullable() || column.null_count() == 0, "{}", field.name());
    }
}

#[test]
fn every_type_makes_legal_arrays_of_every_length() {
    for seed in 0..20 {
        for rows in [0, 1, 7, 64, 1000] {
            check(&batches::batch_of(&mut rng(seed), &schemas::every_type(), rows), rows);
            check(&batches::sliced_batch(&mut rng(seed), &schemas::every_type(), rows), rows);
        }
    }
}

#[test]
fn random_schemas_make_legal_batches_some_without_columns_some_sliced() {
    let mut rng = rng(7);
    let batches: Vec<_> = (0..300).map(|_| batches::any_batch(&mut rng, 10)).collect();
    batches.iter().for_each(|batch| check(batch, 10));
    assert!(batches.iter().any(|batch| batch.num_columns() == 0));
    assert!(batches.iter().any(|batch| batch.columns().iter().any(|c| c.offset() != 0)));
}

#[test]
fn the_same_seed_gives_the_same_batch_and_another_seed_another() {
    let make = |seed| batches::batch_of(&mut rng(seed), &schemas::every_type(), 50);
    assert_eq!(make(3), make(3));
    assert_ne!(make(3), make(4));
}

#[test]
fn a_stream_shares_its_dictionaries() {
    let schema = schemas::every_type();
    let stream = batches::stream_of(&mut rng(5), &schema, &[10, 0, 3]);
    assert_eq!(stream.iter().map(RecordBatch::num_rows).collect::<Vec<_>>(), [10, 0, 3]);
    let index = schema.index_of("dictionary").unwrap();
    let dictionaries: Vec<_> =
        stream.iter().map(|batch| batch.column(index).to_data().child_data()[0].clone()).collect();
    assert!(dictionaries[0].ptr_eq(&dictionaries[2]));
}

#[test]
fn field_names_are_unique() {
    let fields = schemas::every_field();
    let names: std::collections::BTreeSet<_> = fields.iter().map(|field| field.name()).collect();
    assert_eq!(names.len(), fields.len());
}

#[test]
fn every_variant_of_the_type_enum_is_there() {
    let name = |data_type: &DataType| {
        let text = format!("{data_type:?}");
        text.split(['(', ' ', '{']).next().unwrap().to_owned()
    };
    let made: std::collections::BTreeSet<_> =
        schemas::every_field().iter().map(|field| name(field.data_type())).collect();
    // The variants of arrow-schema 60.
    assert_eq!(made.len(), 41, "{made:?}");
}
