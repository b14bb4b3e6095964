//! The stored surveys of all hosts.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::Survey;

/// The most surveys kept per boot of one machine; the oldest go first.
pub const MOST_OF_HOST: usize = 64;
/// The most surveys kept in all.
pub const MOST: usize = 512;

const SCHEMA: &str = "coho-history/1";

/// Why a text cannot be read as a log.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum NoLog {
    /// It has this schema, which another version of coho reads.
    Other(String),
    /// It is not a log.
    Broken(String),
}

impl fmt::Display for NoLog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Other(schema) => {
                write!(f, "its schema is '{schema}', but this version of coho reads '{SCHEMA}'")
            }
            Self::Broken(why) => write!(f, "not a history ({why}); delete it to start a new one"),
        }
    }
}

impl std::error::Error for NoLog {}

/// The stored surveys.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Log {
    schema: String,
    surveys: Vec<Survey>,
}

impl Default for Log {
    fn default() -> Self {
        Self { schema: SCHEMA.into(), surveys: Vec::new() }
    }
}

impl Log {
    /// The surveys, oldest first.
    pub fn surveys(&self) -> &[Survey] {
        &self.surveys
    }

    /// Parses a log. Checks its schema first: what another version keeps need not look like this.
    ///
    /// # Errors
    /// [`NoLog`].
    pub fn parse(text: &str) -> Result<Self, NoLog> {
        #[derive(Deserialize)]
        struct Named {
            schema: String,
        }
        let broken = |error: serde_json::Error| NoLog::Broken(error.to_string());
        let Named { schema } = serde_json::from_str(text).map_err(broken)?;
        if schema != SCHEMA {
            return Err(NoLog::Other(schema));
        }
        serde_json::from_str(text).map_err(broken)
    }

    /// Adds a survey, and drops the oldest beyond the limits.
    pub fn add(&mut self, survey: Survey) {
        let of_host = self.surveys.iter().filter(|other| other.host == survey.host).count();
        if of_host >= MOST_OF_HOST
            && let Some(oldest) = self.surveys.iter().position(|other| other.host == survey.host)
        {
            self.surveys.remove(oldest);
        }
        self.surveys.push(survey);
        let beyond = self.surveys.len().saturating_sub(MOST);
        self.surveys.drain(..beyond);
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::survey;
    use super::*;

    #[test]
    fn the_log_keeps_the_latest() {
        let mut log = Log::default();
        for at_s in 0..200 {
            log.add(survey(27.0, at_s));
        }
        assert_eq!((log.surveys().len(), log.surveys()[0].at_s), (MOST_OF_HOST, 200 - MOST_OF_HOST as u64));
        for boot in 0..1000 {
            let mut other = survey(27.0, 1000 + boot);
            other.host.boot = boot.to_string();
            log.add(other);
        }
        assert_eq!(log.surveys().len(), MOST);
        let text = serde_json::to_string(&log).unwrap();
        assert!(text.len() < 1 << 20, "{} bytes", text.len());
        assert_eq!(Log::parse(&text), Ok(log));
    }

    #[test]
    fn the_log_of_a_later_version_is_not_called_broken() {
        let newer = r#"{"schema": "coho-history/2", "hosts": {}}"#;
        assert_eq!(Log::parse(newer), Err(NoLog::Other("coho-history/2".into())));
        let error = Log::parse(newer).unwrap_err().to_string();
        assert!(error.contains("coho-history/2") && !error.contains("delete"), "{error}");
        for broken in [
            "",
            "[]",
            "{}",
            r#"{"schema": "coho-history/1"}"#,
            r#"{"schema": "coho-history/1", "surveys": 3}"#,
        ] {
            assert!(matches!(Log::parse(broken), Err(NoLog::Broken(_))), "{broken}");
        }
    }
}
