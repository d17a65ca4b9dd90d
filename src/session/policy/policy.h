/* SPDX-License-Identifier: MIT */
#ifndef SC_SESSION_POLICY_POLICY_H
#define SC_SESSION_POLICY_POLICY_H

/*
 * The command policy: judges the text of one allowlisted, read-only command, and turns it
 * into the form that the runner executes.  Pure functions over bytes: no I/O, no locale, no
 * recursion, linear time.  No shell reads the text, here or later.
 *
 *   parse.c    text -> list of commands of words of parts (plan.h)
 *   judge.c    each command against its table (table_*.c): every word gets a role, or the
 *              command is refused
 *   lang_*.c   the small languages inside words: sed, awk, jq
 *   form.c     plan -> JSON for the runner, plan -> text for the re-parse test
 *
 * Three rules make the table small enough to be believed:
 *
 *  - What is not on a list is refused.
 *  - A file is read only when an operand names it.  Options and programs that take names
 *    of files, options or programs from somewhere else are refused.
 *  - A word's role is known before anything is expanded.  A variable is always exactly one
 *    word; only operands that name files (and words to print) expand globs; what such an
 *    expansion yields can never become an option, an assignment or a remote host.
 */

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/error.h"
#include "sandcell/cli.h"

#define SC_POLICY_TEXT_MAX     ((size_t)64 << 10)
#define SC_POLICY_WORDS_MAX    4096
#define SC_POLICY_PARTS_MAX    16384
#define SC_POLICY_COMMANDS_MAX 64
#define SC_POLICY_FORM_MAX     ((size_t)1 << 20)

/* Says that a command is refused; 0 is "allowed", errors are negative. */
#define SC_POLICY_REFUSED 1

typedef struct sc_policy_plan sc_policy_plan;

/*
 * Judges the command.  Returns 0 and the plan (free with sc_policy_free()), or
 * SC_POLICY_REFUSED and the first violation in words (free with sc_free(); may be NULL), or
 * SANDCELL_E_INVAL (unknown flags), SANDCELL_E_NOMEM.  plan_out and message_out may be
 * NULL.
 */
int sc_policy_check(const char *command, size_t len, uint32_t flags,
	sc_policy_plan **plan_out, char **message_out, sandcell_error **err_out);

void sc_policy_free(sc_policy_plan *plan);

/*
 * The form for the runner, as JSON:
 *
 *   {"pipelines":[[{"argv":["ls","-l",{"file":[["glob","*.c"]]}]},{"argv":["head"]}]]}
 *
 * Pipelines are joined by &&, the commands inside one by |.  argv[0] is a name from the
 * allowlist, to be looked up in /usr/bin and /bin.  A word is a string, taken as it stands,
 * or an object with one member that says what the word is for, and whose value is a list of
 * parts ["lit",text], ["glob",text], ["var",name], ["home",""]:
 *
 *   "file"  names files: globs expand to any number of words; a result that its command
 *           could take for anything but a name gets "./" in front
 *   "path"  like "file", and an error if it expands to more than one word
 *   "text"  exactly one word; a result that starts with '-' is an error, unless the first
 *           part is a "lit"
 *   "arg"   to be printed: globs expand as for "file", a variable's value is left alone
 */
int sc_policy_form_json(const sc_policy_plan *plan, sc_buf *out);

/* The command as text again, in one spelling: parsing it gives the same form. */
int sc_policy_form_text(const sc_policy_plan *plan, sc_buf *out);

#endif
