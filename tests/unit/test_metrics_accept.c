/* SPDX-License-Identifier: BSD-2-Clause */
/* Which format a scraper gets for its header Accept: native histograms only if it asks for them. Addresses of --metrics. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "record/metrics/metrics.h"

#define FAMILY	 "proto=io.prometheus.client.MetricFamily"
#define PROTOBUF "application/vnd.google.protobuf;" FAMILY ";encoding=delimited"
#define TEXT	 "application/openmetrics-text"

static void test_what_scrapers_send(void **state)
{
	(void)state;
	/* Prometheus 2.42 with native histograms, and without; curl; nothing. */
	assert_true(metrics_prefers_protobuf(PROTOBUF "," TEXT ";version=1.0.0;q=0.8," TEXT
						      ";version=0.0.1;q=0.75,"
						      "text/plain;version=0.0.4;q=0.5,*/*;q=0.1"));
	assert_false(metrics_prefers_protobuf(TEXT ";version=1.0.0," TEXT ";version=0.0.1;q=0.75,"
						   "text/plain;version=0.0.4;q=0.5,*/*;q=0.1"));
	assert_false(metrics_prefers_protobuf("*/*"));
	assert_false(metrics_prefers_protobuf(""));
	assert_false(metrics_prefers_protobuf(NULL));
}

static void test_quality(void **state)
{
	(void)state;
	assert_true(metrics_prefers_protobuf(TEXT "; q=0.299 , " PROTOBUF " ; q=0.3"));
	assert_false(metrics_prefers_protobuf(TEXT "; q=0.3, " PROTOBUF "; q=0.299"));
	assert_false(metrics_prefers_protobuf(TEXT "," PROTOBUF));
	assert_false(metrics_prefers_protobuf(PROTOBUF ";q=0"));
	assert_false(metrics_prefers_protobuf(PROTOBUF ";q=0.000"));
	assert_false(metrics_prefers_protobuf(PROTOBUF ";q=nan"));
	assert_true(metrics_prefers_protobuf(PROTOBUF ";q=0.00100000000000000000"));
}

static void test_other_messages(void **state)
{
	char longer[1 << 16];

	(void)state;
	assert_false(metrics_prefers_protobuf("application/vnd.google.protobuf"));
	assert_false(metrics_prefers_protobuf("application/vnd.google.protobuf;" FAMILY));
	assert_false(metrics_prefers_protobuf(
		"application/vnd.google.protobuf;proto=x;encoding=delimited"));
	assert_false(metrics_prefers_protobuf("application/vnd.google.protobuf;" FAMILY
					      ";encoding=text"));
	assert_false(metrics_prefers_protobuf(";;;,,;q=;,q,=,; ; ,"));
	memset(longer, 'x', sizeof(longer) - 1);
	longer[sizeof(longer) - 1] = '\0';
	assert_false(metrics_prefers_protobuf(longer));
	/* One that is too long is left out, and the others count. */
	memcpy(longer + sizeof(longer) - sizeof("," PROTOBUF), "," PROTOBUF, sizeof("," PROTOBUF));
	assert_true(metrics_prefers_protobuf(longer));
}

/* A loopback address in any form is one for the check of the Host header. */
static void test_mapped_addresses(void **state)
{
	struct metrics_address a;

	(void)state;
	assert_true(metrics_parse_address("[::ffff:127.0.0.1]:9464", &a));
	assert_int_equal(a.socket.any.sa_family, AF_INET);
	assert_int_equal(ntohl(a.socket.v4.sin_addr.s_addr), INADDR_LOOPBACK);
	assert_int_equal(ntohs(a.socket.v4.sin_port), 9464);
	assert_true(metrics_parse_address("[::1]:9464", &a));
	assert_int_equal(a.socket.any.sa_family, AF_INET6);
	assert_false(metrics_parse_address("[::ffff:127.0.0.1:9464", &a));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_scrapers_send),
		cmocka_unit_test(test_quality),
		cmocka_unit_test(test_other_messages),
		cmocka_unit_test(test_mapped_addresses),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
