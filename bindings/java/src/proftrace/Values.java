// SPDX-License-Identifier: BSD-2-Clause
package proftrace;

import java.util.Arrays;
import java.util.concurrent.atomic.AtomicLong;

/** The values of one mark, as the functions in C take them. One that is not recorded has the type 0. */
final class Values {
	/** Those that were left out, and names that are none. */
	static final AtomicLong PROBLEMS = new AtomicLong();

	/** Whether they are errors. */
	static boolean strict = System.getenv("PROFTRACE_STRICT") != null;

	/** More than tracers keep of a string, so that they see that there was more. */
	private static final int KEPT_TEXT = 300;

	final long[] words;
	byte[] texts = {};

	/** As many as there are keys. */
	Values(Object[] values, int keys) {
		final int given = values == null ? 0 : values.length;

		words = new long[2 * Math.min(given, keys)];
		for (int i = 0; i < words.length; i += 2)
			put(i, values[i / 2]);
		for (int i = keys; i < given; i++)
			refuse("a value has no key");
	}

	static void refuse(String message) {
		PROBLEMS.incrementAndGet();
		if (strict)
			throw new IllegalArgumentException(message);
	}

	/** Looks at them though nobody may record: only if they are to be errors. */
	static void check(Object[] values, int keys) {
		if (strict)
			new Values(values, keys);
	}

	private void put(int at, Object value) {
		if (value instanceof Integer || value instanceof Long || value instanceof Short || value instanceof Byte)
			set(at, Native.INT, ((Number) value).longValue());
		else if (value instanceof Double || value instanceof Float)
			set(at, Native.DOUBLE, Double.doubleToRawLongBits(((Number) value).doubleValue()));
		else if (value instanceof Boolean)
			set(at, Native.BOOL, (Boolean) value ? 1 : 0);
		else if (value instanceof String)
			putText(at, (String) value);
		else if (value instanceof Enum)
			putText(at, ((Enum<?>) value).name());
		else
			refuse("a value is a number, a boolean, a string or a constant of an enumeration");
	}

	private void set(int at, int type, long bits) {
		words[at] = type;
		words[at + 1] = bits;
	}

	private void putText(int at, String value) {
		final byte[] text = Native.text(value.length() > KEPT_TEXT ? value.substring(0, KEPT_TEXT) : value);
		final int place = texts.length;

		// The copy is longer by the NUL that ends it.
		texts = Arrays.copyOf(texts, place + text.length + 1);
		System.arraycopy(text, 0, texts, place, text.length);
		set(at, Native.STRING, place);
	}
}
