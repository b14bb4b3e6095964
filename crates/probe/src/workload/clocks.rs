//! The clock that CPUs run at while programs are measured, and how hot they are.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use coho_counters::{Counter, Event, Mode};
use coho_profile::{ClockPoint, TemperaturePoint};
use coho_topology::CpuSet;

use crate::clock::{Clock, effective_ghz};
use crate::meanwhile::{self, Seen};
use crate::workers::{Job, Workers};

/// The most points kept for a run: more could not be distinguished in a chart.
const MOST: usize = 20_000;
/// Sensors of CPUs, by the names of their drivers.
const SENSORS: [&str; 5] = ["coretemp", "k10temp", "zenpower", "cpu_thermal", "k8temp"];

/// The clocks over the run.
pub(super) struct Clocks {
    started: Instant,
    sensors: Vec<PathBuf>,
    pub(super) points: Vec<ClockPoint>,
    pub(super) temperatures: Vec<TemperaturePoint>,
    /// Why a look gave no frequency.
    pub(super) refused: Option<String>,
    /// Why idle states are not known.
    pub(super) no_idle: Option<String>,
}

impl Default for Clocks {
    fn default() -> Self {
        Self {
            started: Instant::now(),
            sensors: sensors(Path::new("/sys/class")),
            points: Vec::new(),
            temperatures: Vec::new(),
            refused: None,
            no_idle: None,
        }
    }
}

impl Clocks {
    /// Why there is no temperature; `None` if there is.
    pub(super) fn no_temperature(&self) -> Option<&'static str> {
        self.sensors.is_empty().then_some("no sensor of a CPU in /sys/class/hwmon or /sys/class/thermal")
    }

    /// Does work and looks at these CPUs meanwhile: their clocks and temperatures go to the points of the run.
    pub(super) fn during<T>(&mut self, cpus: &CpuSet, work: impl FnOnce() -> T) -> (T, Seen, Vec<f64>) {
        let (started, sensors) = (self.started, &self.sensors);
        let temperatures = Mutex::new(Vec::new());
        let also = || {
            let hottest = sensors.iter().filter_map(|path| celsius(path)).reduce(f64::max);
            let at_s = started.elapsed().as_secs_f64();
            let mut temperatures = temperatures.lock().unwrap_or_else(PoisonError::into_inner);
            temperatures.extend(hottest.map(|celsius| TemperaturePoint { at_s, celsius }));
        };
        let (value, seen) = meanwhile::during(cpus, &also, work);
        let room = MOST.saturating_sub(self.points.len());
        self.points.extend(seen.looks.iter().take(room).map(|look| ClockPoint {
            at_s: look.at.saturating_duration_since(self.started).as_secs_f64(),
            cpu: look.cpu,
            ghz: look.ghz,
        }));
        if let Some(why) = &seen.no_clock {
            self.refused = Some(why.clone());
        }
        if let Err(why) = &seen.idle {
            self.no_idle = Some(why.to_string());
        }
        let room = MOST.saturating_sub(self.temperatures.len());
        let temperatures = temperatures.into_inner().unwrap_or_else(PoisonError::into_inner);
        let celsius = temperatures.iter().map(|point| point.celsius).collect();
        self.temperatures.extend(temperatures.into_iter().take(room));
        (value, seen, celsius)
    }
}

/// A CPU's clock by the chains, and by a hardware counter of cycles during the same chains, in GHz.
///
/// # Errors
/// Why one of them is not available.
pub(super) fn proof(workers: &Workers, cpu: u32) -> Result<(f64, f64), String> {
    let job: Job<'_, _> = Box::new(|| {
        let cycles = Counter::open(&Event::cycles(), Mode::User).map_err(|error| error.to_string())?;
        let clock = Clock::get();
        let read = || cycles.read().map_err(|lost| lost.to_string());
        let (before, start) = (read()?, clock.now());
        let by_chains = effective_ghz().map_err(|error| error.to_string())?;
        let counted = read()? - before;
        Ok((by_chains, counted as f64 / clock.ns(clock.now() - start)))
    });
    workers.run(vec![(cpu, job)]).remove(0).map_err(|error| error.to_string())?.value
}

/// The files of the sensors of CPUs: those of their drivers, or else the thermal zones that are named after them.
fn sensors(class: &Path) -> Vec<PathBuf> {
    let entries = |folder: &Path| {
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        entries.map(|entry| entry.path()).collect::<Vec<_>>()
    };
    let is_cpu = |chip: &PathBuf| {
        fs::read_to_string(chip.join("name")).is_ok_and(|name| SENSORS.contains(&name.trim()))
    };
    let is_input = |path: &PathBuf| {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        name.starts_with("temp") && name.ends_with("_input")
    };
    let chips = entries(&class.join("hwmon"));
    let found: Vec<_> =
        chips.iter().filter(|chip| is_cpu(chip)).flat_map(|chip| entries(chip)).filter(is_input).collect();
    if !found.is_empty() {
        return found;
    }
    let is_zone = |zone: &PathBuf| {
        fs::read_to_string(zone.join("type")).is_ok_and(|kind| {
            let kind = kind.trim();
            kind == "x86_pkg_temp" || kind.starts_with("cpu")
        })
    };
    let zones = entries(&class.join("thermal"));
    zones.iter().filter(|zone| is_zone(zone)).map(|zone| zone.join("temp")).collect()
}

fn celsius(path: &Path) -> Option<f64> {
    fs::read_to_string(path).ok()?.trim().parse::<f64>().ok().map(|thousandths| thousandths / 1000.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use coho_platform::pin;

    #[test]
    fn clocks_or_a_reason_while_work_goes_on() {
        let allowed = pin::allowed().unwrap();
        let cpus: Vec<u32> = allowed.iter().collect();
        let mut clocks = Clocks::default();
        let ((), seen, _) =
            clocks.during(&allowed, || std::thread::sleep(std::time::Duration::from_millis(300)));
        assert!(seen.looks.len() >= cpus.len().min(16) || clocks.refused.is_some(), "{seen:?}");
        assert_eq!(clocks.points.len(), seen.looks.len());
        if let Ok((by_chains, by_counter)) = proof(&Workers::start(&cpus).unwrap(), cpus[0]) {
            // Interruptions reduce counted cycles, and only the fastest chains count.
            assert!(by_counter < by_chains * 1.2, "{by_counter} {by_chains}");
        }
    }

    #[test]
    fn sensors_of_cpus_are_found_among_others() {
        let root = tempfile::tempdir().unwrap();
        for (chip, name) in [("hwmon0", "nvme"), ("hwmon1", "k10temp")] {
            let chip = root.path().join("hwmon").join(chip);
            fs::create_dir_all(&chip).unwrap();
            fs::write(chip.join("name"), format!("{name}\n")).unwrap();
            fs::write(chip.join("temp1_input"), "45250\n").unwrap();
            fs::write(chip.join("fan1_input"), "900\n").unwrap();
        }
        let zone = root.path().join("thermal/thermal_zone0");
        fs::create_dir_all(&zone).unwrap();
        fs::write(zone.join("type"), "x86_pkg_temp\n").unwrap();
        fs::write(zone.join("temp"), "51000\n").unwrap();
        let found = sensors(root.path());
        assert_eq!(found, [root.path().join("hwmon/hwmon1/temp1_input")]);
        assert_eq!(celsius(&found[0]), Some(45.25));
        fs::remove_dir_all(root.path().join("hwmon")).unwrap();
        assert_eq!(sensors(root.path()), [zone.join("temp")]);
        fs::write(zone.join("type"), "acpitz\n").unwrap();
        assert!(sensors(root.path()).is_empty(), "a board's sensor is none of a CPU");
        assert!(sensors(Path::new("/nonexistent")).is_empty());
    }
}
