//! How does the record leave this machine? As lines, or in the words of another system, to that system.

use super::super::moment;
use super::super::output::{Done, Failure, Page};
use super::send::{Collector, Journal};
use super::source::Source;
use crate::record::audit::{Joiner, Record};
use crate::record::export::{Context, at_ms, ocsf, otlp};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Records in one request to a collector.
const BATCH_MAX: usize = 100;
/// How often a record that is followed is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(250);
const JOURNAL: &str = "/run/systemd/journal/socket";

#[derive(Debug, clap::Args)]
pub struct Args {
    /// What to write
    #[arg(long, value_enum, default_value = "jsonl")]
    format: Format,
    /// Only what was recorded in the last 30m, 12h, 7d
    #[arg(long, value_name = "TIME", value_parser = moment::seconds)]
    since: Option<u64>,
    /// Go on with what is recorded from now on
    #[arg(long)]
    follow: bool,
    /// Where to: an OTLP collector as http://HOST:PORT/v1/logs, or the journal's socket; OTLP goes to standard output without
    #[arg(long, value_name = "PLACE")]
    to: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Format {
    /// Every line exactly as stored
    Jsonl,
    /// OCSF 1.3 process activity (class 1007), one object a line
    Ocsf,
    /// OTLP logs in JSON, over HTTP where `--to` names a collector
    Otlp,
    /// The journal's native protocol
    Journald,
    /// The signed checkpoints about the lines
    Checkpoints,
    /// The key of the first epoch, for those who verify
    Key,
}

/// Where records go.
enum Sink {
    Lines(Page),
    Ocsf(Page),
    Printed(Page),
    Collector(Collector),
    Journal(Journal),
}

pub fn run(args: &Args, file: Option<&Path>) -> Done {
    let mut source = Source::open(file)?;
    let vouchers = source.vouchers()?;
    let page = Page::open();
    let sink = match (args.format, &args.to) {
        (Format::Checkpoints, _) => {
            let mut page = page;
            if let Some((_, notes)) = vouchers.places.first() {
                page.raw(notes.as_bytes())?;
            }
            return page.done();
        }
        (Format::Key, _) => {
            let mut page = page;
            if let Some(key) = vouchers.first {
                page.line(&key.to_string())?;
            }
            return page.done();
        }
        (Format::Journald, to) => Sink::Journal(Journal::open(&PathBuf::from(to.as_deref().unwrap_or(JOURNAL)))?),
        (Format::Otlp, Some(to)) => Sink::Collector(Collector::parse(to)?),
        (Format::Jsonl | Format::Ocsf, Some(_)) => {
            return Err(Failure::usage("this format goes to standard output", "Leave `--to` out"));
        }
        (Format::Otlp, None) => Sink::Printed(page),
        (Format::Jsonl, None) => Sink::Lines(page),
        (Format::Ocsf, None) => Sink::Ocsf(page),
    };
    if args.follow {
        source.follow()?;
    }
    let since_ms = args.since.map(|s| moment::now_ms().saturating_sub(s.saturating_mul(1000)));
    let since_ms = since_ms.map_or(0, |ms| i64::try_from(ms).unwrap_or(i64::MAX));
    Shipping { sink, context: Context::default(), joiner: Joiner::default(), batch: Vec::new(), host: host(), since_ms }
        .run(&mut source, args.follow)
}

fn host() -> String {
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    crate::record::visible(name.trim())
}

struct Shipping {
    sink: Sink,
    context: Context,
    joiner: Joiner,
    /// Records that are sent together.
    batch: Vec<Record>,
    host: String,
    since_ms: i64,
}

impl Shipping {
    fn run(mut self, source: &mut Source, follow: bool) -> Done {
        loop {
            while let Some(line) = source.line()? {
                self.line(&line)?;
            }
            self.flush()?;
            if !follow {
                return Ok(std::process::ExitCode::SUCCESS);
            }
            std::thread::sleep(LOOK_EVERY);
        }
    }

    fn line(&mut self, line: &[u8]) -> Result<(), Failure> {
        let record = self.joiner.line(line);
        if let Sink::Lines(page) = &mut self.sink {
            // A part has the moment of its record.
            let at = record.or_else(|| serde_json::from_slice(line).ok());
            if at.is_none_or(|record| at_ms(&record) >= self.since_ms) {
                page.raw(line)?;
                page.raw(b"\n")?;
            }
            return Ok(());
        }
        let Some(record) = record else { return Ok(()) };
        if at_ms(&record) < self.since_ms {
            // What it says about its request is needed for those that follow.
            self.context.tell(&record);
            return Ok(());
        }
        match &mut self.sink {
            Sink::Ocsf(page) => page.json(&ocsf::event(&mut self.context, &record, &self.host)),
            Sink::Journal(journal) => journal.send(&mut self.context, &record),
            Sink::Lines(_) | Sink::Printed(_) | Sink::Collector(_) => {
                self.batch.push(record);
                if self.batch.len() >= BATCH_MAX { self.ship() } else { Ok(()) }
            }
        }
    }

    /// Sends what waits for others to be sent with it.
    fn ship(&mut self) -> Result<(), Failure> {
        let records = std::mem::take(&mut self.batch);
        if records.is_empty() {
            return Ok(());
        }
        let request = otlp::request(&mut self.context, &records, &self.host);
        match &mut self.sink {
            Sink::Printed(page) => page.json(&request),
            Sink::Collector(collector) => collector.post(&request),
            Sink::Lines(_) | Sink::Ocsf(_) | Sink::Journal(_) => Ok(()),
        }
    }

    fn flush(&mut self) -> Result<(), Failure> {
        self.ship()?;
        match &mut self.sink {
            Sink::Lines(page) | Sink::Ocsf(page) | Sink::Printed(page) => page.flush(),
            Sink::Collector(_) | Sink::Journal(_) => Ok(()),
        }
    }
}
