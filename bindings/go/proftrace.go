// SPDX-License-Identifier: BSD-2-Clause

// Package proftrace marks what a program does, for the tracer proftrace to record. While nobody records, a mark costs a
// load and a branch.
//
//	var (
//		net   = proftrace.NewDomain("net")
//		parse = net.Name("parse")
//		bytes = proftrace.NewKey("bytes")
//	)
//
//	func handle(request []byte) {
//		defer parse.Begin(bytes.Int(len(request))).End()
//		...
//	}
//
// Names and keys are made once, and stay for good. A goroutine moves between threads, so what Begin begins is an
// asynchronous slice, which belongs to no thread and may end in another goroutine. BeginThread begins a slice of the
// thread, which nests, and keeps the goroutine on its thread until the slice ends.
package proftrace

/*
#cgo pkg-config: libproftrace
#include <proftrace/runtime.h>
#include <stdlib.h>

// Arguments come as three words each. A string is the place of its bytes in `texts`, since Go does not let memory that
// has pointers into Go's memory pass.
static const proftrace_arg *args_of(uint64_t *words, size_t n, const char *texts)
{
	proftrace_arg *args = (proftrace_arg *)words;

	for (size_t i = 0; i < n; i++) {
		if (args[i].type == PROFTRACE_STRING)
			args[i].bits += (uintptr_t)texts;
	}
	return args;
}

static uint64_t begin_async(const proftrace_domain *domain, const char *name, uint64_t *words, size_t n, const char *texts)
{
	const uint64_t id = proftrace_id();

	proftrace_async_begin(domain, name, id, args_of(words, n, texts), n);
	return id;
}

static void end_async(const proftrace_domain *domain, const char *name, uint64_t id, uint64_t *words, size_t n,
		      const char *texts)
{
	proftrace_async_end(domain, name, id, args_of(words, n, texts), n);
}

static uint64_t begin_thread(const proftrace_domain *domain, const char *name, uint64_t *words, size_t n,
			     const char *texts)
{
	return proftrace_scope_begin(domain, name, args_of(words, n, texts), n);
}

static void end_thread(const proftrace_domain *domain, uint64_t token, uint64_t *words, size_t n, const char *texts)
{
	proftrace_scope_end(domain, token, args_of(words, n, texts), n);
}

static void mark_instant(const proftrace_domain *domain, const char *name, int scope, uint64_t *words, size_t n,
			 const char *texts)
{
	proftrace_instant(domain, name, scope, args_of(words, n, texts), n);
}

static void mark_counters(const proftrace_domain *domain, const char *name, uint64_t *words, size_t n,
			  const char *texts)
{
	proftrace_counters(domain, name, args_of(words, n, texts), n);
}

enum { NOTHING, ASYNC, THREAD, TASK, FRAME, EVENT, MARKER };

static void object_start(int kind, const void *object)
{
	switch (kind) {
	case TASK:
		return proftrace_task_start(object);
	case FRAME:
		return proftrace_frame_start(object);
	case EVENT:
		return proftrace_event_start(object);
	case MARKER:
		return proftrace_marker_start(object);
	}
}

static void object_stop(int kind, const void *object)
{
	switch (kind) {
	case TASK:
		return proftrace_task_stop(object);
	case FRAME:
		return proftrace_frame_stop(object);
	case EVENT:
		return proftrace_event_stop(object);
	case MARKER:
		return proftrace_marker_finish(object);
	}
}

static void free_at(const char *pool, uintptr_t address)
{
	proftrace_free(pool, (const void *)address);
}

static void alloc_at(const char *pool, uintptr_t address, uint64_t size)
{
	proftrace_alloc(pool, (const void *)address, size);
}
*/
import "C"

import (
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"unsafe"
)

var (
	problems uint64
	strict   uint32
)

// Problems says how many marks, arguments and names could not be made, and were left out: those of a nil or zero object,
// and arguments of a zero Key.
func Problems() uint64 { return atomic.LoadUint64(&problems) }

// Strict has a panic come of what Problems would count.
func Strict(wanted bool) {
	value := uint32(0)
	if wanted {
		value = 1
	}
	atomic.StoreUint32(&strict, value)
}

func refuse(message string) {
	if atomic.LoadUint32(&strict) != 0 {
		panic("proftrace: " + message)
	}
	atomic.AddUint64(&problems, 1)
}

// marks says whether somebody records what has this word. Objects that were not made have none.
func marks(on *uint32) bool {
	if on == nil {
		refuse("a mark of an object that was not made")
		return false
	}
	return atomic.LoadUint32(on) != 0
}

// A Domain is a group of marks that a recording can select (-D). Its name is a category of theirs.
type Domain struct {
	handle *C.proftrace_domain
	on     *uint32 // not 0 while somebody records the domain; tracers write it
}

// Default is the domain "default".
var Default = domainOf(nil)

func domainOf(handle *C.proftrace_domain) *Domain {
	return &Domain{handle, (*uint32)(unsafe.Pointer(C.proftrace_domain_semaphore(handle)))}
}

// NewDomain returns the domain of that name.
func NewDomain(name string) *Domain {
	return domainOf(C.proftrace_domain_get(text(name)))
}

// Enabled says whether somebody records the domain, to guard what only its marks need.
func (d *Domain) Enabled() bool { return marks(d.word()) }

func (d *Domain) word() *uint32 {
	if d == nil {
		return nil
	}
	return d.on
}

// withText calls f with a copy of a string, unless the domain was not made.
func (d *Domain) withText(name string, f func(name *C.char)) {
	if d.word() == nil {
		refuse("an object of a domain that was not made")
		return
	}
	s := text(name)
	defer C.free(unsafe.Pointer(s))
	f(s)
}

// text is kept by whoever made it, for good.
func text(s string) *C.char { return C.CString(s) }

// A Key of an argument makes arguments: bytes.Int(10).
type Key struct{ text uintptr }

// NewKey makes a key. Call it once for each, as for a name.
func NewKey(name string) Key { return Key{uintptr(unsafe.Pointer(text(name)))} }

// An Arg is a key and its value.
type Arg struct {
	key    uintptr
	kind   uint64
	bits   uint64
	string string
}

// Int is an argument with an integer.
func (k Key) Int(value int) Arg { return Arg{k.text, C.PROFTRACE_INT, uint64(value), ""} }

// Int64 is an argument with an integer of 64 bits.
func (k Key) Int64(value int64) Arg { return Arg{k.text, C.PROFTRACE_INT, uint64(value), ""} }

// Uint64 is an argument with an unsigned integer of 64 bits.
func (k Key) Uint64(value uint64) Arg { return Arg{k.text, C.PROFTRACE_UINT, value, ""} }

// Float is an argument with a number.
func (k Key) Float(value float64) Arg {
	return Arg{k.text, C.PROFTRACE_DOUBLE, *(*uint64)(unsafe.Pointer(&value)), ""}
}

// String is an argument with a text: up to 256 bytes, or up to the first NUL in it.
func (k Key) String(value string) Arg { return Arg{k.text, C.PROFTRACE_STRING, 0, value} }

// Bool is an argument that is true or false.
func (k Key) Bool(value bool) Arg {
	if value {
		return Arg{k.text, C.PROFTRACE_BOOL, 1, ""}
	}
	return Arg{k.text, C.PROFTRACE_BOOL, 0, ""}
}

// keptText is more than tracers keep of a string, so that they see that there was more.
const keptText = 300

// packed arguments are those of a mark as C reads them. They are used again, so a mark allocates nothing.
type packed struct {
	words []uint64
	texts []byte
}

var spare = sync.Pool{New: func() any { return &packed{make([]uint64, 3, 96), make([]byte, 1, 1024)} }}

func pack(args []Arg) *packed {
	p := spare.Get().(*packed)
	p.words, p.texts = p.words[:0], p.texts[:0]
	for i := range args {
		a := &args[i]
		if a.key == 0 {
			refuse("an argument without a key")
			continue
		}
		bits := a.bits
		if a.kind == C.PROFTRACE_STRING {
			bits = uint64(len(p.texts))
			p.texts = append(p.texts, a.string[:min(len(a.string), keptText)]...)
			p.texts = append(p.texts, 0)
		}
		p.words = append(p.words, uint64(a.key), a.kind, bits)
	}
	return p
}

func min(a, b int) int {
	if a < b {
		return a
	}
	return b
}

// C reads neither where there are none, but both have a first element to point to.
func (p *packed) c() (*C.uint64_t, C.size_t, *C.char) {
	return (*C.uint64_t)(&p.words[:1][0]), C.size_t(len(p.words) / 3), (*C.char)(unsafe.Pointer(&p.texts[:1][0]))
}

// A Name of a domain marks what happens under that name.
type Name struct {
	domain *Domain
	on     *uint32
	text   *C.char
}

// Name makes a name of the domain. Call it once for each: a program's names are variables of a package.
func (d *Domain) Name(name string) *Name {
	if d.word() == nil {
		refuse("a name of a domain that was not made")
		return &Name{}
	}
	return &Name{d, d.on, text(name)}
}

func (n *Name) word() *uint32 {
	if n == nil {
		return nil
	}
	return n.on
}

type scopeKind uint8

const (
	nothing = scopeKind(C.NOTHING)
	async   = scopeKind(C.ASYNC)
	thread  = scopeKind(C.THREAD)
	task    = scopeKind(C.TASK)
	frame   = scopeKind(C.FRAME)
	event   = scopeKind(C.EVENT)
	marker  = scopeKind(C.MARKER)
)

// A Scope is a slice that has begun. The zero Scope is none, and ends as one.
type Scope struct {
	object unsafe.Pointer // *Name, or an object of the library
	id     uint64
	kind   scopeKind
}

// Begin begins an asynchronous slice, which follows the goroutine from thread to thread.
//
//	defer parse.Begin().End()
func (n *Name) Begin(args ...Arg) Scope {
	if !marks(n.word()) {
		return Scope{}
	}
	return n.begin(args)
}

func (n *Name) begin(args []Arg) Scope {
	p := pack(args)
	words, count, texts := p.c()
	id := C.begin_async(n.domain.handle, n.text, words, count, texts)
	spare.Put(p)
	return Scope{unsafe.Pointer(n), uint64(id), async}
}

// BeginThread begins a slice of the thread, and keeps the goroutine on that thread until End. Slices of a thread nest,
// and have counters.
func (n *Name) BeginThread(args ...Arg) Scope {
	if !marks(n.word()) {
		return Scope{}
	}
	return n.beginThread(args)
}

func (n *Name) beginThread(args []Arg) Scope {
	runtime.LockOSThread()
	p := pack(args)
	words, count, texts := p.c()
	token := C.begin_thread(n.domain.handle, n.text, words, count, texts)
	spare.Put(p)
	return Scope{unsafe.Pointer(n), uint64(token), thread}
}

// End ends the slice. Of one that was not recorded when it began, it does nothing. Arguments of tasks and other objects are
// left out: their ends have none.
func (s Scope) End(args ...Arg) {
	if s.kind != nothing {
		s.end(args)
	}
}

func (s Scope) end(args []Arg) {
	if s.kind != thread && s.kind != async {
		C.object_stop(C.int(s.kind), s.object)
		if s.kind != frame {
			runtime.UnlockOSThread()
		}
		return
	}
	n := (*Name)(s.object)
	p := pack(args)
	words, count, texts := p.c()
	if s.kind == thread {
		C.end_thread(n.domain.handle, C.uint64_t(s.id), words, count, texts)
		runtime.UnlockOSThread()
	} else {
		C.end_async(n.domain.handle, n.text, C.uint64_t(s.id), words, count, texts)
	}
	spare.Put(p)
}

// Instants belong to a thread, a process or the whole machine, and are shown there.
const (
	OfThread  = C.PROFTRACE_SCOPE_THREAD
	OfProcess = C.PROFTRACE_SCOPE_PROCESS
	OfMachine = C.PROFTRACE_SCOPE_GLOBAL
)

// Instant marks a moment on the thread where the goroutine is.
func (n *Name) Instant(args ...Arg) {
	if marks(n.word()) {
		n.instant(OfThread, args)
	}
}

// InstantOf marks a moment of what it says: OfThread, OfProcess or OfMachine.
func (n *Name) InstantOf(scope int, args ...Arg) {
	if marks(n.word()) {
		n.instant(scope, args)
	}
}

func (n *Name) instant(scope int, args []Arg) {
	p := pack(args)
	words, count, texts := p.c()
	C.mark_instant(n.domain.handle, n.text, C.int(scope), words, count, texts)
	spare.Put(p)
}

// Counters records values of a counter that has several series: the keys are their names.
func (n *Name) Counters(series ...Arg) {
	if marks(n.word()) {
		n.counters(series)
	}
}

func (n *Name) counters(series []Arg) {
	p := pack(series)
	words, count, texts := p.c()
	C.mark_counters(n.domain.handle, n.text, words, count, texts)
	spare.Put(p)
}

// An Object is begun and ended under a name of its own: a Task, an Event or a Frame.
type Object struct {
	on     *uint32
	handle unsafe.Pointer
	kind   scopeKind
}

// A Task is a slice of the thread that is an object: MXNet's and ITT's word.
type Task = Object

// An Event is a task of the domain "default": MXNet's word.
type Event = Object

// A Frame has a track of its own, where its passes are numbered, and a rate. It may end in another goroutine.
type Frame = Object

// A Marker is a slice of the thread, and moments of its name: Composer's word.
type Marker struct{ *Object }

// Task returns the task of that name.
func (d *Domain) Task(name string) *Task {
	return d.object(task, name, func(s *C.char) unsafe.Pointer { return unsafe.Pointer(C.proftrace_task_get(d.handle, s)) })
}

// NewEvent returns the event of that name.
func NewEvent(name string) *Event {
	return Default.object(event, name, func(s *C.char) unsafe.Pointer { return unsafe.Pointer(C.proftrace_event_get(s)) })
}

// Frame returns the frame of that name.
func (d *Domain) Frame(name string) *Frame {
	return d.object(frame, name, func(s *C.char) unsafe.Pointer { return unsafe.Pointer(C.proftrace_frame_get(d.handle, s)) })
}

// MarkerOptions are the categories of a marker, besides its domain's name, and whether there are moments where its
// slices begin and end.
type MarkerOptions struct {
	Categories                      []string
	InstantOnStart, InstantOnFinish bool
}

// Marker returns the marker of that name. Whoever makes it gives it its options.
func (d *Domain) Marker(name string, options MarkerOptions) Marker {
	instants := C.unsigned(0)
	if options.InstantOnStart {
		instants |= C.PROFTRACE_INSTANT_ON_START
	}
	if options.InstantOnFinish {
		instants |= C.PROFTRACE_INSTANT_ON_FINISH
	}
	return Marker{d.object(marker, name, func(s *C.char) unsafe.Pointer {
		var categories *C.char
		if len(options.Categories) > 0 {
			categories = text(strings.Join(options.Categories, ","))
			defer C.free(unsafe.Pointer(categories))
		}
		return unsafe.Pointer(C.proftrace_marker_get(d.handle, s, categories, instants, 0))
	})}
}

func (d *Domain) object(kind scopeKind, name string, get func(name *C.char) unsafe.Pointer) *Object {
	o := &Object{kind: kind}
	d.withText(name, func(s *C.char) { o.on, o.handle = d.on, get(s) })
	return o
}

func (o *Object) word() *uint32 {
	if o == nil {
		return nil
	}
	return o.on
}

// Begin begins it. All but a frame keep the goroutine on its thread until End.
func (o *Object) Begin() Scope {
	if !marks(o.word()) {
		return Scope{}
	}
	return o.begin()
}

func (o *Object) begin() Scope {
	if o.kind != frame {
		runtime.LockOSThread()
	}
	C.object_start(C.int(o.kind), o.handle)
	return Scope{o.handle, 0, o.kind}
}

// Mark marks a moment of what it says: OfThread, OfProcess or OfMachine.
func (m Marker) Mark(scope int) {
	if marks(m.word()) {
		C.proftrace_marker_mark((*C.proftrace_marker)(m.handle), C.int(scope))
	}
}

// A Counter is a number that is kept whether or not somebody records it.
type Counter struct{ handle *C.proftrace_counter }

// Counter returns the counter of that name. Whoever makes it gives it its first value.
func (d *Domain) Counter(name string, initial int64) *Counter {
	c := &Counter{}
	d.withText(name, func(s *C.char) { c.handle = C.proftrace_counter_get(d.handle, s, C.int64_t(initial)) })
	return c
}

// Set gives the counter a value.
func (c *Counter) Set(value int64) { C.proftrace_counter_set(c.c(), C.int64_t(value)) }

// Add adds to the counter, or with a negative number takes from it.
func (c *Counter) Add(by int64) { C.proftrace_counter_increment(c.c(), C.int64_t(by)) }

// Value is what the counter is now.
func (c *Counter) Value() int64 { return int64(C.proftrace_counter_value(c.c())) }

func (c *Counter) c() *C.proftrace_counter {
	if c == nil || c.handle == nil {
		refuse("a counter that was not made")
		return nil
	}
	return c.handle
}

// NewID returns an id for an arrow that nothing else has, in any process.
func NewID() uint64 { return uint64(C.proftrace_id()) }

// FlowOut begins an arrow in the slice of the thread that is open here.
func FlowOut(id uint64) {
	if Default.Enabled() {
		C.proftrace_flow_out(C.uint64_t(id))
	}
}

// FlowIn ends the arrow of this id in the slice of the thread that is open here.
func FlowIn(id uint64) {
	if Default.Enabled() {
		C.proftrace_flow_in(C.uint64_t(id))
	}
}

// A Pool is memory whose size is followed.
type Pool struct{ text *C.char }

// NewPool makes the pool of that name.
func NewPool(name string) *Pool { return &Pool{text(name)} }

// Alloc says that memory was taken from the pool. Call it afterwards.
func (p *Pool) Alloc(address uintptr, size uint64) {
	if p != nil && Default.Enabled() {
		C.alloc_at(p.text, C.uintptr_t(address), C.uint64_t(size))
	}
}

// Free says that memory is given back to the pool. Call it before.
func (p *Pool) Free(address uintptr) {
	if p != nil && Default.Enabled() {
		C.free_at(p.text, C.uintptr_t(address))
	}
}

// ThreadName names the thread where the goroutine is. Lock the goroutine to it before (runtime.LockOSThread).
func ThreadName(name string) {
	s := text(name)
	defer C.free(unsafe.Pointer(s))
	C.proftrace_thread_name(s)
}

// Step says that the program begins this batch of this epoch. Schedules count these.
func Step(epoch, batch int64) { C.proftrace_step(C.int64_t(epoch), C.int64_t(batch)) }

// Pause has nothing recorded of this process until Resume.
func Pause() { C.proftrace_pause() }

// Resume ends a Pause.
func Resume() { C.proftrace_resume() }

// Dump has what was recorded so far written out.
func Dump() { C.proftrace_dump() }

// Stop ends the recording, or that of this process if it is recorded only because it matches.
func Stop() { C.proftrace_stop() }
