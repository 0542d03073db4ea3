// SPDX-License-Identifier: BSD-2-Clause

// marks THREADS ROUNDS GOROUTINES TURNS [wait]: every kind of mark, on threads and in goroutines that move between
// them. Prints what a trace of it must hold, for verify.py.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"sync"

	"proftrace"
)

var (
	net      = proftrace.NewDomain("net")
	outer    = proftrace.Default.Name("outer")
	inner    = net.Name("inner")
	moment   = proftrace.Default.Name("moment")
	sent     = net.Name("sent")
	train    = net.Name("train")
	receiver = proftrace.Default.Name("receiver")
	request  = net.Name("request")
	job      = net.Task("job")
	display  = net.Frame("display")
	event    = proftrace.NewEvent("event")
	phase    = net.Marker("phase", proftrace.MarkerOptions{Categories: []string{"io", "disk"}, InstantOnFinish: true})

	i      = proftrace.NewKey("i")
	half   = proftrace.NewKey("half")
	word   = proftrace.NewKey("text")
	yes    = proftrace.NewKey("yes")
	within = proftrace.NewKey("within")
	most   = proftrace.NewKey("most")
	loss   = proftrace.NewKey("loss")
	lr     = proftrace.NewKey("lr")
	number = proftrace.NewKey("number")
	turn   = proftrace.NewKey("turn")
)

// A count of what one goroutine has marked.
type count struct {
	Marks   int            `json:"marks"`
	Events  map[string]int `json:"events"`
	Threads map[string]int `json:"threads"`
}

var (
	lock sync.Mutex
	all  = newCount()
)

func newCount() *count { return &count{0, map[string]int{}, map[string]int{}} }

func (c *count) saw(line string, marks int) {
	c.Events[line]++
	c.Marks += marks
}

func (c *count) add() {
	lock.Lock()
	defer lock.Unlock()
	all.Marks += c.Marks
	for line, n := range c.Events {
		all.Events[line] += n
	}
	for thread, n := range c.Threads {
		all.Threads[thread] += n
	}
}

func slices(c *count, round int) {
	defer outer.BeginThread(i.Int(round%10), half.Float(0.5), word.String("naïve text"), yes.Bool(round%2 == 0)).End()
	// More than three arguments take another mark for each two.
	c.saw(fmt.Sprintf(`BEGIN outer default i=n:%d half=d:0.5 text=s:"naïve text" yes=b:%t`, round%10, round%2 == 0), 3)
	func() {
		defer inner.BeginThread(within.String("outer")).End(most.Uint64(1<<64 - 1))
		c.saw(`BEGIN inner net within=s:"outer"`, 2)
		moment.Instant(i.Int(round % 3))
		c.saw(fmt.Sprintf("INSTANT moment default i=n:%d", round%3), 1)
		sent.InstantOf(proftrace.OfProcess)
		c.saw("INSTANT sent net", 1)
	}()
	task := job.Begin()
	task.End()
	c.saw("BEGIN job net", 2)
	event.Begin().End()
	c.saw("BEGIN event default", 2)
	phase.Begin().End()
	c.saw("BEGIN phase net,io,disk", 2)
	c.saw("INSTANT phase net,io,disk", 1)
	phase.Mark(proftrace.OfMachine)
	c.saw("INSTANT phase net,io,disk", 1)
	train.Counters(loss.Float(0.25), lr.Int(round%2))
	c.saw("COUNTER train loss d:0.25", 1)
	c.saw(fmt.Sprintf("COUNTER train lr n:%d", round%2), 0)
}

func arrow(c *count) {
	id := proftrace.NewID()
	out := receiver.BeginThread()
	proftrace.FlowOut(id)
	out.End()
	in := receiver.BeginThread()
	proftrace.FlowIn(id)
	in.End()
	c.saw("BEGIN receiver default", 2)
	c.saw("BEGIN receiver default", 2)
	c.saw("FLOW_OUT", 1)
	c.saw("FLOW_IN", 1)
}

func work(n, rounds int, done *sync.WaitGroup) {
	defer done.Done()
	runtime.LockOSThread()
	c := newCount()
	name := fmt.Sprintf("worker %d", n)
	proftrace.ThreadName(name)
	c.Marks++
	queue := proftrace.Default.Counter(fmt.Sprintf("queue %d", n), 0)
	pool := proftrace.NewPool(fmt.Sprintf("pool %d", n))
	for round := 0; round < rounds; round++ {
		slices(c, round)
		arrow(c)
		queue.Add(1)
		c.saw(fmt.Sprintf("COUNTER queue %d n:%d", n, round+1), 1)
		pool.Alloc(uintptr((n+1)<<32+round), 100)
		c.saw(fmt.Sprintf("COUNTER pool %d n:100", n), 1)
		pool.Free(uintptr((n+1)<<32 + round))
		c.saw(fmt.Sprintf("COUNTER pool %d n:0", n), 1)
	}
	if queue.Value() != int64(rounds) {
		panic("a counter has lost its value")
	}
	c.Threads[name] = 7 * rounds
	c.add()
}

// A slice that ends in another goroutine than it began in, with waits between.
func serve(n, turns int, done *sync.WaitGroup) {
	defer done.Done()
	c := newCount()
	for t := 0; t < turns; t++ {
		scope := request.Begin(number.Int(n % 7))
		ended := make(chan bool)
		go func() {
			runtime.Gosched()
			scope.End(turn.Int(t))
			close(ended)
		}()
		<-ended
		c.saw(fmt.Sprintf("ASYNC_BEGIN request net number=n:%d", n%7), 1)
		c.saw(fmt.Sprintf("ASYNC_END request net turn=n:%d", t), 1)
	}
	c.add()
}

// What was not made records nothing, is counted, and with Strict panics. It ends no program otherwise.
func misuse() {
	var domain *proftrace.Domain
	var name *proftrace.Name
	c := newCount()
	bad := []func(){
		func() { domain.Name("x").Begin().End() },
		func() { domain.Task("x").Begin().End() },
		func() { domain.Frame("x") },
		func() { domain.Enabled() },
		func() { domain.Counter("x", 1).Add(1) },
		func() { name.Instant() },
		func() { new(proftrace.Name).BeginThread().End() },
		func() { (*proftrace.Event)(nil).Begin().End() },
		func() { proftrace.Marker{}.Begin().End() },
		func() { proftrace.Marker{}.Mark(proftrace.OfThread) },
		func() { (*proftrace.Counter)(nil).Set(1) },
	}
	for _, f := range bad {
		before := proftrace.Problems()
		f()
		if proftrace.Problems() == before {
			panic("what is wrong is not counted")
		}
	}
	var none proftrace.Key
	moment.Instant(none.Int(1), i.Int(7), proftrace.Arg{})
	c.saw("INSTANT moment default i=n:7", 1)
	c.add()
	proftrace.Strict(true)
	defer proftrace.Strict(false)
	for _, f := range bad {
		func() {
			defer func() {
				if recover() == nil {
					panic("what is wrong does not panic with Strict")
				}
			}()
			f()
		}()
	}
}

func number4(args []string) (numbers [4]int) {
	for n := range numbers {
		numbers[n], _ = strconv.Atoi(args[n])
	}
	return
}

func main() {
	numbers := number4(os.Args[1:])
	if len(os.Args) > 5 {
		fmt.Println("ready", os.Getpid())
		bufio.NewReader(os.Stdin).ReadString('\n')
	}
	misuse()
	var done sync.WaitGroup
	for n := 0; n < numbers[0]; n++ {
		done.Add(1)
		go work(n, numbers[1], &done)
	}
	for n := 0; n < numbers[2]; n++ {
		done.Add(1)
		go serve(n, numbers[3], &done)
	}
	done.Wait()
	c := newCount()
	for n := 1; n <= 10; n++ {
		display.Begin().End()
		c.saw(fmt.Sprintf("ASYNC_BEGIN display net frame=n:%d", n), 2)
		c.saw(fmt.Sprintf("ASYNC_END display net"), 0)
	}
	c.add()
	if !proftrace.Default.Enabled() {
		fmt.Println("nobody records")
	}
	said, _ := json.Marshal(all)
	fmt.Println("expected", string(said))
}
