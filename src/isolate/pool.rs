//! The deciding side: starts workers, hands them questions, and gives up on them.

use super::{wire, worker};
use crate::assess::catalogue::Additions;
use crate::assess::{Assessment, Question};
use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Workers at the same time.
const WORKERS_MAX: usize = 2;
/// The wall clock for one answer: far above the processor time a worker may use, for machines that are busy.
const ANSWER_WAIT: Duration = Duration::from_secs(5);
/// Questions and bytes that are sent before the first answer is read. Small enough for a socket to hold.
const BATCH_QUESTIONS_MAX: usize = 64;
const BATCH_BYTES_MAX: usize = 64 * 1024;

/// Why a question got no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lost {
    /// No worker could be started.
    Unstarted,
    /// It did not fit a frame.
    TooLong,
    /// The worker ended: too much memory, stack or processor time.
    Died,
    /// The worker did not answer in time.
    Late,
    /// The answer could not be one.
    Unsound,
}

impl Lost {
    pub(super) const fn sentence(self) -> &'static str {
        match self {
            Lost::Unstarted => "no worker process could be started to analyse the text",
            Lost::TooLong => "what is asked about does not fit into one question",
            Lost::Died => "the analysis of this text used too much memory or processor time",
            Lost::Late => "the analysis of this text did not end",
            Lost::Unsound => "the analysis of this text gave an answer that cannot be one",
        }
    }
}

/// A few workers, started when first needed.
#[derive(Debug)]
pub(super) struct Pool {
    idle: Mutex<Idle>,
    returned: Condvar,
    nursery: Mutex<Sender<Sender<io::Result<Worker>>>>,
}

#[derive(Debug)]
struct Idle {
    workers: Vec<Worker>,
    /// Workers in use and idle.
    alive: usize,
}

/// As many of the next questions as one batch takes, at least one.
pub(super) fn batch(questions: &[Question]) -> &[Question] {
    let mut bytes = 0;
    let fits = questions.iter().take(BATCH_QUESTIONS_MAX).take_while(|question| {
        let names: usize = question.secret_names.iter().chain(&question.positional).map(String::len).sum();
        let programs = question.programs.len() * 256;
        bytes += question.text.len() + names + programs + 4096;
        bytes <= BATCH_BYTES_MAX
    });
    &questions[..fits.count().clamp(1, questions.len())]
}

impl Pool {
    pub(super) fn new(program: PathBuf, additions: &Additions) -> io::Result<Pool> {
        let mut lesson = Vec::new();
        wire::frame(additions, &mut lesson)?;
        if lesson.len() > wire::QUESTION_BYTES_MAX {
            return Err(io::Error::other("the catalogue files of the policy are larger than 1 MiB"));
        }
        let (nursery, orders) = channel();
        // A worker dies with the thread that started it, so one thread that lives as long as the pool starts them all.
        std::thread::Builder::new().name("workers".to_owned()).spawn(move || nurse(&program, &lesson, &orders))?;
        let idle = Mutex::new(Idle { workers: Vec::new(), alive: 0 });
        Ok(Pool { idle, returned: Condvar::new(), nursery: Mutex::new(nursery) })
    }

    /// Answers the questions in order; `Err` says why the one behind the last answer has none.
    pub(super) fn ask(&self, questions: &[Question], answers: &mut Vec<Assessment>) -> Result<(), Lost> {
        let mut frames = Vec::new();
        let mut framed = 0;
        for question in questions {
            let before = frames.len();
            let fits = wire::frame(question, &mut frames).is_ok() && frames.len() - before <= wire::QUESTION_BYTES_MAX;
            if !fits {
                frames.truncate(before);
                break;
            }
            framed += 1;
        }
        if framed == 0 {
            return Err(Lost::TooLong);
        }
        let (mut worker, fresh) = self.take()?;
        let before = answers.len();
        let mut result = worker.exchange(&frames, &questions[..framed], answers);
        if result == Err(Lost::Died) && !fresh && answers.len() == before {
            // It may have died while it was idle: once more with a new one.
            drop(worker);
            worker = self.start()?;
            result = worker.exchange(&frames, &questions[..framed], answers);
        }
        self.put_back(result.is_ok().then_some(worker));
        result
    }

    /// A worker, and whether it has never been asked.
    fn take(&self) -> Result<(Worker, bool), Lost> {
        let mut idle = self.lock();
        loop {
            if let Some(worker) = idle.workers.pop() {
                return Ok((worker, false));
            }
            if idle.alive < WORKERS_MAX {
                idle.alive += 1;
                break;
            }
            idle = self.returned.wait(idle).unwrap_or_else(PoisonError::into_inner);
        }
        drop(idle);
        self.start().map(|worker| (worker, true))
    }

    /// A new worker in the place of one that is counted already; the place is freed if there is none.
    fn start(&self) -> Result<Worker, Lost> {
        let (reply, worker) = channel();
        let ordered = self.nursery.lock().unwrap_or_else(PoisonError::into_inner).send(reply);
        match ordered.ok().and_then(|()| worker.recv().ok()) {
            Some(Ok(worker)) => Ok(worker),
            Some(Err(_)) | None => {
                self.put_back(None);
                Err(Lost::Unstarted)
            }
        }
    }

    /// `None`: the worker is gone.
    fn put_back(&self, worker: Option<Worker>) {
        let mut idle = self.lock();
        match worker {
            Some(worker) => idle.workers.push(worker),
            None => idle.alive -= 1,
        }
        drop(idle);
        self.returned.notify_one();
    }

    fn lock(&self) -> MutexGuard<'_, Idle> {
        // A list of workers is sound at every point, whoever panicked while holding it.
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Starts a worker for every order until the pool is gone.
fn nurse(program: &PathBuf, lesson: &[u8], orders: &Receiver<Sender<io::Result<Worker>>>) {
    while let Ok(reply) = orders.recv() {
        // Nobody waits any more: the worker is dropped, which ends it.
        drop(reply.send(Worker::start(program, lesson)));
    }
}

/// A worker process and the socket to it. Dropping it ends it.
#[derive(Debug)]
struct Worker {
    child: Child,
    socket: UnixStream,
}

impl Worker {
    /// `lesson` is the frame of additions that it reads before any question.
    fn start(program: &PathBuf, lesson: &[u8]) -> io::Result<Worker> {
        let (ours, theirs) = UnixStream::pair()?;
        ours.set_write_timeout(Some(ANSWER_WAIT))?;
        let child = Command::new(program)
            .arg0("tollgate")
            .arg(worker::ARGUMENT)
            .env_clear()
            .current_dir("/")
            .stdin(Stdio::null())
            .stdout(OwnedFd::from(theirs))
            .stderr(Stdio::null())
            .spawn()?;
        let mut worker = Worker { child, socket: ours };
        wire::send(&mut worker.socket, lesson)?;
        Ok(worker)
    }

    fn exchange(&mut self, frames: &[u8], questions: &[Question], answers: &mut Vec<Assessment>) -> Result<(), Lost> {
        wire::send(&mut self.socket, frames).map_err(|error| lost(&error))?;
        for question in questions {
            let mut timed = Timed { socket: &mut self.socket, until: Instant::now() + ANSWER_WAIT };
            let bytes = wire::receive(&mut timed, wire::ANSWER_BYTES_MAX).map_err(|error| lost(&error))?;
            let bytes = bytes.ok_or(Lost::Died)?;
            answers.push(wire::answer(&bytes, question).ok_or(Lost::Unsound)?);
        }
        Ok(())
    }
}

/// Reads until a point in time, however slowly the bytes come.
struct Timed<'a> {
    socket: &'a mut UnixStream,
    until: Instant,
}

impl Read for Timed<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let left = self.until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        self.socket.set_read_timeout(Some(left))?;
        self.socket.read(buffer)
    }
}

fn lost(error: &io::Error) -> Lost {
    match error.kind() {
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => Lost::Late,
        io::ErrorKind::InvalidData => Lost::Unsound,
        _ => Lost::Died,
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        // It may be gone already; then there is nobody to kill and only the zombie to collect.
        _ = self.child.kill();
        _ = self.child.wait();
    }
}
