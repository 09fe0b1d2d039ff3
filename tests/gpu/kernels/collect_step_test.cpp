// runtime/cuda/kernels/collect_step.cu beside runtime/math/norm.c,
// runtime/engine/op_norm.c and what runtime/engine/guard.c says.
#include "collect_test.hpp"

static_assert(
    sizeof(decision) == sizeof(czr_collect_decision) &&
        offsetof(decision, counts) == offsetof(czr_collect_decision, counts) &&
        offsetof(decision, clip) == offsetof(czr_collect_decision, clip) &&
        offsetof(decision, largest) ==
            offsetof(czr_collect_decision, largest) &&
        offsetof(decision, status) == offsetof(czr_collect_decision, status) &&
        offsetof(decision, mark) == offsetof(czr_collect_decision, mark) &&
        offsetof(decision, undone) == offsetof(czr_collect_decision, undone) &&
        offsetof(decision, refused_beyond) ==
            offsetof(czr_collect_decision, refused_beyond),
    "verdicts are other structs for C and for the device");
static_assert(sizeof(span) == sizeof(czr_collect_span) &&
                  offsetof(span, first) == offsetof(czr_collect_span, first) &&
                  offsetof(span, limit) == offsetof(czr_collect_span, limit),
              "spans are other structs for C and for the device");
static_assert(
    sizeof(result) == sizeof(czr_collect_result) &&
        offsetof(result, beyond) == offsetof(czr_collect_result, beyond) &&
        offsetof(result, update) == offsetof(czr_collect_result, update) &&
        offsetof(result, rank) == offsetof(czr_collect_result, rank) &&
        offsetof(result, refused_beyond) ==
            offsetof(czr_collect_result, refused_beyond) &&
        offsetof(result, other) == offsetof(czr_collect_result, other) &&
        offsetof(result, words) == offsetof(czr_collect_result, words) &&
        offsetof(result, refused) == offsetof(czr_collect_result, refused) &&
        offsetof(result, undone) == offsetof(czr_collect_result, undone) &&
        offsetof(result, sequence) == offsetof(czr_collect_result, sequence),
    "results are other structs for C and for the device");
static_assert(int(NORM_DIGITS) == int(CZR_NORM_DIGITS) &&
                  int(NORM_INFINITIES) == int(CZR_NORM_INFINITIES) &&
                  int(NORM_NANS) == int(CZR_NORM_NANS) &&
                  int(NORM_NONFINITE) == int(CZR_NORM_NONFINITE) &&
                  int(NORM_FAULTS) == int(CZR_NORM_FAULTS) &&
                  int(NORM_WORDS) == int(CZR_NORM_WORDS) &&
                  LOWEST_BIT == 2 * (-127 - 23) - CZR_NORM_LOWEST,
              "norms are others for C and for the device");
static_assert(int(MAY_BE_BEYOND) == int(CZR_COLLECT_MAY_BE_BEYOND) &&
                  int(FAULTY) == int(CZR_COLLECT_FAULTY) &&
                  int(BEYOND) == int(CZR_COLLECT_BEYOND) &&
                  int(COUNTS) == int(CZR_COLLECT_COUNTS) &&
                  int(APPLIED) == int(CZR_COLLECT_APPLIED) &&
                  int(FAULT) == int(CZR_COLLECT_FAULT) &&
                  int(GRADIENT) == int(CZR_COLLECT_GRADIENT) &&
                  int(NORM) == int(CZR_COLLECT_NORM) &&
                  int(UNDONE) == int(CZR_COLLECT_UNDONE) &&
                  int(MISMATCH) == int(CZR_ERR_MISMATCH) &&
                  int(SPAN_UNIT) == int(CZR_COLLECT_CHUNK),
              "numbers are others for C and for the device");

// As the runtime lays them out.
static void number_spans(std::vector<span> &spans, u64 &n_jobs)
{
    n_jobs = 0;
    for (span &s : spans) {
        s.first = n_jobs;
        n_jobs += (s.n + SPAN_UNIT - 1) / SPAN_UNIT;
    }
}

static decision draw_decision()
{
    decision v = {};

    for (u64 &word : v.norm)
        word = pick(1ull << 40);
    v.norm[NORM_INFINITIES] = v.norm[NORM_NANS] = 0;
    v.norm[NORM_NONFINITE] = v.norm[NORM_FAULTS] = 0;
    return v;
}

// ---- the norm ----

// A gradient: numbers of one size, of any, or zeros and some of one size.
static float draw_gradient(u64 kind)
{
    if (kind == 0)
        return draw_float(0);
    if (kind == 1)
        return draw_float(20);
    if (kind == 2)
        return pick(3) ? 0.f : draw_float(0) * 1e-30f;
    // Exponents of all sizes, side by side.
    return float_of((static_cast<u32>(pick(255)) << 23) |
                    static_cast<u32>(pick(1 << 23)));
}

struct gradients {
    std::vector<numbers> memory;
    std::vector<span> spans;
    u64 n_jobs;
};

static gradients draw_gradients(bool is_wild)
{
    const u64 kind = is_wild ? pick(4) : 0;
    gradients g;

    for (u64 k = pick(7); k; k--) {
        const u64 n = pick(4) ? pick(400) : pick(3 * SPAN_UNIT);
        g.memory.emplace_back(CZR_F32, n, pick(2) ? 0 : pick(4));
        for (u64 i = 0; i < n; i++) {
            const float x = draw_gradient(kind);
            std::memcpy(g.memory.back().at(i), &x, sizeof x);
        }
        g.spans.push_back({nullptr, n, 0, static_cast<int>(k), 0});
    }
    for (std::size_t i = 0; i < g.spans.size(); i++)
        g.spans[i].data = static_cast<const float *>(g.memory[i].at(0));
    number_spans(g.spans, g.n_jobs);
    return g;
}

// Digits as the host's: all but the top one below 2^32.
static czr_norm carried(const u64 *words)
{
    czr_norm norm;
    const float nothing = 0;

    std::memcpy(norm.words, words, sizeof norm.words);
    czr_norm_add(&norm, &nothing, 1);
    return norm;
}

static void check_norm(const std::vector<span> &spans, u64 n_jobs)
{
    decision v = draw_decision();
    czr_norm wanted = carried(v.norm);

    v.norm[NORM_FAULTS] = 3;
    wanted.words[NORM_FAULTS] = 3;
    for (const span &s : spans)
        czr_norm_add(&wanted, s.data, s.n);
    launch_some([&] {
        collect_norm(spans.data(), static_cast<int>(spans.size()), n_jobs, &v);
    });
    const czr_norm mine = carried(v.norm);
    for (u64 i = 0; i < NORM_WORDS; i++)
        if (mine.words[i] != wanted.words[i])
            differ("a word of the norm", i);
}

static void test_norm()
{
    const gradients g = draw_gradients(true);

    check_norm(g.spans, g.n_jobs);
}

// 3 (1 + 4 + ... + 4^n) + 1 = 4^(n + 1): a carry goes through all digits.
static void test_carries()
{
    const int low = static_cast<int>(pick(60)) - 60, n = 20 + int(pick(60));
    std::vector<float> powers = {std::ldexp(1.f, low)};
    u64 n_jobs;

    for (int i = 0; i < 3 * n; i++)
        powers.push_back(std::ldexp(1.f, low + i / 3));
    for (std::size_t i = powers.size() - 1; i; i--)
        std::swap(powers[i], powers[pick(i + 1)]);
    std::vector<span> spans = {{powers.data(), powers.size(), 0, 0, 0}};
    number_spans(spans, n_jobs);
    check_norm(spans, n_jobs);
}

// ---- the guard ----

static int limit_of(int exponent)
{
    return (exponent + 127) << 23;
}

// All small, but for one that may be at the limit, or next to it, of either
// sign.
static void calm(gradients &g, std::size_t i)
{
    const span &s = g.spans[i];
    const u32 bits = static_cast<u32>(s.limit) - static_cast<u32>(pick(2));

    for (u64 k = 0; k < s.n; k++)
        czr_fill(g.memory[i].at(k), CZR_F32, 1e-9, 1);
    if (s.n) {
        const float x = float_of(bits | static_cast<u32>(pick(2)) << 31);
        std::memcpy(g.memory[i].at(pick(s.n)), &x, sizeof x);
    }
}

static void test_guard()
{
    gradients g = draw_gradients(pick(2));
    decision v = draw_decision();
    int wanted = NOBODY;

    v.counts[MAY_BE_BEYOND] = pick(4) > 0;
    v.beyond = NOBODY;
    for (std::size_t k = 0; k < g.spans.size(); k++) {
        span &s = g.spans[k];
        s.limit = limit_of(pick(2) ? 128 : static_cast<int>(pick(8)) - 4);
        if (pick(2))
            calm(g, k);
        bool is_beyond = false;
        for (u64 i = 0; i < s.n; i++)
            is_beyond |=
                !(std::fabs(s.data[i]) < std::ldexp(1., (s.limit >> 23) - 127));
        if (is_beyond && v.counts[MAY_BE_BEYOND] && s.param < wanted)
            wanted = s.param;
    }
    launch_some([&] {
        collect_guard(g.spans.data(), static_cast<int>(g.spans.size()),
                      g.n_jobs, &v);
    });
    if (v.beyond != wanted || v.counts[BEYOND] != (wanted != NOBODY))
        differ("the first gradient that is beyond", static_cast<u64>(v.beyond));
}

static u64 fault_word(int status, u64 mark)
{
    return 1ull << 63 | (mark + 1) * 256 | static_cast<u64>(status);
}

// With it ranks are told of a rule that failed, or who the rank is.
static void ask(decision &v, int limit)
{
    const int n_ranks = 1 + static_cast<int>(pick(600));
    const int rank = static_cast<int>(pick(static_cast<u64>(n_ranks)));
    const int number = 1 + static_cast<int>(pick(9));
    const double hypers[] = {std::ldexp(1., -static_cast<int>(pick(9))), 0.1};
    const int n_hypers = static_cast<int>(pick(3));
    std::vector<u64> words(static_cast<size_t>(n_ranks) + 1, 77);

    simt::launch(1, THREADS, [&] {
        collect_ask(&v, &v.counts[MAY_BE_BEYOND], limit, words.data(), rank,
                    n_ranks, number, hypers, n_hypers);
    });
    const u64 mine = v.status ? fault_word(v.status, static_cast<u64>(v.mark))
                              : static_cast<u64>(czr_identity_word(
                                    number, v.steps + 1, hypers, n_hypers));
    for (int k = 0; k < n_ranks; k++)
        if (words[static_cast<size_t>(k)] != (k == rank ? mine : 0))
            differ("what ranks are told", static_cast<u64>(k));
    if (words[static_cast<size_t>(n_ranks)] != 77)
        differ("what is behind the last rank", 77);
}

static void test_begin_and_ask()
{
    decision v, before;
    std::memset(&v, 0x5a, sizeof v);
    v.status = static_cast<int>(pick(3));
    v.mark = static_cast<int>(pick(1000));
    before = v;
    simt::launch(1, 1, [&] { collect_begin(&v); });
    const u64 faults = v.status != 0;
    u64 sum = 0;
    for (u64 word : v.norm)
        sum += word;
    if (sum != faults || v.norm[NORM_FAULTS] != faults ||
        v.counts[FAULTY] != faults || v.counts[BEYOND] ||
        v.counts[MAY_BE_BEYOND] || v.clip != 1 || v.grad_norm != 0 ||
        v.largest || v.beyond != NOBODY || v.skip ||
        v.status != before.status || v.steps != before.steps ||
        v.sequence != before.sequence || v.t != before.t)
        differ("a step's beginning", faults);
    v.largest = limit_of(static_cast<int>(pick(9)) - 4) + int(pick(3)) - 1;
    const int limit = limit_of(static_cast<int>(pick(9)) - 4);
    ask(v, limit);
    if (v.counts[MAY_BE_BEYOND] != (v.largest >= limit))
        differ("what may be beyond", v.counts[MAY_BE_BEYOND]);
}

// ---- the decision ----

// Sums near those that rounding has to tell apart: few bits set, or carries
// left over from ranks.
static void draw_words(u64 *words)
{
    const u64 kind = pick(4), low = pick(NORM_DIGITS), n = pick(8);

    for (int i = 0; i < NORM_WORDS; i++)
        words[i] = 0;
    for (u64 d = low; d < NORM_DIGITS - 1 && d <= low + n; d++)
        if (kind == 0)
            words[d] = pick(1ull << 45);
        else if (kind == 1)
            words[d] = pick(1ull << 32);
        else if (kind == 2)
            words[d] = 1ull << pick(32) | (pick(2) ? 1ull << pick(32) : 0);
        else
            words[d] = 0xffffffff & ~(pick(2) ? 1ull << pick(32) : 0);
    // Half of a last place that is even, exactly.
    if (pick(4) == 0) {
        words[low + 3 < NORM_DIGITS ? low + 3 : 3] = 1ull << 20 | pick(2);
        words[low + 2 < NORM_DIGITS ? low + 2 : 2] = 1ull << 31;
    }
    if (pick(8) == 0)
        words[NORM_INFINITIES] = pick(3);
    if (pick(8) == 0)
        words[NORM_NANS] = pick(3);
    if (pick(8) == 0)
        words[NORM_NONFINITE] = pick(3);
    if (pick(8) == 0)
        words[NORM_FAULTS] = pick(3);
}

// The host's decision, for a plan that skips.
static void decide_on_host(const decision &v, double clip, czr_engine &engine)
{
    static czr_program program;
    static czr_norm norm;
    static czr_world world; // of no rank
    czr_segment turn = {};

    std::memset(&engine, 0, sizeof engine);
    std::memset(&program, 0, sizeof program);
    program.clip = clip;
    program.skip = 1;
    engine.program = &program;
    std::memcpy(norm.words, v.norm, sizeof norm.words);
    engine.norm = &norm;
    engine.world = &world;
    czr_op_decide(&engine, 0, &turn);
}

static int reason_wanted(const decision &v, const czr_engine &engine)
{
    if (engine.is_faulty || v.counts[FAULTY] || v.stopped)
        return FAULT;
    if (v.counts[BEYOND])
        return GRADIENT;
    return engine.is_skipped ? NORM : APPLIED;
}

static bool is_same_number(double a, double b)
{
    return bits_of(a) == bits_of(b) || (a != a && b != b);
}

// Those of all steps so far, and of what the last was.
static void expect_refusal(const decision &before, int reason, const result &r)
{
    const bool is_refused = reason == GRADIENT || reason == NORM;

    if (r.refused != before.refused + is_refused ||
        r.refusal != (is_refused ? reason : int(GRADIENT)) ||
        r.refused_beyond != (is_refused ? before.beyond : 9))
        differ("what was refused", static_cast<u64>(r.refused));
}

// The rank's own, or that of the lowest rank that all are stopped for.
static void expect_fault(const decision &before, int reason, const result &r)
{
    const bool stops = reason == FAULT;
    const int status = stops ? 7 : before.status;

    if (before.stopped) { // it was reported before
        if (r.status || r.rank)
            differ("who failed first", static_cast<u64>(r.status));
        return;
    }
    if (r.status != status || r.rank != stops ||
        r.mark != (stops    ? 4
                   : status ? before.mark
                            : 0) ||
        r.update != (stops    ? before.steps
                     : status ? before.update
                              : 0))
        differ("which rule failed", static_cast<u64>(r.status));
}

static void test_decide()
{
    static const double clips[] = {0, 1, 0.5, 1e-3, 1e30};
    const double clip = clips[pick(sizeof clips / sizeof *clips)];
    static czr_engine engine;
    decision v = {};
    result r = {};

    draw_words(v.norm);
    v.counts[FAULTY] = pick(6) == 0;
    v.stopped = pick(9) == 0;
    v.counts[BEYOND] = pick(6) == 0;
    v.clip = 1;
    v.steps = static_cast<long long>(pick(1000));
    v.sequence = static_cast<long long>(pick(1000));
    v.beyond = static_cast<int>(pick(9));
    v.status = static_cast<int>(pick(9));
    v.mark = static_cast<int>(pick(9));
    v.update = static_cast<long long>(pick(9));
    v.refused = static_cast<long long>(pick(9));
    v.refusal = GRADIENT;
    v.refused_beyond = 9;
    const decision before = v;
    decide_on_host(v, clip, engine);
    const u64 faults[3] = {12, fault_word(7, 4), fault_word(1, 0)};
    simt::launch(1, THREADS,
                 [&] { collect_decide(&v, 1, clip, faults, 3, &r); });
    const int reason = reason_wanted(before, engine);
    const long long steps = before.steps + (reason == APPLIED);
    if (!is_same_number(v.grad_norm, engine.grad_norm))
        differ("the norm", bits_of(v.grad_norm));
    if (!is_same_number(v.clip, engine.clip))
        differ("the coefficient", bits_of(v.clip));
    if (v.skip != (reason != APPLIED) || v.steps != steps ||
        v.t != static_cast<double>(steps) || v.sequence != before.sequence + 1)
        differ("the decision", static_cast<u64>(v.skip));
    if (!is_same_number(r.grad_norm, v.grad_norm) || r.step != steps ||
        r.reason != reason || r.beyond != before.beyond ||
        r.sequence != v.sequence)
        differ("what the host is told", static_cast<u64>(r.reason));
    expect_fault(before, reason, r);
    expect_refusal(before, reason, r);
}

// Many roots: they are quick.
static void test_decisions()
{
    for (int i = 0; i < 50; i++)
        test_decide();
}

static void test_without_norm()
{
    decision v = draw_decision();
    result r = {};

    v.clip = 1;
    u64 word = 12;
    simt::launch(1, THREADS, [&] { collect_decide(&v, 0, 0, &word, 1, &r); });
    if (v.grad_norm != 0 || v.clip != 1 || v.skip || r.grad_norm != 0 ||
        v.steps != 1 || r.sequence != 1)
        differ("a decision without norm", static_cast<u64>(v.skip));
}

// All ranks stop where one is at another update, or in another engine; it is
// told which, and once.
static void test_strangers()
{
    const int n_ranks = 1 + static_cast<int>(pick(600));
    std::vector<u64> words(static_cast<size_t>(n_ranks), 12);
    std::vector<int64_t> same;
    decision v = draw_decision();
    result r = {};
    int ranks[2];

    for (u64 i = pick(4); i > 0; i--)
        words[pick(words.size())] = pick(3) ? 10 + pick(5) : 0;
    same.assign(words.begin(), words.end());
    const bool differs = czr_identity_find(same.data(), n_ranks, ranks);
    v.stopped = pick(3) == 0;
    const bool stops = differs || v.stopped, tells = differs && !v.stopped;
    simt::launch(1, THREADS,
                 [&] { collect_decide(&v, 0, 0, words.data(), n_ranks, &r); });
    if (v.skip != stops || v.stopped != stops || v.steps == stops ||
        r.reason != (stops ? int(FAULT) : int(APPLIED)) ||
        r.status != (tells ? int(MISMATCH) : 0))
        differ("what becomes of strangers", static_cast<u64>(r.reason));
    if (tells && (r.rank != ranks[0] || r.other != ranks[1] ||
                  r.words[0] != words[static_cast<size_t>(ranks[0])] ||
                  r.words[1] != words[static_cast<size_t>(ranks[1])]))
        differ("the stranger's name", static_cast<u64>(r.rank));
}

// ---- rules that failed ----

// Few rows fail, or none; some are behind the first of each thread.
static void test_note()
{
    const u64 n = pick(1200);
    const int n_ranks = 1 + static_cast<int>(pick(600));
    const int rank = static_cast<int>(pick(static_cast<u64>(n_ranks)));
    std::vector<int> marks(n + 1, 0);
    std::vector<u64> faults(static_cast<size_t>(n_ranks) + 1, 7);
    u64 first = n;

    for (u64 i = pick(4); i > 0 && n > 0; i--) {
        const u64 at = pick(n);
        marks[at] = 1 + static_cast<int>(pick(30));
        first = at < first ? at : first;
    }
    marks[n] = 5; // behind the last
    decision v = {};
    v.steps = 3;
    v.status = pick(3) == 0 ? 9 : 0;
    v.mark = 77;
    const int status = first < n ? marks[first] : 0;
    const decision before = v;
    simt::launch(1, THREADS, [&] {
        collect_note(marks.data(), n, &v, faults.data(), rank, n_ranks);
    });
    const bool is_new = status && !before.status;
    if (v.status != (is_new ? status : before.status) ||
        v.mark != (is_new ? static_cast<int>(first) : before.mark) ||
        v.update != (is_new ? 3 : 0))
        differ("the row that failed", first);
    for (u64 i = 0; i < n; i++)
        if (marks[i])
            differ("a row that begins anew", i);
    for (int k = 0; k < n_ranks; k++)
        if (faults[static_cast<size_t>(k)] !=
            (k == rank && status ? fault_word(status, first) : 0))
            differ("a rank's fault", static_cast<u64>(k));
    if (marks[n] != 5 || faults[static_cast<size_t>(n_ranks)] != 7)
        differ("what is behind the last", n);
}

static void test_settle()
{
    const int n_ranks = 1 + static_cast<int>(pick(9));
    std::vector<u64> faults(static_cast<size_t>(n_ranks) + 1, 0);
    decision v = {};
    result decided = {}, reported = {};
    int first = n_ranks;

    for (u64 i = pick(3); i > 0; i--) {
        const int k = static_cast<int>(pick(static_cast<u64>(n_ranks)));
        faults[static_cast<size_t>(k)] =
            fault_word(1 + static_cast<int>(pick(30)), pick(99));
        first = k < first ? k : first;
    }
    faults[static_cast<size_t>(n_ranks)] = fault_word(1, 0); // no rank's
    v.steps = 8;
    v.sequence = 11;
    v.grad_norm = 0.5;
    v.undone = 2;
    v.status = first < n_ranks ? 4 : 0;
    decided.reason = static_cast<int>(pick(4));
    simt::launch(1, THREADS, [&] {
        collect_settle(&v, faults.data(), n_ranks, &decided, &reported);
    });
    const bool is_undone = first < n_ranks;
    const u64 fault =
        is_undone ? faults[static_cast<size_t>(first)] << 1 >> 1 : 0x100;
    if (v.sound == is_undone || v.steps != 8 - is_undone ||
        v.undone != 2 + is_undone || v.status ||
        (is_undone && v.t != static_cast<double>(v.steps)))
        differ("what becomes of an update", static_cast<u64>(first));
    if (reported.reason != (is_undone ? int(UNDONE) : decided.reason) ||
        reported.status != static_cast<int>(fault % 256) ||
        reported.mark != static_cast<int>(fault / 256) - 1 ||
        reported.rank != (is_undone ? first : 0) ||
        reported.update != (is_undone ? 8 : 0) ||
        reported.undone != (is_undone ? v.undone : 0) ||
        reported.sequence != 11 || reported.step != v.steps ||
        reported.grad_norm != 0.5)
        differ("what the host is told of it",
               static_cast<u64>(reported.reason));
}

// Arguments: how many draws, the first seed.
int main(int argc, char **argv)
{
    static void (*const tests[])() = {
        test_norm,          test_carries,   test_guard,
        test_begin_and_ask, test_decisions, test_without_norm,
        test_strangers,     test_note,      test_settle};

    return run_tests(argc, argv, tests, sizeof tests / sizeof *tests);
}
