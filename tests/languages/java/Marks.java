// SPDX-License-Identifier: BSD-2-Clause

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import proftrace.Counter;
import proftrace.Domain;
import proftrace.Event;
import proftrace.Frame;
import proftrace.Marker;
import proftrace.Name;
import proftrace.Pool;
import proftrace.Proftrace;
import proftrace.Scope;
import proftrace.Task;

/**
 * Marks THREADS ROUNDS TASKS TURNS [wait]: every kind of mark, on threads and in tasks that move between those of a
 * pool. Prints what a trace of it must hold, for verify.py.
 */
public class Marks {
	static final Domain NET = Domain.of("net");
	static final Name OUTER = Domain.DEFAULT.name("outer", "i", "half", "text", "yes");
	static final Name INNER = NET.name("inner", "within");
	static final Name MOMENT = Domain.DEFAULT.name("moment", "i");
	static final Name SENT = NET.name("sent", "large");
	static final Name TRAIN = NET.name("train", "loss", "lr");
	static final Name RECEIVER = Domain.DEFAULT.name("receiver");
	static final Name REQUEST = NET.name("request", "number");
	static final Name ODD = NET.name("odd", "a", "b", "c");
	static final Task JOB = NET.task("job");
	static final Frame DISPLAY = NET.frame("display");
	static final Event EVENT = new Event("event");
	static final Marker PHASE = NET.marker("phase", false, true, "io", "disk");

	/** What one thread or task has marked. */
	static class Count {
		static final Count ALL = new Count();
		int marks;
		final Map<String, Integer> events = new TreeMap<>();
		final Map<String, Integer> threads = new TreeMap<>();

		void saw(String line, int marks) {
			events.merge(line, 1, Integer::sum);
			this.marks += marks;
		}

		void add() {
			synchronized (ALL) {
				ALL.marks += marks;
				events.forEach((line, n) -> ALL.events.merge(line, n, Integer::sum));
				threads.forEach((name, n) -> ALL.threads.merge(name, n, Integer::sum));
			}
		}

		static String json(Map<String, Integer> map) {
			final List<String> pairs = new ArrayList<>();

			map.forEach((key, n) -> pairs.add('"' + key.replace("\"", "\\\"") + "\": " + n));
			return "{" + String.join(", ", pairs) + "}";
		}

		@Override
		public String toString() {
			return String.format("{\"marks\": %d, \"events\": %s, \"threads\": %s}", marks, json(events), json(threads));
		}
	}

	static void slices(Count c, int round) {
		final boolean yes = round % 2 == 0;

		// More than three arguments take another mark for each two.
		try (Scope outer = OUTER.begin(round % 10, 0.5, "naïve text", yes)) {
			c.saw(String.format("BEGIN outer default i=n:%d half=d:0.5 text=s:\"naïve text\" yes=b:%b", round % 10, yes), 3);
			try (Scope inner = INNER.begin("outer")) {
				c.saw("BEGIN inner net within=s:\"outer\"", 2);
				MOMENT.instant(round % 3);
				c.saw("INSTANT moment default i=n:" + round % 3, 1);
				SENT.instantOf(Name.Of.PROCESS, Long.MAX_VALUE);
				c.saw("INSTANT sent net large=n:9223372036854775807", 1);
				inner.close();
			}
		}
		JOB.begin().close();
		c.saw("BEGIN job net", 2);
		EVENT.begin().close();
		c.saw("BEGIN event default", 2);
		PHASE.begin().close();
		c.saw("BEGIN phase net,io,disk", 2);
		c.saw("INSTANT phase net,io,disk", 1);
		PHASE.mark(Name.Of.MACHINE);
		c.saw("INSTANT phase net,io,disk", 1);
		TRAIN.counters(0.25, round % 2);
		c.saw("COUNTER train loss d:0.25", 1);
		c.saw("COUNTER train lr n:" + round % 2, 0);
	}

	static void arrow(Count c) {
		final long id = Proftrace.newId();

		try (Scope out = RECEIVER.begin()) {
			Proftrace.flowOut(id);
		}
		try (Scope in = RECEIVER.begin()) {
			Proftrace.flowIn(id);
		}
		c.saw("BEGIN receiver default", 2);
		c.saw("BEGIN receiver default", 2);
		c.saw("FLOW_OUT", 1);
		c.saw("FLOW_IN", 1);
	}

	static void work(int number, int rounds) {
		final Count c = new Count();
		final String name = "worker " + number;
		final Counter queue = Domain.DEFAULT.counter("queue " + number, 0);
		final Pool pool = new Pool("pool " + number);
		final long place = number + 1L << 32;

		Proftrace.threadName(name);
		c.marks++;
		for (int round = 0; round < rounds; round++) {
			slices(c, round);
			arrow(c);
			queue.add(1);
			c.saw(String.format("COUNTER queue %d n:%d", number, round + 1), 1);
			pool.alloc(place + round, 100);
			c.saw(String.format("COUNTER pool %d n:100", number), 1);
			pool.free(place + round);
			c.saw(String.format("COUNTER pool %d n:0", number), 1);
		}
		if (queue.value() != rounds)
			throw new IllegalStateException("a counter has lost its value");
		c.threads.put(name, 7 * rounds);
		c.add();
	}

	static CompletableFuture<Void> serve(int number, int turns, ExecutorService executor) {
		final Scope scope = REQUEST.beginAsync(number % 7);
		final CompletableFuture<Void> turn = CompletableFuture.runAsync(() -> {
			final Count c = new Count();

			scope.close();
			c.saw("ASYNC_BEGIN request net number=n:" + number % 7, 1);
			c.saw("ASYNC_END request net", 1);
			c.add();
		}, executor);

		return turns > 1 ? turn.thenCompose(nothing -> serve(number, turns - 1, executor)) : turn;
	}

	static final List<Runnable> BAD = List.of(
		() -> NET.name("name", new String[33]).instant(),
		() -> NET.name(null).begin().close(),
		() -> NET.name("name", "key", null).instant(1, 2),
		() -> Domain.of(null).name("none").instant(),
		() -> Domain.of(null).counter("none", 0).add(1),
		() -> NET.task(null).begin().close(),
		() -> NET.frame(null).begin().close(),
		() -> NET.marker(null).begin().close(),
		() -> new Event(null).begin().close(),
		() -> NET.counter(null, 1).add(1),
		() -> new Pool(null).alloc(1, 1),
		() -> Proftrace.threadName(null));
	/** These mark what is right of them. */
	static final List<Runnable> BAD_MARKS = List.of(
		() -> ODD.instant(new Object(), Name.Of.PROCESS, 'x', "too many"),
		() -> ODD.instantOf(null),
		() -> PHASE.mark(null));

	/** What cannot be marked is left out and counted, recorded or not, or by strict() refused. */
	static void misuse() {
		final Count c = new Count();

		for (Runnable bad : BAD) {
			final long before = Proftrace.problems();

			bad.run();
			if (Proftrace.problems() == before)
				throw new IllegalStateException("number " + BAD.indexOf(bad) + " is not counted");
		}
		final long before = Proftrace.problems();

		BAD_MARKS.forEach(Runnable::run);
		c.saw("INSTANT odd net b=s:\"PROCESS\"", 1);
		c.saw("INSTANT odd net", 1);
		c.saw("INSTANT phase net,io,disk", 1);
		ODD.instant((Object[]) null);
		c.saw("INSTANT odd net", 1);
		c.add();
		if (Domain.DEFAULT.isEnabled() && Proftrace.problems() != before + 5)
			throw new IllegalStateException("not every value that was left out is counted: " + Proftrace.problems());
		Proftrace.strict(true);
		BAD.forEach(Marks::refused);
		BAD_MARKS.forEach(Marks::refused);
		Proftrace.strict(false);
	}

	static void refused(Runnable bad) {
		try {
			bad.run();
		} catch (IllegalArgumentException expected) {
			return;
		}
		throw new IllegalStateException("what is wrong is not refused with strict(true)");
	}

	public static void main(String[] args) throws Exception {
		final int[] numbers = new int[4];
		final List<Thread> threads = new ArrayList<>();
		final ExecutorService executor = Executors.newFixedThreadPool(4);
		final List<CompletableFuture<Void>> tasks = new ArrayList<>();
		final Count c = new Count();

		for (int i = 0; i < 4; i++)
			numbers[i] = Integer.parseInt(args[i]);
		if (args.length > 4) {
			System.out.println("ready " + ProcessHandle.current().pid());
			System.in.read();
		}
		misuse();
		for (int i = 0; i < numbers[0]; i++) {
			final int number = i;

			threads.add(new Thread(() -> work(number, numbers[1])));
		}
		threads.forEach(Thread::start);
		for (int i = 0; i < numbers[2]; i++)
			tasks.add(serve(i, numbers[3], executor));
		for (Thread thread : threads)
			thread.join();
		for (CompletableFuture<Void> task : tasks)
			task.join();
		executor.shutdown();
		for (int n = 1; n <= 10; n++) {
			DISPLAY.begin().close();
			c.saw("ASYNC_BEGIN display net frame=n:" + n, 2);
			c.saw("ASYNC_END display net", 0);
		}
		c.add();
		System.out.println("expected " + Count.ALL);
	}
}
