// SPDX-License-Identifier: BSD-2-Clause
package proftrace;

import java.util.concurrent.atomic.AtomicLong;

/** A number that is kept whether or not somebody records it. */
public final class Counter {
	private final long handle;
	/** In place of the native one, where there is no library or no name. */
	private final AtomicLong value;

	Counter(Domain domain, String name, long initial) {
		final byte[] text = Native.text(name);

		this.value = text != null && domain.isUsable() ? null : new AtomicLong(initial);
		this.handle = value == null ? Native.counter(domain.handle, text, initial) : 0;
	}

	/** Gives it a value. */
	public void set(long to) {
		if (value == null)
			Native.counterSet(handle, to);
		else
			value.set(to);
	}

	/** Adds to it, or with a negative number takes from it. */
	public void add(long by) {
		if (value == null)
			Native.counterAdd(handle, by);
		else
			value.addAndGet(by);
	}

	/** What it is now. */
	public long value() {
		return value == null ? Native.counterValue(handle) : value.get();
	}
}
