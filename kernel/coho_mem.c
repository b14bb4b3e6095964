// SPDX-License-Identifier: GPL-2.0
/*
 * Write-back, write-combining or uncached pages of RAM for programs that open /dev/coho_mem and map them, and WBINVD
 * timed on a chosen CPU.
 *
 * The memory belongs to the open file. Each mapping holds the file, so the memory is freed when both the file and its
 * last mapping are gone, however the process ended.
 */
#include <linux/device.h>
#include <linux/fs.h>
#include <linux/gfp.h>
#include <linux/ktime.h>
#include <linux/list.h>
#include <linux/miscdevice.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/nodemask.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/smp.h>
#include <linux/timekeeping.h>
#include <linux/uaccess.h>
#include <linux/version.h>

#include <asm/cpufeature.h>
#include <asm/memtype.h>
#include <asm/msr.h>
#include <asm/set_memory.h>
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 16, 0)
#include <asm/tsc.h>
#endif

#include "coho_mem.h"

#ifndef CONFIG_X86_64
#error "coho_mem needs x86's page attributes"
#endif

/* Memory comes in blocks of a large page where available, so that the kernel's own map of them stays whole. */
#define LARGEST_ORDER (PMD_SHIFT - PAGE_SHIFT)

static unsigned long limit_mib = 256;
module_param(limit_mib, ulong, 0644);
MODULE_PARM_DESC(limit_mib, "the most memory to hand out at a time, in MiB (default 256)");

/* Pages handed out and not yet freed, over all open files. */
static DEFINE_MUTEX(count_lock);
static unsigned long pages;
module_param(pages, ulong, 0444);
MODULE_PARM_DESC(pages, "pages handed out and not yet freed (read-only)");

struct block {
	struct list_head list;
	struct page *page;
	unsigned int order;
};

/* The state of an open file. */
struct memory {
	struct mutex lock;
	struct list_head blocks;
	unsigned long pages; /* 0 before COHO_MEM_ALLOC */
	u32 type;
};

static int set_type(struct block *block, u32 type)
{
	unsigned long start = (unsigned long)page_address(block->page);
	int count = 1 << block->order;

	switch (type) {
	case COHO_MEM_WC:
		return set_memory_wc(start, count);
	case COHO_MEM_UC:
		return set_memory_uc(start, count);
	default:
		return 0;
	}
}

/* When a page is freed, only the kernel's own mapping of it may remain, with its original type. */
static void free_block(struct block *block, u32 type)
{
	int failed = 0;

	if (type != COHO_MEM_WB)
		failed = set_memory_wb((unsigned long)page_address(block->page), 1 << block->order);
	if (failed)
		pr_err("coho_mem: %u pages could not be made write-back again (%d) and are lost\n", 1U << block->order, failed);
	else
		__free_pages(block->page, block->order);
	list_del(&block->list);
	kfree(block);
}

static void free_blocks(struct list_head *blocks, u32 type)
{
	struct block *block, *next;

	list_for_each_entry_safe(block, next, blocks, list)
		free_block(block, type);
}

/* A block of 2^order pages, or a smaller one if there is none; sets order to the block's. */
static struct block *new_block(int node, unsigned int order, u32 type)
{
	struct block *block = kmalloc(sizeof(*block), GFP_KERNEL);
	int failed;

	if (!block)
		return ERR_PTR(-ENOMEM);
	INIT_LIST_HEAD(&block->list);
	for (;; order--) {
		gfp_t flags = GFP_KERNEL | __GFP_ZERO | __GFP_NOWARN | (order ? __GFP_NORETRY : 0);

		if (node != COHO_MEM_ANY_NODE)
			flags |= __GFP_THISNODE;
		block->page = alloc_pages_node(node == COHO_MEM_ANY_NODE ? NUMA_NO_NODE : node, flags, order);
		if (block->page || !order)
			break;
	}
	if (!block->page) {
		kfree(block);
		return ERR_PTR(-ENOMEM);
	}
	block->order = order;
	failed = set_type(block, type);
	if (failed) {
		/* Part of it may have been changed. */
		free_block(block, type);
		return ERR_PTR(failed);
	}
	return block;
}

/* Counts pages as handed out, within the limit. */
static int take_pages(unsigned long count)
{
	int result = -ENOSPC;

	mutex_lock(&count_lock);
	if (limit_mib <= ULONG_MAX >> 20 && pages + count >= pages && pages + count <= (limit_mib << 20) >> PAGE_SHIFT) {
		pages += count;
		result = 0;
	}
	mutex_unlock(&count_lock);
	return result;
}

static void give_pages(unsigned long count)
{
	mutex_lock(&count_lock);
	pages -= count;
	mutex_unlock(&count_lock);
}

static int allocate(struct memory *memory, const struct coho_mem_alloc *wish)
{
	unsigned long count = wish->bytes >> PAGE_SHIFT, left;
	LIST_HEAD(blocks);
	int failed;

	if (wish->bytes & ~PAGE_MASK)
		count++;
	if (!count || wish->type > COHO_MEM_UC)
		return -EINVAL;
	if (wish->node != COHO_MEM_ANY_NODE && (wish->node < 0 || wish->node >= MAX_NUMNODES || !node_online(wish->node)))
		return -EINVAL;
	if (wish->type != COHO_MEM_WB && !pat_enabled())
		return -EOPNOTSUPP;
	if (memory->pages)
		return -EBUSY;
	failed = take_pages(count);
	if (failed)
		return failed;

	for (left = count; left;) {
		unsigned int order = min_t(unsigned int, LARGEST_ORDER, __fls(left));
		struct block *block = ERR_PTR(-EINTR);

		if (!fatal_signal_pending(current))
			block = new_block(wish->node, order, wish->type);
		if (IS_ERR(block)) {
			free_blocks(&blocks, wish->type);
			give_pages(count);
			return PTR_ERR(block);
		}
		list_add_tail(&block->list, &blocks);
		left -= 1UL << block->order;
		cond_resched();
	}
	list_splice(&blocks, &memory->blocks);
	memory->pages = count;
	memory->type = wish->type;
	return 0;
}

/* Runs on the chosen CPU, with interrupts off. */
static void time_wbinvd(void *argument)
{
	struct coho_mem_wbinvd *time = argument;
	u64 ns = ktime_get_mono_fast_ns();
	u64 ticks = rdtsc_ordered();

	asm volatile("wbinvd" ::: "memory");
	time->ticks = rdtsc_ordered() - ticks;
	time->ns = ktime_get_mono_fast_ns() - ns;
}

static int wbinvd_on(struct coho_mem_wbinvd *time)
{
	if (time->reserved || time->cpu >= nr_cpu_ids)
		return -EINVAL;
#ifdef X86_FEATURE_TDX_GUEST
	/* The instruction raises an exception there, which the kernel does not survive. */
	if (boot_cpu_has(X86_FEATURE_TDX_GUEST))
		return -EOPNOTSUPP;
#endif
	/* -ENXIO if the CPU is offline. */
	return smp_call_function_single(time->cpu, time_wbinvd, time, 1);
}

/* mmap takes this lock while the process's memory map is locked, so user space must not be touched under it. */
static long control(struct file *file, unsigned int command, unsigned long argument)
{
	struct memory *memory = file->private_data;
	void __user *user = (void __user *)argument;
	struct coho_mem_wbinvd time;
	struct coho_mem_alloc wish;
	int failed;

	switch (command) {
	case COHO_MEM_ALLOC:
		if (copy_from_user(&wish, user, sizeof(wish)))
			return -EFAULT;
		mutex_lock(&memory->lock);
		failed = allocate(memory, &wish);
		mutex_unlock(&memory->lock);
		return failed;
	case COHO_MEM_WBINVD:
		if (copy_from_user(&time, user, sizeof(time)))
			return -EFAULT;
		failed = wbinvd_on(&time);
		if (!failed && copy_to_user(user, &time, sizeof(time)))
			return -EFAULT;
		return failed;
	default:
		return -ENOTTY;
	}
}

static int map(struct file *file, struct vm_area_struct *area)
{
	struct memory *memory = file->private_data;
	unsigned long at = area->vm_start;
	struct block *block;
	int failed = 0;

	/* A write to a private mapping would copy it to write-back pages. */
	if (!(area->vm_flags & VM_SHARED))
		return -EINVAL;
	mutex_lock(&memory->lock);
	if (!memory->pages || area->vm_pgoff || vma_pages(area) != memory->pages)
		failed = -EINVAL;
	if (memory->type == COHO_MEM_WC)
		area->vm_page_prot = pgprot_writecombine(area->vm_page_prot);
	else if (memory->type == COHO_MEM_UC)
		area->vm_page_prot = pgprot_noncached(area->vm_page_prot);
	if (!failed) {
		list_for_each_entry(block, &memory->blocks, list) {
			unsigned long bytes = PAGE_SIZE << block->order;

			failed = remap_pfn_range(area, at, page_to_pfn(block->page), bytes, area->vm_page_prot);
			if (failed)
				break;
			at += bytes;
		}
	}
	mutex_unlock(&memory->lock);
	return failed;
}

static int open(struct inode *inode, struct file *file)
{
	struct memory *memory = kzalloc(sizeof(*memory), GFP_KERNEL);

	if (!memory)
		return -ENOMEM;
	mutex_init(&memory->lock);
	INIT_LIST_HEAD(&memory->blocks);
	file->private_data = memory;
	return nonseekable_open(inode, file);
}

/* Runs after the last mapping and the last descriptor are gone. */
static int release(struct inode *inode, struct file *file)
{
	struct memory *memory = file->private_data;

	free_blocks(&memory->blocks, memory->type);
	give_pages(memory->pages);
	kfree(memory);
	return 0;
}

static const struct file_operations operations = {
	.owner = THIS_MODULE,
	.open = open,
	.release = release,
	.mmap = map,
	.unlocked_ioctl = control,
	.compat_ioctl = compat_ptr_ioctl,
};

static struct miscdevice device = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = "coho_mem",
	.fops = &operations,
	.mode = 0600,
};
module_misc_device(device);

MODULE_DESCRIPTION("Write-back, write-combining and uncached pages of RAM, and WBINVD, for measurements");
MODULE_LICENSE("GPL");
