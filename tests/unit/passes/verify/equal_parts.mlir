module {
  "canzona.program"() {compiler = "0.1.0", format = 9 : i64, name = "t3", source_hash = "8cb1d3757d1564b9ee5e14f3716b134377131eb19448075e033e18b1d088bae0", strict = 0 : i64} : () -> ()
  "canzona.mesh"() {axes = ["dp"], names = ["dp"], sets = array<i64: 1>, sizes = array<i64: 2>} : () -> ()
  "canzona.policy"() {bucket_elements = 400000000 : i64, bucket_is_free = 0 : i64, joins_updates = 0 : i64, layout_is_free = 0 : i64, clip = 0.000000e+00 : f64, form = "auto", geometry = "equal", micro_group_bytes = 0 : i64, layout = "engine", master_dtype = "f32", memory_bytes = 0 : i64, skip = 0 : i64, tolerance = 0.000000e+00 : f64, tp_subgroup = 0 : i64, tp_strategy = "auto", wire = 5.000000e-01 : f64, wire_is_free = 0 : i64, tokens = 1048576 : i64, active = 1000000 : i64} : () -> ()
  "canzona.machine"() {constants = ["gpus_per_node", "sms", "tile_rows", "tile_columns", "symmetric", "bf16_rate", "f32_rate", "memory_rate", "launch", "node_rate", "node_latency", "network_rate", "network_latency"], measured = array<i64: 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0>, name = "h100", sources = ["std/machine/h100.cz", "std/machine/h100.cz", "std/machine/h100.cz", "std/machine/h100.cz", "std/machine/h100.cz", "std/machine/h100.cz", "std/machine/h100.cz", "std/machine/h100.cz", "std/machine/h100.cz", "std/machine/h100.cz", "std/machine/h100.cz", "std/machine/h100.cz", "std/machine/h100.cz"], values = array<i64: 8, 132, 128, 256, 1, 790000000000000, 52000000000000, 2850000000000, 3000000, 360000000000, 15000000, 40000000000, 30000000>} : () -> ()
  "canzona.reduction"() {dtype = "f32", n_grads = 1 : i64, reduce_axes = array<i64: 0>, split_axes = array<i64: 0>, sym_name = "reduction.0", divisor = 2 : i64} : () -> ()
  "canzona.use"() {defaults = array<f64: 1.000000e-01>, has_default = array<i64: 1>, hypers = ["lr"], optimizer = "normed", sym_name = "all"} : () -> ()
  func.func @all.12x8.update(%arg0: tensor<12x8xf32>, %arg1: tensor<12x8xf32>, %arg2: f32) -> tensor<12x8xf32> {
    %cst = arith.constant dense<1.000000e+00> : tensor<f32>
    %splat = tensor.splat %arg2 : tensor<12x8xf32>
    %0 = arith.mulf %splat, %arg0 : tensor<12x8xf32>
    %1 = arith.extf %arg0 : tensor<12x8xf32> to tensor<12x8xf64>
    %2 = arith.mulf %1, %1 : tensor<12x8xf64>
    %3 = "canzona.reduce"(%2) {dims = array<i64: 0, 1>, kind = "sum"} : (tensor<12x8xf64>) -> tensor<f64>
    %4 = math.sqrt %3 : tensor<f64>
    %5 = arith.truncf %4 : tensor<f64> to tensor<f32>
    %6 = arith.addf %5, %cst : tensor<f32>
    %7 = "canzona.broadcast"(%6) {dims = array<i64: 0, 1>} : (tensor<f32>) -> tensor<12x8xf32>
    %8 = arith.divf %0, %7 : tensor<12x8xf32>
    %9 = arith.subf %arg1, %8 : tensor<12x8xf32>
    return %9 : tensor<12x8xf32>
  }
  func.func @all.12x8.prologue(%arg0: f64, %arg1: f64, %arg2: f64) -> f32 {
    %0 = arith.truncf %arg2 : f64 to f32
    return %0 : f32
  }
  "canzona.rule"() {prologue = @all.12x8.prologue, shape = array<i64: 12, 8>, state_diagonal = array<i64>, state_dtypes = [], state_extern = array<i64>, state_init = array<f64>, state_shapes = array<i64>, state_symmetric = array<i64>, states = [], sym_name = "all.12x8", transposed = 0 : i64, update = @all.12x8.update, use = @all} : () -> ()
  func.func @all.4x8.update(%arg0: tensor<4x8xf32>, %arg1: tensor<4x8xf32>, %arg2: f32) -> tensor<4x8xf32> {
    %cst = arith.constant dense<1.000000e+00> : tensor<f32>
    %splat = tensor.splat %arg2 : tensor<4x8xf32>
    %0 = arith.mulf %splat, %arg0 : tensor<4x8xf32>
    %1 = arith.extf %arg0 : tensor<4x8xf32> to tensor<4x8xf64>
    %2 = arith.mulf %1, %1 : tensor<4x8xf64>
    %3 = "canzona.reduce"(%2) {dims = array<i64: 0, 1>, kind = "sum"} : (tensor<4x8xf64>) -> tensor<f64>
    %4 = math.sqrt %3 : tensor<f64>
    %5 = arith.truncf %4 : tensor<f64> to tensor<f32>
    %6 = arith.addf %5, %cst : tensor<f32>
    %7 = "canzona.broadcast"(%6) {dims = array<i64: 0, 1>} : (tensor<f32>) -> tensor<4x8xf32>
    %8 = arith.divf %0, %7 : tensor<4x8xf32>
    %9 = arith.subf %arg1, %8 : tensor<4x8xf32>
    return %9 : tensor<4x8xf32>
  }
  func.func @all.4x8.prologue(%arg0: f64, %arg1: f64, %arg2: f64) -> f32 {
    %0 = arith.truncf %arg2 : f64 to f32
    return %0 : f32
  }
  "canzona.rule"() {prologue = @all.4x8.prologue, shape = array<i64: 4, 8>, state_diagonal = array<i64>, state_dtypes = [], state_extern = array<i64>, state_init = array<f64>, state_shapes = array<i64>, state_symmetric = array<i64>, states = [], sym_name = "all.4x8", transposed = 0 : i64, update = @all.4x8.update, use = @all} : () -> ()
  "canzona.pattern"() {dtype = "f32", extents = array<i64>, first = array<i64>, residents = array<i64>, resident_axes = 0 : i64, name = "a", reduction = @reduction.0, rule = @all.12x8, shape = array<i64: 12, 8>, shard = array<i64: 0, 0>, expert_axes = 0 : i64, expert_index = 0 : i64, sym_name = "param.0"} : () -> ()
  "canzona.pattern"() {dtype = "f32", extents = array<i64>, first = array<i64>, residents = array<i64>, resident_axes = 0 : i64, name = "b", reduction = @reduction.0, rule = @all.4x8, shape = array<i64: 4, 8>, shard = array<i64: 0, 0>, expert_axes = 0 : i64, expert_index = 0 : i64, sym_name = "param.1"} : () -> ()
  "canzona.stage"() {body = @all.12x8.before.kernel, flops = 0 : i64, in_dtypes = ["f32"], ins = ["grad"], out_dtypes = ["f32"], outs = ["gather:0"], rule = @all.12x8, scalars = array<i64>, sym_name = "all.12x8.before", where = "before", work_bytes = 0 : i64} : () -> ()
  "canzona.stage"() {body = @all.12x8.whole.kernel, flops = 291 : i64, in_dtypes = ["f32"], ins = ["gather:0"], out_dtypes = ["f32"], outs = ["scatter:0"], rule = @all.12x8, scalars = array<i64>, sym_name = "all.12x8.whole", where = "whole", work_bytes = 0 : i64} : () -> ()
  "canzona.stage"() {body = @all.12x8.after.kernel, flops = 3 : i64, in_dtypes = ["f32", "f32", "f32"], ins = ["grad", "param", "scatter:0"], out_dtypes = ["f32"], outs = ["param"], rule = @all.12x8, scalars = array<i64: 0>, sym_name = "all.12x8.after", where = "after", work_bytes = 0 : i64} : () -> ()
  "canzona.stage"() {body = @all.4x8.before.kernel, flops = 0 : i64, in_dtypes = ["f32"], ins = ["grad"], out_dtypes = ["f32"], outs = ["gather:0"], rule = @all.4x8, scalars = array<i64>, sym_name = "all.4x8.before", where = "before", work_bytes = 0 : i64} : () -> ()
  "canzona.stage"() {body = @all.4x8.whole.kernel, flops = 99 : i64, in_dtypes = ["f32"], ins = ["gather:0"], out_dtypes = ["f32"], outs = ["scatter:0"], rule = @all.4x8, scalars = array<i64>, sym_name = "all.4x8.whole", where = "whole", work_bytes = 0 : i64} : () -> ()
  "canzona.stage"() {body = @all.4x8.after.kernel, flops = 3 : i64, in_dtypes = ["f32", "f32", "f32"], ins = ["grad", "param", "scatter:0"], out_dtypes = ["f32"], outs = ["param"], rule = @all.4x8, scalars = array<i64: 0>, sym_name = "all.4x8.after", where = "after", work_bytes = 0 : i64} : () -> ()
  func.func private @all.12x8.before.map0(%arg0: f32) -> f32 {
    return %arg0 : f32
  }
  func.func @all.12x8.before.kernel(%arg0: tensor<1xf32>) -> tensor<1xf32> {
    %0 = "kernel.map"(%arg0) {access = array<i64: 0>, body = @all.12x8.before.map0, offsets = array<i64: -1>, out_access = array<i64: 0>, space = array<i64: 1, 1>} : (tensor<1xf32>) -> tensor<1xf32>
    return %0 : tensor<1xf32>
  }
  func.func private @all.12x8.whole.map0(%arg0: f32) -> f64 {
    %0 = arith.extf %arg0 : f32 to f64
    %1 = arith.mulf %0, %0 : f64
    return %1 : f64
  }
  func.func private @all.12x8.whole.map1(%arg0: f64) -> f32 {
    %0 = math.sqrt %arg0 : f64
    %1 = arith.truncf %0 : f64 to f32
    %cst = arith.constant 1.000000e+00 : f32
    %2 = arith.addf %1, %cst : f32
    return %2 : f32
  }
  func.func @all.12x8.whole.kernel(%arg0: tensor<12x8xf32>) -> tensor<12x8xf32> {
    %0 = "kernel.map"(%arg0) {access = array<i64: 0>, body = @all.12x8.whole.map0, offsets = array<i64: 0>, out_access = array<i64: 6>, space = array<i64: 12, 8>, within = array<i64: 2>} : (tensor<12x8xf32>) -> tensor<f64>
    %1 = "kernel.map"(%0) {access = array<i64: 0>, body = @all.12x8.whole.map1, offsets = array<i64: 0>, out_access = array<i64: 0>, space = array<i64: 1, 1>, within = array<i64: 1>} : (tensor<f64>) -> tensor<f32>
    %2 = "kernel.map"(%1) {access = array<i64: 3>, body = @all.12x8.before.map0, offsets = array<i64: -1>, out_access = array<i64: 0>, space = array<i64: 12, 8>} : (tensor<f32>) -> tensor<12x8xf32>
    return %2 : tensor<12x8xf32>
  }
  func.func private @all.12x8.after.map0(%arg0: f32, %arg1: f32, %arg2: f32, %arg3: f32) -> f32 {
    %0 = arith.mulf %arg0, %arg1 : f32
    %1 = arith.divf %0, %arg2 : f32
    %2 = arith.subf %arg3, %1 : f32
    return %2 : f32
  }
  func.func @all.12x8.after.kernel(%arg0: tensor<1xf32>, %arg1: tensor<1xf32>, %arg2: tensor<1xf32>, %arg3: f32) -> tensor<1xf32> {
    %0 = "kernel.map"(%arg3, %arg0, %arg2, %arg1) {access = array<i64: 4, 0, 0, 0>, body = @all.12x8.after.map0, offsets = array<i64: -1>, out_access = array<i64: 0>, space = array<i64: 1, 1>} : (f32, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>) -> tensor<1xf32>
    return %0 : tensor<1xf32>
  }
  func.func @all.4x8.before.kernel(%arg0: tensor<1xf32>) -> tensor<1xf32> {
    %0 = "kernel.map"(%arg0) {access = array<i64: 0>, body = @all.12x8.before.map0, offsets = array<i64: -1>, out_access = array<i64: 0>, space = array<i64: 1, 1>} : (tensor<1xf32>) -> tensor<1xf32>
    return %0 : tensor<1xf32>
  }
  func.func @all.4x8.whole.kernel(%arg0: tensor<4x8xf32>) -> tensor<4x8xf32> {
    %0 = "kernel.map"(%arg0) {access = array<i64: 0>, body = @all.12x8.whole.map0, offsets = array<i64: 0>, out_access = array<i64: 6>, space = array<i64: 4, 8>, within = array<i64: 2>} : (tensor<4x8xf32>) -> tensor<f64>
    %1 = "kernel.map"(%0) {access = array<i64: 0>, body = @all.12x8.whole.map1, offsets = array<i64: 0>, out_access = array<i64: 0>, space = array<i64: 1, 1>, within = array<i64: 1>} : (tensor<f64>) -> tensor<f32>
    %2 = "kernel.map"(%1) {access = array<i64: 3>, body = @all.12x8.before.map0, offsets = array<i64: -1>, out_access = array<i64: 0>, space = array<i64: 4, 8>} : (tensor<f32>) -> tensor<4x8xf32>
    return %2 : tensor<4x8xf32>
  }
  func.func @all.4x8.after.kernel(%arg0: tensor<1xf32>, %arg1: tensor<1xf32>, %arg2: tensor<1xf32>, %arg3: f32) -> tensor<1xf32> {
    %0 = "kernel.map"(%arg3, %arg0, %arg2, %arg1) {access = array<i64: 4, 0, 0, 0>, body = @all.12x8.after.map0, offsets = array<i64: -1>, out_access = array<i64: 0>, space = array<i64: 1, 1>} : (f32, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>) -> tensor<1xf32>
    return %0 : tensor<1xf32>
  }
  "canzona.assign"() {pattern = @param.0, subgroup_size = array<i64: 1>, shard_owner = array<i64: -1>, split_owner = array<i64: 0>, stride = array<i64: 1>} : () -> ()
  "canzona.assign"() {pattern = @param.1, subgroup_size = array<i64: 1>, shard_owner = array<i64: -1>, split_owner = array<i64: 1>, stride = array<i64: 1>} : () -> ()
  "canzona.bucket"() {dtype = "f32", geometry = "equal", length = 128 : i64, offsets = array<i64: 0, 96>, params = array<i64: 0, 1>, reduction = @reduction.0, slices = array<i64: 0, 96, 128>, sym_name = "bucket0"} : () -> ()
  "canzona.arena"() {bytes = array<i64: 768, 256>, selector = array<i64: 0>} : () -> ()
  "canzona.table"() {row = "kernel", rows = array<i64: 0, 0, 0, 96, 0, -1, -1, -1, 1, 0, 0, 96, 0, 384, -1, -1, 2, 0, 0, 96, -1, 384, -1, -1, 3, 1, 96, 32, 0, -1, -1, -1, 4, 1, 0, 32, 0, 128, -1, -1, 5, 1, 96, 32, -1, 128, -1, -1>, selector = array<i64: 0>, starts = array<i64: 0, 3, 6>, sym_name = "table0"} : () -> ()
  "canzona.table"() {row = "exchange", rows = array<i64: 0, 0, 0, 64, 1, 0, 0, 64, 1, 1, 64, 32, 0, 0, 64, 32, 0, 1, 96, 32, 1, 1, 96, 32>, selector = array<i64: 0>, starts = array<i64: 0, 3, 6>, sym_name = "table1"} : () -> ()
  "canzona.table"() {row = "exchange", rows = array<i64: 0, 1, 64, 32, 1, 0, 64, 32>, selector = array<i64: 0>, starts = array<i64: 0, 1, 2>, sym_name = "table2"} : () -> ()
  "canzona.op"() {bucket = 0 : i64, comm = array<i64: 0>, block_size = 0 : i64, kind = "reduce_scatter", section = "reduce", stream = 1 : i64, stride = 0 : i64, table = @table1, waits = array<i64>} : () -> ()
  "canzona.op"() {bucket = -1 : i64, comm = array<i64: 0>, block_size = 0 : i64, kind = "guard", section = "recover", stream = 1 : i64, stride = 0 : i64, table = "", waits = array<i64>} : () -> ()
  "canzona.op"() {bucket = -1 : i64, comm = array<i64>, block_size = 0 : i64, kind = "keep", section = "recover", stream = 0 : i64, stride = 0 : i64, table = "", waits = array<i64>} : () -> ()
  "canzona.op"() {bucket = -1 : i64, comm = array<i64>, block_size = 0 : i64, kind = "prologue", section = "update", stream = 0 : i64, stride = 0 : i64, table = "", waits = array<i64: 1>} : () -> ()
  "canzona.op"() {bucket = 0 : i64, comm = array<i64>, block_size = 0 : i64, kind = "kernel", section = "update", stream = 0 : i64, stride = 0 : i64, table = @table0, waits = array<i64>} : () -> ()
  "canzona.op"() {bucket = 0 : i64, comm = array<i64: 0>, block_size = 0 : i64, kind = "all_gather", section = "update", stream = 1 : i64, stride = 0 : i64, table = @table2, waits = array<i64: 4>} : () -> ()
  "canzona.op"() {bucket = -1 : i64, comm = array<i64: 0>, block_size = 0 : i64, kind = "undo", section = "recover", stream = 1 : i64, stride = 0 : i64, table = "", waits = array<i64>} : () -> ()
}
