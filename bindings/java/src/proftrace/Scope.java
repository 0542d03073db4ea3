// SPDX-License-Identifier: BSD-2-Clause
package proftrace;

/** A slice that has begun: {@code try (Scope scope = NAME.begin()) { ... }}. Closing it again does nothing. */
public final class Scope implements AutoCloseable {
	static final int THREAD = 1;
	static final int ASYNC = 2;
	static final int TASK = 3;
	static final int FRAME = 4;
	static final int EVENT = 5;
	static final int MARKER = 6;

	/** A slice that is not recorded. */
	static final Scope NONE = new Scope(0, 0, 0);

	private int kind;
	private final long object;
	private final long token;

	Scope(int kind, long object, long token) {
		this.kind = kind;
		this.object = object;
		this.token = token;
	}

	@Override
	public void close() {
		if (kind != 0)
			end();
	}

	private void end() {
		final int ended = kind;

		kind = 0;
		switch (ended) {
		case THREAD -> Native.end(object, token);
		case ASYNC -> Native.endAsync(object, token);
		case TASK -> Native.taskStop(object);
		case EVENT -> Native.eventStop(object);
		case MARKER -> Native.markerFinish(object);
		default -> Native.frameStop(object);
		}
	}
}
