/* The signals that end a process from outside: hangup, interrupt, terminate.
 * They wait while something is half done that would stay behind. */
#ifndef CZ_FRONTEND_RUN_SIGNALS_H
#define CZ_FRONTEND_RUN_SIGNALS_H

/* From here on they wait, whichever thread they reach.  Does not nest; one that
 * the process ignores stays ignored. */
void cz_signals_hold(void);
/* One that came since then ends the process here. */
void cz_signals_release(void);
/* Between the two: runs a program, found as a shell finds it, to its end.
 * A signal ends the program at once, and is held for cz_signals_release().
 * The exit status; -1 where there is none. */
int cz_signals_run(char *const arguments[]);

#endif
