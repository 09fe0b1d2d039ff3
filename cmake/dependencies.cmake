# Libraries and tools from outside.  MLIR's C API comes as one archive per
# dialect that we name by file, so that no static closure of MLIR follows.
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
target_link_libraries(cz_mlir INTERFACE MLIR LLVM stdc++ m)
set(CMAKE_BUILD_RPATH /usr/lib/llvm-22/lib)
