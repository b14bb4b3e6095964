//! Reading, after the program has ended. A program can write anything into the file: nothing of it is believed.

use std::fmt;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use crate::layout::{CHUNK, HEADER, MAGIC, RECORD, RECORDS_OF_A_CHUNK};
use crate::record::Record;

/// Why a recording cannot be read.
#[derive(Debug)]
pub enum Error {
    /// The file cannot be read.
    Io(io::Error),
    /// It is none.
    NoRecording,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io(why) => why.fmt(f),
            Self::NoRecording => f.write_str("it is not a recording"),
        }
    }
}

impl std::error::Error for Error {}

/// A record, and who wrote it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Item {
    /// The process's number.
    pub process: u32,
    /// The thread's number, as the kernel has it.
    pub thread: u32,
    /// What was recorded.
    pub record: Record,
}

/// A recording, read chunk by chunk.
#[derive(Debug)]
pub struct Recording<'a> {
    file: &'a File,
    chunks: u64,
    /// Records that found no room.
    pub lost: u64,
}

impl<'a> Recording<'a> {
    /// Opens a recording.
    ///
    /// # Errors
    /// [`Error`] if it cannot be read, or is none.
    pub fn open(file: &'a File) -> Result<Self, Error> {
        let bytes = file.metadata().map_err(Error::Io)?.len();
        let mut words = [0; 24];
        file.read_exact_at(&mut words, 0).map_err(|why| match why.kind() {
            io::ErrorKind::UnexpectedEof => Error::NoRecording,
            _ => Error::Io(why),
        })?;
        let [magic, chunks, lost] = [0, 8, 16].map(|at| word(&words, at));
        if magic != MAGIC {
            return Err(Error::NoRecording);
        }
        let room = bytes.saturating_sub(HEADER as u64) / CHUNK as u64;
        Ok(Self { file, chunks: chunks.min(room), lost })
    }

    /// Hands every record to `each`: those of a chunk in the order of their writing, and chunks in the order in which
    /// they were begun, so that those of one thread that the same writer wrote keep their order.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn for_each(&self, mut each: impl FnMut(Item)) -> io::Result<()> {
        let mut bytes = vec![0; CHUNK];
        for chunk in 0..self.chunks {
            self.file.read_exact_at(&mut bytes, HEADER as u64 + chunk * CHUNK as u64)?;
            let part = |at: usize| u32::from_ne_bytes(std::array::from_fn(|byte| bytes[at + byte]));
            let [process, thread, count] = [0, 4, 8].map(part);
            let records = bytes[RECORD..].chunks_exact(RECORD).take((count as usize).min(RECORDS_OF_A_CHUNK));
            for record in records {
                let words = [0, 8, 16, 24].map(|at| word(record, at));
                if let Some(record) = Record::decode(words) {
                    each(Item { process, thread, record });
                }
            }
        }
        Ok(())
    }
}

fn word(bytes: &[u8], at: usize) -> u64 {
    u64::from_ne_bytes(std::array::from_fn(|byte| bytes[at + byte]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Recorder, create};

    fn items(file: &File) -> Vec<Item> {
        let mut items = Vec::new();
        Recording::open(file).unwrap().for_each(|item| items.push(item)).unwrap();
        items
    }

    #[test]
    fn what_threads_write_is_read_and_what_finds_no_room_is_counted() {
        let file = tempfile::tempfile().unwrap();
        create(&file, 3).unwrap();
        let recorder: &'static Recorder = Box::leak(Box::new(Recorder::open(&file).unwrap()));
        let each = RECORDS_OF_A_CHUNK as u64 + 10;
        std::thread::scope(|scope| {
            for thread in 1..=2 {
                scope.spawn(move || {
                    let mut writer = recorder.writer(7, thread);
                    for time in 0..each {
                        writer.write(Record::End { time });
                    }
                });
            }
        });
        let read = items(&file);
        // Two whole chunks, and the ten records of one thread.
        assert_eq!((read.len(), Recording::open(&file).unwrap().lost), (2 * RECORDS_OF_A_CHUNK + 10, 10));
        for thread in 1..=2 {
            let of = read.iter().filter(|item| item.thread == thread);
            for (time, item) in of.enumerate() {
                assert_eq!((item.process, item.record), (7, Record::End { time: time as u64 }));
            }
        }
    }

    #[test]
    fn a_text_of_any_length_is_read_as_it_was_written() {
        for length in [0, 1, 23, 24, 25, 48, 100] {
            let file = tempfile::tempfile().unwrap();
            create(&file, 1).unwrap();
            let recorder: &'static Recorder = Box::leak(Box::new(Recorder::open(&file).unwrap()));
            let text: Vec<u8> = (0..length).collect();
            assert!(recorder.writer(1, 1).write_text(&text));
            let mut read: Vec<u8> = Vec::new();
            for item in items(&file) {
                let Record::Text { length, bytes } = item.record else { panic!("{item:?}") };
                read.extend(&bytes[..usize::from(length)]);
            }
            assert_eq!(read, text);
        }
    }

    #[test]
    fn what_is_no_recording_is_refused_and_one_that_lies_is_read_within_its_bounds() {
        let file = tempfile::tempfile().unwrap();
        assert!(matches!(Recording::open(&file), Err(Error::NoRecording)));
        file.set_len(CHUNK as u64).unwrap();
        assert!(matches!(Recording::open(&file), Err(Error::NoRecording)));
        create(&file, 1).unwrap();
        file.write_all_at(&u64::MAX.to_ne_bytes(), 8).unwrap();
        file.write_all_at(&u32::MAX.to_ne_bytes(), HEADER as u64 + 8).unwrap();
        assert_eq!(items(&file), []);
        assert!(Recorder::open(&file).is_some_and(|recorder| recorder.lost() == 0));
    }
}
