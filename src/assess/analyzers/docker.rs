//! What do `docker` and `podman` do? Looking at the local daemon observes; running and fetching reach further; a
//! container that is given the host's rights or root directory is the host.

use super::options::{Does, Found, Grammar, Opt, flag, perhaps, read, value};
use super::{asks_for_help, in_list, may_begin_with, say, unknown_word};
use crate::assess::reading::{Arg, Inflow, Invocation, Reading, Value};
use crate::assess::{Attribute, Class, Code, Effect, Operand};

const REMOTE: Does = Does::Is(Code::ReachesNetwork, Class::Network, "talks to another daemon");

const DOCKER: &[Opt] = &[
    flag("-D --debug --tls --tlsverify -v --version --help", Does::Nothing),
    value("-l --log-level --tlscacert --tlscert --tlskey", Does::Nothing),
    value("-H --host -c --context --url --connection --identity", REMOTE),
    flag("-r --remote", REMOTE),
    value("--config", Does::Nothing),
];

/// `verb` or `noun verb` that only look at the local daemon.
const LOOKS: &str = "|ps|images|inspect|logs|version|info|history|top|port|diff|stats|events|help|\
    container ls|container list|container ps|container inspect|container logs|container top|container stats|\
    container port|container diff|image ls|image list|image inspect|image history|volume ls|volume list|volume inspect|\
    network ls|network list|network inspect|context ls|context list|context show|context inspect|system df|system info|\
    system events|buildx ls|buildx du|buildx inspect|buildx version|compose ps|compose ls|compose config|compose logs|\
    compose images|compose top|compose version|compose port|builder ls|plugin ls|plugin list|plugin inspect|pod ps|\
    pod ls|pod list|pod inspect|machine ls|machine list|machine inspect|manifest inspect|scout version|";

/// That reach a registry or another machine.
const FETCHES: &str = "|pull|push|search|login|logout|image pull|image push|compose pull|compose push|manifest push|\
    manifest create|plugin install|scout cves|buildx imagetools|trust inspect|";

/// That build or start what may be fetched first.
const STARTS: &str = "|run|create|container run|container create|build|image build|buildx build|buildx bake|builder build|\
    compose up|compose run|compose build|compose create|compose start|compose restart|compose exec|compose watch|\
    stack deploy|service create|service update|swarm join|kube play|play kube|";

/// That lose what cannot be had again.
const LOSES: &str = "|system prune|volume rm|volume remove|volume prune|container prune|image prune|network prune|\
    builder prune|buildx prune|system reset|swarm leave|stack rm|service rm|machine rm|secret rm|config rm|";

const NOUNS: &[&str] = &[
    "container",
    "image",
    "volume",
    "network",
    "context",
    "system",
    "buildx",
    "compose",
    "builder",
    "plugin",
    "pod",
    "machine",
    "manifest",
    "scout",
    "trust",
    "stack",
    "service",
    "swarm",
    "secret",
    "config",
    "node",
    "checkpoint",
    "kube",
    "play",
    "generate",
];

const COMPOSE: &[Opt] = &[
    flag("--all-resources --compatibility --dry-run --verbose", Does::Nothing),
    value("-f --file --env-file", Does::Reads),
    value("-p --project-name --profile --project-directory --progress --ansi --parallel", Does::Nothing),
];

/// Reads all arguments of `docker` and `podman`.
pub fn docker(at: &Invocation<'_>) -> Reading {
    let mut out = Reading::observing();
    let found = read(at.args, &Grammar::wrapper("docker", DOCKER).exact(), at, &mut out);
    let Some((first, rest)) = found.operands.split_first() else { return out };
    let Some(noun) = first.text() else {
        unknown_word(&mut out, first, "a subcommand that runs a container");
        return out;
    };
    if asks_for_help(rest) {
        return out;
    }
    if noun == "compose" {
        let found = read(rest, &Grammar::wrapper("docker compose", COMPOSE).exact(), at, &mut out);
        return verb("compose", &found.operands, first, at, out);
    }
    if NOUNS.contains(&noun) {
        return verb(noun, rest, first, at, out);
    }
    act(noun, rest, first, at, &mut out);
    out
}

/// Reads all arguments of the program `docker-compose`.
pub fn compose(at: &Invocation<'_>) -> Reading {
    let mut out = Reading::observing();
    let found = read(at.args, &Grammar::wrapper("docker-compose", COMPOSE).exact(), at, &mut out);
    if asks_for_help(at.args) {
        return out;
    }
    let first = Arg::known("compose", at.span);
    verb("compose", &found.operands, &first, at, out)
}

fn verb(noun: &str, rest: &[Arg], first: &Arg, at: &Invocation<'_>, mut out: Reading) -> Reading {
    let Some((word, rest)) = rest.split_first() else { return out };
    let Some(word) = word.text() else {
        unknown_word(&mut out, word, "a subcommand that runs a container");
        return out;
    };
    if !asks_for_help(rest) && !matches!(word, "--help" | "-h" | "help") {
        act(&format!("{noun} {word}"), rest, first, at, &mut out);
    }
    out
}

fn act(verb: &str, rest: &[Arg], first: &Arg, at: &Invocation<'_>, out: &mut Reading) {
    out.effects.push(Effect::UsesCredential("docker".to_owned()));
    let span = first.span;
    let name = format!("`{} {verb}`", at.program);
    let has = |wanted: &[&str]| rest.iter().any(|arg| arg.text().is_some_and(|text| wanted.contains(&text)));
    if in_list(LOOKS, verb) {
        if let Some(doubt) = rest.iter().find(|arg| arg.many && may_begin_with(arg, |_| true)) {
            unknown_word(out, doubt, "an option");
        }
        if has(&["-o", "--output"]) && verb == "compose config"
            || rest.iter().any(|arg| arg.text().is_some_and(|t| t.starts_with("--output=") && verb == "compose config"))
        {
            out.raise(Code::WritesPath, Class::Write, span, format!("{name} --output writes a file"));
        }
        return;
    }
    if in_list(FETCHES, verb) {
        out.effects.push(Effect::NetOut(Operand::Any));
        return out.raise(Code::ReachesNetwork, Class::Network, span, format!("{name} reaches a registry"));
    }
    if in_list(LOSES, verb) {
        out.attributes.insert(Attribute::BroadDelete);
        return out.raise(Code::Destroys, Class::Destructive, span, format!("{name} removes what cannot be had again"));
    }
    if in_list(STARTS, verb) {
        out.effects.push(Effect::NetOut(Operand::Any));
        out.raise(
            Code::ReachesNetwork,
            Class::Network,
            span,
            format!("{name} may fetch an image and runs what is in it"),
        );
        match verb {
            "run" | "create" | "container run" | "container create" => run(rest, at, out),
            "compose run" | "compose exec" | "build" | "image build" | "buildx build" => grants(rest, out),
            _ => {}
        }
        return;
    }
    match verb {
        "exec" | "container exec" => exec(rest, at, out),
        "rm" | "container rm" | "rmi" | "image rm" | "pod rm" | "compose rm" | "compose down" | "compose kill" => {
            let forces = |arg: &Arg| {
                arg.text().is_none_or(|text| {
                    matches!(text, "--force" | "--volumes" | "--rmi" | "--all")
                        || text.starts_with("--rmi=")
                        || (text.starts_with('-')
                            && !text.starts_with("--")
                            && !text.starts_with("-t")
                            && text.contains(['f', 'v', 'a']))
                })
            };
            if rest.iter().any(forces) {
                out.raise(
                    Code::Destroys,
                    Class::Destructive,
                    span,
                    format!("{name} by force or with volumes cannot be undone"),
                );
            } else {
                out.raise(Code::ChangesState, Class::Write, span, format!("{name} removes named containers or images"));
            }
        }
        "cp" | "container cp" | "save" | "image save" | "export" | "container export" => {
            if !matches!(verb, "cp" | "container cp")
                && !has(&["-o", "--output"])
                && rest.iter().all(|arg| arg.text().is_some_and(|t| !t.starts_with('-')))
            {
                return;
            }
            if let Some(target) = rest.last() {
                out.writes(&target.value, target.span, &name);
            }
            out.raise(Code::WritesPath, Class::Write, span, format!("{name} copies files out or in"));
        }
        _ => {
            out.raise(Code::ChangesState, Class::Write, span, format!("{name} changes containers, images or settings"))
        }
    }
}

const RUN: &[Opt] = &[
    flag("-d -i -t -P -q --detach --interactive --tty --rm --init --read-only --no-healthcheck --quiet", Does::Nothing),
    flag("--publish-all --sig-proxy --disable-content-trust --replace --help --oom-kill-disable", Does::Nothing),
    perhaps("--privileged", Does::Asked("privileged")),
    value("-v --volume --mount", Does::Asked("mount")),
    value("--pid --ipc --userns --uts --cgroupns --network --net", Does::Asked("namespace")),
    value(
        "--cap-add --device --security-opt --volumes-from --device-cgroup-rule --group-add --cgroup-parent",
        Does::Asked("rights"),
    ),
    value("-e --env -l --label -p --publish --expose -w --workdir --name -h --hostname -u --user", Does::Nothing),
    value(
        "-m --memory --cpus --cpu-shares -c --memory-swap --shm-size --ulimit --restart --platform --pull",
        Does::Nothing,
    ),
    value(
        "--network-alias --ip --dns --add-host --link --tmpfs --gpus --runtime --log-driver --log-opt -a",
        Does::Nothing,
    ),
    value(
        "--attach --cap-drop --stop-signal --stop-timeout --health-cmd --health-interval --annotation",
        Does::Nothing,
    ),
    value(
        "--isolation --pids-limit --cpuset-cpus --storage-opt --sysctl --mac-address --detach-keys --pod",
        Does::Nothing,
    ),
    value("--entrypoint", Does::Asked("entrypoint")),
    value("--env-file --label-file", Does::Reads),
    value("--cidfile", Does::Writes),
];

/// `run [options] IMAGE [command …]`
fn run(rest: &[Arg], at: &Invocation<'_>, out: &mut Reading) {
    let found = read(rest, &Grammar::wrapper("docker run", RUN).exact().floor(Class::Network), at, out);
    rights(&found, out);
    let command = found.operands.get(1..).unwrap_or(&[]);
    let entry = found.values("entrypoint").next();
    let mut words: Vec<Arg> = entry.cloned().into_iter().collect();
    words.extend_from_slice(command);
    if !words.is_empty() {
        out.runs_argv("docker run", words, false, Inflow::Inherited);
    }
}

fn rights(found: &Found, out: &mut Reading) {
    let mut takes = |span, text: String| {
        out.effects.push(Effect::Privilege("container".to_owned()));
        out.raise(Code::Privilege, Class::Destructive, span, text);
    };
    for (name, given, span) in &found.asked {
        match (*name, given) {
            ("privileged", Some(value)) if value.text() == Some("false") => {}
            ("privileged", _) => takes(*span, "`--privileged` gives the container the host's rights".to_owned()),
            ("mount", Some(mount)) if reaches_host(mount) => {
                takes(
                    *span,
                    format!("{} puts a part of the host's system into the container", say::shown(&mount.value)),
                );
            }
            ("namespace", Some(space))
                if space.text().is_none_or(|text| text == "host" || text.starts_with("container:")) =>
            {
                // The host's network alone is no more than `network`.
                out_of_namespace(space, &mut takes, *span);
            }
            ("rights", Some(right)) if !harmless_right(right) => {
                takes(*span, format!("{} widens what the container may do", say::shown(&right.value)));
            }
            _ => {}
        }
    }
}

fn out_of_namespace(space: &Arg, takes: &mut impl FnMut(crate::assess::Span, String), span: crate::assess::Span) {
    takes(span, format!("{} shares a namespace of the host", say::shown(&space.value)));
}

fn harmless_right(right: &Arg) -> bool {
    right.text().is_some_and(|text| {
        let upper = text.to_ascii_uppercase();
        matches!(upper.trim_start_matches("CAP_"), "NET_BIND_SERVICE" | "CHOWN" | "KILL" | "AUDIT_WRITE")
            || text == "no-new-privileges"
            || text == "no-new-privileges:true"
    })
}

/// Whether a mount reaches beyond ordinary directories: `/`, system directories, a home, the daemon's socket.
fn reaches_host(mount: &Arg) -> bool {
    let text = match &mount.value {
        Value::Known(text) => text,
        Value::Unknown { prefix } if prefix.len() > 1 => prefix,
        Value::OneOf(_) | Value::Glob(_) | Value::Unknown { .. } => return true,
    };
    let source = text
        .split(',')
        .find_map(|part| part.strip_prefix("source=").or_else(|| part.strip_prefix("src=")))
        .unwrap_or_else(|| text.split(':').next().unwrap_or(text));
    let path = source.trim_end_matches('/');
    let system = [
        "/etc", "/root", "/boot", "/dev", "/proc", "/sys", "/usr", "/bin", "/sbin", "/lib", "/var/run", "/run",
        "/var/lib", "/home",
    ];
    (source.starts_with('/') && path.is_empty())
        || path.contains("..")
        || path.contains(".sock")
        || matches!(path, "~" | "$HOME")
        || system.iter().any(|root| {
            path == *root || (path.starts_with(root) && path[root.len()..].starts_with('/') && *root != "/home")
        })
}

/// The same grants, looked for among the arguments of other verbs.
fn grants(rest: &[Arg], out: &mut Reading) {
    for arg in rest {
        if arg
            .text()
            .is_some_and(|text| matches!(text, "--privileged" | "--privileged=true" | "--allow=security.insecure"))
        {
            out.raise(Code::Privilege, Class::Destructive, arg.span, "`--privileged` gives the host's rights");
        }
    }
}

const EXEC: &[Opt] = &[
    flag("-d -i -t -q --detach --interactive --tty --latest -l", Does::Nothing),
    flag("--privileged", Does::Is(Code::Privilege, Class::Destructive, "gives the command the host's rights")),
    value("-e --env -w --workdir -u --user --detach-keys", Does::Nothing),
    value("--env-file", Does::Reads),
];

/// `exec [options] CONTAINER command …`
fn exec(rest: &[Arg], at: &Invocation<'_>, out: &mut Reading) {
    let found = read(rest, &Grammar::wrapper("docker exec", EXEC).exact(), at, out);
    out.raise(Code::RunsCommand, Class::Write, at.span, "`exec` runs a command inside a container");
    if let Some(words) = found.operands.get(1..).filter(|words| !words.is_empty()) {
        out.runs_argv("docker exec", words.to_vec(), false, Inflow::Inherited);
    }
}

#[cfg(test)]
mod tests {
    use crate::assess::Class;
    use crate::assess::analyzers::testing::{all, at_least, nested, whole_reading};

    #[test]
    fn looking_at_the_local_daemon_observes() {
        all(
            Class::Read,
            &[
                "docker ps -a",
                "docker images",
                "docker container ls --all",
                "docker logs $x",
                "docker compose -f c.yml ps",
                "docker system df",
                "docker",
                "docker pull --help",
                "docker --version",
                "docker-compose ps",
                "docker inspect --format {{.State}} c",
            ],
        );
    }

    #[test]
    fn running_fetching_and_removing_do_more() {
        all(
            Class::Network,
            &[
                "docker pull x",
                "docker run --rm x ls",
                "docker build .",
                "docker compose up -d",
                "docker -H h ps",
                "docker run --privileged=false x",
            ],
        );
        at_least(
            Class::Write,
            &[
                "docker stop c",
                "docker rm c",
                "docker frob",
                "docker $x",
                "docker exec c ls",
                "docker --frob ps",
                "docker context use x",
                "docker compose down",
                "docker cp c:/a b",
                "docker ps @",
            ],
        );
        all(
            Class::Destructive,
            &[
                "docker rm -f c",
                "docker rm -fv c",
                "docker system prune",
                "docker volume rm v",
                "docker run --privileged x",
                "docker run -v /:/h x",
                "docker run -v/:/h x",
                "docker run --volume=/etc:/e x",
                "docker run --mount type=bind,source=/,target=/h x",
                "docker run -v /var/run/docker.sock:/s x",
                "docker run --pid=host x",
                "docker run --cap-add SYS_ADMIN x",
                "docker run -v $x:/h x",
                "docker compose down -v",
                "docker run -itv /:/h x",
            ],
        );
        assert_eq!(nested(&whole_reading("docker run -it x rm -rf /a")), ["rm -rf /a"]);
        assert_eq!(nested(&whole_reading("docker exec -it c sh -c id")), ["sh -c id"]);
    }
}
