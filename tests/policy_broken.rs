//! A policy that is wrong is refused as a whole, with its file, its line and a remedy, and the one in force stays.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use tollgate::policy::{Layer, LayerKind, Policy, PolicyError};

/// Text, line, and what the message and its remedy say.
const BROKEN: &[(&str, Option<usize>, &str)] = &[
    ("", Some(1), "`version` is missing. Begin the file with `version = 1`"),
    ("version = 2", Some(1), "Write `version = 1`"),
    ("version = \"1\"", Some(1), "here stands the text \"1\", and a whole number is wanted"),
    ("version = 1\n[autonomy", Some(2), "Correct the line"),
    ("version = 1\nversion = 1", Some(2), "duplicate key"),
    ("version = 1\n[autonmy]\nlevel = \"full\"", Some(2), "Write `autonomy`"),
    ("version = 1\n[autonomy]\nlevl = \"full\"", Some(3), "Write `level`"),
    ("version = 1\n[autonomy]\nlevel = \"fulll\"", Some(3), "Write `full`"),
    ("version = 1\n[autonomy]\nauto_approve = [\"a\",\n \"bash x\"]", Some(4), "Approve such commands one by one"),
    ("version = 1\n[autonomy]\nauto_approve = [\"git $X\"]", Some(3), "Write literal words"),
    ("version = 1\n[tiers.supervised]\nwrite = \"alow\"", Some(3), "Write `allow`"),
    ("version = 1\n[tiers.mine]\nread = \"allow\"", Some(2), "Name all five classes"),
    ("version = 1\n[tiers.\"My Tier\"]\nread = \"allow\"", Some(2), "Use up to 64 of a-z"),
    ("version = 1\n[[rule]]\nid = \"a\"\nthen = \"block\"\nwhen = {}", Some(5), "Give it a condition"),
    ("version = 1\n[[rule]]\nid = \"A!\"\nthen = \"block\"\nwhen.program = \"x\"", Some(3), "Use up to 64 of a-z"),
    ("version = 1\n[[rule]]\nid = \"a\"\nthen = \"bloc\"\nwhen.program = \"x\"", Some(4), "Write `block`"),
    ("version = 1\n[[rule]]\nid = \"a\"\nwhen.program = \"x\"", Some(2), "`then` is missing. Add `then"),
    ("version = 1\n[[rule]]\nid = \"a\"\nthen = \"block\"\nwhen.progam = \"x\"", Some(5), "Write `program`"),
    ("version = 1\n[[rule]]\nid = \"a\"\nthen = \"block\"\nwhen.program = \"[\"", Some(5), "is no pattern"),
    ("version = 1\n[[rule]]\nid = \"a\"\nthen = \"block\"\nwhen.args = []", Some(5), "empty list"),
    ("version = 1\n[[rule]]\nid = \"a\"\nthen = \"block\"\nwhen.paths = \"a/../b\"", Some(5), "climbs"),
    (
        "version = 1\n[[rule]]\nid = \"a\"\nthen = \"block\"\nwhen.class = [\"write\", \"wrote\"]",
        Some(5),
        "Write `write`",
    ),
    ("version = 1\n[[rule]]\nid = \"a\"\nthen = \"block\"\nwhen.effects = \"net-ou\"", Some(5), "Write `net-out`"),
    ("version = 1\n[[rule]]\nid = \"a\"\nthen = \"block\"\nwhen.time = \"25:00-06:00\"", Some(5), "22:00-06:00"),
    ("version = 1\n[[rule]]\nid = \"a\"\nthen = \"block\"\nwhen.days = \"sonday\"", Some(5), "unknown value `sonday`"),
    (
        "version = 1\n[[rule]]\nid = \"a\"\nthen = \"block\"\nwhen.program = \"x\"\n[[rule]]\nid = \"a\"\nthen = \"block\"\nwhen.program = \"y\"",
        Some(7),
        "Give it an id of its own",
    ),
    (
        "version = 1\n[[rule]]\nid = \"a\"\nthen = \"block\"\nwhen.program = \"psql\"\ntests = { block = [\n\"ls\"] }",
        Some(7),
        "a test fails: `ls` comes to allow",
    ),
    (
        "version = 1\n[[rule]]\nid = \"a\"\nthen = \"block\"\nwhen.program = \"psql\"\ntests.other = [\"psql x\"]",
        Some(6),
        "the rule matches `psql x`",
    ),
    (
        "version = 1\n[[rule]]\nid = \"a\"\nthen = \"prompt\"\nwhen.program = \"psql\"\ntests.prompt = [\"touch x\"]",
        Some(6),
        "is not what the rule matches",
    ),
    ("version = 1\n[tests]\nallow = [\"touch x\"]", Some(3), "a test fails"),
    ("version = 1\n[tests]\nallow = [\"ls\"]\ngiven.time = \"noon\"", Some(4), "Write it as `23:30`"),
    ("version = 1\n[paths]\nwrite = [\"cache\"]", Some(3), "Write a whole path"),
    ("version = 1\n[paths]\nforbidden = [\"~bob/x\"]", Some(3), "another user's home"),
    ("version = 1\n[wait]\nrequest_s = 0", Some(3), "at least one second"),
    ("version = 1\n[wait]\nlease_class_s = { write = 601 }", Some(3), "waits can only be shortened"),
    ("version = 1\n[approvers]\nuids = []", Some(3), "Name a user or a group"),
    ("version = 1\n[approvers.needed]\ndestructive = 0", Some(3), "from 1 to 10"),
    ("version = 1\n[limits]\npending_per_session = 21", Some(3), "from 1 to 20"),
    ("version = 1\n[redact]\npatterns = [\"(\"]", Some(3), "no regular expression"),
    ("version = 1\n[redact]\npatterns = [\"x*\"]", Some(3), "matches nothing"),
    ("version = 1\n[env]\nvolatile = [\"PATH\"]", Some(3), "may change what a command does"),
    ("version = 1\n[notify]\ncommand = [\"notify-send\"]", Some(3), "whole path"),
    ("version = 1\n[origin.background]\nthen = \"allow\"", Some(3), "unknown value `allow`"),
    ("version = 1\n[fence]\nwrite = \"none\"", Some(3), "unknown value `none`"),
    ("version = 1\nautonomy = \"full\"", Some(2), "here stands the text \"full\", and a table is wanted"),
    ("version = 1\n[autonomy]\ntier = \"full\"", Some(3), "Write `level`"),
    ("version = 1\n[autonomy]\nlevel = \"ful\"", Some(3), "Write `full`"),
    ("version = 1\n[tiers.supervised]\nwrite = \"ask\"", Some(3), "Write `prompt`"),
    ("version = 1\n[tiers.supervised]\nwrite = true", Some(3), "here stands no text, and a word is wanted"),
    ("version = 1\n[approvers]\nsame_user = \"no\"", Some(3), "true or false is wanted"),
    ("version = 1\n[approvers]\nuids = \"root\"", Some(3), "a list is wanted"),
    ("version = 1\n[wait]\npark_s = -1", Some(3), "the number `-1`, and a whole number is wanted"),
    ("version = 1\n[audit]\nretention = 1", Some(3), "Write `retention_days`"),
    ("version = 1\n[audit]\nretention_days = 0", Some(3), "from 1 to"),
    ("version = 1\n[audit]\ncheckpoint_dir = \"here\"", Some(3), "Write the whole path"),
    ("version = 1\n[hook]\nallow_unfenced = 1", Some(3), "true or false is wanted"),
    ("version = 1\n[fence]\nscratch = true", Some(3), "`scratch` is not available"),
    ("version = 1\n[fence.limits]\nprocesses = 0", Some(3), "from 1 to"),
    ("version = 1\n[fence.limits]\nmemory = 1", Some(3), "Write `memory_mib`"),
    ("version = 1\n[catalogue]\nfiles = [\"absent.toml\"]", Some(3), "there is no file"),
    ("version = 1\n[catalogue]\nfiles = [\"../x.toml\"]", Some(3), "Name a file beside it"),
];

/// A layer in a directory of its own.
struct Place {
    dir: tempfile::TempDir,
    uid: u32,
}

impl Place {
    fn new() -> Place {
        Place { dir: tempfile::tempdir().expect("a directory"), uid: nix::unistd::getuid().as_raw() }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn write(&self, name: &str, text: impl AsRef<[u8]>) {
        let path = self.path(name);
        if let Some(dir) = path.parent() {
            std::fs::create_dir_all(dir).expect("made");
        }
        std::fs::write(path, text).expect("written");
    }

    /// `system.toml` with its `policy.d`, and `user/policy.toml` below it.
    fn load(&self) -> Result<Policy, PolicyError> {
        let system = Layer { kind: LayerKind::System, path: self.path("system.toml") };
        let user = Layer { kind: LayerKind::User, path: self.path("user/policy.toml") };
        Policy::load(&[system, user], self.uid)
    }

    #[track_caller]
    fn refused(&self, file: &str, line: Option<usize>, says: &str) {
        let error = self.load().err().unwrap_or_else(|| panic!("{says}: it was taken"));
        assert!(error.path.ends_with(file), "{error}, wanted {file}");
        if line.is_some() {
            assert_eq!(error.line, line, "{error}");
        }
        assert!(error.to_string().contains(says), "{error}, wanted {says}");
        assert!(error.remedy.starts_with(|c: char| c.is_ascii_uppercase()), "{error}");
    }
}

#[test]
fn every_broken_policy_is_refused_with_file_line_and_remedy() {
    assert!(BROKEN.len() >= 40);
    let place = Place::new();
    place.write("system.toml", "version = 1\n");
    place.load().expect("a good policy");
    for (text, line, says) in BROKEN {
        place.write("system.toml", text);
        place.refused("system.toml", *line, says);
    }
}

#[test]
fn one_look_names_every_fault_there_is() {
    let place = Place::new();
    let many = "version = 1\n[autonomy]\ntier = \"full\"\n[wait]\npark_s = \"long\"\nrequest_s = 20\nlease = 3\n\
        [[rule]]\nid = \"a\"\nthen = \"ask\"\nwhen.program = \"x\"\n[[rule]]\nid = \"b\"\nthen = \"block\"\nwhen.programm = \"x\"\n\
        [colour]\nx = 1\n";
    place.write("system.toml", many);
    let error = place.load().expect_err("wrong in many places");
    let mut lines: Vec<_> = error.all().map(|one| one.line).collect();
    lines.sort_unstable();
    assert_eq!(lines, [3, 5, 7, 10, 15, 16].map(Some), "{error:?}");
    assert!(error.to_string().contains("and 5 more"), "{error}");
    assert!(error.all().all(|one| one.more.is_empty() || one == &error));

    // What each part means is looked at everywhere too, and so are the tests it carries.
    let meaning = "version = 1\n[wait]\npark_s = 0\n[limits]\ndenials = 99\n[[rule]]\nid = \"A\"\nthen = \"block\"\nwhen.program = \"x\"\n\
        [[rule]]\nid = \"b\"\nthen = \"block\"\nwhen.time = \"now\"\n[autonomy]\nlevel = \"none\"\n";
    place.write("system.toml", meaning);
    let error = place.load().expect_err("wrong in many places");
    let lines: Vec<_> = error.all().map(|one| one.line).collect();
    assert_eq!(lines.len(), 5, "{error:?}");
    assert!([3, 5, 7, 13, 15].iter().all(|line| lines.contains(&Some(*line))), "{error:?}");
    place.write("system.toml", "version = 1\n[tests]\nallow = [\"touch a\",\n\"touch b\"]\nblock = [\"ls\"]\n");
    let error = place.load().expect_err("three tests fail");
    assert_eq!(error.all().map(|one| one.line).collect::<Vec<_>>(), [3, 4, 5].map(Some), "{error:?}");

    // And so is every layer.
    place.write("system.toml", "version = 2\n");
    place.write("user/policy.toml", "version = 3\n");
    let error = place.load().expect_err("wrong in both");
    assert_eq!(error.all().count(), 2, "{error:?}");
}

#[test]
fn what_the_record_and_the_hook_do_is_said_by_the_topmost_layer_and_kept() {
    let text = "version = 1\n[audit]\nretention_days = 90\ncheckpoint_dir = \"/var/backups\"\n\
        [hook]\nallow_unfenced = true\n[fence.limits]\nmemory_mib = 512\n";
    let policy = Policy::from_text(Path::new("p.toml"), text).expect("a policy");
    let audit = policy.audit();
    assert_eq!(audit.retention_days, Some(90));
    assert_eq!(audit.checkpoint_dir.as_deref(), Some("/var/backups"));
    assert!(policy.hook_allows_unfenced() && !Policy::built_in().hook_allows_unfenced());
    assert_eq!(policy.fence_limits().memory_mib, Some(512));
}

#[test]
fn a_lower_layer_that_loosens_is_refused() {
    let place = Place::new();
    let above = "version = 1\n[autonomy]\nlevel = \"supervised\"\n[approvers]\nsame_user = false\nuids = [0]\n\
        [approvers.needed]\ndestructive = 2\n[origin.background]\nthen = \"block\"\n[limits]\ndenials = 2\n\
        [fence]\nrequire = \"full\"\nlimits = { wall_s = 60 }\n[[rule]]\nid = \"top\"\nthen = \"block\"\nwhen.program = \"psql\"\n";
    place.write("system.toml", above);
    for (text, line) in [
        ("version = 1\n[tiers.supervised]\nwrite = \"allow\"\n", 3),
        ("version = 1\n[autonomy]\nauto_approve = [\"cargo test\"]\n", 3),
        ("version = 1\n[[rule]]\nid = \"x\"\nthen = \"allow\"\nwhen.program = \"x\"\n", 4),
        ("version = 1\n[[rule]]\nid = \"top\"\nthen = \"block\"\nwhen.program = \"x\"\n", 3),
        ("version = 1\n[paths]\nwrite = [\"/srv\"]\n", 3),
        ("version = 1\n[paths]\nread = [\"/srv/**\"]\n", 3),
        ("version = 1\n[approvers]\nsame_user = true\n", 3),
        ("version = 1\n[approvers]\nuids = [0, 1]\n", 3),
        ("version = 1\n[approvers.needed]\ndestructive = 1\n", 3),
        ("version = 1\n[origin.background]\nthen = \"bypass\"\n", 3),
        ("version = 1\n[limits]\ndenials = 3\n", 3),
        ("version = 1\n[fence]\nwrite = \"landlock\"\n", 3),
        ("version = 1\n[env]\nvolatile = [\"X\"]\n", 3),
        ("version = 1\n[wait]\nrequest_s = 601\n", 3),
        ("version = 1\n[gate]\nenabled = false\n", 3),
        ("version = 1\n[fence.limits]\nprocesses = 1025\n", 3),
        ("version = 1\n[fence.limits]\nwall_s = 61\n", 3),
        ("version = 1\n[audit]\nretention_days = 400\n", 2),
        ("version = 1\n[hook]\nallow_unfenced = true\n", 2),
    ] {
        place.write("user/policy.toml", text);
        place.refused("user/policy.toml", Some(line), "");
    }
    for opened in ["auto_approve", "allow_rules", "paths", "volatile"] {
        place.write("system.toml", format!("version = 1\nopen = [\"{opened}\"]\n"));
        let text = match opened {
            "auto_approve" => "[autonomy]\nauto_approve = [\"cargo test\"]\n",
            "allow_rules" => "[[rule]]\nid = \"x\"\nthen = \"allow\"\nwhen.program = \"x\"\n",
            "paths" => "[paths]\nwrite = [\"/srv\"]\n",
            _ => "[env]\nvolatile = [\"X\"]\n",
        };
        place.write("user/policy.toml", format!("version = 1\n{text}"));
        place.load().unwrap_or_else(|error| panic!("{opened}: {error}"));
    }
}

#[test]
fn files_of_one_layer_add_up_and_never_contradict_each_other() {
    let place = Place::new();
    place.write("system.toml", "version = 1\ninclude = [\"parts/rules.toml\"]\n[wait]\npark_s = 60\n");
    place.write("parts/rules.toml", "version = 1\n[[rule]]\nid = \"a\"\nthen = \"block\"\nwhen.program = \"psql\"\n");
    place.write("policy.d/10-more.toml", "version = 1\n[autonomy]\nlevel = \"full\"\n");
    place.write("policy.d/ignored.txt", "no policy");
    let policy = place.load().expect("a policy");
    assert_eq!((policy.tier().name.as_str(), policy.sources().len()), ("full", 3));
    let origins: Vec<_> = policy.origin_of().map(|(key, layer, _)| (key.to_owned(), layer)).collect();
    assert!(origins.contains(&("rule.a".to_owned(), LayerKind::System)), "{origins:?}");

    place.write("policy.d/20-other.toml", "version = 1\n\n[autonomy]\nlevel = \"readonly\"\n");
    place.refused("policy.d/20-other.toml", Some(4), "Set it in one file of the layer");
    std::fs::remove_file(place.path("policy.d/20-other.toml")).expect("removed");

    place.write("parts/rules.toml", "version = 1\ninclude = [\"more.toml\"]\n");
    place.write("parts/more.toml", "version = 1\ninclude = [\"../system.toml\"]\n");
    place.refused("parts/more.toml", Some(2), "Name a file beside it");
    place.write("parts/more.toml", "version = 1\ninclude = [\"rules.toml\"]\n");
    place.refused("parts/more.toml", Some(2), "includes itself");
    place.write("parts/more.toml", "version = 1\ninclude = [\"absent.toml\"]\n");
    place.refused("parts/more.toml", Some(2), "there is no file");
    place.write("parts/rules.toml", "version = 1\n");
    place.write("system.toml", "version = 1\ninclude = [\"parts/rules.toml\", \"parts/rules.toml\"]\n");
    place.refused("system.toml", Some(2), "included twice");
}

#[test]
fn a_file_that_somebody_else_could_have_written_is_refused() {
    let place = Place::new();
    let path = place.path("system.toml");
    place.load().expect("a missing file is an empty layer");
    place.write("system.toml", "version = 1\n");
    std::fs::set_permissions(&path, PermissionsExt::from_mode(0o666)).expect("chmod");
    place.refused("system.toml", None, "Run `chmod go-w`");
    std::fs::set_permissions(&path, PermissionsExt::from_mode(0o600)).expect("chmod");
    std::fs::set_permissions(place.dir.path(), PermissionsExt::from_mode(0o777)).expect("chmod");
    place.refused("system.toml", None, "on the directory");
    std::fs::set_permissions(place.dir.path(), PermissionsExt::from_mode(0o700)).expect("chmod");
    place.load().expect("a good policy");
    std::fs::remove_file(&path).expect("removed");
    std::os::unix::fs::symlink("/etc/hostname", &path).expect("linked");
    place.refused("system.toml", None, "symbolic link");
    std::fs::remove_file(&path).expect("removed");
    std::fs::create_dir(&path).expect("made");
    place.refused("system.toml", None, "regular file");
    std::fs::remove_dir(&path).expect("removed");
    nix::unistd::mkfifo(&path, nix::sys::stat::Mode::S_IRWXU).expect("made");
    place.refused("system.toml", None, "regular file");
    std::fs::remove_file(&path).expect("removed");
    place.write("system.toml", vec![b'#'; 10 * 1024 * 1024]);
    place.refused("system.toml", None, "larger than");
    place.write("system.toml", b"version = 1\n# \xff\n");
    place.refused("system.toml", Some(2), "UTF-8");
    place.write("system.toml", "version = 1\n");
    if place.uid != 0 {
        let layer = Layer { kind: LayerKind::System, path };
        assert!(Policy::load(&[layer], place.uid + 1).expect_err("not ours").remedy.contains("owner"));
    }
}

#[test]
fn the_version_changes_with_what_is_decided_and_with_nothing_else() {
    let policy = |text: &str| Policy::from_text(Path::new("p.toml"), text).expect(text).version().to_owned();
    let base = policy("version = 1\n");
    assert_eq!(policy("# a comment\nversion = 1\n[autonomy]\nlevel = \"supervised\"\n"), base);
    let mut versions = vec![base];
    for other in [
        "[autonomy]\nlevel = \"full\"",
        "[tiers.supervised]\nwrite = \"block\"",
        "[autonomy]\nauto_approve = [\"cargo test\"]",
        "[[rule]]\nid = \"a\"\nthen = \"block\"\nwhen.program = \"x\"",
        "[[rule]]\nid = \"a\"\nthen = \"block\"\nwhen.program = \"y\"",
        "[paths]\nsecret = [\"/x\"]",
        "[fence]\nrequire = \"full\"",
        "[wait]\nlease_s = 5",
        "[wait]\npark_s = 5",
        "[approvers]\nsame_user = false",
        "[approvers.needed]\nwrite = 2",
        "[origin.background]\nthen = \"tier\"",
        "[redact]\npatterns = [\"x\"]",
        "[limits]\ndenials = 2",
        "[env]\nsecret = [\"X\"]",
        "[notify]\ncommand = [\"/bin/true\"]",
        "[gate]\nenabled = false",
        "[fence.limits]\nwall_s = 5",
        "[audit]\nretention_days = 30",
        "[hook]\nallow_unfenced = true",
    ] {
        versions.push(policy(&format!("version = 1\n{other}\n")));
    }
    let all = versions.len();
    versions.sort();
    versions.dedup();
    assert_eq!(versions.len(), all);
    // Tests are no part of what is decided.
    let rule = "version = 1\n[[rule]]\nid = \"a\"\nthen = \"block\"\nwhen.program = \"psql\"\n";
    assert_eq!(policy(rule), policy(&format!("{rule}tests.block = [\"psql x\"]\n")));
}
