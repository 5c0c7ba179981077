/* Clients that an IRC server has to live with: silent, stalled, flooding, asking too much, or only visiting. */
#define _GNU_SOURCE
#include "nuisance.h"
#include <arpa/inet.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#define READ_BYTES 65536
#define PING_TEXT 400         /* the answer is as long: what is not read adds up */
#define STAY_TURNS 64         /* of its own, at most, before a visitor leaves */
#define AT_A_TIME 8
#define SELDOM 8              /* one visitor in so many stops reading… */
#define BAN_CHANNELS 100
#define BANS 100              /* in each of them */
#define BANS_AT_ONCE 4        /* what every server takes in one MODE */
#define SET_UP_S 60
#define SOME 2                /* …unless so many do already, which takes them longer than to leave */

enum fate { SILENT, FLOODS, STALLS, JOINS, LISTS, QUITS, VANISHES };
enum phase { AWAY, CONNECTED, HERE, LEAVING };

struct nuisance {
    int fd;
    enum fate fate;
    enum phase phase;
    bool is_visitor;          /* comes again, with another fate */
    int channel, turns_left;
    char out[8192];
    size_t out_bytes;
};

static struct nuisance *nuisances;
static struct sockaddr_in server;
static int total, next, channel_count, stalling;
static uint64_t came, cut_off, chance = 88172645463325252ull;

static int any(int below) { /* xorshift: the same people come in every run */
    chance ^= chance << 13, chance ^= chance >> 7, chance ^= chance << 17;
    return chance % below;
}

static void say(struct nuisance *one, const char *text) {
    size_t bytes = strlen(text);
    if (one->out_bytes + bytes <= sizeof one->out) {
        memcpy(one->out + one->out_bytes, text, bytes);
        one->out_bytes += bytes;
    }
}

static void come(struct nuisance *one) {
    char text[200];
    one->fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (one->fd < 0)
        return;
    setsockopt(one->fd, SOL_SOCKET, SO_LINGER, &(struct linger){1, 0}, sizeof(struct linger));
    connect(one->fd, (const struct sockaddr *)&server, sizeof server);
    if (one->is_visitor)
        one->fate = any(SELDOM) || stalling >= SOME ? QUITS + any(2) : STALLS;
    stalling += one->fate == STALLS;
    one->phase = CONNECTED;
    one->out_bytes = 0;
    one->channel = one->is_visitor ? any(channel_count) : 0;
    one->turns_left = 1 + any(STAY_TURNS);
    unsigned long long number = ++came;
    snprintf(text, sizeof text, "NICK V%llu\r\nUSER v 0 * :v\r\nJOIN #c%d\r\nPRIVMSG #c%d :here I am\r\n", number,
             one->channel, one->channel);
    if (one->fate != SILENT)
        say(one, text);
}

static void leave(struct nuisance *one) {
    stalling -= one->fate == STALLS;
    close(one->fd);
    one->fd = -1;
    one->phase = AWAY;
}

static bool is_over(ssize_t result) { return result < 0 && errno != EAGAIN && errno != EINPROGRESS; }

static void hear(struct nuisance *one) {
    static char ignored[READ_BYTES];
    ssize_t got = recv(one->fd, ignored, sizeof ignored, 0);
    if (got == 0 || is_over(got))
        leave(one);
}

static void flush(struct nuisance *one) {
    if (!one->out_bytes)
        return;
    ssize_t sent = send(one->fd, one->out, one->out_bytes, MSG_NOSIGNAL);
    if (sent > 0)
        memmove(one->out, one->out + sent, one->out_bytes -= sent);
    else if (is_over(sent)) {
        cut_off += one->fate == STALLS && one->phase == LEAVING;
        leave(one);
    }
}

static void flood(struct nuisance *one, const char *before) {
    char text[PING_TEXT + 64];
    int head = snprintf(text, sizeof text, "%s", before);
    memset(text + head, 'x', PING_TEXT);
    strcpy(text + head + PING_TEXT, "\r\n");
    for (size_t room = sizeof one->out - sizeof text; one->out_bytes < room;)
        say(one, text);
    flush(one);
}

/* A line that costs the server much is sent again as soon as the last one is on its way. */
static void insist(struct nuisance *one, const char *line) {
    if (!one->out_bytes)
        say(one, line);
    flush(one);
}

static char join_all[8 * BAN_CHANNELS] = "JOIN ";

/* Somebody who makes the channels that joiners are banned from, and stays in them. */
static void ban_joiners(void) {
    static char text[BAN_CHANNELS * (BANS / BANS_AT_ONCE + 1) * 128];
    char *end = text + sprintf(text, "NICK V0\r\nUSER v 0 * :v\r\n");
    for (int channel = 0; channel < BAN_CHANNELS; channel++) {
        sprintf(strchr(join_all, 0), "%s#b%d", channel ? "," : "", channel);
        end += sprintf(end, "JOIN #b%d\r\n", channel);
        for (int ban = 0; ban < BANS; ban += BANS_AT_ONCE) {
            end += sprintf(end, "MODE #b%d +bbbb", channel);
            for (int i = ban; i < ban + BANS_AT_ONCE; i++)
                end += i == BANS - 1 ? sprintf(end, " V*!*@*") : sprintf(end, " *e*v*i*l*!*@10.0.0.%d", i);
            end += sprintf(end, "\r\n");
        }
    }
    end += sprintf(end, "PING :all-set\r\n");
    strcat(join_all, "\r\n");

    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct timeval patience = {.tv_sec = SET_UP_S};
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    if (connect(fd, (const struct sockaddr *)&server, sizeof server))
        return;
    static char got[READ_BYTES];
    size_t held = 0;
    for (const char *at = text;;) {
        ssize_t sent = at < end ? send(fd, at, end - at, MSG_NOSIGNAL | MSG_DONTWAIT) : 0;
        if (sent > 0)
            at += sent;
        ssize_t bytes = recv(fd, got + held, sizeof got - held - 1, at < end ? MSG_DONTWAIT : 0);
        if (bytes <= 0 && (at == end || (bytes < 0 && errno != EAGAIN)))
            return;
        if (bytes <= 0)
            continue;
        got[held += bytes] = 0;
        if (strstr(got, "all-set"))
            return;
        held = 0;
    }
}

static void go_on(struct nuisance *one) {
    if (one->is_visitor && one->turns_left-- > 0)
        return;
    switch (one->fate) {
    case SILENT:
        break;
    case FLOODS:
        flood(one, "PRIVMSG #c0 :");
        break;
    case JOINS:
        insist(one, join_all);
        break;
    case LISTS:
        insist(one, "LIST\r\nWHO *\r\n");
        break;
    case STALLS:
        one->phase = LEAVING;
        break;
    case QUITS:
        say(one, "QUIT :bye\r\n");
        one->fate = SILENT; /* until the server hangs up */
        break;
    case VANISHES:
        leave(one);
    }
}

static void serve(struct nuisance *one) {
    switch (one->phase) {
    case AWAY:
        come(one);
        break;
    case CONNECTED:
        flush(one);
        if (!one->out_bytes && one->phase == CONNECTED)
            one->phase = HERE;
        break;
    case HERE:
        hear(one);
        if (one->phase == HERE)
            flush(one);
        if (one->phase == HERE)
            go_on(one);
        break;
    case LEAVING: /* it does not read any more, and waits to be let go of */
        flush(one);
        if (one->phase == LEAVING)
            flood(one, "PING :");
    }
}

void nuisances_begin(const struct nuisances *want, int port, int channels) {
    int counts[] = {want->silent, want->flooders, want->stalled, want->joiners, want->listers, want->visitors};
    int kinds = sizeof counts / sizeof *counts, all = 1;
    server = (struct sockaddr_in){
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    channel_count = channels;
    for (int kind = 0; kind < kinds; kind++)
        all += counts[kind];
    nuisances = calloc(all, sizeof *nuisances);
    for (int kind = 0; nuisances && kind < kinds; kind++)
        for (int i = 0; i < counts[kind]; i++)
            nuisances[total++] =
                (struct nuisance){.fd = -1, .fate = (enum fate)kind, .is_visitor = kind == kinds - 1};
    if (want->joiners)
        ban_joiners();
}

void nuisances_turn(void) {
    for (int i = 0; i < total && i < AT_A_TIME; i++) {
        serve(&nuisances[next]);
        next = (next + 1) % total;
    }
}

uint64_t nuisances_came(void) { return came; }
uint64_t nuisances_cut_off(void) { return cut_off; }
