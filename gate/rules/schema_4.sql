-- version 4: an approval ends with the release that it was given for.

INSERT INTO flagger_gate_schema (version, oldest) VALUES (4, 2);
-- Changes wait from here to the end of the upgrade, checks go on.
LOCK TABLE flagger_gates IN SHARE ROW EXCLUSIVE MODE;

-- The release of a Canary that checked last, by caller: of revisions with a pass or with approvals. An approval is for
-- this release if it is not younger than `seen`; a younger one is for the next release. Messages of programs without a
-- release change nothing.
CREATE TABLE flagger_gate_releases (
    namespace text NOT NULL,
    name text NOT NULL,
    revision text NOT NULL,
    who text NOT NULL,     -- asks, by a name that was proven; '': all others together
    release text NOT NULL, -- '': from before this version
    seen timestamptz,      -- when an approval that it has was first seen by it; NULL: not known
    PRIMARY KEY (namespace, name, revision, who)
);
-- Approvals from before: for the next release that checks, unless that began after them.
INSERT INTO flagger_gate_releases (namespace, name, revision, who, release)
SELECT DISTINCT namespace, name, revision, '', '' FROM flagger_gate_passes WHERE revision <> '' AND expires IS NULL;

-- The time in the name of a release: the end of the previous one. NULL if there is none.
CREATE FUNCTION flagger_gate_moment(rel text) RETURNS timestamptz LANGUAGE plpgsql STABLE AS $$
BEGIN
    IF rel ~ '^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d' THEN
        RETURN rel::timestamptz;
    END IF;
    RETURN NULL;
EXCEPTION WHEN others THEN
    RETURN NULL;
END $$;

-- As flagger_gate_ask, for a release. fresh: flagger_gate_of_release has to be called before the answer counts.
CREATE FUNCTION flagger_gate_ask_of(k text, ns text, n text, h text, rev text, ph text, asker text, rel text)
RETURNS TABLE (open boolean, waits boolean, stale boolean, due boolean, fresh boolean) LANGUAGE sql STABLE AS $$
    SELECT a.open, a.waits, a.stale, a.due,
           rel <> '' AND rev <> ''
             -- whoever has no name ends nothing of one who has
             AND NOT (asker = '' AND EXISTS (SELECT FROM flagger_gate_releases r
                                             WHERE r.namespace = ns AND r.name = n AND r.who <> ''))
             AND (EXISTS (SELECT FROM flagger_gate_releases r
                          WHERE r.namespace = ns AND r.name = n AND (r.who = asker OR r.release = '')
                            AND r.release <> rel)
                  OR EXISTS (SELECT FROM flagger_gate_passes p
                             WHERE p.kind IN ('gate', 'rollback') AND p.namespace = ns AND p.name = n
                               AND p.revision = rev AND p.expires IS NULL
                               AND NOT EXISTS (SELECT FROM flagger_gate_releases r
                                               WHERE r.namespace = ns AND r.name = n AND r.revision = rev
                                                 AND r.who = asker AND r.seen >= p.since))
                  OR EXISTS (SELECT FROM flagger_gate_votes v
                             WHERE v.kind IN ('gate', 'rollback') AND v.namespace = ns AND v.name = n
                               AND v.revision = rev
                               AND NOT EXISTS (SELECT FROM flagger_gate_releases r
                                               WHERE r.namespace = ns AND r.name = n AND r.revision = rev
                                                 AND r.who = asker AND r.seen >= v.at)))
    FROM flagger_gate_ask(k, ns, n, h, rev, ph, asker) a
$$;

-- Approvals until then for this revision have ended, of one kind of gate.
CREATE FUNCTION flagger_gate_end(k text, ns text, n text, rev text, until timestamptz) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
    what jsonb := jsonb_build_object('action', 'end', 'kind', k, 'namespace', ns, 'name', n, 'revision', rev,
                                     'who', 'release', 'verified', true, 'via', 'release',
                                     'reason', 'the release that it was given for has ended');
    h text;
BEGIN
    FOR h IN DELETE FROM flagger_gate_passes p
             WHERE p.kind = k AND p.namespace = ns AND p.name = n AND p.revision = rev AND p.expires IS NULL
               AND p.since <= until
             RETURNING p.hook LOOP
        PERFORM flagger_gate_append(what || jsonb_build_object('hook', h));
        DELETE FROM flagger_gate_answered a
        WHERE k = 'gate' AND a.namespace = ns AND a.name = n AND a.hook = h AND a.revision = rev;
        DELETE FROM flagger_gate_waiting w
        WHERE k = 'gate' AND w.namespace = ns AND w.name = n AND w.hook = h AND w.revision = rev;
    END LOOP;
    -- a deadline that rolls back has answered at a gate of the other kind
    IF FOUND AND k = 'rollback' THEN
        DELETE FROM flagger_gate_answered a
        WHERE a.namespace = ns AND a.name = n AND a.revision = rev AND a.at <= until;
        DELETE FROM flagger_gate_waiting w
        WHERE w.namespace = ns AND w.name = n AND w.revision = rev AND w.since <= until;
    END IF;
    FOR h IN SELECT DISTINCT v.hook FROM flagger_gate_votes v
             WHERE v.kind = k AND v.namespace = ns AND v.name = n AND v.revision = rev AND v.at <= until
             ORDER BY v.hook LOOP
        DELETE FROM flagger_gate_votes v
        WHERE v.kind = k AND v.namespace = ns AND v.name = n AND v.hook = h AND v.revision = rev;
        PERFORM flagger_gate_append(what || jsonb_build_object('hook', h, 'votes', true));
    END LOOP;
    PERFORM flagger_gate_mirror(k, ns, n);
END $$;

-- This release checks now: approvals for earlier ones have ended, and present and later ones are its own.
CREATE FUNCTION flagger_gate_of_release(ns text, n text, rev text, rel text, asker text) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
    k text;
    before flagger_gate_releases;
BEGIN
    IF rel = '' OR rev = '' OR asker = '' AND EXISTS (SELECT FROM flagger_gate_releases r
                                                      WHERE r.namespace = ns AND r.name = n AND r.who <> '') THEN
        RETURN;
    END IF;
    FOR k IN SELECT g.kind FROM flagger_gates g WHERE g.namespace = ns AND g.name = n ORDER BY g.kind LOOP
        PERFORM flagger_gate_lock(k, ns, n);
    END LOOP;
    FOR before IN DELETE FROM flagger_gate_releases r
                  WHERE r.namespace = ns AND r.name = n AND (r.who = asker OR r.release = '') AND r.release <> rel
                  RETURNING r.* LOOP
        FOR k IN SELECT g.kind FROM flagger_gates g WHERE g.namespace = ns AND g.name = n ORDER BY g.kind LOOP
            PERFORM flagger_gate_end(k, ns, n, before.revision, coalesce(before.seen, flagger_gate_moment(rel)));
        END LOOP;
    END LOOP;
    IF EXISTS (SELECT FROM flagger_gate_passes p
               WHERE p.namespace = ns AND p.name = n AND p.revision = rev AND p.expires IS NULL)
       OR EXISTS (SELECT FROM flagger_gate_votes v WHERE v.namespace = ns AND v.name = n AND v.revision = rev) THEN
        INSERT INTO flagger_gate_releases (namespace, name, revision, who, release, seen)
        VALUES (ns, n, rev, asker, rel, clock_timestamp())
        ON CONFLICT (namespace, name, revision, who) DO UPDATE SET release = excluded.release, seen = excluded.seen;
    END IF;
END $$;

-- True if this pass is for a release that has checked already: one more approval then is for the next one.
CREATE FUNCTION flagger_gate_is_taken(p flagger_gate_passes) RETURNS boolean LANGUAGE sql STABLE AS $$
    SELECT p.revision <> '' AND p.expires IS NULL
       AND EXISTS (SELECT FROM flagger_gate_releases r
                   WHERE r.namespace = p.namespace AND r.name = p.name AND r.revision = p.revision
                     AND r.seen >= p.since)
$$;

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
                      AND (quorum > 1 OR a.expires IS NOT DISTINCT FROM until)
                      AND NOT flagger_gate_is_taken(a));
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
