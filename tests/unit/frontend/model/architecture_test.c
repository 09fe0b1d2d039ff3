/* Names of architectures: which model types they serve. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "frontend/model/model.h"

static void a_storage_serves_the_type_that_it_stores(void **state)
{
    (void)state;
    assert_true(cz_architecture_serves("qwen3", "qwen3"));
    assert_true(cz_architecture_serves("qwen3_megatron", "qwen3"));
    assert_true(cz_architecture_serves("qwen3_torchtitan", "qwen3"));
    assert_true(cz_architecture_serves("qwen3_moe_megatron", "qwen3_moe"));
    assert_true(cz_architecture_serves("my_megatron", "my_megatron"));
}

static void no_other_beginning_is_a_type(void **state)
{
    (void)state;
    assert_false(cz_architecture_serves("qwen3_moe", "qwen3"));
    assert_false(cz_architecture_serves("qwen3_moe_megatron", "qwen3"));
    assert_false(cz_architecture_serves("qwen3", "qwen3_megatron"));
    assert_false(cz_architecture_serves("qwen3_megatron", "qwen"));
    assert_false(cz_architecture_serves("qwen3_megatron_torchtitan", "qwen3"));
    assert_false(cz_architecture_serves("_megatron", ""));
    assert_false(cz_architecture_serves("llama_megatron", "llama_torchtitan"));
}

static void storages_are_known_by_how_names_end(void **state)
{
    (void)state;
    assert_true(cz_architecture_has_storage("gpt2_megatron"));
    assert_true(cz_architecture_has_storage("llama_torchtitan"));
    assert_false(cz_architecture_has_storage("llama"));
    assert_false(cz_architecture_has_storage("megatron"));
    assert_false(cz_architecture_has_storage("llama_megatron_2"));
}

static void
a_type_with_the_parameters_of_another_has_its_architecture(void **state)
{
    (void)state;
    assert_string_equal(cz_architecture_of("mistral"), "llama");
    assert_string_equal(cz_architecture_of("kimi_k2"), "deepseek_v3");
    assert_string_equal(cz_architecture_of("falcon_mamba"), "mamba");
    assert_string_equal(cz_architecture_of("qwen3"), "qwen3");
    assert_true(cz_architecture_serves("llama", "mistral"));
    assert_true(cz_architecture_serves("deepseek_v3_megatron", "kimi_k2"));
    assert_true(cz_architecture_serves("mistral", "mistral"));
    assert_false(cz_architecture_serves("mistral", "llama"));
    assert_false(cz_architecture_serves("qwen3", "mistral"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_storage_serves_the_type_that_it_stores),
        cmocka_unit_test(no_other_beginning_is_a_type),
        cmocka_unit_test(storages_are_known_by_how_names_end),
        cmocka_unit_test(
            a_type_with_the_parameters_of_another_has_its_architecture),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
