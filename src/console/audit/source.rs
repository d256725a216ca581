//! Where do lines and checkpoints come from? The gate while it runs, else the store itself, or a file. A few at a time.

use super::super::output::Failure;
use crate::facts::limits::{AUDIT_CHECKPOINTS_MAX, AUDIT_LINE_BYTES_MAX, AUDIT_LINES_MAX};
use crate::gate::protocol::{AuditCheckpoints, AuditCheckpointsAnswer, AuditLines, AuditLinesAnswer, Method};
use crate::gate::{Client, Dirs};
use crate::record::audit::{PublicKey, Tree};
use crate::store::{Archive, OUTSIDE, PUBLIC, StoreError};
use std::collections::VecDeque;
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

/// The record, from its first line on.
#[derive(Debug)]
pub struct Source {
    from: From,
    ready: VecDeque<Vec<u8>>,
    /// The line to ask for next; `None` in a file.
    next: Option<u64>,
    /// Lines after this one are not asked for: they came meanwhile.
    until: u64,
}

#[derive(Debug)]
enum From {
    Gate(Client),
    Store(Archive),
    File(PathBuf, BufReader<File>),
    Nothing,
}

/// What vouches for the record.
#[derive(Debug, Default)]
pub struct Vouchers {
    /// Checkpoints by the place they come from.
    pub places: Vec<(String, String)>,
    /// The tree over what was pruned.
    pub cut: Option<Tree>,
    pub first: Option<PublicKey>,
    pub now: Option<PublicKey>,
}

fn store(error: StoreError) -> Failure {
    Failure::no(format!("the store cannot be read: {error}"), "Run `tollgate doctor`")
}

pub fn cannot(path: &Path, error: impl std::fmt::Display) -> Failure {
    Failure::no(format!("{}: {error}", path.display()), "Name a file that `tollgate audit export` wrote")
}

/// The text of a file; nothing where it is not there.
pub fn text(path: &Path) -> Result<Option<String>, Failure> {
    match std::fs::read_to_string(path) {
        Ok(text) => Ok(Some(text)),
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(e) => Err(cannot(path, e)),
    }
}

impl Source {
    pub fn open(file: Option<&Path>) -> Result<Source, Failure> {
        let from = match file {
            Some(path) => From::File(path.to_owned(), BufReader::new(File::open(path).map_err(|e| cannot(path, e))?)),
            None => match super::super::gate::approver()? {
                Some(gate) => From::Gate(gate),
                None => match Archive::open(&Dirs::find()?.state()?).map_err(store)? {
                    Some(archive) => From::Store(archive),
                    None => From::Nothing,
                },
            },
        };
        Ok(Source { from, ready: VecDeque::new(), next: Some(1), until: u64::MAX })
    }

    /// The next line without its end, or `None` at the end of the record.
    pub fn line(&mut self) -> Result<Option<Vec<u8>>, Failure> {
        if let From::File(path, input) = &mut self.from {
            let mut line = Vec::new();
            let most = AUDIT_LINE_BYTES_MAX as u64 + 2;
            let read = input.by_ref().take(most).read_until(b'\n', &mut line).map_err(|e| cannot(path, e))?;
            if line.last() == Some(&b'\n') {
                line.pop();
            }
            return Ok((read > 0).then_some(line));
        }
        if self.ready.is_empty()
            && let Some(from) = self.next.filter(|from| *from <= self.until)
        {
            let rows: Vec<String>;
            let next;
            (rows, next) = self.page(from)?;
            // Where there are no more yet, more may come.
            self.next = next.or(Some(from));
            self.ready.extend(rows.into_iter().map(String::into_bytes));
        }
        Ok(self.ready.pop_front())
    }

    fn page(&mut self, from: u64) -> Result<(Vec<String>, Option<u64>), Failure> {
        let most = usize::try_from(self.until.saturating_sub(from) + 1).unwrap_or(usize::MAX).min(AUDIT_LINES_MAX);
        match &mut self.from {
            From::Gate(gate) => {
                let list = AuditLines { from, limit: Some(most as u64) };
                let answer: AuditLinesAnswer = gate.call(Method::AuditLines, &list)?;
                Ok((answer.lines, answer.next))
            }
            From::Store(archive) => {
                let rows = archive.lines(from, most).map_err(store)?;
                let next = rows.last().map(|(seq, _)| seq + 1);
                Ok((rows.into_iter().map(|(_, line)| line).collect(), next))
            }
            From::File(..) | From::Nothing => Ok((Vec::new(), None)),
        }
    }

    /// Lines that come from now on are read as well; not from a file, which does not grow.
    ///
    /// # Errors
    /// It is a file, or nothing.
    pub fn follow(&mut self) -> Result<(), Failure> {
        self.until = u64::MAX;
        match self.from {
            From::Gate(_) => Ok(()),
            From::Store(_) | From::File(..) | From::Nothing => {
                Err(Failure::no("only the record of a gate that runs grows", "Start one with `tollgate daemon`"))
            }
        }
    }

    /// What vouches for this record. A gate that runs makes a checkpoint about every line first, and only those lines
    /// are read then. Beside a file `FILE` its `FILE.checkpoints` and `FILE.pub` are looked at, else what is here.
    pub fn vouchers(&mut self) -> Result<Vouchers, Failure> {
        let state = Dirs::find()?.state()?;
        let mut found = Vouchers::default();
        let mut outside = vec![state.join(OUTSIDE)];
        match &mut self.from {
            From::Gate(gate) => {
                let (mut inside, mut after, mut make) = (String::new(), 0, true);
                loop {
                    let list = AuditCheckpoints { after, make };
                    let answer: AuditCheckpointsAnswer = gate.call(Method::AuditCheckpoints, &list)?;
                    if answer.notes.is_empty() {
                        outside = answer.places.iter().map(PathBuf::from).collect();
                        found.now = PublicKey::parse(&answer.key);
                        found.cut = answer.pruned.and_then(|(size, edge)| Tree::from_edge(size, &edge));
                        break;
                    }
                    inside.push_str(&answer.notes.concat());
                    (after, make) = (answer.last, false);
                }
                self.until = after;
                found.places.push(("the database".into(), inside));
            }
            From::Store(archive) => {
                let (mut inside, mut after) = (String::new(), 0);
                loop {
                    let rows = archive.checkpoints(after, AUDIT_CHECKPOINTS_MAX).map_err(store)?;
                    let Some((last, _)) = rows.last() else { break };
                    after = *last;
                    rows.iter().for_each(|(_, note)| inside.push_str(note));
                }
                found.now = archive.key().map_err(store)?;
                let pruned = archive.pruned().map_err(store)?;
                found.cut = pruned.and_then(|(size, edge)| Tree::from_edge(size, &edge));
                found.places.push(("the database".into(), inside));
            }
            From::File(path, _) => {
                let beside = |end: &str| {
                    let mut name = path.clone().into_os_string();
                    name.push(end);
                    PathBuf::from(name)
                };
                if let Some(notes) = text(&beside(".checkpoints"))? {
                    found.places.push((beside(".checkpoints").display().to_string(), notes));
                    found.first = text(&beside(".pub"))?.and_then(|text| PublicKey::parse(text.trim_end()));
                    outside.clear();
                }
            }
            From::Nothing => {}
        }
        for path in outside {
            if let Some(notes) = text(&path)? {
                found.places.push((path.display().to_string(), notes));
            }
        }
        if found.first.is_none() {
            found.first = text(&state.join(PUBLIC))?.and_then(|text| PublicKey::parse(text.trim_end()));
        }
        Ok(found)
    }
}
