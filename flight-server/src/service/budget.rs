//! Memory that uploads hold together.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Bytes that may be held, in units of a kibibyte so that a semaphore can count them.
#[derive(Debug, Clone)]
pub struct Budget {
    permits: Arc<Semaphore>,
}

/// A share of the budget, given back when dropped.
#[derive(Debug)]
pub struct Share(OwnedSemaphorePermit);

impl Share {
    /// Joins two shares.
    pub fn merge(&mut self, other: Self) {
        self.0.merge(other.0);
    }

    /// Gives back all but `bytes`.
    pub fn shrink_to(&mut self, bytes: u64) {
        let keep = usize::try_from(bytes.div_ceil(UNIT)).unwrap_or(usize::MAX);
        let surplus = self.0.num_permits().saturating_sub(keep);
        drop(self.0.split(surplus));
    }
}

const UNIT: u64 = 1 << 10;

impl Budget {
    pub fn new(bytes: u64) -> Self {
        let units = usize::try_from(bytes / UNIT).unwrap_or(usize::MAX);
        Self { permits: Arc::new(Semaphore::new(units.min(Semaphore::MAX_PERMITS))) }
    }

    /// Waits until `bytes`, at most those of one message, can be held.
    pub async fn share(&self, bytes: usize) -> Share {
        let permits = Arc::clone(&self.permits);
        let permit = permits.acquire_many_owned(units(bytes)).await;
        Share(permit.expect("the semaphore is never closed"))
    }

    /// The same without waiting; `None` when others hold too much.
    pub fn try_share(&self, bytes: usize) -> Option<Share> {
        let permits = Arc::clone(&self.permits);
        permits.try_acquire_many_owned(units(bytes)).ok().map(Share)
    }
}

fn units(bytes: usize) -> u32 {
    u32::try_from((bytes as u64).div_ceil(UNIT)).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn what_is_given_back_can_be_had_again() {
        let budget = Budget::new(4096);
        let most = budget.share(3000).await;
        assert!(budget.try_share(2000).is_none());
        drop(most);
        assert!(budget.try_share(4096).is_some());
    }

    #[tokio::test]
    async fn a_share_can_grow_and_shrink() {
        let budget = Budget::new(4096);
        let mut share = budget.share(1024).await;
        share.merge(budget.share(3072).await);
        assert!(budget.try_share(1).is_none());
        share.shrink_to(1025);
        assert!(budget.try_share(2048).is_some());
        assert!(budget.try_share(3072).is_none());
    }
}
