//! Threads that only pin and unpin: `PROGRAM REPEATS`.

fn main() {
    let repeats: u64 = std::env::args().nth(1).and_then(|text| text.parse().ok()).expect("repeats");
    let threads: Vec<_> = (0..2)
        .map(|_| {
            std::thread::spawn(move || {
                for _ in 0..repeats {
                    drop(std::hint::black_box(crossbeam_epoch::pin()));
                }
            })
        })
        .collect();
    threads.into_iter().for_each(|thread| thread.join().unwrap());
}
