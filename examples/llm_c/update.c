/* gpt2_update of llm.c's train_gpt2.c, by the generated C of a plan:
 *
 *     sh examples/llm_c/build.sh LLM_C examples/llm_c/muon.cz
 *
 * Its trainer stays as it is; its gpt2_update gives way to ours (build.sh). */
#define gpt2_update gpt2_update_of_llm_c
#define TESTING /* without main */
#include "train_gpt2.c"
#undef gpt2_update

#include "czr_transport.h"

extern const czr_program PROGRAM;

static czr_engine *engine;

static void check(czr_status status)
{
    if (status == CZR_OK)
        return;
    fprintf(stderr, "canzona: %s: %s\n", czr_status_text(status),
            czr_error(engine));
    exit(EXIT_FAILURE);
}

/* The tensors of llm.c lie one behind the other, parameters as gradients. */
static void bind_tensors(GPT2 *model)
{
    static const char *const names[NUM_PARAMETER_TENSORS] = {
        "wte",      "wpe",      "ln1w", "ln1b", "qkvw", "qkvb",
        "attprojw", "attprojb", "ln2w", "ln2b", "fcw",  "fcb",
        "fcprojw",  "fcprojb",  "lnfw", "lnfb"};
    size_t at = 0;

    for (int i = 0; i < NUM_PARAMETER_TENSORS; at += model->param_sizes[i++]) {
        czr_layout_info of;
        check(czr_layout(engine, names[i], &of));
        if ((size_t)of.n != model->param_sizes[i]) {
            fprintf(stderr, "canzona: the plan has a %s of another size\n",
                    names[i]);
            exit(EXIT_FAILURE);
        }
        const czr_tensor param = {model->params_memory + at, CZR_F32, of.n_dims,
                                  of.shape, NULL};
        const czr_tensor grad = {model->grads_memory + at, CZR_F32, of.n_dims,
                                 of.shape, NULL};
        check(czr_bind(engine, names[i], &param, &grad));
    }
}

/* Of all groups alike.  What a plan has and llm.c has not keeps its default. */
void gpt2_update(GPT2 *model, float learning_rate, float beta1, float beta2,
                 float eps, float weight_decay, int t)
{
    static const char *const names[] = {"lr", "betas_0", "betas_1", "eps",
                                        "decay"};
    const double given[] = {learning_rate, beta1, beta2, eps, weight_decay};
    double values[64];

    if (!engine) {
        czr_world *world; /* of this process alone */
        check(czr_world_open(NULL, &world));
        check(czr_open(&PROGRAM, world, NULL, &engine));
        bind_tensors(model);
        check(czr_seal(engine));
    }
    const int n = czr_hyper_count(engine);
    check(n <= 64 ? CZR_OK : CZR_ERR_UNSUPPORTED);
    for (int i = 0; i < n; i++) {
        czr_hyper_desc hyper;
        check(czr_hyper_get(engine, i, &hyper));
        values[i] = NAN;
        for (int k = 0; k < 5; k++)
            if (strcmp(names[k], hyper.name) == 0)
                values[i] = given[k];
    }
    const czr_hyper hyper = {values, (size_t)n};
    check(czr_step_set(engine, t - 1));
    check(czr_step(engine, &hyper, CZR_NO_STREAM, NULL));
}
