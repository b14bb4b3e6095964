//! The calls that can be measured.

mod datagrams;
mod files;
mod memory;
mod stdio;
mod streams;
pub(super) mod table;
mod time;

use std::io;

use super::request::Request;
use super::scratch::Scratch;
use super::subject::{Act, Subject};
use super::{Options, Set};

/// What can be measured, and what cannot, by name with the reason.
pub(super) type Subjects = (Vec<Subject>, Vec<(String, String)>);

/// The calls of the sets (except MPI's) and those requested by name, each in the forms that it has.
pub(super) fn subjects(options: &Options, scratch: &Scratch) -> Subjects {
    let (mut subjects, mut refused) = (Vec::new(), Vec::new());
    for (set, request) in wanted(options) {
        // The paper's tables name their calls without a size.
        let name = if set.is_some() { request.name().to_owned() } else { request.to_string() };
        for (wrapped, form) in request.entry().forms(request.bytes, scratch) {
            match form {
                Ok(Act { most, body }) => {
                    subjects.push(Subject { name: name.clone(), set, wrapped, most, body });
                }
                Err(error) => refused.push((name.clone(), error.to_string())),
            }
        }
    }
    (subjects, refused)
}

/// The calls of the sets (except MPI's), and those requested by name, which belong to no set.
fn wanted(options: &Options) -> Vec<(Option<Set>, Request)> {
    let of_set = |set| names_of(set).iter().filter_map(move |name| Some((Some(set), Request::named(name)?)));
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

/// A call as the bare instruction, or as the C library's function if it has no other form.
///
/// # Errors
/// If it cannot be set up.
pub(super) fn barest(request: Request, scratch: &Scratch) -> io::Result<Act> {
    let mut forms = request.entry().forms(request.bytes, scratch);
    forms.next().map_or_else(|| Err(io::ErrorKind::Unsupported.into()), |(_, form)| form)
}

const fn names_of(set: Set) -> &'static [&'static str] {
    match set {
        Set::Syscalls => &["getpid", "gettimeofday", "stat", "open", "write", "close"],
        Set::Libc => &["fprintf", "sprintf"],
        Set::Mpi => &[],
    }
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
