/* Loads an IRC server on loopback, and counts only what it has verified.
 *
 *   load SCENARIO --port PORT [OPTION…]          one JSON object on stdout; status 1 if anything went wrong
 *
 *   fanout    --senders S --receivers R --window W   one channel; at most W messages are under way
 *   channels  --channels C --members K --window W    everybody speaks in turn; W per channel
 *   pairs     --pairs P --window W                   direct messages, to and fro; W per pair
 *   latency   --channels C --members K --rate N      one speaker per channel, N messages a second in all
 *   connect   --clients N --pid PID                  registrations a second; memory of PID for each
 *
 * With --silent, --stalled, --flooders, --joiners, --listers or --visitors N there are others too: see nuisance.h.
 *
 * Every message carries its sender, its number and the time. A delivery counts if it comes from that sender,
 * to that target, whole, and with the number after the last one; anything else ends the run, as do an error
 * reply, a lost connection, and a message that is missing at the end. A message is under way until
 * every recipient has it, so a server cannot gain by leaving some of them behind.
 * One thread: the server has the other core to itself.
 */
#define _GNU_SOURCE
#include "nuisance.h"
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

#define SECOND 1000000000ull
#define SET_UP_S 120          /* for all of them to be ready */
#define DAY_S 86400
#define DRAIN_S 10            /* for what is under way when the time is up */
#define OPEN_LOOP 65536       /* messages that a paced sender may be ahead by */
#define READ_BYTES (1 << 18)
#define LINE_BYTES 1024       /* RFC 1459 has 512; nobody asks for tags here */
#define STAMP_BYTES 16
#define TEXT_BYTES 34         /* a short sentence */

enum phase { CLOSED, CONNECTING, REGISTERING, JOINING, READY };

struct group {                /* a channel or a pair: clients that hear each other */
    int first, members;       /* which clients */
    int senders;              /* the first of them, who speak */
    int turn;                 /* which of them speaks next */
    int under_way;
    bool fed;                 /* has all under way that it may, and is not in `hungry` */
};

struct client {
    int fd;
    enum phase phase;
    struct group *group;
    char nick[16];
    char prefix[20];          /* how lines that come from it begin */
    char says[48], hears[48]; /* what stands before the stamp, out and in */
    int prefix_bytes, says_bytes, hears_bytes;
    uint32_t next;            /* number of the next message */
    uint32_t *left;           /* by number: recipients that have not got it yet */
    uint32_t *expected;       /* by sender: number that has to come next */
    char *out;
    size_t out_bytes, out_room;
    bool dirty;
    char rest[LINE_BYTES];    /* of a line whose end has not been read */
    size_t rest_bytes;
};

static struct {
    const char *scenario;
    int port, pid, opening, senders, receivers, channels, members, pairs, clients, window, rate;
    double seconds;
} want = {.opening = 100, .senders = 1, .receivers = 100, .channels = 10, .members = 10,
          .pairs = 100, .clients = 1000, .window = 1, .rate = 1000, .seconds = 2};

static struct nuisances nuisances;
static struct client *clients, **dirty;
static struct group *groups, **hungry;
static int total, opened, ready, ponged, dirties, group_count, hungries, epoll;
static uint64_t began, deadline, deliveries, messages, under_way;
static uint64_t counted_from; /* latencies of messages before this are warming up */
static int32_t *latencies_us;
static size_t latency_count, latency_room;
static bool open_loop;

static uint64_t now(clockid_t clock) {
    struct timespec time;
    clock_gettime(clock, &time);
    return time.tv_sec * SECOND + time.tv_nsec;
}

static uint64_t since_start(void) { return now(CLOCK_MONOTONIC) - began; }

__attribute__((format(printf, 1, 2), noreturn))
static void fail(const char *format, ...) {
    char text[LINE_BYTES + 200];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    /* What a server said may hold anything; JSON strings may not. */
    for (char *at = text; *at; at++)
        if (*at == '"' || *at == '\\' || *at < ' ')
            *at = '.';
    printf("{\"scenario\": \"%s\", \"error\": \"%s\"}\n", want.scenario, text);
    exit(1);
}

static void *room_for(size_t count, size_t bytes) {
    void *room = calloc(count ? count : 1, bytes);
    if (!room)
        fail("out of memory");
    return room;
}

/* Six bits to a printable character, and a fixed width: reading it costs less than the server's work. */
static char *encode(char *at, uint64_t value, int width) {
    for (int digit = width; digit-- > 0; value >>= 6)
        at[digit] = '0' + (value & 63);
    return at + width;
}

static uint64_t decode(const char *at, int width) {
    uint64_t value = 0;
    while (width--)
        value = value << 6 | ((*at++ - '0') & 63);
    return value;
}

/* ---- saying */

static char *room_to_say(struct client *client, size_t bytes) {
    if (client->out_bytes + bytes > client->out_room) {
        client->out_room = 2 * (client->out_bytes + bytes);
        client->out = realloc(client->out, client->out_room);
        if (!client->out)
            fail("out of memory");
    }
    if (!client->dirty) {
        client->dirty = true;
        dirty[dirties++] = client;
    }
    return client->out + client->out_bytes;
}

__attribute__((format(printf, 2, 3)))
static void say(struct client *client, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    client->out_bytes += vsnprintf(room_to_say(client, LINE_BYTES), LINE_BYTES, format, arguments);
    va_end(arguments);
}

static void flush(struct client *client) {
    client->dirty = false;
    ssize_t sent = send(client->fd, client->out, client->out_bytes, MSG_NOSIGNAL);
    if (sent < 0 && errno != EAGAIN)
        fail("%s: cannot send: %s", client->nick, strerror(errno));
    if (sent > 0)
        memmove(client->out, client->out + sent, client->out_bytes -= sent);
}

/* One write for all that a client says in a turn of the loop. */
static void flush_all(void) {
    while (dirties)
        flush(dirty[--dirties]);
}

static void speak(struct group *group, uint64_t at) {
    struct client *client = &clients[group->first + group->turn];
    group->turn = (group->turn + 1) % group->senders;
    group->under_way++;
    under_way++;
    messages++;
    client->left[client->next % want.window] = group->members - 1;

    char *text = room_to_say(client, LINE_BYTES), *end = text;
    end = mempcpy(end, client->says, client->says_bytes);
    end = encode(end, client - clients, 3);
    end = encode(end, client->next++, 5);
    end = encode(end, at, 8);
    memset(end, '.', TEXT_BYTES - STAMP_BYTES);
    end = mempcpy(end + TEXT_BYTES - STAMP_BYTES, "\r\n", 2);
    client->out_bytes += end - text;
}

static void feed_all(void) {
    while (hungries) {
        struct group *group = hungry[--hungries];
        while (group->under_way < want.window)
            speak(group, since_start());
        group->fed = true;
    }
}

/* ---- hearing */

static void delivered(struct client *client, const char *line, const char *stamp, uint64_t at) {
    struct group *group = client->group;
    uint64_t sender = decode(stamp, 3), number = decode(stamp + 3, 5);
    uint64_t place = sender - group->first;
    if (place >= (uint64_t)group->senders)
        fail("%s: a message from another channel", client->nick);
    struct client *from = &clients[sender];
    if (from == client || memcmp(line, from->prefix, from->prefix_bytes))
        fail("%s: a message that %s did not send", client->nick, from->nick);
    if (number != client->expected[place])
        fail("%s: number %llu of %s instead of %u", client->nick, (unsigned long long)number, from->nick,
             client->expected[place]);
    client->expected[place]++;
    deliveries++;
    if (open_loop) {
        uint64_t sent = decode(stamp + 8, 8);
        if (sent >= counted_from && latency_count < latency_room)
            latencies_us[latency_count++] = (at - sent) / 1000;
    }
    if (--from->left[number % want.window] == 0) {
        group->under_way--;
        under_way--;
        if (group->fed) {
            group->fed = false;
            hungry[hungries++] = group;
        }
    }
}

static void replied(struct client *client, const char *line, int code) {
    if ((code == 376 || code == 422) && client->phase == REGISTERING) { /* the end of the greeting */
        bool joins = client->group && !want.pairs;
        client->phase = joins ? JOINING : READY;
        if (joins)
            say(client, "JOIN #c%d\r\n", (int)(client->group - groups));
        else
            ready++;
    } else if (code == 366 && client->phase == JOINING) {
        client->phase = READY;
        ready++;
    } else if (code >= 400 && code != 422) {
        fail("%s: %s", client->nick, line);
    }
}

static void heard(struct client *client, char *line, char *end, uint64_t at) {
    char *space = memchr(line, ' ', end - line);
    char *command = *line == ':' && space ? space + 1 : line;
    if (end - command == client->hears_bytes + TEXT_BYTES &&
        !memcmp(command, client->hears, client->hears_bytes)) {
        delivered(client, line, command + client->hears_bytes, at);
        return;
    }
    if (line[0] == ':' && line[1] == NUISANCE_NICK)
        return;
    *end = 0;
    int code;
    if (!strncmp(command, "PING ", 5))
        say(client, "PONG %s\r\n", command + 5);
    else if (!strncmp(command, "PONG ", 5))
        ponged++;
    else if (!strncmp(command, "ERROR", 5) || !strncmp(command, "PRIVMSG ", 8))
        fail("%s: %s", client->nick, line);
    else if (sscanf(command, "%3d ", &code) == 1)
        replied(client, line, code);
}

static void read_from(struct client *client) {
    static char buffer[LINE_BYTES + READ_BYTES];
    ssize_t got;
    do {
        char *start = buffer, *line_end;
        memcpy(start, client->rest, client->rest_bytes);
        got = recv(client->fd, start + client->rest_bytes, READ_BYTES, 0);
        if (got < 0 && errno == EAGAIN)
            return;
        if (got <= 0)
            fail("%s: disconnected%s%s", client->nick, got ? ": " : "", got ? strerror(errno) : "");
        uint64_t at = since_start();
        char *end = start + client->rest_bytes + got;
        for (; (line_end = memchr(start, '\n', end - start)); start = line_end + 1)
            heard(client, start, line_end > start && line_end[-1] == '\r' ? line_end - 1 : line_end, at);
        client->rest_bytes = end - start;
        if (client->rest_bytes > sizeof client->rest)
            fail("%s: a line without an end", client->nick);
        memcpy(client->rest, start, client->rest_bytes);
    } while (got == READ_BYTES); /* a short read has emptied an edge-triggered socket: epoll(7) */
}

/* ---- connections */

static void open_next(const struct sockaddr_in *address) {
    struct client *client = &clients[opened++];
    int on = 1;
    client->fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (client->fd < 0)
        fail("cannot open connection %d: %s", opened, strerror(errno));
    setsockopt(client->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    /* Closing resets the connection, so that no port is in TIME_WAIT when the next run needs it. */
    setsockopt(client->fd, SOL_SOCKET, SO_LINGER, &(struct linger){1, 0}, sizeof(struct linger));
    if (connect(client->fd, (const struct sockaddr *)address, sizeof *address) && errno != EINPROGRESS)
        fail("cannot connect: %s", strerror(errno));
    client->phase = CONNECTING;
    /* Edges, so that writing needs no bookkeeping: an edge comes when a full socket has room again. */
    struct epoll_event event = {.events = EPOLLIN | EPOLLOUT | EPOLLET, .data.ptr = client};
    if (epoll_ctl(epoll, EPOLL_CTL_ADD, client->fd, &event))
        fail("epoll: %s", strerror(errno));
}

static void happened(struct client *client, uint32_t events) {
    if (client->phase == CONNECTING && events & (EPOLLOUT | EPOLLERR)) {
        int error = 0;
        socklen_t length = sizeof error;
        getsockopt(client->fd, SOL_SOCKET, SO_ERROR, &error, &length);
        if (error)
            fail("cannot connect: %s", strerror(error));
        client->phase = REGISTERING;
        say(client, "NICK %s\r\nUSER %s 0 * :load\r\n", client->nick, client->nick);
    }
    if (events & (EPOLLIN | EPOLLERR | EPOLLHUP))
        read_from(client);
    if (events & EPOLLOUT && client->out_bytes)
        room_to_say(client, 0); /* has something to say again */
}

static void turn(int wait_ms) {
    struct epoll_event events[512];
    int count = epoll_wait(epoll, events, 512, wait_ms);
    if (count < 0 && errno != EINTR)
        fail("epoll: %s", strerror(errno));
    for (int i = 0; i < count; i++)
        happened(events[i].data.ptr, events[i].events);
    flush_all();
    if (since_start() > deadline)
        fail("out of time: %d of %d clients ready, %llu messages under way", ready, total,
             (unsigned long long)under_way);
}

static void connect_all(void) {
    /* Loopback and nothing else: this is no tool against somebody's server. */
    struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_port = htons(want.port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    deadline = since_start() + SET_UP_S * SECOND;
    while (ready < total) {
        while (opened < total && opened - ready < want.opening)
            open_next(&address);
        turn(100);
    }
}

/* A client that wrote and had its answer at once delays its acknowledgements, until a line comes after a pause of
 * 40 ms, and with no such pause for ever: another load, which a server got or not by how its last answers came.
 * All of them get clients that acknowledge what they read, as those do that mostly listen. */
static void acknowledge_at_once(void) {
    for (int i = 0; i < total; i++)
        setsockopt(clients[i].fd, IPPROTO_TCP, TCP_QUICKACK, &(int){1}, sizeof(int));
}

/* ---- scenarios */

static void make_clients(int count, int of_each, int senders) {
    group_count = count;
    total = count * of_each;
    clients = room_for(total, sizeof *clients);
    dirty = room_for(total, sizeof *dirty);
    groups = room_for(count, sizeof *groups);
    hungry = room_for(count, sizeof *hungry);
    for (int i = 0; i < total; i++) {
        struct client *client = &clients[i];
        struct group *group = client->group = &groups[i / of_each];
        *group = (struct group){.first = i - i % of_each, .members = of_each, .senders = senders};
        snprintf(client->nick, sizeof client->nick, "n%d", i);
        client->prefix_bytes = snprintf(client->prefix, sizeof client->prefix, ":n%d!", i);
        const char *target = want.pairs ? "PRIVMSG n%d :" : "PRIVMSG #c%d :";
        int to = want.pairs ? i ^ 1 : i / of_each, here = want.pairs ? i : to;
        client->says_bytes = snprintf(client->says, sizeof client->says, target, to);
        client->hears_bytes = snprintf(client->hears, sizeof client->hears, target, here);
        client->expected = room_for(senders, sizeof *client->expected);
        if (i % of_each < senders)
            client->left = room_for(want.window, sizeof *client->left);
    }
}

/* The answer to a PING comes after everything before it, so whatever is delivered twice has been seen. */
static void drain(void) {
    deadline = since_start() + DRAIN_S * SECOND;
    while (under_way)
        turn(100);
    for (int i = 0; i < total; i++)
        say(&clients[i], "PING end\r\n");
    flush_all();
    while (ponged < total)
        turn(100);
}

/* As due, not as sent: a server that stalls the generator does not get its waiting for free. */
static void pace(uint64_t *paced, uint64_t start) {
    uint64_t time = since_start(), due;
    while ((due = start + *paced * SECOND / want.rate) <= time) {
        struct group *group = &groups[(*paced)++ % group_count];
        if (group->under_way >= want.window)
            fail("the server is %d messages behind", group->under_way);
        speak(group, due);
    }
}

static int by_size(const void *a, const void *b) { return *(const int32_t *)a - *(const int32_t *)b; }

static double percentile_ms(double part) {
    return latency_count ? latencies_us[(size_t)(part * (latency_count - 1))] / 1000.0 : 0;
}

static void talk(void) {
    connect_all();
    acknowledge_at_once();
    nuisances_begin(&nuisances, want.port, group_count);
    uint64_t time, start = since_start(), paced = 0, cpu = 0;
    uint64_t length = want.seconds * SECOND, until = UINT64_MAX;
    counted_from = start + length / 5; /* a fifth more, to warm up */
    deadline = start + 2 * length + DRAIN_S * SECOND;
    for (; !open_loop && hungries < group_count; hungries++)
        hungry[hungries] = &groups[hungries];
    while ((time = since_start()) < until) {
        if (!cpu && time >= counted_from) {
            /* From when it is counted: a long turn of the loop may not shorten what is divided by. */
            until = (counted_from = time) + length;
            cpu = now(CLOCK_PROCESS_CPUTIME_ID);
            deliveries = messages = 0;
        }
        open_loop ? pace(&paced, start) : feed_all();
        flush_all();
        nuisances_turn();
        /* Paced, it never sleeps: to wake up takes longer than a message. */
        turn(open_loop ? 0 : 10);
    }
    double seconds = (time - counted_from) / (double)SECOND;
    double busy = (now(CLOCK_PROCESS_CPUTIME_ID) - cpu) / (double)SECOND / seconds;
    unsigned long long got = deliveries, said = messages;
    drain();
    printf("{\"scenario\": \"%s\", \"seconds\": %.3f, \"messages\": %llu, \"deliveries\": %llu, \"per_s\": %.0f, "
           "\"generator_busy\": %.2f, \"visits\": %llu, \"cut_off\": %llu", want.scenario, seconds, said, got,
           got / seconds, busy, (unsigned long long)nuisances_came(), (unsigned long long)nuisances_cut_off());
    if (open_loop) {
        qsort(latencies_us, latency_count, sizeof *latencies_us, by_size);
        printf(", \"p50_ms\": %.3f, \"p99_ms\": %.3f, \"max_ms\": %.3f", percentile_ms(0.5), percentile_ms(0.99),
               percentile_ms(1));
    }
    puts("}");
}

static long resident_kb(void) {
    char path[64];
    long pages;
    snprintf(path, sizeof path, "/proc/%d/statm", want.pid);
    FILE *file = fopen(path, "r");
    if (!file || fscanf(file, "%*d %ld", &pages) != 1)
        fail("cannot read %s", path);
    fclose(file);
    return pages * (sysconf(_SC_PAGESIZE) / 1024);
}

static void register_only(void) {
    make_clients(want.clients, 1, 1);
    for (int i = 0; i < total; i++)
        clients[i].group = NULL, clients[i].hears_bytes = LINE_BYTES; /* nothing is a delivery */
    long before = want.pid ? resident_kb() : 0;
    uint64_t start = since_start();
    connect_all();
    double seconds = (since_start() - start) / (double)SECOND;
    long after = want.pid ? resident_kb() : 0;
    printf("{\"scenario\": \"connect\", \"seconds\": %.3f, \"clients\": %d, \"per_s\": %.0f, \"idle_kb\": %ld, "
           "\"client_bytes\": %ld}\n", seconds, total, total / seconds, before, (after - before) * 1024 / total);
}

static void run(void) {
    bool pairs = !strcmp(want.scenario, "pairs");
    want.pairs = pairs ? want.pairs : 0;
    open_loop = !strcmp(want.scenario, "latency");
    want.window = open_loop ? OPEN_LOOP : want.window;
    latency_room = open_loop ? (size_t)(want.rate * (want.seconds + 1) * 2) * want.members : 0;
    latencies_us = room_for(latency_room, sizeof *latencies_us);
    if (!strcmp(want.scenario, "connect"))
        return register_only();
    if (!strcmp(want.scenario, "fanout"))
        make_clients(1, want.senders + want.receivers, want.senders);
    else if (pairs)
        make_clients(want.pairs, 2, 2);
    else if (open_loop || !strcmp(want.scenario, "channels"))
        make_clients(want.channels, want.members, open_loop ? 1 : want.members);
    else
        fail("no such scenario");
    talk();
}

int main(int count, char **words) {
    static const struct { const char *name; int *value; } numbers[] = {
        {"port", &want.port}, {"pid", &want.pid}, {"opening", &want.opening}, {"senders", &want.senders},
        {"receivers", &want.receivers}, {"channels", &want.channels}, {"members", &want.members},
        {"pairs", &want.pairs}, {"clients", &want.clients}, {"window", &want.window}, {"rate", &want.rate},
        {"silent", &nuisances.silent}, {"stalled", &nuisances.stalled}, {"flooders", &nuisances.flooders},
        {"joiners", &nuisances.joiners}, {"listers", &nuisances.listers},
        {"visitors", &nuisances.visitors},
    };
    want.scenario = count > 1 ? words[1] : "none";
    for (int i = 2; i < count; i += 2) {
        const char *name = words[i], *value = i + 1 < count ? words[i + 1] : "";
        size_t known = 0, last = sizeof numbers / sizeof *numbers;
        while (known < last && (strncmp(name, "--", 2) || strcmp(name + 2, numbers[known].name)))
            known++;
        if (known < last && (*numbers[known].value = atoi(value)) < 1)
            fail("%s needs a number above 0", name);
        else if (!strcmp(name, "--seconds"))
            want.seconds = atof(value);
        else if (known == last)
            fail("unknown option %s", name);
    }
    if (!want.port || want.seconds <= 0 || want.seconds > DAY_S || want.members < 2)
        fail("needs a port, two members or more, and a day at most");
    epoll = epoll_create1(EPOLL_CLOEXEC);
    began = now(CLOCK_MONOTONIC);
    run();
}
