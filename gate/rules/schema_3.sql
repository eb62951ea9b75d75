-- version 3: waits are kept by revision and by caller, a policy applies to open gates, and reading can be limited to
-- namespaces.

INSERT INTO flagger_gate_schema (version, oldest) VALUES (3, 2);
-- Changes wait from here to the end of the upgrade. Checks continue, and running functions of version 2 find their
-- tables and columns.
LOCK TABLE flagger_gates IN SHARE ROW EXCLUSIVE MODE;

-- --- waits by revision and by caller
--
-- A message of one revision does not concern another, and messages of one caller neither end nor displace waits of
-- another.

-- Replaces flagger_gate_waits.
CREATE TABLE flagger_gate_waiting (
    namespace text NOT NULL,
    name text NOT NULL,
    hook text NOT NULL,
    phase text NOT NULL,
    revision text NOT NULL,
    who text NOT NULL, -- asks, by a name that was proven; '': all others together
    since timestamptz NOT NULL DEFAULT now(), -- when he asked first for this revision
    seen timestamptz NOT NULL DEFAULT now(),  -- and last, give or take half a minute
    PRIMARY KEY (namespace, name, hook, revision, who)
);
CREATE INDEX flagger_gate_waiting_who ON flagger_gate_waiting (who, seen);
INSERT INTO flagger_gate_waiting (namespace, name, hook, phase, revision, who, since, seen)
SELECT namespace, name, hook, phase, revision, '', since, seen FROM flagger_gate_waits;

-- Revisions whose deadline has had its effect, or was ended by a refusal: permanently, even after the wait was
-- dropped.
CREATE TABLE flagger_gate_answered (
    namespace text NOT NULL,
    name text NOT NULL,
    hook text NOT NULL,
    revision text NOT NULL,
    at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (namespace, name, hook, revision)
);
INSERT INTO flagger_gate_answered (namespace, name, hook, revision)
SELECT namespace, name, hook, revision FROM flagger_gate_waits WHERE deadline_passed AND revision <> '';

-- True if the deadline of this revision has passed without an answer. A caller without a check for a day has ended its
-- wait.
CREATE FUNCTION flagger_gate_due(ns text, n text, h text, rev text) RETURNS boolean LANGUAGE sql STABLE AS $$
    SELECT rev <> ''
       AND EXISTS (SELECT FROM flagger_gate_waiting w
                   JOIN flagger_gate_policies o ON o.kind = 'gate' AND o.namespace = w.namespace AND o.name = w.name
                   WHERE w.namespace = ns AND w.name = n AND w.hook = h AND w.revision = rev
                     AND w.seen > now() - interval '1 day'
                     AND w.since + o.deadline_ms * interval '1 millisecond' <= now())
       AND NOT EXISTS (SELECT FROM flagger_gate_answered a
                       WHERE a.namespace = ns AND a.name = n AND a.hook = h AND a.revision = rev)
$$;

-- As flagger_gate_check, for a caller. waits: the recorded wait has to be removed (flagger_gate_through).
CREATE FUNCTION flagger_gate_ask(k text, ns text, n text, h text, rev text, ph text, asker text)
RETURNS TABLE (open boolean, waits boolean, stale boolean, due boolean) LANGUAGE sql STABLE AS $$
    SELECT EXISTS (SELECT FROM flagger_gate_passes p
                   WHERE p.kind = k AND p.namespace = ns AND p.name = n AND p.hook IN ('', h)
                     AND p.revision IN ('', rev) AND (p.expires IS NULL OR p.expires > now()))
             AND (k = 'rollback' OR NOT EXISTS (SELECT FROM flagger_gate_frozen f
                                                WHERE f.namespace IN ('', ns) AND f.name IN ('', n))),
           k = 'gate' AND EXISTS (SELECT FROM flagger_gate_waiting w
                                  WHERE w.namespace = ns AND w.name = n AND w.hook = h
                                    AND (w.revision = rev OR w.who = asker AND w.seen < now() - interval '1 hour')),
           NOT EXISTS (SELECT FROM flagger_gate_waiting w
                       WHERE w.namespace = ns AND w.name = n AND w.hook = h AND w.revision = rev AND w.who = asker
                         AND w.phase = ph AND w.seen >= now() - interval '30 seconds'),
           -- flagger_gate_due(), written out: PostgreSQL would plan a function anew for every check
           k = 'gate' AND rev <> ''
             AND EXISTS (SELECT FROM flagger_gate_waiting w
                         JOIN flagger_gate_policies o
                           ON o.kind = 'gate' AND o.namespace = w.namespace AND o.name = w.name
                         WHERE w.namespace = ns AND w.name = n AND w.hook = h AND w.revision = rev
                           AND w.seen > now() - interval '1 day'
                           AND w.since + o.deadline_ms * interval '1 millisecond' <= now())
             AND NOT EXISTS (SELECT FROM flagger_gate_answered a
                             WHERE a.namespace = ns AND a.name = n AND a.hook = h AND a.revision = rev)
$$;

-- Functions that programs of version 2 call; these do not name the caller.
CREATE OR REPLACE FUNCTION flagger_gate_check(k text, ns text, n text, h text, rev text, ph text)
RETURNS TABLE (open boolean, waits boolean, stale boolean, due boolean) LANGUAGE sql STABLE AS $$
    SELECT * FROM flagger_gate_ask(k, ns, n, h, rev, ph, '')
$$;

-- Room for one more row of this caller, since callers of checks can invent names and revisions: each has 64 at a gate
-- and 10,000 in all. At a gate rows without recent checks are dropped; in all, those of gates that were never opened,
-- closed or given a policy, oldest check first, and of others those without recent checks.
CREATE FUNCTION flagger_gate_room(ns text, n text, asker text) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
    known boolean;
BEGIN
    IF (SELECT count(*) FROM flagger_gate_waiting w WHERE w.namespace = ns AND w.name = n AND w.who = asker) >= 64 THEN
        DELETE FROM flagger_gate_waiting w
        WHERE w.namespace = ns AND w.name = n AND w.who = asker AND w.seen < now() - interval '5 minutes';
        IF NOT FOUND THEN
            RETURN false;
        END IF;
    END IF;
    IF (SELECT count(*) FROM flagger_gate_waiting w WHERE w.who = asker) < 10000 THEN
        RETURN true;
    END IF;
    DELETE FROM flagger_gate_waiting w
    WHERE (w.namespace, w.name, w.hook, w.revision, w.who) IN (
        SELECT o.namespace, o.name, o.hook, o.revision, o.who FROM flagger_gate_waiting o
        WHERE o.who = asker
          AND NOT EXISTS (SELECT FROM flagger_gates g WHERE g.namespace = o.namespace AND g.name = o.name)
        ORDER BY o.seen LIMIT 100);
    IF FOUND THEN
        RETURN true;
    END IF;
    known := EXISTS (SELECT FROM flagger_gates g WHERE g.namespace = ns AND g.name = n);
    IF known THEN
        DELETE FROM flagger_gate_waiting w WHERE w.who = asker AND w.seen < now() - interval '5 minutes';
    END IF;
    RETURN known AND FOUND;
END $$;

-- Records a wait: since its first check, unless there was none for a day.
CREATE FUNCTION flagger_gate_waits_on(ns text, n text, h text, ph text, rev text, asker text) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
    before flagger_gate_waiting;
BEGIN
    SELECT * INTO before FROM flagger_gate_waiting w
    WHERE w.namespace = ns AND w.name = n AND w.hook = h AND w.revision = rev AND w.who = asker FOR UPDATE;
    IF NOT FOUND AND NOT flagger_gate_room(ns, n, asker) THEN
        RETURN;
    END IF;
    INSERT INTO flagger_gate_waiting AS w (namespace, name, hook, phase, revision, who)
    VALUES (ns, n, h, ph, rev, asker)
    ON CONFLICT (namespace, name, hook, revision, who) DO UPDATE
    SET phase = ph, seen = now(), since = CASE WHEN w.seen > now() - interval '1 day' THEN w.since ELSE now() END;
    IF before.hook IS NULL OR before.phase <> ph THEN
        PERFORM pg_notify('flagger_gate', format('wait %s/%s', ns, n));
    END IF;
END $$;

CREATE OR REPLACE FUNCTION flagger_gate_wait(ns text, n text, h text, ph text, rev text) RETURNS void
LANGUAGE sql AS $$
    SELECT flagger_gate_waits_on(ns, n, h, ph, rev, '')
$$;

-- A revision has passed: its waits end, for all callers; so do this caller's earlier waits that it replaces.
CREATE FUNCTION flagger_gate_through(ns text, n text, h text, rev text, asker text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    gone boolean;
BEGIN
    DELETE FROM flagger_gate_waiting w
    WHERE w.namespace = ns AND w.name = n AND w.hook = h AND w.revision <> rev AND w.who = asker
      AND w.seen < coalesce((SELECT m.since FROM flagger_gate_waiting m
                             WHERE m.namespace = ns AND m.name = n AND m.hook = h AND m.revision = rev
                               AND m.who = asker),
                            now() - interval '1 hour');
    gone := FOUND;
    DELETE FROM flagger_gate_waiting w WHERE w.namespace = ns AND w.name = n AND w.hook = h AND w.revision = rev;
    IF gone OR FOUND THEN
        PERFORM pg_notify('flagger_gate', format('wait %s/%s', ns, n));
    END IF;
END $$;

-- For programs of version 2: the revision is not known, so that only rows of such programs are removed.
CREATE OR REPLACE FUNCTION flagger_gate_waited(ns text, n text, h text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    DELETE FROM flagger_gate_waiting WHERE namespace = ns AND name = n AND hook = h AND who = '';
    IF FOUND THEN
        PERFORM pg_notify('flagger_gate', format('wait %s/%s', ns, n));
    END IF;
END $$;

CREATE OR REPLACE FUNCTION flagger_gate_deadline(ns text, n text, h text, rev text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    p flagger_gate_policies;
    k text;
    why text;
BEGIN
    PERFORM flagger_gate_lock('gate', ns, n);
    IF NOT flagger_gate_due(ns, n, h, rev) THEN
        RETURN;
    END IF;
    SELECT * INTO p FROM flagger_gate_policies WHERE kind = 'gate' AND namespace = ns AND name = n;
    INSERT INTO flagger_gate_answered (namespace, name, hook, revision) VALUES (ns, n, h, rev);
    k := CASE p.on_deadline WHEN 'open' THEN 'gate' ELSE 'rollback' END;
    IF k = 'rollback' THEN
        PERFORM flagger_gate_lock(k, ns, n);
        h := '';
    END IF;
    why := format('nobody has answered within %s s', p.deadline_ms / 1000);
    INSERT INTO flagger_gate_passes (kind, namespace, name, hook, revision, expires, by_whom, reason, approvers)
    VALUES (k, ns, n, h, rev, NULL, 'deadline', why, NULL)
    ON CONFLICT (kind, namespace, name, hook, revision)
    DO UPDATE SET expires = NULL, by_whom = excluded.by_whom, reason = excluded.reason, approvers = NULL, since = now();
    PERFORM flagger_gate_mirror(k, ns, n);
    PERFORM flagger_gate_append(jsonb_build_object(
        'action', 'open', 'kind', k, 'namespace', ns, 'name', n, 'hook', h, 'revision', rev, 'who', 'deadline',
        'verified', true, 'via', 'deadline', 'reason', why));
END $$;

-- A refusal ends the deadlines that would open, of all waits there. If the policy names approvers it takes a proven
-- name.
CREATE FUNCTION flagger_gate_say_no(ns text, n text, h text, sure boolean) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
    DELETE FROM flagger_gate_answered a
    WHERE a.namespace = ns AND a.name = n AND a.at < now() - interval '90 days'
      AND NOT EXISTS (SELECT FROM flagger_gate_waiting w
                      WHERE w.namespace = ns AND w.name = n AND w.hook = a.hook AND w.revision = a.revision);
    INSERT INTO flagger_gate_answered (namespace, name, hook, revision)
    SELECT DISTINCT w.namespace, w.name, w.hook, w.revision
    FROM flagger_gate_waiting w
    JOIN flagger_gate_policies o ON o.kind = 'gate' AND o.namespace = w.namespace AND o.name = w.name
    WHERE w.namespace = ns AND w.name = n AND (h = '' OR w.hook = h) AND w.revision <> '' AND o.on_deadline = 'open'
      AND (sure OR o.quorum = 1 AND cardinality(o.approvers) = 0)
    ON CONFLICT DO NOTHING;
    RETURN FOUND;
END $$;

CREATE OR REPLACE FUNCTION flagger_gate_close(
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
    IF k = 'gate' AND flagger_gate_say_no(ns, n, h, sure) THEN
        changed := true;
    END IF;
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

-- --- a policy applies to open gates

-- Proven names of a pass, NULL if it came from a deadline.
ALTER TABLE flagger_gate_passes ADD COLUMN approvers text[] DEFAULT '{}';
UPDATE flagger_gate_passes p
SET approvers = (SELECT CASE WHEN h.entry ->> 'via' = 'deadline' THEN NULL
                             WHEN h.entry -> 'approvers' IS NOT NULL
                             THEN ARRAY(SELECT json_array_elements_text(h.entry -> 'approvers'))
                             WHEN h.entry ->> 'verified' = 'true' THEN ARRAY[h.entry ->> 'who']
                             ELSE '{}' END
                 FROM flagger_gate_history h
                 WHERE h.namespace = p.namespace AND h.name = p.name AND h.entry ->> 'kind' = p.kind
                   AND h.entry ->> 'action' = 'open' AND h.entry ->> 'hook' = p.hook
                   AND h.entry ->> 'revision' = p.revision
                 ORDER BY h.seq DESC LIMIT 1)
WHERE EXISTS (SELECT FROM flagger_gate_history h
              WHERE h.namespace = p.namespace AND h.name = p.name AND h.entry ->> 'kind' = p.kind
                AND h.entry ->> 'action' = 'open' AND h.entry ->> 'hook' = p.hook
                AND h.entry ->> 'revision' = p.revision);

CREATE OR REPLACE FUNCTION flagger_gate_open(
    k text, ns text, n text, h text, rev text, until timestamptz, actor text, sure boolean, via text, why text,
    OUT changed boolean, OUT open boolean, OUT votes integer, OUT quorum integer, OUT seq bigint)
LANGUAGE plpgsql AS $$
DECLARE
    p flagger_gate_policies;
    names text[] := CASE WHEN sure THEN ARRAY[actor] ELSE '{}' END;
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
        SELECT count(*), nullif(min(coalesce(v.expires, 'infinity')), 'infinity'),
               array_agg(v.voter ORDER BY v.at, v.voter)
        INTO votes, until, names
        FROM flagger_gate_votes v
        WHERE v.kind = k AND v.namespace = ns AND v.name = n AND v.hook = h AND v.revision = rev
          AND (cardinality(p.approvers) = 0 OR v.voter = ANY (p.approvers));
        open := flagger_gate_passes(k, ns, n, h, rev);
        IF votes < quorum THEN
            RETURN;
        END IF;
        what := what || jsonb_build_object('approvers', names);
        DELETE FROM flagger_gate_votes v
        WHERE v.kind = k AND v.namespace = ns AND v.name = n AND v.hook = h AND v.revision = rev;
    END IF;
    INSERT INTO flagger_gate_passes (kind, namespace, name, hook, revision, expires, by_whom, reason, approvers)
    VALUES (k, ns, n, h, rev, until, actor, why, names)
    ON CONFLICT (kind, namespace, name, hook, revision)
    DO UPDATE SET expires = excluded.expires, by_whom = excluded.by_whom, reason = excluded.reason,
                  approvers = excluded.approvers, since = now();
    PERFORM flagger_gate_mirror(k, ns, n);
    changed := true;
    open := true;
    seq := flagger_gate_append(what || jsonb_build_object('action', 'open', 'expires', flagger_gate_time(until)));
END $$;

-- True if these approvers, or a deadline, suffice under this policy.
CREATE FUNCTION flagger_gate_meets(p flagger_gate_policies, names text[]) RETURNS boolean LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE WHEN names IS NULL THEN p.kind = 'rollback' OR coalesce(p.on_deadline = 'open', false)
                WHEN p.quorum = 1 AND cardinality(p.approvers) = 0 THEN true
                ELSE (SELECT count(DISTINCT x) FROM unnest(names) x
                      WHERE cardinality(p.approvers) = 0 OR x = ANY (p.approvers)) >= p.quorum END
$$;

-- Closes open gates that do not meet the policy, with their hook, so that the history needs no new action.
CREATE FUNCTION flagger_gate_bind(p flagger_gate_policies, actor text, sure boolean) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    h text;
BEGIN
    FOR h IN SELECT DISTINCT a.hook FROM flagger_gate_passes a
             WHERE a.kind = p.kind AND a.namespace = p.namespace AND a.name = p.name
               AND (a.expires IS NULL OR a.expires > now()) AND NOT flagger_gate_meets(p, a.approvers)
             ORDER BY a.hook LOOP
        DELETE FROM flagger_gate_passes a
        WHERE a.kind = p.kind AND a.namespace = p.namespace AND a.name = p.name AND (h = '' OR a.hook = h);
        DELETE FROM flagger_gate_votes v
        WHERE v.kind = p.kind AND v.namespace = p.namespace AND v.name = p.name AND (h = '' OR v.hook = h);
        PERFORM flagger_gate_append(jsonb_build_object(
            'action', 'close', 'kind', p.kind, 'namespace', p.namespace, 'name', p.name, 'hook', h, 'who', actor,
            'verified', sure, 'via', 'policy', 'reason', 'the new policy asks for more than let it through'));
        EXIT WHEN h = '';
    END LOOP;
    PERFORM flagger_gate_mirror(p.kind, p.namespace, p.name);
END $$;

CREATE OR REPLACE FUNCTION flagger_gate_policy(
    k text, ns text, n text, wanted integer, names text[], limit_ms bigint, default_action text,
    actor text, sure boolean, via text, why text)
RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    p flagger_gate_policies;
    seq bigint;
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
        INSERT INTO flagger_gate_policies VALUES (k, ns, n, wanted, names, limit_ms, default_action) RETURNING * INTO p;
    ELSIF NOT FOUND THEN
        RETURN NULL;
    END IF;
    seq := flagger_gate_append(jsonb_build_object(
        'action', 'policy', 'kind', k, 'namespace', ns, 'name', n, 'quorum', wanted, 'approvers', names,
        'deadlineMs', limit_ms, 'onDeadline', default_action, 'who', actor, 'verified', sure, 'via', via,
        'reason', why));
    IF names IS NOT NULL THEN
        PERFORM flagger_gate_bind(p, actor, sure);
    END IF;
    RETURN seq;
END $$;

-- --- reading, also limited to namespaces

CREATE OR REPLACE FUNCTION flagger_gate_json(k text, ns text, n text) RETURNS json LANGUAGE sql STABLE AS $$
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
        -- of each asker the revision that he has asked for last
        'waits', (SELECT coalesce(json_agg(json_build_object(
                             'hook', w.hook, 'phase', w.phase, 'revision', w.revision,
                             'since', flagger_gate_time(w.since), 'seen', flagger_gate_time(w.seen))
                             ORDER BY w.since, w.hook), '[]')
                  FROM (SELECT l.hook, l.revision, max(l.phase) AS phase, min(l.since) AS since, max(l.seen) AS seen
                        FROM (SELECT DISTINCT ON (o.hook, o.who) o.* FROM flagger_gate_waiting o
                              WHERE k = 'gate' AND o.namespace = ns AND o.name = n AND o.seen > now() - interval '1 day'
                              ORDER BY o.hook, o.who, o.seen DESC, o.since DESC) l
                        GROUP BY l.hook, l.revision) w),
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

-- As flagger_gate_list, of some namespaces; NULL: of all.
CREATE FUNCTION flagger_gate_list_of(among text[], ns0 text, n0 text, k0 text, most integer)
RETURNS TABLE (namespace text, name text, kind text, gate json) LANGUAGE sql STABLE AS $$
    SELECT g.namespace, g.name, g.kind, flagger_gate_json(g.kind, g.namespace, g.name)
    FROM (SELECT namespace, name, kind FROM flagger_gates
          UNION
          SELECT namespace, name, 'gate' FROM flagger_gate_waiting WHERE seen > now() - interval '1 day') g
    WHERE (among IS NULL OR g.namespace = ANY (among)) AND (g.namespace, g.name, g.kind) > (ns0, n0, k0)
    ORDER BY g.namespace, g.name, g.kind LIMIT most
$$;

-- By a caller limited to some namespaces; NULL: to none.
CREATE FUNCTION flagger_gate_unfreeze_of(among text[], which bigint, actor text, sure boolean, via text, why text)
RETURNS bigint LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (SELECT FROM flagger_gate_freezes f WHERE f.id = which AND f.namespace <> ALL (among)) THEN
        PERFORM flagger_gate_refuse(403, format('the freeze %s is not of your namespaces alone: %s', which,
                                                array_to_string(among, ', ')));
    END IF;
    RETURN flagger_gate_unfreeze(which, actor, sure, via, why);
END $$;
