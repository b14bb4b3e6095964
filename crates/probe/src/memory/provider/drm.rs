//! Graphics devices by their driver (Linux `drm.h`).

use std::ffi::{OsStr, c_char};
use std::fs;
use std::os::fd::AsFd;
use std::path::Path;

use super::super::device::Device;
use super::Places;
use super::ioctl;

/// The group of all requests.
pub(super) const GROUP: u8 = b'd';

/// `struct drm_version`
#[repr(C)]
struct Version {
    version: [libc::c_int; 3],
    name_bytes: usize,
    name: *mut c_char,
    date_bytes: usize,
    date: *mut c_char,
    description_bytes: usize,
    description: *mut c_char,
}

/// Whether a folder of /sys/class/drm is a card: `card0`, but not its connector `card0-HDMI-A-1`.
fn is_card(name: &str) -> bool {
    let number = name.strip_prefix("card");
    number.is_some_and(|number| !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()))
}

/// Opens the first card of this driver. The device is chosen through sysfs, as opening a card can take control of the
/// screen from another program.
pub(super) fn open(places: &Places, driver: &str) -> Result<Device, String> {
    let name = find(&places.sys.join("class/drm"), driver)?;
    let device = Device::open(&places.dev.join("dri").join(&name), 0)?;
    let told = driver_of(&device)?;
    if told != driver {
        return Err(format!("{name} belongs to driver {told}, not {driver}"));
    }
    Ok(device)
}

fn find(folder: &Path, driver: &str) -> Result<String, String> {
    let mut names: Vec<String> = fs::read_dir(folder)
        .map_err(|_| format!("no graphics devices: {} is not there", folder.display()))?
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .filter(|name| is_card(name))
        .collect();
    names.sort();
    let found = names.iter().find(|name| is_driven_by(&folder.join(name), driver));
    found.cloned().ok_or_else(|| format!("no graphics device of driver {driver}"))
}

/// By the link to the driver or, if the device is not on a bus, by the device's own name.
fn is_driven_by(node: &Path, driver: &str) -> bool {
    let ends_in_driver =
        |path: &Path| fs::canonicalize(path).is_ok_and(|path| path.file_name() == Some(OsStr::new(driver)));
    ends_in_driver(&node.join("device/driver")) || ends_in_driver(&node.join("device"))
}

/// The name that the driver gives itself.
fn driver_of(device: &Device) -> Result<String, String> {
    let mut name = [0u8; 32];
    let mut version = Version {
        version: [0; 3],
        name_bytes: name.len(),
        name: name.as_mut_ptr().cast(),
        date_bytes: 0,
        date: std::ptr::null_mut(),
        description_bytes: 0,
        description: std::ptr::null_mut(),
    };
    // SAFETY: DRM_IOCTL_VERSION writes at most `name_bytes` to `name`, and nothing where the size is 0.
    unsafe { ioctl::call(device.as_fd(), ioctl::asks::<Version>(GROUP, 0), &mut version) }
        .map_err(|error| device.failed("asking for the driver's name", &error))?;
    let length = version.name_bytes.min(name.len());
    Ok(String::from_utf8_lossy(&name[..length]).into_owned())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn finds_a_driver_by_its_link_or_by_the_devices_name() {
        let folder = tempfile::tempdir().unwrap();
        let sys = folder.path().join("sys");
        let drm = sys.join("class/drm");
        for made in ["class/drm/card0", "class/drm/card0-DP-1", "class/drm/card1", "class/drm/renderD129"] {
            fs::create_dir_all(sys.join(made)).unwrap();
        }
        fs::create_dir_all(sys.join("bus/pci/drivers/i915")).unwrap();
        fs::create_dir_all(sys.join("devices/0000:00:02.0")).unwrap();
        fs::create_dir_all(sys.join("devices/vgem")).unwrap();
        symlink(sys.join("bus/pci/drivers/i915"), sys.join("devices/0000:00:02.0/driver")).unwrap();
        symlink(sys.join("devices/0000:00:02.0"), drm.join("card0/device")).unwrap();
        symlink(sys.join("devices/0000:00:02.0"), drm.join("card0-DP-1/device")).unwrap();
        symlink(sys.join("devices/vgem"), drm.join("card1/device")).unwrap();
        symlink(sys.join("devices/vgem"), drm.join("renderD129/device")).unwrap();
        assert_eq!(find(&drm, "i915"), Ok("card0".into()));
        assert_eq!(find(&drm, "vgem"), Ok("card1".into()));
        assert_eq!(find(&drm, "amdgpu"), Err("no graphics device of driver amdgpu".into()));

        // A device that sysfs names may be missing, or be something else.
        let places = Places { sys, dev: folder.path().join("dev"), ..Places::default() };
        let why = open(&places, "vgem").err().unwrap();
        assert!(why.contains("dev/dri/card1 cannot be opened"), "{why}");
        fs::create_dir_all(places.dev.join("dri")).unwrap();
        fs::write(places.dev.join("dri/card1"), "").unwrap();
        let why = open(&places, "vgem").err().unwrap();
        assert!(why.contains("asking for the driver's name"), "{why}");
    }

    #[test]
    fn says_that_there_are_no_graphics_devices() {
        let why = find(Path::new("/nowhere/drm"), "vgem").unwrap_err();
        assert!(why.starts_with("no graphics devices"), "{why}");
    }

    #[test]
    fn the_version_request_is_the_kernels() {
        assert_eq!(ioctl::asks::<Version>(GROUP, 0), 0xc040_6400);
    }
}
