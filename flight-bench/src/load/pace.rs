//! When an open loop starts what: at times that are drawn beforehand, whatever the server does.
//!
//! A call that has to wait for a free stream is late, and its response time says so: it is taken
//! from the intended time. Nothing is dropped and the schedule is never shifted.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::io;
use std::time::{Duration, Instant};

use rand::RngExt;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;
use tokio::sync::{Semaphore, oneshot};

use super::timer::Timer;
use crate::config::Arrival;
use crate::limits::DURATION_MAX;

/// The times of a thread's arrivals, in their order, without an end.
#[derive(Debug)]
pub(crate) struct Schedule {
    next: Instant,
    mean: Duration,
    arrival: Arrival,
    rng: ChaCha8Rng,
}

impl Schedule {
    /// Arrivals from `start` on, `per_second` of them on average.
    pub(crate) fn new(start: Instant, per_second: f64, arrival: Arrival, seed: u64) -> Self {
        // Longer than any run, where the rate is next to nothing.
        let mean = Duration::try_from_secs_f64(1.0 / per_second).unwrap_or(DURATION_MAX);
        let mean = mean.min(DURATION_MAX);
        Self { next: start, mean, arrival, rng: ChaCha8Rng::seed_from_u64(seed) }
    }

    /// The next arrival.
    pub(crate) fn next(&mut self) -> Instant {
        let gap = match self.arrival {
            Arrival::Uniform => self.mean,
            // The gaps of a Poisson process are exponential: the inverse of their distribution.
            Arrival::Poisson => {
                let share: f64 = self.rng.random();
                self.mean.mul_f64(-(1.0 - share).ln())
            }
        };
        let at = self.next;
        self.next += gap;
        at
    }
}

/// Lets the streams of a thread go at the times of its schedule.
pub(super) struct Pacer {
    /// Begins the schedule: when the first stream is ready, so that connecting makes nobody late.
    begin: Box<dyn Fn() -> Schedule>,
    schedule: RefCell<Option<Schedule>>,
    /// Streams that wait for their time, in its order.
    waiting: RefCell<VecDeque<(Instant, oneshot::Sender<()>)>>,
    came: Semaphore,
}

impl Pacer {
    pub(super) fn new(begin: Box<dyn Fn() -> Schedule>) -> Self {
        let (waiting, came) = (RefCell::default(), Semaphore::new(0));
        Self { begin, schedule: RefCell::default(), waiting, came }
    }

    /// Waits for the next arrival that no other stream took; when it was to be.
    pub(super) async fn next(&self) -> Instant {
        let at = self.schedule.borrow_mut().get_or_insert_with(&self.begin).next();
        if at > Instant::now() {
            let (sender, receiver) = oneshot::channel();
            self.waiting.borrow_mut().push_back((at, sender));
            self.came.add_permits(1);
            // Its sender is dropped with the thread's work alone.
            let _ = receiver.await;
        }
        at
    }

    /// Wakes the streams; does not end.
    ///
    /// # Errors
    ///
    /// The system gives no timer.
    pub(super) async fn run(&self) -> io::Result<()> {
        let timer = Timer::new()?;
        loop {
            if let Ok(permit) = self.came.acquire().await {
                permit.forget();
            }
            let first = self.waiting.borrow_mut().pop_front();
            if let Some((at, sender)) = first {
                timer.sleep_until(at).await?;
                let _ = sender.send(()); // A stream that was cut off waits no more.
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gaps(arrival: Arrival, seed: u64, count: usize) -> Vec<f64> {
        let start = Instant::now();
        let mut schedule = Schedule::new(start, 1_000.0, arrival, seed);
        let times: Vec<f64> =
            (0..=count).map(|_| (schedule.next() - start).as_secs_f64() * 1e3).collect();
        times.windows(2).map(|pair| pair[1] - pair[0]).collect()
    }

    #[test]
    fn uniform_arrivals_are_evenly_apart() {
        assert!(gaps(Arrival::Uniform, 1, 1_000).iter().all(|gap| (gap - 1.0).abs() < 1e-3));
    }

    #[test]
    fn poisson_arrivals_have_exponential_gaps() {
        let gaps = gaps(Arrival::Poisson, 1, 100_000);
        let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
        assert!((mean - 1.0).abs() < 0.02, "{mean}");
        // P(gap > x) = exp(-x).
        for (longer_than, share) in [(0.1, 0.9048), (1.0, 0.3679), (3.0, 0.0498)] {
            let found = gaps.iter().filter(|gap| **gap > longer_than).count() as f64;
            let found = found / gaps.len() as f64;
            assert!((found - share).abs() < 0.01, "{found} of gaps over {longer_than}");
        }
    }

    #[test]
    fn a_seed_gives_the_same_arrivals_again_and_another_does_not() {
        assert_eq!(gaps(Arrival::Poisson, 7, 50), gaps(Arrival::Poisson, 7, 50));
        assert_ne!(gaps(Arrival::Poisson, 7, 50), gaps(Arrival::Poisson, 8, 50));
    }

    #[test]
    fn streams_take_each_time_of_the_schedule_once_and_not_before_it() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        runtime.expect("a runtime").block_on(async {
            let start = Instant::now();
            let begin = move || Schedule::new(start, 2_000.0, Arrival::Poisson, 3);
            let pacer = Pacer::new(Box::new(begin));
            let taken = RefCell::new(Vec::new());
            let stream = async || {
                for _ in 0..50 {
                    let at = pacer.next().await;
                    assert!(at <= Instant::now(), "it is not early");
                    taken.borrow_mut().push(at);
                }
            };
            tokio::select! {
                ended = pacer.run() => panic!("{ended:?}"),
                _ = async { tokio::join!(stream(), stream(), stream()) } => {}
            }
            let mut taken = taken.into_inner();
            taken.sort(); // A stream that need not wait overtakes one that is just woken.
            let mut again = Schedule::new(start, 2_000.0, Arrival::Poisson, 3);
            assert!(taken.iter().all(|at| *at == again.next()), "none is left out");
        });
    }
}
