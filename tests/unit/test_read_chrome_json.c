/* SPDX-License-Identifier: BSD-2-Clause */
/* The reader of Chrome JSON: what proftrace writes, what others write, and what makes no sense. */
#include "readers_test.h"

#include <errno.h>

#define READS(json, events)	     expect_events(json, sizeof(json) - 1, events, 0)
#define READS_BUT(n, json, events)   expect_events(json, sizeof(json) - 1, events, n)
#define FAILS(json, offset, message) expect_error(json, sizeof(json) - 1, offset, message)
#define E(ph, ts, rest)		     "{\"ph\":\"" ph "\",\"pid\":1,\"tid\":2,\"ts\":" ts rest "}"
#define NAME(name)		     ",\"name\":\"" name "\""

/* --- what proftrace writes --------------------------------------------------------------------- */

static void times_count_from_the_base(void **state)
{
	(void)state;
	READS("[{\"name\":\"proftrace\",\"ph\":\"M\",\"pid\":0,\"tid\":0,"
	      "\"args\":{\"base_ns\":9007199254740993,\"monotonic\":\"9007199254741000\","
	      "\"boottime\":\"9007199254742000\",\"realtime\":\"1700000000000000001\"}}," E(
		      "B", "0.001", NAME("a")) "," E("E", "1000000.999", "") "]",
	      "clock 0/0 9007199254741000 9007199254741000 9007199254742000 1700000000000000001\n"
	      "B 1/2 9007199254740994 a\n"
	      "E 1/2 9007200254741992\n");
	READS("[{\"name\":\"proftrace\",\"ph\":\"M\",\"args\":{\"base_ns\":\"5000\"}}," E(
		      "B", "-1", NAME("before the base")) "]",
	      "B 1/2 4000 before the base\n");
	READS("[{\"name\":\"clock_snapshot\",\"ph\":\"M\",\"args\":{\"monotonic\":\"7\"}}]",
	      "clock 0/0 7 7 0 0\n");
}

static void arguments_keep_their_types(void **state)
{
	(void)state;
	READS("[" E("B", "1",
		    NAME("a") ",\"cat\":\"x,y\",\"args\":{\"i\":-1,\"u\":18446744073709551615,"
			      "\"d\":1.0,\"e\":1e3,\"s\":\"t\\u00e9\\n\",\"t\":true,\"f\":false,"
			      "\"n\":null}") "]",
	      "B 1/2 1000 a [x,y] i=i-1 u=u18446744073709551615 d=d1 e=d1000 s='t\xc3\xa9\\x0a' "
	      "t=true f=false n=null\n");
}

static void all_kinds(void **state)
{
	(void)state;
	READS(
		"[" E("i", "1", NAME("t") ",\"s\":\"t\"") "," E("i", "2", NAME("p") ",\"s\":\"p\"") "," E(
			"I", "3",
			NAME("g") ",\"s\":\"g\"") "," E("b", "4",
							NAME("l") ",\"cat\":\"c\",\"id\":"
								  "\"0xff\",\"args\":{\"id\":"
								  "3}") "," E("e", "5",
									      NAME("l") ",\"cat"
											"\":"
											"\"c\","
											"\"id\""
											":\"0xf"
											"f\"") "," E("n",
												     "6",
												     NAME(
													     "m") ",\"id\":\"0xff\"") "," E("s",
																	    "7", NAME("flow") ",\"cat\":\"flow\",\"id\":\"0x10\"") "," E("t",
																									 "8",
																									 NAME(
																										 "other") ",\"cat\":\"mine\",\"id\":16") "," E("f", "9", NAME("flow") ",\"cat\":\"flow\",\"id\":\"16\",\"bp\":\"e\"") "," E("i",
																																									    "10", NAME("flow out") ",\"args\":{\"id\":5,\"k\":1}") "," E("i", "11", NAME("flow in") ",\"args\":{\"id\":\"18446744073709551615\"}") "," E("i",
																																																											 "12",
																																																											 NAME("events lost") ",\"args\":{\"count\":77}") "]",
		"i 1/2 1000 t\n"
		"s 1/2 7000 #10\n"
		"f 1/2 8000 [mine] #77631ad2131e5a97\n" /* its words make it another arrow */
		"s 1/2 8000 [mine] #77631ad2131e5a97\n"
		"f 1/2 9000 #10\n"
		"i 1/2 10000 flow out id=i5 k=i1\n"
		"i 1/2 11000 flow in id='18446744073709551615'\n"
		"i 1/2 12000 events lost count=i77\n"
		"ip 1/0 2000 p\n"
		"ig 1/0 3000 g\n"
		"b 1/0 4000 l [c] #ff id=i3\n"
		"e 1/0 5000 l [c] #ff\n"
		"ip 1/0 6000 m\n");
}

static void counters(void **state)
{
	(void)state;
	READS("[" E("C", "1", NAME("c") ",\"args\":{\"value\":\"18446744073709551615\"}") "," E("C", "2", NAME("c") ",\"args\":{\"value\":-3}") "," E(
		      "C", "3",
		      NAME("c") ",\"args\":{\"value\":\"NaN\"}") "," E("C", "4",
								       NAME("c") ",\"args\":{"
										 "\"a\":1,"
										 "\"none\":"
										 "\"word\","
										 "\"value\":2."
										 "5}") "," E("C",
											     "5",
											     NAME("c") ",\"args\":{\"a\":1}") "]",
	      "C 1/0 1000 c =u18446744073709551615\n"
	      "C 1/0 2000 c =i-3\n"
	      "C 1/0 3000 c =dnan\n"
	      "C 1/0 4000 c a=i1 value=d2.5\n"
	      "C 1/0 5000 c a=i1\n");
	READS_BUT(2,
		  "[" E("C", "1", NAME("c")) "," E(
			  "C", "1",
			  NAME("c") ",\"args\":{\"a\":null}") "," E("C", "1",
								    NAME("c") ",\"args\":{"
									      "\"a\":1}") "]",
		  "C 1/0 1000 c a=i1\n");
}

/* By the format a counter is its name and its id. */
static void counters_with_an_id(void **state)
{
	(void)state;
	READS("[" E("C", "1", NAME("fps") ",\"id\":\"1\",\"args\":{\"v\":10}") "," E("C", "2", NAME("fps") ",\"id\":2,\"args\":{\"v\":1000}") "," E("C", "3", NAME("fps") ",\"id2\":{\"local\":\"0x1\"},\"args\":{\"value\":12}") "," E(
		      "C", "4",
		      NAME("counters") ",\"id\":7,\"args\":{\"v\":1}") "," E("C", "5",
									     ",\"id\":"
									     "\"0123456789012345"
									     "678901234567890123"
									     "456789"
									     "012345678901234567"
									     "8901234\","
									     "\"args\":{\"v\":"
									     "1}") "," E("C", "6",
											 NAME("f"
											      "p"
											      "s") ",\"args\":{\"v\":11}") "]",
	      "C 1/0 1000 fps[1] v=i10\nC 1/0 2000 fps[2] v=i1000\nC 1/0 3000 fps[0x1] =i12\n"
	      "C 1/0 4000 counters[7] v=i1\nC 1/0 5000 [0x154eedaf0b4e1097] v=i1\n"
	      "C 1/0 6000 fps v=i11\n");
}

/* Those of the recorder, and marks of the same names. */
static void instants_of_the_recorder(void **state)
{
#define I(name, more, args)                                                                     \
	"{\"name\":\"" name "\"" more ",\"ph\":\"i\",\"ts\":1,\"pid\":1,\"tid\":2,\"s\":\"t\"," \
	"\"args\":{" args "}}"
#define OURS ",\"recorder\":true"
	(void)state;
	READS("[{\"name\":\"proftrace\",\"ph\":\"M\",\"args\":{}},\n" I("flow out", OURS, "\"id\":5,\"k\":1") "," I(
		      "flow in", OURS,
		      "\"id\":6") "," I("events lost", OURS,
					"\"count\":77") "," I("events lost", "",
							      "\"count\":78") "," I("flow out", "",
										    "\"id\":7") "]",
	      "s 1/2 1000 #5 k=i1\nf 1/2 1000 #6\nlost 1/2 1000 *77\n"
	      "i 1/2 1000 events lost count=i78\ni 1/2 1000 flow out id=i7\n");
#undef I
#undef OURS
}

/* As our writer says what was counted in a slice. */
static void deltas_of_counters(void **state)
{
#define OWN_END(args) "{\"ph\":\"E\",\"ts\":2,\"pid\":1,\"tid\":1,\"args\":{" args "}}"
	(void)state;
	READS("[{\"name\":\"proftrace\",\"ph\":\"M\",\"args\":{\"zero_deltas\":\"left out\"}},\n"
	      "{\"name\":\"counters\",\"ph\":\"C\",\"ts\":1,\"pid\":1,\"tid\":1,\"id\":1,"
	      "\"args\":{\"cycles\":0,\"faults\":0}},\n" OWN_END("\"cycles\":5") ",\n" OWN_END(
		      "\"n"
		      "\":"
		      "1,"
		      "\"f"
		      "aul"
		      "ts"
		      "\":"
		      "2,"
		      "\"i"
		      "pc"
		      "\":"
		      "0."
		      "5") ",\n" OWN_END("") ",\n" OWN_END("\"cycles\":7,\"faults\":null") ","
											   "\n" OWN_END(
												   "\"counters\""
												   ":null") ","
													    "\n" OWN_END(
														    "\"cycles\":-1,\"counters\":{\"cycles\":7,\"faults\":0}") "]",
	      "Cn 1/1 1000 cycles =i0\nCn 1/1 1000 faults =i0\n"
	      "E 1/1 2000 cycles=i5 faults=u0 +cycles:5 +faults:0\n"
	      "E 1/1 2000 n=i1 cycles=u0 faults=i2 ipc=d0.5 +cycles:0 +faults:2\n"
	      "E 1/1 2000 cycles=u0 faults=u0 +cycles:0 +faults:0\n"
	      "E 1/1 2000 cycles=i7 +cycles:7 +faults:-1\n"
	      "E 1/1 2000 +cycles:-1 +faults:-1\n"
	      "E 1/1 2000 cycles=i-1 +cycles:7 +faults:0\n");
#undef OWN_END
}

static void names(void **state)
{
	(void)state;
	READS("[{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":1,\"args\":{\"name\":\"p\"}},"
	      "{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":1,\"tid\":2,\"args\":{\"name\":\"t\"}"
	      "},"
	      "{\"ph\":\"M\",\"name\":\"thread_sort_index\",\"pid\":1,\"args\":{\"sort_index\":2}}"
	      "]",
	      "process 1/0 0 p\n"
	      "thread 1/2 0 t\n");
	READS_BUT(1, "[{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":1}," E("B", "1", "") "]",
		  "B 1/2 1000\n");
}

/* --- what others write ------------------------------------------------------------------------- */

static void the_object_form(void **state)
{
	(void)state;
	READS("{\"displayTimeUnit\":\"ns\",\"other\":{\"traceEvents\":[1,{\"a\":[]}]},"
	      "\"traceEvents\":[" E("B", "1", NAME("a")) "],\"metadata\":{\"ph\":[\"B\"]}}",
	      "B 1/2 1000 a\n");
	READS("{\"traceEvents\":[]}", "");
	READS("[]", "");
	READS("\xef\xbb\xbf [ ]", "");
}

static void small_mistakes_are_forgiven(void **state)
{
	(void)state;
	READS("[" E("B", "1", "") ",\n]\n", "B 1/2 1000\n");
	READS("[" E("B", "1", "") ",\n{}]\n", "B 1/2 1000\n");
	READS("[" E("B", "1", "") "] what follows", "B 1/2 1000\n");
	READS("{\"traceEvents\":[" E("B", "1", "") ",],\"more\":1}", "B 1/2 1000\n");
	READS("[{\"ph\":\"B\",\"ts\":\"1.5\",\"pid\":\"7\",\"tid\":8.0}]", "B 7/8 1500\n");
	READS("[{\"ph\":\"B\",\"ts\":1,\"pid\":3}]", "B 3/3 1000\n");
	READS("[{\"ph\":\"B\",\"ts\":1}]", "B 0/0 1000\n");
	READS("[" E("b", "1", ",\"id2\":{\"local\":\"0x5\"}") "]", "b 1/0 1000 #5\n");
	READS("[" E("B", "1", ",\"args\":[1,2],\"sf\":{\"args\":{\"x\":1}},\"name\":[\"a\"]") "]",
	      "B 1/2 1000\n");
	READS("[" E("B", "1", NAME("\xff") ",\"args\":{\"k\":\"\xc3\"}") "]",
	      "B 1/2 1000 \xef\xbf\xbd k='\xef\xbf\xbd'\n");
}

static void words_for_processes_and_threads(void **state)
{
	(void)state;
	struct heard *h;
	static const char json[] = "[{\"ph\":\"B\",\"ts\":1,\"pid\":\"gpu\",\"tid\":\"q\"},"
				   "{\"ph\":\"E\",\"ts\":2,\"pid\":\"gpu\",\"tid\":\"q\"},"
				   "{\"ph\":\"B\",\"ts\":3,\"pid\":\"cpu\",\"tid\":\"q\"}]";
	unsigned pid, tid, other;

	h = hear(json, sizeof(json) - 1);
	assert_int_equal(h->status, 0);
	assert_int_equal(h->n, 7);
	assert_int_equal(sscanf(h->text, "process %u/0 0 gpu\nthread %*u/%u 0 q\n", &pid, &tid), 2);
	assert_true(pid > 1 << 22 && tid > 1 << 22);
	assert_non_null(strstr(h->text, " 0 cpu\n"));
	assert_int_equal(sscanf(strstr(h->text, "E "), "E %u/", &other), 1);
	assert_int_equal(pid, other);
	heard_free(h);
}

static void nested_arguments_are_spread(void **state)
{
	(void)state;
	READS("[" E("B", "1",
		    ",\"args\":{\"d\":{\"a\":1,\"b\":{\"c\":[2,[3],{\"e\":4}]}},\"z\":5}") "]",
	      "B 1/2 1000 d.a=i1 d.b.c='[2,[3],{\"e\":4}]' z=i5\n");
}

static const char lists[] =
	"[{\"ph\":\"B\",\"pid\":1,\"tid\":2,\"ts\":1,\"args\":{\"a\":[],\"b\":[[1,-2.5e3],[],{}],"
	"\"c\":[\"x\",\"q\\\"\",null,true,{\"k\":[1],\"l\":2}],\"d\":1}}]";

static void lists_are_text(void **state)
{
	struct heard *h;
	char json[8192] = "[{\"ph\":\"B\",\"ts\":1,\"args\":{\"l\":[";
	int i;

	(void)state;
	READS(lists, "B 1/2 1000 a='[]' b='[[1,-2.5e3],[],{}]'"
		     " c='[\"x\",\"q\\\"\",null,true,{\"k\":[1],\"l\":2}]' d=i1\n");
	for (i = 0; i < 900; i++)
		strcat(json, i ? ",1234" : "1234");
	strcat(json, "]}}]");
	h = hear(json, strlen(json));
	assert_int_equal(h->status, 0);
	assert_non_null(strstr(h->text, "'~\n")); /* cut, and said to be */
	assert_int_equal(h->account.cut_strings, 1);
	heard_free(h);
}

/* What is more than is kept is cut where it is counted: with the mark of a cut it is as it was. */
static void strings_are_cut_and_counted(void **state)
{
	static const struct {
		size_t length;
		const char *end;
		size_t kept;
		bool cut;
	} strings[] = {
		{ 1024, "", 1024, false },
		{ 1025, "", 1024, true },
		{ 1536, "", 1024, true },
		{ 1020, "\xc3\xa9\xc3\xa9", 1024, false },
		{ 1021, "\xc3\xa9\xc3\xa9", 1023, true },
		{ 1024, "\xe2\x80\xa6", 1027, false },
		{ 1022, "\xe2\x80\xa6", 1025, false },
		{ 1025, "\xe2\x80\xa6", 1024, true },
		{ 300, "\\u0001\\u0001", 308, false },
		{ 1020, "\\u0001\\u0001", 1024, true },
	};
	char json[4096], text[2048];
	struct heard *h;
	unsigned i;

	(void)state;
	for (i = 0; i < sizeof(strings) / sizeof(strings[0]); i++) {
		memset(text, 'a', strings[i].length);
		strcpy(text + strings[i].length, strings[i].end);
		snprintf(json, sizeof(json), "[{\"ph\":\"B\",\"ts\":1,\"args\":{\"k\":\"%s\"}}]",
			 text);
		h = hear(json, strlen(json));
		assert_int_equal(h->status, 0);
		assert_int_equal(h->account.cut_strings, strings[i].cut);
		assert_int_equal(h->length,
				 strlen("B 0/0 1000 k=''\n") + strings[i].kept + strings[i].cut);
		assert_int_equal(h->text[h->length - 2], strings[i].cut ? '~' : '\'');
		heard_free(h);
	}
}

static void too_many_arguments_are_told(void **state)
{
	struct heard *h;
	char json[1024] = "[{\"ph\":\"B\",\"ts\":1,\"args\":{\"k\":0";
	int i;

	(void)state;
	for (i = 1; i < 40; i++)
		snprintf(json + strlen(json), sizeof(json) - strlen(json), ",\"k%d\":%d", i, i);
	strcat(json, "}}]");
	h = hear(json, strlen(json));
	assert_int_equal(h->status, 0);
	assert_non_null(strstr(h->text, " k31=i31\n"));
	assert_int_equal(h->account.unreadable_args, 1);
	heard_free(h);
}

/* --- complete events --------------------------------------------------------------------------- */

#define X(ts, dur, name) E("X", ts, ",\"dur\":" dur NAME(name))

static void complete_events_nest(void **state)
{
	(void)state;
	READS("[" X("10", "20", "a") "," X("10", "5", "b") "," X("15", "15", "c") "," X(
		      "40", "0", "d") "," E("i", "41", NAME("i")) "]",
	      "B 1/2 10000 a\nB 1/2 10000 b\nE 1/2 15000\nB 1/2 15000 c\nE 1/2 30000\nE 1/2 30000\n"
	      "B 1/2 40000 d\nE 1/2 40000\ni 1/2 41000 i\n");
}

/* As they are written when each is over: the inner ones first. */
static void complete_events_in_the_order_of_their_ends(void **state)
{
	(void)state;
	READS("[" X("12", "2", "c") "," X("11", "5", "b") "," X("20", "2", "d") "," X("10", "20",
										      "a") "]",
	      "B 1/2 10000 a\nB 1/2 11000 b\nB 1/2 12000 c\nE 1/2 14000\nE 1/2 16000\n"
	      "B 1/2 20000 d\nE 1/2 22000\nE 1/2 30000\n");
}

static void complete_events_that_overlap_become_asynchronous(void **state)
{
	(void)state;
	READS("[" X("10", "10", "a") "," X("15", "10", "b") "]",
	      "B 1/2 10000 a\n"
	      "b 1/0 15000 b #1000000000000\ne 1/0 25000 b #1000000000000\n"
	      "E 1/2 20000\n");
}

#define B(ts, name) E("B", ts, NAME(name))
#define END(ts)	    E("E", ts, "")

/* An E ends the last B, whatever complete events are open. */
static void begins_among_complete_events(void **state)
{
	(void)state;
	/* A B without an E in a complete event ends with it. */
	READS("[" X("0", "100", "outer") "," B("10", "leak") "," X("500", "10", "later") "]",
	      "B 1/2 0 outer\nB 1/2 10000 leak\nE 1/2 100000\nE 1/2 100000\n"
	      "B 1/2 500000 later\nE 1/2 510000\n");
	/* A complete event that outlasts the B around it is asynchronous. */
	READS("[" B("0", "b") "," X("10", "90", "x") "," E("E", "50", NAME("b")) "]",
	      "B 1/2 0 b\nb 1/0 10000 x #1000000000000\ne 1/0 100000 x #1000000000000\n"
	      "E 1/2 50000\n");
	/* One that does not is in it, and so is what follows in the B. */
	READS("[" B("0", "b") "," X("10", "20", "x") "," X("12", "2", "y") "," B("40", "c") "," END(
		      "45") "," END("50") "," END("60") "]",
	      "B 1/2 0 b\nB 1/2 10000 x\nB 1/2 12000 y\nE 1/2 14000\nE 1/2 30000\n"
	      "B 1/2 40000 c\nE 1/2 45000\nE 1/2 50000\nE 1/2 60000\n");
	/* An E that comes too late for its B is not that of the B around. */
	READS_BUT(1,
		  "[" B("0", "a") "," X("10", "20", "x") "," B("15", "b") "," E(
			  "E", "40", NAME("b")) "," E("E", "50", NAME("a")) "]",
		  "B 1/2 0 a\nB 1/2 10000 x\nB 1/2 15000 b\nE 1/2 30000\nE 1/2 30000\n"
		  "E 1/2 50000\n");
	/* An E without a B ends no complete event. */
	READS_BUT(1, "[" X("10", "20", "x") "," END("15") "]", "B 1/2 10000 x\nE 1/2 30000\n");
}

static void begins_at_the_time_of_complete_events(void **state)
{
	(void)state;
	READS("[" X("10", "90", "x") "," B("10", "b") "," E("E", "20", NAME("b")) "]",
	      "B 1/2 10000 x\nB 1/2 10000 b\nE 1/2 20000\nE 1/2 100000\n");
	READS("[" X("10", "10", "x") "," B("10", "b") "," END("30") "]",
	      "B 1/2 10000 b\nB 1/2 10000 x\nE 1/2 20000\nE 1/2 30000\n");
	READS("[" X("10", "10", "x") "," X("10", "50", "y") "," B("10", "b") "," B(
		      "10", "c") "," END("15") "," END("30") "]",
	      "B 1/2 10000 y\nB 1/2 10000 b\nB 1/2 10000 x\nB 1/2 10000 c\nE 1/2 15000\nE 1/2 "
	      "20000\n"
	      "E 1/2 30000\nE 1/2 60000\n");
	/* All three end together. */
	READS("[" B("0", "a") "," X("10", "20", "x") "," B("15", "b") "," END("30") "," END(
		      "30") "," B("30", "c") "]",
	      "B 1/2 0 a\nB 1/2 10000 x\nB 1/2 15000 b\nE 1/2 30000\nE 1/2 30000\nE 1/2 30000\n"
	      "B 1/2 30000 c\n");
	/* A slice that ends as another one begins. */
	READS("[" B("0", "a") "," B("10", "b") "," END("10") "," END("10") "," X("10", "5",
										 "x") "]",
	      "B 1/2 0 a\nB 1/2 10000 b\nE 1/2 10000\nE 1/2 10000\nB 1/2 10000 x\nE 1/2 15000\n");
}

static void complete_events_without_a_time(void **state)
{
	(void)state;
	READS_BUT(3,
		  "[" E("X", "1", "") "," X("1", "-5", "a") "," X("1e30", "1", "a") "," X("1", "1",
											  "b") "]",
		  "B 1/2 1000 b\nE 1/2 2000\n");
	/* The largest time there is, and one more. */
	READS_BUT(
		1,
		"[" X("9223372036854773", "2.807", "a") "," X("9223372036854773", "2.808", "b") "]",
		"B 1/2 9223372036854773000 a\nE 1/2 9223372036854775807\n");
}

/* All of one thread, then all of the next one, inner ones first: as if each had a file of its own. */
static void threads_one_after_the_other(void **state)
{
	enum {
		THREADS = 4,
		N = 100000
	};
	size_t capacity = (size_t)THREADS * N * 80, length = 1;
	char *json = malloc(capacity);
	struct heard *h;
	int i;

	(void)state;
	json[0] = '[';
	for (i = 0; i < THREADS * N; i++)
		length += (size_t)snprintf(
			json + length, capacity - length,
			"{\"ph\":\"X\",\"pid\":1,\"tid\":%d,\"ts\":%d,\"dur\":%d},", 2 + i / N,
			i % N / 2 * 10 + (i % 2 ? 0 : 3), i % 2 ? 9 : 3);
	length += (size_t)snprintf(json + length, capacity - length, "]");
	h = hear(json, length);
	assert_int_equal(h->status, 0);
	assert_int_equal(h->n, 2 * THREADS * N);
	assert_null(strstr(h->text, "b 1/0"));
	assert_memory_equal(h->text, "B 1/", 4);
	heard_free(h);
	free(json);
}

/* The first form: after the slice that begins at the same time, whatever the file says first. */
static const char arrows_1[] =
	"[{\"ph\":\"s\",\"pid\":1,\"tid\":2,\"ts\":10,\"name\":\"ac2g\",\"cat\":\"ac2g\",\"id\":3},"
	"{\"ph\":\"X\",\"pid\":1,\"tid\":2,\"ts\":10,\"dur\":5,\"name\":\"a\"},"
	"{\"ph\":\"X\",\"pid\":1,\"tid\":3,\"ts\":20,\"dur\":5},"
	"{\"ph\":\"f\",\"pid\":1,\"tid\":3,\"ts\":20,\"name\":\"ac2g\",\"cat\":\"ac2g\",\"id\":"
	"\"3\"}]";
static const char arrows_2[] =
	"[{\"ph\":\"X\",\"pid\":1,\"tid\":2,\"ts\":10,\"dur\":1,\"bind_id\":\"0x7\",\"flow_out\":"
	"true},"
	"{\"ph\":\"B\",\"pid\":1,\"tid\":2,\"ts\":20,\"bind_id\":\"0x7\",\"flow_in\":true,"
	"\"flow_out\":true},"
	"{\"ph\":\"X\",\"pid\":1,\"tid\":2,\"ts\":30,\"dur\":1,\"bind_id\":\"0x7\",\"flow_in\":"
	"false}]";

static void arrows_of_slices(void **state)
{
	(void)state;
	READS(arrows_1, "B 1/2 10000 a\ns 1/2 10000 [ac2g] #a6a5418ed1405d23\nE 1/2 15000\n"
			"B 1/3 20000\nf 1/3 20000 [ac2g] #a6a5418ed1405d23\nE 1/3 25000\n");
	READS(arrows_2, "B 1/2 10000\ns 1/2 10000 #7\nE 1/2 11000\nB 1/2 20000\nf 1/2 20000 #7\n"
			"s 1/2 20000 #7\nB 1/2 30000\nE 1/2 31000\n");
}

static void what_has_no_place_is_counted(void **state)
{
	static const char json[] =
		"[{\"ph\":\"B\",\"pid\":1,\"tid\":2,\"ts\":1},{\"ph\":\"P\",\"pid\":1,\"tid\":2,"
		"\"ts\":2},"
		"{\"ph\":\"P\",\"pid\":1,\"tid\":2,\"ts\":3},{\"ph\":\"O\",\"pid\":1,\"ts\":4,"
		"\"id\":1},"
		"{\"ph\":\"v\",\"pid\":1,\"ts\":4,\"id\":1},"
		"{\"ph\":\"M\",\"pid\":1,\"name\":\"process_labels\",\"args\":{}}]";
	struct heard *h = hear(json, sizeof(json) - 1);

	(void)state;
	assert_int_equal(h->status, 0);
	assert_string_equal(h->text, "B 1/2 1000\n");
	assert_int_equal(h->why.skipped, 5);
	assert_string_equal(h->why.skipped_kinds, "M 1, O 1, P 2, v 1");
	assert_int_equal(account_lost(&h->account), 0);
	heard_free(h);
}

static void what_stands_around_the_events(void **state)
{
	static const char json[] =
		"{\"schemaVersion\":1,\"deviceProperties\":[{\"id\":0,\"baseTimeNanoseconds\":1}],"
		"\"distributedInfo\":{\"backend\":\"nccl\",\"rank\":3,\"pg\":[{\"rank\":9}]},"
		"\"baseTimeNanoseconds\":1743521598000000000,"
		"\"traceEvents\":[{\"ph\":\"B\",\"pid\":1,\"tid\":2,\"ts\":1.5}],\"traceName\":"
		"\"x\"}";
	struct heard *h = hear(json, sizeof(json) - 1);

	(void)state;
	assert_int_equal(h->status, 0);
	assert_string_equal(h->text, "B 1/2 1743521598000001500\n");
	assert_string_equal(h->origin.rank, "3");
	heard_free(h);
}

/* More of them than are held back: order is best effort, nothing is lost. */
static void very_many_complete_events(void **state)
{
	enum {
		N = 150000
	};
	size_t capacity = (size_t)N * 80, length = 1;
	char *json = malloc(capacity);
	struct heard *h;
	int i;

	(void)state;
	json[0] = '[';
	for (i = 0; i < N; i++)
		length +=
			(size_t)snprintf(json + length, capacity - length,
					 "{\"ph\":\"X\",\"pid\":1,\"tid\":2,\"ts\":%d,\"dur\":1},",
					 i % 2 ? i - 1 : i + 1);
	length += (size_t)snprintf(json + length, capacity - length, "]");
	h = hear(json, length);
	assert_int_equal(h->status, 0);
	assert_int_equal(h->n, 2 * N);
	assert_int_equal(h->account.marked, 2 * N);
	assert_null(strstr(h->text, "b 1/0")); /* all found their place */
	heard_free(h);
	free(json);
}

/* --- what makes no sense ----------------------------------------------------------------------- */

static void events_without_sense_are_counted(void **state)
{
	(void)state;
	READS_BUT(7,
		  "[" E("B", "1", "") ",{\"a\":1},{\"ph\":\"B\"},{\"ph\":\"?\",\"ts\":1}," E(
			  "b", "1", "") "," E("s", "1", "") "," E("B", "\"x\"", "") "," E("B", "-1",
											  "") "]",
		  "B 1/2 1000\n");
	FAILS("[{\"a\":1},{\"b\":2}]", 0, "no item of its array");
}

/* Some write null for an event that they have not got. */
static void what_is_no_object_is_counted(void **state)
{
	(void)state;
	READS_BUT(7,
		  "[null,0," E("B", "1", "") ",\"x\",true,[],[[{\"ph\":1}],{}]," E("i", "2",
										   "") ",null]",
		  "B 1/2 1000\n"
		  "i 1/2 2000\n");
	FAILS("[null,1]", 0, "no item of its array");
	FAILS("[{},1]", 0, "no item of its array");
	FAILS("[{},[]]", 0, "no item of its array");
}

static void errors_tell_the_byte(void **state)
{
	(void)state;
	FAILS("["
	      "{\"ph\":\"B\"} x",
	      12, "invalid char");
	FAILS("[{\"ph\" 1}]", 7, "");
	FAILS("{\"a\":[1,2]}", 11, "traceEvents");
	FAILS("{\"traceEvents\":1}", 17, "traceEvents");
	FAILS("[{\"ts\":1x}]", 8, "");
}

static void nesting_is_limited(void **state)
{
	char json[4096] = "[{\"args\":{\"a\":";
	size_t length = strlen(json);

	(void)state;
	memset(json + length, '[', 3000);
	expect_error(json, length + 3000, length + 61, "nested too deeply");
	strcpy(json, "[{\"other\":");
	length = strlen(json);
	memset(json + length, '[', 3000);
	expect_error(json, length + 3000, length + 62, "nested too deeply");
}

static void numbers_without_end(void **state)
{
	char json[5000] = "[{\"ts\":";
	size_t length = strlen(json);

	(void)state;
	memset(json + length, '1', 4000);
	expect_error(json, length + 4000, length + 1024, "a number of more than 1024 digits");
}

/* Megabytes in one string: the beginning is kept, memory is not used for the rest. */
static void strings_without_limit(void **state)
{
	static const char *const pieces[] = { "x", "\\\"", "\\u00e9", "\\\\", "\xc3\xa9" };
	enum {
		N = 3 << 20
	};
	char *json = malloc(N + 256);
	size_t i, length;
	struct heard *h;

	(void)state;
	for (i = 0; i < 5; i++) {
		size_t size = strlen(pieces[i]);

		length = (size_t)sprintf(json, "[{\"ph\":\"B\",\"ts\":1,\"args\":{\"k\":\"");
		for (; length < N; length += size)
			memcpy(json + length, pieces[i], size);
		length += (size_t)sprintf(json + length, "\",\"after\":\"the string\"}},{}]");
		h = hear(json, length);
		assert_int_equal(h->status, 0);
		assert_string_equal(h->why.message, "");
		assert_int_equal(h->n, 1);
		assert_non_null(strstr(h->text, "~ after='the string'\n"));
		assert_int_equal(h->account.cut_strings, 1);
		heard_free(h);
	}
	free(json);
}

/* --- files that were cut ----------------------------------------------------------------------- */

static void check_cut(const char *json, size_t size, unsigned n_events)
{
	unsigned last = 0;
	size_t n;

	for (n = 1; n < size; n++) {
		struct heard *h = hear(json, n);

		assert_string_equal(h->why.message, "");
		assert_int_equal(h->status, 0);
		assert_true(h->why.truncated);
		assert_int_equal(h->why.offset, n);
		assert_true(h->n >= last && h->n <= n_events);
		assert_int_equal(account_lost(&h->account), 0);
		last = h->n;
		heard_free(h);
	}
	assert_int_equal(last, n_events);
}

static void cut_anywhere(void **state)
{
	static const char array[] = "[" E(
		"B", "1.5",
		NAME("\\u00e9\xc3\xa9") ",\"args\":{\"k\":[true,null,-1e3]}") ",\n" E("E", "2",
										      "") "]";
	static const char object[] =
		"{\"a\":{\"b\":[]},\"traceEvents\":[" E("B", "1", "") "," E("E", "2", "") "]}";

	(void)state;
	check_cut(array, sizeof(array) - 1, 2);
	check_cut(object, sizeof(object) - 1, 2);
}

static void zeros_to_the_end_are_a_cut(void **state)
{
	static const char event[] = "[" E("B", "1", "") ",";
	char json[200000] = "";
	struct heard *h;

	(void)state;
	strcpy(json, event);
	h = hear(json, sizeof(json));
	assert_int_equal(h->status, 0);
	assert_true(h->why.truncated);
	assert_int_equal(h->why.offset, sizeof(event) - 1);
	assert_int_equal(h->n, 1);
	heard_free(h);
	json[sizeof(json) - 1] = '1';
	h = hear(json, sizeof(json));
	assert_int_equal(h->status, -EBADMSG);
	heard_free(h);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(times_count_from_the_base),
		cmocka_unit_test(arguments_keep_their_types),
		cmocka_unit_test(all_kinds),
		cmocka_unit_test(counters),
		cmocka_unit_test(counters_with_an_id),
		cmocka_unit_test(instants_of_the_recorder),
		cmocka_unit_test(deltas_of_counters),
		cmocka_unit_test(names),
		cmocka_unit_test(the_object_form),
		cmocka_unit_test(small_mistakes_are_forgiven),
		cmocka_unit_test(words_for_processes_and_threads),
		cmocka_unit_test(nested_arguments_are_spread),
		cmocka_unit_test(lists_are_text),
		cmocka_unit_test(strings_are_cut_and_counted),
		cmocka_unit_test(too_many_arguments_are_told),
		cmocka_unit_test(threads_one_after_the_other),
		cmocka_unit_test(arrows_of_slices),
		cmocka_unit_test(what_has_no_place_is_counted),
		cmocka_unit_test(what_stands_around_the_events),
		cmocka_unit_test(complete_events_nest),
		cmocka_unit_test(complete_events_in_the_order_of_their_ends),
		cmocka_unit_test(complete_events_that_overlap_become_asynchronous),
		cmocka_unit_test(begins_among_complete_events),
		cmocka_unit_test(begins_at_the_time_of_complete_events),
		cmocka_unit_test(complete_events_without_a_time),
		cmocka_unit_test(very_many_complete_events),
		cmocka_unit_test(events_without_sense_are_counted),
		cmocka_unit_test(what_is_no_object_is_counted),
		cmocka_unit_test(errors_tell_the_byte),
		cmocka_unit_test(nesting_is_limited),
		cmocka_unit_test(numbers_without_end),
		cmocka_unit_test(strings_without_limit),
		cmocka_unit_test(cut_anywhere),
		cmocka_unit_test(zeros_to_the_end_are_a_cut),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
