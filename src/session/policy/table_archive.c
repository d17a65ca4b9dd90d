/* SPDX-License-Identifier: MIT */
/* tar, unzip, zip: what is in an archive.  Listing only; unzip also tests. */
#include <string.h>

#include "session/policy/chars.h"
#include "session/policy/tables.h"

#define EXTRACTS "it is for extracting; only listing is allowed"
#define CREATES	 "it is for creating archives; only listing is allowed"

/* ---- tar ---- */

/* Complete, so that every abbreviation means what it means to GNU tar 1.34. */
static const struct sc_opt tar_opts[] = {
	SC_MARK('t', "list"),
	SC_PATH('f', "file"),
	SC_FLAG('v', "verbose"),
	SC_FLAG('z', "gzip"),
	SC_FLAG(0, "gunzip"),
	SC_FLAG(0, "ungzip"),
	SC_FLAG('j', "bzip2"),
	SC_FLAG('J', "xz"),
	SC_FLAG('Z', "compress"),
	SC_FLAG(0, "uncompress"),
	SC_FLAG(0, "lzip"),
	SC_FLAG(0, "lzma"),
	SC_FLAG(0, "lzop"),
	SC_FLAG(0, "zstd"),
	SC_FLAG('a', "auto-compress"),
	SC_FLAG(0, "no-auto-compress"),
	SC_VALUE('C', "directory"),
	SC_VALUE(0, "exclude"),
	SC_FLAG(0, "exclude-backups"),
	SC_FLAG(0, "exclude-vcs"),
	SC_FLAG(0, "anchored"),
	SC_FLAG(0, "no-anchored"),
	SC_FLAG(0, "ignore-case"),
	SC_FLAG(0, "no-ignore-case"),
	SC_FLAG(0, "wildcards"),
	SC_FLAG(0, "no-wildcards"),
	SC_FLAG(0, "wildcards-match-slash"),
	SC_FLAG(0, "no-wildcards-match-slash"),
	SC_FLAG(0, "recursion"),
	SC_FLAG(0, "no-recursion"),
	SC_MAYBE(0, "occurrence"),
	SC_VALUE('K', "starting-file"),
	SC_VALUE(0, "strip-components"),
	SC_FLAG(0, "show-transformed-names"),
	SC_FLAG(0, "show-stored-names"),
	SC_FLAG(0, "show-omitted-dirs"),
	SC_FLAG(0, "numeric-owner"),
	SC_FLAG(0, "full-time"),
	SC_FLAG(0, "utc"),
	SC_VALUE(0, "quoting-style"),
	SC_VALUE(0, "quote-chars"),
	SC_VALUE(0, "no-quote-chars"),
	SC_FLAG('R', "block-number"),
	SC_MAYBE(0, "totals"),
	SC_VALUE(0, "warning"),
	SC_FLAG('i', "ignore-zeros"),
	SC_FLAG('B', "read-full-records"),
	SC_VALUE('b', "blocking-factor"),
	SC_VALUE(0, "record-size"),
	SC_FLAG('P', "absolute-names"),
	SC_FLAG('n', "seek"),
	SC_FLAG(0, "no-seek"),
	SC_FLAG(0, "restrict"),
	SC_FLAG(0, "force-local"),
	SC_VALUE('H', "format"),
	SC_FLAG(0, "acls"),
	SC_FLAG(0, "no-acls"),
	SC_FLAG(0, "selinux"),
	SC_FLAG(0, "no-selinux"),
	SC_FLAG(0, "xattrs"),
	SC_FLAG(0, "no-xattrs"),
	SC_FLAG('s', "preserve-order"),
	SC_FLAG(0, "same-order"),
	SC_FLAG(0, "null"),
	SC_FLAG(0, "no-null"),
	SC_FLAG(0, "unquote"),
	SC_FLAG(0, "no-unquote"),
	SC_MARK(0, "show-defaults"),
	SC_MARK(0, "usage"),
	SC_MARK(0, "help"),
	SC_MARK(0, "version"),
	SC_REFUSE('A', "catenate", SC_WRITES),
	SC_REFUSE(0, "concatenate", SC_WRITES),
	SC_REFUSE('c', "create", SC_WRITES),
	SC_REFUSE(0, "delete", SC_WRITES),
	SC_REFUSE('d', "diff", "only listing is allowed"),
	SC_REFUSE(0, "compare", "only listing is allowed"),
	SC_REFUSE('r', "append", SC_WRITES),
	SC_REFUSE(0, "test-label", "only listing is allowed"),
	SC_REFUSE('u', "update", SC_WRITES),
	SC_REFUSE('x', "extract", "it writes files"),
	SC_REFUSE(0, "get", "it writes files"),
	SC_REFUSE(0, "check-device", CREATES),
	SC_REFUSE(0, "no-check-device", CREATES),
	SC_REFUSE('g', "listed-incremental", SC_WRITES),
	SC_REFUSE('G', "incremental", CREATES),
	SC_REFUSE(0, "hole-detection", CREATES),
	SC_REFUSE(0, "ignore-failed-read", CREATES),
	SC_REFUSE(0, "level", CREATES),
	SC_REFUSE(0, "sparse-version", CREATES),
	SC_REFUSE('S', "sparse", CREATES),
	SC_REFUSE(0, "add-file", CREATES),
	SC_REFUSE(0, "exclude-caches", CREATES),
	SC_REFUSE(0, "exclude-caches-all", CREATES),
	SC_REFUSE(0, "exclude-caches-under", CREATES),
	SC_REFUSE(0, "exclude-ignore", SC_READS),
	SC_REFUSE(0, "exclude-ignore-recursive", SC_READS),
	SC_REFUSE(0, "exclude-tag", CREATES),
	SC_REFUSE(0, "exclude-tag-all", CREATES),
	SC_REFUSE(0, "exclude-tag-under", CREATES),
	SC_REFUSE(0, "exclude-vcs-ignores", SC_READS),
	SC_REFUSE(0, "verbatim-files-from", SC_READS),
	SC_REFUSE(0, "no-verbatim-files-from", SC_READS),
	SC_REFUSE('T', "files-from", "it takes names and options from a file"),
	SC_REFUSE('X', "exclude-from", SC_READS),
	SC_REFUSE(0, "keep-directory-symlink", EXTRACTS),
	SC_REFUSE(0, "keep-newer-files", EXTRACTS),
	SC_REFUSE('k', "keep-old-files", EXTRACTS),
	SC_REFUSE(0, "no-overwrite-dir", EXTRACTS),
	SC_REFUSE(0, "one-top-level", EXTRACTS),
	SC_REFUSE(0, "overwrite", EXTRACTS),
	SC_REFUSE(0, "overwrite-dir", EXTRACTS),
	SC_REFUSE(0, "recursive-unlink", "it deletes files"),
	SC_REFUSE(0, "remove-files", "it deletes files"),
	SC_REFUSE(0, "skip-old-files", EXTRACTS),
	SC_REFUSE('U', "unlink-first", "it deletes files"),
	SC_REFUSE('W', "verify", CREATES),
	SC_REFUSE(0, "ignore-command-error", EXTRACTS),
	SC_REFUSE(0, "no-ignore-command-error", EXTRACTS),
	SC_REFUSE('O', "to-stdout", EXTRACTS),
	SC_REFUSE(0, "to-command", SC_RUNS),
	SC_REFUSE(0, "atime-preserve", "it sets the times of files"),
	SC_REFUSE(0, "clamp-mtime", CREATES),
	SC_REFUSE(0, "delay-directory-restore", EXTRACTS),
	SC_REFUSE(0, "no-delay-directory-restore", EXTRACTS),
	SC_REFUSE(0, "group", CREATES),
	SC_REFUSE(0, "group-map", SC_READS),
	SC_REFUSE(0, "mode", CREATES),
	SC_REFUSE(0, "mtime", CREATES),
	SC_REFUSE('m', "touch", EXTRACTS),
	SC_REFUSE(0, "no-same-owner", EXTRACTS),
	SC_REFUSE(0, "no-same-permissions", EXTRACTS),
	SC_REFUSE(0, "owner", CREATES),
	SC_REFUSE(0, "owner-map", SC_READS),
	SC_REFUSE('p', "preserve-permissions", EXTRACTS),
	SC_REFUSE(0, "same-permissions", EXTRACTS),
	SC_REFUSE(0, "same-owner", EXTRACTS),
	SC_REFUSE(0, "sort", CREATES),
	SC_REFUSE(0, "xattrs-exclude", EXTRACTS),
	SC_REFUSE(0, "xattrs-include", EXTRACTS),
	SC_REFUSE('F', "info-script", SC_RUNS),
	SC_REFUSE(0, "new-volume-script", SC_RUNS),
	SC_REFUSE('L', "tape-length", "it is for tapes"),
	SC_REFUSE('M', "multi-volume", "it asks for the next tape"),
	SC_REFUSE(0, "rmt-command", SC_RUNS),
	SC_REFUSE(0, "rsh-command", SC_RUNS),
	SC_REFUSE(0, "volno-file", SC_WRITES),
	SC_REFUSE(0, "old-archive", CREATES),
	SC_REFUSE(0, "portability", CREATES),
	SC_REFUSE(0, "pax-option", CREATES),
	SC_REFUSE(0, "posix", CREATES),
	SC_REFUSE('V', "label", CREATES),
	SC_REFUSE('I', "use-compress-program", SC_RUNS),
	SC_REFUSE(0, "backup", CREATES),
	SC_REFUSE(0, "hard-dereference", CREATES),
	SC_REFUSE('h', "dereference", CREATES),
	SC_REFUSE(0, "newer-mtime", CREATES),
	SC_REFUSE('N', "newer", CREATES),
	SC_REFUSE(0, "after-date", CREATES),
	SC_REFUSE(0, "one-file-system", CREATES),
	SC_REFUSE(0, "suffix", CREATES),
	SC_REFUSE(0, "transform", EXTRACTS),
	SC_REFUSE(0, "xform", EXTRACTS),
	SC_REFUSE(0, "checkpoint", "its action may run a program"),
	SC_REFUSE(0, "checkpoint-action", SC_RUNS),
	SC_REFUSE(0, "index-file", SC_WRITES),
	SC_REFUSE('l', "check-links", CREATES),
	SC_REFUSE(0, "show-snapshot-field-ranges", CREATES),
	SC_REFUSE('w', "interactive", "it asks questions"),
	SC_REFUSE(0, "confirmation", "it asks questions"),
	SC_REFUSE('o', NULL, CREATES),
};

/* host:file is remote to tar unless a slash comes first. */
static int tar_archive(
	struct sc_judge *judge, const struct sc_opt *opt, struct sc_value value)
{
	const char *slash = memchr(value.text, '/', value.lead);
	const char *colon = memchr(value.text, ':', value.lead);
	bool home = value.lead == 0 && value.len > 0 && value.text[0] == '~';

	(void)opt;
	if (colon && (!slash || colon < slash))
		return sc_judge_refuse_option(judge, "f", 1,
			"'host:archive' reaches for another host; put ./ in front of a "
			"file");
	if (!value.known && !slash && !home)
		return sc_judge_refuse_option(judge, "f", 1,
			"an archive from a variable needs ./ in front, it could name a "
			"host");
	return 0;
}

/* tar tvf a.tar: letters without a dash, whose values are the next words in order. */
static int tar_old_style(struct sc_judge *judge, uint32_t *next)
{
	sc_policy_word *word = &judge->words[1];
	const char *text = sc_policy_text(judge->plan, word);
	uint32_t used = 0;
	int rc;

	for (uint32_t i = 0; i < word->len; i++) {
		rc = sc_judge_letter(judge, text + i, *next, &used);
		if (rc < 0)
			return rc;
		*next += used;
	}
	sc_judge_take(judge, word, SC_ROLE_OPTION);
	return 0;
}

static int judge_tar(struct sc_judge *judge)
{
	uint32_t next = 1;
	int rc = 0;

	if (judge->count > 1 && !sc_judge_is_option(judge, &judge->words[1])) {
		if (!sc_policy_fixed(&judge->words[1]) || judge->words[1].glob)
			return sc_judge_refuse_word(judge, &judge->words[1], "Word",
				"the first one must be options");
		next = 2;
		rc = tar_old_style(judge, &next);
	}
	if (rc >= 0)
		rc = sc_judge_options(judge, next);
	if (rc >= 0 && !judge->seen)
		return sc_refuse(judge->why,
			"Command 'tar' is not allowed without -t: only listing is.");
	return rc;
}

const struct sc_spec sc_spec_tar = {
	.name = "tar",
	SC_OPTS(tar_opts),
	.value = tar_archive,
	.judge = judge_tar,
};

/* ---- unzip ---- */

#define UNZIP_MODES   "lvtz"
#define UNZIP_LETTERS UNZIP_MODES "qC"
#define ZIPINFO	      "12smlvhtzTCU"

static int unzip_option(struct sc_judge *judge, sc_policy_word *word, bool zipinfo)
{
	const char *text = sc_policy_text(judge->plan, word);
	const char *known = zipinfo ? ZIPINFO : UNZIP_LETTERS;
	int rc = sc_judge_spelled_out(judge, word);

	if (rc < 0)
		return rc;
	for (uint32_t i = 1; i < word->len; i++) {
		if (zipinfo && i == 1 && text[i] == 'Z')
			continue;
		if (!strchr(known, text[i]))
			return sc_judge_refuse_option(judge, text + i, 1,
				"only listing (-l -v -z -Z) and testing (-t) are allowed");
		judge->seen = judge->seen || zipinfo || strchr(UNZIP_MODES, text[i]);
	}
	judge->seen = judge->seen || zipinfo;
	return 0;
}

/* Options, the archive, members; -x and more members.  -Z is the first word or none. */
static int judge_unzip(struct sc_judge *judge)
{
	uint32_t i = 1;
	bool zipinfo = judge->count > 1 && sc_judge_is_option(judge, &judge->words[1]) &&
		       sc_policy_text(judge->plan, &judge->words[1])[1] == 'Z';
	int rc = 0;

	for (; i < judge->count && sc_judge_is_option(judge, &judge->words[i]); i++) {
		rc = unzip_option(judge, &judge->words[i], zipinfo);
		if (rc < 0)
			return rc;
	}
	if (!judge->seen)
		return sc_refuse(judge->why,
			"Command 'unzip' is not allowed without -l, -v, "
			"-z, -Z or -t: it writes files.");
	if (i < judge->count)
		sc_judge_take(judge, &judge->words[i++], SC_ROLE_PATH);
	for (; i < judge->count; i++) {
		sc_policy_word *word = &judge->words[i];
		bool exclude = sc_judge_is(judge, word, "-x");
		if (sc_judge_is_option(judge, word) && !exclude)
			return sc_judge_refuse_word(
				judge, word, "Option", "options stand before the archive");
		sc_judge_take(judge, word, exclude ? SC_ROLE_OPTION : SC_ROLE_TEXT);
	}
	return 0;
}

const struct sc_spec sc_spec_unzip = {.name = "unzip", .judge = judge_unzip};

/* ---- zip ---- */

static bool is_one_of(
	const struct sc_judge *judge, const sc_policy_word *word, const char *const *list)
{
	for (; *list; list++) {
		if (sc_judge_is(judge, word, *list))
			return true;
	}
	return false;
}

/* zip -sf ARCHIVE; its -T would paste the archive's name into a shell command. */
static int judge_zip(struct sc_judge *judge)
{
	static const char *const about[] = {
		"-h", "-h2", "-v", "-L", "--help", "--version", NULL};
	static const char *const show[] = {"-sf", "--show-files", NULL};
	sc_policy_word *words = judge->words;

	if (judge->count == 2 && is_one_of(judge, &words[1], about)) {
		sc_judge_take(judge, &words[1], SC_ROLE_OPTION);
		return 0;
	}
	if (judge->count != 3 || !is_one_of(judge, &words[1], show))
		return sc_refuse(judge->why,
			"Command 'zip' is not allowed but as 'zip -sf "
			"ARCHIVE': it writes files and runs programs.");
	if (words[2].lead > 0 && strchr("-@", *sc_policy_text(judge->plan, &words[2])))
		return sc_judge_refuse_word(
			judge, &words[2], "Operand", "it names no archive");
	sc_judge_take(judge, &words[1], SC_ROLE_OPTION);
	sc_judge_take(judge, &words[2], SC_ROLE_PATH);
	return 0;
}

const struct sc_spec sc_spec_zip = {.name = "zip", .judge = judge_zip};
