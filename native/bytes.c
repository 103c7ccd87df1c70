/* The part of bytes.h that is no hot path by itself. */
#include "bytes.h"

static int pass_octets(Reader *self, uint64_t length)
{
    View view;
    return take_view(self, length, &view);
}

static int pass_values(Reader *self, uint64_t count, int depth)
{
    if (depth <= 0)
        return 0;
    for (; count; count--)
        if (!pass_value(self, depth - 1))
            return 0;
    return 1;
}

int pass_value(Reader *self, int depth)
{
    uint8_t tag;
    uint64_t count;
    if (!take_tag(self, &tag))
        return 0;
    if (tag < 0x80 || tag >= 0xe0 || tag == 0xc0 || tag == 0xc2 || tag == 0xc3)
        return 1;
    if (tag < 0x90)
        return pass_values(self, 2 * (uint64_t)(tag & 15), depth);
    if (tag < 0xa0)
        return pass_values(self, tag & 15, depth);
    if (tag < 0xc0)
        return pass_octets(self, tag & 31);
    if (tag >= 0xcc && tag <= 0xd3)
        return pass_octets(self, (uint64_t)1 << ((tag - 0xcc) & 3));
    switch (tag) {
    case 0xca:
        return pass_octets(self, 4);
    case 0xcb:
        return pass_octets(self, 8);
    case 0xc4:
    case 0xd9:
        return take_big(self, 1, &count) && pass_octets(self, count);
    case 0xc5:
    case 0xda:
        return take_big(self, 2, &count) && pass_octets(self, count);
    case 0xc6:
    case 0xdb:
        return take_big(self, 4, &count) && pass_octets(self, count);
    case 0xdc:
    case 0xdd:
        return take_big(self, tag == 0xdc ? 2 : 4, &count) && pass_values(self, count, depth);
    case 0xde:
    case 0xdf:
        return take_big(self, tag == 0xde ? 2 : 4, &count) && pass_values(self, 2 * count, depth);
    default: /* extensions, which nothing of ours writes */
        return 0;
    }
}
