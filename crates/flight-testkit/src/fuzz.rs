//! The corpora of the fuzz targets in `fuzz/`, replayed by the tests of the crates they are about.

use std::fs;
use std::path::{Path, PathBuf};

/// A fuzz target by the name of its corpus.
#[derive(Debug, Clone, Copy)]
pub struct FuzzTarget {
    pub name: &'static str,
    /// What the target does with its bytes; how far they got.
    pub run: fn(&[u8]) -> usize,
}

impl FuzzTarget {
    fn folder(&self) -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus").join(self.name)
    }

    /// The files of the corpus, in the order of their names.
    ///
    /// # Panics
    ///
    /// When there is none.
    pub fn corpus(&self) -> Vec<(PathBuf, Vec<u8>)> {
        let files = fs::read_dir(self.folder()).expect("fuzz/corpus has a folder for each target");
        let mut paths: Vec<_> =
            files.map(|entry| entry.expect("it can be listed").path()).collect();
        paths.sort();
        let read = |path: PathBuf| {
            let bytes = fs::read(&path).expect("a file of the corpus can be read");
            (path, bytes)
        };
        paths.into_iter().map(read).collect()
    }

    /// Checks that each of `seeds` lies in the corpus and gets somewhere, and runs everything else
    /// there, which is what a fuzzer found. With `FLIGHT_UPDATE_CORPUS` the seeds are written first.
    ///
    /// # Panics
    ///
    /// When it is otherwise.
    pub fn replay(&self, seeds: &[(String, Vec<u8>)]) {
        if std::env::var_os("FLIGHT_UPDATE_CORPUS").is_some() {
            fs::create_dir_all(self.folder()).expect("the corpus can be written");
            for (name, bytes) in seeds {
                fs::write(self.folder().join(name), bytes).expect("the corpus can be written");
            }
        }
        let corpus = self.corpus();
        for (name, _) in seeds {
            let seed = corpus.iter().find(|(path, _)| path.ends_with(name));
            let (_, bytes) = seed.unwrap_or_else(|| {
                panic!("{name} is not in fuzz/corpus; run this test with FLIGHT_UPDATE_CORPUS=1")
            });
            assert!((self.run)(bytes) > 0, "{}: {name} is refused", self.name);
        }
        for (_, bytes) in &corpus {
            (self.run)(bytes);
        }
    }
}
