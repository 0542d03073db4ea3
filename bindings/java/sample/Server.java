// SPDX-License-Identifier: BSD-2-Clause

import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.stream.IntStream;
import proftrace.Counter;
import proftrace.Domain;
import proftrace.Name;
import proftrace.Scope;

/**
 * Server [REQUESTS]: two threads answer requests that wait in a queue, and it prints how many primes it was asked for.
 * Record it:
 *
 * <pre>
 * sudo proftrace -o server -- java -Djava.library.path=. -cp proftrace.jar sample/Server.java
 * </pre>
 */
public class Server {
	static final Domain SERVER = Domain.of("server");
	static final Name REQUEST = SERVER.name("request", "limit");
	static final Name ANSWER = SERVER.name("answer", "found");
	static final Name SIEVE = Domain.DEFAULT.name("sieve", "limit");
	static final Counter OPEN = SERVER.counter("open requests", 0);

	/** Computes in one thread: a slice of the thread. */
	static int primes(int limit) {
		try (Scope scope = SIEVE.begin(limit)) {
			final boolean[] composite = new boolean[limit + 1];
			int count = 0;

			for (int i = 2; i <= limit; i++) {
				if (composite[i])
					continue;
				count++;
				for (long j = (long) i * i; j <= limit; j += i)
					composite[(int) j] = true;
			}
			return count;
		}
	}

	/** Begins in one thread and ends in another: an asynchronous slice. */
	static CompletableFuture<Integer> handle(int limit, ExecutorService executor) {
		final Scope scope = REQUEST.beginAsync(limit);

		OPEN.add(1);
		return CompletableFuture.supplyAsync(() -> primes(limit), executor).whenComplete((count, error) -> {
			ANSWER.instant(count);
			OPEN.add(-1);
			scope.close();
		});
	}

	public static void main(String[] args) {
		final int requests = args.length > 0 ? Integer.parseInt(args[0]) : 200;
		final ExecutorService executor = Executors.newFixedThreadPool(2);
		final int total = IntStream.range(0, requests).mapToObj(i -> handle(1000 + 50 * i, executor)).toList().stream()
			.mapToInt(CompletableFuture::join).sum();

		executor.shutdown();
		System.out.println("primes " + total);
	}
}
