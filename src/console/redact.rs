//! Removes secrets from standard input: as a filter for text, or line by line for programs.

use super::output::{Done, Failure, Page};
use crate::facts::limits::LINE_BYTES_MAX;
use crate::record::redact::Stream;
use crate::record::{Context, Redactor};
use serde::Deserialize;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io::{self, BufRead, Read};

#[derive(Debug, clap::Args)]
pub struct Args {
    /// What the input is
    #[arg(long, value_enum, default_value = "output")]
    mode: Mode,
    /// Read lines {"id","mode","input","ctx":{home,user,env}} and answer each with {"id","output"}
    #[arg(long)]
    jsonl: bool,
}

#[derive(Clone, Copy, Debug, clap::ValueEnum, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Mode {
    Command,
    Output,
}

pub fn run(args: Args) -> Done {
    if args.jsonl {
        return stream();
    }
    let context = Context {
        home: std::env::home_dir().and_then(|home| home.into_os_string().into_string().ok()),
        user: std::env::var("USER").ok(),
        patterns: Vec::new(),
        env: std::env::vars_os()
            .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
            .collect(),
    };
    let redactor = Redactor::new(context);
    let mut page = Page::open();
    match args.mode {
        Mode::Command => {
            let mut input = Vec::new();
            io::stdin().lock().read_to_end(&mut input)?;
            page.raw(redactor.command(&String::from_utf8_lossy(&input)).as_str().as_bytes())?;
        }
        Mode::Output => filter(&redactor, &mut page)?,
    }
    page.done()
}

/// In constant memory, each line as soon as it is whole.
fn filter(redactor: &Redactor, page: &mut Page) -> Result<(), Failure> {
    let mut stream = Stream::new(redactor);
    let mut chunk = vec![0; 64 * 1024];
    let mut out = Vec::new();
    let mut stdin = io::stdin().lock();
    loop {
        let read = stdin.read(&mut chunk)?;
        if read == 0 {
            stream.finish(&mut out);
            return page.raw(&out);
        }
        stream.push(&chunk[..read], &mut out);
        page.raw(&out)?;
        page.flush()?;
        out.clear();
    }
}

#[derive(Deserialize)]
struct Asked {
    id: Value,
    mode: Mode,
    input: String,
    #[serde(default)]
    ctx: Known,
}

#[derive(Default, Deserialize)]
struct Known {
    home: Option<String>,
    user: Option<String>,
    #[serde(default)]
    env: BTreeMap<String, String>,
}

fn stream() -> Done {
    let mut page = Page::open();
    let mut input = io::BufReader::with_capacity(64 * 1024, io::stdin().lock());
    let mut line = Vec::new();
    loop {
        line.clear();
        if input.by_ref().take(LINE_BYTES_MAX as u64 + 1).read_until(b'\n', &mut line)? == 0 {
            return page.done();
        }
        if line.len() > LINE_BYTES_MAX {
            return Err(Failure::no(
                format!("a line is longer than {LINE_BYTES_MAX} bytes"),
                "Use the filter form for long text",
            ));
        }
        match serde_json::from_slice::<Asked>(&line) {
            Ok(asked) => {
                let Known { home, user, env } = asked.ctx;
                let redactor =
                    Redactor::new(Context { home, user, env: env.into_iter().collect(), patterns: Vec::new() });
                let output = match asked.mode {
                    Mode::Command => redactor.command(&asked.input),
                    Mode::Output => redactor.output(asked.input.as_bytes()),
                };
                page.json(&json!({"id": asked.id, "output": output}))?;
            }
            Err(error) => page.json(&json!({"error": format!("not a request: {error}")}))?,
        }
        if !input.buffer().contains(&b'\n') {
            page.flush()?;
        }
    }
}
