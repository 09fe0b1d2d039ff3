"""Generated code without the comments that name values of the source, which printed
IR does not have; also in CUDA text that C has as strings, with punctuation in octal."""
import re

COMMENT = re.compile(rb'^    /\* "\w+", "[^"\n]*":\d+ \*/\n|'
                     rb'^    "    /\\052 \\042\w+\\042, \\042.*\\042:\d+ \\052/\\012",\n',
                     re.M)


def without_names(data):
    return COMMENT.sub(b"", data)
