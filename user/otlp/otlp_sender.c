/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The process that sends to the collector. Packets of the recorder wait in a queue for each signal, which is bounded in
 * bytes: what comes while it is full is dropped and counted. Packets are joined to a request, which is
 * repeated with growing pauses until the collector accepts or rejects it. So a request whose reply is lost arrives
 * twice; collectors know spans by their ids.
 */
#include "otlp/otlp_internal.h"

#include <dlfcn.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <zlib.h>

#include "base/clock.h"
#include "base/text.h"
#include "otlp/otlp_curl.h"
#include "privilege/confine.h"
#include "privilege/landlock.h"

enum {
	BODY = 1 << 20, /* bytes of a request before it is compressed */
	CONNECT_LIMIT_MS = 5000,
	REQUEST_LIMIT_MS = 10000,
	FIRST_PAUSE_MS = 1000, /* doubled at each attempt */
	LAST_DOUBLING = 5,
	MOST_PAUSE_S = 300,  /* that a collector may ask for */
	END_LIMIT_MS = 3000, /* after the recording, or after the latest success since then */
	IDLE_MS = 60000,
	PACKETS_AT_ONCE = 64,
	MEMORY = 256 << 20, /* beside the queue */
	HEADERS = 16 << 10,
};

struct block {
	struct block *next;
	uint32_t n, group;
	size_t size;
	uint8_t bytes[];
};

struct channel {
	struct sender *sender;
	enum otlp_signal signal;
	char url[OTLP_URL + 32];
	CURL *easy;
	struct block *first, **last;
	uint64_t queued_bytes; /* with the request */
	/* The request that is sent, or will be sent again. */
	uint8_t *body, *compressed;
	size_t size, compressed_size;
	uint64_t n; /* items in it; 0: there is none */
	uint32_t group;
	bool in_flight;
	bool must_wait; /* by the collector */
	unsigned attempts;
	uint64_t next_ns;
	uint8_t *reply;
	size_t reply_size, reply_received; /* with its headers and trailers */
	char error[CURL_ERROR_SIZE];
};

struct sender {
	const struct otlp_options *options;
	struct curl_functions curl;
	CURLM *multi;
	struct curl_slist *headers;
	struct channel channels[OTLP_SIGNALS];
	struct otlp_counts counts;
	bool changed; /* the counts have, since they were reported */
	uint64_t
		end_ns; /* the recording has ended: by then this process does, too. 0: it goes on */
	struct otlp_packet packet;
};

/* --- the queue --------------------------------------------------------------------------------- */

static struct otlp_count *channel_count(struct channel *c)
{
	return &c->sender->counts.signals[c->signal];
}

static void channel_remove_first(struct channel *c)
{
	struct block *block = c->first;

	c->first = block->next;
	if (!c->first)
		c->last = &c->first;
	c->queued_bytes -= block->size;
	free(block);
}

static void channel_replace_older(struct channel *c, uint32_t group)
{
	while (c->first && c->first->group != group) {
		channel_count(c)->replaced += c->first->n;
		channel_count(c)->waiting -= c->first->n;
		channel_remove_first(c);
	}
}

static void channel_add(struct channel *c, const struct otlp_packet *packet, size_t size)
{
	struct sender *s = c->sender;
	struct block *block = NULL;

	channel_replace_older(c, packet->group);
	if (c->queued_bytes + size <= s->options->queue_bytes)
		block = malloc(sizeof(*block) + size);
	s->changed = true;
	if (!block) {
		channel_count(c)->full += packet->n;
		return;
	}
	*block = (struct block){ .n = packet->n, .group = packet->group, .size = size };
	memcpy(block->bytes, packet->bytes, size);
	*c->last = block;
	c->last = &block->next;
	c->queued_bytes += size;
	channel_count(c)->waiting += packet->n;
}

static void sender_end_later(struct sender *s)
{
	s->end_ns = clock_ns(CLOCK_MONOTONIC) + END_LIMIT_MS * 1000000ull;
}

static void receive_packets(struct sender *s, int socket)
{
	unsigned i;

	for (i = 0; i < PACKETS_AT_ONCE; i++) {
		ssize_t n = recv(socket, &s->packet, sizeof(s->packet), MSG_DONTWAIT);

		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			return;
		if (n < (ssize_t)OTLP_PACKET_HEAD || s->packet.signal >= OTLP_SIGNALS) {
			sender_end_later(s);
			return;
		}
		channel_add(&s->channels[s->packet.signal], &s->packet,
			    (size_t)n - OTLP_PACKET_HEAD);
	}
}

/* --- requests ---------------------------------------------------------------------------------- */

/* Without memory, the request is sent as it is. */
static void channel_compress(struct channel *c)
{
	z_stream z = { .next_in = c->body, .avail_in = (uInt)c->size };

	if (deflateInit2(&z, Z_DEFAULT_COMPRESSION, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY))
		return;
	c->compressed_size = deflateBound(&z, c->size);
	c->compressed = malloc(c->compressed_size);
	if (c->compressed) {
		z.next_out = c->compressed;
		z.avail_out = (uInt)c->compressed_size;
		if (deflate(&z, Z_FINISH) != Z_STREAM_END) {
			free(c->compressed);
			c->compressed = NULL;
		}
		c->compressed_size = z.total_out;
	}
	deflateEnd(&z);
}

/* The request is settled: what became of its items has been counted. */
static void channel_drop_body(struct channel *c)
{
	channel_count(c)->waiting -= c->n;
	c->queued_bytes -= c->size;
	free(c->compressed);
	c->compressed = NULL;
	c->size = c->n = 0;
	c->attempts = 0;
	c->must_wait = false;
	c->sender->changed = true;
}

static void channel_fill_body(struct channel *c)
{
	c->group = c->first ? c->first->group : 0;
	/* A profile has a dictionary, of which a request has one. */
	while (c->first && c->size + c->first->size <= BODY &&
	       !(c->size && c->signal == OTLP_PROFILES)) {
		memcpy(c->body + c->size, c->first->bytes, c->first->size);
		c->size += c->first->size;
		c->n += c->first->n;
		c->queued_bytes += c->first->size;
		channel_remove_first(c);
	}
	if (c->n && c->sender->options->gzip)
		channel_compress(c);
}

/* libcurl keeps all lines of the header and of the trailers. Fewer than came ends the request with an error. */
static size_t count_reply(char *bytes, size_t size, size_t n, void *channel)
{
	struct channel *c = channel;

	(void)bytes;
	n *= size;
	if (n > OTLP_REPLY - c->reply_received)
		return 0;
	c->reply_received += n;
	return n;
}

static size_t keep_reply(char *bytes, size_t size, size_t n, void *channel)
{
	struct channel *c = channel;

	n = count_reply(bytes, size, n, channel);
	memcpy(c->reply + c->reply_size, bytes, n);
	c->reply_size += n;
	return n;
}

static void channel_pause(struct channel *c)
{
	uint64_t ms = FIRST_PAUSE_MS << (c->attempts < LAST_DOUBLING ? c->attempts : LAST_DOUBLING);
	curl_off_t asked = 0;
	uint32_t random = 0;

	/* Half of it at random, so that many hosts do not come back at the same moment. */
	(void)!getrandom(&random, sizeof(random), GRND_NONBLOCK);
	ms = ms / 2 + random % (ms / 2 + 1);
	c->sender->curl.easy_getinfo(c->easy, CURLINFO_RETRY_AFTER, &asked);
	c->must_wait = asked > 0;
	if (asked > 0)
		ms = (uint64_t)(asked < MOST_PAUSE_S ? asked : MOST_PAUSE_S) * 1000;
	c->attempts++;
	c->next_ns = clock_ns(CLOCK_MONOTONIC) + ms * 1000000;
}

static void channel_start(struct channel *c)
{
	struct sender *s = c->sender;

	/* Newer metrics have the sums of older ones. */
	if (c->n && c->first && c->first->group != c->group) {
		channel_count(c)->replaced += c->n;
		channel_drop_body(c);
	}
	if (!c->n)
		channel_fill_body(c);
	if (!c->n)
		return;
	c->reply_size = c->reply_received = 0;
	c->error[0] = '\0';
	s->curl.easy_setopt(c->easy, CURLOPT_POSTFIELDS, c->compressed ?: c->body);
	s->curl.easy_setopt(c->easy, CURLOPT_POSTFIELDSIZE_LARGE,
			    (curl_off_t)(c->compressed ? c->compressed_size : c->size));
	c->in_flight = !s->curl.multi_add_handle(s->multi, c->easy);
	s->counts.requests++;
	s->counts.retries += c->attempts > 0;
	if (!c->in_flight)
		channel_pause(c);
}

static void channel_accepted(struct channel *c)
{
	struct otlp_counts *counts = &c->sender->counts;
	struct otlp_count *count = channel_count(c);
	char message[sizeof(count->error) - 32];
	int64_t rejected = otlp_reply_rejected(c->reply, c->reply_size, message, sizeof(message));

	counts->replies_unreadable += rejected < 0;
	if (rejected < 0)
		rejected = 0;
	if ((uint64_t)rejected > c->n)
		rejected = (int64_t)c->n;
	count->rejected += (uint64_t)rejected;
	count->delivered += c->n - (uint64_t)rejected;
	/* Why something was rejected stays true when later requests are accepted. */
	if (!count->rejected)
		count->error[0] = '\0';
	if (rejected)
		snprintf(count->error, sizeof(count->error), "the collector rejected a part: %s",
			 message);
	channel_drop_body(c);
	if (c->sender->end_ns)
		sender_end_later(c->sender);
}

static void channel_finish(struct channel *c, CURLcode result)
{
	struct sender *s = c->sender;
	char *error = channel_count(c)->error;
	const size_t size = sizeof(channel_count(c)->error);
	long status = 0;

	c->in_flight = false;
	s->changed = true;
	s->curl.multi_remove_handle(s->multi, c->easy);
	s->curl.easy_getinfo(c->easy, CURLINFO_RESPONSE_CODE, &status);
	if (result == CURLE_WRITE_ERROR)
		snprintf(error, size, "the reply has more than %d bytes", OTLP_REPLY);
	else if (result)
		text_copy_visible(error, size,
				  c->error[0] ? c->error : s->curl.easy_strerror(result));
	else if (status / 100 != 2)
		snprintf(error, size, "the collector replied with HTTP status %ld", status);
	if (!result && status / 100 == 2) {
		channel_accepted(c);
	} else if (result != CURLE_WRITE_ERROR &&
		   (result || status == 429 || (status >= 502 && status <= 504))) {
		channel_pause(c);
	} else {
		/* OTLP says that other requests are not to be repeated. */
		channel_count(c)->rejected += c->n;
		channel_drop_body(c);
	}
}

/* --- the process ------------------------------------------------------------------------------- */

static bool sender_load(struct sender *s)
{
	void *library = dlopen(CURL_LIBRARY, RTLD_NOW | RTLD_LOCAL);
	bool all = true;

	library = library ?: dlopen(CURL_LIBRARY_OTHER, RTLD_NOW | RTLD_LOCAL);
	if (!library)
		return false;
#define CURL_FIND(name)                                          \
	*(void **)&s->curl.name = dlsym(library, "curl_" #name); \
	all &= s->curl.name != NULL;
	CURL_FUNCTIONS(CURL_FIND)
	return all && !s->curl.global_init(CURL_GLOBAL_DEFAULT) &&
	       (s->multi = s->curl.multi_init());
}

static bool sender_set_headers(struct sender *s)
{
	static char lines[HEADERS];
	const char *text = getenv("OTEL_EXPORTER_OTLP_HEADERS"), *line = lines;
	int n = text ? otlp_parse_headers(text, lines, sizeof(lines)) : 0;

	s->headers = s->curl.slist_append(s->headers, "Content-Type: application/x-protobuf");
	/* Otherwise libcurl waits a second for permission to send a larger body. */
	s->headers = s->curl.slist_append(s->headers, "Expect:");
	if (s->options->gzip)
		s->headers = s->curl.slist_append(s->headers, "Content-Encoding: gzip");
	for (; n > 0; n--, line += strlen(line) + 1)
		s->headers = s->curl.slist_append(s->headers, line);
	return n == 0;
}

static bool channel_open(struct sender *s, enum otlp_signal signal)
{
	static const char *const paths[] = {
		[OTLP_SPANS] = "/v1/traces",
		[OTLP_METRICS] = "/v1/metrics",
		[OTLP_PROFILES] = "/v1development/profiles",
	};
	struct channel *c = &s->channels[signal];
	const char *ca = getenv("OTEL_EXPORTER_OTLP_CERTIFICATE");
	size_t n = strlen(s->options->url);

	while (n && s->options->url[n - 1] == '/')
		n--;
	c->sender = s;
	c->signal = signal;
	c->last = &c->first;
	c->easy = s->curl.easy_init();
	c->body = malloc(BODY);
	c->reply = malloc(OTLP_REPLY);
	if (!c->easy || !c->body || !c->reply)
		return false;
	snprintf(c->url, sizeof(c->url), "%.*s%s", (int)n, s->options->url, paths[signal]);
	s->curl.easy_setopt(c->easy, CURLOPT_URL, c->url);
	s->curl.easy_setopt(c->easy, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
	s->curl.easy_setopt(c->easy, CURLOPT_HTTPHEADER, s->headers);
	s->curl.easy_setopt(c->easy, CURLOPT_USERAGENT, "proftrace/" PROFTRACE_VERSION);
	s->curl.easy_setopt(c->easy, CURLOPT_NOSIGNAL, 1L);
	s->curl.easy_setopt(c->easy, CURLOPT_CONNECTTIMEOUT_MS, (long)CONNECT_LIMIT_MS);
	s->curl.easy_setopt(c->easy, CURLOPT_TIMEOUT_MS, (long)REQUEST_LIMIT_MS);
	s->curl.easy_setopt(c->easy, CURLOPT_WRITEFUNCTION, keep_reply);
	s->curl.easy_setopt(c->easy, CURLOPT_WRITEDATA, c);
	s->curl.easy_setopt(c->easy, CURLOPT_HEADERFUNCTION, count_reply);
	s->curl.easy_setopt(c->easy, CURLOPT_HEADERDATA, c);
	s->curl.easy_setopt(c->easy, CURLOPT_ERRORBUFFER, c->error);
	s->curl.easy_setopt(c->easy, CURLOPT_PRIVATE, c);
	if (ca && *ca)
		s->curl.easy_setopt(c->easy, CURLOPT_CAINFO, ca);
	return true;
}

/* Starts the requests whose time has come. Returns how long nothing has to be done, ms. */
static int sender_start(struct sender *s)
{
	uint64_t now = clock_ns(CLOCK_MONOTONIC), next = now + IDLE_MS * 1000000ull;
	unsigned i;

	for (i = 0; i < OTLP_SIGNALS; i++) {
		struct channel *c = &s->channels[i];

		/* After the recording there is no time for pauses of our own. */
		if (!c->in_flight && (!c->n || c->next_ns <= now))
			channel_start(c);
		if (!c->in_flight && c->n && c->next_ns < next)
			next = c->next_ns;
	}
	if (s->end_ns && s->end_ns < next)
		next = s->end_ns;
	return next > now ? (int)((next - now) / 1000000) + 1 : 0;
}

static bool sender_is_done(const struct sender *s)
{
	uint64_t now = clock_ns(CLOCK_MONOTONIC);
	unsigned i;

	if (!s->end_ns)
		return false;
	for (i = 0; now < s->end_ns && i < OTLP_SIGNALS; i++) {
		const struct channel *c = &s->channels[i];

		/* A pause that is longer than what is left is not waited for. */
		if (c->in_flight || (!c->n && c->first) || (c->n && c->next_ns < s->end_ns))
			return false;
	}
	return true;
}

/* One more attempt at once, unless the collector asked for a pause. */
static void sender_hurry(struct sender *s)
{
	unsigned i;

	for (i = 0; i < OTLP_SIGNALS; i++) {
		if (!s->channels[i].must_wait)
			s->channels[i].next_ns = 0;
	}
}

static void sender_report(struct sender *s, int socket)
{
	if (s->changed &&
	    send(socket, &s->counts, sizeof(s->counts), MSG_NOSIGNAL | MSG_DONTWAIT) > 0)
		s->changed = false;
}

static void sender_run(struct sender *s, int socket)
{
	struct curl_waitfd from_recorder = { .fd = socket, .events = CURL_WAIT_POLLIN };
	CURLMsg *message;
	int left, running;

	while (!sender_is_done(s)) {
		int wait = sender_start(s);

		s->curl.multi_perform(s->multi, &running);
		sender_report(s, socket);
		s->curl.multi_poll(s->multi, &from_recorder, s->end_ns ? 0 : 1, wait, NULL);
		if (!s->end_ns) {
			receive_packets(s, socket);
			if (s->end_ns)
				sender_hurry(s);
		}
		s->curl.multi_perform(s->multi, &running);
		while ((message = s->curl.multi_info_read(s->multi, &left))) {
			char *channel = NULL;

			if (message->msg != CURLMSG_DONE)
				continue;
			s->curl.easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &channel);
			channel_finish((struct channel *)channel, message->data.result);
		}
	}
	s->changed = true;
	sender_report(s, socket);
}

int otlp_send_all(int socket, const struct otlp_options *options)
{
	static struct sender s;
	const char *problem = NULL;
	unsigned i;

	s.options = options;
	if (!sender_load(&s))
		problem = "libcurl is missing";
	else if (!sender_set_headers(&s))
		problem = "OTEL_EXPORTER_OTLP_HEADERS is not of the form key=value,key=value";
	for (i = 0; !problem && i < OTLP_SIGNALS; i++) {
		if (!channel_open(&s, i))
			problem = "there is no memory";
	}
	confine_limit(RLIMIT_CORE, 0);
	confine_limit(RLIMIT_FSIZE, 0);
	confine_limit(RLIMIT_DATA, MEMORY + OTLP_SIGNALS * options->queue_bytes);
	/* What a filter cannot tell apart; without Landlock it goes on. */
	landlock_writes(NULL);
	if (!problem && confine_sender())
		problem = "its system calls cannot be filtered";
	if (problem)
		snprintf(s.counts.signals[0].error, sizeof(s.counts.signals[0].error), "%s",
			 problem);
	s.changed = true;
	sender_report(&s, socket);
	if (problem)
		return 1;
	sender_run(&s, socket);
	return 0;
}
