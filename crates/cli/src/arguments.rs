//! Values of options that several commands take.

use std::time::Duration;

/// A time: `90` (seconds), `1.5`, `60s`, `2m`, `500ms`; above zero and at most a year.
pub fn duration(text: &str) -> Result<Duration, String> {
    let time = match text.parse::<f64>() {
        Ok(seconds) => Duration::try_from_secs_f64(seconds).map_err(|error| error.to_string())?,
        Err(_) => humantime::parse_duration(text).map_err(|error| error.to_string())?,
    };
    if time.is_zero() || time > Duration::from_secs(365 * 24 * 3600) {
        return Err("give a time above zero and below a year, such as 60s".into());
    }
    Ok(time)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_seconds_or_carry_their_unit() {
        assert_eq!(duration("90"), Ok(Duration::from_secs(90)));
        assert_eq!(duration("1.5"), Ok(Duration::from_millis(1500)));
        assert_eq!(duration("2m"), Ok(Duration::from_secs(120)));
        for bad in ["", "-1", "0", "nan", "inf", "1e300", "ten", "5 parsecs"] {
            assert!(duration(bad).is_err(), "{bad}");
        }
    }
}
