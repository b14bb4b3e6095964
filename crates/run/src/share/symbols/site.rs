//! What is no place of the program's own: allocators, and libraries that ask them for memory on its behalf.

/// Functions by which programs and libraries allocate, as the linker knows them.
const ALLOCATORS: [&str; 22] = [
    "malloc",
    "calloc",
    "realloc",
    "reallocarray",
    "aligned_alloc",
    "posix_memalign",
    "memalign",
    "valloc",
    "pvalloc",
    "strdup",
    "strndup",
    "mmap",
    "xmalloc",
    "xcalloc",
    "xrealloc",
    "xzalloc",
    "xstrdup",
    "zmalloc",
    "zcalloc",
    "zrealloc",
    "safe_malloc",
    "checked_malloc",
];

/// Beginnings of such names: C++'s operators, Rust's functions and crate `alloc`, GLib's.
const BEGINNINGS: [&str; 11] = [
    "_Znw",
    "_Zna",
    "__rust_",
    "__rdl_",
    "__rg_",
    "_ZN5alloc",
    "g_malloc",
    "g_slice_",
    "g_new",
    "g_realloc",
    "g_try_malloc",
];

/// Whether a function does nothing but allocate.
pub(super) fn is_allocator(function: &str) -> bool {
    let is_rust = function.starts_with("_RNv") && function.contains("___rust_alloc");
    is_rust
        || BEGINNINGS.iter().any(|beginning| function.starts_with(beginning))
        || ALLOCATORS.contains(&function)
}

/// Whether a source file belongs to a language's library.
pub(super) fn is_of_library(file: &str) -> bool {
    ["/rustc/", "/usr/include/", "/usr/lib/gcc/"].iter().any(|folder| file.starts_with(folder))
        || ["/library/core/src/", "/library/alloc/src/", "/library/std/src/"]
            .iter()
            .any(|part| file.contains(part))
        || file.contains("/include/c++/")
        || is_of_go(file)
}

/// Whether a source file belongs to Go's library where it replaces calls by instructions. The paths of other packages
/// begin with a host's name, or that of a module.
fn is_of_go(file: &str) -> bool {
    let package = file.rsplit_once("/src/").map_or(file, |(_, package)| package);
    file.ends_with(".go") && ["sync/", "runtime/", "internal/"].iter().any(|begin| package.starts_with(begin))
}

/// Whether a file is a library of the system that allocates for its caller.
pub(super) fn is_library(name: &str) -> bool {
    ["libc.so", "libc-", "libstdc++.so", "libc++.so", "libglib-2.0.so", "ld-linux", "libcoho_", "libpthread"]
        .iter()
        .any(|beginning| name.starts_with(beginning))
}
