# Libraries and tools from outside.  MLIR's C API comes as one archive per
# dialect that we name by file, so that no static closure of MLIR follows.
# Where targets have CZ_STATIC_MLIR, all of MLIR and LLVM are archives: the
# shared libraries take 25 ms to load, more than most commands do.
find_package(MLIR 22.1 REQUIRED CONFIG HINTS /usr/lib/llvm-22/lib/cmake/mlir)
find_package(Threads REQUIRED)
find_package(PkgConfig REQUIRED)
pkg_check_modules(JANSSON REQUIRED IMPORTED_TARGET jansson)
pkg_check_modules(NETTLE REQUIRED IMPORTED_TARGET nettle)
find_program(RE2C re2c REQUIRED)
find_program(LEMON lemon REQUIRED)

add_library(cz_mlir INTERFACE)
target_include_directories(cz_mlir SYSTEM INTERFACE
  ${MLIR_INCLUDE_DIRS} ${LLVM_INCLUDE_DIRS})
foreach(part Func Arith Math Tensor Linalg IRDL Transforms Interfaces IR)
  target_link_libraries(cz_mlir INTERFACE $<TARGET_FILE:MLIRCAPI${part}>)
endforeach()
file(GLOB archives ${LLVM_LIBRARY_DIRS}/libMLIR*.a ${LLVM_LIBRARY_DIRS}/libLLVM*.a)
list(JOIN archives " " archives)
set(script ${CMAKE_BINARY_DIR}/mlir_archives.ld)
file(CONFIGURE OUTPUT ${script} CONTENT "GROUP(${archives})\n" @ONLY)
find_library(ZLIB NAMES z libz.so.1 REQUIRED)
find_library(ZSTD NAMES zstd libzstd.so.1 REQUIRED)
set(is_static $<BOOL:$<TARGET_PROPERTY:CZ_STATIC_MLIR>>)
target_link_libraries(cz_mlir INTERFACE
  "$<IF:${is_static},${script};${ZLIB};${ZSTD},MLIR;LLVM>" stdc++ m)
target_link_options(cz_mlir INTERFACE $<${is_static}:LINKER:--gc-sections>)
set(CMAKE_BUILD_RPATH /usr/lib/llvm-22/lib)
