/* What the files of the object store share; nobody else includes this. */
#ifndef SANDBOX_OBJINTERNAL_H
#define SANDBOX_OBJINTERNAL_H

#include <sys/queue.h>

#include "api/objstore.h"
#include "base/table.h"

enum { OBJ_UID = 37 };

/*
 * A state of an object, which never changes. Its text takes a twentieth of its tree's memory: the
 * tree is made when it is asked for, and only those that were asked for last are kept.
 */
struct objstate {
    TAILQ_ENTRY(objstate) lately; /* of those with a tree */
    struct json_object *tree;     /* NULL: only the text is kept */
    char *text;                   /* NULL: nobody has asked for it */
    size_t len;
    int refs;
};

/* One stored object. */
struct objrecord {
    struct objset *set;
    char *key; /* "namespace/name", or "name" for cluster-wide kinds */
    struct objstate *state;
    char uid[OBJ_UID];
    bool owned;                   /* has ownerReferences */
    bool dying;                   /* has a deletionTimestamp */
    LIST_ENTRY(objrecord) deaths; /* of those that are dying */
};

/* All objects of one kind, sorted by key. Made when first named, whether or not the kind exists. */
struct objset {
    char *group, *plural;
    const struct objkind *kind; /* NULL: nobody serves it yet; that of the storage group */
    struct objrecord **records;
    size_t count, cap;
    bool graceful;
    struct objset *next;
};

struct objadmit {
    const struct objkind *kind;
    objadmit_fn fn;
    void *arg;
    struct objadmit *next;
};

/* A kind made by a CRD; see objcrd.c. */
struct objcustom {
    struct objkind kind;   /* first: found through its address */
    struct arena *arena;   /* of the current definition */
    struct arena *retired; /* of the one before: a call in flight may still read it */
    struct objcustom *next;
};

struct objlog;

struct objstore {
    struct loop *loop;
    struct objset *sets;
    struct table uids;             /* struct objrecord by uid */
    TAILQ_HEAD(, objstate) lately; /* used states with a tree, the last one used at the end */
    size_t trees;
    uint64_t version;
    struct objlog *log;
    struct objadmit *admits;
    struct objcustom *customs;
    /* garbage collection, see objowner.c */
    void (*look)(void *store); /* a round of objgc.c */
    struct timer *look_timer;
    struct table owners; /* struct objowner by uid, of those that objects name as their owner */
    LIST_HEAD(, objrecord) dying;
    struct objuid *looks; /* objects to look at in the next round, and whose dependents */
};

/* ---- objstate.c ---- */
/* One reference, the caller's; of the tree it takes one of its own. */
struct objstate *objstate_new(struct objstore *store, struct json_object *tree);
struct objstate *objstate_of_text(const char *text, size_t len);
struct objstate *objstate_ref(struct objstate *state);
void objstate_put(struct objstore *store, struct objstate *state); /* NULL is allowed */
/* Borrowed: stays until some thousand others were asked for. */
struct json_object *objstate_tree(struct objstore *store, struct objstate *state);
/* Borrowed from the state. */
const char *objstate_text(struct objstate *state, size_t *len);

/* ---- objset.c: finding and keeping records ---- */
struct objset *objset_of(struct objstore *store, const char *group, const char *plural);
/* The set where objects of the kind are kept. */
struct objset *objset_of_kind(struct objstore *store, const struct objkind *kind);
/* Index of key, or of where it would be inserted. */
size_t objset_find(const struct objset *set, const char *key, bool *found);
struct objrecord *objset_get(const struct objset *set, const char *key);
/* The range [*begin, *end) of a namespace; ns NULL or "" is everything. */
void objset_range(const struct objset *set, const char *ns, size_t *begin, size_t *end);
char *objset_key(struct arena *arena, const char *ns, const char *name);
void objset_free(struct objstore *store, struct objset *set);

/* ---- objcommit.c: the changes of a set ---- */
/*
 * Stores obj (a reference is taken) under its own namespace and name with the next resourceVersion,
 * which is set in it, and logs the event.
 */
void objcommit_put(struct objstore *store, struct objset *set, struct json_object *obj);
/* Stores obj as it is, with its own uid and resourceVersion; nobody is told. state is its text. */
void objcommit_load(struct objstore *store, struct objset *set, struct json_object *obj,
                    struct objstate *state);
/* Removes the record and logs the event; owners' dependents are collected later. */
void objcommit_remove(struct objstore *store, struct objset *set, const char *key);

/* ---- objlog.c: events and watchers ---- */
struct objlog *objlog_new(struct objstore *store, size_t capacity);
void objlog_free(struct objlog *log);
/* Takes references on object and before. */
void objlog_add(struct objlog *log, enum objevent_type type, struct objset *set,
                struct objstate *object, struct objstate *before, uint64_t version);

/* ---- objcrd.c: kinds from CRDs ---- */
/* Sets .status of a CRD about to be stored: names accepted or not, established or not. */
void objcrd_status(struct objstore *store, struct json_object *crd);
/* Called after a CRD was stored (before NULL: created) or removed (after NULL). */
void objcrd_changed(struct objstore *store, struct json_object *before, struct json_object *after);
void objcrd_free(struct objstore *store);

/* ---- objdelete.c ---- */
/* Removes obj from the store and lets everything follow from it; no checks. */
void objdelete_now(struct objstore *store, const struct objkind *kind, struct json_object *obj);

/* ---- objowner.c: owners, and at whom the collector has to look ---- */
/* An object as it was when it was found; of an arena. */
struct objfound {
    const struct objkind *kind;
    struct json_object *obj;
    struct objfound *next;
};

/* look: called from the loop after objowner_look(). */
void objowner_init(struct objstore *store, void (*look)(void *store));
void objowner_free(struct objstore *store);
/* A record's state is now this tree; NULL: the record goes. */
void objowner_note(struct objstore *store, struct objrecord *record, struct json_object *tree);
/* Looks soon, from the loop, at the object of this uid and its dependents, and for deletions that
 * can be finished. */
void objowner_look(struct objstore *store, const char *uid);
/* The same for all whose owner is not there. */
void objowner_look_all(struct objstore *store);
/* For a round: those to look at that have owners. Forgets them. */
struct objfound *objowner_looked(struct objstore *store, struct arena *arena);
struct objfound *objowner_dependents(struct objstore *store, struct arena *arena, const char *uid);
/* Puts the record's object before *list, if its kind is served. */
void objowner_find(struct objstore *store, struct arena *arena, struct objfound **list,
                   const struct objrecord *record);

/* ---- objgc.c: what follows from a removal ---- */
void objgc_round(void *store);

/* ---- objmeta.c ---- */
char *objmeta_uid(char text[37]);
/* "base" + five random characters */
char *objmeta_generate_name(struct arena *arena, const char *base);
bool objmeta_has_finalizer(struct json_object *obj, const char *name); /* name NULL for any */
void objmeta_add_finalizer(struct json_object *obj, const char *name);
void objmeta_remove_finalizer(struct json_object *obj, const char *name);
/* "deployments.apps" of the kind and the name, into fail's details. */
void objmeta_describe(struct objfail *fail, const struct objkind *kind, const char *name);
/* Fails with a conflict, and why the operation cannot be fulfilled. */
enum err objmeta_conflict(struct objfail *fail, const struct objkind *kind, const char *name,
                          const char *fmt, ...) PRINTF_LIKE(4, 5);
#define OBJMETA_OTHER_UID "Precondition failed: UID in precondition: %s, UID in object meta: %s"
/* Asks the admission hooks; see objadmit_fn. */
enum err objmeta_admit(struct objstore *store, struct objcall *call, const struct objkind *kind,
                       enum objop op, struct json_object *obj, struct json_object *old);
/* Fails because there is no such object. */
enum err objmeta_not_found(struct objfail *fail, const struct objkind *kind, const char *name);

/* Names, labels and annotations as Kubernetes allows them, with its messages. */
enum objname_form {
    OBJNAME_SUBDOMAIN,  /* RFC 1123 subdomain: most objects */
    OBJNAME_LABEL,      /* RFC 1123 label: namespaces, containers */
    OBJNAME_LABEL_1035, /* as label, and begins with a letter: Services */
    OBJNAME_SEGMENT,    /* anything that is one path segment: RBAC */
};

/* Adds a cause under field when text is no such name. */
void objname_check(struct objfail *fail, const char *field, const char *text,
                   enum objname_form form);
/* metadata.labels, annotations, finalizers and ownerReferences of obj. */
void objname_check_metadata(struct objfail *fail, struct json_object *obj);

/*
 * What decoding into Go's structures and encoding again does to an object on its way into etcd: a
 * null is the same as an absent field, and empty labels are no labels. Without it, "annotations":
 * {} from kubectl would count as a change. Changes obj in place. typed: a built-in kind, tidied as
 * a whole; of a custom kind only metadata is.
 */
void objtidy(struct json_object *obj, bool typed);

#endif
