"""One call of the file system that fails: fail_io.c, preloaded."""
import os


def environment(library, log, fault):
    """Under which a program fails: `fault` is "rename:6:28", its sixth rename with
    errno 28.  The log is a file once it has.  AddressSanitizer lets a library go before
    its own."""
    return os.environ | {"LD_PRELOAD": str(library), "FAIL_LOG": str(log),
                         "FAIL_CALL": fault, "ASAN_OPTIONS": "verify_asan_link_order=0"}
