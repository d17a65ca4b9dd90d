/* SPDX-License-Identifier: MIT */
#include "output.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "signals.h"

#define CHUNK 4096

void output_init(struct output *output, int fd, int raw)
{
	*output = (struct output){.fd = fd, .clean = !raw && isatty(fd)};
}

/* Waits until fd takes more; whoever shares it with us may have made it non-blocking. */
static int wait_writable(int fd)
{
	struct pollfd poll_fd = {.fd = fd, .events = POLLOUT};

	return poll(&poll_fd, 1, -1) < 0 ? errno : 0;
}

static int write_all(struct output *output, const unsigned char *data, size_t len)
{
	while (len > 0 && output->error == 0) {
		ssize_t written = write(output->fd, data, len);
		int error = written < 0 ? errno : 0;

		if (error == EAGAIN)
			error = wait_writable(output->fd);
		if (written > 0) {
			output->last = (char)data[written - 1];
			data += written;
			len -= (size_t)written;
		} else if (error != 0 && (error != EINTR || cli_signals_caught())) {
			output->error = error;
		}
	}
	return output->error == 0 ? 0 : -1;
}

int output_write(struct output *output, const void *data, size_t len)
{
	const unsigned char *at = data;

	if (!output->clean)
		return write_all(output, at, len);
	while (len > 0 && output->error == 0) {
		unsigned char cleaned[CHUNK];
		size_t cleaned_len = 0;

		terminal_clean(
			&output->filter, &at, &len, cleaned, &cleaned_len, sizeof(cleaned));
		(void)write_all(output, cleaned, cleaned_len);
	}
	return output->error == 0 ? 0 : -1;
}

int output_line(struct output *output, const char *prefix, const char *text)
{
	size_t len = strlen(text);

	if (output->last != '\0' && output->last != '\n')
		(void)output_write(output, "\n", 1);
	(void)output_write(output, prefix, strlen(prefix));
	(void)output_write(output, text, len);
	if (len == 0 || text[len - 1] != '\n')
		(void)output_write(output, "\n", 1);
	return output->error == 0 ? 0 : -1;
}

int output_end(struct output *output)
{
	unsigned char rest[CHUNK];
	size_t len = 0;

	terminal_end(&output->filter, rest, &len, sizeof(rest));
	return write_all(output, rest, len);
}
