//! When an open loop starts what: at times that are drawn beforehand, whatever the server does.
//!
//! A call that has to wait for a free stream is late, and its response time says so: it is taken
//! from the intended time. Nothing is dropped and the schedule is never shifted.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::io;
use std::time::Instant;

use flight_sample::arrivals::Schedule;
use tokio::sync::{Semaphore, oneshot};

use super::timer::Timer;

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
        let at = self.schedule.borrow_mut().get_or_insert_with(&self.begin).advance();
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
    use flight_sample::arrivals::Arrival;

    use super::*;

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
            assert!(taken.iter().all(|at| *at == again.advance()), "none is left out");
        });
    }
}
