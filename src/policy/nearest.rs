//! What did somebody mean who wrote a word that is none of these?

/// Words that people bring along, and what they are called here: looked at before how words are spelled.
const CALLED: &[(&str, &str)] = &[
    ("action", "then"),
    ("agents", "agent"),
    ("approve", "allow"),
    ("approved", "allow"),
    ("ask", "prompt"),
    ("command", "program"),
    ("confirm", "prompt"),
    ("decision", "then"),
    ("delete", "delete-path"),
    ("denied", "block"),
    ("deny", "block"),
    ("directory", "cwd"),
    ("exclude", "except"),
    ("forbid", "block"),
    ("mode", "level"),
    ("name", "id"),
    ("not", "except"),
    ("permit", "allow"),
    ("reason", "why"),
    ("refuse", "block"),
    ("reject", "block"),
    ("review", "prompt"),
    ("tier", "level"),
    ("unless", "except"),
    ("user", "uids"),
    ("users", "uids"),
];
/// Below this, two words only share letters by chance.
const ALIKE: f64 = 0.5;

/// The known word that is meant, if one is near.
pub fn word<'k>(written: &str, known: &[&'k str]) -> Option<&'k str> {
    let lower = written.to_ascii_lowercase().replace('_', "-");
    let called = CALLED.iter().find(|(theirs, ours)| *theirs == lower && known.contains(ours));
    if let Some(found) = called.and_then(|(_, ours)| known.iter().find(|word| *word == ours)) {
        return Some(found);
    }
    let likeness = |word: &str| strsim::normalized_damerau_levenshtein(&word.replace('_', "-"), &lower);
    let best = known.iter().max_by(|a, b| likeness(a).total_cmp(&likeness(b)))?;
    (likeness(best) >= ALIKE).then_some(best)
}

/// As a remedy: the word that is meant, and all there are.
pub fn remedy(written: &str, known: &[&str]) -> String {
    match word(written, known) {
        Some(nearest) => format!("Write `{nearest}`, the nearest of: {}", known.join(", ")),
        None => format!("Write one of: {}", known.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_meant_is_found_by_meaning_and_by_spelling_and_never_by_chance() {
        for (written, known, want) in [
            ("tier", &["level", "auto_approve"][..], Some("level")),
            ("ask", &["allow", "stage", "prompt", "block"], Some("prompt")),
            ("DENY", &["allow", "stage", "prompt", "block"], Some("block")),
            ("promt", &["allow", "stage", "prompt", "block"], Some("prompt")),
            ("net_out", &["net-out", "net-listen"], Some("net-out")),
            ("rules", &["rule", "redact"], Some("rule")),
            ("ask", &["read", "write"], None),
            ("x", &[], None),
        ] {
            assert_eq!(word(written, known), want, "{written}");
        }
    }

    #[test]
    fn every_word_that_is_meant_exists_and_none_is_its_own() {
        assert!(CALLED.iter().all(|(theirs, ours)| theirs != ours));
        assert!(CALLED.is_sorted_by(|a, b| a.0 < b.0), "each stands once, in order");
        // Every word is somewhere in the format.
        let schema = crate::policy::schema::text(&crate::policy::schema::policy());
        for (_, ours) in CALLED {
            assert!(schema.contains(&format!("\"{ours}\"")), "{ours}");
        }
    }
}
