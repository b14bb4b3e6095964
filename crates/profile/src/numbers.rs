//! Rejects profiles with CPU numbers that no kernel assigns: such a profile is damaged.

use coho_topology::MAX_CPUS;

use crate::{Error, Profile};

impl Profile {
    /// # Errors
    /// If a CPU has an impossible number.
    pub(crate) fn check_cpus(&self) -> Result<(), Error> {
        let mut all = self.sections().flat_map(|(_, section)| section.cpus());
        match all.find(|cpu| *cpu >= MAX_CPUS) {
            Some(cpu) => Err(Error::new(format!("CPU number {cpu} is not below {}", MAX_CPUS))),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cpu_that_cannot_be_is_refused_by_its_number() {
        for section in [
            r#""host":{"allowed_cpus":[0,4294967295]}"#,
            r#""idle":{"wakeups":[{"by":"timer","cpu":4294967295}]}"#,
            r#""coherence":{"cpus":[0,4294967295]}"#,
        ] {
            let text = format!(r#"{{"schema":"coho-profile/1",{section}}}"#);
            let error = Profile::from_json(&text).unwrap_err().to_string();
            assert!(error.contains("CPU number 4294967295 is not below"), "{error}");
            assert!(Profile::from_json(&text.replace("4294967295", "4095")).is_ok());
        }
    }
}
