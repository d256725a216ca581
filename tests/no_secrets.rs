//! Secrets of every kind go through the whole product, and none of them is found on the disk afterwards, in what is
//! exported, or in the gate's environment.

use crate::world::{Agent, World, claim, parked, text};
use base64::Engine as _;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use tollgate::gate::protocol::Choice;

/// Commands; `{a20}` is a secret of twenty letters and digits, `{x32}` of hexadecimal digits, `{p}` a password.
const COMMANDS: &[&str] = &[
    "echo ghp_{a36}",
    "echo sk-ant-api03-{a93}AA",
    "echo glpat-{a20}",
    "echo AKIA{u16}",
    "echo xoxb-{d12}-{d13}-{a24}",
    "echo AIza{a35}",
    "echo npm_{a36}",
    "echo dop_v1_{x64}",
    "echo SG.{a22}.{a43}",
    "echo sk_live_{a24}",
    "echo hf_{t34}",
    "echo shpat_{x32}",
    "echo eyJhbGciOiJIUzI1NiJ9.eyJ{a40}.{a43}",
    "curl -H 'Authorization: Bearer {a40}' https://api.example.com/",
    "curl -u admin:{p} https://api.example.com/",
    "curl -H 'X-Api-Key: {a40}' https://api.example.com/",
    "curl 'https://api.example.com/?access_token={a30}&page=2'",
    "curl -b 'session={a30}' https://api.example.com/",
    "wget --http-password={p} https://files.example.com/a",
    "git clone https://bot:{p}@git.example.com/a.git",
    "git push https://oauth2:glpat-{a20}@git.example.com/a.git",
    "mysql -uroot -p{p} shop",
    "mysql --password {p} shop",
    "psql postgres://app:{p}@db.example.com/x",
    "PGPASSWORD={p} psql -h db.example.com",
    "redis-cli -h cache.example.com -a {p} ping",
    "mongosh --username root --password {p}",
    "sshpass -p {p} ssh web.example.com uptime",
    "docker login -u ci -p {p} registry.example.com",
    "echo {p} | docker login -u ci --password-stdin registry.example.com",
    "docker run -e API_TOKEN={a30} image",
    "kubectl create secret generic db --from-literal=password={p}",
    "kubectl config set-credentials bot --token={a40}",
    "helm upgrade --set db.password={p} r c",
    "aws configure set aws_secret_access_key {a40}",
    "terraform apply -var db_password={p}",
    "ansible all -e ansible_become_password={p}",
    "vault login {a28}",
    "npm config set //registry.example.com/:_authToken={a36}",
    "cargo login {a32}",
    "twine upload -u __token__ -p {p} dist/x",
    "openssl enc -aes-256-cbc -k {p} -in x -out y",
    "openssl rsa -passin pass:{p} -in k",
    "zip -P {p} o.zip d",
    "gpg --batch --passphrase {p} -d f",
    "htpasswd -bc f alice {p}",
    "ldapsearch -x -D cn=admin -w {p} -b dc=x",
    "smbclient //nas/share -U bob%{p} -c ls",
    "sqlplus system/{p}@db",
    "bash -c 'PGPASSWORD={p} psql'",
    "ssh web.example.com 'mysql -p{p} shop'",
    "python3 -c 'import os; os.environ[\"API_TOKEN\"] = \"{a30}\"'",
    "cat > .env <<END\nAPI_TOKEN={a30}\nDB_PASSWORD={p}\nEND",
    "tee k.pem <<END\n-----BEGIN PRIVATE KEY-----\n{a64}\n{a64}\n-----END PRIVATE KEY-----\nEND",
    "./deploy --api-key={a30} --password '{p}'",
    "./deploy --client-secret {a30}",
    "export SECRET_KEY='{p}'; ./deploy",
    "T={p}; ./deploy --token \"$T\" --password {p}",
    "echo 'password: {p}' >> config.yml",
    "sed -i 's/^password=.*/password={p}/' f.ini",
    "echo otpauth://totp/x?secret={u32}",
    "./deploy DefaultEndpointsProtocol=https\\;AccountKey={a86}==\\;",
];

/// Fills a template, and remembers what is secret in it.
fn fill(template: &str, state: &mut u64, secrets: &mut Vec<String>) -> String {
    let mut out = String::new();
    let mut rest = template;
    while let Some(open) = rest.find('{') {
        out.push_str(&rest[..open]);
        let close = open + rest[open..].find('}').expect("closed");
        let (set, width): (&[u8], usize) = match (rest.as_bytes()[open + 1], rest[open + 2..close].parse()) {
            (b'a', Ok(n)) => (b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789", n),
            (b't', Ok(n)) => (b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz", n),
            (b'u', Ok(n)) => (b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567", n),
            (b'x', Ok(n)) => (b"0123456789abcdef", n),
            (b'd', Ok(n)) => (b"0123456789", n),
            (b'p', Err(_)) => (b"ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnpqrstuvwxyz23456789", 12),
            _ => panic!("{template}"),
        };
        let mut secret = if rest.as_bytes()[open + 1] == b'p' { "Hu7-".to_owned() } else { String::new() };
        for _ in 0..width {
            *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            secret.push(char::from(set[(*state >> 33) as usize % set.len()]));
        }
        out.push_str(&secret);
        secrets.push(secret);
        rest = &rest[close + 1..];
    }
    out + rest
}

fn files_below(dir: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(dir).into_iter().flatten().flatten() {
        let kind = entry.file_type().expect("a kind");
        if kind.is_dir() {
            files_below(&entry.path(), found);
        } else if kind.is_file() {
            found.push(entry.path());
        }
    }
}

/// Submits with a secret in the environment too.
fn submit(agent: &mut Agent, command: &str, secret: &str) -> Value {
    let mut submission = crate::world::submission(command);
    submission["env"] = json!(["PATH=/usr/bin:/bin", format!("DEPLOY_TOKEN={secret}")]);
    agent
        .call("request.submit", submission)
        .unwrap_or_else(|(code, said)| json!({ "refused": { "code": code, "message": said } }))
}

#[test]
fn no_secret_reaches_the_disk() {
    let mut world = World::new();
    // A log that says everything.
    let mut gate = world.tollgate();
    gate.arg("daemon").env("TOLLGATE_LOG", "trace");
    world.start_gate_by(gate);
    let (mut state, mut secrets) = (0x5eed_u64, Vec::new());
    let mut known = Vec::new();
    fill("{a32}", &mut state, &mut known);
    let in_environment = known.remove(0);
    let mut agent = world.agent();
    let mut outcomes = [0u32; 4];
    for (n, template) in COMMANDS.iter().enumerate() {
        let command = fill(template, &mut state, &mut secrets);
        let said = submit(&mut agent, &command, &in_environment);
        if let Some(execution) = said.pointer("/granted/claimed/execution") {
            // It ran unasked, and says more than it should about how it ended.
            let last = secrets.last().expect("planted").clone();
            let outcome = json!({ "ended": { "exit": 1 }, "duration_ms": 5, "fence": "none: a test",
                "refused": [], "notes": [format!("connection failed: --password {last}")] });
            agent.call("request.finished", json!({ "execution": execution, "outcome": outcome })).expect("recorded");
            outcomes[0] += 1;
            continue;
        }
        if said.get("parked").is_none() {
            continue;
        }
        let id = parked(Ok(said));
        let card = world.card(&id);
        match n % 4 {
            0 => {
                world.deny(&card);
                outcomes[1] += 1;
            }
            1 => {
                let said = world.decide(&card, Choice::ApproveOnce);
                if said.is_ok()
                    && let Ok(waited) = crate::world::wait(&mut agent, &id, 2_000)
                    && let Some(lease) = waited.pointer("/granted/lease/lease")
                {
                    drop(claim(&mut agent, &text(lease)));
                    outcomes[2] += 1;
                }
            }
            2 => {
                drop(agent.call("request.cancel", json!({ "id": id })));
                outcomes[3] += 1;
            }
            // It waits until the gate is killed.
            _ => {}
        }
    }
    assert!(outcomes.iter().all(|n| *n > 3), "run, denied, approved, taken back: {outcomes:?}");
    // An asker that dies in the middle of what it claimed, and a gate that dies with it.
    agent.kill();
    secrets.push(in_environment);
    secrets.retain(|secret| secret.len() >= 8);
    assert!(secrets.len() > 60);
    let environ = std::fs::read(format!("/proc/{}/environ", world.gate_pid().as_raw_nonzero())).expect("readable");
    let console = |args: &[&str]| {
        let output = world.tollgate().args(args).output().expect("it runs");
        (args.join(" "), [output.stdout, output.stderr].concat())
    };
    let mut places: Vec<(String, Vec<u8>)> = vec![("environ".into(), environ)];
    for args in [
        &["audit", "export"][..],
        &["audit", "export", "--format", "ocsf"],
        &["audit", "export", "--format", "otlp"],
        &["audit", "export", "--format", "checkpoints"],
        &["history", "--json", "--limit", "500"],
        &["stats", "--json"],
        &["pending", "--json"],
    ] {
        places.push(console(args));
    }
    world.kill_gate();
    let mut files = Vec::new();
    files_below(&world.dir(), &mut files);
    files_below(&world.work(), &mut files);
    let core = std::fs::read_to_string("/proc/sys/kernel/core_pattern").unwrap_or_default();
    if let Some(dir) = Path::new(core.trim()).parent().filter(|dir| dir.is_absolute() && !core.starts_with('|')) {
        let ours = |path: &PathBuf| path.file_name().is_some_and(|name| name.to_string_lossy().contains("tollgate"));
        let mut cores = Vec::new();
        files_below(dir, &mut cores);
        files.extend(cores.into_iter().filter(ours));
    }
    for name in ["tollgate.db", "tollgate.db-wal", "gate.log", "checkpoints"] {
        assert!(files.iter().any(|path| path.ends_with(name)), "{name} was looked at: {files:?}");
    }
    for path in files {
        let bytes = std::fs::read(&path).expect("readable");
        places.push((path.display().to_string(), bytes));
    }
    let mut leaks = Vec::new();
    for secret in &secrets {
        let encoded = base64::engine::general_purpose::STANDARD_NO_PAD.encode(secret);
        for form in [secret.as_str(), &encoded] {
            let finder = memchr::memmem::Finder::new(form);
            for (place, bytes) in places.iter().filter(|(_, bytes)| finder.find(bytes).is_some()) {
                let at = finder.find(bytes).expect("found");
                let around = String::from_utf8_lossy(&bytes[at.saturating_sub(80)..at]).into_owned();
                leaks.push(format!("{form} in {place} after {around:?}"));
            }
        }
    }
    assert!(leaks.is_empty(), "{}", leaks.join("\n"));
}
