/* SPDX-License-Identifier: MIT */
#define SC_ERROR_C
#include "base/error.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"

/* A refusal may carry an engine's text and a hint; longer than this nobody reads. */
#define MESSAGE_MAX 1024

struct sandcell_error {
	int code;
	int http_status;
	int errnum;
	char message[MESSAGE_MAX];
};

static struct sandcell_error out_of_memory = {
	.code = SANDCELL_E_NOMEM,
	.message = "out of memory",
};

/* Control characters become spaces; a UTF-8 sequence cut at the end is dropped whole. */
static void sanitise(char *text)
{
	size_t len = strlen(text);

	for (size_t i = 0; i < len; i++) {
		unsigned char c = (unsigned char)text[i];
		if (c < 0x20 || c == 0x7f)
			text[i] = ' ';
	}
	if (len + 1 == MESSAGE_MAX) {
		while (len > 0 && ((unsigned char)text[len - 1] & 0xc0) == 0x80)
			len--;
		if (len > 0 && (unsigned char)text[len - 1] >= 0xc0)
			len--;
		text[len] = '\0';
	}
	while (len > 0 && text[len - 1] == ' ')
		text[--len] = '\0';
}

__attribute__((format(printf, 2, 0))) static void set_message(
	struct sandcell_error *err, const char *fmt, va_list args)
{
	int n = vsnprintf(err->message, sizeof(err->message), fmt, args);

	if (n < 0)
		err->message[0] = '\0';
	sanitise(err->message);
}

static struct sandcell_error *error_new(sandcell_error **err_out, int code)
{
	struct sandcell_error *err = NULL;

	if (!err_out)
		return NULL;
	sandcell_error_free(*err_out);
	err = code == SANDCELL_E_NOMEM ? NULL : sc_calloc(1, sizeof(*err));
	if (!err) {
		*err_out = &out_of_memory;
		return NULL;
	}
	err->code = code;
	*err_out = err;
	return err;
}

int sc_fail_nomem(sandcell_error **err_out)
{
	(void)error_new(err_out, SANDCELL_E_NOMEM);
	return SANDCELL_E_NOMEM;
}

int sc_fail(sandcell_error **err_out, int code, const char *fmt, ...)
{
	struct sandcell_error *err = error_new(err_out, code);
	va_list args;

	if (err) {
		va_start(args, fmt);
		set_message(err, fmt, args);
		va_end(args);
	}
	return code;
}

int sc_fail_errno(sandcell_error **err_out, int code, int errnum, const char *fmt, ...)
{
	struct sandcell_error *err = error_new(err_out, code);
	char reason[128] = "";
	va_list args;

	if (!err)
		return code;
	err->errnum = errnum;
	va_start(args, fmt);
	set_message(err, fmt, args);
	va_end(args);
	const char *text = strerror_r(errnum, reason, sizeof(reason));
	size_t used = strlen(err->message);
	(void)snprintf(err->message + used, sizeof(err->message) - used, ": %s", text);
	return code;
}

int sc_fail_http(sandcell_error **err_out, int code, int http_status, const char *fmt, ...)
{
	struct sandcell_error *err = error_new(err_out, code);
	va_list args;

	if (!err)
		return code;
	err->http_status = http_status;
	va_start(args, fmt);
	set_message(err, fmt, args);
	va_end(args);
	return code;
}

int sc_context(sandcell_error **err_out, int rc, const char *fmt, ...)
{
	char inner[MESSAGE_MAX];
	va_list args;
	struct sandcell_error *err = err_out ? *err_out : NULL;

	if (!err || err == &out_of_memory)
		return rc;
	memcpy(inner, err->message, sizeof(inner));
	va_start(args, fmt);
	set_message(err, fmt, args);
	va_end(args);
	size_t used = strlen(err->message);
	(void)snprintf(err->message + used, sizeof(err->message) - used, ": %s", inner);
	sanitise(err->message);
	return rc;
}

int sc_error_recode(sandcell_error **err_out, int code)
{
	if (err_out && *err_out && *err_out != &out_of_memory)
		(*err_out)->code = code;
	return code;
}

int sc_error_move(sandcell_error **err_out, sandcell_error **from, int rc)
{
	if (err_out) {
		sandcell_error_free(*err_out);
		*err_out = SANDCELL_TAKE(*from);
	}
	return rc;
}

int sandcell_error_get_code(const sandcell_error *err)
{
	return err ? err->code : SANDCELL_OK;
}

const char *sandcell_error_get_message(const sandcell_error *err)
{
	return err ? err->message : "no error";
}

int sandcell_error_get_http(const sandcell_error *err)
{
	return err ? err->http_status : 0;
}

int sandcell_error_get_errno(const sandcell_error *err)
{
	return err ? err->errnum : 0;
}

void sandcell_error_free(sandcell_error *err)
{
	if (err != &out_of_memory)
		sc_free(err);
}

const char *sandcell_status_name(int status)
{
	static const char *const names[] = {
		"success",
		"failure",
		"out of memory",
		"invalid argument",
		"engine not reachable",
		"refused by the engine",
		"protocol violation",
		"not found",
		"conflict",
		"timed out",
		"stopped by a callback",
		"limit reached",
		"container gone",
		"session closed",
		"busy",
		"malformed or unsafe data",
	};
	size_t index = status <= 0 ? (size_t) - (int64_t)status : SIZE_MAX;

	return index < sizeof(names) / sizeof(names[0]) ? names[index] : "unknown status";
}
