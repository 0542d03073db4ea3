// SPDX-License-Identifier: BSD-2-Clause
package proftrace;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;

/**
 * A group of marks that a recording can select (-D). Its name is a category of theirs.
 *
 * <pre>{@code
 * static final Domain NET = Domain.of("net");
 * static final Name PARSE = NET.name("parse", "bytes");
 *
 * try (Scope scope = PARSE.begin(request.length())) {
 *     ...
 * }
 * }</pre>
 *
 * Domains, names and other objects are made once, and stay for good: keep them in static fields.
 */
public final class Domain {
	private static final VarHandle WORD =
		MethodHandles.byteBufferViewVarHandle(int[].class, ByteOrder.nativeOrder());

	/** The domain "default". */
	public static final Domain DEFAULT = new Domain(0);

	/** That of what has no name: it is never recorded. */
	static final Domain NONE = new Domain();

	/** The native object, 0 for the built-in one. */
	final long handle;
	/** Not 0 while somebody records the domain; tracers write it. */
	private final ByteBuffer on;

	private Domain(long handle) {
		final ByteBuffer word = Native.MISSING == null ? Native.semaphoreWord(handle) : null;

		this.handle = handle;
		this.on = word != null ? word.asReadOnlyBuffer() : ByteBuffer.allocateDirect(8);
	}

	private Domain() {
		this.handle = 0;
		this.on = ByteBuffer.allocateDirect(8);
	}

	/** Returns the domain of that name. */
	public static Domain of(String name) {
		final byte[] text = Native.text(name);

		if (text == null)
			return NONE;
		return new Domain(Native.MISSING == null ? Native.domain(text) : 0);
	}

	/** Whether objects of it can be made. */
	boolean isUsable() {
		return this != NONE && Native.MISSING == null;
	}

	/** Whether somebody records the domain, to guard what only its marks need. */
	public boolean isEnabled() {
		// Opaque, so that a loop looks each time.
		return (int) WORD.getOpaque(on, 0) != 0;
	}

	/** Returns a name with its keys: the values of a mark come in the order of the keys. */
	public Name name(String name, String... keys) {
		return new Name(this, name, keys);
	}

	/** Returns the task of that name. */
	public Task task(String name) {
		return new Task(this, name);
	}

	/** Returns the frame of that name. */
	public Frame frame(String name) {
		return new Frame(this, name);
	}

	/** Returns the marker of that name, with categories besides the domain's name. */
	public Marker marker(String name, String... categories) {
		return marker(name, false, false, categories);
	}

	/** The same, with moments where its slices begin and end. Whoever makes it gives it these options. */
	public Marker marker(String name, boolean instantOnStart, boolean instantOnFinish, String... categories) {
		return new Marker(this, name, instantOnStart, instantOnFinish, categories);
	}

	/** Returns the counter of that name. Whoever makes it gives it its first value. */
	public Counter counter(String name, long initial) {
		return new Counter(this, name, initial);
	}
}
