//! How the library comes into a program: linked to one with more rights than its user, or opened late and closed.

use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

use coho_testing::{Capability, needs};

use crate::common::{later, library, program, texts};

#[test]
fn a_library_that_is_opened_late_stays() {
    needs!(Capability::CCompiler);
    let folder = tempfile::tempdir().unwrap();
    let mut command = Command::new(program("opens", &[]));
    command.arg(library()).current_dir(&folder).env("COHO_DELEGATE", "write:async,verbose");
    let output = command.output().unwrap();
    assert!(output.status.success(), "{output:?}");
    assert_eq!(texts(&output).0, "closed\n");
    assert!(later(&output) > 0, "{output:?}");
    assert_eq!(std::fs::read_to_string(folder.path().join("lines")).unwrap(), "line\n".repeat(1000));
}

#[test]
fn programs_with_more_rights_than_their_user_make_their_calls_themselves() {
    needs!(Capability::CCompiler, Capability::SetUserId);
    const NOBODY: u32 = 65534;
    // Where another user gets to.
    let folder = tempfile::tempdir().unwrap();
    let copy = |from: &Path, mode| {
        let to = folder.path().join(from.file_name().unwrap());
        std::fs::copy(from, &to).unwrap();
        std::fs::set_permissions(&to, PermissionsExt::from_mode(mode)).unwrap();
        to
    };
    std::fs::set_permissions(&folder, PermissionsExt::from_mode(0o777)).unwrap();
    let library = copy(&library(), 0o755);
    let path = format!("-Wl,--no-as-needed,-rpath,{}", folder.path().display());
    let program = program("privileged", &[&path, library.to_str().unwrap()]);
    for (mode, is_delegated) in [(0o755, true), (0o4755, false)] {
        let mut command = Command::new(copy(&program, mode));
        command.uid(NOBODY).current_dir(&folder).env("COHO_DELEGATE", "write:async,verbose");
        let output = command.output().unwrap();
        let said = if is_delegated { 1 } else { 0 };
        let expected = format!("lseek(lines, 0, SEEK_CUR): 5000 \ngeteuid() == getuid(): {said} \n");
        assert_eq!(texts(&output).0, expected, "{output:?}");
        assert_eq!(later(&output) > 0, is_delegated, "{output:?}");
        assert!(is_delegated || output.stderr.is_empty(), "{output:?}");
    }
}
