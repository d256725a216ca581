//! What does `kubectl` do? Every verb but a few of its own reaches a cluster; deleting broadly is destructive.

use super::options::{Does, Grammar, Opt, flag, read, value};
use super::{asks_for_help, in_list, say, unknown_word};
use crate::assess::reading::{Arg, Inflow, Invocation, Reading};
use crate::assess::{Attribute, Class, Code, Effect, Operand};

const KUBECTL: &[Opt] = &[
    flag("-h --help --insecure-skip-tls-verify --match-server-version --warnings-as-errors", Does::Nothing),
    value(
        "-n --namespace --context --cluster --user -s --server --request-timeout -v --v --as --as-group",
        Does::Nothing,
    ),
    value(
        "--token --client-certificate --client-key --certificate-authority --password --username --tls-server-name",
        Does::Nothing,
    ),
    value("--kubeconfig", Does::Loads),
    value("--cache-dir --profile-output", Does::Writes),
    value("--profile --vmodule", Does::Nothing),
];

/// Kinds whose deletion takes much with it.
const KINDS_BROAD: &str = "|ns|namespace|namespaces|node|nodes|no|pv|persistentvolume|persistentvolumes|pvc|\
    persistentvolumeclaim|persistentvolumeclaims|crd|crds|customresourcedefinition|customresourcedefinitions|all|\
    clusterrole|clusterrolebinding|sc|storageclass|statefulset|sts|deployment|deploy|deployments|secret|secrets|";

/// Options of what stays on this machine. Every other one may write a file (`--profile-output`, `--log-file`).
const LOCAL: &str =
    "|--client|--short|-o|--output|--raw|--minify|--flatten|--merge|--no-headers|--context|--kubeconfig|-h|--help|";

fn local(rest: &[Arg], out: &mut Reading) {
    for arg in rest {
        let name = arg.text().map(|text| text.split('=').next().unwrap_or(text));
        match name {
            Some(name) if name.starts_with('-') && !in_list(LOCAL, name) && !name.starts_with("-o") => {
                super::unknown_flag(out, "kubectl", name, arg.span);
            }
            Some(_) | None => {}
        }
    }
}

/// Reads all arguments of `kubectl` and `oc`.
pub fn kubectl(at: &Invocation<'_>) -> Reading {
    let mut out = Reading::observing();
    let found = read(at.args, &Grammar::wrapper("kubectl", KUBECTL).exact().floor(Class::Network), at, &mut out);
    let Some((first, rest)) = found.operands.split_first() else { return out };
    let Some(verb) = first.text() else {
        unknown_word(&mut out, first, "a verb that deletes");
        out.raise(Code::ReachesNetwork, Class::Network, at.span, "`kubectl` talks to a cluster");
        return out;
    };
    let second = rest.iter().find_map(|arg| arg.text().filter(|text| !text.starts_with('-'))).unwrap_or("");
    let has = |wanted: &str| {
        rest.iter().any(|arg| arg.text().is_some_and(|text| text == wanted || text.starts_with(&format!("{wanted}="))))
    };
    match verb {
        "help" | "completion" | "options" => {
            local(rest, &mut out);
            return out;
        }
        "version" if has("--client") => {
            local(rest, &mut out);
            return out;
        }
        "plugin" if second == "list" => return out,
        "config" => {
            config(second, first, has("--raw"), &mut out);
            local(rest, &mut out);
            return out;
        }
        _ if asks_for_help(rest) => return out,
        _ => {}
    }
    out.effects.push(Effect::UsesCredential("kubernetes".to_owned()));
    out.effects.push(Effect::NetOut(Operand::Any));
    out.raise(
        Code::ReachesNetwork,
        Class::Network,
        at.span,
        format!("`kubectl {}` talks to a cluster", say::cut(verb).trim_matches('`')),
    );
    match verb {
        "delete" if !has("--dry-run") => delete(rest, second, first, &mut out),
        "drain" | "replace" if verb == "drain" || has("--force") => {
            out.raise(
                Code::Destroys,
                Class::Destructive,
                first.span,
                format!("`kubectl {verb}` evicts what runs there"),
            );
        }
        "exec" | "debug" | "run" => {
            if let Some(end) = rest.iter().position(|arg| arg.text() == Some("--")) {
                let words = rest[end + 1..].to_vec();
                if !words.is_empty() {
                    out.runs_argv("kubectl exec", words, false, Inflow::Inherited);
                }
            } else if verb == "exec"
                && let Some(words) = after_pod(rest)
            {
                out.runs_argv("kubectl exec", words, false, Inflow::Inherited);
            }
        }
        "proxy" | "port-forward" => {
            out.effects.push(Effect::NetListen(Operand::Any));
            out.raise(Code::Listens, Class::Network, first.span, format!("`kubectl {verb}` opens a port"));
        }
        "cp" => {
            if let Some(target) = rest.last() {
                out.writes(&target.value, target.span, "`kubectl cp`");
            }
        }
        _ => {}
    }
    out
}

/// `exec POD command …` without `--` (old form).
fn after_pod(rest: &[Arg]) -> Option<Vec<Arg>> {
    let mut words = rest.iter().skip_while(|arg| arg.text().is_some_and(|text| text.starts_with('-')));
    words.next()?;
    let words: Vec<Arg> = words.cloned().collect();
    (!words.is_empty()).then_some(words)
}

fn delete(rest: &[Arg], kind: &str, first: &Arg, out: &mut Reading) {
    let kind = kind.split('/').next().unwrap_or("").to_ascii_lowercase();
    let many = rest.iter().any(|arg| {
        arg.text().is_none_or(|text| {
            matches!(text, "--all" | "-A" | "--all-namespaces" | "--force" | "-k" | "-f" | "-R")
                || ["-l", "--selector", "--field-selector", "--filename", "-f", "--kustomize", "-k", "--grace-period=0"]
                    .iter()
                    .any(|option| text.starts_with(option))
        })
    });
    if many || kind.split(',').any(|kind| in_list(KINDS_BROAD, kind)) {
        out.attributes.insert(Attribute::BroadDelete);
        out.raise(
            Code::Destroys,
            Class::Destructive,
            first.span,
            "`kubectl delete` removes more than one named object",
        );
    }
}

fn config(second: &str, first: &Arg, raw: bool, out: &mut Reading) {
    match second {
        "view" => {
            if raw {
                out.effects.push(Effect::SecretRead(Operand::Known("~/.kube/config".to_owned())));
                out.attributes.insert(Attribute::SecretRead);
            }
        }
        "get-contexts" | "current-context" | "get-clusters" | "get-users" => {}
        _ => out.raise(Code::ChangesState, Class::Write, first.span, "`kubectl config` edits the kubeconfig"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::assess::analyzers::testing::{all, nested, whole_reading};

    #[test]
    fn clusters_are_network_and_deleting_broadly_is_destructive() {
        all(
            Class::Network,
            &[
                "kubectl get pods",
                "kubectl -n x get po",
                "kubectl apply -f f",
                "kubectl delete pod x",
                "kubectl frob",
                "kubectl exec p -- touch x",
                "kubectl delete ns x --dry-run=client",
            ],
        );
        all(
            Class::Destructive,
            &[
                "kubectl delete ns x",
                "kubectl delete pods --all",
                "kubectl delete namespace/x",
                "kubectl delete -f f",
                "kubectl drain n",
                "kubectl delete po -lapp=x",
                "kubectl delete pod $x",
            ],
        );
        all(
            Class::Read,
            &[
                "kubectl version --client",
                "kubectl config view",
                "kubectl config current-context",
                "kubectl completion bash",
            ],
        );
        all(Class::Write, &["kubectl config use-context x"]);
        assert_eq!(nested(&whole_reading("kubectl exec -n a p -- sh -c id")), ["sh -c id"]);
    }
}
