// SPDX-License-Identifier: BSD-2-Clause
package proftrace;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;

/**
 * The functions in C (src/native.c). Objects are addresses, which stay good: they do not leave this package. Values of
 * a mark are pairs of words, a type and its bits; a string's bits are the place of its bytes in {@code texts}.
 */
final class Native {
	static final int INT = 1;
	static final int DOUBLE = 3;
	static final int STRING = 4;
	static final int BOOL = 5;

	/** Why nothing can be recorded, or null. */
	static final String MISSING = load();

	private Native() {
	}

	private static String load() {
		try {
			System.loadLibrary("proftrace_java");
			return null;
		} catch (UnsatisfiedLinkError | SecurityException error) {
			return String.valueOf(error.getMessage());
		}
	}

	/** A string as C reads it. Null: it is none, which is counted. */
	static byte[] text(String name) {
		if (name != null)
			return name.getBytes(StandardCharsets.UTF_8);
		Values.refuse("a name is a string");
		return null;
	}

	static native long domain(byte[] name);

	static native ByteBuffer semaphoreWord(long domain);

	static native long name(long domain, byte[] text, byte[][] keys);

	static native long begin(long name, boolean async, long[] words, byte[] texts);

	static native long beginOne(long name, boolean async, int type, long bits);

	static native void end(long name, long token);

	static native void endAsync(long name, long id);

	static native void instant(long name, int scope, long[] words, byte[] texts);

	static native void instantOne(long name, int scope, int type, long bits);

	static native void counters(long name, long[] words);

	static native long task(long domain, byte[] name);

	static native void taskStart(long task);

	static native void taskStop(long task);

	static native long frame(long domain, byte[] name);

	static native void frameStart(long frame);

	static native void frameStop(long frame);

	static native long event(byte[] name);

	static native void eventStart(long event);

	static native void eventStop(long event);

	static native long marker(long domain, byte[] name, byte[] categories, int instants);

	static native void markerStart(long marker);

	static native void markerFinish(long marker);

	static native void markerMark(long marker, int scope);

	static native long counter(long domain, byte[] name, long initial);

	static native void counterSet(long counter, long value);

	static native void counterAdd(long counter, long by);

	static native long counterValue(long counter);

	static native long newId();

	static native void flowOut(long id);

	static native void flowIn(long id);

	static native void alloc(long pool, long address, long size);

	static native void free(long pool, long address);

	static native void threadName(byte[] name);

	static native void step(long epoch, long batch);

	static native void pause();

	static native void resume();

	static native void dump();

	static native void stop();
}
