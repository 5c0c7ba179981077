/* Clients that an IRC server has to live with, beside those whose messages are counted.
 *
 * One turn of the loop serves a few of them, so that they cost the generator next to nothing.
 */
#include <stdint.h>

struct nuisances {
    int silent;     /* connect and say nothing */
    int stalled;    /* ask for much and read none of it */
    int flooders;   /* talk to the first channel as fast as they can */
    int joiners;    /* try again and again to join a hundred channels, each of which has a hundred bans */
    int listers;    /* ask again and again for all channels and all people */
    int visitors;   /* come, join, talk, and leave: with a word, without one, or by not reading any more */
};

/* Everybody who is one is called V and a number. */
#define NUISANCE_NICK 'V'

void nuisances_begin(const struct nuisances *want, int port, int channels);
void nuisances_turn(void);
uint64_t nuisances_came(void);
uint64_t nuisances_cut_off(void); /* who did not read, and was let go of by the server */
