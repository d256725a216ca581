//! Who may say yes? Users and groups that the policy names; whoever reaches the socket where it names none.

use crate::policy::Policy;
use nix::unistd::{Group, User, getgrouplist};
use std::ffi::CString;

/// Whether policy says who approves.
pub fn are_named(policy: &Policy) -> bool {
    policy.values().uids.is_some() || policy.values().groups.is_some()
}

/// Whether policy lets this user approve. A user or group that cannot be looked up is none.
pub fn may_approve(policy: &Policy, uid: u32) -> bool {
    let values = policy.values();
    let (uids, groups) = (values.uids.as_deref(), values.groups.as_deref());
    if !are_named(policy) {
        return true;
    }
    uids.unwrap_or_default().contains(&uid) || groups.unwrap_or_default().iter().any(|group| is_member(uid, group))
}

fn is_member(uid: u32, group: &str) -> bool {
    let Ok(Some(group)) = Group::from_name(group) else { return false };
    let Ok(Some(user)) = User::from_uid(uid.into()) else { return false };
    let Ok(name) = CString::new(user.name) else { return false };
    getgrouplist(&name, user.gid).is_ok_and(|groups| groups.contains(&group.gid))
}
