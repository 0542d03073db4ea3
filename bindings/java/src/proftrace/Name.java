// SPDX-License-Identifier: BSD-2-Clause
package proftrace;

/**
 * A name of a domain, with keys, marks what happens under that name. Values are integers, {@code float} and {@code double},
 * {@code boolean}, strings and enumeration constants; others are left out and counted ({@link Proftrace#problems}).
 */
public final class Name {
	/** Keys of one name: as many arguments as an event keeps. */
	private static final int MAX_KEYS = 32;

	private final Domain domain;
	private final long handle;
	private final int keys;

	Name(Domain domain, String name, String[] keys) {
		final byte[] text = Native.text(name);
		final byte[][] texts = texts(keys);

		this.domain = text != null && texts != null ? domain : Domain.NONE;
		this.keys = keys.length;
		this.handle = this.domain.isUsable() ? Native.name(domain.handle, text, texts) : 0;
	}

	/** Null: one is none, or there are too many. */
	private static byte[][] texts(String[] keys) {
		final byte[][] texts = new byte[keys.length][];
		boolean known = keys.length <= MAX_KEYS;

		if (!known)
			Values.refuse("a name has at most " + MAX_KEYS + " keys");
		for (int i = 0; known && i < keys.length; i++) {
			texts[i] = Native.text(keys[i]);
			known = texts[i] != null;
		}
		return known ? texts : null;
	}

	/** For pools, which are names too. */
	long handle() {
		return handle;
	}

	/** Begins a slice of this thread. Slices of a thread nest: close them in the thread, the inner ones first. */
	public Scope begin() {
		return domain.isEnabled() ? begun(false, Native.beginOne(handle, false, 0, 0)) : Scope.NONE;
	}

	/** The same with the value of the first key. */
	public Scope begin(long value) {
		return domain.isEnabled() ? begun(false, Native.beginOne(handle, false, Native.INT, value)) : Scope.NONE;
	}

	/** The same with the value of the first key. */
	public Scope begin(double value) {
		return domain.isEnabled()
			? begun(false, Native.beginOne(handle, false, Native.DOUBLE, Double.doubleToRawLongBits(value)))
			: Scope.NONE;
	}

	/** The same with the values of the keys in their order. */
	public Scope begin(Object... values) {
		Values.check(values, keys);
		return domain.isEnabled() ? beginAll(false, values) : Scope.NONE;
	}

	/** Begins an asynchronous slice, which may end in another thread and overlap others. */
	public Scope beginAsync() {
		return domain.isEnabled() ? begun(true, Native.beginOne(handle, true, 0, 0)) : Scope.NONE;
	}

	/** The same with the value of the first key. */
	public Scope beginAsync(long value) {
		return domain.isEnabled() ? begun(true, Native.beginOne(handle, true, Native.INT, value)) : Scope.NONE;
	}

	/** The same with the values of the keys in their order. */
	public Scope beginAsync(Object... values) {
		Values.check(values, keys);
		return domain.isEnabled() ? beginAll(true, values) : Scope.NONE;
	}

	private Scope begun(boolean async, long token) {
		return new Scope(async ? Scope.ASYNC : Scope.THREAD, handle, token);
	}

	private Scope beginAll(boolean async, Object[] values) {
		final Values v = new Values(values, keys);

		return begun(async, Native.begin(handle, async, v.words, v.texts));
	}

	/** Marks a moment of this thread. */
	public void instant() {
		if (domain.isEnabled())
			Native.instantOne(handle, Of.THREAD.number, 0, 0);
	}

	/** The same with the value of the first key. */
	public void instant(long value) {
		if (domain.isEnabled())
			Native.instantOne(handle, Of.THREAD.number, Native.INT, value);
	}

	/** The same with the values of the keys in their order. */
	public void instant(Object... values) {
		Values.check(values, keys);
		if (domain.isEnabled())
			instantAll(Of.THREAD, values);
	}

	/** Marks a moment of the process, or of the whole machine. */
	public void instantOf(Of of, Object... values) {
		Values.check(values, keys);
		final Of known = Of.known(of);

		if (domain.isEnabled())
			instantAll(known, values);
	}

	private void instantAll(Of of, Object[] values) {
		final Values v = new Values(values, keys);

		Native.instant(handle, of.number, v.words, v.texts);
	}

	/** Records values of a counter that has several series, whose names are the keys. */
	public void counters(Number... values) {
		Values.check(values, keys);
		if (domain.isEnabled())
			Native.counters(handle, new Values(values, keys).words);
	}

	/** What an instant belongs to, and where it is shown. */
	public enum Of {
		/** The thread. */
		THREAD(0),
		/** The process. */
		PROCESS(1),
		/** The whole machine. */
		MACHINE(2);

		final int number;

		Of(int number) {
			this.number = number;
		}

		/** Null is counted, and is the thread. */
		static Of known(Of of) {
			if (of == null)
				Values.refuse("an instant belongs to a thread, a process or the machine");
			return of != null ? of : THREAD;
		}
	}
}
