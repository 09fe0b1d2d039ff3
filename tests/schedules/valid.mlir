// Two matrices, a and b, each in two shards on tp = 2; rank 0 owns a, rank 1
// owns b: param <- param - lr * grad / |grad|.
// A schedule by hand that holds: one gather, one update, one scatter.
module {
  "canzona.program"() {compiler = "by hand", name = "tiny", source_hash = "0000000000000000000000000000000000000000000000000000000000000000", strict = 0 : i64} : () -> ()
  "canzona.mesh"() {axes = ["dp", "tp"], sizes = array<i64: 1, 2>, names = ["dp", "tp"], sets = array<i64: 1, 2>} : () -> ()
  "canzona.policy"() {tolerance = 0.0 : f64, wire = 0.5 : f64, bucket_elements = 400000000 : i64, clip = 0.000000e+00 : f64, group_bytes = 0 : i64, master_dtype = "f32", skip = 0 : i64, tp_strategy = "auto", geometry = "uneven", layout = "engine", form = "auto", tp_group = 0 : i64, memory_bytes = 0 : i64} : () -> ()
  "canzona.reduction"() {dtype = "f32", sym_name = "r", reduce_axes = array<i64: 0>, split_axes = array<i64: 0>, leaves = 1 : i64, terms = 1 : i64} : () -> ()
  "canzona.use"() {defaults = array<f64: 1.000000e-01>, has_default = array<i64: 1>, hypers = ["lr"], optimizer = "unit", sym_name = "unit"} : () -> ()
  func.func @unit.4x4.update(%arg0: tensor<4x4xf32>, %arg1: tensor<4x4xf32>, %arg2: f32) -> tensor<4x4xf32> {
    %splat = tensor.splat %arg2 : tensor<4x4xf32>
    %0 = arith.mulf %splat, %arg0 : tensor<4x4xf32>
    %1 = arith.extf %arg0 : tensor<4x4xf32> to tensor<4x4xf64>
    %2 = arith.mulf %1, %1 : tensor<4x4xf64>
    %3 = "canzona.reduce"(%2) {dims = array<i64: 0, 1>, kind = "sum"} : (tensor<4x4xf64>) -> tensor<f64>
    %4 = math.sqrt %3 : tensor<f64>
    %5 = arith.truncf %4 : tensor<f64> to tensor<f32>
    %6 = "canzona.broadcast"(%5) {dims = array<i64: 0, 1>} : (tensor<f32>) -> tensor<4x4xf32>
    %7 = arith.divf %0, %6 : tensor<4x4xf32>
    %8 = arith.subf %arg1, %7 : tensor<4x4xf32>
    return %8 : tensor<4x4xf32>
  }
  func.func @unit.4x4.prologue(%arg0: f64, %arg1: f64, %arg2: f64) -> f32 {
    %0 = arith.truncf %arg2 : f64 to f32
    return %0 : f32
  }
  "canzona.rule"() {prologue = @unit.4x4.prologue, shape = array<i64: 4, 4>, state_dtypes = [], state_diagonal = array<i64>, state_symmetric = array<i64>, state_extern = array<i64>, state_init = array<f64>, state_shapes = array<i64>, states = [], sym_name = "unit.4x4", transposed = 0 : i64, update = @unit.4x4.update, use = @unit} : () -> ()
  "canzona.family"() {dtype = "f32", extents = array<i64>, first = array<i64>, pattern = "a", rule = @unit.4x4, shape = array<i64: 4, 4>, shard = array<i64: 2, 0>, sym_name = "param.0", reduction = @r, spread = 0 : i64, spread_index = 0 : i64, home_axes = 0 : i64, home = array<i64>} : () -> ()
  "canzona.family"() {dtype = "f32", extents = array<i64>, first = array<i64>, pattern = "b", rule = @unit.4x4, shape = array<i64: 4, 4>, shard = array<i64: 2, 0>, sym_name = "param.1", reduction = @r, spread = 0 : i64, spread_index = 0 : i64, home_axes = 0 : i64, home = array<i64>} : () -> ()
  "canzona.stage"() {body = @unit.4x4.before.kernel, flops = 0 : i64, in_dtypes = ["f32"], ins = ["grad"], out_dtypes = ["f32"], outs = ["gather:0"], rule = @unit.4x4, scalars = array<i64>, sym_name = "unit.4x4.before", where = "before", work_bytes = 0 : i64} : () -> ()
  "canzona.stage"() {body = @unit.4x4.whole.kernel, flops = 50 : i64, in_dtypes = ["f32"], ins = ["gather:0"], out_dtypes = ["f32"], outs = ["scatter:0"], rule = @unit.4x4, scalars = array<i64>, sym_name = "unit.4x4.whole", where = "whole", work_bytes = 128 : i64} : () -> ()
  "canzona.stage"() {body = @unit.4x4.after.kernel, flops = 3 : i64, in_dtypes = ["f32", "f32", "f32"], ins = ["grad", "param", "scatter:0"], out_dtypes = ["f32"], outs = ["param"], rule = @unit.4x4, scalars = array<i64: 0>, sym_name = "unit.4x4.after", where = "after", work_bytes = 0 : i64} : () -> ()
  func.func private @unit.4x4.before.map0(%arg0: f32) -> f32 {
    return %arg0 : f32
  }
  func.func @unit.4x4.before.kernel(%arg0: tensor<1xf32>) -> tensor<1xf32> {
    %0 = "kernel.map"(%arg0) {access = array<i64: 0>, body = @unit.4x4.before.map0, offsets = array<i64: -1>, out_access = array<i64: 0>, space = array<i64: 1, 1>} : (tensor<1xf32>) -> tensor<1xf32>
    return %0 : tensor<1xf32>
  }
  func.func private @unit.4x4.whole.map0(%arg0: f32) -> f64 {
    %0 = arith.extf %arg0 : f32 to f64
    %1 = arith.mulf %0, %0 : f64
    return %1 : f64
  }
  func.func private @unit.4x4.whole.map1(%arg0: f64) -> f32 {
    %0 = math.sqrt %arg0 : f64
    %1 = arith.truncf %0 : f64 to f32
    return %1 : f32
  }
  func.func @unit.4x4.whole.kernel(%arg0: tensor<4x4xf32>) -> tensor<4x4xf32> {
    %0 = "kernel.map"(%arg0) {access = array<i64: 0>, body = @unit.4x4.whole.map0, offsets = array<i64: 0>, out_access = array<i64: 6>, space = array<i64: 4, 4>} : (tensor<4x4xf32>) -> tensor<f64>
    %1 = "kernel.map"(%0) {access = array<i64: 0>, body = @unit.4x4.whole.map1, offsets = array<i64: 64>, out_access = array<i64: 0>, space = array<i64: 1, 1>} : (tensor<f64>) -> tensor<f32>
    %2 = "kernel.map"(%1) {access = array<i64: 3>, body = @unit.4x4.before.map0, offsets = array<i64: -1>, out_access = array<i64: 0>, space = array<i64: 4, 4>} : (tensor<f32>) -> tensor<4x4xf32>
    return %2 : tensor<4x4xf32>
  }
  func.func private @unit.4x4.after.map0(%arg0: f32, %arg1: f32, %arg2: f32, %arg3: f32) -> f32 {
    %0 = arith.mulf %arg0, %arg1 : f32
    %1 = arith.divf %0, %arg2 : f32
    %2 = arith.subf %arg3, %1 : f32
    return %2 : f32
  }
  func.func @unit.4x4.after.kernel(%arg0: tensor<1xf32>, %arg1: tensor<1xf32>, %arg2: tensor<1xf32>, %arg3: f32) -> tensor<1xf32> {
    %0 = "kernel.map"(%arg3, %arg0, %arg2, %arg1) {access = array<i64: 4, 0, 0, 0>, body = @unit.4x4.after.map0, offsets = array<i64: -1>, out_access = array<i64: 0>, space = array<i64: 1, 1>} : (f32, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>) -> tensor<1xf32>
    return %0 : tensor<1xf32>
  }
  "canzona.assign"() {family = @param.0, shard_owner = array<i64: 0>, split_owner = array<i64: 0>, group = array<i64: 1>, stride = array<i64: 1>} : () -> ()
  "canzona.assign"() {family = @param.1, shard_owner = array<i64: 1>, split_owner = array<i64: 0>, group = array<i64: 1>, stride = array<i64: 1>} : () -> ()
  "canzona.bucket"() {dtype = "f32", length = 32 : i64, offsets = array<i64: 0, 16>, params = array<i64: 1, 0>, slices = array<i64: 0, 32>, sym_name = "bucket0", geometry = "uneven", reduction = @r} : () -> ()
  // Scratch: shards of b and a gathered from 0 and 64, the owner's whole
  // matrix gathered to 128, its result at 192, workspace 256, shards of b and
  // a scattered to 384 and 448.  Nothing shares bytes.
  "canzona.arena"() {selector = array<i64>, bytes = array<i64: 512>} : () -> ()
  "canzona.table"() {sym_name = "before", row = "kernel", selector = array<i64: 0>, starts = array<i64: 0, 2>, rows = array<i64: 0, 1, 0, 8, 0, -1, -1, -1, 0, 0, 16, 8, 64, -1, -1, -1>} : () -> ()
  "canzona.table"() {sym_name = "gather", row = "transfer", selector = array<i64: 0, 1>, starts = array<i64: 0, 4, 8>, rows = array<i64: 1, 0, 1, 0, 1, 32, 32, 1, 0, 0, 0, 64, 1, 32, 32, 1, 0, 1, 0, 128, 1, 32, 32, 1, 0, 1, 1, 160, 1, 32, 32, 1, 0, 0, 0, 64, 1, 32, 32, 1, 1, 0, 1, 0, 1, 32, 32, 1, 1, 1, 0, 128, 1, 32, 32, 1, 1, 1, 1, 160, 1, 32, 32, 1>} : () -> ()
  "canzona.table"() {sym_name = "whole", row = "kernel", selector = array<i64: 0, 1>, starts = array<i64: 0, 1, 2>, rows = array<i64: 1, 0, 0, 16, 128, 192, -1, 256, 1, 1, 0, 16, 128, 192, -1, 256>} : () -> ()
  "canzona.table"() {sym_name = "scatter", row = "transfer", selector = array<i64: 0, 1>, starts = array<i64: 0, 4, 8>, rows = array<i64: 0, 0, 0, 192, 1, 32, 32, 1, 0, 0, 1, 224, 1, 32, 32, 1, 0, 1, 0, 448, 1, 32, 32, 1, 1, 1, 1, 384, 1, 32, 32, 1, 1, 0, 0, 192, 1, 32, 32, 1, 1, 0, 1, 224, 1, 32, 32, 1, 1, 1, 1, 384, 1, 32, 32, 1, 0, 1, 0, 448, 1, 32, 32, 1>} : () -> ()
  "canzona.table"() {sym_name = "after", row = "kernel", selector = array<i64: 0>, starts = array<i64: 0, 2>, rows = array<i64: 2, 1, 0, 8, -1, 384, -1, -1, 2, 0, 16, 8, -1, 448, -1, -1>} : () -> ()
  "canzona.op"() {kind = "reduce_scatter", stream = 1 : i64, section = "reduce", comm = array<i64: 0>, bucket = 0 : i64, table = "", waits = array<i64>, group = 0 : i64, stride = 0 : i64} : () -> ()
  "canzona.op"() {kind = "prologue", stream = 0 : i64, section = "update", comm = array<i64>, bucket = -1 : i64, table = "", waits = array<i64>, group = 0 : i64, stride = 0 : i64} : () -> ()
  "canzona.op"() {kind = "kernel", stream = 0 : i64, section = "update", comm = array<i64>, bucket = -1 : i64, table = @before, waits = array<i64: 0>, group = 0 : i64, stride = 0 : i64} : () -> ()
  "canzona.op"() {kind = "transfer", stream = 2 : i64, section = "update", comm = array<i64: 1>, bucket = -1 : i64, table = @gather, waits = array<i64: 2>, group = 0 : i64, stride = 0 : i64} : () -> ()
  "canzona.op"() {kind = "kernel", stream = 0 : i64, section = "update", comm = array<i64>, bucket = -1 : i64, table = @whole, waits = array<i64: 3>, group = 0 : i64, stride = 0 : i64} : () -> ()
  "canzona.op"() {kind = "transfer", stream = 2 : i64, section = "update", comm = array<i64: 1>, bucket = -1 : i64, table = @scatter, waits = array<i64: 4>, group = 0 : i64, stride = 0 : i64} : () -> ()
  "canzona.op"() {kind = "kernel", stream = 0 : i64, section = "update", comm = array<i64>, bucket = -1 : i64, table = @after, waits = array<i64: 5>, group = 0 : i64, stride = 0 : i64} : () -> ()
}
