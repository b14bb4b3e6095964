//! Tasks that depend on others made by the same task (`depend`): each waits until earlier ones that name the same
//! places are done.

use std::collections::HashMap;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::{AcqRel, Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use libc::c_void;

use super::Explicit;

/// A place that a task names, and whether it only reads there. Other kinds of dependence are treated as writing, which
/// orders at least as much.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Dependence {
    pub place: usize,
    pub reads: bool,
}

impl Dependence {
    pub const ALL: Self = Self { place: ALL_MEMORY, reads: false };
}

/// What a task that has dependences keeps.
#[derive(Debug)]
pub struct Order {
    /// Tasks that it waits for, plus one until it is fully created.
    blockers: AtomicUsize,
    /// Tasks that wait for it; `None` once it is done.
    followers: Mutex<Option<Vec<Arc<Explicit>>>>,
}

/// The latest of a task's children that named each place.
#[derive(Debug, Default)]
pub struct Latest {
    places: HashMap<usize, Place>,
    /// The latest that named all memory; it is the writer of every place that none has named since.
    everywhere: Option<Arc<Explicit>>,
}

#[derive(Debug)]
struct Place {
    writer: Option<Arc<Explicit>>,
    /// The readers since the writer.
    readers: Vec<Arc<Explicit>>,
}

const IN: usize = 1;
/// How the compiler writes `omp_all_memory`, which is always written to.
const ALL_MEMORY: usize = 0;

/// As the compiler lists them: the number of all and of those that write, then the places; or 0, the number of all, of those that
/// write, that exclude each other and that read, then the places, then objects of a place and a kind.
///
/// # Safety
/// The compiler's list.
pub unsafe fn dependences(list: *const *const c_void) -> Vec<Dependence> {
    // SAFETY: the list is as long as it says.
    let word = |at: usize| unsafe { *list.add(at) as usize };
    if word(0) != 0 {
        let writers = word(1);
        return (0..word(0)).map(|at| Dependence { place: word(2 + at), reads: at >= writers }).collect();
    }
    let (writers, readers) = (word(2) + word(3), word(4));
    let one = |at: usize| {
        if at < writers + readers {
            return Dependence { place: word(5 + at), reads: at >= writers };
        }
        // SAFETY: the program has initialised the object.
        let [place, kind] = unsafe { *(word(5 + at) as *const [usize; 2]) };
        Dependence { place, reads: kind == IN }
    };
    (0..word(1)).map(one).collect()
}

impl Order {
    pub fn new() -> Self {
        Self { blockers: AtomicUsize::new(1), followers: Mutex::new(Some(Vec::new())) }
    }

    fn followers(&self) -> MutexGuard<'_, Option<Vec<Arc<Explicit>>>> {
        self.followers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_done(&self) -> bool {
        self.followers().is_none()
    }

    /// Removes one task that it waits for; returns whether that was the last.
    fn is_free_without_one(&self) -> bool {
        self.blockers.fetch_sub(1, AcqRel) == 1
    }
}

/// Whether a task with dependences is done.
pub fn is_done(task: &Explicit) -> bool {
    task.order.as_ref().is_none_or(|order| order.is_done())
}

/// Makes a task wait for others. Returns whether it may be executed at once.
pub fn follow(task: &Arc<Explicit>, before: &[Arc<Explicit>]) -> bool {
    let Some(order) = &task.order else { return true };
    for earlier in before.iter().filter_map(|earlier| earlier.order.as_ref()) {
        if let Some(followers) = &mut *earlier.followers() {
            order.blockers.fetch_add(1, Relaxed);
            followers.push(task.clone());
        }
    }
    order.is_free_without_one()
}

/// Marks a task as done; returns those that may now be executed.
pub fn finish(task: &Explicit) -> Vec<Arc<Explicit>> {
    let Some(order) = &task.order else { return Vec::new() };
    let mut free = order.followers().take().unwrap_or_default();
    free.retain(|follower| follower.order.as_ref().is_some_and(|order| order.is_free_without_one()));
    free
}

fn names_all(dependences: &[Dependence]) -> bool {
    dependences.iter().any(|dependence| dependence.place == ALL_MEMORY)
}

impl Latest {
    /// The tasks before one with these dependences.
    pub fn before(&self, dependences: &[Dependence]) -> Vec<Arc<Explicit>> {
        let mut before: Vec<Arc<Explicit>> = Vec::new();
        if names_all(dependences) {
            let all = self.places.values().flat_map(|place| place.writer.iter().chain(&place.readers));
            before.extend(all.chain(&self.everywhere).filter(|task| !is_done(task)).cloned());
            return before;
        }
        for dependence in dependences {
            let Some(place) = self.places.get(&dependence.place) else {
                before.extend(self.everywhere.clone());
                continue;
            };
            before.extend(place.writer.clone());
            if !dependence.reads {
                before.extend(place.readers.iter().cloned());
            }
        }
        before
    }

    /// Adds a task with these dependences after all so far.
    pub fn add(&mut self, task: &Arc<Explicit>, dependences: &[Dependence]) {
        if names_all(dependences) {
            // A task that waits for it waits for all so far.
            self.places.clear();
            self.everywhere = Some(task.clone());
            return;
        }
        if self.places.len() + dependences.len() > self.places.capacity() {
            self.forget_done();
        }
        for dependence in dependences {
            let place = self
                .places
                .entry(dependence.place)
                .or_insert_with(|| Place { writer: self.everywhere.clone(), readers: Vec::new() });
            if !dependence.reads {
                place.readers.clear();
                place.writer = Some(task.clone());
                continue;
            }
            if place.writer.as_ref().is_some_and(|writer| Arc::ptr_eq(writer, task)) {
                continue;
            }
            if place.readers.len() == place.readers.capacity() {
                place.readers.retain(|reader| !is_done(reader));
                // So that the next look at all of them is as many tasks away.
                place.readers.reserve(place.readers.len());
            }
            place.readers.push(task.clone());
        }
    }

    /// Forgets places for which no task is left to wait for, so that there are not many more places than unfinished
    /// tasks.
    fn forget_done(&mut self) {
        self.everywhere.take_if(|task| is_done(task));
        self.places.retain(|_, place| !place.writer.iter().chain(&place.readers).all(|task| is_done(task)));
        // So that the next look at all of them is as many places away.
        self.places.reserve(self.places.len());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn word(value: usize) -> *const c_void {
        value as *const c_void
    }

    fn told(list: &[*const c_void]) -> Vec<(usize, bool)> {
        // SAFETY: lists as the compiler makes them.
        let read = unsafe { dependences(list.as_ptr()) };
        read.into_iter().map(|one| (one.place, one.reads)).collect()
    }

    #[test]
    fn both_forms_of_lists_are_read() {
        let short = [3, 1, 100, 200, 300].map(word);
        assert_eq!(told(&short), [(100, false), (200, true), (300, true)]);
        let (object, writes) = ([400_usize, IN], [500_usize, 5]);
        let long = [0, 5, 1, 1, 1, 100, 200, 300].map(word);
        let long = [&long[..], &[object.as_ptr().cast(), writes.as_ptr().cast()]].concat();
        assert_eq!(told(&long), [(100, false), (200, false), (300, true), (400, true), (500, false)]);
    }
}
