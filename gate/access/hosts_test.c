/* hosts: names that are the gate's own, and names that a page of another site may have used. */

#include "gate/access/identity.h"
#include "test/unit.h"

static const struct hosts_options nothing = {.public_url = ""};
static const struct hosts_options pod = {
    .public_url = "https://Gates.example.com:8443/below",
    .names = "approve.example.com, 10.example.com",
    .resolv_conf = "nameserver 10.96.0.10\n"
                   "search dev.svc.corp.example svc.corp.example corp.example\n"
                   "options ndots:5\n",
    .pod = "flagger-gate-6f7d9c5b4-x2x7k"};

static const struct {
    const char *host;
    bool anywhere, in_the_pod;
} cases[] = {
    {NULL, true, true},
    {"flagger-gate", true, true},
    {"flagger-gate:8080", true, true},
    {"localhost:8080", true, true},
    {"gate.localhost", true, true},
    {"127.0.0.1:41234", true, true},
    {"10.2.3.4", true, true},
    {"[::1]:8080", true, true},
    {"[fd00::12]", true, true},
    {"flagger-gate.dev.svc", true, true},
    {"flagger-gate.dev.svc.cluster.local:80", true, true},
    {"flagger-gate.dev.svc.cluster.local.", true, true},
    {"flagger-gate.dev.svc.corp.example", false, true},
    {"flagger-gate.dev", false, true},
    {"FLAGGER-GATE.DEV:80", false, true},
    {"flagger.dev", false, false},
    {"evil.dev", false, false},
    {"flagger-gate.prod", false, false},
    {"gates.example.com", false, true},
    {"gates.example.com:8443", false, true},
    {"approve.example.com", false, true},
    {"10.example.com", false, true},
    {"evil.example.com", false, false},
    {"evil.example.com:8080", false, false},
    {"127.0.0.1.evil.example.com", false, false},
    {"svc.cluster.local.evil.example.com", false, false},
    {"evilsvc.cluster.local", false, false},
    {"gates.example.com.evil.example", false, false},
    {"corp.example", false, false},
    {"1.2.3.4.5", false, false},
    {"[::1].evil.example.com", false, false},
    {"", false, false},
    {".", false, false},
    {":80", false, false},
    {"[::1", false, false},
};

CASE(only_own_names_pass)
{
    const struct hosts *anywhere = hosts_new(arena, &nothing), *in_pod = hosts_new(arena, &pod);
    EACH_ROW (row, cases) {
        print_message("%s\n", row->host ? row->host : "(none)");
        assert_int_equal(hosts_own(anywhere, row->host), row->anywhere);
        assert_int_equal(hosts_own(in_pod, row->host), row->in_the_pod);
    }
}
