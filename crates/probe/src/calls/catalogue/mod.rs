//! The calls that can be measured.

mod datagrams;
mod files;
mod memory;
mod stdio;
mod streams;
mod time;

use std::io;

use super::request::{Kind, Request};
use super::scratch::Scratch;
use super::subject::{Body, Subject};
use super::{Options, Set};

/// The most calls between two clean-ups if nothing else limits them.
const MOST: usize = 4096;

/// A body and the most calls that it makes in a row.
struct Bounded {
    most: usize,
    body: Box<dyn Body>,
}

impl From<Box<dyn Body>> for Bounded {
    fn from(body: Box<dyn Body>) -> Self {
        Self { most: MOST, body }
    }
}

/// What can be measured, and what cannot, by name with the reason.
pub(super) type Subjects = (Vec<Subject>, Vec<(String, String)>);

/// The calls of the sets (except MPI's) and those requested by name, each in the forms that it has.
pub(super) fn subjects(options: &Options, scratch: &Scratch) -> Subjects {
    let (mut subjects, mut refused) = (Vec::new(), Vec::new());
    for (set, request) in wanted(options) {
        // The paper's tables name their calls without a size.
        let name = if set.is_some() { request.name().to_owned() } else { request.to_string() };
        for wrapped in [false, true] {
            match build(request, wrapped, scratch) {
                None => {}
                Some(Ok(Bounded { most, body })) => {
                    subjects.push(Subject { name: name.clone(), set, wrapped, most, body });
                }
                Some(Err(error)) => refused.push((name.clone(), error.to_string())),
            }
        }
    }
    (subjects, refused)
}

/// The calls of the sets (except MPI's), and those requested by name, which belong to no set.
fn wanted(options: &Options) -> Vec<(Option<Set>, Request)> {
    let of_set = |set| requests_of(set).iter().map(move |&kind| (Some(set), Request::plain(kind)));
    let mut sets = options.sets.clone();
    sets.sort_unstable();
    sets.dedup();
    let mut extra = options.extra.clone();
    extra.sort_unstable();
    extra.dedup();
    sets.into_iter().flat_map(of_set).chain(extra.into_iter().map(|request| (None, request))).collect()
}

/// The same calls, each once.
pub(super) fn requests(options: &Options) -> Vec<Request> {
    let mut requests: Vec<Request> = Vec::new();
    for (_, request) in wanted(options) {
        if !requests.contains(&request) {
            requests.push(request);
        }
    }
    requests
}

/// A call as the bare instruction, or as the C library's function if it has no other form, with the most calls in a
/// row.
///
/// # Errors
/// If it cannot be set up.
pub(super) fn barest(request: Request, scratch: &Scratch) -> io::Result<(usize, Box<dyn Body>)> {
    let built = [false, true].into_iter().find_map(|wrapped| build(request, wrapped, scratch));
    let Bounded { most, body } = built.unwrap_or_else(|| Err(io::ErrorKind::Unsupported.into()))?;
    Ok((most, body))
}

const fn requests_of(set: Set) -> &'static [Kind] {
    match set {
        Set::Syscalls => {
            &[Kind::Getpid, Kind::Gettimeofday, Kind::Stat, Kind::Open, Kind::Write, Kind::Close]
        }
        Set::Libc => &[Kind::Fprintf, Kind::Sprintf],
        Set::Mpi => &[],
    }
}

/// A call in one form; `None` if it does not have that form.
fn build(request: Request, wrapped: bool, scratch: &Scratch) -> Option<io::Result<Bounded>> {
    let bytes = request.bytes;
    Some(match (request.kind, wrapped) {
        // futex(2) has no function in the C library, and the functions that write text exist only there.
        (Kind::FutexWake, true) | (Kind::Sprintf | Kind::Fprintf, false) => return None,
        (Kind::Getpid, _) => Ok(time::getpid(wrapped).into()),
        (Kind::Getppid, _) => Ok(time::getppid(wrapped).into()),
        (Kind::Gettimeofday, _) => Ok(time::gettimeofday(wrapped).into()),
        (Kind::ClockGettime, _) => Ok(time::clock_gettime(wrapped).into()),
        (Kind::SchedYield, _) => Ok(time::sched_yield(wrapped).into()),
        (Kind::FutexWake, false) => Ok(time::futex_wake().into()),
        (Kind::Stat, _) => files::stat(scratch, wrapped),
        (Kind::Open, _) => files::open(scratch, wrapped),
        (Kind::Close, _) => files::close(scratch, wrapped),
        (Kind::Lseek, _) => files::lseek(scratch, wrapped),
        (Kind::Fsync, _) => files::fsync(scratch, wrapped),
        (Kind::Read, _) => files::read(scratch, bytes, wrapped),
        (Kind::Write, _) => files::write(scratch, bytes, wrapped),
        (Kind::Pread, _) => files::pread(scratch, bytes, wrapped),
        (Kind::Pwrite, _) => files::pwrite(scratch, bytes, wrapped),
        (Kind::Mmap, _) => Ok(memory::mmap(bytes, wrapped)),
        (Kind::Munmap, _) => Ok(memory::munmap(bytes, wrapped)),
        (Kind::Sendto, _) => datagrams::sendto(bytes, wrapped),
        (Kind::Recvfrom, _) => datagrams::recvfrom(bytes, wrapped),
        (Kind::Send, _) => streams::send(bytes, wrapped),
        (Kind::Recv, _) => streams::recv(bytes, wrapped),
        (Kind::Sprintf, true) => Ok(stdio::sprintf().into()),
        (Kind::Fprintf, true) => stdio::fprintf(scratch),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether a descriptor is one of the scratch's file.
    fn held(fd: &io::Result<std::fs::DirEntry>, scratch: &Scratch) -> bool {
        let link = fd.as_ref().ok().and_then(|fd| std::fs::read_link(fd.path()).ok());
        link.is_some_and(|path| path == scratch.file())
    }

    #[test]
    fn every_call_can_be_made_again_and_again() {
        let scratch = Scratch::create().unwrap();
        let extra = Request::names().map(|name| name.replace("(n)", "(4096)").parse().unwrap());
        let options = Options { extra: extra.collect(), ..Options::default() };
        let (mut subjects, refused) = subjects(&options, &scratch);
        // Loopback may be down in a network namespace.
        let of_network = ["sendto(4096)", "recvfrom(4096)", "send(4096)", "recv(4096)"];
        assert!(refused.iter().all(|(name, _)| of_network.contains(&&name[..])), "{refused:?}");
        assert_eq!(subjects.len() + refused.len(), 2 * 6 + 2 + 2 * Request::names().count() - 3);
        for subject in &mut subjects {
            let name = &subject.name;
            for calls in [1, subject.most, subject.most.min(3)] {
                subject.body.within(calls, |run| run()).unwrap_or_else(|error| panic!("{name}: {error}"));
            }
        }
        // Prepared but never run, as when a copy of the process makes the calls.
        let open =
            || std::fs::read_dir("/proc/thread-self/fd").unwrap().filter(|fd| held(fd, &scratch)).count();
        let before = open();
        for subject in &mut subjects {
            subject.body.ready(1).unwrap();
            subject.body.clean().unwrap();
        }
        assert_eq!(open(), before);
        let again = self::subjects(&options, &scratch).0;
        assert_eq!(again.len(), subjects.len());
    }
}
