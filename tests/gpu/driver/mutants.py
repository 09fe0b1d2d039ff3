#!/usr/bin/python3
"""Plants bugs in what drives CUDA, one at a time, and runs its tests on the
driver's double: each must be noticed, and the sources as they are must pass.

mutants.py CC SOURCE_FOLDER [--few]"""
import os
import subprocess
import sys
import tempfile

import plant

RUNTIME = ("base/status.c", "base/memory.c", "program/program.c", "program/residents.c", "device/host.c",
           "device/late.c", "engine/identity.c", "base/box.c", "base/band.c", "math/norm.c", "world/sum.c",
           "math/product_finish.c")
DRIVEN = ("driver/driver.c", "driver/context.c", "driver/module.c", "driver/graph.c", "exec/queue.c",
          "collect/box.c", "exec/device.c", "library/dynamic.c", "library/nvrtc.c", "collect/pack.c")
HELPERS = ("deferred.c", "host_collect.c", "host_judge.c")
TESTS = ("driver", "context", "queue", "graph", "device", "box")
FLAGS = ("-ffunction-sections", "-Wl,--gc-sections", "-std=c17", "-O1", "-g", "-w", "-D_POSIX_C_SOURCE=200809L")

# name, test, file, what stands there, what the mutant has
MUTANTS = [
    ("old drivers are taken", "driver", "driver/driver.c",
     "driver->version >= CZR_DRIVER_VERSION", "driver->version"),
    ("missing functions are taken", "driver", "library/dynamic.c",
     "        if (!found)\n            return symbols[i].name;",
     "        if (!found)\n            continue;"),
    ("another driver's libraries are no missing device", "driver", "driver/driver.c",
     "{CZR_CUDA_SYSTEM_DRIVER_MISMATCH, CZR_ERR_NO_DEVICE},", ""),
    ("any device is taken", "driver", "driver/context.c",
     "ordinal < 0 || ordinal >= n", "false"),
    ("memory is not given back", "context", "driver/context.c",
     "context->driver->memory_free(address)", "0"),
    ("pinned memory is not given back", "context", "driver/context.c",
     "context->driver->pinned_free(memory)", "0"),
    ("the context is not given back", "context", "driver/context.c",
     "context->driver->primary_release(context->device);", ""),
    ("streams are not given back", "context", "driver/context.c",
     "context->driver->stream_destroy(stream)", "0"),
    ("later failures hide the first", "context", "driver/context.c",
     "    if (context->status != CZR_OK)\n        return status;", ""),
    ("streams do not wait", "context", "driver/context.c",
     "context->driver->stream_wait(stream, event, 0)", "0"),
    ("the caller does not wait", "context", "driver/context.c",
     "code != CZR_CUDA_NOT_READY || passed >= deadline_ms", "true"),
    ("shared memory is not asked for", "context", "driver/module.c",
     "bytes <= SHARED_UNASKED - fixed", "true"),
    ("a kernel's own shared memory is forgotten", "context", "driver/module.c",
     "bytes > context->shared_memory_bytes - fixed", "bytes > context->shared_memory_bytes"),
    ("kernels come to the device at their first launch", "graph", "driver/module.c",
     "return status == CZR_OK ? load(context, name, *kernel) : status;", "return status;"),
    ("machine code is not given back", "context", "driver/module.c",
     "module->context->driver->library_unload(module->library)", "0"),
    ("captured graphs are not given back", "context", "driver/graph.c",
     "driver->graph_destroy(graph)", "0"),
    ("graphs are not given back", "graph", "driver/graph.c",
     "graph->context->driver->graph_exec_destroy(graph->exec)", "0"),
    ("waits are dropped", "queue", "exec/queue.c",
     "czr_context_wait(queue->context, queue->streams[row->stream],\n"
     "                                  queue->events[first]);", "CZR_OK;"),
    ("operations that never came are waited for", "queue", "exec/queue.c",
     "!queue->has_come[first] || ", ""),
    ("one wait stands for all of a stream", "queue", "exec/queue.c",
     "+ source] >= first)", "+ source] >= 0)"),
    ("a later wait covers though its operation never came", "queue",
     "exec/queue.c", " &&\n            queue->has_come[row->waits[i]])", ")"),
    ("events are not recorded", "queue", "exec/queue.c",
     "    queue->has_come[op] = true;\n    return queue->events[op]\n",
     "    queue->has_come[op] = true;\n    return false\n"),
    ("an event behind each that is waited for", "queue", "exec/queue.c",
     "if (ops[ops[op].waits[i]].stream != ops[op].stream)", "if (true)"),
    ("waits of the last list count", "queue", "exec/queue.c",
     "        queue->waited[i] = NONE;", "        ;"),
    ("operations of the last list count", "queue", "exec/queue.c",
     "        memset(queue->has_come, 0,\n", "        memset(queue->has_come, 1,\n"),
    ("a join leaves a stream out", "queue", "exec/queue.c",
     "czr_context_wait(queue->context, stream, queue->arrivals[i]);", "CZR_OK;"),
    ("a fork leaves a stream out", "queue", "exec/queue.c",
     "czr_context_wait(queue->context, queue->streams[i], queue->start);",
     "CZR_OK;"),
    ("nothing orders a list behind a join", "queue", "exec/queue.c",
     "    queue->is_joined = true;", ""),
    ("waits are dropped, by the bits of a graph", "graph", "exec/queue.c",
     "czr_context_wait(queue->context, queue->streams[row->stream],\n"
     "                                  queue->events[first]);", "CZR_OK;"),
    ("waits for what came late are dropped, by the bits of a graph", "graph",
     "exec/queue.c", "+ source] >= first)", "+ source] >= 0)"),
    ("a join leaves a stream out of a graph", "graph", "exec/queue.c",
     "czr_context_wait(queue->context, stream, queue->arrivals[i]);", "CZR_OK;"),
    ("copies of an operation run elsewhere", "device", "exec/device.c",
     "czr_address_of(from), bytes,\n"
     "                                        stream_of(device)",
     "czr_address_of(from), bytes, device->outside"),
    ("the 64th box is not put", "box", "collect/box.c",
     "    if (boxes->n == CZR_PACK_MOVES)\n        czr_boxes_put(boxes);",
     "    if (boxes->n == CZR_PACK_MOVES)\n        boxes->n = 0;"),
    ("boxes are put twice", "box", "collect/box.c", "    boxes->n = 0;", ""),
    ("a launch that failed is forgotten", "box", "collect/box.c",
     "boxes->status == CZR_OK && boxes->n > 0", "boxes->n > 0"),
    ("a box in one piece at one end is copied", "box", "collect/box.c",
     "(is_flat(to) && is_flat(from))", "(is_flat(to) || is_flat(from))"),
    ("runs are read one behind the other", "box", "collect/box.c",
     "(uint64_t)from->stride_bytes}", "(uint64_t)from->row_bytes}"),
    ("few runs have a kernel", "box", "collect/box.c",
     "to->n_rows <= FEW_RUNS ||", ""),
    ("elements are wider than addresses allow", "box", "collect/pack.c",
     "row_bytes | from.address | to.address | strides",
     "row_bytes | from.address | strides"),
    ("memory is as it was", "device", "exec/device.c",
     "czr_context_fill(device->context, address, 0,",
     "czr_context_fill(device->context, address, 1,"),
    ("what is outside is not waited for", "device", "exec/device.c",
     "status == CZR_OK && !device->current", "false"),
    ("memory goes before what uses it is done", "device", "exec/device.c",
     "    czr_queue_drain(device->queue);\n", ""),
]
FEW = ("waits are dropped", "captured graphs are not given back",
       "memory goes before what uses it is done")


class Bench:
    """Compiles in a folder of its own."""

    def __init__(self, cc, source, folder):
        self.cc, self.source, self.folder = cc, source, folder
        self.fake = f"{folder}/libfake_cuda.so"
        self.flags = [*FLAGS, f"-I{source}", f"-I{source}/runtime"]
        self.run(*self.files("tests/gpu/double", self.fakes()), "-shared",
                 "-fPIC", "-Wl,-Bsymbolic", "-o", self.fake)
        self.objects = {name: self.compile(f"{source}/runtime/{name}", name)
                        for name in RUNTIME}
        self.objects.update(
            (name, self.compile(f"{source}/runtime/cuda/{name}", name))
            for name in DRIVEN)
        self.objects.update(
            (name, self.compile(plant.file_of_tests(source, name), name))
            for name in HELPERS)
        self.tests = {
            name: self.compile(plant.file_of_tests(source, f"{name}_test.c"),
                               f"{name}_test.c") for name in TESTS}

    def run(self, *words):
        subprocess.run([self.cc, *self.flags, *words], check=True)

    def files(self, folder, names):
        return [f"{self.source}/{folder}/{name}" for name in names]

    def fakes(self):
        names = os.listdir(f"{self.source}/tests/gpu/double")
        return sorted(name for name in names
                      if name.startswith("fake_") and name.endswith(".c"))

    def compile(self, path, name):
        out = f"{self.folder}/{name.replace('/', '_')}.o"
        self.run(f'-DFAKE_PATH="{self.fake}"', "-c", path, "-o", out)
        return out

    def status_of(self, test, objects):
        """Of one test linked with these, and its first complaint."""
        program = f"{self.folder}/{test}"
        self.run(self.tests[test], *objects.values(), self.fake,
                 f"-Wl,-rpath,{self.folder}", "-lcmocka", "-ldl", "-lm",
                 "-pthread", "-o", program)
        return plant.run([program], 90, ("FAILED", "ERROR"), cwd=self.folder)

    def is_noticed(self, mutant):
        name, test, file, old, new = mutant
        path = f"{self.folder}/mutant_{os.path.basename(file)}"
        plant.change_file(f"{self.source}/runtime/cuda/{file}", path, name, old, new)
        changed = self.compile(path, f"mutant_{os.path.basename(file)}")
        status, said = self.status_of(test, {**self.objects, file: changed})
        return status != 0, said


def main():
    plant.check_places(f"{plant.arguments()[1]}/runtime/cuda", MUTANTS)
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(*plant.arguments(), folder)
        for test in TESTS:
            status, said = bench.status_of(test, bench.objects)
            if status:
                sys.exit(f"{test}: the sources as they are fail: {said}")
        return not plant.all_noticed(MUTANTS, FEW, bench.is_noticed)


if __name__ == "__main__":
    sys.exit(main())
