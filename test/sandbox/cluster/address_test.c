
#include <unistd.h>

#include "cluster/address.h"
#include "test/unit.h"

CASE(taking)
{
    static struct address_pool pool;
    char text[ADDRESS_TEXT];
    address_init(&pool, 64, 2);
    assert_true(address_take(&pool, text));
    assert_string_equal(text, "127.64.64.1");
    assert_false(address_claim(&pool, "127.64.64.1"));
    assert_true(address_claim(&pool, "127.64.64.2"));
    assert_true(address_take(&pool, text));
    assert_string_equal(text, "127.64.64.3");
    address_give_back(&pool, "127.64.64.1");
    assert_true(address_take(&pool, text)); /* a fresh one rather than the one just given back */
    assert_string_equal(text, "127.64.64.4");
    assert_true(address_claim(&pool, "127.0.0.1"));
    assert_true(address_claim(&pool, "127.0.0.1"));
    int count = 0;
    while (address_take(&pool, text))
        count++;
    assert_int_equal(count, ADDRESS_PER_SLOT - 2 - 3);
    assert_string_equal(text, "");
    address_give_back(&pool, "127.64.65.7");
    assert_true(address_take(&pool, text));
    assert_string_equal(text, "127.64.65.7");
}

CASE(slots)
{
    int slot[2], fd[2];
    struct errinfo ei;
    assert_int_equal(address_slot(&slot[0], &fd[0], &ei), ERR_OK);
    assert_int_equal(address_slot(&slot[1], &fd[1], &ei), ERR_OK);
    assert_int_not_equal(slot[0], slot[1]);
    close(fd[0]);
    close(fd[1]);
}
