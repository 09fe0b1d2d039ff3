// A small module with everything in it: two rules, four stages, a schedule.
// Mesh dp = 2, tp = 2.  Not a good plan, but one of the right form.
module {
  "canzona.program"() {name = "sample", source_hash = "00", compiler = "0", format = 9 : i64, strict = 1 : i64} : () -> ()
  "canzona.mesh"() {axes = ["dp", "tp"], sizes = array<i64: 2, 2>, names = ["dp", "tp"], sets = array<i64: 1, 2>} : () -> ()
  "canzona.policy"() {tolerance = 0.0 : f64, wire = 0.5 : f64, wire_is_free = 0 : i64, tokens = 1048576 : i64, active = 1000000 : i64, master_dtype = "f32", clip = 1.000000e+00 : f64, skip = 1 : i64, bucket_elements = 1000 : i64, bucket_is_free = 0 : i64, joins_updates = 0 : i64, layout_is_free = 0 : i64, micro_group_bytes = 0 : i64, tp_strategy = "auto", geometry = "uneven", layout = "engine", form = "auto", tp_subgroup = 0 : i64, memory_bytes = 0 : i64} : () -> ()
  "canzona.machine"() {name = "m", constants = ["gpus_per_node", "sms", "tile_rows", "tile_columns", "symmetric", "bf16_rate", "f32_rate", "memory_rate", "launch", "node_rate", "node_latency", "network_rate", "network_latency"], values = array<i64: 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22>, measured = array<i64: 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0>, sources = ["s.cz", "s.cz", "s.cz", "s.cz", "s.cz", "s.cz", "s.cz", "s.cz", "s.cz", "s.cz", "s.cz", "s.cz", "s.cz"]} : () -> ()
  "canzona.timing"() {optimizer = "mat", shape = array<i64: 4, 6>, batch = 2 : i64, subgroup_size = 1 : i64, time = 77 : i64} : () -> ()
  "canzona.uneven_reduce"() {link = "node", bytes = 8 : i64, roots = 3 : i64, thousandths = 750 : i64, measured = 1 : i64} : () -> ()
  "canzona.reduction"() {dtype = "f32", sym_name = "r", reduce_axes = array<i64: 0>, split_axes = array<i64: 0>, n_grads = 2 : i64, divisor = 4 : i64} : () -> ()
  "canzona.use"() {sym_name = "matrices", optimizer = "mat", hypers = ["lr"], defaults = array<f64: 0.5>, has_default = array<i64: 1>} : () -> ()
  "canzona.use"() {sym_name = "vectors", optimizer = "sgd", hypers = ["lr"], defaults = array<f64: 0.0>, has_default = array<i64: 0>} : () -> ()

  // mom <- mom + grad ; x = bf16(mom) ; param <- param - lr * (x @ x') @ x / |x @ x'|
  func.func @mat.update(%grad: tensor<4x6xf32>, %param: tensor<4x6xf32>, %mom: tensor<4x6xf32>, %lr: f32) -> (tensor<4x6xf32>, tensor<4x6xf32>) {
    %zero = arith.constant dense<0.0> : tensor<4x4xf32>
    %zeros = arith.constant dense<0.0> : tensor<4x6xf32>
    %mom1 = arith.addf %mom, %grad : tensor<4x6xf32>
    %x = arith.truncf %mom1 : tensor<4x6xf32> to tensor<4x6xbf16>
    %t = "canzona.transpose"(%x) : (tensor<4x6xbf16>) -> tensor<6x4xbf16>
    %g32 = linalg.matmul ins(%x, %t : tensor<4x6xbf16>, tensor<6x4xbf16>) outs(%zero : tensor<4x4xf32>) -> tensor<4x4xf32>
    %g = arith.truncf %g32 : tensor<4x4xf32> to tensor<4x4xbf16>
    %y32 = linalg.matmul ins(%g, %x : tensor<4x4xbf16>, tensor<4x6xbf16>) outs(%zeros : tensor<4x6xf32>) -> tensor<4x6xf32>
    %y = arith.truncf %y32 : tensor<4x6xf32> to tensor<4x6xbf16>
    %wide32 = arith.extf %g : tensor<4x4xbf16> to tensor<4x4xf32>
    %wide = arith.extf %wide32 : tensor<4x4xf32> to tensor<4x4xf64>
    %square = arith.mulf %wide, %wide : tensor<4x4xf64>
    %sum = "canzona.reduce"(%square) {kind = "sum", dims = array<i64: 0, 1>} : (tensor<4x4xf64>) -> tensor<f64>
    %norm64 = math.sqrt %sum : tensor<f64>
    %norm = arith.truncf %norm64 : tensor<f64> to tensor<f32>
    %norms = "canzona.broadcast"(%norm) {dims = array<i64: 0, 1>} : (tensor<f32>) -> tensor<4x6xf32>
    %y1 = arith.extf %y : tensor<4x6xbf16> to tensor<4x6xf32>
    %o = arith.divf %y1, %norms : tensor<4x6xf32>
    %lrs = tensor.splat %lr : tensor<4x6xf32>
    %step = arith.mulf %lrs, %o : tensor<4x6xf32>
    %param1 = arith.subf %param, %step : tensor<4x6xf32>
    return %param1, %mom1 : tensor<4x6xf32>, tensor<4x6xf32>
  }
  func.func @mat.prologue(%t: f64, %clip: f64, %lr: f64) -> f32 {
    %a = arith.mulf %lr, %clip : f64
    %b = arith.truncf %a : f64 to f32
    return %b : f32
  }
  "canzona.rule"() {sym_name = "mat", use = @matrices, shape = array<i64: 4, 6>, transposed = 0 : i64, states = ["mom"], state_dtypes = ["f32"], state_diagonal = array<i64: 0>, state_symmetric = array<i64: 0>, state_extern = array<i64: 0>, state_init = array<f64: 0.0>, state_shapes = array<i64: 0, 0>, update = @mat.update, prologue = @mat.prologue} : () -> ()

  // param <- param - lr * grad, unless grad is small
  func.func @sgd.update(%grad: tensor<1xf32>, %param: tensor<1xf32>, %lr: f32, %bias: f32) -> tensor<1xf32> {
    %lrs = tensor.splat %lr : tensor<1xf32>
    %small = arith.constant dense<0.125> : tensor<1xf32>
    %size = math.absf %grad : tensor<1xf32>
    %is_small = arith.cmpf olt, %size, %small : tensor<1xf32>
    %step = arith.mulf %lrs, %grad : tensor<1xf32>
    %param1 = arith.subf %param, %step : tensor<1xf32>
    %out = arith.select %is_small, %param, %param1 : tensor<1xi1>, tensor<1xf32>
    return %out : tensor<1xf32>
  }
  func.func @sgd.prologue(%t: f64, %clip: f64, %lr: f64) -> (f32, f32) {
    %beta = arith.constant 9.000000e-01 : f64
    %power = math.powf %beta, %t : f64
    %a = arith.truncf %lr : f64 to f32
    %b = arith.truncf %power : f64 to f32
    return %a, %b : f32, f32
  }
  "canzona.rule"() {sym_name = "sgd", use = @vectors, shape = array<i64>, transposed = 0 : i64, states = [], state_dtypes = [], state_diagonal = array<i64>, state_symmetric = array<i64>, state_extern = array<i64>, state_init = array<f64>, state_shapes = array<i64>, update = @sgd.update, prologue = @sgd.prologue} : () -> ()

  "canzona.pattern"() {sym_name = "w", name = "layers.{0}.w", first = array<i64: 1>, extents = array<i64: 3>, shape = array<i64: 4, 6>, shard = array<i64: 2, 0>, dtype = "bf16", rule = @mat, reduction = @r, expert_axes = 0 : i64, expert_index = 0 : i64, resident_axes = 0 : i64, residents = array<i64>} : () -> ()
  "canzona.pattern"() {sym_name = "v", name = "{1}.v.{0}", first = array<i64: 0, 5>, extents = array<i64: 2, 2>, shape = array<i64: 3>, shard = array<i64: 0>, dtype = "f32", rule = @sgd, reduction = @r, expert_axes = 0 : i64, expert_index = 0 : i64, resident_axes = 0 : i64, residents = array<i64>} : () -> ()
  "canzona.frozen"() {sym_name = "still", name = "still.{0}", first = array<i64: 2>, extents = array<i64: 3>, shape = array<i64: 8>, shard = array<i64: 2>, dtype = "f32"} : () -> ()
  "canzona.tie"() {name = "again.{0}", first = array<i64: 0>, extents = array<i64: 2>, pattern = @v, index = array<i64: 1, 5>} : () -> ()

  // ---- passes ----
  func.func private @mat.add(%mom: f32, %grad: f32) -> (f32, bf16) {
    %a = arith.addf %mom, %grad : f32
    %b = arith.truncf %a : f32 to bf16
    return %a, %b : f32, bf16
  }
  func.func @mat.before(%grad: tensor<1xf32>, %mom: tensor<1xf32>) -> (tensor<1xf32>, tensor<1xbf16>) {
    %0:2 = "kernel.map"(%mom, %grad) {body = @mat.add, access = array<i64: 0, 0>, out_access = array<i64: 0, 0>, space = array<i64: 1, 1>, offsets = array<i64: -1, -1>} : (tensor<1xf32>, tensor<1xf32>) -> (tensor<1xf32>, tensor<1xbf16>)
    return %0#0, %0#1 : tensor<1xf32>, tensor<1xbf16>
  }
  "canzona.stage"() {sym_name = "mat.1", rule = @mat, where = "before", ins = ["grad", "state:0"], outs = ["state:0", "gather:0"], in_dtypes = ["f32", "f32"], out_dtypes = ["f32", "bf16"], scalars = array<i64>, body = @mat.before, flops = 1 : i64, work_bytes = 0 : i64} : () -> ()
  func.func private @mat.square(%g: bf16) -> f64 {
    %0 = arith.extf %g : bf16 to f32
    %1 = arith.extf %0 : f32 to f64
    %2 = arith.mulf %1, %1 : f64
    return %2 : f64
  }
  func.func private @mat.norm(%sum: f64) -> f32 {
    %0 = math.sqrt %sum : f64
    %1 = arith.truncf %0 : f64 to f32
    return %1 : f32
  }
  func.func private @mat.divide(%y: f32, %norm: f32) -> f32 {
    %0 = arith.truncf %y : f32 to bf16
    %1 = arith.extf %0 : bf16 to f32
    %2 = arith.divf %1, %norm : f32
    return %2 : f32
  }
  func.func @mat.whole(%x: tensor<4x6xbf16>) -> tensor<4x6xf32> {
    %g = "kernel.product"(%x, %x) {body = "", access = array<i64: 0, 0>, transpose_a = 0 : i64, transpose_b = 1 : i64, symmetric = 1 : i64, alpha = 1.0 : f64, beta = 0.0 : f64, offsets = array<i64: 0, 64>} : (tensor<4x6xbf16>, tensor<4x6xbf16>) -> tensor<4x4xbf16>
    %sum = "kernel.map"(%g) {body = @mat.square, access = array<i64: 0>, out_access = array<i64: 6>, space = array<i64: 4, 4>, offsets = array<i64: 128>} : (tensor<4x4xbf16>) -> tensor<f64>
    %norm = "kernel.map"(%sum) {body = @mat.norm, access = array<i64: 0>, out_access = array<i64: 0>, space = array<i64: 1, 1>, offsets = array<i64: 192>} : (tensor<f64>) -> tensor<f32>
    %y = "kernel.product"(%g, %x, %norm) {body = @mat.divide, access = array<i64: 0, 0, 3>, transpose_a = 0 : i64, transpose_b = 0 : i64, symmetric = 0 : i64, alpha = 1.0 : f64, beta = 0.0 : f64, offsets = array<i64: -1, 256>} : (tensor<4x4xbf16>, tensor<4x6xbf16>, tensor<f32>) -> tensor<4x6xf32>
    return %y : tensor<4x6xf32>
  }
  "canzona.stage"() {sym_name = "mat.2", rule = @mat, where = "whole", ins = ["gather:0"], outs = ["scatter:0"], in_dtypes = ["bf16"], out_dtypes = ["f32"], scalars = array<i64>, body = @mat.whole, flops = 500 : i64, work_bytes = 384 : i64} : () -> ()
  func.func private @mat.step(%param: f32, %o: f32, %lr: f32) -> (f32, bf16) {
    %0 = arith.mulf %lr, %o : f32
    %1 = arith.subf %param, %0 : f32
    %2 = arith.truncf %1 : f32 to bf16
    return %1, %2 : f32, bf16
  }
  func.func @mat.after(%param: tensor<1xf32>, %o: tensor<1xf32>, %lr: f32) -> (tensor<1xf32>, tensor<1xbf16>) {
    %0:2 = "kernel.map"(%param, %o, %lr) {body = @mat.step, access = array<i64: 0, 0, 4>, out_access = array<i64: 0, 0>, space = array<i64: 1, 1>, offsets = array<i64: -1, -1>} : (tensor<1xf32>, tensor<1xf32>, f32) -> (tensor<1xf32>, tensor<1xbf16>)
    return %0#0, %0#1 : tensor<1xf32>, tensor<1xbf16>
  }
  "canzona.stage"() {sym_name = "mat.3", rule = @mat, where = "after", ins = ["param", "scatter:0"], outs = ["param", "stored"], in_dtypes = ["f32", "f32"], out_dtypes = ["f32", "bf16"], scalars = array<i64: 0>, body = @mat.after, flops = 2 : i64, work_bytes = 0 : i64} : () -> ()
  func.func private @sgd.body(%grad: f32, %param: f32, %lr: f32) -> f32 {
    %small = arith.constant 1.250000e-01 : f32
    %size = math.absf %grad : f32
    %is_small = arith.cmpf olt, %size, %small : f32
    %step = arith.mulf %lr, %grad : f32
    %param1 = arith.subf %param, %step : f32
    %out = arith.select %is_small, %param, %param1 : f32
    return %out : f32
  }
  func.func @sgd.local(%grad: tensor<1xf32>, %param: tensor<1xf32>, %lr: f32) -> tensor<1xf32> {
    %0 = "kernel.map"(%grad, %param, %lr) {body = @sgd.body, access = array<i64: 0, 0, 4>, out_access = array<i64: 0>, space = array<i64: 1, 1>, offsets = array<i64: -1>} : (tensor<1xf32>, tensor<1xf32>, f32) -> tensor<1xf32>
    return %0 : tensor<1xf32>
  }
  "canzona.stage"() {sym_name = "sgd.1", rule = @sgd, where = "local", ins = ["grad", "param"], outs = ["param"], in_dtypes = ["f32", "f32"], out_dtypes = ["f32"], scalars = array<i64: 0>, body = @sgd.local, flops = 2 : i64, work_bytes = 0 : i64} : () -> ()

  "canzona.assign"() {pattern = @w, split_owner = array<i64: 0, 0, 1>, shard_owner = array<i64: 0, 1, 0>, subgroup_size = array<i64: 1, 1, 1>, stride = array<i64: 1, 1, 1>} : () -> ()
  "canzona.assign"() {pattern = @v, split_owner = array<i64: -1, -1, -1, -1>, shard_owner = array<i64: -1, -1, -1, 0>, subgroup_size = array<i64: 1, 1, 1, 1>, stride = array<i64: 1, 1, 1, 1>} : () -> ()
  "canzona.bucket"() {sym_name = "b0", geometry = "uneven", reduction = @r, dtype = "bf16", length = 36 : i64, params = array<i64: 0, 1, 2>, offsets = array<i64: 0, 12, 24>, slices = array<i64: 0, 24, 36>} : () -> ()
  "canzona.bucket"() {sym_name = "b1", geometry = "uneven", reduction = @r, dtype = "f32", length = 12 : i64, params = array<i64: 3, 4, 5, 6>, offsets = array<i64: 0, 3, 6, 9>, slices = array<i64: 0, 6, 12>} : () -> ()
  "canzona.arena"() {selector = array<i64: 1>, bytes = array<i64: 512, 1024>} : () -> ()
  "canzona.table"() {sym_name = "k", row = "kernel", selector = array<i64: 0>, starts = array<i64: 0, 1, 2>, rows = array<i64: 0, 0, 0, 12, 0, -1, -1, -1, 3, 3, 6, 6, -1, -1, -1, -1>} : () -> ()
  "canzona.table"() {sym_name = "x", row = "transfer", selector = array<i64>, starts = array<i64: 0, 1>, rows = array<i64: 0, 1, 1, 0, 2, 12, 64, 1, 0, 2, 1, 1, 1, 0>} : () -> ()
  "canzona.table"() {sym_name = "s", row = "span", selector = array<i64: 0, 1>, starts = array<i64: 0, 1, 1, 2, 2>, rows = array<i64: 0, 0, 12, 1, 12, 12>} : () -> ()
  "canzona.op"() {kind = "reduce_scatter", stream = 1 : i64, section = "reduce", comm = array<i64: 0>, bucket = 0 : i64, table = "", waits = array<i64>, block_size = 0 : i64, stride = 0 : i64} : () -> ()
  "canzona.op"() {kind = "square_sum", stream = 0 : i64, section = "decide", comm = array<i64>, bucket = -1 : i64, table = @s, waits = array<i64: 0>, block_size = 0 : i64, stride = 0 : i64} : () -> ()
  "canzona.op"() {kind = "decide", stream = 0 : i64, section = "decide", comm = array<i64>, bucket = -1 : i64, table = "", waits = array<i64>, block_size = 0 : i64, stride = 0 : i64} : () -> ()
  "canzona.op"() {kind = "kernel", stream = 0 : i64, section = "update", comm = array<i64>, bucket = -1 : i64, table = @k, waits = array<i64: 0, 2>, block_size = 0 : i64, stride = 0 : i64} : () -> ()
  "canzona.op"() {kind = "transfer", stream = 2 : i64, section = "update", comm = array<i64: 1>, bucket = -1 : i64, table = @x, waits = array<i64: 3>, block_size = 0 : i64, stride = 0 : i64} : () -> ()
}
