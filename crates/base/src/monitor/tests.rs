use super::*;
use crate::sync::thread;

const MOMENT: Duration = Duration::from_millis(1);

#[test]
fn wait_ends_by_data_by_cancel_or_by_time() {
    let monitor = Arc::new(Monitor::new(0));
    let cancellation = Cancellation::new();
    let wait = |least| {
        let cancellation = Some(&cancellation);
        let (data, end) = monitor.wait_while(cancellation, Some(MOMENT), |data| *data < least);
        (*data, end)
    };
    assert_eq!(wait(0), (0, WaitEnd::Ready));
    assert_eq!(wait(1), (0, WaitEnd::TimedOut));
    cancellation.cancel();
    assert_eq!(wait(1), (0, WaitEnd::Cancelled));
    assert_eq!(wait(0), (0, WaitEnd::Ready), "data that is ready counts before a cancel");
}

#[test]
fn notified_wait_looks_at_the_data_again() {
    let monitor = Arc::new(Monitor::new(0));
    thread::scope(|scope| {
        let waiter = scope.spawn(|| {
            let (data, end) = monitor.wait_while(None, None, |data| *data < 3);
            (*data, end)
        });
        for _ in 0..3 {
            *monitor.lock() += 1;
            monitor.notify_one();
        }
        assert_eq!(waiter.join().unwrap(), (3, WaitEnd::Ready));
    });
}

#[test]
fn cancel_ends_one_session_and_leaves_the_others_waiting() {
    let monitor = Arc::new(Monitor::new(false));
    let cancellations = [0, 1].map(|_| Cancellation::new());
    thread::scope(|scope| {
        let [first, second] = cancellations.each_ref().map(|cancellation| {
            let monitor = &monitor;
            let wait = move || monitor.wait_while(Some(cancellation), None, |is_open| !*is_open).1;
            scope.spawn(wait)
        });
        cancellations[0].cancel();
        assert_eq!(first.join().unwrap(), WaitEnd::Cancelled);
        assert!(!second.is_finished());
        *monitor.lock() = true;
        monitor.notify_all();
        assert_eq!(second.join().unwrap(), WaitEnd::Ready);
    });
}
