// SPDX-License-Identifier: BSD-2-Clause
package proftrace;

/** Memory whose size is followed. */
public final class Pool {
	private final long handle;

	/** The pool of that name. */
	public Pool(String name) {
		handle = Domain.DEFAULT.name(name).handle();
	}

	/** Says that memory was taken from the pool. Call it afterwards. */
	public void alloc(long address, long size) {
		if (handle != 0 && Domain.DEFAULT.isEnabled())
			Native.alloc(handle, address, size);
	}

	/** Says that memory is given back to the pool. Call it before. */
	public void free(long address) {
		if (handle != 0 && Domain.DEFAULT.isEnabled())
			Native.free(handle, address);
	}
}
