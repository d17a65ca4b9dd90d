"""Words of a judged command, from parts to what the program gets.  The form is described in policy.h.

A shell would split and glob what a variable holds; here a variable's value is always part of one word.
What names files and starts with an expansion is kept a name: "./" goes in front of whatever its command
could take for an option, an assignment, an operator or a remote host.  Bytes, because names are bytes.
"""

import os

# ARG_MAX of Linux bounds a program's words anyway; this bounds the leader before it gets there.
MAX_BYTES = 1 << 21
CLASSES = {
    "alnum": str.isalnum, "alpha": str.isalpha, "blank": " \t".__contains__, "cntrl": lambda c: c < " " or c == "\x7f",
    "digit": "0123456789".__contains__, "graph": lambda c: c.isprintable() and c != " ", "lower": str.islower,
    "print": str.isprintable, "punct": lambda c: c.isprintable() and not c.isalnum() and c != " ",
    "space": " \t\n\v\f\r".__contains__, "upper": str.isupper, "xdigit": "0123456789abcdefABCDEF".__contains__,
}
# What a word may start with and still be a name to every command (find, sort, tail, binutils, awk, tar).
SAFE_START = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_./") | frozenset(range(128, 256))


class ExpandError(Exception):
    """This word can't be had; the text says why."""


def words(argv, variables):
    """All words of one command as bytes; argv as in the form, variables {str: str}."""
    found = []
    size = 0
    for word in argv:
        if type(word) is str:
            new = [word.encode()]
        else:
            (role, parts), = word.items()
            new = _expand(role, parts, variables)
        size += sum(map(len, new)) + 8 * len(new)
        if size > MAX_BYTES:
            raise ExpandError("the command's words are longer than %d bytes" % MAX_BYTES)
        found += new
    return found


def _expand(role, parts, variables):
    chars = []  # (character, whether it is pattern)
    for kind, text in parts:
        if kind == "var":
            text = variables.get(text, "")
        elif kind == "home":
            text = variables.get("HOME", "")
            if not text.startswith("/"):
                raise ExpandError("HOME is no absolute path: '%s'" % text[:80])
        chars += [(c, kind == "glob") for c in text]
    plain = _bytes("".join(c for c, _active in chars))
    led = next((kind in ("var", "glob") for kind, text in parts if text or kind != "lit"), False)
    if role == "text":
        if led and plain.startswith(b"-"):
            raise ExpandError("a variable holds '%s', which would be an option" % _shown(plain))
        return [plain]
    pattern = any(active for _c, active in chars)
    found = glob(chars) if pattern else []
    if role == "path" and len(found) > 1:
        raise ExpandError("'%s' names %d files where one is wanted" % (_shown(plain), len(found)))
    if not found:
        # As it was written, and judged so, unless a variable wrote it.
        found = [plain]
        led = led and any(kind == "var" for kind, _text in parts)
    if led and (pattern or role != "arg"):
        found = [as_name(name, role == "arg") for name in found]
    return found


def as_name(name, printed=False):
    """The same file, in a spelling that is nothing but a name."""
    if printed:
        return b"./" + name if name.startswith(b"-") else name
    head = name.partition(b"/")[0]
    if name and (name[0] not in SAFE_START or b"=" in head or b":" in head):
        return b"./" + name
    return name


def _bytes(text):
    return text.encode("utf-8", "surrogateescape")


def _shown(raw):
    return raw[:80].decode("utf-8", "replace")


def _text(raw):
    return raw.decode("utf-8", "surrogateescape")


# ---- globs, as POSIX has them


def glob(chars):
    """Names that match, sorted by bytes; [] for none.  A leading dot must be matched by a dot."""
    found = [""]
    components = _split(chars)
    for index, component in enumerate(components):
        last = index == len(components) - 1
        if any(active and c in "*?[" for c, active in component):
            found = _scan(found, _compile(component), last)
        else:
            found = [base + "".join(c for c, _active in component) for base in found]
        if not last:
            found = [name + "/" for name in found]
    return sorted(name for name in map(_bytes, found) if os.path.lexists(name))


def _split(chars):
    components = [[]]
    for char in chars:
        if char[0] == "/":
            components.append([])
        else:
            components[-1].append(char)
    return components


def _scan(bases, tokens, last):
    found = []
    size = 0
    hidden = tokens[0] == "."
    for base in bases:
        try:
            entries = list(os.scandir(_bytes(base) or b"."))
        except OSError:
            continue
        for entry in entries:
            name = _text(entry.name)
            if (name[0] == "." and not hidden) or not _matches(tokens, name):
                continue
            if last or _is_dir(entry):
                found.append(base + name)
                size += len(base) + len(name)
                if size > MAX_BYTES:
                    raise ExpandError("the pattern matches more than %d bytes of names" % MAX_BYTES)
    return found


def _is_dir(entry):
    try:
        return entry.is_dir()
    except OSError:
        return False


STAR, ANY = object(), object()


def _compile(component):
    """A list of STAR, ANY, single characters and predicates."""
    tokens = []
    at = 0
    while at < len(component):
        char, active = component[at]
        at += 1
        if active and char == "*":
            if not tokens or tokens[-1] is not STAR:
                tokens.append(STAR)
        elif active and char == "?":
            tokens.append(ANY)
        elif active and char == "[":
            token, end = _bracket(component, at)
            tokens.append(token or "[")
            at = end if token else at
        else:
            tokens.append(char)
    return tokens


def _bracket(component, at):
    """(predicate, index behind its "]"); (None, _) when no "]" follows and "[" is text."""
    negated = at < len(component) and component[at] in (("!", True), ("^", True))
    at += negated
    first = at
    tests = []
    while at < len(component):
        char, active = component[at]
        if active and char == "]" and at > first:
            return _any_of(tests, negated), at + 1
        name, end = _class(component, at)
        if name:
            tests.append(CLASSES.get(name, lambda c: False))
            at = end
        elif _is_range(component, at):
            tests.append(lambda c, low=char, high=component[at + 2][0]: low <= c <= high)
            at += 3
        else:
            tests.append(char.__eq__)
            at += 1
    return None, at


def _any_of(tests, negated):
    return lambda c: any(test(c) for test in tests) != negated


def _is_range(component, at):
    return at + 2 < len(component) and component[at + 1] == ("-", True) and component[at + 2] != ("]", True)


def _class(component, at):
    if component[at : at + 2] != [("[", True), (":", True)]:
        return None, at
    for end in range(at + 2, len(component) - 1):
        if component[end : end + 2] == [(":", True), ("]", True)]:
            return "".join(c for c, _active in component[at + 2 : end]), end + 2
    return None, at


def _matches(tokens, name):
    """Goes back to the last star only, so the time is at most tokens times characters."""
    token = at = 0
    star, mark = -1, 0
    while at < len(name):
        if token < len(tokens) and tokens[token] is STAR:
            star, mark = token, at
            token += 1
        elif token < len(tokens) and _fits(tokens[token], name[at]):
            token += 1
            at += 1
        elif star >= 0:
            mark += 1
            token, at = star + 1, mark
        else:
            return False
    return all(rest is STAR for rest in tokens[token:])


def _fits(token, char):
    if token is ANY:
        return True
    return token == char if type(token) is str else token(char)
