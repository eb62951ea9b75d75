/* A primary whose selector has fewer labels than the target's, since Flagger or an older controller
 * made it (act/renew.c, act/owners.c). */
#include "decide/act/renew.h"
#include "decide/act/owners.h"
#include "decide/rules.h"

enum verdict renew_primary(struct release *r)
{
    return renew_go_on(r);
}

enum verdict owners_tell(struct release *r)
{
    return r->target->own_services || !r->info.label || !r->info.primary ? VERDICT_GO
                                                                         : owners_look_around(r);
}
