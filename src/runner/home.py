"""The home directory of a session, which is an empty tmpfs at first (PROTOCOL.md, section 6).

It begins as a copy of /etc/skel, as the home of any new user does, so that an image can put
configuration and caches there: matplotlib's font cache, for one.
"""

import os

SKELETON = "/etc/skel"


def furnish(home, skeleton=SKELETON):
    """Copies the skeleton into a home that is still empty; a home without it is one, too."""
    try:
        if not os.listdir(home):
            _copy(skeleton, home)
    except OSError:
        pass


def _copy(source, target):
    # Not shutil: importing it costs more than all the rest here.
    with os.scandir(source) as entries:
        for entry in entries:
            path = os.path.join(target, entry.name)
            if entry.is_dir(follow_symlinks=False):
                os.mkdir(path)
                _copy(entry.path, path)
            elif entry.is_file(follow_symlinks=False):
                with open(entry.path, "rb") as old, open(path, "xb") as new:
                    new.write(old.read())
