# A private PostgreSQL for a test: pg_begin, pg_start, pg_stop, pg_kill, pg_end. Sets PG_DIR and PG_DSN. fsync is off, which
# no kill of processes can tell; PG_FSYNC=on is for what is measured.

# The programs themselves, before Debian's psql and pgbench: those are scripts in Perl that look for them, and take eight times the
# processor time.
export PG_BIN=${PG_BIN:-$(find /usr/lib/postgresql -name initdb -printf '%h\n' 2>/dev/null | sort -V | tail -n 1)}
[[ -z $PG_BIN || :$PATH: == *":$PG_BIN:"* ]] || PATH=$PG_BIN:$PATH

# PostgreSQL refuses to run as root.
pg_as() {
    if [ "$(id -u)" -eq 0 ]; then
        (cd / && runuser -u postgres -- "$@")
    else
        "$@"
    fi
}

pg_begin() {
    PG_DIR=$(mktemp -d /tmp/flagger-pg.XXXXXX)
    PG_DSN="host=$PG_DIR user=postgres dbname=postgres"
    [ "$(id -u)" -ne 0 ] || chown postgres "$PG_DIR"
    pg_as "$PG_BIN/initdb" -D "$PG_DIR/data" -A trust -U postgres --no-sync >/dev/null
    pg_start
}

# pg_start [OPTION...]: with more options of the server, as "-c ssl=on"
pg_start() {
    pg_as "$PG_BIN/pg_ctl" -w -s -D "$PG_DIR/data" -l "$PG_DIR/log" \
        -o "-k $PG_DIR -c listen_addresses= -c fsync=${PG_FSYNC:-off} $*" start 3>&-
}

pg_stop() { pg_as "$PG_BIN/pg_ctl" -w -s -m fast -D "$PG_DIR/data" stop; }

# As a power cut: the postmaster and all its children at once.
pg_kill() {
    local pid children
    pid=$(head -n 1 "$PG_DIR/data/postmaster.pid")
    # A stopped postmaster starts no child in place of one that has died, which would keep the shared memory from its successor.
    kill -STOP "$pid"
    children=$(pgrep -P "$pid")
    # shellcheck disable=SC2086
    kill -KILL $children "$pid" 2>/dev/null || true
    for pid in $children $pid; do
        while [ -d "/proc/$pid" ]; do sleep 0.05; done
    done
}

pg_end() {
    pg_stop 2>/dev/null || true
    rm -rf "$PG_DIR"
}

pg_sql() { psql -h "$PG_DIR" -U postgres -Atqc "$1" postgres; }

# pg_certificate NAME HOST [DAYS [CA]]: a key and certificate for the host, signed by a CA of that name or by another's, -1: expired
pg_certificate() {
    local dir=$PG_DIR/$1 ca=$PG_DIR/${4:-$1}
    mkdir -p "$dir"
    [ -e "$ca/ca.key" ] || openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj "/CN=$1" \
        -keyout "$ca/ca.key" -out "$ca/ca.crt" 2>/dev/null
    openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj "/CN=$2" \
        -keyout "$dir/server.key" -out "$dir/server.csr" 2>/dev/null
    openssl x509 -req -in "$dir/server.csr" -CA "$ca/ca.crt" -CAkey "$ca/ca.key" -CAcreateserial -days "${3:-2}" \
        -extfile <(echo "subjectAltName=DNS:$2") -out "$dir/server.crt" 2>/dev/null
    [ "$(id -u)" -ne 0 ] || chown postgres "$dir"/*
    chmod 600 "$dir/server.key"
    chmod 644 "$ca/ca.crt"
}

pg_free_port() { python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'; }
