//! The worker's side: reads questions, answers them, owns nothing.

use super::sys;
use super::wire::{self, Answer};
use crate::assess::catalogue::BUILT_IN;
use crate::assess::{Catalogue, Question, assess_with, unanalysed};
use std::ffi::OsStr;
use std::io;
use std::os::unix::net::UnixStream;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// The private first argument.
pub(super) const ARGUMENT: &str = "assess-worker";

/// Stack of the thread that assesses: deeper than any text within the limits can reach.
const STACK_BYTES: usize = 256 * 1024 * 1024;

/// Processor time for one question. Unoptimized builds get ten times as much.
const CPU_MILLIS: u32 = if cfg!(debug_assertions) { 4000 } else { 400 };

/// Becomes a worker and does not return if this process was started as one. Call it before anything else.
pub fn maybe_worker() {
    if std::env::args_os().nth(1).as_deref() != Some(OsStr::new(ARGUMENT)) {
        return;
    }
    // Nobody reads messages of a worker; its death says enough.
    std::panic::set_hook(Box::new(|_| {}));
    let code = match run() {
        Ok(()) => 0,
        Err(_) => 1,
    };
    std::process::exit(code);
}

fn run() -> io::Result<()> {
    let socket = sys::confine()?;
    let thread = std::thread::Builder::new().stack_size(STACK_BYTES).spawn(move || serve(socket))?;
    thread.join().unwrap_or_else(|_| Err(io::Error::other("the worker failed")))
}

/// Answers until the other end is gone.
fn serve(mut socket: UnixStream) -> io::Result<()> {
    let Some(lesson) = wire::receive(&mut socket, wire::QUESTION_BYTES_MAX)? else { return Ok(()) };
    let catalogue = learn(&lesson).ok_or_else(|| io::Error::other("not a catalogue"))?;
    drop(lesson);
    while let Some(bytes) = wire::receive(&mut socket, wire::QUESTION_BYTES_MAX)? {
        let Some(question) = wire::question(&bytes) else { return Err(io::Error::other("not a question")) };
        drop(bytes);
        sys::limit_cpu(CPU_MILLIS)?;
        let mut out = Vec::new();
        wire::frame(&answer(&question, &catalogue), &mut out)?;
        sys::limit_cpu(0)?;
        wire::send(&mut socket, &out)?;
    }
    Ok(())
}

/// The built-in catalogue with what policy adds.
fn learn(lesson: &[u8]) -> Option<Catalogue> {
    let additions = wire::additions(lesson)?;
    if additions.files.is_empty() {
        return Some(BUILT_IN.clone());
    }
    Catalogue::with(&additions.files, additions.may_lower).ok()
}

fn answer(question: &Question, catalogue: &Catalogue) -> Answer {
    // Nothing the panicking call touched is used again: it borrows the question and returns a value.
    let assessment = catch_unwind(AssertUnwindSafe(|| assess_with(question, catalogue)));
    assessment.unwrap_or_else(|_| unanalysed(question, "the analysis failed on this text")).into()
}
