// SPDX-License-Identifier: BSD-2-Clause
package proftrace;

/** A slice of the thread that is an object: MXNet's and ITT's word. */
public final class Task {
	private final Domain domain;
	private final long handle;

	Task(Domain domain, String name) {
		final byte[] text = Native.text(name);

		this.domain = text != null ? domain : Domain.NONE;
		this.handle = this.domain.isUsable() ? Native.task(domain.handle, text) : 0;
	}

	/** Begins the task. */
	public Scope begin() {
		if (!domain.isEnabled())
			return Scope.NONE;
		Native.taskStart(handle);
		return new Scope(Scope.TASK, handle, 0);
	}
}
