//! The policies that are shipped keep what they promise, and the pages about policy files are what the types say.

use std::path::Path;
use tollgate::policy::{Policy, schema};

const SHIPPED: [(&str, &str); 6] = [
    ("readonly", include_str!("../policies/readonly.toml")),
    ("supervised", include_str!("../policies/supervised.toml")),
    ("workspace", include_str!("../policies/workspace.toml")),
    ("full", include_str!("../policies/full.toml")),
    ("ci", include_str!("../policies/ci.toml")),
    ("strict-team", include_str!("../policies/strict-team.toml")),
];

#[test]
fn every_shipped_policy_holds_its_own_tests_and_is_commented() {
    for (name, text) in SHIPPED {
        // A policy whose tests fail does not load.
        let policy = Policy::from_text(Path::new(name), text).unwrap_or_else(|error| panic!("{error}"));
        assert!(text.starts_with("# "), "{name} does not say what it is for");
        assert!(text.contains("[tests]"), "{name} carries no tests");
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("policies/{name}.toml"));
        // The checkout may belong to somebody else; then it cannot be read as a policy in force.
        if let Ok(proofs) = Policy::proofs(&path, nix::unistd::getuid().as_raw()) {
            assert!(proofs.len() >= 5 && proofs.iter().all(|proved| proved.failed.is_none()), "{name}: {proofs:?}");
        }
        assert!(policy.sources().len() == 1);
    }
}

#[test]
fn no_two_shipped_policies_are_the_same() {
    let mut versions: Vec<String> = SHIPPED
        .iter()
        .map(|(name, text)| Policy::from_text(Path::new(name), text).expect("a policy").version().to_owned())
        .collect();
    versions.sort();
    versions.dedup();
    // `supervised.toml` is the built-in policy written out.
    assert_eq!(versions.len(), SHIPPED.len());
    assert!(versions.contains(&Policy::built_in().version().to_owned()));
}

#[test]
fn the_schemas_are_what_the_types_say() {
    crate::golden::page("docs/policy.schema.json", &schema::text(&schema::policy()));
    crate::golden::page("docs/project.schema.json", &schema::text(&schema::project()));
}

#[test]
fn the_reference_page_is_what_the_types_say() {
    crate::golden::page("docs/policy.md", &schema::page());
}
