//! What would this command do? One command for a person, or a stream of them for a program.
//!
//! Only the text is judged: nothing runs, nothing is stored, no gate is asked.

use super::output::{Done, Failure, Page};
use crate::assess::{Assessment, Class, Dialect, Question, Segment};
use crate::facts::limits::LINE_BYTES_MAX;
use crate::isolate::Assessor;
use crate::record::{visible, visible_block};
use serde::Serialize;
use serde_json::{Value, json};
use std::io::{self, BufRead, Read};
use std::path::{Path, PathBuf};

#[derive(Debug, clap::Args)]
pub struct Args {
    /// The command text
    #[arg(value_name = "CMD", required_unless_present = "jsonl", conflicts_with = "jsonl", allow_hyphen_values = true)]
    command: Option<String>,
    /// Answer as one JSON object
    #[arg(long)]
    json: bool,
    /// Read lines {"id":…,"cmd":…} and answer each with one line, in order
    #[arg(long)]
    jsonl: bool,
    /// The shell that would read the text
    #[arg(long, value_enum, default_value = "bash")]
    dialect: Spoken,
    /// The directory it would run in
    #[arg(long, value_name = "DIR")]
    cwd: Option<PathBuf>,
    /// Judge the text alone: nothing is known about directories
    #[arg(long)]
    no_fs: bool,
}

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum Spoken {
    Bash,
    Sh,
}

impl From<Spoken> for Dialect {
    fn from(spoken: Spoken) -> Dialect {
        match spoken {
            Spoken::Bash => Dialect::Bash,
            Spoken::Sh => Dialect::Sh,
        }
    }
}

pub fn run(args: Args) -> Done {
    let assessor = Assessor::new().map_err(|e| {
        Failure::no(format!("cannot start the assessor: {e}"), "Run `tollgate doctor` to see what is missing")
    })?;
    if args.jsonl {
        return stream(&assessor, args.dialect.into());
    }
    let question = question(&args)?;
    let assessment = assessor.assess(&question);
    let mut page = Page::open();
    if args.json {
        page.json(&Answer::new(None, &question.text, &assessment))?;
    } else {
        tree(&mut page, &question.text, &assessment)?;
    }
    page.done()
}

fn question(args: &Args) -> Result<Question, Failure> {
    let mut question = Question::text_only(args.command.clone().unwrap_or_default());
    question.dialect = args.dialect.into();
    if args.no_fs {
        return Ok(question);
    }
    let cwd = match &args.cwd {
        Some(dir) => dir.canonicalize().map_err(|e| {
            Failure::usage(format!("--cwd {}: {e}", dir.display()), "Name a directory that exists, or use --no-fs")
        })?,
        None => std::env::current_dir()
            .map_err(|e| Failure::no(format!("the current directory cannot be read: {e}"), "Use --cwd or --no-fs"))?,
    };
    question.workspace = Some(workspace_of(&cwd).to_string_lossy().into_owned());
    question.cwd = Some(cwd.to_string_lossy().into_owned());
    question.home = std::env::home_dir().map(|home| home.to_string_lossy().into_owned());
    question.secret_names = std::env::vars_os()
        .filter_map(|(name, _)| name.into_string().ok())
        .filter(|name| crate::record::redact::is_secret_name(name.as_bytes()))
        .collect();
    Ok(question)
}

/// The nearest directory above that holds a repository, else the directory itself.
fn workspace_of(cwd: &Path) -> &Path {
    cwd.ancestors().find(|dir| dir.join(".git").exists()).unwrap_or(cwd)
}

/// Answers each line before it waits for the next one, so that a pipe in both directions never stalls.
fn stream(assessor: &Assessor, dialect: Dialect) -> Done {
    let mut page = Page::open();
    let mut input = io::BufReader::with_capacity(64 * 1024, io::stdin().lock());
    let mut line = Vec::new();
    loop {
        line.clear();
        let read = input.by_ref().take(LINE_BYTES_MAX as u64 + 1).read_until(b'\n', &mut line)?;
        if read == 0 {
            return page.done();
        }
        if line.len() > LINE_BYTES_MAX {
            skip_line(&mut input, line.ends_with(b"\n"))?;
            page.json(&json!({"error": format!("a line may hold {LINE_BYTES_MAX} bytes")}))?;
        } else {
            match asked(&line) {
                Ok((id, text)) => {
                    let question = Question { dialect, ..Question::text_only(text) };
                    page.json(&Answer::new(Some(id), &question.text, &assessor.assess(&question)))?;
                }
                Err(why) => page.json(&json!({"error": why}))?,
            }
        }
        if !input.buffer().contains(&b'\n') {
            page.flush()?;
        }
    }
}

fn skip_line(input: &mut impl BufRead, ended: bool) -> io::Result<()> {
    if !ended {
        input.skip_until(b'\n')?;
    }
    Ok(())
}

fn asked(line: &[u8]) -> Result<(Value, String), String> {
    let value: Value = serde_json::from_slice(line).map_err(|e| format!("not JSON: {e}"))?;
    let Value::Object(mut object) = value else { return Err("not an object {\"id\",\"cmd\"}".into()) };
    match (object.remove("id"), object.remove("cmd")) {
        (Some(id), Some(Value::String(text))) => Ok((id, text)),
        (None, _) => Err("`id` is missing".into()),
        (Some(_), _) => Err("`cmd` is missing or not a string".into()),
    }
}

/// The interface's line: segments with the span, text, class, code and reason of what decided them.
#[derive(Serialize)]
struct Answer<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<Value>,
    class: Class,
    attributes: Vec<&'static str>,
    segments: Vec<Part<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    unknowns: Vec<Value>,
}

#[derive(Serialize)]
struct Part<'a> {
    span: [u32; 2],
    text: &'a str,
    class: Class,
    code: &'static str,
    reason: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    hint: Option<&'a str>,
    depth: u16,
    operator: &'a str,
}

impl<'a> Answer<'a> {
    fn new(id: Option<Value>, text: &'a str, assessment: &'a Assessment) -> Answer<'a> {
        Answer {
            id,
            class: assessment.class,
            attributes: assessment.attributes.iter().map(|a| a.name()).collect(),
            segments: assessment.segments.iter().map(|segment| Part::new(text, segment)).collect(),
            unknowns: assessment
                .unknowns
                .iter()
                .map(|u| json!({"span": [u.span.start, u.span.end], "what": u.what}))
                .collect(),
        }
    }
}

impl<'a> Part<'a> {
    fn new(text: &'a str, segment: &'a Segment) -> Part<'a> {
        let first = segment.reasons.first();
        Part {
            span: [segment.span.start, segment.span.end],
            text: segment.span.of(text),
            class: segment.class,
            code: first.map_or("unanalysed", |reason| reason.code.name()),
            reason: first.map_or("", |reason| reason.text.as_str()),
            hint: first.and_then(|reason| reason.hint.as_deref()),
            depth: segment.depth,
            operator: &segment.operator,
        }
    }
}

/// The whole first, then each segment under the operator that leads to it.
pub fn tree(page: &mut Page, text: &str, assessment: &Assessment) -> Result<(), Failure> {
    let attributes: Vec<_> = assessment.attributes.iter().map(|a| a.name()).collect();
    let attributes = if attributes.is_empty() { String::new() } else { format!("  [{}]", attributes.join(", ")) };
    page.line(&format!("{}{attributes}", page.class(assessment.class, 0)))?;
    for segment in &assessment.segments {
        let indent = "  ".repeat(usize::from(segment.depth.min(24)) + 1);
        let operator =
            if segment.operator.is_empty() { String::new() } else { format!("{} ", visible(&segment.operator)) };
        let class = page.class(segment.class, 11);
        page.line(&format!("{indent}{operator}{class} {}", visible(segment.span.of(text))))?;
        for reason in &segment.reasons {
            page.line(&format!("{indent}    {}: {}", reason.code.name(), visible(&reason.text)))?;
            if let Some(hint) = &reason.hint {
                page.line(&format!("{indent}    hint: {}", visible(hint)))?;
            }
        }
    }
    for unknown in &assessment.unknowns {
        page.line(&format!("  not known before it runs: {}", visible_block(&unknown.what)))?;
    }
    Ok(())
}
