//! Who a call comes from, once that was checked.

use crate::principal::Principal;

/// Who a call comes from. Only a check of credentials makes a named one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Caller {
    principal: Option<Principal>,
}

impl Caller {
    /// A caller that showed no credentials. One that showed wrong ones is refused, not anonymous.
    pub fn anonymous() -> Self {
        Self { principal: None }
    }

    pub(crate) fn verified(principal: Principal) -> Self {
        Self { principal: Some(principal) }
    }

    /// The name that the credentials stand for; none where there were none.
    pub fn principal(&self) -> Option<&Principal> {
        self.principal.as_ref()
    }
}
