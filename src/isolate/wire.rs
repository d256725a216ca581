//! What do the two ends say to each other? Frames of postcard with their length before them.
//!
//! The worker's end is read as hostile: sizes are capped, and an answer that could not be the answer to its question
//! is none.

use crate::assess::catalogue::Additions;
use crate::assess::{
    Assessment, Attributes, Class, Code, Effect, Envelope, Operand, Place, Question, Reason, Segment, Span, Unknown,
};
use serde::{Deserialize, Serialize};
use std::io::{self, Read, Write};

/// Longest question: text, directories and names.
pub(super) const QUESTION_BYTES_MAX: usize = 1024 * 1024;
/// Longest answer.
pub(super) const ANSWER_BYTES_MAX: usize = 16 * 1024 * 1024;

/// Appends a frame to `out`.
pub(super) fn frame(value: &impl Serialize, out: &mut Vec<u8>) -> io::Result<()> {
    let start = out.len();
    out.extend_from_slice(&[0; 4]);
    let mut filled = postcard::to_extend(value, std::mem::take(out)).map_err(io::Error::other)?;
    let len = u32::try_from(filled.len() - start - 4).map_err(io::Error::other)?;
    filled[start..start + 4].copy_from_slice(&len.to_le_bytes());
    *out = filled;
    Ok(())
}

/// One frame of at most `most` bytes; `None` at the end of the stream.
pub(super) fn receive(from: &mut impl Read, most: usize) -> io::Result<Option<Vec<u8>>> {
    let mut len = [0; 4];
    match from.read_exact(&mut len) {
        Ok(()) => {}
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
        Err(error) => return Err(error),
    }
    let len = u32::from_le_bytes(len) as usize;
    if len > most {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "a frame is too long"));
    }
    let mut bytes = vec![0; len];
    from.read_exact(&mut bytes)?;
    Ok(Some(bytes))
}

/// Sends what `frame` made.
pub(super) fn send(to: &mut impl Write, frames: &[u8]) -> io::Result<()> {
    to.write_all(frames)?;
    to.flush()
}

pub(super) fn additions(bytes: &[u8]) -> Option<Additions> {
    postcard::from_bytes(bytes).ok()
}

pub(super) fn question(bytes: &[u8]) -> Option<Question> {
    postcard::from_bytes(bytes).ok()
}

// The shapes of an answer that postcard can carry: JSON leaves out what is absent and names its variants, postcard
// can do neither.

macro_rules! wire_effects {
    ($($with:ident($of:ty),)* ; $($bare:ident,)*) => {
        #[derive(Serialize, Deserialize)]
        enum WireEffect { $($with($of),)* $($bare,)* }

        impl From<Effect> for WireEffect {
            fn from(effect: Effect) -> WireEffect {
                match effect {
                    $(Effect::$with(of) => WireEffect::$with(of),)*
                    $(Effect::$bare => WireEffect::$bare,)*
                }
            }
        }

        impl From<WireEffect> for Effect {
            fn from(effect: WireEffect) -> Effect {
                match effect {
                    $(WireEffect::$with(of) => Effect::$with(of),)*
                    $(WireEffect::$bare => Effect::$bare,)*
                }
            }
        }
    };
}

wire_effects! {
    ReadPath(Operand),
    WritePath(Operand),
    DeletePath(Operand),
    Exec(Operand),
    NetOut(Operand),
    NetListen(Operand),
    UnixSocket(Operand),
    UsesCredential(String),
    Install(String),
    Signal(Operand),
    Device(Operand),
    Privilege(String),
    EnvInfluence(String),
    SecretRead(Operand),
    ShellState(String),
    ;
    ProcInspect,
    NetInspect,
}

#[derive(Serialize, Deserialize)]
pub(super) struct Answer {
    segments: Vec<WireSegment>,
    unknowns: Vec<(Span, String)>,
    names: Vec<String>,
    envelope: Option<Envelope>,
}

#[derive(Serialize, Deserialize)]
struct WireSegment {
    span: Span,
    depth: u16,
    place: Place,
    operator: String,
    program: Option<String>,
    argv: Vec<Operand>,
    class: Class,
    reasons: Vec<WireReason>,
    effects: Vec<WireEffect>,
    attributes: Attributes,
}

#[derive(Serialize, Deserialize)]
struct WireReason {
    code: Code,
    class: Class,
    text: String,
    hint: Option<String>,
    span: Span,
}

impl From<Assessment> for Answer {
    fn from(assessment: Assessment) -> Answer {
        let segments = assessment.segments.into_iter().map(|segment| {
            let Segment { span, depth, place, operator, program, argv, class, reasons, effects, attributes } = segment;
            let reasons = reasons.into_iter().map(|reason| {
                let Reason { code, class, text, hint, span } = reason;
                WireReason { code, class, text, hint, span }
            });
            let reasons = reasons.collect();
            let effects = effects.into_iter().map(WireEffect::from).collect();
            WireSegment { span, depth, place, operator, program, argv, class, reasons, effects, attributes }
        });
        let unknowns = assessment.unknowns.into_iter().map(|Unknown { span, what }| (span, what));
        Answer {
            segments: segments.collect(),
            unknowns: unknowns.collect(),
            names: assessment.names,
            envelope: assessment.envelope,
        }
    }
}

/// The assessment in `bytes`, if it could be the answer to `question`. The whole is computed again from its parts.
pub(super) fn answer(bytes: &[u8], question: &Question) -> Option<Assessment> {
    let Answer { segments, unknowns, names, envelope } = postcard::from_bytes(bytes).ok()?;
    let segments = segments.into_iter().map(|segment| {
        let WireSegment { span, depth, place, operator, program, argv, class, reasons, effects, attributes } = segment;
        let reasons = reasons.into_iter().map(|reason| {
            let WireReason { code, class, text, hint, span } = reason;
            Reason { code, class, text, hint, span }
        });
        let reasons = reasons.collect();
        let effects = effects.into_iter().map(Effect::from).collect();
        Segment { span, depth, place, operator, program, argv, class, reasons, effects, attributes }
    });
    let unknowns = unknowns.into_iter().map(|(span, what)| Unknown { span, what }).collect();
    let assessment = Assessment { names, envelope, ..Assessment::of(segments.collect(), unknowns)? };
    assessment.is_sound(&question.text).then_some(assessment)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::assess::unanalysed;

    fn every_effect() -> Vec<Effect> {
        let known = || Operand::Known("a".to_owned());
        vec![
            Effect::ReadPath(known()),
            Effect::WritePath(Operand::Glob("*".to_owned())),
            Effect::DeletePath(Operand::Unknown { prefix: "p".to_owned() }),
            Effect::Exec(Operand::Any),
            Effect::NetOut(known()),
            Effect::NetListen(known()),
            Effect::UnixSocket(known()),
            Effect::UsesCredential("ssh".to_owned()),
            Effect::Install("pip".to_owned()),
            Effect::Signal(known()),
            Effect::ProcInspect,
            Effect::NetInspect,
            Effect::Device(known()),
            Effect::Privilege("sudo".to_owned()),
            Effect::EnvInfluence("PATH".to_owned()),
            Effect::SecretRead(known()),
            Effect::ShellState("cwd".to_owned()),
        ]
    }

    fn answered() -> (Question, Assessment) {
        let question = Question::text_only("probe one two");
        let mut assessment = unanalysed(&question, "why");
        let segment = &mut assessment.segments[0];
        segment.effects = every_effect();
        segment.class = Class::Destructive;
        segment.reasons[0].hint = Some("do this".to_owned());
        segment.program = Some("probe".to_owned());
        assessment.unknowns = vec![Unknown { span: Span::new(0, 5), what: "it".to_owned() }];
        let assessment = Assessment::of(assessment.segments, assessment.unknowns).expect("a segment");
        let assessment = Assessment { names: vec!["probe".to_owned()], ..assessment };
        (question, assessment)
    }

    fn carried(assessment: &Assessment) -> Vec<u8> {
        let mut out = Vec::new();
        frame(&Answer::from(assessment.clone()), &mut out).expect("a frame");
        receive(&mut out.as_slice(), ANSWER_BYTES_MAX).expect("whole").expect("a frame")
    }

    #[test]
    fn everything_an_answer_can_hold_comes_through() {
        let (question, assessment) = answered();
        assert_eq!(answer(&carried(&assessment), &question), Some(assessment.clone()));
        let mut bare = assessment;
        bare.segments[0].program = None;
        bare.segments[0].reasons[0].hint = None;
        assert_eq!(answer(&carried(&bare), &question), Some(bare));
    }

    #[test]
    fn an_answer_that_cannot_be_one_is_none() {
        let (question, sound) = answered();
        let spoiled: [fn(&mut Assessment); 5] = [
            |a| a.segments.clear(),
            |a| a.segments[0].reasons.clear(),
            |a| a.segments[0].class = Class::Read,
            |a| a.segments[0].span = Span::new(0, 999),
            |a| a.segments[0].reasons[0].span = Span::new(5, 2),
        ];
        for spoil in spoiled {
            let mut assessment = sound.clone();
            spoil(&mut assessment);
            assert_eq!(answer(&carried(&assessment), &question), None);
        }
    }

    #[test]
    fn cut_and_changed_bytes_do_no_harm() {
        let (question, assessment) = answered();
        let bytes = carried(&assessment);
        for cut in 0..bytes.len() {
            assert!(answer(&bytes[..cut], &question).is_none_or(|a| a.class == Class::Destructive));
            let mut changed = bytes.clone();
            changed[cut] ^= 0xff;
            // Whatever comes out of it: no panic, and never an answer without segments.
            assert!(answer(&changed, &question).is_none_or(|a| !a.segments.is_empty()));
        }
    }

    #[test]
    fn a_frame_over_the_cap_is_refused_before_it_is_read() {
        let claimed = u32::MAX.to_le_bytes();
        assert!(receive(&mut claimed.as_slice(), ANSWER_BYTES_MAX).is_err());
    }
}
