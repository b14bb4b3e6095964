//! What machines say they are: recorded, made for the tests, and the machine at hand.

mod cpuid_dialects;
mod cpuid_dumps;
mod cpuid_libcpuid;
mod cpuid_live;
mod cpuid_odd;
mod cpuid_parse;
mod cpuid_properties;
mod cpuid_reference;
mod cpuid_support;
mod cpuid_synthetic;
mod freebsd;
mod freebsd_full;
mod hwloc;
mod properties;
mod recognise;
mod reconcile;
mod sysfs;
mod sysfs_recorded;
mod sysfs_sources;
mod sysfs_styles;
mod sysfs_support;
mod terminal;
mod tree;
