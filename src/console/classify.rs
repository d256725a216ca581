//! What would this command do? One command for a person, or a stream of them for a program.
//!
//! Nothing runs, nothing is stored. Without `--no-fs` the programs are looked up as a shell here would, and a gate that
//! runs is asked which of them are trusted by their content.

use super::output::{Done, Failure, Page};
use crate::assess::catalogue::Additions;
use crate::assess::{Assessment, Class, Dialect, Question, Segment};
use crate::authorize::Digest;
use crate::facts::limits::LINE_BYTES_MAX;
use crate::gate::identity::{Finder, Trusted, Trusts, Who};
use crate::gate::protocol::{Method, TrustAnswer, TrustedProgram};
use crate::isolate::Assessor;
use crate::record::{visible, visible_block};
use serde::Serialize;
use serde_json::{Value, json};
use std::io::{self, BufRead, Read};
use std::os::unix::ffi::OsStrExt;
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
    let mut question = question(&args)?;
    let (assessment, programs) = match question.cwd.clone() {
        None => (assessor.assess(&question), Vec::new()),
        Some(cwd) => here(&assessor, &mut question, Path::new(&cwd)),
    };
    let mut page = Page::open();
    let text = inside(&question, &assessment);
    if args.json {
        page.json(&Answer { programs, ..Answer::new(None, text, &assessment) })?;
    } else {
        if let Some(envelope) = &assessment.envelope {
            page.line(&format!("in the envelope of {}: {}", envelope.kind.title(), visible(text)))?;
        }
        tree(&mut page, text, &assessment)?;
        if !programs.is_empty() {
            let paths: Vec<_> = programs.iter().map(|program| program.path.as_str()).collect();
            page.line(&format!("  programs: {}", paths.join(", ")))?;
        }
    }
    page.done()
}

/// The text that the assessment is about.
fn inside<'a>(question: &'a Question, assessment: &'a Assessment) -> &'a str {
    assessment.envelope.as_ref().map_or(&question.text, |envelope| &envelope.command)
}

/// One command, as if it were given here.
pub fn assessed(command: &str, additions: &Additions) -> Result<(Question, Assessment), Failure> {
    let assessor = Assessor::knowing(additions).map_err(|e| {
        Failure::no(format!("cannot start the assessor: {e}"), "Run `tollgate doctor` to see what is missing")
    })?;
    let command = Some(command.to_owned());
    let args = Args { command, json: false, jsonl: false, dialect: Spoken::Bash, cwd: None, no_fs: false };
    let mut question = question(&args)?;
    let cwd = question.cwd.clone().unwrap_or_default();
    let (assessment, _) = here(&assessor, &mut question, Path::new(&cwd));
    Ok((question, assessment))
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

/// As the requester's shell would find its programs, if it were asked for here, by this user.
fn here(assessor: &Assessor, question: &mut Question, cwd: &Path) -> (Assessment, Vec<Found>) {
    let groups = rustix::process::getgroups().unwrap_or_default().into_iter().map(|gid| gid.as_raw());
    let groups = groups.chain([rustix::process::getegid().as_raw()]).collect();
    let (path, home) = (std::env::var_os("PATH"), std::env::home_dir());
    let trusts = Trusts::default().with(trusted());
    let finder = Finder {
        path: path.as_ref().map(|path| path.as_bytes()),
        ignores: std::env::var_os("EXECIGNORE").is_some_and(|value| !value.is_empty()),
        cwd,
        home: home.as_deref(),
        who: Who { uid: rustix::process::geteuid().as_raw(), groups },
        trusts: &trusts,
    };
    let assessment = finder.assess(assessor, question);
    let found = assessment.names.iter().filter_map(|name| {
        let path = visible(&finder.look(name)?.path.to_string_lossy());
        Some(Found { name: visible(name), path })
    });
    let programs = found.collect();
    (assessment, programs)
}

/// What a running gate trusts; without one, or where it does not answer us, nothing.
fn trusted() -> Vec<Trusted> {
    let asked = || {
        let answer: TrustAnswer = super::gate::approver().ok()??.call(Method::TrustList, &json!({})).ok()?;
        Some(answer.programs)
    };
    let read = |program: TrustedProgram| {
        Some(Trusted { sha256: Digest::parse(&program.sha256)?, size: program.size, name: program.name })
    };
    asked().unwrap_or_default().into_iter().filter_map(read).collect()
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
                    let assessment = assessor.assess(&question);
                    page.json(&Answer::new(Some(id), inside(&question, &assessment), &assessment))?;
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
    /// The files behind the names, where they were looked up.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    programs: Vec<Found>,
}

/// The file behind the name of a program.
#[derive(Serialize)]
struct Found {
    name: String,
    path: String,
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
            programs: Vec::new(),
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
