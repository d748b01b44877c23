//! What a command line of `tls` means: one row for each kind of connection.

use flight_tls::{ClientOptions, Engine, Group, Trust, client_config};
use flight_wire::limits::RECEIVE_MESSAGE_BYTES_MAX;

use super::engines::{missing, named_or};
use super::{
    AskedPace, Checks, Config, KeyKind, LinkConfig, Load, Output, Resume, Target, TlsRow, TlsWork,
    Work,
};
use crate::cli::{Format, LoadArgs, Mutual, TlsRowsArgs, TlsSubjectArgs};
use crate::exit::Stop;
use crate::report::Workload;

impl Config {
    pub(super) fn tls(mut args: TlsSubjectArgs) -> Result<Self, Stop> {
        if args.output.format == Format::Arrow {
            return Err(Stop::usage(
                "--format arrow has lines for batches alone; use it with get or put",
            ));
        }
        let work = match args.target.target {
            Some(_) => of_target(&args)?,
            None => TlsWork::of(&args.rows, args.tls.tls_engine)?,
        };
        let mut tls = args.tls;
        if args.target.target.is_none() {
            tls.tls_engine = Engine::default(); // The rows have it.
        }
        if work.rows.len() > 1 {
            shorten(&mut args.load);
        }
        let link = LinkConfig::new(&args.target, None, RECEIVE_MESSAGE_BYTES_MAX as u64)?;
        let load = Load::from_args(&args.load)?;
        Ok(Self {
            work: Work::Tls(work),
            link: LinkConfig { reset_on_close: true, ..link },
            server_pid: args.target.server_pid,
            target: Target::new(args.target, tls)?,
            checks: Checks::new(args.check, Workload::Tls, &load, &args.output.keep.runs)?,
            load,
            pace: AskedPace::of(&args.pace),
            output: Output::new(args.output)?,
        })
    }
}

/// The one row of a server that runs already; what else tells rows apart is among `--tls-…`.
fn of_target(args: &TlsSubjectArgs) -> Result<TlsWork, Stop> {
    let rows = &args.rows;
    let rules = [
        (!rows.key.is_empty(), "--key", "which has a key of its own"),
        (!rows.engines.is_empty(), "--engines", "for which --tls-engine chooses this side's"),
        (!rows.groups.is_empty(), "--groups", "to which --tls-groups offers"),
        (!rows.mutual.is_empty(), "--mutual", "to which --tls-cert and --tls-key show who one is"),
        (rows.resume.len() > 1, "--resume with several", "of which one run measures one kind"),
    ];
    if let Some((_, flag, instead)) = rules.into_iter().find(|(given, ..)| *given) {
        return Err(Stop::usage(format!(
            "{flag} is for servers that are started, and TARGET runs already, {instead}; leave one \
             of them out"
        )));
    }
    let row = TlsRow {
        engine: args.tls.tls_engine,
        resume: rows.resume.first().copied().unwrap_or(Resume::Full),
        ..TlsRow::default()
    };
    Ok(TlsWork { rows: vec![row], missing: Vec::new() })
}

/// The windows of `quick`, unless others were asked for: there are many.
fn shorten(load: &mut LoadArgs) {
    if load.batches.is_none() && load.passes.is_none() {
        load.duration.get_or_insert(crate::limits::ROW_WINDOW);
        load.warmup.get_or_insert(crate::limits::ROW_WARMUP);
    }
}

impl Default for TlsRow {
    fn default() -> Self {
        let (key, resume) = (KeyKind::Ec, Resume::Full);
        Self { engine: Engine::default(), group: None, key, resume, mutual: false }
    }
}

impl TlsRow {
    /// As programs name it: `aws-lc-x25519-ec-full`, with `-mutual` where both show a certificate.
    pub(crate) fn id(&self) -> String {
        self.words().join("-").to_lowercase()
    }

    /// For people: `aws-lc X25519 ec full mutual`.
    pub(crate) fn label(&self) -> String {
        self.words().join(" ")
    }

    fn words(&self) -> Vec<&'static str> {
        let group = self.group.map(Group::name);
        let parts = [Some(self.engine.name()), group, Some(self.key.name())];
        let last = [Some(self.resume.name()), self.mutual.then_some("mutual")];
        parts.into_iter().chain(last).flatten().collect()
    }
}

impl TlsWork {
    /// Every combination of what was named; of what was not, one value. Where nothing was named, the
    /// usual rows.
    fn of(args: &TlsRowsArgs, engine: Engine) -> Result<Self, Stop> {
        let TlsRowsArgs { engines, groups, key, resume, mutual } = args;
        let nothing = engines.is_empty()
            && groups.is_empty()
            && key.is_empty()
            && resume.is_empty()
            && mutual.is_empty();
        if nothing && engine == Engine::default() {
            return Ok(Self { rows: usual(), missing: missing(&[]) });
        }
        let one = TlsRow { engine, ..TlsRow::default() };
        let groups = groups.iter().copied().map(Some).collect();
        let mutual = mutual.iter().map(|mutual| *mutual == Mutual::On).collect();
        let mut rows = vec![one];
        rows = each(rows, &named_or(engines.clone(), [engine].into_iter()), |row, engine| {
            row.engine = engine;
        });
        rows = each(rows, &named_or(groups, [None].into_iter()), |row, group| row.group = group);
        rows = each(rows, &named_or(key.clone(), [one.key].into_iter()), |row, key| row.key = key);
        rows = each(rows, &named_or(mutual, [false].into_iter()), |row, on| row.mutual = on);
        rows = each(rows, &named_or(resume.clone(), [one.resume].into_iter()), |row, resume| {
            row.resume = resume;
        });
        let mut missing = Vec::new();
        rows.retain(|row| match row.group.filter(|group| !has(row.engine, *group)) {
            None => true,
            Some(group) => {
                let why = format!("the TLS engine {} has no key exchange {group}", row.engine);
                if !missing.contains(&why) {
                    missing.push(why);
                }
                false
            }
        });
        match rows.is_empty() {
            true => Err(Stop::usage(format!(
                "no row is left: {}; choose other --groups or --engines",
                missing.join(", and ")
            ))),
            false => Ok(Self { rows, missing }),
        }
    }
}

/// What tells most, one thing varied at a time.
fn usual() -> Vec<TlsRow> {
    let base = TlsRow { group: Some(Group::X25519), ..TlsRow::default() };
    let of_engine = |engine| {
        let full = TlsRow { engine, ..base };
        [full, TlsRow { resume: Resume::Ticket, ..full }]
    };
    let mut rows: Vec<TlsRow> = Engine::built().flat_map(of_engine).collect();
    let groups = [Group::X25519MlKem768, Group::Secp256r1];
    rows.extend(groups.map(|group| TlsRow { group: Some(group), ..base }));
    rows.extend([KeyKind::Rsa, KeyKind::Ed25519].map(|key| TlsRow { key, ..base }));
    rows.push(TlsRow { mutual: true, ..base });
    rows
}

/// Each row with each value.
fn each<T: Copy>(rows: Vec<TlsRow>, values: &[T], set: fn(&mut TlsRow, T)) -> Vec<TlsRow> {
    let with = |row: TlsRow, value| {
        let mut row = row;
        set(&mut row, value);
        row
    };
    let of_row = |row| values.iter().map(move |value| with(row, *value)).collect::<Vec<_>>();
    rows.into_iter().flat_map(of_row).collect()
}

/// Whether an engine has a key exchange.
fn has(engine: Engine, group: Group) -> bool {
    let options = ClientOptions { engine, groups: vec![group], ..ClientOptions::default() };
    client_config(Trust::Insecure, None, options).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(line: &str, want: &[&str]) {
        let words = format!("flight-bench tls {line}");
        let words = words.split_whitespace().map(std::ffi::OsString::from);
        let config = Config::from_cli(crate::cli::from(words).expect("clap takes the line"));
        let got = match config.map(|config| config.work) {
            Ok(Work::Tls(work)) => work.rows.iter().map(TlsRow::id).chain(work.missing).collect(),
            Ok(other) => panic!("{other:?}"),
            Err(stop) => vec![stop.to_string()],
        };
        assert_eq!(got, want, "{line}");
    }

    #[test]
    fn rows_are_all_combinations_of_what_was_named() {
        check("--resume ticket", &["aws-lc-ec-ticket"]);
        check("--key rsa,ec,rsa", &["aws-lc-rsa-full", "aws-lc-ec-full"]);
        check(
            "--groups X25519MLKEM768,x25519 --engines aws-lc,ring --mutual on",
            &[
                "aws-lc-x25519mlkem768-ec-full-mutual",
                "aws-lc-x25519-ec-full-mutual",
                "ring-x25519-ec-full-mutual",
                "the TLS engine ring has no key exchange X25519MLKEM768",
            ],
        );
        check(
            "--groups X25519MLKEM768 --tls-engine ring",
            &[
                "no row is left: the TLS engine ring has no key exchange X25519MLKEM768; choose other \
               --groups or --engines",
            ],
        );
        check("--tls-engine ring", &["ring-ec-full"]);
    }

    #[test]
    fn a_server_that_runs_already_has_one_row() {
        check("grpc+tls://h:1 --resume ticket --tls-engine ring", &["ring-ec-ticket"]);
        check(
            "grpc+tls://h:1 --groups X25519",
            &["--groups is for servers that are started, and TARGET runs already, to which \
               --tls-groups offers; leave one of them out"],
        );
    }

    #[test]
    fn without_a_word_one_thing_varies_at_a_time() {
        let rows = usual();
        let base = &rows[0];
        for row in &rows {
            let differs = [
                row.engine != base.engine,
                row.group != base.group,
                row.key != base.key,
                row.mutual != base.mutual,
            ];
            assert!(differs.into_iter().filter(|differs| *differs).count() <= 1, "{row:?}");
            assert!(row.group.is_some_and(|group| has(row.engine, group)), "{row:?}");
        }
        let tickets = rows.iter().filter(|row| row.resume == Resume::Ticket).count();
        assert_eq!(tickets, Engine::built().count());
    }
}
