// SPDX-License-Identifier: BSD-2-Clause

// sample [REQUESTS] serves requests in goroutines, and prints how many primes it was asked for. Record it:
//
//	go build -o sample . && sudo proftrace -o sample -- ./sample
package main

import (
	"fmt"
	"os"
	"strconv"
	"sync"

	"proftrace"
)

var (
	server  = proftrace.NewDomain("server")
	request = server.Name("request")
	sieve   = proftrace.Default.Name("sieve")
	open    = server.Counter("open requests", 0)

	limit = proftrace.NewKey("limit")
	found = proftrace.NewKey("found")
)

// Computes without waiting, so it may keep its thread: the slice nests, and has the thread's counters.
func primes(n int) (count int) {
	scope := sieve.BeginThread(limit.Int(n))
	defer func() { scope.End(found.Int(count)) }()

	composite := make([]bool, n+1)
	for i := 2; i <= n; i++ {
		if composite[i] {
			continue
		}
		count++
		for j := i * i; j <= n; j += i {
			composite[j] = true
		}
	}
	return
}

// Waits for its turn, so its slice follows the goroutine.
func handle(n int, turns chan bool) int {
	defer request.Begin(limit.Int(n)).End()
	open.Add(1)
	defer open.Add(-1)

	turns <- true
	defer func() { <-turns }()
	return primes(n)
}

func main() {
	requests := 200
	if len(os.Args) > 1 {
		requests, _ = strconv.Atoi(os.Args[1])
	}
	var done sync.WaitGroup
	turns := make(chan bool, 2)
	results := make([]int, requests)
	for i := range results {
		done.Add(1)
		go func(i int) {
			defer done.Done()
			results[i] = handle(1000+50*i, turns)
		}(i)
	}
	done.Wait()
	total := 0
	for _, n := range results {
		total += n
	}
	fmt.Println("primes", total)
}
