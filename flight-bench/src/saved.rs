//! Runs on this machine's disk: every run is kept, and found again by name; so are ladders, sweeps
//! and sides that were measured in turn.
//!
//! A folder of JSON documents, `runs/ID.json`, and of those that were given a name,
//! `baselines/NAME.json`. A document is written whole or not at all. Beside them lies the noise floor
//! of the machine, which is `floor`'s.

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use anyhow::{Context, anyhow, bail};
use time::OffsetDateTime;

use crate::limits::{RUN_FILE_BYTES_MAX, RUNS_KEPT};
use crate::report::{self, Kind};

/// Where runs are kept.
#[derive(Debug, Clone)]
pub(crate) struct Saved(PathBuf);

impl Saved {
    /// The folder that was asked for, else `$XDG_STATE_HOME/flight-bench`, else
    /// `~/.local/state/flight-bench`, as the XDG Base Directory Specification has it. `None` where
    /// neither variable is set.
    pub(crate) fn new(asked: Option<&Path>) -> Option<Self> {
        let variable = |name| std::env::var_os(name).filter(|value| !value.is_empty());
        let state = || {
            let state = variable("XDG_STATE_HOME").map(PathBuf::from);
            let home = || Some(PathBuf::from(variable("HOME")?).join(".local/state"));
            Some(state.or_else(home)?.join("flight-bench"))
        };
        asked.map(Path::to_owned).or_else(state).map(Self)
    }

    /// Keeps the document of what [`id_of`] named, and the last [`RUNS_KEPT`] of all.
    ///
    /// # Errors
    ///
    /// The folder cannot be made or written to.
    pub(crate) fn keep(&self, id: &str, document: &str) -> anyhow::Result<()> {
        let path = self.runs().join(format!("{id}.json"));
        self.write(&path, document)?;
        let mut runs = self.ids()?;
        let old = runs.len().saturating_sub(RUNS_KEPT);
        runs.drain(..old).try_for_each(|id| {
            let path = self.runs().join(format!("{id}.json"));
            fs::remove_file(&path).with_context(|| format!("cannot remove {}", path.display()))
        })
    }

    /// Gives a run a name under which it is kept for good.
    ///
    /// # Errors
    ///
    /// There is no such run, it is something else, or it was not whole: what was broken off is
    /// nothing to compare with.
    pub(crate) fn name(&self, run: &str, name: &str) -> anyhow::Result<()> {
        if name.is_empty() || !name.chars().all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c))
        {
            bail!("a baseline's name is made of letters, digits, '-', '_' and '.', not {name:?}");
        }
        if name.starts_with("last") || name.ends_with(".json") || name.ends_with(".html") {
            bail!("{name:?} reads as a run or a file, not as a baseline; choose another name");
        }
        let text = self.find(run)?;
        let results = Kind::check_run(&text).and_then(|()| report::read(&text));
        let results = results.with_context(|| format!("run {run}"))?;
        if !results.outcome.complete {
            bail!("run {run} was not measured to its end, so it is no baseline; repeat it");
        }
        self.write(&self.baselines().join(format!("{name}.json")), &text)
    }

    /// Names of the baselines, in their order.
    ///
    /// # Errors
    ///
    /// The folder cannot be read.
    pub(crate) fn baselines_by_name(&self) -> anyhow::Result<Vec<String>> {
        names_in(&self.baselines())
    }

    /// Removes a baseline.
    ///
    /// # Errors
    ///
    /// There is none of this name.
    pub(crate) fn remove_baseline(&self, name: &str) -> anyhow::Result<()> {
        if !self.baselines_by_name()?.iter().any(|known| known == name) {
            bail!("there is no baseline {name:?}; 'flight-bench baseline list' shows them");
        }
        let path = self.baselines().join(format!("{name}.json"));
        fs::remove_file(&path).with_context(|| format!("cannot remove {}", path.display()))
    }

    /// Ids of the runs that are kept, the oldest first.
    ///
    /// # Errors
    ///
    /// The folder cannot be read.
    pub(crate) fn ids(&self) -> anyhow::Result<Vec<String>> {
        names_in(&self.runs())
    }

    /// The document of a run: `last`, `last~1` for the one before, a baseline's name, an id or its
    /// beginning, or a file.
    ///
    /// # Errors
    ///
    /// There is none, or several begin so.
    pub(crate) fn find(&self, name: &str) -> anyhow::Result<String> {
        if name.contains('/') || name.ends_with(".json") || name.ends_with(".html") {
            return read_file(Path::new(name));
        }
        let ids = self.ids()?;
        let back = match name.strip_prefix("last") {
            Some("") => Some(0),
            Some(rest) => rest.strip_prefix('~').and_then(|count| count.parse().ok()),
            None => None,
        };
        if let Some(back) = back {
            let id = ids.iter().rev().nth(back).ok_or_else(|| {
                anyhow!("{name}: {} runs are kept in {}", ids.len(), self.runs().display())
            })?;
            return read_file(&self.runs().join(format!("{id}.json")));
        }
        if self.baselines_by_name()?.iter().any(|known| known == name) {
            return read_file(&self.baselines().join(format!("{name}.json")));
        }
        let mut found = ids.iter().filter(|id| id.starts_with(name));
        match (found.next(), found.next()) {
            (Some(id), None) => read_file(&self.runs().join(format!("{id}.json"))),
            (Some(_), Some(_)) => bail!("several runs begin with {name:?}; write more of the id"),
            _ => bail!(
                "there is no run {name:?}: write last, last~1, a baseline's name, an id of {}, or \
                 a file that ends with .json or .html",
                self.runs().display()
            ),
        }
    }

    fn runs(&self) -> PathBuf {
        self.0.join("runs")
    }

    fn baselines(&self) -> PathBuf {
        self.0.join("baselines")
    }

    /// The file with the noise floor of this machine.
    pub(crate) fn floor(&self) -> PathBuf {
        self.0.join("floor.json")
    }

    fn write(&self, path: &Path, text: &str) -> anyhow::Result<()> {
        self.write_as(path, text, report::write_whole)
    }

    /// The same for its owner's eyes alone.
    pub(crate) fn write_private(&self, path: &Path, text: &str) -> anyhow::Result<()> {
        self.write_as(path, text, report::write_private)
    }

    fn write_as(
        &self,
        path: &Path,
        text: &str,
        write: fn(&Path, &str) -> anyhow::Result<()>,
    ) -> anyhow::Result<()> {
        let folder = path.parent().unwrap_or(&self.0);
        fs::create_dir_all(folder)
            .with_context(|| format!("cannot make the folder {}", folder.display()))?;
        write(path, text).with_context(|| format!("cannot write {}", path.display()))
    }
}

/// Names what began at a time, and the uploads of a run: `20260922t103107z-4312`.
pub(crate) fn id_of(started: SystemTime) -> String {
    named(started, std::process::id())
}

fn named(started: SystemTime, pid: u32) -> String {
    let at = OffsetDateTime::from(started);
    format!(
        "{:04}{:02}{:02}t{:02}{:02}{:02}z-{pid}",
        at.year(),
        u8::from(at.month()),
        at.day(),
        at.hour(),
        at.minute(),
        at.second(),
    )
}

/// A document in a file of its own, or within an HTML report.
fn read_file(path: &Path) -> anyhow::Result<String> {
    let cannot = || format!("cannot read {}", path.display());
    let file = fs::File::open(path).with_context(cannot)?;
    let mut text = String::new();
    file.take(RUN_FILE_BYTES_MAX + 1).read_to_string(&mut text).with_context(cannot)?;
    if text.len() as u64 > RUN_FILE_BYTES_MAX {
        bail!("{} is larger than {RUN_FILE_BYTES_MAX} bytes, the most of a run", path.display());
    }
    if path.extension().is_some_and(|end| end == "html") {
        return flight_chart::embedded(&text).ok_or_else(|| {
            let path = path.display();
            anyhow!("{path} holds no run; give a page that --out FILE.html of flight-bench wrote")
        });
    }
    Ok(text)
}

/// Names of the `.json` files of a folder, in their order; a missing folder has none.
fn names_in(folder: &Path) -> anyhow::Result<Vec<String>> {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => {
            return Err(error).with_context(|| format!("cannot read {}", folder.display()));
        }
    };
    let names = entries.flatten().filter_map(|entry| {
        let name = entry.file_name().into_string().ok()?;
        name.strip_suffix(".json").map(str::to_owned)
    });
    let mut names: Vec<String> = names.collect();
    names.sort();
    Ok(names)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::tests::single;
    use crate::report::{Results, Workload};

    fn kept(ids: &[&str]) -> (tempfile::TempDir, Saved) {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let saved = Saved::new(Some(folder.path())).expect("a folder was given");
        for id in ids {
            let mut results = single(Workload::Get);
            results.id = (*id).to_owned();
            keep(&saved, &results);
        }
        (folder, saved)
    }

    fn keep(saved: &Saved, results: &Results) {
        saved.keep(&results.id, &report::document(results)).expect("room for a run");
    }

    #[test]
    fn a_run_is_named_by_its_time_and_process() {
        let at = SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(1_790_073_067);
        assert_eq!(named(at, 7), "20260922t103107z-7");
    }

    fn check(saved: &Saved, name: &str, want: Result<&str, &str>) {
        let found = saved.find(name).and_then(|text| Ok(report::read(&text)?.id));
        match (found, want) {
            (Ok(id), Ok(want)) => assert_eq!(id, want, "{name}"),
            (Err(error), Err(want)) => {
                let error = format!("{error:#}");
                assert!(error.contains(want), "{name}: {error}");
            }
            (found, want) => panic!("{name}: {found:?}, not {want:?}"),
        }
    }

    #[test]
    fn runs_are_found_by_age_id_and_file() {
        let (folder, saved) = kept(&["20260101t1-1", "20260102t1-2", "20260102t2-3"]);
        check(&saved, "last", Ok("20260102t2-3"));
        check(&saved, "last~2", Ok("20260101t1-1"));
        check(&saved, "last~3", Err("3 runs are kept"));
        check(&saved, "202601011", Err("there is no run"));
        check(&saved, "20260101", Ok("20260101t1-1"));
        check(&saved, "20260102", Err("several runs begin"));
        let file = folder.path().join("runs/20260102t1-2.json");
        check(&saved, file.to_str().expect("a path in UTF-8"), Ok("20260102t1-2"));
        check(&saved, "./missing.json", Err("cannot read ./missing.json"));
    }

    #[test]
    fn a_page_is_read_by_the_run_that_it_holds() {
        let (folder, saved) = kept(&[]);
        let page = folder.path().join("x.html");
        let name = page.to_str().expect("a path in UTF-8");
        fs::write(&page, report::html_page(&single(Workload::Get))).expect("room for a page");
        check(&saved, name, Ok("20260922t103107z-7"));
        fs::write(&page, "<!doctype html><p>Another page").expect("room for a page");
        check(&saved, name, Err("holds no run"));
    }

    #[test]
    fn a_whole_run_gets_a_name_that_can_be_taken_back() {
        let (_folder, saved) = kept(&["20260101t1-1", "20260102t1-2"]);
        saved.name("last~1", "main").expect("a whole run");
        check(&saved, "main", Ok("20260101t1-1"));
        assert_eq!(saved.baselines_by_name().expect("a folder"), ["main"]);
        saved.remove_baseline("main").expect("it is there");
        check(&saved, "main", Err("there is no run"));
        assert!(saved.remove_baseline("main").is_err());
        for other in ["../x", "", "last", "last~1", "a.json"] {
            assert!(saved.name("last", other).is_err(), "{other:?} is no name");
        }
        let mut broken = single(Workload::Get);
        (broken.id, broken.outcome.complete) = ("20260103t1-1".to_owned(), false);
        keep(&saved, &broken);
        let error = saved.name("last", "main").expect_err("it is not whole").to_string();
        assert!(error.contains("not measured to its end"), "{error}");
        saved.keep("20260104t1-1", r#"{"schema":"flight-bench.sweep/1"}"#).expect("room for it");
        let error = format!("{:#}", saved.name("last", "main").expect_err("it is no run"));
        assert!(error.starts_with("run last: it is a sweep, which"), "{error}");
    }

    #[test]
    fn the_oldest_runs_make_room() {
        let (_folder, saved) = kept(&[]);
        let mut results = single(Workload::Get);
        results.variants.clear();
        for run in 0..RUNS_KEPT + 2 {
            results.id = format!("run-{run:05}");
            keep(&saved, &results);
        }
        let ids = saved.ids().expect("a folder");
        assert_eq!((ids.len(), ids[0].as_str()), (RUNS_KEPT, "run-00002"));
    }
}
