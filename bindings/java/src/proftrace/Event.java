// SPDX-License-Identifier: BSD-2-Clause
package proftrace;

/** A slice of the thread that is an object of the domain "default": MXNet's word. */
public final class Event {
	private final Domain domain;
	private final long handle;

	/** The event of that name. */
	public Event(String name) {
		final byte[] text = Native.text(name);

		this.domain = text != null ? Domain.DEFAULT : Domain.NONE;
		this.handle = domain.isUsable() ? Native.event(text) : 0;
	}

	/** Begins the event. */
	public Scope begin() {
		if (!domain.isEnabled())
			return Scope.NONE;
		Native.eventStart(handle);
		return new Scope(Scope.EVENT, handle, 0);
	}
}
