//! `flight-server sample`: writes sample tables as dataset files.
//!
//! The tables themselves come from `flight-sample`. Each file is written under a temporary name
//! beside its own and renamed at the end, so that a server over the same folder never sees a part.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail, ensure};
use clap::ValueEnum;
use flight_files::{BatchWriter, Codec, Format, WriteOptions};
use flight_sample::{Sample, Size, TpchTable, perf4, taxi, tpch};
use indicatif::{ProgressBar, ProgressStyle};
use rustix::fs::{CWD, RenameFlags, renameat_with};
use rustix::io::Errno;

const ROWS_DEFAULT: u64 = 1_000_000;
const SCALE_DEFAULT: f64 = 1.0;

/// Which table to make.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Table {
    /// New York yellow-cab trips, made up: 19 columns of the public schema
    Taxi,
    /// The eight tables of TPC-H
    Tpch,
    /// Four columns of random 64-bit integers, as Arrow's own benchmark has them
    Perf4,
}

/// Writes sample tables: taxi trips, TPC-H, or the columns of Arrow's benchmark.
#[derive(Debug, Clone, clap::Args)]
pub struct Args {
    /// The table to make.
    #[arg(value_enum)]
    pub table: Table,

    /// Rows to make; taxi and perf4 only.
    ///
    /// One million when not given.
    #[arg(long, value_name = "N", env = "FLIGHT_SERVER_SAMPLE_ROWS")]
    pub rows: Option<u64>,

    /// Scale factor; tpch only.
    ///
    /// 1, the default, makes about a gigabyte over all tables; fractions are allowed.
    #[arg(long, value_name = "S", env = "FLIGHT_SERVER_SAMPLE_SCALE")]
    pub scale: Option<f64>,

    /// Picks the random values: the same seed gives the same table.
    ///
    /// TPC-H has no random values; there the seed changes nothing.
    #[arg(long, value_name = "N", default_value_t = 42, env = "FLIGHT_SERVER_SAMPLE_SEED")]
    pub seed: u64,

    /// The one TPC-H table to make, such as lineitem; all eight when not given.
    #[arg(long = "table", value_name = "NAME", env = "FLIGHT_SERVER_SAMPLE_TABLE")]
    pub tpch_table: Option<TpchTable>,

    /// Rows in each record batch.
    #[arg(
        long,
        value_name = "N",
        default_value_t = 16_384,
        env = "FLIGHT_SERVER_SAMPLE_BATCH_ROWS"
    )]
    pub batch_rows: usize,

    /// Compression: none, lz4, zstd; for Parquet also snappy, gzip, brotli.
    ///
    /// Feather is not compressed and Parquet is compressed with zstd when this is not given.
    #[arg(long, value_parser = codec, env = "FLIGHT_SERVER_SAMPLE_CODEC")]
    pub codec: Option<Codec>,

    /// Format of the files in a folder: feather or parquet.
    ///
    /// Where `--out` names a file, its extension decides.
    #[arg(
        long,
        value_parser = store_format,
        default_value = "feather",
        env = "FLIGHT_SERVER_SAMPLE_STORE_FORMAT"
    )]
    pub store_format: Format,

    /// Where to write: FILE.feather, FILE.parquet, or a folder for TPC-H.
    ///
    /// In a folder, which is made when missing, each TPC-H table is a file of its name.
    #[arg(long, value_name = "PATH", env = "FLIGHT_SERVER_SAMPLE_OUT")]
    pub out: PathBuf,

    /// Replaces files that exist.
    #[arg(long, env = "FLIGHT_SERVER_SAMPLE_FORCE")]
    pub force: bool,
}

/// Makes the tables and prints a line for each file: rows, bytes, path.
///
/// # Errors
/// When the arguments contradict each other, a file exists without `--force`, or writing fails.
pub fn run(args: &Args) -> anyhow::Result<()> {
    let files = plan(args)?;
    for (path, _) in &files {
        let exists = path.symlink_metadata().is_ok();
        ensure!(args.force || !exists, already_there(path));
    }
    for (path, sample) in files {
        let format = file_format(&path).expect("`plan` names files of known formats");
        let codec = args.codec.unwrap_or(Codec::default_of(format));
        let (rows, bytes) = write(&path, sample, &WriteOptions { format, codec }, args.force)?;
        writeln!(io::stdout(), "{rows} rows, {bytes} bytes: {}", path.display())
            .context("standard output")?;
    }
    Ok(())
}

/// The files to write, each with its rows; nothing is generated yet.
fn plan(args: &Args) -> anyhow::Result<Vec<(PathBuf, Sample)>> {
    if args.table == Table::Tpch {
        return plan_tpch(args);
    }
    ensure!(args.scale.is_none(), "--scale is for tpch; give --rows");
    ensure!(args.tpch_table.is_none(), "--table is for tpch");
    ensure!(
        file_format(&args.out).is_some(),
        "--out: {} names no format; end it in .feather or .parquet",
        args.out.display()
    );
    let rows = args.rows.unwrap_or(ROWS_DEFAULT);
    let size = Size { rows, batch_rows: args.batch_rows, seed: args.seed };
    let sample = if args.table == Table::Taxi { taxi(size) } else { perf4(size) };
    Ok(vec![(args.out.clone(), sample?)])
}

fn plan_tpch(args: &Args) -> anyhow::Result<Vec<(PathBuf, Sample)>> {
    ensure!(args.rows.is_none(), "--rows is for taxi and perf4; give --scale");
    let scale = args.scale.unwrap_or(SCALE_DEFAULT);
    if file_format(&args.out).is_some() {
        let Some(table) = args.tpch_table else {
            bail!(
                "--out: {} is one file, and tpch has eight tables; name a folder, or one table \
                 with --table",
                args.out.display()
            );
        };
        return Ok(vec![(args.out.clone(), tpch(table, scale, args.batch_rows)?)]);
    }
    let tables = args.tpch_table.map_or(TpchTable::ALL.to_vec(), |table| vec![table]);
    let files = tables.into_iter().map(|table| {
        let name = format!("{}.{}", table.name(), args.store_format.extension());
        Ok((args.out.join(name), tpch(table, scale, args.batch_rows)?))
    });
    files.collect()
}

/// Writes one file; its rows and bytes.
fn write(
    path: &Path,
    sample: Sample,
    options: &WriteOptions,
    force: bool,
) -> anyhow::Result<(u64, u64)> {
    let part = Part::create(path)?;
    let context = || format!("{}", path.display());
    let file = part.file.try_clone().with_context(context)?;
    let progress = progress(&sample, path);
    let mut writer =
        BatchWriter::create(file, sample.schema().clone(), options).with_context(context)?;
    for batch in sample {
        writer.write(&batch).with_context(context)?;
        progress.inc(batch.num_rows() as u64);
    }
    let written = writer.finish().with_context(context)?;
    progress.finish_and_clear();
    part.publish(path, force)?;
    Ok((written.rows, written.bytes))
}

/// A file under a temporary name, removed when dropped before it was published.
struct Part {
    file: File,
    path: PathBuf,
    published: bool,
}

impl Part {
    fn create(target: &Path) -> anyhow::Result<Self> {
        let folder = target.parent().filter(|folder| !folder.as_os_str().is_empty());
        if let Some(folder) = folder {
            fs::create_dir_all(folder).with_context(|| format!("folder {}", folder.display()))?;
        }
        let mut name = target.file_name().expect("a name with an extension").to_owned();
        // No extension of a dataset, so that a server passes it over.
        name.push(format!(".{}.part", std::process::id()));
        let path = target.with_file_name(name);
        let file = OpenOptions::new().write(true).create_new(true).open(&path);
        let file = file.with_context(|| format!("{}", path.display()))?;
        Ok(Self { file, path, published: false })
    }

    fn publish(mut self, target: &Path, force: bool) -> anyhow::Result<()> {
        self.file.sync_all().with_context(|| format!("{}", self.path.display()))?;
        let flags = if force { RenameFlags::empty() } else { RenameFlags::NOREPLACE };
        match renameat_with(CWD, &self.path, CWD, target, flags) {
            Ok(()) => self.published = true,
            Err(Errno::EXIST) => bail!(already_there(target)),
            Err(error) => return Err(error).with_context(|| format!("{}", target.display())),
        }
        Ok(())
    }
}

impl Drop for Part {
    fn drop(&mut self) {
        if !self.published {
            // Nothing to do about a failure: the error that led here is the one to report.
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// The format that the name asks for, of those that are written.
fn file_format(path: &Path) -> Option<Format> {
    Format::of_path(path).filter(|format| *format != Format::Stream)
}

/// A bar on stderr, shown on a terminal only.
fn progress(sample: &Sample, path: &Path) -> ProgressBar {
    let (bar, style) = match sample.rows() {
        Some(rows) => {
            let style = "{msg} {wide_bar} {human_pos}/{human_len} rows {per_sec} {eta} left";
            (ProgressBar::new(rows), style)
        }
        None => (ProgressBar::no_length(), "{msg} {spinner} {human_pos} rows {per_sec}"),
    };
    bar.set_style(ProgressStyle::with_template(style).expect("the template is valid"));
    bar.set_message(path.file_name().unwrap_or_default().to_string_lossy().into_owned());
    bar
}

fn already_there(path: &Path) -> String {
    format!("--out: {} exists; add --force to replace it", path.display())
}

fn codec(name: &str) -> Result<Codec, String> {
    Codec::of_name(name).ok_or_else(|| "choose none, lz4, zstd, snappy, gzip or brotli".to_owned())
}

fn store_format(name: &str) -> Result<Format, String> {
    [Format::Feather, Format::Parquet]
        .into_iter()
        .find(|format| format.extension() == name)
        .ok_or_else(|| "choose feather or parquet".to_owned())
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;

    use clap::Parser as _;
    use flight_files::{DatasetFile, ReadLimits};
    use tempfile::TempDir;

    use super::*;

    #[derive(clap::Parser)]
    struct Cli {
        #[command(flatten)]
        args: Args,
    }

    /// Runs `flight-server sample` with these words and `--out FOLDER/out`.
    fn sample(words: &str, folder: &TempDir, out: &str) -> anyhow::Result<()> {
        let mut command: Vec<OsString> = vec!["sample".into()];
        command.extend(words.split_whitespace().map(OsString::from));
        command.extend(["--out".into(), folder.path().join(out).into()]);
        run(&Cli::try_parse_from(command)?.args)
    }

    fn check_refused(words: &str, out: &str, sentence: &str) {
        let folder = TempDir::new().unwrap();
        let error = format!("{:#}", sample(words, &folder, out).expect_err(words));
        assert!(error.contains(sentence), "{words}: {error}");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0, "{words} left files");
    }

    fn names(folder: &Path) -> Vec<String> {
        let name = |entry: io::Result<fs::DirEntry>| entry.unwrap().file_name().into_string();
        let mut names: Vec<_> =
            fs::read_dir(folder).unwrap().map(|entry| name(entry).unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn every_format_and_codec_is_written_and_read_again() {
        let folder = TempDir::new().unwrap();
        for (codec, extension) in [
            ("none", "feather"),
            ("lz4", "feather"),
            ("zstd", "arrow"),
            ("none", "parquet"),
            ("snappy", "parquet"),
        ] {
            let out = format!("{codec}.{extension}");
            let words = format!("taxi --rows 1000 --batch-rows 300 --codec {codec}");
            sample(&words, &folder, &out).unwrap();
            let path = folder.path().join(&out);
            let format = Format::of_path(&path).unwrap();
            let file = File::open(path).unwrap();
            let file = DatasetFile::open(file, format, &ReadLimits::default()).unwrap();
            assert_eq!(file.schema().fields().len(), 19, "{out}");
            assert_eq!(file.rows(), Some(1000), "{out}");
        }
    }

    #[test]
    fn the_same_seed_writes_the_same_file() {
        let folder = TempDir::new().unwrap();
        for (seed, out) in [(1, "a.feather"), (1, "b.feather"), (2, "c.feather")] {
            sample(&format!("perf4 --rows 99 --seed {seed}"), &folder, out).unwrap();
        }
        let bytes = |name| fs::read(folder.path().join(name)).unwrap();
        assert_eq!(bytes("a.feather"), bytes("b.feather"));
        assert_ne!(bytes("a.feather"), bytes("c.feather"));
    }

    #[test]
    fn tpch_writes_a_file_for_each_table() {
        let folder = TempDir::new().unwrap();
        sample("tpch --scale 0.001 --store-format parquet", &folder, "tpch").unwrap();
        let expected = TpchTable::NAMES.map(|name| format!("{name}.parquet"));
        assert_eq!(names(&folder.path().join("tpch")), expected);
    }

    #[test]
    fn one_tpch_table_is_one_file() {
        let folder = TempDir::new().unwrap();
        sample("tpch --scale 0.001 --table nation", &folder, "n.feather").unwrap();
        sample("tpch --scale 0.001 --table region", &folder, "sub").unwrap();
        assert_eq!(names(folder.path()), ["n.feather", "sub"]);
        assert_eq!(names(&folder.path().join("sub")), ["region.feather"]);
    }

    #[test]
    fn a_file_is_replaced_only_by_force() {
        let folder = TempDir::new().unwrap();
        sample("perf4 --rows 10", &folder, "x.feather").unwrap();
        let first = fs::read(folder.path().join("x.feather")).unwrap();
        let error = sample("perf4 --rows 20", &folder, "x.feather").unwrap_err().to_string();
        assert!(error.ends_with("x.feather exists; add --force to replace it"), "{error}");
        assert_eq!(fs::read(folder.path().join("x.feather")).unwrap(), first);
        sample("perf4 --rows 20 --force", &folder, "x.feather").unwrap();
        assert_ne!(fs::read(folder.path().join("x.feather")).unwrap(), first);
        assert_eq!(names(folder.path()), ["x.feather"]);
    }

    #[test]
    fn contradictions_are_refused_with_the_way_out() {
        check_refused("taxi --rows 1", "x.csv", "x.csv names no format; end it in .feather");
        check_refused("taxi --rows 1", "x.arrows", "x.arrows names no format; end it in");
        check_refused("taxi --rows 1", "folder", "end it in .feather or .parquet");
        check_refused("taxi --scale 1", "x.feather", "--scale is for tpch; give --rows");
        check_refused("perf4 --table part", "x.feather", "--table is for tpch");
        check_refused("tpch --rows 1", "dir", "--rows is for taxi and perf4; give --scale");
        check_refused("tpch", "x.feather", "name a folder, or one table with --table");
        check_refused("tpch --table order", "dir", "there is no TPC-H table \"order\"");
        check_refused("tpch --scale 0", "dir", "scale factor 0 is outside 0.001 to 1000");
        check_refused("taxi --batch-rows 0", "x.feather", "0 rows a batch are outside 1 to");
        check_refused("taxi --codec lzo", "x.feather", "choose none, lz4, zstd, snappy");
        check_refused("taxi --rows 10 --codec brotli", "x.feather", "brotli");
    }
}
