//! Who may do what with which datasets: one table, from a TOML file.
//!
//! ```toml
//! [groups]
//! analysts = ["alice", "bob"]
//!
//! [[rule]]
//! effect = "allow"
//! who = ["@analysts", "anonymous"]
//! datasets = ["public/**"]
//! rights = ["list", "read"]
//! ```

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::caller::Caller;
use crate::error::AuthError;
use crate::limits::{LIST_MAX, RULES_MAX};
use crate::pattern::DatasetPattern;
use crate::principal::{ANONYMOUS, Principal};
use crate::tokens::understood;

/// What can be done with a dataset. None stands for another: who may write may not read by that.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Right {
    List,
    Read,
    Write,
    Delete,
    Admin,
}

/// The table. What no rule allows is denied, and a rule that denies beats all that allow, wherever
/// each stands.
#[derive(Debug)]
pub struct Policy {
    rules: Vec<Rule>,
}

#[derive(Debug)]
struct Rule {
    effect: Effect,
    who: Vec<Who>,
    datasets: Vec<DatasetPattern>,
    rights: Vec<Right>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Effect {
    Allow,
    Deny,
}

#[derive(Debug)]
enum Who {
    /// `*`: callers without credentials too, so that what is denied to all is denied to them.
    Everyone,
    Anonymous,
    Named(Principal),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PolicyText {
    #[serde(default)]
    groups: BTreeMap<String, Vec<String>>,
    #[serde(default)]
    rule: Vec<RuleText>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RuleText {
    effect: Effect,
    who: Vec<String>,
    datasets: Vec<String>,
    rights: Vec<Right>,
}

impl Policy {
    /// Reads the table.
    ///
    /// # Errors
    /// When it is not understood, or holds a rule that could never apply: a mistake in a rule that
    /// denies must not go unseen.
    pub fn parse(text: &str) -> Result<Self, AuthError> {
        let parsed: PolicyText = understood(text)?;
        if RULES_MAX < parsed.rule.len() {
            return Err(AuthError::TooMany {
                what: "rules",
                count: parsed.rule.len(),
                max: RULES_MAX,
            });
        }
        let mut groups = BTreeMap::new();
        for (name, members) in parsed.groups {
            groups.insert(name, group(&members)?);
        }
        let rules = parsed.rule.iter().zip(1..).map(|(rule, number)| rule.check(number, &groups));
        Ok(Self { rules: rules.collect::<Result<_, _>>()? })
    }

    /// Whether `caller` has `right` over `dataset`, named as the catalogue lists it: a dataset has
    /// other names too, with its extension, and a rule is about the dataset.
    pub fn allows(&self, caller: &Caller, dataset: &str, right: Right) -> bool {
        let mut allowed = false;
        for rule in self.rules.iter().filter(|rule| rule.applies(caller, dataset, right)) {
            match rule.effect {
                Effect::Deny => return false,
                Effect::Allow => allowed = true,
            }
        }
        allowed
    }
}

impl Rule {
    fn applies(&self, caller: &Caller, dataset: &str, right: Right) -> bool {
        self.rights.contains(&right)
            && self.who.iter().any(|who| who.is(caller))
            && self.datasets.iter().any(|pattern| pattern.matches(dataset))
    }
}

impl Who {
    fn is(&self, caller: &Caller) -> bool {
        match self {
            Self::Everyone => true,
            Self::Anonymous => caller.principal().is_none(),
            Self::Named(name) => caller.principal() == Some(name),
        }
    }
}

impl RuleText {
    fn check(
        &self,
        number: usize,
        groups: &BTreeMap<String, Vec<Principal>>,
    ) -> Result<Rule, AuthError> {
        let lengths = [
            ("who", self.who.len()),
            ("datasets", self.datasets.len()),
            ("rights", self.rights.len()),
        ];
        for (what, count) in lengths {
            if count == 0 {
                return Err(AuthError::EmptyRule { number, what });
            }
            few(what, count)?;
        }
        let mut who = Vec::new();
        for name in &self.who {
            if name == "*" {
                who.push(Who::Everyone);
            } else if name == ANONYMOUS {
                who.push(Who::Anonymous);
            } else if let Some(group) = name.strip_prefix('@') {
                let Some(members) = groups.get(group) else {
                    return Err(AuthError::UnknownGroup { number, group: group.to_owned() });
                };
                who.extend(members.iter().cloned().map(Who::Named));
            } else {
                who.push(Who::Named(Principal::parse(name)?));
            }
        }
        let datasets = self.datasets.iter().map(|pattern| DatasetPattern::parse(pattern));
        let datasets = datasets.collect::<Result<_, _>>()?;
        Ok(Rule { effect: self.effect, who, datasets, rights: self.rights.clone() })
    }
}

/// The members of a group, which may be none: people leave.
fn group(members: &[String]) -> Result<Vec<Principal>, AuthError> {
    few("members of a group", members.len())?;
    if members.iter().any(|name| name == ANONYMOUS) {
        return Err(AuthError::AnonymousMember);
    }
    members.iter().map(|name| Principal::parse(name)).collect()
}

fn few(what: &'static str, count: usize) -> Result<(), AuthError> {
    if LIST_MAX < count {
        return Err(AuthError::TooMany { what, count, max: LIST_MAX });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &str = r#"
        [groups]
        analysts = ["alice", "bob"]

        [[rule]]
        effect = "deny"
        who = ["*"]
        datasets = ["**/payroll"]
        rights = ["list", "read", "write", "delete", "admin"]

        [[rule]]
        effect = "allow"
        who = ["@analysts"]
        datasets = ["hr/**", "taxi"]
        rights = ["list", "read"]

        [[rule]]
        effect = "allow"
        who = ["anonymous"]
        datasets = ["public/*"]
        rights = ["read"]

        [[rule]]
        effect = "allow"
        who = ["etl"]
        datasets = ["**"]
        rights = ["write", "delete"]

        [[rule]]
        effect = "deny"
        who = ["bob"]
        datasets = ["taxi"]
        rights = ["read"]
    "#;

    fn caller(name: &str) -> Caller {
        match name {
            ANONYMOUS => Caller::anonymous(),
            name => Caller::verified(Principal::parse(name).unwrap()),
        }
    }

    fn check(name: &str, dataset: &str, expected: &[Right]) {
        let policy = Policy::parse(TABLE).unwrap();
        let all = [Right::List, Right::Read, Right::Write, Right::Delete, Right::Admin];
        let mut found = all.to_vec();
        found.retain(|&right| policy.allows(&caller(name), dataset, right));
        assert_eq!(found, expected, "{name} and {dataset}");
    }

    fn check_fault(text: &str, expected: &str) {
        assert_eq!(Policy::parse(text).unwrap_err().to_string(), expected);
    }

    #[test]
    fn a_group_has_what_its_rule_states_and_nothing_else() {
        check("alice", "hr/people", &[Right::List, Right::Read]);
        check("alice", "taxi", &[Right::List, Right::Read]);
        check("alice", "public/a", &[]);
        check("carol", "taxi", &[]);
    }

    #[test]
    fn a_denial_beats_what_is_allowed_before_and_after_it() {
        check("alice", "hr/payroll", &[]);
        check("etl", "payroll", &[]);
        check("bob", "taxi", &[Right::List]);
    }

    #[test]
    fn writing_is_not_reading() {
        check("etl", "taxi", &[Right::Write, Right::Delete]);
    }

    #[test]
    fn anonymous_callers_have_what_is_stated_for_them_alone() {
        check(ANONYMOUS, "public/a", &[Right::Read]);
        check(ANONYMOUS, "public/a/b", &[]);
        check(ANONYMOUS, "taxi", &[]);
        check("etl2", "public/a", &[]);
    }

    #[test]
    fn an_empty_table_denies_everything() {
        let policy = Policy::parse("").unwrap();
        assert!(!policy.allows(&caller("alice"), "taxi", Right::Read));
        assert!(!policy.allows(&Caller::anonymous(), "taxi", Right::List));
    }

    #[test]
    fn a_rule_that_could_never_apply_is_refused() {
        let rule = |who: &str, datasets: &str| {
            format!(
                "[[rule]]\neffect = \"deny\"\nwho = {who}\ndatasets = {datasets}\nrights = [\"read\"]"
            )
        };
        check_fault(&rule("[]", "['a']"), "rule 1 has an empty list of who; it would never apply");
        check_fault(
            &rule("['*']", "[]"),
            "rule 1 has an empty list of datasets; it would never apply",
        );
        check_fault(
            &rule("['@ops']", "['a']"),
            "rule 1 names the group \"ops\", which is not defined",
        );
        check_fault(
            "[groups]\nall = ['anonymous']",
            "a group cannot hold anonymous callers; name anonymous in the rule itself",
        );
    }

    #[test]
    fn a_word_that_is_not_known_is_refused_with_its_line() {
        let fault = Policy::parse("[[rule]]\neffect = 'permit'\n").unwrap_err();
        assert!(matches!(fault, AuthError::NotUnderstood { line: 2, .. }), "{fault}");
        let fault = Policy::parse("\n\nrules = []\n").unwrap_err();
        assert!(matches!(fault, AuthError::NotUnderstood { line: 3, .. }), "{fault}");
    }
}
