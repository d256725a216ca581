//! A store of its own for each test, with requests to put into it.

use std::path::PathBuf;
use tollgate::assess::{Class, Question, unanalysed};
use tollgate::authorize::evidence::{CardFacts, EVIDENCE_VERSION};
use tollgate::authorize::subject::{Place, ResourceLimits, SUBJECT_VERSION, Stdin, What};
use tollgate::authorize::*;
use tollgate::policy::{Decision, LimitValues, Recorded, Verdict};
use tollgate::record::{Context, Redacted, Redactor};
use tollgate::store::*;

pub struct World {
    pub store: Store,
    pub dir: PathBuf,
    _temp: Option<tempfile::TempDir>,
}

impl World {
    /// A store in this directory, made where it is missing.
    pub fn at(dir: &std::path::Path) -> World {
        World { store: Store::open(dir).unwrap(), dir: dir.to_owned(), _temp: None }
    }

    pub fn new() -> World {
        let temp = tempfile::tempdir().unwrap();
        let dir = temp.path().join("state");
        World { store: Store::open(&dir).unwrap(), dir, _temp: Some(temp) }
    }

    /// End the store and open it anew.
    pub fn again(self) -> World {
        let World { store, dir, _temp } = self;
        drop(store);
        World { store: Store::open(&dir).unwrap(), dir, _temp }
    }

    /// End the store and keep the directory.
    pub fn end(self) -> Ended {
        let World { store, dir, _temp } = self;
        drop(store);
        Ended { dir, _temp }
    }

    /// End the store; its database, opened by somebody without our rules of access.
    pub fn raw(self) -> (rusqlite::Connection, Ended) {
        let ended = self.end();
        let db = rusqlite::Connection::open(ended.dir.join("tollgate.db")).unwrap();
        db.execute_batch("PRAGMA foreign_keys=OFF").unwrap();
        (db, ended)
    }
}

/// What is left of a world whose store has ended.
pub struct Ended {
    pub dir: PathBuf,
    _temp: Option<tempfile::TempDir>,
}

pub fn red(text: &str) -> Redacted {
    Redactor::new(Context::default()).output(text.as_bytes())
}

pub fn boot(n: u8) -> BootId {
    BootId::parse(&format!("00000000-0000-0000-0000-0000000000{n:02}")).unwrap()
}

/// A moment of a clock that only the test moves.
pub fn at(ms: i64) -> Now {
    Now { wall_ms: 1_800_000_000_000 + ms, boot_ms: 1_000_000 + ms, boot_id: boot(1) }
}

pub fn session(uid: u32, pid: u32) -> Session {
    Session { uid, agent: Runner { pid, started_ticks: 7, boot_id: boot(1) } }
}

pub fn runner(pid: u32) -> Runner {
    Runner { pid, started_ticks: 11, boot_id: boot(1) }
}

pub fn ana() -> Approver {
    Approver { uid: 1000, pid: 44, exe: "/usr/bin/tollgate".into(), channel: Channel::ApproveSocket }
}

pub fn policy() -> Digest {
    Digest::of(b"policy")
}

/// A request for this command by this session.
pub fn asks(store: &Store, command: &str, class: Class, session: &Session) -> NewRequest {
    let key = store.key();
    let action = Action::new(ActionKind::Run, class);
    let facts = SubjectFacts {
        v: SUBJECT_VERSION,
        what: What::Text,
        origin: tollgate::policy::model::Origin::Agent,
        command: key.tag("command", [command.as_bytes()]),
        command_bytes: command.len() as u64,
        envelope: None,
        argv0: "bash".into(),
        options: vec!["-c".into()],
        positional: key.tag("positional", []),
        positional_count: 0,
        uid: session.uid,
        gid: session.uid,
        groups: vec![],
        umask: 0o022,
        limits: ResourceLimits::default(),
        cwd: Place { path: "/home/ana/project".into(), device: 1, inode: 2 },
        env: key.tag("env", [&b"LANG=C"[..]]),
        env_influence: vec![],
        stdin: Stdin::Null,
        tier: "supervised".into(),
        action,
        machine: Digest::of(b"machine"),
        session: session.clone(),
        carried: None,
        accounts: vec![],
    };
    let mut assessment = unanalysed(&Question::text_only(command), "a test");
    assessment.class = class;
    let digest = Digest::of(serde_json::to_string(&assessment).unwrap().as_bytes());
    let evidence = EvidenceFacts {
        v: EVIDENCE_VERSION,
        executables: vec![],
        closure: vec![],
        targets: vec![],
        operands: vec![],
        unbound: vec![],
        workspace: None,
        fence: FenceSpec::of(class).digest().unwrap(),
        card: CardFacts {
            command: command.to_owned(),
            cwd: "~/project".into(),
            agent: "pi".into(),
            assessment,
            rule: "tier.supervised".into(),
            why: "asks".into(),
            branch: None,
            accounts: vec![],
            fence: vec![],
            privileged: false,
        },
    };
    NewRequest {
        requester: Requester { session: session.clone(), agent: red("pi") },
        subject: Subject::bind(&facts).unwrap(),
        evidence: Evidence::bind(&evidence).unwrap(),
        policy: policy(),
        assessment: digest,
        fence: FenceSpec::of(class),
        verdict: Verdict {
            decision: Decision::Prompt,
            rule: "tier.supervised".into(),
            why: "asks".into(),
            lift: None,
            privileged: false,
        },
        tier: "supervised".into(),
        action,
        command: red(command),
        cwd: red("~/project"),
        hides_code: false,
        ttl_ms: 600_000,
        kin: Digest::of(command.as_bytes()),
        around: Recorded::NOTHING,
        limits: LimitValues::BUILT_IN,
        needed: 1,
    }
}

pub fn approve(subject: Digest) -> Decide {
    let decision = Verb::ApproveOnce { fence: None, ttl_ms: None };
    Decide { decision, subject, evidence: None, approver: ana(), proof: Proof::None, comment: None }
}

pub fn deny(subject: Digest) -> Decide {
    Decide { decision: Verb::Deny, comment: Some(red("use cargo clean")), ..approve(subject) }
}

pub fn outcome(code: u8) -> Outcome {
    Outcome { duration_ms: 12, fence: "landlock".into(), ..Outcome::only(End::Exit(code), None) }
}

/// Park it and say yes; the claim that would use it.
pub fn approved(store: &Store, command: &str, class: Class, who: &Session, now: &Now) -> (RequestId, Claim) {
    let new = asks(store, command, class, who);
    let (subject, evidence) = (new.subject.digest(), new.evidence.digest());
    let request = store.park(new, now.clone()).wait().unwrap().request;
    let Decided::Approved { lease } = store.decide(request, approve(subject), now.clone()).wait().unwrap() else {
        panic!("approved");
    };
    let claim = Claim {
        lease: lease.id,
        subject,
        evidence,
        policy: policy(),
        action: lease.action,
        fence: lease.fence,
        session: who.clone(),
        runner: runner(99),
        revalidated: vec![],
    };
    (request, claim)
}

/// The execution of a claim that must succeed.
#[track_caller]
pub fn claimed(answer: Pending<Claimed>) -> ExecutionId {
    answer.wait().unwrap().execution()
}

/// The whole chain is well; its records.
#[track_caller]
pub fn intact(store: &Store) -> Vec<tollgate::record::audit::Record> {
    let rows = store.audit_lines(1, usize::MAX).wait().unwrap();
    let lines: Vec<String> = rows.into_iter().map(|(_, line)| line).collect();
    tollgate::record::audit::linked(lines.iter().map(|line| line.as_bytes())).unwrap();
    tollgate::record::audit::records(lines.iter().map(String::as_str))
}

/// The story of a request.
pub fn story(store: &Store, request: RequestId) -> Story {
    store.get(request.into()).wait().unwrap()
}

/// The error code of an answer that must be one.
#[track_caller]
pub fn code<T: std::fmt::Debug>(answer: Pending<T>) -> &'static str {
    answer.wait().unwrap_err().code().name()
}
