//! Writing, by the threads of the program. Nothing here allocates, takes a lock or fails with a panic: it is called
//! from signal handlers and from within the allocator.

use std::fs::File;
use std::os::fd::AsRawFd;
use std::ptr::NonNull;
use std::sync::atomic::Ordering::{Relaxed, Release};

use crate::layout::{CHUNK, HEADER, Head, Header, MAGIC, RECORD, RECORDS_OF_A_CHUNK};
use crate::record::Record;

/// The file, mapped for as long as the process lives. A forked child shares it.
#[derive(Debug)]
pub struct Recorder {
    base: NonNull<u8>,
    chunks: u64,
}

// SAFETY: what is shared is atomic, and a chunk is handed out once.
unsafe impl Send for Recorder {}
// SAFETY: as above.
unsafe impl Sync for Recorder {}

impl Recorder {
    /// Maps a file that [`create`](crate::create) made; `None` for any other, or if it cannot be mapped.
    pub fn open(file: &File) -> Option<Self> {
        let bytes = usize::try_from(file.metadata().ok()?.len()).ok()?;
        let chunks = bytes.checked_sub(HEADER)? / CHUNK;
        // SAFETY: a new mapping, whose address the kernel chooses.
        let base = unsafe {
            let access = libc::PROT_READ | libc::PROT_WRITE;
            libc::mmap(std::ptr::null_mut(), bytes, access, libc::MAP_SHARED, file.as_raw_fd(), 0)
        };
        if base == libc::MAP_FAILED {
            return None;
        }
        let recorder = Self { base: NonNull::new(base.cast())?, chunks: chunks as u64 };
        (recorder.header().magic == MAGIC).then_some(recorder)
    }

    fn header(&self) -> &Header {
        // SAFETY: the mapping is larger than a header, aligned to a page and never unmapped.
        unsafe { self.base.cast().as_ref() }
    }

    /// A thread's writer. Only one may write with it at a time: a signal handler, which may
    /// interrupt the thread that it runs on, has one of its own.
    pub fn writer(&'static self, process: u32, thread: u32) -> Writer {
        Writer { recorder: self, process, thread, chunk: None }
    }

    /// Records that found no room so far.
    pub fn lost(&self) -> u64 {
        self.header().lost.load(Relaxed)
    }

    fn chunk(&self, process: u32, thread: u32) -> Option<NonNull<Head>> {
        let header = self.header();
        // Looked at first, so that a counter which many threads go on adding to cannot wrap.
        if header.chunks.load(Relaxed) >= self.chunks {
            return None;
        }
        let mine = header.chunks.fetch_add(1, Relaxed);
        if mine >= self.chunks {
            return None;
        }
        // SAFETY: below the number of chunks, so within the mapping.
        let head: NonNull<Head> = unsafe { self.base.add(HEADER + mine as usize * CHUNK).cast() };
        // SAFETY: as above; this thread alone was given it.
        let fields = unsafe { head.as_ref() };
        fields.process.store(process, Relaxed);
        fields.thread.store(thread, Relaxed);
        Some(head)
    }
}

/// Writes one thread's records.
#[derive(Debug)]
pub struct Writer {
    recorder: &'static Recorder,
    process: u32,
    thread: u32,
    chunk: Option<NonNull<Head>>,
}

// SAFETY: the chunk is its own.
unsafe impl Send for Writer {}

impl Writer {
    /// Writes a record; false if the file is full.
    pub fn write(&mut self, record: Record) -> bool {
        let written = self.try_write(record);
        if !written {
            self.recorder.header().lost.fetch_add(1, Relaxed);
        }
        written
    }

    /// Writes a text as the records that follow one another.
    pub fn write_text(&mut self, text: &[u8]) -> bool {
        Record::texts(text).all(|part| self.write(part))
    }

    /// Writes a record whose last word, which counts something, the thread goes on adding to; `None` if the file is
    /// full.
    pub fn write_counter(&mut self, record: Record) -> Option<NonNull<u64>> {
        let place = self.place(record);
        if place.is_none() {
            self.recorder.header().lost.fetch_add(1, Relaxed);
        }
        // SAFETY: a record has so many words.
        place.map(|place| unsafe { place.cast::<u64>().add(RECORD / 8 - 1) })
    }

    fn try_write(&mut self, record: Record) -> bool {
        self.place(record).is_some()
    }

    /// Where the record was written.
    fn place(&mut self, record: Record) -> Option<NonNull<[u64; RECORD / 8]>> {
        let full = |head: NonNull<Head>| {
            // SAFETY: a chunk of the mapping.
            unsafe { head.as_ref() }.count.load(Relaxed) as usize >= RECORDS_OF_A_CHUNK
        };
        if self.chunk.is_none_or(full) {
            self.chunk = self.recorder.chunk(self.process, self.thread);
        }
        let head = self.chunk?;
        // SAFETY: a chunk of the mapping that this writer alone writes to.
        let count = unsafe { &head.as_ref().count };
        let at = count.load(Relaxed);
        // SAFETY: `at` is below `RECORDS_OF_A_CHUNK`, and the head is as large as a record.
        let place = unsafe { head.cast::<[u64; RECORD / 8]>().add(1 + at as usize) };
        // SAFETY: as above.
        unsafe { place.write(record.encode()) };
        count.store(at + 1, Release);
        Some(place)
    }
}

const _: () = assert!(size_of::<Head>() == RECORD && size_of::<Header>() <= HEADER);
