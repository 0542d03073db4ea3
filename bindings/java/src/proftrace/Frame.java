// SPDX-License-Identifier: BSD-2-Clause
package proftrace;

/** A track of its own, where passes are numbered, and a rate. A frame may end in another thread. */
public final class Frame {
	private final Domain domain;
	private final long handle;

	Frame(Domain domain, String name) {
		final byte[] text = Native.text(name);

		this.domain = text != null ? domain : Domain.NONE;
		this.handle = this.domain.isUsable() ? Native.frame(domain.handle, text) : 0;
	}

	/** Begins the frame. */
	public Scope begin() {
		if (!domain.isEnabled())
			return Scope.NONE;
		Native.frameStart(handle);
		return new Scope(Scope.FRAME, handle, 0);
	}
}
