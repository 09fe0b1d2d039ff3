module {
  "canzona.program"() {compiler = "test", format = 9 : i64, name = "two_groups", source_hash = "", strict = 0 : i64} : () -> ()
  "canzona.mesh"() {axes = ["dp", "tp"], sizes = array<i64: 2, 2>, names = ["dp", "tp"], sets = array<i64: 1, 2>} : () -> ()
  "canzona.policy"() {tolerance = 0.0 : f64, wire = 0.5 : f64, wire_is_free = 0 : i64, tokens = 1048576 : i64, active = 1000000 : i64, bucket_elements = 400000000 : i64, bucket_is_free = 0 : i64, joins_updates = 0 : i64, layout_is_free = 0 : i64, clip = 1.000000e+00 : f64, micro_group_bytes = 0 : i64, master_dtype = "f32", skip = 1 : i64, tp_strategy = "auto", geometry = "uneven", layout = "engine", form = "auto", tp_subgroup = 0 : i64, memory_bytes = 0 : i64} : () -> ()
  "canzona.reduction"() {dtype = "f32", sym_name = "r", reduce_axes = array<i64: 0>, split_axes = array<i64: 0>, n_grads = 1 : i64, divisor = 2 : i64} : () -> ()
  "canzona.use"() {defaults = array<f64: 1.000000e-01>, has_default = array<i64: 1>, hypers = ["lr"], optimizer = "unit", sym_name = "matrices"} : () -> ()
  "canzona.use"() {defaults = array<f64: 1.000000e-01, 9.000000e-01, 0.000000e+00>, has_default = array<i64: 1, 1, 1>, hypers = ["lr", "momentum", "decay"], optimizer = "sgd", sym_name = "rest"} : () -> ()
  func.func @matrices.4x4.update(%arg0: tensor<4x4xf32>, %arg1: tensor<4x4xf32>, %arg2: f32, %arg3: f32) -> tensor<4x4xf32> {
    %splat = tensor.splat %arg2 : tensor<4x4xf32>
    %0 = arith.mulf %arg0, %splat : tensor<4x4xf32>
    %splat_0 = tensor.splat %arg3 : tensor<4x4xf32>
    %1 = arith.mulf %splat_0, %0 : tensor<4x4xf32>
    %2 = arith.extf %0 : tensor<4x4xf32> to tensor<4x4xf64>
    %3 = arith.mulf %2, %2 : tensor<4x4xf64>
    %4 = "canzona.reduce"(%3) {dims = array<i64: 0, 1>, kind = "sum"} : (tensor<4x4xf64>) -> tensor<f64>
    %5 = math.sqrt %4 : tensor<f64>
    %6 = arith.truncf %5 : tensor<f64> to tensor<f32>
    %7 = "canzona.broadcast"(%6) {dims = array<i64: 0, 1>} : (tensor<f32>) -> tensor<4x4xf32>
    %8 = arith.divf %1, %7 : tensor<4x4xf32>
    %9 = arith.subf %arg1, %8 : tensor<4x4xf32>
    return %9 : tensor<4x4xf32>
  }
  func.func @matrices.4x4.prologue(%arg0: f64, %arg1: f64, %arg2: f64) -> (f32, f32) {
    %0 = arith.truncf %arg1 : f64 to f32
    %1 = arith.truncf %arg2 : f64 to f32
    return %0, %1 : f32, f32
  }
  "canzona.rule"() {prologue = @matrices.4x4.prologue, shape = array<i64: 4, 4>, state_dtypes = [], state_diagonal = array<i64>, state_symmetric = array<i64>, state_extern = array<i64>, state_init = array<f64>, state_shapes = array<i64>, states = [], sym_name = "matrices.4x4", transposed = 0 : i64, update = @matrices.4x4.update, use = @matrices} : () -> ()
  func.func @rest.any.update(%arg0: tensor<1xf32>, %arg1: tensor<1xf32>, %arg2: tensor<1xf32>, %arg3: f32, %arg4: f32, %arg5: f32, %arg6: f32) -> (tensor<1xf32>, tensor<1xf32>) {
    %splat = tensor.splat %arg3 : tensor<1xf32>
    %0 = arith.mulf %arg0, %splat : tensor<1xf32>
    %splat_0 = tensor.splat %arg4 : tensor<1xf32>
    %1 = arith.mulf %splat_0, %arg1 : tensor<1xf32>
    %2 = arith.addf %0, %1 : tensor<1xf32>
    %splat_1 = tensor.splat %arg5 : tensor<1xf32>
    %3 = arith.mulf %splat_1, %arg2 : tensor<1xf32>
    %4 = arith.addf %3, %2 : tensor<1xf32>
    %splat_2 = tensor.splat %arg6 : tensor<1xf32>
    %5 = arith.mulf %splat_2, %4 : tensor<1xf32>
    %6 = arith.subf %arg1, %5 : tensor<1xf32>
    return %6, %4 : tensor<1xf32>, tensor<1xf32>
  }
  func.func @rest.any.prologue(%arg0: f64, %arg1: f64, %arg2: f64, %arg3: f64, %arg4: f64) -> (f32, f32, f32, f32) {
    %0 = arith.truncf %arg1 : f64 to f32
    %1 = arith.truncf %arg4 : f64 to f32
    %2 = arith.truncf %arg3 : f64 to f32
    %3 = arith.truncf %arg2 : f64 to f32
    return %0, %1, %2, %3 : f32, f32, f32, f32
  }
  "canzona.rule"() {prologue = @rest.any.prologue, shape = array<i64>, state_dtypes = ["f32"], state_diagonal = array<i64: 0>, state_symmetric = array<i64: 0>, state_extern = array<i64: 0>, state_init = array<f64: 0.000000e+00>, state_shapes = array<i64: 0, 0>, states = ["mom"], sym_name = "rest.any", transposed = 0 : i64, update = @rest.any.update, use = @rest} : () -> ()
  "canzona.pattern"() {dtype = "f32", extents = array<i64>, first = array<i64>, name = "a", rule = @matrices.4x4, shape = array<i64: 4, 4>, shard = array<i64: 2, 0>, sym_name = "param.0", reduction = @r, expert_axes = 0 : i64, expert_index = 0 : i64, resident_axes = 0 : i64, residents = array<i64>} : () -> ()
  "canzona.pattern"() {dtype = "f32", extents = array<i64>, first = array<i64>, name = "b", rule = @rest.any, shape = array<i64: 4>, shard = array<i64: 0>, sym_name = "param.1", reduction = @r, expert_axes = 0 : i64, expert_index = 0 : i64, resident_axes = 0 : i64, residents = array<i64>} : () -> ()
  "canzona.stage"() {body = @matrices.4x4.before.kernel, flops = 1 : i64, in_dtypes = ["f32"], ins = ["grad"], out_dtypes = ["f32"], outs = ["gather:0"], rule = @matrices.4x4, scalars = array<i64: 0>, sym_name = "matrices.4x4.before", where = "before", work_bytes = 0 : i64} : () -> ()
  "canzona.stage"() {body = @matrices.4x4.whole.kernel, flops = 50 : i64, in_dtypes = ["f32"], ins = ["gather:0"], out_dtypes = ["f32"], outs = ["scatter:0"], rule = @matrices.4x4, scalars = array<i64>, sym_name = "matrices.4x4.whole", where = "whole", work_bytes = 128 : i64} : () -> ()
  "canzona.stage"() {body = @matrices.4x4.after.kernel, flops = 4 : i64, in_dtypes = ["f32", "f32", "f32"], ins = ["grad", "param", "scatter:0"], out_dtypes = ["f32"], outs = ["param"], rule = @matrices.4x4, scalars = array<i64: 0, 1>, sym_name = "matrices.4x4.after", where = "after", work_bytes = 0 : i64} : () -> ()
  "canzona.stage"() {body = @rest.any.local.kernel, flops = 7 : i64, in_dtypes = ["f32", "f32", "f32"], ins = ["grad", "param", "state:0"], out_dtypes = ["f32", "f32"], outs = ["param", "state:0"], rule = @rest.any, scalars = array<i64: 0, 1, 2, 3>, sym_name = "rest.any.local", where = "local", work_bytes = 0 : i64} : () -> ()
  func.func private @matrices.4x4.before.map0(%arg0: f32, %arg1: f32) -> f32 {
    %0 = arith.mulf %arg0, %arg1 : f32
    return %0 : f32
  }
  func.func @matrices.4x4.before.kernel(%arg0: tensor<1xf32>, %arg1: f32) -> tensor<1xf32> {
    %0 = "kernel.map"(%arg0, %arg1) {access = array<i64: 0, 4>, body = @matrices.4x4.before.map0, offsets = array<i64: -1>, out_access = array<i64: 0>, space = array<i64: 1, 1>} : (tensor<1xf32>, f32) -> tensor<1xf32>
    return %0 : tensor<1xf32>
  }
  func.func private @matrices.4x4.whole.map0(%arg0: f32) -> f64 {
    %0 = arith.extf %arg0 : f32 to f64
    %1 = arith.mulf %0, %0 : f64
    return %1 : f64
  }
  func.func private @matrices.4x4.whole.map1(%arg0: f64) -> f32 {
    %0 = math.sqrt %arg0 : f64
    %1 = arith.truncf %0 : f64 to f32
    return %1 : f32
  }
  func.func private @matrices.4x4.whole.map2(%arg0: f32) -> f32 {
    return %arg0 : f32
  }
  func.func @matrices.4x4.whole.kernel(%arg0: tensor<4x4xf32>) -> tensor<4x4xf32> {
    %0 = "kernel.map"(%arg0) {access = array<i64: 0>, body = @matrices.4x4.whole.map0, offsets = array<i64: 0>, out_access = array<i64: 6>, space = array<i64: 4, 4>} : (tensor<4x4xf32>) -> tensor<f64>
    %1 = "kernel.map"(%0) {access = array<i64: 0>, body = @matrices.4x4.whole.map1, offsets = array<i64: 64>, out_access = array<i64: 0>, space = array<i64: 1, 1>} : (tensor<f64>) -> tensor<f32>
    %2 = "kernel.map"(%1) {access = array<i64: 3>, body = @matrices.4x4.whole.map2, offsets = array<i64: -1>, out_access = array<i64: 0>, space = array<i64: 4, 4>} : (tensor<f32>) -> tensor<4x4xf32>
    return %2 : tensor<4x4xf32>
  }
  func.func private @matrices.4x4.after.map0(%arg0: f32, %arg1: f32, %arg2: f32, %arg3: f32, %arg4: f32) -> f32 {
    %0 = arith.mulf %arg0, %arg1 : f32
    %1 = arith.mulf %arg2, %0 : f32
    %2 = arith.divf %1, %arg3 : f32
    %3 = arith.subf %arg4, %2 : f32
    return %3 : f32
  }
  func.func @matrices.4x4.after.kernel(%arg0: tensor<1xf32>, %arg1: tensor<1xf32>, %arg2: tensor<1xf32>, %arg3: f32, %arg4: f32) -> tensor<1xf32> {
    %0 = "kernel.map"(%arg0, %arg3, %arg4, %arg2, %arg1) {access = array<i64: 0, 4, 4, 0, 0>, body = @matrices.4x4.after.map0, offsets = array<i64: -1>, out_access = array<i64: 0>, space = array<i64: 1, 1>} : (tensor<1xf32>, f32, f32, tensor<1xf32>, tensor<1xf32>) -> tensor<1xf32>
    return %0 : tensor<1xf32>
  }
  func.func private @rest.any.local.map0(%arg0: f32, %arg1: f32, %arg2: f32, %arg3: f32, %arg4: f32, %arg5: f32, %arg6: f32) -> (f32, f32) {
    %0 = arith.mulf %arg0, %arg1 : f32
    %1 = arith.mulf %arg2, %arg3 : f32
    %2 = arith.addf %0, %1 : f32
    %3 = arith.mulf %arg4, %arg5 : f32
    %4 = arith.addf %3, %2 : f32
    %5 = arith.mulf %arg6, %4 : f32
    %6 = arith.subf %arg3, %5 : f32
    return %4, %6 : f32, f32
  }
  func.func @rest.any.local.kernel(%arg0: tensor<1xf32>, %arg1: tensor<1xf32>, %arg2: tensor<1xf32>, %arg3: f32, %arg4: f32, %arg5: f32, %arg6: f32) -> (tensor<1xf32>, tensor<1xf32>) {
    %0:2 = "kernel.map"(%arg0, %arg3, %arg4, %arg1, %arg5, %arg2, %arg6) {access = array<i64: 0, 4, 4, 0, 4, 0, 4>, body = @rest.any.local.map0, offsets = array<i64: -1, -1>, out_access = array<i64: 0, 0>, space = array<i64: 1, 1>} : (tensor<1xf32>, f32, f32, tensor<1xf32>, f32, tensor<1xf32>, f32) -> (tensor<1xf32>, tensor<1xf32>)
    return %0#1, %0#0 : tensor<1xf32>, tensor<1xf32>
  }
  "canzona.assign"() {pattern = @param.0, shard_owner = array<i64: 0>, split_owner = array<i64: 0>, subgroup_size = array<i64: 1>, stride = array<i64: 1>} : () -> ()
  "canzona.assign"() {pattern = @param.1, shard_owner = array<i64: -1>, split_owner = array<i64: -1>, subgroup_size = array<i64: 1>, stride = array<i64: 1>} : () -> ()
  "canzona.bucket"() {dtype = "f32", length = 16 : i64, offsets = array<i64: 0>, params = array<i64: 1>, slices = array<i64: 0, 16, 16>, sym_name = "bucket0", geometry = "uneven", reduction = @r} : () -> ()
  "canzona.bucket"() {dtype = "f32", length = 16 : i64, offsets = array<i64: 0>, params = array<i64: 0>, slices = array<i64: 0, 16, 16>, sym_name = "bucket1", geometry = "uneven", reduction = @r} : () -> ()
  "canzona.arena"() {bytes = array<i64: 320, 64, 0, 0>, selector = array<i64: 0, 1>} : () -> ()
  "canzona.table"() {row = "span", rows = array<i64: 1, 0, 4>, selector = array<i64: 0, 1>, starts = array<i64: 0, 1, 1, 1, 1>, sym_name = "table0"} : () -> ()
  "canzona.table"() {row = "span", rows = array<i64: 0, 0, 8>, selector = array<i64: 0>, starts = array<i64: 0, 1, 1>, sym_name = "table1"} : () -> ()
  "canzona.table"() {row = "kernel", rows = array<i64: 3, 1, 0, 4, -1, -1, -1, -1>, selector = array<i64: 0>, starts = array<i64: 0, 1, 1>, sym_name = "table2"} : () -> ()
  "canzona.table"() {row = "kernel", rows = array<i64: 0, 0, 0, 8, 0, -1, -1, -1>, selector = array<i64: 0>, starts = array<i64: 0, 1, 1>, sym_name = "table3"} : () -> ()
  "canzona.table"() {row = "transfer", rows = array<i64: 0, 0, 0, 0, 1, 32, 32, 1, 0, 1, 1, 1, 1, 0, 0, 1, 0, 192, 1, 32, 32, 1, 0, 1, 1, 1, 1, 0, 0, 1, 1, 224, 1, 32, 32, 1, 0, 1, 1, 1, 1, 0, 0, 0, 0, 0, 1, 32, 32, 1, 1, 1, 1, 1, 1, 0>, selector = array<i64: 0, 1>, starts = array<i64: 0, 3, 4, 4, 4>, sym_name = "table4"} : () -> ()
  "canzona.table"() {row = "kernel", rows = array<i64: 1, 0, 0, 16, 192, 256, -1, 64>, selector = array<i64: 0, 1>, starts = array<i64: 0, 1, 1, 1, 1>, sym_name = "table5"} : () -> ()
  "canzona.table"() {row = "transfer", rows = array<i64: 0, 1, 0, 0, 1, 32, 32, 1, 0, 1, 1, 1, 1, 0, 0, 0, 0, 256, 1, 32, 32, 1, 0, 1, 1, 1, 1, 0, 0, 0, 1, 288, 1, 32, 32, 1, 0, 1, 1, 1, 1, 0, 0, 1, 0, 0, 1, 32, 32, 1, 1, 1, 1, 1, 1, 0>, selector = array<i64: 0, 1>, starts = array<i64: 0, 3, 4, 4, 4>, sym_name = "table6"} : () -> ()
  "canzona.table"() {row = "kernel", rows = array<i64: 2, 0, 0, 8, -1, 0, -1, -1>, selector = array<i64: 0>, starts = array<i64: 0, 1, 1>, sym_name = "table7"} : () -> ()
  "canzona.op"() {bucket = 0 : i64, comm = array<i64: 0>, kind = "reduce_scatter", section = "reduce", stream = 1 : i64, table = "", waits = array<i64>, block_size = 0 : i64, stride = 0 : i64} : () -> ()
  "canzona.op"() {bucket = 1 : i64, comm = array<i64: 0>, kind = "reduce_scatter", section = "reduce", stream = 1 : i64, table = "", waits = array<i64>, block_size = 0 : i64, stride = 0 : i64} : () -> ()
  "canzona.op"() {bucket = -1 : i64, comm = array<i64>, kind = "keep", section = "recover", stream = 0 : i64, table = "", waits = array<i64>, block_size = 0 : i64, stride = 0 : i64} : () -> ()
  "canzona.op"() {bucket = 0 : i64, comm = array<i64>, kind = "square_sum", section = "decide", stream = 0 : i64, table = @table0, waits = array<i64: 0>, block_size = 0 : i64, stride = 0 : i64} : () -> ()
  "canzona.op"() {bucket = 1 : i64, comm = array<i64>, kind = "square_sum", section = "decide", stream = 0 : i64, table = @table1, waits = array<i64: 1>, block_size = 0 : i64, stride = 0 : i64} : () -> ()
  "canzona.op"() {bucket = -1 : i64, comm = array<i64: 0, 1>, kind = "all_reduce", section = "decide", stream = 1 : i64, table = "", waits = array<i64: 4>, block_size = 0 : i64, stride = 0 : i64} : () -> ()
  "canzona.op"() {bucket = -1 : i64, comm = array<i64>, kind = "decide", section = "decide", stream = 0 : i64, table = "", waits = array<i64: 5>, block_size = 0 : i64, stride = 0 : i64} : () -> ()
  "canzona.op"() {bucket = -1 : i64, comm = array<i64>, kind = "prologue", section = "update", stream = 0 : i64, table = "", waits = array<i64>, block_size = 0 : i64, stride = 0 : i64} : () -> ()
  "canzona.op"() {bucket = 0 : i64, comm = array<i64>, kind = "kernel", section = "update", stream = 0 : i64, table = @table2, waits = array<i64>, block_size = 0 : i64, stride = 0 : i64} : () -> ()
  "canzona.op"() {bucket = 0 : i64, comm = array<i64: 0>, kind = "all_gather", section = "update", stream = 1 : i64, table = "", waits = array<i64: 6, 8>, block_size = 0 : i64, stride = 0 : i64} : () -> ()
  "canzona.op"() {bucket = -1 : i64, comm = array<i64>, kind = "kernel", section = "update", stream = 0 : i64, table = @table3, waits = array<i64>, block_size = 0 : i64, stride = 0 : i64} : () -> ()
  "canzona.op"() {bucket = -1 : i64, comm = array<i64: 1>, kind = "transfer", section = "update", stream = 2 : i64, table = @table4, waits = array<i64: 10>, block_size = 0 : i64, stride = 0 : i64} : () -> ()
  "canzona.op"() {bucket = -1 : i64, comm = array<i64>, kind = "kernel", section = "update", stream = 0 : i64, table = @table5, waits = array<i64: 11>, block_size = 0 : i64, stride = 0 : i64} : () -> ()
  "canzona.op"() {bucket = -1 : i64, comm = array<i64: 1>, kind = "transfer", section = "update", stream = 2 : i64, table = @table6, waits = array<i64: 12>, block_size = 0 : i64, stride = 0 : i64} : () -> ()
  "canzona.op"() {bucket = -1 : i64, comm = array<i64>, kind = "kernel", section = "update", stream = 0 : i64, table = @table7, waits = array<i64: 13>, block_size = 0 : i64, stride = 0 : i64} : () -> ()
  "canzona.op"() {bucket = 1 : i64, comm = array<i64: 0>, kind = "all_gather", section = "update", stream = 1 : i64, table = "", waits = array<i64: 14>, block_size = 0 : i64, stride = 0 : i64} : () -> ()
  "canzona.op"() {bucket = -1 : i64, comm = array<i64: 0, 1>, kind = "undo", section = "recover", stream = 1 : i64, table = "", waits = array<i64: 13, 14>, block_size = 0 : i64, stride = 0 : i64} : () -> ()
}
