#include "screen/screen.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"

enum { BAR_CELLS = 20, LOOK_BACK_MS = 5000, LINE = 512 };

static const char *color(const struct screen *screen, const char *code)
{
    return screen->terminal ? code : "";
}

static const char *phase_color(const struct screen *screen, enum phase phase)
{
    switch (phase) {
    case PHASE_Succeeded:
    case PHASE_Initialized:
        return color(screen, "\033[32m");
    case PHASE_Failed:
        return color(screen, "\033[31m");
    case PHASE_Waiting:
    case PHASE_WaitingPromotion:
        return color(screen, "\033[33m");
    default:
        return color(screen, "\033[36m");
    }
}

static void make_bar(char *out, size_t size, int weight)
{
    size_t len = 0;
    for (int i = 0; i < BAR_CELLS; i++) {
        const char *cell = i < (weight * BAR_CELLS + 50) / 100 ? "\u2588" : "\u2591";
        size_t n = strlen(cell);
        if (len + n >= size)
            break;
        memcpy(out + len, cell, n);
        len += n;
    }
    out[len] = '\0';
}

static void print_line(const struct screen *screen)
{
    int64_t now = clock_monotonic_ms();
    struct step step = observe_now(screen->observe);
    struct traffic_view view =
        traffic_look(screen->traffic, now - LOOK_BACK_MS, now, screen->version);
    char bar[BAR_CELLS * 4 + 1], rate[16] = "-", p99[16] = "-";
    make_bar(bar, sizeof(bar), step.weight);
    if (view.of_version > 0) {
        snprintf(rate, sizeof(rate), "%.1f%%", view.success_rate);
        snprintf(p99, sizeof(p99), "%d ms", view.p99_ms);
    }
    printf("%5.0fs  %s%-16s%s  %s %3d%%  %7s  %8s  %s", (double)(now - screen->began_ms) / 1000,
           phase_color(screen, step.phase), phase_name(step.phase), color(screen, "\033[0m"), bar,
           step.weight, rate, p99, observe_last_event(screen->observe));
}

static void close_line(struct screen *screen)
{
    if (screen->open_line)
        printf("\r\033[K");
    screen->open_line = false;
}

void screen_title(struct screen *screen, const char *fmt, ...)
{
    close_line(screen);
    va_list args;
    va_start(args, fmt);
    printf("\n%s", color(screen, "\033[1m"));
    vprintf(fmt, args);
    va_end(args);
    printf("%s\n%6s  %-16s  %-25s  %7s  %8s  %s\n", color(screen, "\033[0m"), "time", "phase",
           "weight", "success", "p99", "last event");
    fflush(stdout);
}

void screen_note(struct screen *screen, const char *fmt, ...)
{
    close_line(screen);
    va_list args;
    va_start(args, fmt);
    printf("%s        ", color(screen, "\033[1m"));
    vprintf(fmt, args);
    va_end(args);
    printf("%s\n", color(screen, "\033[0m"));
    fflush(stdout);
}

void screen_step(struct screen *screen)
{
    close_line(screen);
    print_line(screen);
    putchar('\n');
    fflush(stdout);
}

void screen_refresh(struct screen *screen)
{
    if (!screen->terminal)
        return;
    close_line(screen);
    printf(
        "\033[?7l"); /* a long event is cut at the edge, not wrapped: the line must stay one line */
    print_line(screen);
    printf("\033[?7h");
    screen->open_line = true;
    fflush(stdout);
}
