"""What the public headers declare, and a program that says how the compiler lays it out."""
import json
import re
import subprocess
import tempfile
from pathlib import Path

TOP = Path(__file__).resolve().parents[2]
HEADERS = sorted((TOP / "include/sandcell").glob("*.h"))


def code_of(path):
    """A header without its comments and preprocessor lines."""
    text = re.sub(r"/\*.*?\*/", "", path.read_text(), flags=re.S)
    text = re.sub(r"\\\n", " ", text)
    return re.sub(r"^\s*#.*$", "", text, flags=re.M)


CODE = "\n".join(code_of(path) for path in HEADERS)


def functions():
    """Names of the functions marked as exported."""
    return set(re.findall(r"SANDCELL_API\b[^;(]*?\b(sandcell_\w+)\s*\(", CODE))


def declared():
    """Names of everything that is called sandcell_… before a bracket, marked or not."""
    return set(re.findall(r"\b(sandcell_\w+)\s*\([^*)]", CODE))


def structs():
    """Public structs: name to the names of the members, in order."""
    found = {}
    for name, body in re.findall(r"typedef struct (\w+) \{(.*?)\} \w+;", CODE, re.S):
        members = re.sub(r"\s+", " ", body).strip().rstrip(";").split(";")
        found[name] = [re.search(r"(\w+)\s*$", member)[1] for member in members]
    return found


def enums():
    """Public enums: name to the names of the values."""
    return {name: re.findall(r"\b(SANDCELL_\w+)\s*=", body)
            for name, body in re.findall(r"typedef enum (\w+) \{(.*?)\} \w+;", CODE, re.S)}


def layout_program():
    """C that prints sizes, offsets and values as JSON."""
    lines = ["#include <stdio.h>", "#include <sandcell/sandcell.h>",
             "int main(void)", "{", 'printf("{");']
    separator = ""
    for name, members in structs().items():
        lines.append(f'printf("{separator}\\"{name}\\":{{\\"size\\":%zu", sizeof({name}));')
        lines += [f'printf(",\\"{m}\\":[%zu,%zu]", offsetof({name}, {m}), '
                  f"sizeof((({name} *)0)->{m}));" for m in members]
        lines.append('printf("}");')
        separator = ","
    for name, values in enums().items():
        lines.append(f'printf(",\\"{name}\\":{{\\"size\\":%zu", sizeof({name}));')
        lines += [f'printf(",\\"{value}\\":%d", (int){value});' for value in values]
        lines.append('printf("}");')
    return "\n".join([*lines, 'printf("}\\n");', "return 0;", "}", ""])


def layout():
    """What that program prints here."""
    with tempfile.TemporaryDirectory() as folder:
        source, program = Path(folder, "layout.c"), Path(folder, "layout")
        source.write_text(layout_program())
        subprocess.run(["cc", "-std=c11", f"-I{TOP}/include", source, "-o", program], check=True)
        done = subprocess.run([program], stdout=subprocess.PIPE, check=True)
    return json.loads(done.stdout)


if __name__ == "__main__":
    text = json.dumps(layout(), indent=1)
    print(re.sub(r"\[\s+(\d+),\s+(\d+)\s+\]", r"[\1, \2]", text))
