//! Whose credentials lie where? From the name that an effect gives them to the places that a command which uses them finds
//! uncovered: these, and no others.

/// A name, what it is called too, and its places.
struct Row {
    names: &'static [&'static str],
    at: &'static [&'static str],
}

/// Every place is one of credentials in the table of places.
const ROWS: &[Row] = &[
    Row { names: &["aws"], at: &["~/.aws", "~/.boto", "~/.s3cfg"] },
    Row {
        names: &["cloud"],
        at: &["~/.azure", "~/.config/gcloud", "~/.oci", "~/.terraform.d/credentials", "~/.terraformrc"],
    },
    Row { names: &["gcloud", "gcp"], at: &["~/.boto", "~/.config/gcloud"] },
    Row { names: &["azure"], at: &["~/.azure"] },
    Row {
        names: &["platform"],
        at: &["~/.config/configstore", "~/.config/doctl", "~/.config/heroku", "~/.fly", "~/.netrc", "~/.wrangler"],
    },
    Row { names: &["forge"], at: &["~/.config/hub", "~/.netrc"] },
    Row { names: &["gh", "github"], at: &["~/.config/gh/hosts.yml", "~/.config/glab-cli"] },
    Row {
        names: &["cluster", "kubernetes"],
        at: &["~/.config/containers/auth.json", "~/.docker/config.json", "~/.kube"],
    },
    Row { names: &["docker"], at: &["~/.config/containers/auth.json", "~/.docker/config.json"] },
    Row { names: &["ssh", "ansible"], at: &["~/.ssh"] },
    Row {
        names: &["git"],
        at: &["~/.config/gh/hosts.yml", "~/.config/git/credentials", "~/.git-credentials", "~/.netrc", "~/.ssh"],
    },
    Row { names: &["gpg"], at: &["~/.gnupg"] },
    Row { names: &["pass"], at: &["~/.gnupg", "~/.password-store"] },
    Row { names: &["database"], at: &["~/.my.cnf", "~/.mylogin.cnf", "~/.pgpass"] },
    Row { names: &["psql", "postgres"], at: &["~/.pgpass"] },
    Row { names: &["mysql"], at: &["~/.my.cnf", "~/.mylogin.cnf"] },
    // A package manager keeps its registries and its tokens in the same file.
    Row { names: &["npm", "node", "pnpm", "yarn", "bun", "npx"], at: &["~/.npmrc", "~/.yarnrc"] },
    Row {
        names: &["pip", "uv", "poetry", "pipx", "conda", "pyenv"],
        at: &["~/.config/pip", "~/.netrc", "~/.pip", "~/.pypirc"],
    },
    Row { names: &["cargo", "rustup"], at: &["~/.cargo/credentials"] },
    Row { names: &["gem", "bundle"], at: &["~/.gem/credentials"] },
    Row { names: &["composer"], at: &["~/.composer/auth.json", "~/.config/composer/auth.json"] },
    Row { names: &["maven", "mvn"], at: &["~/.m2"] },
    Row { names: &["gradle"], at: &["~/.gradle/gradle.properties"] },
    Row { names: &["nuget", "dotnet"], at: &["~/.nuget"] },
    Row { names: &["go"], at: &["~/.netrc"] },
];

/// The places of the credentials that go by this name; none for a name that nobody knows.
pub fn of(name: &str) -> &'static [&'static str] {
    ROWS.iter().find(|row| row.names.contains(&name)).map_or(&[], |row| row.at)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::assess::places::is_secret;
    use crate::assess::reading::Ground;
    use std::collections::BTreeSet;

    #[test]
    fn each_name_stands_once_and_each_place_is_one_of_credentials() {
        let mut names = BTreeSet::new();
        for row in ROWS {
            assert!(row.names.iter().all(|name| names.insert(name)), "{:?}", row.names);
            assert!(row.at.is_sorted(), "{:?}", row.at);
            for place in row.at {
                let ground = Ground::text_only();
                assert!(is_secret(place, &ground) || is_secret(&format!("{place}/settings.xml"), &ground), "{place}");
            }
        }
    }

    #[test]
    fn a_name_that_nobody_knows_uncovers_nothing() {
        assert!(of("").is_empty() && of("unheard-of").is_empty());
        assert_eq!(of("gpg"), ["~/.gnupg"]);
    }
}
