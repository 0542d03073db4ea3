/* SPDX-License-Identifier: BSD-2-Clause */
/* Strings and numbers in JSON and CSV, for all reports that programs read. */
#include "reports/table/stats_print.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/text.h"
#include "formats/json_text.h"

/*
 * Paths come here as they are, and what a program reads is often printed to a terminal as well. So control characters
 * are escapes, which a parser turns back. JSON cannot represent bytes that are not UTF-8.
 */
void put_json_string(FILE *out, const char *before, const char *text)
{
	size_t left = strlen(text), length;
	uint32_t code = 0;

	fprintf(out, "%s\"", before);
	for (; left; text += length, left -= length) {
		length = utf8_decode((const unsigned char *)text, left, &code);
		if (!length)
			fputs("\\ufffd", out);
		else if (code == '"' || code == '\\')
			fprintf(out, "\\%c", (int)code);
		else if (text_is_control(code))
			fprintf(out, "\\u%04" PRIx32, code);
		else
			fwrite(text, 1, length, out);
		length = length ? length : 1;
	}
	fputc('"', out);
}

void put_json_name(FILE *out, const char *before, const struct name *name)
{
	if (name)
		put_json_string(out, before, name->text);
	else
		fprintf(out, "%snull", before);
}

void put_json_u64(FILE *out, const char *key, uint64_t value)
{
	fprintf(out, ", \"%s\": %" PRIu64, key, value);
}

void put_json_double(FILE *out, double value)
{
	char number[JSON_NUMBER_MAX];

	if (isfinite(value))
		fwrite(number, 1, (size_t)(json_double(number, value) - number), out);
	else
		fputs("null", out);
}

void put_number(FILE *out, const struct arg *arg, void (*put_double)(FILE *out, double value))
{
	if (arg->type == ARG_INT)
		fprintf(out, "%" PRId64, arg->i);
	else if (arg->type == ARG_DOUBLE)
		put_double(out, arg->d);
	else
		fprintf(out, "%" PRIu64, arg->u);
}

void put_csv_text(FILE *out, const char *text)
{
	bool quoted = text[strcspn(text, ",\"")] != '\0';
	size_t n;

	if (!quoted) {
		print_visible(out, "%s", text);
		return;
	}
	fputc('"', out);
	for (; *text; text += n) {
		n = strcspn(text, "\"");
		print_visible(out, "%.*s", (int)n, text);
		if (text[n])
			fputs("\"\"", out), n++;
	}
	fputc('"', out);
}

void put_csv_double(FILE *out, double value)
{
	char number[JSON_NUMBER_MAX];

	if (isfinite(value))
		fwrite(number, 1, (size_t)(json_double(number, value) - number), out);
	else
		fprintf(out, "%g", value);
}

void put_csv_time(FILE *out, enum stats_unit unit, uint64_t ns)
{
	static const struct {
		uint64_t ns;
		int digits;
	} units[] = {
		[STATS_UNIT_AUTO] = { 1, 0 },	    [STATS_UNIT_NS] = { 1, 0 },
		[STATS_UNIT_US] = { 1000, 3 },	    [STATS_UNIT_MS] = { 1000000, 6 },
		[STATS_UNIT_S] = { 1000000000, 9 },
	};

	fprintf(out, "%" PRIu64, ns / units[unit].ns);
	if (units[unit].digits)
		fprintf(out, ".%0*" PRIu64, units[unit].digits, ns % units[unit].ns);
}
