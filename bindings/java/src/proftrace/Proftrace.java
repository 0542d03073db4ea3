// SPDX-License-Identifier: BSD-2-Clause
package proftrace;

/** What belongs to no domain. */
public final class Proftrace {
	private Proftrace() {
	}

	/**
	 * Whether what cannot be marked is an {@link IllegalArgumentException}, even while nobody records. At first it is, if
	 * {@code PROFTRACE_STRICT} is in the environment.
	 */
	public static void strict(boolean wanted) {
		Values.strict = wanted;
	}

	/** How many values were left out of marks because of their type, and how many names could not be used. */
	public static long problems() {
		return Values.PROBLEMS.get();
	}

	/** Why nothing can be recorded: the native library cannot be loaded. Null if all is well. */
	public static String missing() {
		return Native.MISSING;
	}

	/** An id for an arrow that nothing else has, in any process; 0 without the library. */
	public static long newId() {
		return Native.MISSING == null ? Native.newId() : 0;
	}

	/** Begins an arrow in the slice of the thread that is open here. */
	public static void flowOut(long id) {
		if (Domain.DEFAULT.isEnabled())
			Native.flowOut(id);
	}

	/** Ends the arrow of this id in the slice of the thread that is open here. */
	public static void flowIn(long id) {
		if (Domain.DEFAULT.isEnabled())
			Native.flowIn(id);
	}

	/** Names the calling thread, and its track. Names that {@link Thread} has are known without. */
	public static void threadName(String name) {
		final byte[] text = Native.text(name);

		if (Native.MISSING == null && text != null)
			Native.threadName(text);
	}

	/** The program begins this batch of this epoch. Schedules count these. */
	public static void step(long epoch, long batch) {
		if (Native.MISSING == null)
			Native.step(epoch, batch);
	}

	/** Nothing of this process is recorded until {@link #resume}. */
	public static void pause() {
		if (Native.MISSING == null)
			Native.pause();
	}

	/** Ends a pause. */
	public static void resume() {
		if (Native.MISSING == null)
			Native.resume();
	}

	/** Has what was recorded so far written out. */
	public static void dump() {
		if (Native.MISSING == null)
			Native.dump();
	}

	/** Ends the recording, or that of this process if it is recorded only because it matches. */
	public static void stop() {
		if (Native.MISSING == null)
			Native.stop();
	}
}
