module {
  "canzona.program"() {compiler = "test", format = 9 : i64, name = "three_stages", source_hash = "", strict = 0 : i64} : () -> ()
  "canzona.mesh"() {axes = ["pp", "dp"], names = ["pp", "dp"], sets = array<i64: 1, 2>, sizes = array<i64: 3, 2>} : () -> ()
  "canzona.policy"() {tolerance = 0.0 : f64, wire = 0.5 : f64, wire_is_free = 0 : i64, tokens = 1048576 : i64, active = 1000000 : i64, bucket_elements = 400000000 : i64, bucket_is_free = 0 : i64, joins_updates = 0 : i64, layout_is_free = 0 : i64, clip = 1.000000e+00 : f64, micro_group_bytes = 0 : i64, master_dtype = "f32", skip = 0 : i64, tp_strategy = "auto", geometry = "uneven", layout = "engine", form = "auto", tp_subgroup = 0 : i64, memory_bytes = 0 : i64} : () -> ()
  "canzona.reduction"() {dtype = "f32", n_grads = 1 : i64, reduce_axes = array<i64: 1>, split_axes = array<i64: 1>, sym_name = "reduction.0", divisor = 2 : i64} : () -> ()
  "canzona.use"() {defaults = array<f64: 5.000000e-01>, has_default = array<i64: 1>, hypers = ["lr"], optimizer = "plain", sym_name = "first"} : () -> ()
  "canzona.use"() {defaults = array<f64: 5.000000e-01>, has_default = array<i64: 1>, hypers = ["lr"], optimizer = "plain", sym_name = "second"} : () -> ()
  "canzona.use"() {defaults = array<f64: 5.000000e-01>, has_default = array<i64: 1>, hypers = ["lr"], optimizer = "plain", sym_name = "both"} : () -> ()
  func.func @first.any.update(%arg0: tensor<1xf32>, %arg1: tensor<1xf32>, %arg2: f32, %arg3: f32) -> tensor<1xf32> {
    %splat = tensor.splat %arg2 : tensor<1xf32>
    %0 = arith.mulf %arg0, %splat : tensor<1xf32>
    %splat_0 = tensor.splat %arg3 : tensor<1xf32>
    %1 = arith.mulf %splat_0, %0 : tensor<1xf32>
    %2 = arith.subf %arg1, %1 : tensor<1xf32>
    return %2 : tensor<1xf32>
  }
  func.func @first.any.prologue(%arg0: f64, %arg1: f64, %arg2: f64) -> (f32, f32) {
    %0 = arith.truncf %arg1 : f64 to f32
    %1 = arith.truncf %arg2 : f64 to f32
    return %0, %1 : f32, f32
  }
  "canzona.rule"() {prologue = @first.any.prologue, shape = array<i64>, state_dtypes = [], state_diagonal = array<i64>, state_symmetric = array<i64>, state_extern = array<i64>, state_init = array<f64>, state_shapes = array<i64>, states = [], sym_name = "first.any", transposed = 0 : i64, update = @first.any.update, use = @first} : () -> ()
  func.func @second.any.update(%arg0: tensor<1xf32>, %arg1: tensor<1xf32>, %arg2: f32, %arg3: f32) -> tensor<1xf32> {
    %splat = tensor.splat %arg2 : tensor<1xf32>
    %0 = arith.mulf %arg0, %splat : tensor<1xf32>
    %splat_0 = tensor.splat %arg3 : tensor<1xf32>
    %1 = arith.mulf %splat_0, %0 : tensor<1xf32>
    %2 = arith.subf %arg1, %1 : tensor<1xf32>
    return %2 : tensor<1xf32>
  }
  func.func @second.any.prologue(%arg0: f64, %arg1: f64, %arg2: f64) -> (f32, f32) {
    %0 = arith.truncf %arg1 : f64 to f32
    %1 = arith.truncf %arg2 : f64 to f32
    return %0, %1 : f32, f32
  }
  "canzona.rule"() {prologue = @second.any.prologue, shape = array<i64>, state_dtypes = [], state_diagonal = array<i64>, state_symmetric = array<i64>, state_extern = array<i64>, state_init = array<f64>, state_shapes = array<i64>, states = [], sym_name = "second.any", transposed = 0 : i64, update = @second.any.update, use = @second} : () -> ()
  func.func @both.any.update(%arg0: tensor<1xf32>, %arg1: tensor<1xf32>, %arg2: f32, %arg3: f32) -> tensor<1xf32> {
    %splat = tensor.splat %arg2 : tensor<1xf32>
    %0 = arith.mulf %arg0, %splat : tensor<1xf32>
    %splat_0 = tensor.splat %arg3 : tensor<1xf32>
    %1 = arith.mulf %splat_0, %0 : tensor<1xf32>
    %2 = arith.subf %arg1, %1 : tensor<1xf32>
    return %2 : tensor<1xf32>
  }
  func.func @both.any.prologue(%arg0: f64, %arg1: f64, %arg2: f64) -> (f32, f32) {
    %0 = arith.truncf %arg1 : f64 to f32
    %1 = arith.truncf %arg2 : f64 to f32
    return %0, %1 : f32, f32
  }
  "canzona.rule"() {prologue = @both.any.prologue, shape = array<i64>, state_dtypes = [], state_diagonal = array<i64>, state_symmetric = array<i64>, state_extern = array<i64>, state_init = array<f64>, state_shapes = array<i64>, states = [], sym_name = "both.any", transposed = 0 : i64, update = @both.any.update, use = @both} : () -> ()
  "canzona.pattern"() {dtype = "f32", extents = array<i64>, first = array<i64>, residents = array<i64: 0>, resident_axes = 1 : i64, name = "a", reduction = @reduction.0, rule = @first.any, shape = array<i64: 4, 4>, shard = array<i64: 0, 0>, expert_axes = 0 : i64, expert_index = 0 : i64, sym_name = "param.0"} : () -> ()
  "canzona.pattern"() {dtype = "f32", extents = array<i64>, first = array<i64>, residents = array<i64: 2>, resident_axes = 1 : i64, name = "b", reduction = @reduction.0, rule = @second.any, shape = array<i64: 4>, shard = array<i64: 0>, expert_axes = 0 : i64, expert_index = 0 : i64, sym_name = "param.1"} : () -> ()
  "canzona.pattern"() {dtype = "f32", extents = array<i64>, first = array<i64>, residents = array<i64: 0, 2>, resident_axes = 1 : i64, name = "c", reduction = @reduction.0, rule = @both.any, shape = array<i64: 8>, shard = array<i64: 0>, expert_axes = 0 : i64, expert_index = 0 : i64, sym_name = "param.2"} : () -> ()
  "canzona.stage"() {body = @first.any.local.kernel, flops = 3 : i64, in_dtypes = ["f32", "f32"], ins = ["grad", "param"], out_dtypes = ["f32"], outs = ["param"], rule = @first.any, scalars = array<i64: 0, 1>, sym_name = "first.any.local", where = "local", work_bytes = 0 : i64} : () -> ()
  "canzona.stage"() {body = @second.any.local.kernel, flops = 3 : i64, in_dtypes = ["f32", "f32"], ins = ["grad", "param"], out_dtypes = ["f32"], outs = ["param"], rule = @second.any, scalars = array<i64: 0, 1>, sym_name = "second.any.local", where = "local", work_bytes = 0 : i64} : () -> ()
  "canzona.stage"() {body = @both.any.local.kernel, flops = 3 : i64, in_dtypes = ["f32", "f32"], ins = ["grad", "param"], out_dtypes = ["f32"], outs = ["param"], rule = @both.any, scalars = array<i64: 0, 1>, sym_name = "both.any.local", where = "local", work_bytes = 0 : i64} : () -> ()
  func.func private @first.any.local.map0(%arg0: f32, %arg1: f32, %arg2: f32, %arg3: f32) -> f32 {
    %0 = arith.mulf %arg0, %arg1 : f32
    %1 = arith.mulf %arg2, %0 : f32
    %2 = arith.subf %arg3, %1 : f32
    return %2 : f32
  }
  func.func @first.any.local.kernel(%arg0: tensor<1xf32>, %arg1: tensor<1xf32>, %arg2: f32, %arg3: f32) -> tensor<1xf32> {
    %0 = "kernel.map"(%arg0, %arg2, %arg3, %arg1) {access = array<i64: 0, 4, 4, 0>, body = @first.any.local.map0, offsets = array<i64: -1>, out_access = array<i64: 0>, space = array<i64: 1, 1>} : (tensor<1xf32>, f32, f32, tensor<1xf32>) -> tensor<1xf32>
    return %0 : tensor<1xf32>
  }
  func.func @second.any.local.kernel(%arg0: tensor<1xf32>, %arg1: tensor<1xf32>, %arg2: f32, %arg3: f32) -> tensor<1xf32> {
    %0 = "kernel.map"(%arg0, %arg2, %arg3, %arg1) {access = array<i64: 0, 4, 4, 0>, body = @first.any.local.map0, offsets = array<i64: -1>, out_access = array<i64: 0>, space = array<i64: 1, 1>} : (tensor<1xf32>, f32, f32, tensor<1xf32>) -> tensor<1xf32>
    return %0 : tensor<1xf32>
  }
  func.func @both.any.local.kernel(%arg0: tensor<1xf32>, %arg1: tensor<1xf32>, %arg2: f32, %arg3: f32) -> tensor<1xf32> {
    %0 = "kernel.map"(%arg0, %arg2, %arg3, %arg1) {access = array<i64: 0, 4, 4, 0>, body = @first.any.local.map0, offsets = array<i64: -1>, out_access = array<i64: 0>, space = array<i64: 1, 1>} : (tensor<1xf32>, f32, f32, tensor<1xf32>) -> tensor<1xf32>
    return %0 : tensor<1xf32>
  }
  "canzona.assign"() {pattern = @param.0, shard_owner = array<i64: -1>, split_owner = array<i64: -1>, subgroup_size = array<i64: 1>, stride = array<i64: 1>} : () -> ()
  "canzona.assign"() {pattern = @param.1, shard_owner = array<i64: -1>, split_owner = array<i64: -1>, subgroup_size = array<i64: 1>, stride = array<i64: 1>} : () -> ()
  "canzona.assign"() {pattern = @param.2, shard_owner = array<i64: -1>, split_owner = array<i64: -1>, subgroup_size = array<i64: 1>, stride = array<i64: 1>} : () -> ()
  "canzona.bucket"() {dtype = "f32", length = 16 : i64, offsets = array<i64: 0>, params = array<i64: 2>, reduction = @reduction.0, slices = array<i64: 0, 16, 16>, sym_name = "bucket0", geometry = "uneven"} : () -> ()
  "canzona.bucket"() {dtype = "f32", length = 16 : i64, offsets = array<i64: 0>, params = array<i64: 1>, reduction = @reduction.0, slices = array<i64: 0, 16, 16>, sym_name = "bucket1", geometry = "uneven"} : () -> ()
  "canzona.bucket"() {dtype = "f32", length = 16 : i64, offsets = array<i64: 0>, params = array<i64: 0>, reduction = @reduction.0, slices = array<i64: 0, 16, 16>, sym_name = "bucket2", geometry = "uneven"} : () -> ()
  "canzona.arena"() {bytes = array<i64: 0, 0, 0, 0, 0, 0>, selector = array<i64: 0, 1>} : () -> ()
  "canzona.table"() {row = "span", rows = array<i64: 2, 0, 8>, selector = array<i64: 0, 1>, starts = array<i64: 0, 1, 1, 1, 1, 1, 1>, sym_name = "table0"} : () -> ()
  "canzona.table"() {row = "span", rows = array<i64: 1, 0, 4>, selector = array<i64: 0, 1>, starts = array<i64: 0, 0, 0, 0, 0, 1, 1>, sym_name = "table1"} : () -> ()
  "canzona.table"() {row = "span", rows = array<i64: 0, 0, 16>, selector = array<i64: 0, 1>, starts = array<i64: 0, 1, 1, 1, 1, 1, 1>, sym_name = "table2"} : () -> ()
  "canzona.table"() {row = "kernel", rows = array<i64: 2, 2, 0, 8, -1, -1, -1, -1, 2, 2, 0, 8, -1, -1, -1, -1>, selector = array<i64: 0, 1>, starts = array<i64: 0, 1, 1, 1, 1, 2, 2>, sym_name = "table3"} : () -> ()
  "canzona.table"() {row = "kernel", rows = array<i64: 1, 1, 0, 4, -1, -1, -1, -1>, selector = array<i64: 0, 1>, starts = array<i64: 0, 0, 0, 0, 0, 1, 1>, sym_name = "table4"} : () -> ()
  "canzona.table"() {row = "kernel", rows = array<i64: 0, 0, 0, 16, -1, -1, -1, -1>, selector = array<i64: 0, 1>, starts = array<i64: 0, 1, 1, 1, 1, 1, 1>, sym_name = "table5"} : () -> ()
  "canzona.op"() {bucket = 0 : i64, comm = array<i64: 1>, kind = "reduce_scatter", section = "reduce", stream = 1 : i64, table = "", waits = array<i64>, block_size = 0 : i64, stride = 0 : i64} : () -> ()
  "canzona.op"() {bucket = 1 : i64, comm = array<i64: 1>, kind = "reduce_scatter", section = "reduce", stream = 1 : i64, table = "", waits = array<i64>, block_size = 0 : i64, stride = 0 : i64} : () -> ()
  "canzona.op"() {bucket = 2 : i64, comm = array<i64: 1>, kind = "reduce_scatter", section = "reduce", stream = 1 : i64, table = "", waits = array<i64>, block_size = 0 : i64, stride = 0 : i64} : () -> ()
  "canzona.op"() {bucket = -1 : i64, comm = array<i64>, kind = "keep", section = "recover", stream = 0 : i64, table = "", waits = array<i64>, block_size = 0 : i64, stride = 0 : i64} : () -> ()
  "canzona.op"() {bucket = 0 : i64, comm = array<i64>, kind = "square_sum", section = "decide", stream = 0 : i64, table = @table0, waits = array<i64: 0>, block_size = 0 : i64, stride = 0 : i64} : () -> ()
  "canzona.op"() {bucket = 1 : i64, comm = array<i64>, kind = "square_sum", section = "decide", stream = 0 : i64, table = @table1, waits = array<i64: 1>, block_size = 0 : i64, stride = 0 : i64} : () -> ()
  "canzona.op"() {bucket = 2 : i64, comm = array<i64>, kind = "square_sum", section = "decide", stream = 0 : i64, table = @table2, waits = array<i64: 2>, block_size = 0 : i64, stride = 0 : i64} : () -> ()
  "canzona.op"() {bucket = -1 : i64, comm = array<i64: 0, 1>, kind = "all_reduce", section = "decide", stream = 1 : i64, table = "", waits = array<i64: 5, 6>, block_size = 0 : i64, stride = 0 : i64} : () -> ()
  "canzona.op"() {bucket = -1 : i64, comm = array<i64>, kind = "decide", section = "decide", stream = 0 : i64, table = "", waits = array<i64: 7>, block_size = 0 : i64, stride = 0 : i64} : () -> ()
  "canzona.op"() {bucket = -1 : i64, comm = array<i64>, kind = "prologue", section = "update", stream = 0 : i64, table = "", waits = array<i64>, block_size = 0 : i64, stride = 0 : i64} : () -> ()
  "canzona.op"() {bucket = 0 : i64, comm = array<i64>, kind = "kernel", section = "update", stream = 0 : i64, table = @table3, waits = array<i64>, block_size = 0 : i64, stride = 0 : i64} : () -> ()
  "canzona.op"() {bucket = 0 : i64, comm = array<i64: 1>, kind = "all_gather", section = "update", stream = 1 : i64, table = "", waits = array<i64: 8, 10>, block_size = 0 : i64, stride = 0 : i64} : () -> ()
  "canzona.op"() {bucket = 1 : i64, comm = array<i64>, kind = "kernel", section = "update", stream = 0 : i64, table = @table4, waits = array<i64>, block_size = 0 : i64, stride = 0 : i64} : () -> ()
  "canzona.op"() {bucket = 1 : i64, comm = array<i64: 1>, kind = "all_gather", section = "update", stream = 1 : i64, table = "", waits = array<i64: 12>, block_size = 0 : i64, stride = 0 : i64} : () -> ()
  "canzona.op"() {bucket = 2 : i64, comm = array<i64>, kind = "kernel", section = "update", stream = 0 : i64, table = @table5, waits = array<i64>, block_size = 0 : i64, stride = 0 : i64} : () -> ()
  "canzona.op"() {bucket = 2 : i64, comm = array<i64: 1>, kind = "all_gather", section = "update", stream = 1 : i64, table = "", waits = array<i64: 14>, block_size = 0 : i64, stride = 0 : i64} : () -> ()
  "canzona.op"() {bucket = -1 : i64, comm = array<i64: 0, 1>, kind = "undo", section = "recover", stream = 1 : i64, table = "", waits = array<i64: 3, 14>, block_size = 0 : i64, stride = 0 : i64} : () -> ()
}
