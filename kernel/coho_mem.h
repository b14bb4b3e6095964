/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/* The requests of /dev/coho_mem. */
#ifndef COHO_MEM_H
#define COHO_MEM_H

#include <linux/ioctl.h>
#include <linux/types.h>

#define COHO_MEM_WB 0
#define COHO_MEM_WC 1
#define COHO_MEM_UC 2

/* Any NUMA node. */
#define COHO_MEM_ANY_NODE (-1)

struct coho_mem_alloc {
	__u64 bytes; /* in: rounded up to whole pages */
	__u32 type;  /* in: COHO_MEM_WB, _WC or _UC */
	__s32 node;  /* in: NUMA node, or COHO_MEM_ANY_NODE */
};

struct coho_mem_wbinvd {
	__u32 cpu; /* in: the CPU that executes it */
	__u32 reserved;
	__u64 ns;    /* out: its time by the kernel's monotonic clock */
	__u64 ticks; /* out: the same by that CPU's time-stamp counter */
};

/* Gives the open file its memory, once; mmap then maps all of it, shared. Closing the file frees it. */
#define COHO_MEM_ALLOC _IOW('h', 0xc0, struct coho_mem_alloc)
/* Writes back all modified lines of a CPU's caches and empties the caches. */
#define COHO_MEM_WBINVD _IOWR('h', 0xc1, struct coho_mem_wbinvd)

#endif
