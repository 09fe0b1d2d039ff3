/* Turns of threads: the double is made for one at a time. */
#define _POSIX_C_SOURCE 200809L
#include "tests/gpu/double/fake_state.h"

#include <pthread.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t next = PTHREAD_COND_INITIALIZER;
static uint64_t drawn, served; /* numbers of turns */
static _Atomic bool has_turns;
static _Thread_local bool is_mine;

static void take(void)
{
    pthread_mutex_lock(&lock);
    const uint64_t number = drawn++;
    while (served != number)
        pthread_cond_wait(&next, &lock);
    has_turns = true;
    pthread_mutex_unlock(&lock);
    is_mine = true;
}

static void give(void)
{
    is_mine = false;
    pthread_mutex_lock(&lock);
    served++;
    pthread_cond_broadcast(&next);
    pthread_mutex_unlock(&lock);
}

void fake_turn_reset(void)
{
    has_turns = false;
}

void fake_begin_turn(void)
{
    take();
}

void fake_end_turn(void)
{
    give();
}

bool fake_yield(void)
{
    if (!is_mine)
        return false;
    give();
    take();
    return true;
}

bool fake_has_turn(void)
{
    return is_mine || !has_turns;
}
