-- The gate's tables, and the rules that hold for concurrent requests: passes, approvals, freezes, and a row in the
-- history for every change. The program applies the versions that a database lacks, in order, in one transaction
-- (gate/db/schema.c); it calls the functions, one per request, and never changes a table itself.
--
-- A new version is a file of its own, schema_N.sql, and never edited after its release. Since the rules are here, old
-- and new replicas obey the same ones from the moment of the upgrade. A version must keep the functions that the
-- program before it calls: tables and functions are added, functions are replaced under the same signature; the row in
-- flagger_gate_schema names the oldest program that still works (`oldest`), and older ones refuse to start.
--
-- A violated rule raises SQLSTATE FGnnn: the HTTP status, and a sentence for the user.
-- Locks are taken in this order: the gate's row in flagger_gates (kinds by alphabet), then flagger_gate_head.

-- version 1

CREATE TABLE flagger_gates (
    kind text NOT NULL CHECK (kind IN ('gate', 'rollback')),
    namespace text NOT NULL,
    name text NOT NULL,
    open boolean NOT NULL,
    changed timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (kind, namespace, name)
);

-- version 2

-- Programs of version 1 write flagger_gates until they are replaced: from here to the end of the upgrade they wait.
LOCK TABLE flagger_gates IN SHARE ROW EXCLUSIVE MODE;
ALTER TABLE flagger_gate_schema ADD COLUMN oldest integer;

-- --- state

-- Passes: each lets checks through. flagger_gates.open tells the same to programs of version 1, as far as they
-- understand it.
CREATE TABLE flagger_gate_passes (
    kind text NOT NULL CHECK (kind IN ('gate', 'rollback')),
    namespace text NOT NULL,
    name text NOT NULL,
    hook text NOT NULL,     -- '': every hook of the Canary
    revision text NOT NULL, -- the webhook's checksum; '': every revision
    expires timestamptz,    -- NULL: until it is closed
    by_whom text NOT NULL,
    reason text NOT NULL,
    since timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (kind, namespace, name, hook, revision)
);

CREATE TABLE flagger_gate_policies (
    kind text NOT NULL CHECK (kind IN ('gate', 'rollback')),
    namespace text NOT NULL,
    name text NOT NULL,
    quorum integer NOT NULL CHECK (quorum BETWEEN 1 AND 100), -- how many must approve
    approvers text[] NOT NULL,                                -- who may; empty: whoever may open gates
    deadline_ms bigint CHECK (deadline_ms > 0),               -- how long a revision waits, NULL: for ever
    on_deadline text CHECK (on_deadline IN ('open', 'rollback')),
    PRIMARY KEY (kind, namespace, name),
    CHECK ((deadline_ms IS NULL) = (on_deadline IS NULL))
);

-- Approvals below the quorum. They count for a day.
CREATE TABLE flagger_gate_votes (
    kind text NOT NULL,
    namespace text NOT NULL,
    name text NOT NULL,
    hook text NOT NULL,
    revision text NOT NULL,
    voter text NOT NULL,
    expires timestamptz, -- of the pass, as this voter wants it
    reason text NOT NULL,
    at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (kind, namespace, name, hook, revision, voter)
);

-- Canaries that wait at gates of the kind `gate`.
CREATE TABLE flagger_gate_waits (
    namespace text NOT NULL,
    name text NOT NULL,
    hook text NOT NULL,
    phase text NOT NULL,
    revision text NOT NULL,
    since timestamptz NOT NULL DEFAULT now(), -- when this revision asked first
    seen timestamptz NOT NULL DEFAULT now(),  -- when it asked last, give or take half a minute
    deadline_passed boolean NOT NULL DEFAULT false,
    PRIMARY KEY (namespace, name, hook)
);

-- During a freeze gates of the kind `gate` let nothing through, whatever passes there are.
CREATE TABLE flagger_gate_freezes (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    namespace text NOT NULL, -- '': every namespace
    name text NOT NULL,      -- '': every Canary
    starts timestamptz,
    ends timestamptz,
    weekly_from integer CHECK (weekly_from BETWEEN 0 AND 10079), -- minutes since Monday 0:00 in the zone; both or none
    weekly_until integer CHECK (weekly_until BETWEEN 0 AND 10079),
    zone text,
    reason text NOT NULL,
    by_whom text NOT NULL,
    since timestamptz NOT NULL DEFAULT now(),
    CHECK ((weekly_from IS NULL) = (weekly_until IS NULL) AND (weekly_from IS NULL) = (zone IS NULL))
);

-- One-click links that were used.
CREATE TABLE flagger_gate_links (
    id text PRIMARY KEY,
    expires timestamptz NOT NULL
);
CREATE INDEX flagger_gate_links_expires ON flagger_gate_links (expires);

CREATE FUNCTION flagger_gate_in_week(first integer, until integer, zone text, at timestamptz) RETURNS boolean
LANGUAGE sql STABLE AS $$
    SELECT CASE WHEN first < until THEN minute >= first AND minute < until ELSE minute >= first OR minute < until END
    FROM (SELECT ((extract(isodow FROM here) - 1) * 1440 + extract(hour FROM here) * 60 + extract(minute FROM here))::integer
          FROM (SELECT at AT TIME ZONE zone) l (here)) m (minute)
$$;

CREATE VIEW flagger_gate_frozen AS
    SELECT id, namespace, name, ends, reason
    FROM flagger_gate_freezes
    WHERE (starts IS NULL OR starts <= now()) AND (ends IS NULL OR ends > now())
      AND (weekly_from IS NULL OR flagger_gate_in_week(weekly_from, weekly_until, zone, now()));

-- --- the history

-- One row per change. hash is the SHA-256, as hex, of the hash of the row before, a line feed, and the entry's bytes:
-- no row can be changed, removed or inserted unnoticed. The first row follows 64 zeros.
CREATE TABLE flagger_gate_history (
    seq bigint PRIMARY KEY,
    entry json NOT NULL, -- kept byte for byte
    hash text NOT NULL,
    namespace text GENERATED ALWAYS AS (entry ->> 'namespace') STORED,
    name text GENERATED ALWAYS AS (entry ->> 'name') STORED
);
CREATE INDEX flagger_gate_history_canary ON flagger_gate_history (namespace, name, seq);

-- The end of the chain; its lock orders the changes.
CREATE TABLE flagger_gate_head (
    one boolean PRIMARY KEY CHECK (one),
    seq bigint NOT NULL,
    hash text NOT NULL
);
INSERT INTO flagger_gate_head VALUES (true, 0, repeat('0', 64));

CREATE FUNCTION flagger_gate_append_only() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'the history of the gates is only ever added to';
END $$;
CREATE TRIGGER append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON flagger_gate_history
    FOR EACH STATEMENT EXECUTE FUNCTION flagger_gate_append_only();

CREATE FUNCTION flagger_gate_refuse(status integer, why text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION USING ERRCODE = 'FG' || status, MESSAGE = why;
END $$;

CREATE FUNCTION flagger_gate_time(at timestamptz) RETURNS text LANGUAGE sql STABLE AS $$
    SELECT to_char(at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')
$$;

-- Adds an entry, and notifies listeners. Keys whose value is null are omitted.
CREATE FUNCTION flagger_gate_append(what jsonb) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    head flagger_gate_head;
    entry text;
BEGIN
    SELECT * INTO STRICT head FROM flagger_gate_head FOR UPDATE;
    entry := (jsonb_build_object('seq', head.seq + 1, 'at', flagger_gate_time(clock_timestamp()))
              || jsonb_strip_nulls(what))::text;
    head.seq := head.seq + 1;
    head.hash := encode(sha256(convert_to(head.hash || E'\n' || entry, 'UTF8')), 'hex');
    INSERT INTO flagger_gate_history (seq, entry, hash) VALUES (head.seq, entry::json, head.hash);
    UPDATE flagger_gate_head SET seq = head.seq, hash = head.hash;
    PERFORM pg_notify('flagger_gate', head.seq::text);
    RETURN head.seq;
END $$;

-- Of an entry that the same statement has added.
CREATE FUNCTION flagger_gate_hash(number bigint) RETURNS text LANGUAGE sql VOLATILE AS $$
    SELECT hash FROM flagger_gate_history WHERE seq = number
$$;

-- --- opening and closing

-- Callers of the functions know all versions: flagger_gate_of_version_1() ignores their writes.
CREATE FUNCTION flagger_gate_lock(k text, ns text, n text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    PERFORM set_config('flagger_gate.version', '2', true);
    INSERT INTO flagger_gates (kind, namespace, name, open) VALUES (k, ns, n, false) ON CONFLICT DO NOTHING;
    PERFORM FROM flagger_gates WHERE kind = k AND namespace = ns AND name = n FOR UPDATE;
END $$;

-- For programs of version 1, which have neither revisions nor times nor freezes: to them a gate is open only if none
-- of these limits it.
CREATE FUNCTION flagger_gate_mirror(k text, ns text, n text) RETURNS void LANGUAGE sql AS $$
    UPDATE flagger_gates g
    SET changed = now(),
        open = EXISTS (SELECT FROM flagger_gate_passes p
                       WHERE p.kind = k AND p.namespace = ns AND p.name = n AND p.hook = '' AND p.revision = ''
                         AND p.expires IS NULL)
           AND (k = 'rollback' OR NOT EXISTS (SELECT FROM flagger_gate_freezes f
                                              WHERE f.namespace IN ('', ns) AND f.name IN ('', n)))
    WHERE g.kind = k AND g.namespace = ns AND g.name = n
$$;

-- True if every check of this hook and revision passes, freezes aside.
CREATE FUNCTION flagger_gate_passes(k text, ns text, n text, h text, rev text) RETURNS boolean LANGUAGE sql STABLE AS $$
    SELECT EXISTS (SELECT FROM flagger_gate_passes p
                   WHERE p.kind = k AND p.namespace = ns AND p.name = n AND p.hook IN ('', h)
                     AND p.revision IN ('', rev) AND (p.expires IS NULL OR p.expires > now()))
$$;

CREATE FUNCTION flagger_gate_may_approve(p flagger_gate_policies, actor text, sure boolean) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
    IF p.quorum = 1 AND cardinality(p.approvers) = 0 THEN
        RETURN;
    END IF;
    IF NOT sure THEN
        PERFORM flagger_gate_refuse(403, format(
            'this gate wants %s approval(s) by people it knows by name: come with a token of your own', p.quorum));
    END IF;
    IF cardinality(p.approvers) > 0 AND actor <> ALL (p.approvers) THEN
        PERFORM flagger_gate_refuse(403, format(
            '%s is not among the approvers of this gate: %s', actor, array_to_string(p.approvers, ', ')));
    END IF;
END $$;

-- rev '': for every revision. until NULL: until it is closed. sure: the name was proven. via: the interface of the
-- request. If the gate is in that state already, nothing is recorded, and `changed` is false. Under a quorum this is
-- one approval, and the last one needed opens, for the shortest time that was requested.
CREATE FUNCTION flagger_gate_open(
    k text, ns text, n text, h text, rev text, until timestamptz, actor text, sure boolean, via text, why text,
    OUT changed boolean, OUT open boolean, OUT votes integer, OUT quorum integer, OUT seq bigint)
LANGUAGE plpgsql AS $$
DECLARE
    p flagger_gate_policies;
    what jsonb := jsonb_build_object('kind', k, 'namespace', ns, 'name', n, 'hook', h, 'revision', rev, 'who', actor,
                                     'verified', sure, 'via', via, 'reason', why);
BEGIN
    IF until <= now() THEN
        PERFORM flagger_gate_refuse(400, 'expires: ' || flagger_gate_time(until) || ' has passed already');
    END IF;
    PERFORM flagger_gate_lock(k, ns, n);
    SELECT * INTO p FROM flagger_gate_policies WHERE kind = k AND namespace = ns AND name = n;
    quorum := coalesce(p.quorum, 1);
    votes := 0;
    changed := false;
    IF p.kind IS NOT NULL THEN
        PERFORM flagger_gate_may_approve(p, actor, sure);
    END IF;
    open := EXISTS (SELECT FROM flagger_gate_passes a
                    WHERE a.kind = k AND a.namespace = ns AND a.name = n AND a.hook = h AND a.revision = rev
                      AND (a.expires IS NULL OR a.expires > now())
                      AND (quorum > 1 OR a.expires IS NOT DISTINCT FROM until));
    IF open THEN
        RETURN;
    END IF;
    IF quorum > 1 THEN
        DELETE FROM flagger_gate_votes v
        WHERE v.kind = k AND v.namespace = ns AND v.name = n AND v.at <= now() - interval '1 day';
        INSERT INTO flagger_gate_votes VALUES (k, ns, n, h, rev, actor, until, why) ON CONFLICT DO NOTHING;
        changed := FOUND;
        IF changed THEN
            seq := flagger_gate_append(what || jsonb_build_object('action', 'approve',
                                                                  'expires', flagger_gate_time(until)));
        END IF;
        SELECT count(*), nullif(min(coalesce(v.expires, 'infinity')), 'infinity') INTO votes, until
        FROM flagger_gate_votes v
        WHERE v.kind = k AND v.namespace = ns AND v.name = n AND v.hook = h AND v.revision = rev
          AND (cardinality(p.approvers) = 0 OR v.voter = ANY (p.approvers));
        open := flagger_gate_passes(k, ns, n, h, rev);
        IF votes < quorum THEN
            RETURN;
        END IF;
        SELECT what || jsonb_build_object('approvers', jsonb_agg(v.voter ORDER BY v.at, v.voter)) INTO what
        FROM flagger_gate_votes v
        WHERE v.kind = k AND v.namespace = ns AND v.name = n AND v.hook = h AND v.revision = rev
          AND (cardinality(p.approvers) = 0 OR v.voter = ANY (p.approvers));
        DELETE FROM flagger_gate_votes v
        WHERE v.kind = k AND v.namespace = ns AND v.name = n AND v.hook = h AND v.revision = rev;
    END IF;
    INSERT INTO flagger_gate_passes VALUES (k, ns, n, h, rev, until, actor, why)
    ON CONFLICT (kind, namespace, name, hook, revision)
    DO UPDATE SET expires = excluded.expires, by_whom = excluded.by_whom, reason = excluded.reason, since = now();
    PERFORM flagger_gate_mirror(k, ns, n);
    changed := true;
    open := true;
    seq := flagger_gate_append(what || jsonb_build_object('action', 'open', 'expires', flagger_gate_time(until)));
END $$;

-- h '': removes every pass and approval of the gate, and the deadlines of its waits.
CREATE FUNCTION flagger_gate_close(
    k text, ns text, n text, h text, actor text, sure boolean, via text, why text,
    OUT changed boolean, OUT open boolean, OUT votes integer, OUT quorum integer, OUT seq bigint)
LANGUAGE plpgsql AS $$
BEGIN
    PERFORM flagger_gate_lock(k, ns, n);
    IF h <> '' AND EXISTS (SELECT FROM flagger_gate_passes p
                           WHERE p.kind = k AND p.namespace = ns AND p.name = n AND p.hook = ''
                             AND (p.expires IS NULL OR p.expires > now())) THEN
        PERFORM flagger_gate_refuse(409, format(
            'the gate of %s.%s lets every hook through, not just %s: close it without naming a hook', n, ns, h));
    END IF;
    WITH gone AS (
        DELETE FROM flagger_gate_passes p
        WHERE p.kind = k AND p.namespace = ns AND p.name = n AND (h = '' OR p.hook = h)
        RETURNING p.expires IS NULL OR p.expires > now() AS held
    ), withdrawn AS (
        DELETE FROM flagger_gate_votes v
        WHERE v.kind = k AND v.namespace = ns AND v.name = n AND (h = '' OR v.hook = h)
        RETURNING true
    )
    SELECT EXISTS (SELECT FROM gone WHERE held) OR EXISTS (SELECT FROM withdrawn) INTO changed;
    -- Who says no is not overruled by a deadline that would open.
    UPDATE flagger_gate_waits w SET deadline_passed = true
    FROM flagger_gate_policies o
    WHERE k = 'gate' AND w.namespace = ns AND w.name = n AND (h = '' OR w.hook = h) AND NOT w.deadline_passed
      AND o.kind = k AND o.namespace = ns AND o.name = n AND o.on_deadline = 'open';
    changed := changed OR FOUND;
    open := false;
    votes := 0;
    SELECT coalesce(max(p.quorum), 1) INTO quorum
    FROM flagger_gate_policies p WHERE p.kind = k AND p.namespace = ns AND p.name = n;
    IF changed THEN
        PERFORM flagger_gate_mirror(k, ns, n);
        seq := flagger_gate_append(jsonb_build_object(
            'action', 'close', 'kind', k, 'namespace', ns, 'name', n, 'hook', h, 'who', actor, 'verified', sure,
            'via', via, 'reason', why));
    END IF;
END $$;

-- Refuses a one-click link that has expired by this clock, or was used.
CREATE FUNCTION flagger_gate_link_look(link text, valid_until timestamptz) RETURNS json LANGUAGE plpgsql AS $$
BEGIN
    IF valid_until <= now() THEN
        PERFORM flagger_gate_refuse(403, 'this link has expired at ' || flagger_gate_time(valid_until));
    END IF;
    IF EXISTS (SELECT FROM flagger_gate_links WHERE id = link) THEN
        PERFORM flagger_gate_refuse(403, 'this link has been used already');
    END IF;
    RETURN '{}';
END $$;

-- Marks a one-click link as used, and makes its change. If that is refused the link stays valid. Of two concurrent
-- uses the second waits for the first one's commit. A link that expired a day ago needs no row to be refused.
CREATE FUNCTION flagger_gate_link(
    link text, valid_until timestamptz, action text,
    k text, ns text, n text, h text, rev text, until timestamptz, actor text, sure boolean, via text, why text,
    OUT changed boolean, OUT open boolean, OUT votes integer, OUT quorum integer, OUT seq bigint)
LANGUAGE plpgsql AS $$
BEGIN
    PERFORM flagger_gate_link_look(link, valid_until);
    INSERT INTO flagger_gate_links VALUES (link, valid_until) ON CONFLICT DO NOTHING;
    IF NOT FOUND THEN
        PERFORM flagger_gate_refuse(403, 'this link has been used already');
    END IF;
    DELETE FROM flagger_gate_links
    WHERE id IN (SELECT id FROM flagger_gate_links WHERE expires < now() - interval '1 day' LIMIT 100
                 FOR UPDATE SKIP LOCKED);
    via := via || ' ' || link;
    IF action = 'close' THEN
        SELECT * INTO changed, open, votes, quorum, seq FROM flagger_gate_close(k, ns, n, h, actor, sure, via, why);
    ELSE
        SELECT * INTO changed, open, votes, quorum, seq
        FROM flagger_gate_open(k, ns, n, h, rev, until, actor, sure, via, why);
    END IF;
END $$;

-- Records that a one-click link was created, in the name of `as_whom`.
CREATE FUNCTION flagger_gate_link_made(
    link text, valid_until timestamptz, for_action text, k text, ns text, n text, h text, rev text, for_ms bigint,
    as_whom text, actor text, sure boolean, why text) RETURNS bigint LANGUAGE sql AS $$
    SELECT flagger_gate_append(jsonb_build_object(
        'action', 'link', 'link', link, 'does', for_action, 'as', as_whom, 'expires', flagger_gate_time(valid_until),
        'kind', k, 'namespace', ns, 'name', n, 'hook', h, 'revision', rev, 'forMs', for_ms, 'who', actor,
        'verified', sure, 'via', 'api', 'reason', why))
$$;

-- --- rules about gates

-- names NULL: removes the policy. limit_ms NULL: no deadline.
CREATE FUNCTION flagger_gate_policy(
    k text, ns text, n text, wanted integer, names text[], limit_ms bigint, default_action text,
    actor text, sure boolean, via text, why text)
RETURNS bigint LANGUAGE plpgsql AS $$
BEGIN
    IF cardinality(names) > 0 AND wanted > cardinality(names) THEN
        PERFORM flagger_gate_refuse(400, format('quorum: %s of %s approvers can never come together', wanted,
                                                cardinality(names)));
    END IF;
    IF (SELECT count(DISTINCT x) < count(x) FROM unnest(names) x) THEN
        PERFORM flagger_gate_refuse(400, 'approvers: a name is there twice');
    END IF;
    PERFORM flagger_gate_lock(k, ns, n);
    DELETE FROM flagger_gate_policies WHERE kind = k AND namespace = ns AND name = n;
    IF names IS NOT NULL THEN
        INSERT INTO flagger_gate_policies VALUES (k, ns, n, wanted, names, limit_ms, default_action);
    ELSIF NOT FOUND THEN
        RETURN NULL;
    END IF;
    RETURN flagger_gate_append(jsonb_build_object(
        'action', 'policy', 'kind', k, 'namespace', ns, 'name', n, 'quorum', wanted, 'approvers', names,
        'deadlineMs', limit_ms, 'onDeadline', default_action, 'who', actor, 'verified', sure, 'via', via,
        'reason', why));
END $$;

-- Freezes affect what programs of version 1 may read of every gate.
CREATE FUNCTION flagger_gate_mirror_all() RETURNS void LANGUAGE sql AS $$
    SELECT set_config('flagger_gate.version', '2', true);
    SELECT flagger_gate_mirror(kind, namespace, name)
    FROM (SELECT kind, namespace, name FROM flagger_gates ORDER BY kind, namespace, name FOR UPDATE) g
$$;

CREATE FUNCTION flagger_gate_freeze(
    ns text, n text, first timestamptz, until timestamptz, week_from integer, week_until integer, in_zone text,
    actor text, sure boolean, via text, why text, OUT id bigint, OUT seq bigint)
LANGUAGE plpgsql AS $$
BEGIN
    IF in_zone IS NOT NULL AND NOT EXISTS (SELECT FROM pg_timezone_names z WHERE z.name = in_zone) THEN
        PERFORM flagger_gate_refuse(400, format('weekly.zone: %s is no time zone; expected one such as Europe/Berlin',
                                                in_zone));
    END IF;
    IF until <= greatest(now(), first) THEN
        PERFORM flagger_gate_refuse(400, 'until: ' || flagger_gate_time(until) || ' is not after the beginning');
    END IF;
    LOCK TABLE flagger_gate_freezes IN SHARE ROW EXCLUSIVE MODE;
    INSERT INTO flagger_gate_freezes (namespace, name, starts, ends, weekly_from, weekly_until, zone, reason, by_whom)
    VALUES (ns, n, first, until, week_from, week_until, in_zone, why, actor)
    RETURNING flagger_gate_freezes.id INTO id;
    PERFORM flagger_gate_mirror_all();
    seq := flagger_gate_append(jsonb_build_object(
        'action', 'freeze', 'freeze', id, 'namespace', ns, 'name', n, 'from', flagger_gate_time(first),
        'until', flagger_gate_time(until), 'weeklyFrom', week_from, 'weeklyUntil', week_until, 'zone', in_zone,
        'who', actor, 'verified', sure, 'via', via, 'reason', why));
END $$;

CREATE FUNCTION flagger_gate_unfreeze(which bigint, actor text, sure boolean, via text, why text) RETURNS bigint
LANGUAGE plpgsql AS $$
DECLARE
    gone flagger_gate_freezes;
BEGIN
    LOCK TABLE flagger_gate_freezes IN SHARE ROW EXCLUSIVE MODE;
    DELETE FROM flagger_gate_freezes f WHERE f.id = which RETURNING * INTO gone;
    IF gone.id IS NULL THEN
        PERFORM flagger_gate_refuse(404, format('there is no freeze %s', which));
    END IF;
    PERFORM flagger_gate_mirror_all();
    RETURN flagger_gate_append(jsonb_build_object(
        'action', 'unfreeze', 'freeze', which, 'namespace', gone.namespace, 'name', gone.name, 'who', actor,
        'verified', sure, 'via', via, 'reason', why));
END $$;

-- --- checks

-- Always one row. open: the check passes. stale: the wait has to be recorded (flagger_gate_wait). waits: it is
-- recorded already, for this hook. due: its deadline has passed and has had no effect yet.
CREATE FUNCTION flagger_gate_check(k text, ns text, n text, h text, rev text, ph text)
RETURNS TABLE (open boolean, waits boolean, stale boolean, due boolean) LANGUAGE sql STABLE AS $$
    SELECT EXISTS (SELECT FROM flagger_gate_passes p
                   WHERE p.kind = k AND p.namespace = ns AND p.name = n AND p.hook IN ('', h)
                     AND p.revision IN ('', rev) AND (p.expires IS NULL OR p.expires > now()))
             AND (k = 'rollback' OR NOT EXISTS (SELECT FROM flagger_gate_frozen f
                                                WHERE f.namespace IN ('', ns) AND f.name IN ('', n))),
           w.hook IS NOT NULL,
           w.hook IS NULL OR w.revision <> rev OR w.phase <> ph OR w.seen < now() - interval '30 seconds',
           coalesce(w.revision = rev AND rev <> '' AND NOT w.deadline_passed
                        AND w.since + o.deadline_ms * interval '1 millisecond' <= now(), false)
    FROM (SELECT) one
    LEFT JOIN flagger_gate_waits w ON k = 'gate' AND w.namespace = ns AND w.name = n AND w.hook = h
    LEFT JOIN flagger_gate_policies o ON o.kind = k AND o.namespace = ns AND o.name = n
$$;

-- At most 10,000 rows: callers of checks could invent names.
CREATE FUNCTION flagger_gate_wait(ns text, n text, h text, ph text, rev text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    before flagger_gate_waits;
BEGIN
    SELECT * INTO before FROM flagger_gate_waits w WHERE w.namespace = ns AND w.name = n AND w.hook = h FOR UPDATE;
    IF NOT FOUND AND (SELECT count(*) FROM flagger_gate_waits) >= 10000 THEN
        DELETE FROM flagger_gate_waits WHERE seen < now() - interval '1 day';
        IF (SELECT count(*) FROM flagger_gate_waits) >= 10000 THEN
            RETURN;
        END IF;
    END IF;
    INSERT INTO flagger_gate_waits AS w (namespace, name, hook, phase, revision) VALUES (ns, n, h, ph, rev)
    ON CONFLICT (namespace, name, hook) DO UPDATE
    SET phase = ph, revision = rev, seen = now(),
        since = CASE WHEN w.revision = rev THEN w.since ELSE now() END,
        deadline_passed = w.revision = rev AND w.deadline_passed;
    IF before.hook IS NULL OR before.revision <> rev OR before.phase <> ph THEN
        PERFORM pg_notify('flagger_gate', format('wait %s/%s', ns, n));
    END IF;
END $$;

-- Ends a wait.
CREATE FUNCTION flagger_gate_waited(ns text, n text, h text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    DELETE FROM flagger_gate_waits WHERE namespace = ns AND name = n AND hook = h;
    IF FOUND THEN
        PERFORM pg_notify('flagger_gate', format('wait %s/%s', ns, n));
    END IF;
END $$;

-- Applies the policy to a revision that was not answered in time; once per revision and hook. A freeze does not stop
-- the clock, but holds the pass.
CREATE FUNCTION flagger_gate_deadline(ns text, n text, h text, rev text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    p flagger_gate_policies;
    k text;
    why text;
BEGIN
    PERFORM flagger_gate_lock('gate', ns, n);
    SELECT * INTO p FROM flagger_gate_policies WHERE kind = 'gate' AND namespace = ns AND name = n;
    UPDATE flagger_gate_waits w SET deadline_passed = true
    WHERE w.namespace = ns AND w.name = n AND w.hook = h AND w.revision = rev AND rev <> '' AND NOT w.deadline_passed
      AND w.since + p.deadline_ms * interval '1 millisecond' <= now();
    IF NOT FOUND THEN
        RETURN;
    END IF;
    k := CASE p.on_deadline WHEN 'open' THEN 'gate' ELSE 'rollback' END;
    IF k = 'rollback' THEN
        PERFORM flagger_gate_lock(k, ns, n);
        h := '';
    END IF;
    why := format('nobody has answered within %s s', p.deadline_ms / 1000);
    INSERT INTO flagger_gate_passes VALUES (k, ns, n, h, rev, NULL, 'deadline', why)
    ON CONFLICT (kind, namespace, name, hook, revision)
    DO UPDATE SET expires = NULL, by_whom = excluded.by_whom, reason = excluded.reason, since = now();
    PERFORM flagger_gate_mirror(k, ns, n);
    PERFORM flagger_gate_append(jsonb_build_object(
        'action', 'open', 'kind', k, 'namespace', ns, 'name', n, 'hook', h, 'revision', rev, 'who', 'deadline',
        'verified', true, 'via', 'deadline', 'reason', why));
END $$;

-- --- reading

CREATE FUNCTION flagger_gate_json(k text, ns text, n text) RETURNS json LANGUAGE sql STABLE AS $$
    SELECT json_build_object(
        'namespace', ns, 'name', n, 'kind', k,
        'open', EXISTS (SELECT FROM flagger_gate_passes p
                        WHERE p.kind = k AND p.namespace = ns AND p.name = n AND p.hook = '' AND p.revision = ''
                          AND (p.expires IS NULL OR p.expires > now())),
        'frozen', (SELECT json_build_object('id', f.id, 'reason', f.reason, 'until', flagger_gate_time(f.ends))
                   FROM flagger_gate_frozen f
                   WHERE k = 'gate' AND f.namespace IN ('', ns) AND f.name IN ('', n)
                   ORDER BY f.ends DESC NULLS FIRST LIMIT 1),
        'passes', (SELECT coalesce(json_agg(json_build_object(
                              'hook', p.hook, 'revision', p.revision, 'expires', flagger_gate_time(p.expires),
                              'by', p.by_whom, 'reason', p.reason, 'since', flagger_gate_time(p.since))
                              ORDER BY p.hook, p.revision), '[]')
                   FROM flagger_gate_passes p
                   WHERE p.kind = k AND p.namespace = ns AND p.name = n AND (p.expires IS NULL OR p.expires > now())),
        'waits', (SELECT coalesce(json_agg(json_build_object(
                             'hook', w.hook, 'phase', w.phase, 'revision', w.revision,
                             'since', flagger_gate_time(w.since), 'seen', flagger_gate_time(w.seen))
                             ORDER BY w.since, w.hook), '[]')
                  FROM flagger_gate_waits w
                  WHERE k = 'gate' AND w.namespace = ns AND w.name = n AND w.seen > now() - interval '1 day'),
        'votes', (SELECT coalesce(json_agg(json_build_object(
                             'hook', v.hook, 'revision', v.revision, 'by', v.voter, 'at', flagger_gate_time(v.at),
                             'reason', v.reason) ORDER BY v.at, v.voter), '[]')
                  FROM flagger_gate_votes v
                  WHERE v.kind = k AND v.namespace = ns AND v.name = n AND v.at > now() - interval '1 day'),
        'policy', (SELECT json_build_object('quorum', o.quorum, 'approvers', o.approvers,
                                            'deadlineMs', o.deadline_ms, 'onDeadline', o.on_deadline)
                   FROM flagger_gate_policies o WHERE o.kind = k AND o.namespace = ns AND o.name = n),
        'changed', (SELECT flagger_gate_time(g.changed) FROM flagger_gates g
                    WHERE g.kind = k AND g.namespace = ns AND g.name = n))
$$;

-- "Fri 16:00"
CREATE FUNCTION flagger_gate_weekday(minute integer) RETURNS text LANGUAGE sql IMMUTABLE AS $$
    SELECT (ARRAY['Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat', 'Sun'])[minute / 1440 + 1]
           || ' ' || lpad((minute % 1440 / 60)::text, 2, '0') || ':' || lpad((minute % 60)::text, 2, '0')
$$;

CREATE FUNCTION flagger_gate_freeze_json(f flagger_gate_freezes) RETURNS json LANGUAGE sql STABLE AS $$
    SELECT json_build_object(
        'id', f.id, 'namespace', f.namespace, 'name', f.name, 'from', flagger_gate_time(f.starts),
        'until', flagger_gate_time(f.ends),
        'weekly', CASE WHEN f.zone IS NOT NULL THEN json_build_object('from', flagger_gate_weekday(f.weekly_from),
                                                                      'until', flagger_gate_weekday(f.weekly_until),
                                                                      'zone', f.zone) END,
        'reason', f.reason, 'by', f.by_whom, 'since', flagger_gate_time(f.since),
        'active', EXISTS (SELECT FROM flagger_gate_frozen a WHERE a.id = f.id))
$$;

-- Gates that were ever changed or have waits, after (k0, ns0, n0) in the order of namespace, name, kind.
CREATE FUNCTION flagger_gate_list(only_ns text, ns0 text, n0 text, k0 text, most integer)
RETURNS TABLE (namespace text, name text, kind text, gate json) LANGUAGE sql STABLE AS $$
    SELECT g.namespace, g.name, g.kind, flagger_gate_json(g.kind, g.namespace, g.name)
    FROM (SELECT namespace, name, kind FROM flagger_gates
          UNION
          SELECT namespace, name, 'gate' FROM flagger_gate_waits WHERE seen > now() - interval '1 day') g
    WHERE (only_ns = '' OR g.namespace = only_ns) AND (g.namespace, g.name, g.kind) > (ns0, n0, k0)
    ORDER BY g.namespace, g.name, g.kind LIMIT most
$$;

-- --- programs of version 1, and people with psql

-- Writes to flagger_gates by others: their meaning becomes a pass, and history.
CREATE FUNCTION flagger_gate_of_version_1() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    what jsonb := jsonb_build_object('kind', NEW.kind, 'namespace', NEW.namespace, 'name', NEW.name, 'hook', '',
                                     'who', session_user, 'verified', false, 'via', 'version 1');
    p flagger_gate_policies;
    withdrawn boolean;
BEGIN
    IF coalesce(current_setting('flagger_gate.version', true), '') <> '' THEN
        RETURN NULL;
    END IF;
    IF NEW.open THEN
        SELECT * INTO p FROM flagger_gate_policies o
        WHERE o.kind = NEW.kind AND o.namespace = NEW.namespace AND o.name = NEW.name;
        IF p.kind IS NOT NULL THEN
            PERFORM flagger_gate_may_approve(p, session_user, false);
        END IF;
        INSERT INTO flagger_gate_passes AS a
        VALUES (NEW.kind, NEW.namespace, NEW.name, '', '', NULL, session_user, '')
        ON CONFLICT (kind, namespace, name, hook, revision)
        DO UPDATE SET expires = NULL, by_whom = excluded.by_whom, reason = '', since = now()
        WHERE a.expires IS NOT NULL;
        IF FOUND THEN
            PERFORM flagger_gate_append(what || '{"action": "open", "revision": ""}');
        END IF;
    ELSE
        DELETE FROM flagger_gate_votes v
        WHERE v.kind = NEW.kind AND v.namespace = NEW.namespace AND v.name = NEW.name;
        withdrawn := FOUND;
        DELETE FROM flagger_gate_passes a
        WHERE a.kind = NEW.kind AND a.namespace = NEW.namespace AND a.name = NEW.name;
        IF FOUND OR withdrawn THEN
            PERFORM flagger_gate_append(what || '{"action": "close"}');
        END IF;
    END IF;
    PERFORM flagger_gate_mirror(NEW.kind, NEW.namespace, NEW.name);
    RETURN NULL;
END $$;
CREATE TRIGGER of_version_1 AFTER INSERT OR UPDATE ON flagger_gates
    FOR EACH ROW WHEN (pg_trigger_depth() = 0) EXECUTE FUNCTION flagger_gate_of_version_1();

-- Gates that were open stay open.
INSERT INTO flagger_gate_passes
SELECT kind, namespace, name, '', '', NULL, 'unknown', 'open before the history began', changed
FROM flagger_gates WHERE open;
SELECT flagger_gate_append(jsonb_build_object(
    'action', 'open', 'kind', kind, 'namespace', namespace, 'name', name, 'hook', '', 'revision', '',
    'who', 'unknown', 'verified', false, 'via', 'upgrade', 'reason', 'open before the history began'))
FROM (SELECT * FROM flagger_gates WHERE open ORDER BY namespace, name, kind) g;
