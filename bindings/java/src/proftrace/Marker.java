// SPDX-License-Identifier: BSD-2-Clause
package proftrace;

/** A slice of the thread, and moments of its name: Composer's word. */
public final class Marker {
	private final Domain domain;
	private final long handle;

	Marker(Domain domain, String name, boolean instantOnStart, boolean instantOnFinish, String[] categories) {
		final byte[] text = Native.text(name);
		final byte[] joined = Native.text(String.join(",", categories));

		this.domain = text != null ? domain : Domain.NONE;
		this.handle = this.domain.isUsable()
			? Native.marker(domain.handle, text, joined, (instantOnStart ? 1 : 0) | (instantOnFinish ? 2 : 0))
			: 0;
	}

	/** Begins a slice. */
	public Scope begin() {
		if (!domain.isEnabled())
			return Scope.NONE;
		Native.markerStart(handle);
		return new Scope(Scope.MARKER, handle, 0);
	}

	/** Marks a moment. */
	public void mark(Name.Of of) {
		final Name.Of known = Name.Of.known(of);

		if (domain.isEnabled())
			Native.markerMark(handle, known.number);
	}
}
