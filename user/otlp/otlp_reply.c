/* SPDX-License-Identifier: BSD-2-Clause */
/* What a collector replies to a request that it accepts: perhaps that it rejected a part of it. */
#include "otlp/otlp_internal.h"

#include "base/text.h"

int64_t otlp_reply_rejected(const uint8_t *reply, size_t size, char *message, size_t message_size)
{
	Otlp__ExportReply *r = otlp__export_reply__unpack(NULL, size, reply);
	int64_t rejected = 0;

	message[0] = '\0';
	if (!r)
		return -1;
	if (r->partial_success) {
		rejected = r->partial_success->rejected;
		text_copy_visible(message, message_size, r->partial_success->error_message);
	}
	otlp__export_reply__free_unpacked(r, NULL);
	return rejected < 0 ? -1 : rejected;
}
