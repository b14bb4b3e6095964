//! The calls that can be delegated.

/// A system call, or several that do the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Call {
    Access,
    Close,
    Fsync,
    Ftruncate,
    Mkdir,
    Open,
    Pread,
    Pwrite,
    Read,
    Rename,
    Rmdir,
    Stat,
    Unlink,
    Write,
}

impl Call {
    pub const ALL: [Self; 14] = [
        Self::Access,
        Self::Close,
        Self::Fsync,
        Self::Ftruncate,
        Self::Mkdir,
        Self::Open,
        Self::Pread,
        Self::Pwrite,
        Self::Read,
        Self::Rename,
        Self::Rmdir,
        Self::Stat,
        Self::Unlink,
        Self::Write,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Self::Access => "access",
            Self::Close => "close",
            Self::Fsync => "fsync",
            Self::Ftruncate => "ftruncate",
            Self::Mkdir => "mkdir",
            Self::Open => "open",
            Self::Pread => "pread",
            Self::Pwrite => "pwrite",
            Self::Read => "read",
            Self::Rename => "rename",
            Self::Rmdir => "rmdir",
            Self::Stat => "stat",
            Self::Unlink => "unlink",
            Self::Write => "write",
        }
    }

    /// Whether a thread can be cancelled in it.
    pub fn is_cancellation_point(self) -> bool {
        matches!(
            self,
            Self::Close | Self::Fsync | Self::Open | Self::Pread | Self::Pwrite | Self::Read | Self::Write
        )
    }

    pub fn bit(self) -> u32 {
        1 << self as u8
    }
}

/// What `COHO_DELEGATE` says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Chosen {
    /// A bit for each call.
    pub calls: u32,
    /// Whether writes return before they are done.
    pub writes_later: bool,
    /// Whether the calls are delegated while that gains alone.
    pub is_auto: bool,
    pub verbose: bool,
}

impl Chosen {
    /// Names between commas.
    ///
    /// # Errors
    /// The first name that it does not know.
    pub fn parse(list: &[u8]) -> Result<Self, String> {
        let mut chosen = Self::default();
        for name in list.split(|&byte| byte == b',').filter(|name| !name.is_empty()) {
            match Call::ALL.iter().find(|call| call.name().as_bytes() == name) {
                Some(call) => chosen.calls |= call.bit(),
                None if name == b"write:async" => chosen.writes_later = true,
                None if name == b"auto" => chosen.is_auto = true,
                None if name == b"verbose" => chosen.verbose = true,
                None => return Err(String::from_utf8_lossy(name).into_owned()),
            }
        }
        Ok(chosen)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read() {
        let chosen = Chosen::parse(b"write,verbose,stat").unwrap();
        assert_eq!(
            chosen,
            Chosen { calls: Call::Write.bit() | Call::Stat.bit(), verbose: true, ..Chosen::default() }
        );
        assert_eq!(Chosen::parse(b""), Ok(Chosen::default()));
        assert!(Chosen::parse(b"write:async").unwrap().writes_later);
        assert!(Chosen::parse(b"auto,close").unwrap().is_auto);
        assert_eq!(Chosen::parse(b"stat,getpid"), Err("getpid".to_owned()));
        let all: Vec<_> = Call::ALL.map(Call::name).to_vec();
        assert_eq!(Chosen::parse(all.join(",").as_bytes()).unwrap().calls, (1 << Call::ALL.len()) - 1);
    }
}
