"""runtime/czr.h, czr_checkpoint.h and czr_transport.h for ctypes: what of them the package calls.

A test compares sizes and offsets with a C compiler's."""
import ctypes as ct
import pathlib

HOME = pathlib.Path(__file__).absolute().parent

OK, ERR_TIMEOUT, ERR_ENDED = 0, 15, 30
F64, F32, BF16 = 0, 1, 2
DIMS = ct.c_int64 * 8


class Error(RuntimeError):
    """What the compiler or the engine refuses; `status` is czr.h's name of it, or
    None of the compiler."""

    def __init__(self, text, status=None):
        super().__init__(text)
        self.status = status


class Tensor(ct.Structure):
    _fields_ = [("data", ct.c_void_p), ("dtype", ct.c_int), ("n_dims", ct.c_int),
                ("shape", ct.POINTER(ct.c_int64)), ("strides", ct.POINTER(ct.c_int64))]


class Options(ct.Structure):
    _fields_ = [("late_device", ct.c_int), ("fixed_order_product", ct.c_int),
                ("deadline_ms", ct.c_int64), ("threads", ct.c_int), ("undo", ct.c_int),
                ("replica_check", ct.c_int64), ("assume_finite", ct.c_int)]


class Hyper(ct.Structure):
    _fields_ = [("values", ct.POINTER(ct.c_double)), ("n", ct.c_size_t)]


class HyperDesc(ct.Structure):
    _fields_ = [("param_group", ct.c_char_p), ("name", ct.c_char_p),
                ("value", ct.c_double), ("has_default", ct.c_int)]


class Result(ct.Structure):
    _fields_ = [("grad_norm", ct.c_double), ("skipped", ct.c_int), ("step", ct.c_int64)]


class CheckpointTensor(ct.Structure):
    _fields_ = [("param", ct.c_int), ("name", ct.c_char * 512), ("state", ct.c_char_p),
                ("dtype", ct.c_int), ("n_dims", ct.c_int), ("shape", DIMS),
                ("symmetric", ct.c_int), ("n_boxes", ct.c_int64), ("is_main", ct.c_int)]


class CheckpointBox(ct.Structure):
    _fields_ = [("start", DIMS), ("shape", DIMS), ("strides", DIMS), ("data", ct.c_void_p)]


class Message(ct.Structure):
    _fields_ = [("peer", ct.c_int), ("send", ct.c_void_p), ("send_bytes", ct.c_size_t),
                ("receive", ct.c_void_p), ("receive_bytes", ct.c_size_t)]


EXCHANGE = ct.CFUNCTYPE(ct.c_int, ct.c_void_p, ct.c_int, ct.c_int, ct.POINTER(Message),
                        ct.c_int64, ct.c_void_p)
WORDS = ct.CFUNCTYPE(None, ct.c_void_p, ct.c_char_p)
CLOSE = ct.CFUNCTYPE(None, ct.c_void_p)
WHY_BYTES, CHANNELS = 256, 3


class Transport(ct.Structure):
    _fields_ = [("size", ct.c_size_t), ("user", ct.c_void_p), ("rank", ct.c_int),
                ("ranks", ct.c_int), ("exchange", EXCHANGE), ("abort", WORDS),
                ("close", CLOSE)]


PROTOTYPES = {
    "czr_status_name": (ct.c_char_p, [ct.c_int]),
    "czr_status_text": (ct.c_char_p, [ct.c_int]),
    "czr_world_open": (ct.c_int, [ct.POINTER(Transport), ct.POINTER(ct.c_void_p)]),
    "czr_world_close": (None, [ct.c_void_p]),
    "czr_open": (ct.c_int, [ct.c_void_p, ct.c_void_p, ct.POINTER(Options),
                            ct.POINTER(ct.c_void_p)]),
    "czr_param_count": (ct.c_int, [ct.c_void_p]),
    "czr_param_name": (ct.c_int, [ct.c_void_p, ct.c_int, ct.c_char_p, ct.c_size_t]),
    "czr_param_group": (ct.c_char_p, [ct.c_void_p, ct.c_int]),
    "czr_hyper_count": (ct.c_int, [ct.c_void_p]),
    "czr_hyper_get": (ct.c_int, [ct.c_void_p, ct.c_int, ct.POINTER(HyperDesc)]),
    "czr_bind": (ct.c_int, [ct.c_void_p, ct.c_char_p, ct.POINTER(Tensor),
                            ct.POINTER(Tensor)]),
    "czr_grad_bind": (ct.c_int, [ct.c_void_p, ct.c_char_p, ct.POINTER(Tensor)]),
    "czr_grads_move": (ct.c_int, [ct.c_void_p, ct.c_void_p, ct.c_int]),
    "czr_grad_ready": (ct.c_int, [ct.c_void_p, ct.c_int, ct.c_void_p]),
    "czr_grad_check": (ct.c_int, [ct.c_void_p, ct.c_int]),
    "czr_grad_absent": (ct.c_int, [ct.c_void_p, ct.c_int]),
    "czr_param_step_get": (ct.c_int, [ct.c_void_p, ct.c_int, ct.POINTER(ct.c_int64)]),
    "czr_param_step_set": (ct.c_int, [ct.c_void_p, ct.c_int, ct.c_int64]),
    "czr_seal": (ct.c_int, [ct.c_void_p]),
    "czr_step": (ct.c_int, [ct.c_void_p, ct.POINTER(Hyper), ct.c_void_p,
                            ct.POINTER(Result)]),
    "czr_checkpoint_count": (ct.c_int, [ct.c_void_p]),
    "czr_checkpoint_get": (ct.c_int, [ct.c_void_p, ct.c_int,
                                      ct.POINTER(CheckpointTensor)]),
    "czr_checkpoint_get_box": (ct.c_int, [ct.c_void_p, ct.c_int, ct.c_int64,
                                          ct.POINTER(CheckpointBox)]),
    "czr_masters_renew": (ct.c_int, [ct.c_void_p]),
    "czr_step_set": (ct.c_int, [ct.c_void_p, ct.c_int64]),
    "czr_error": (ct.c_char_p, [ct.c_void_p]),
    "czr_close": (None, [ct.c_void_p]),
}


def _load():
    # Programs that are loaded later find its functions.
    library = ct.CDLL(str(HOME / "lib" / "libczr.so"), mode=ct.RTLD_GLOBAL)
    for name, (result, arguments) in PROTOTYPES.items():
        getattr(library, name).restype = result
        getattr(library, name).argtypes = arguments
    return library


lib = _load()


def check(status, why=""):
    """Raises what a call has returned, with the engine's sentence."""
    if status != OK:
        name = lib.czr_status_name(status).decode()
        raise Error(f"{why or lib.czr_status_text(status).decode()} [{name}]", name)
