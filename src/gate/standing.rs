//! What may be said yes to beforehand, by whom, and what would that have let through? Always-rules and session grants.

use super::approvals::Desk;
use super::asked::exact_tag;
use super::protocol as p;
use super::trouble::Trouble;
use super::{cards, evidence, keys};
use crate::assess::{Assessment, Attribute, Class};
use crate::authorize::{Digest, IdPrefix, NewRule, Proof, RequestId, RuleKind};
use crate::execute::workspace;
use crate::facts::codes::Code;
use crate::facts::limits::{GRANT_TTL_S_MAX, LINE_BYTES_MAX, RULE_TTL_S_MAX};
use crate::policy::{Circumstances, Template, holds};
use crate::record::{visible, visible_block};
use crate::store::{Decide, PAST_ROWS_MAX, PastRow, Story, Verb};
use std::path::Path;

/// A preview looks back this far.
const PREVIEW_MS: i64 = 7 * 24 * 3600 * 1000;
/// Requests a preview looks at, and those it names.
const PREVIEWED_MAX: u64 = 5_000;
const NAMED_MAX: usize = 20;
/// As much of the past as one answer holds, before it is escaped.
const PAST_BYTES_MAX: usize = LINE_BYTES_MAX / 8;

impl Desk {
    /// The always-rule that this request would become.
    pub(super) fn always(&self, story: &Story, template: bool) -> Result<NewRule, Trouble> {
        let class = story.request.action.class;
        if class == Class::Destructive || story.evidence.card.privileged {
            let message = "nothing destructive, and nothing with privileges, is approved for always";
            return Err(Trouble::with_next(Code::ScopeMismatch, message, "Approve it once"));
        }
        let cwd = story.subject.cwd.path.as_os().to_string_lossy().into_owned();
        if !template {
            return Ok(NewRule {
                kind: RuleKind::Exact { command: exact_tag(&self.gate.store.key(), &story.subject) },
                shown: story.request.command.as_str().to_owned(),
                ceiling: class,
                cwd_prefix: cwd,
                ttl_s: RULE_TTL_S_MAX,
                files: evidence::bound_files(&story.evidence),
            });
        }
        let (template, workspace) = self.template(story)?;
        Ok(NewRule {
            kind: RuleKind::Template { pattern: template.text().to_owned() },
            shown: template.text().to_owned(),
            ceiling: class,
            cwd_prefix: workspace.unwrap_or(cwd),
            ttl_s: RULE_TTL_S_MAX,
            files: evidence::bound_files(&story.evidence),
        })
    }

    /// The shape of a request's one command above read, and the workspace it belongs to.
    fn template(&self, story: &Story) -> Result<(Template, Option<String>), Trouble> {
        let no = |message: String, next: &str| Err(Trouble::with_next(Code::ScopeMismatch, message, next.to_owned()));
        let exact = "Approve exactly this command instead";
        let cwd = Path::new(story.subject.cwd.path.as_os());
        let home = self.gate.home(story.request.session.uid);
        let never = workspace::Never { home: home.as_deref(), forbidden: &self.gate.forbidden() };
        let root = workspace::of(cwd, never).and_then(|root| root.to_str().map(str::to_owned));
        let at = Circumstances {
            cwd: cwd.to_str(),
            workspace: root.as_deref(),
            home: home.as_deref().and_then(Path::to_str),
            ..Circumstances::UNKNOWN
        };
        let assessment = &story.evidence.card.assessment;
        if !assessment.attributes.is_empty() || !assessment.unknowns.is_empty() {
            return no("something about it is not known beforehand".to_owned(), exact);
        }
        let mut above = assessment.segments.iter().filter(|segment| segment.class > Class::Read);
        let (Some(one), None) = (above.next(), above.next()) else {
            return no("it is more than one command above read".to_owned(), exact);
        };
        match Template::of(one, &at) {
            Ok(template) if !template.text().contains("[REDACTED") => Ok((template, root)),
            Ok(_) => no("a word of it is hidden".to_owned(), exact),
            Err((message, next)) => no(message, next),
        }
    }

    /// # Errors
    /// It is wider than a grant may be; as the store says. So for all that follow.
    pub async fn grant(&self, grant: p::Grant) -> Result<p::GrantRow, Trouble> {
        let gate = &self.gate;
        let story = self.story(&grant.id).await?;
        let approver = self.approver(&story)?;
        let subject = Digest::parse(&grant.subject).ok_or_else(|| {
            Trouble::with_next(Code::BadRequest, "subject is no digest", "Echo the subject of the card that was shown")
        })?;
        let plain = story.evidence.card.assessment.attributes.iter().all(|attribute| *attribute == Attribute::Opaque);
        let class = story.request.action.class;
        if let Some(why) = keys::needed(gate, class, &story.evidence, false) {
            let message = format!("a yes must be signed here, and a grant is none: {why}");
            return Err(Trouble::with_next(Code::KeyRequired, message, "Approve this one once, with a key"));
        }
        if class > Class::Write || !plain || story.request.needed > 1 {
            let message = "a session is granted what writes in the workspace at most, and nothing that is in doubt";
            return Err(Trouble::with_next(Code::ScopeMismatch, message, "Approve this one once"));
        }
        let ttl_s = grant.ttl_s.unwrap_or(GRANT_TTL_S_MAX);
        let cwd = Path::new(story.subject.cwd.path.as_os());
        let home = gate.home(story.request.session.uid);
        let never = workspace::Never { home: home.as_deref(), forbidden: &gate.forbidden() };
        let below = workspace::of(cwd, never).unwrap_or_else(|| cwd.to_owned()).to_string_lossy().into_owned();
        // The request itself first: whoever lost a race grants nothing.
        let once = Verb::ApproveOnce { fence: None, ttl_ms: None };
        let (approver, proof) = (approver, Proof::None);
        let decide =
            Decide { decision: once, subject, evidence: None, approver: approver.clone(), proof, comment: None };
        // The row says what became of it.
        drop(gate.store.decide(story.request.id, decide, gate.store.now()).await?);
        let session = story.request.session.clone();
        let id = gate.store.grant(session, Class::Write, below, ttl_s, approver, gate.store.now()).await?;
        gate.reload_rules().await?;
        self.settled(story.request.id).await?;
        tracing::info!(grant = %id, by = self.principal().uid, "granted");
        let rules = self.rules().await?;
        let text = id.to_string();
        rules
            .grants
            .into_iter()
            .find(|grant| grant.id == text)
            .ok_or_else(|| Trouble::new(Code::ApprovalExpired, "the grant is over already"))
    }

    /// Takes back the always-rule or session grant that is meant, if one is.
    pub(super) async fn take_back(&self, id: &str) -> Result<Option<p::Decided>, Trouble> {
        let gate = &self.gate;
        self.untainted()?;
        let Some(prefix) = IdPrefix::parse(id) else { return Ok(None) };
        let grants = gate.store.grants(gate.store.now()).await?;
        let rules = gate.store.rules(gate.store.now()).await?;
        let mut grants = grants.iter().map(|grant| grant.id).filter(|id| id.as_str().starts_with(prefix.as_str()));
        let mut rules = rules.iter().map(|rule| rule.id).filter(|id| id.as_str().starts_with(prefix.as_str()));
        let by = self.principal();
        let said = cards::approver(&by);
        let (id, what) = match (grants.next(), rules.next(), grants.next(), rules.next()) {
            (Some(grant), None, None, None) => {
                gate.store.revoke_grant(grant, by, gate.store.now()).await?;
                (grant.to_string(), "the session grant")
            }
            (None, Some(rule), None, None) => {
                gate.store.remove_rule(rule, by, gate.store.now()).await?;
                (rule.to_string(), "the always-rule")
            }
            _ => return Ok(None),
        };
        gate.reload_rules().await?;
        Ok(Some(p::Decided {
            id,
            state: "REVOKED".to_owned(),
            by: said,
            at_ms: cards::ms(gate.store.now().wall_ms),
            comment: Some(what.to_owned()),
        }))
    }

    /// What holds now.
    pub async fn rules(&self) -> Result<p::Rules, Trouble> {
        let store = &self.gate.store;
        self.untainted()?;
        let rules = store.rules(store.now()).await?;
        let grants = store.grants(store.now()).await?;
        Ok(p::Rules {
            rules: rules.iter().map(cards::rule).collect(),
            grants: grants.iter().map(cards::grant).collect(),
        })
    }

    pub async fn remove_rule(&self, by: p::ById) -> Result<p::RuleRow, Trouble> {
        let gate = &self.gate;
        self.untainted()?;
        let unknown = || {
            let message = format!("no rule, or more than one, is called {}", visible(&by.id));
            Trouble::with_next(Code::UnknownRequest, message, "List them with `tollgate rules`")
        };
        let prefix = IdPrefix::parse(&by.id).ok_or_else(unknown)?;
        let rules = gate.store.rules(gate.store.now()).await?;
        let mut named = rules.iter().filter(|rule| rule.id.as_str().starts_with(prefix.as_str()));
        let (Some(rule), None) = (named.next(), named.next()) else { return Err(unknown()) };
        gate.store.remove_rule(rule.id, self.principal(), gate.store.now()).await?;
        gate.reload_rules().await?;
        Ok(cards::rule(rule))
    }

    pub async fn preview_rule(&self, preview: p::PreviewRule) -> Result<p::Preview, Trouble> {
        let gate = &self.gate;
        let story = self.story(&preview.id).await?;
        self.untainted()?;
        let rule = self.always(&story, preview.template)?;
        let since = gate.store.now().wall_ms - PREVIEW_MS;
        let (mut after, mut looked_at, mut matches, mut matched) = (None, 0, 0, Vec::new());
        while looked_at < PREVIEWED_MAX {
            let rows = gate.store.past(since, after, PAST_ROWS_MAX).await?;
            let Some(last) = rows.last() else { break };
            after = Some(last.id);
            looked_at += rows.len() as u64;
            for row in rows.iter().filter(|row| would_match(&rule, row)) {
                matches += 1;
                matched.push(visible_block(&row.command));
            }
        }
        matched.reverse();
        matched.truncate(NAMED_MAX);
        let kind = match &rule.kind {
            RuleKind::Exact { .. } => "exact",
            RuleKind::Template { .. } => "template",
        };
        Ok(p::Preview {
            kind: kind.to_owned(),
            shown: visible_block(&rule.shown),
            ceiling: rule.ceiling,
            cwd: visible(&rule.cwd_prefix),
            ttl_s: rule.ttl_s,
            looked_at,
            matched,
            matches,
        })
    }

    pub async fn past(&self, past: p::Past) -> Result<p::PastAnswer, Trouble> {
        self.untainted()?;
        let after = match past.after.as_deref() {
            None => None,
            Some(id) => Some(RequestId::parse(id).ok_or_else(|| {
                Trouble::with_next(Code::BadRequest, "after is no id of a request", "Give the id of the last row")
            })?),
        };
        let since = i64::try_from(past.since_ms).unwrap_or(i64::MAX);
        let mut bytes = 0;
        let rows = self.gate.store.past(since, after, PAST_ROWS_MAX).await?;
        let fits = rows.into_iter().enumerate().take_while(|(at, row)| {
            bytes += row.assessment.len() + row.command.len() + 512;
            *at == 0 || bytes <= PAST_BYTES_MAX
        });
        let rows = fits.map(|(_, row)| cards::past(row)).collect();
        Ok(p::PastAnswer { rows })
    }
}

/// Whether the rule would have covered this request. An exact one is compared by what is stored of the command.
fn would_match(rule: &NewRule, row: &PastRow) -> bool {
    let Ok(assessment) = serde_json::from_str::<Assessment>(&row.assessment) else { return false };
    match &rule.kind {
        RuleKind::Exact { .. } => row.command == rule.shown && assessment.class <= rule.ceiling,
        RuleKind::Template { pattern } => {
            let Ok(template) = Template::parse(pattern) else { return false };
            let at = row.around.circumstances(None, 0);
            let standing = crate::policy::Standing {
                id: crate::facts::RuleId::from_random([0; 16]),
                matches: crate::policy::Matches::Template(template),
                ceiling: rule.ceiling,
                // What is stored of a directory is redacted: any counts.
                cwd_prefix: String::new(),
                expires_wall_ms: i64::MAX,
            };
            holds(&standing, &assessment, &at)
        }
    }
}
